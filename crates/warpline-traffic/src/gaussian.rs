//! Gaussian random numbers between two bounds, from one uniform number each.
//!
//! The model draws speeds and durations here. Inverting the distribution takes exactly one number
//! of the stream, whatever the bounds are: drawing again until a number lies between them could
//! take for ever.
//!
//! # References
//!
//! Wichura, *Algorithm AS 241: The Percentage Points of the Normal Distribution*, Applied
//! Statistics 37(3), 1988, routine PPND16: a relative error of about 1e-16.

/// A Gaussian distribution, cut off at a lower and an upper bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gaussian {
    mean: f64,
    deviation: f64,
    low: f64,
    high: f64,
    /// The probability below `low` without the bounds.
    below: f64,
    /// The probability between the bounds without them.
    between: f64,
}

impl Gaussian {
    /// The distribution between two bounds, with the mean between them. The upper one may be
    /// infinite. With the deviation 0 every number is the mean.
    pub(crate) fn new(mean: f64, deviation: f64, (low, high): (f64, f64)) -> Self {
        let cumulative = |x: f64| {
            if deviation > 0.0 { distribution((x - mean) / deviation) } else { 0.5 }
        };
        let below = cumulative(low);
        Self { mean, deviation, low, high, below, between: cumulative(high) - below }
    }

    /// The number whose part `uniform` of the distribution lies below it, for 0 <= `uniform` < 1.
    #[inline]
    pub(crate) fn at(&self, uniform: f64) -> f64 {
        let p = self.below + self.between * uniform;
        (self.mean + self.deviation * quantile(p)).clamp(self.low, self.high)
    }

    /// The upper bound.
    pub(crate) const fn high(&self) -> f64 {
        self.high
    }
}

/// The standard normal distribution: the probability of a number below `x`.
pub(crate) fn distribution(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// The number with the probability `p` below it, in the standard normal distribution. At 0 and at
/// 1 it is the one of the nearest probability that a number can have.
#[inline]
fn quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * polynomial(&CENTER.0, r) / polynomial(&CENTER.1, r);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = (-libm::log(tail.max(f64::EPSILON / 4.0))).sqrt();
    let ((above, below), r) = if r <= 5.0 { (&NEAR, r - 1.6) } else { (&FAR, r - 5.0) };
    let x = polynomial(above, r) / polynomial(below, r);
    if q < 0.0 { -x } else { x }
}

#[inline]
fn polynomial(coefficients: &[f64; 8], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

/// A rational function: the coefficients above and below, by rising powers.
type Rational = ([f64; 8], [f64; 8]);

/// For probabilities within 0.425 of one half.
const CENTER: Rational = (
    [
        3.387_132_872_796_366_5,
        1.331_416_678_917_843_8e2,
        1.971_590_950_306_551_3e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_66e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_3e4,
        5.226_495_278_852_854e3,
    ],
);

/// For the tails down to exp(-25).
const NEAR: Rational = (
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
);

/// For what lies beyond.
const FAR: Rational = (
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        2.965_605_718_285_048_7e-1,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        5.998_322_065_558_88e-1,
        1.369_298_809_227_358e-1,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
);

#[cfg(test)]
mod tests {
    use super::*;

    /// The distribution of a quantile is its probability, in the center, in both tails and at the
    /// borders of the three ranges.
    #[test]
    fn quantiles_invert_the_distribution() {
        let tails = (1..280).map(|n| libm::exp(-f64::from(n) / 8.0));
        let centers = (1..1000).map(|n| f64::from(n) / 1000.0);
        for p in tails.chain(centers).chain([0.075, 0.925, libm::exp(-25.0)]) {
            let found = distribution(quantile(p));
            assert!((found / p - 1.0).abs() < 1e-12, "{p}: {found}");
        }
        assert_eq!(quantile(0.5), 0.0);
        assert!((quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-14);
        assert!((quantile(1e-9) + quantile(1.0 - 1e-9)).abs() < 1e-6);
    }

    /// No probability gives a number that is not one, and none lies beyond the bounds.
    #[test]
    fn numbers_stay_between_the_bounds() {
        for bounds in [(50.0, 190.0), (f64::NEG_INFINITY, f64::INFINITY), (110.0, 110.0)] {
            for deviation in [0.0, 1e-300, 20.0, 1e300] {
                let speed = Gaussian::new(110.0, deviation, bounds);
                for uniform in [0.0, 1e-300, 0.5, 1.0 - f64::EPSILON / 2.0] {
                    let x = speed.at(uniform);
                    assert!(bounds.0 <= x && x <= bounds.1, "{deviation} {uniform}: {x}");
                }
            }
        }
        assert_eq!(Gaussian::new(110.0, 0.0, (0.0, 200.0)).at(0.9), 110.0);
        assert!((Gaussian::new(110.0, 20.0, (90.0, 130.0)).at(0.5) - 110.0).abs() < 1e-12);
    }
}
