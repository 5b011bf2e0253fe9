//! The normal distribution, and what is made of one normal number.

use super::{
    Stream, is_above,
    ziggurat::{LAYERS, Ziggurat, exp_of_minus, minus_ln, square_root},
};

/// The abscissa where the tail begins, and the area of a layer, for 256 layers of equal area
/// (Marsaglia and Tsang 2000, section 2); both to the last bit.
pub(super) const R: f64 = 3.654_152_885_361_009;
const AREA: f64 = 0.004_928_673_233_974_655;

static ZIGGURAT: Ziggurat = ziggurat();

impl Stream {
    /// Normal (Gaussian) with mean `mean` and standard deviation `sd`, both in the unit of what is
    /// drawn; `sd` is not negative.
    ///
    /// # References
    ///
    /// Marsaglia and Tsang, *The Ziggurat Method for Generating Random Variables*, Journal of
    /// Statistical Software 5(8), 2000; with 256 layers, and with the layer and the abscissa from
    /// different bits. Nothing is kept for the next draw: a spare number would be state that no
    /// rollback restores.
    #[inline]
    pub fn normal(&self, mean: f64, sd: f64) -> f64 {
        let drawn = mean + sd * self.standard_normal();
        if sd >= 0.0 { drawn } else { f64::NAN }
    }

    /// Log-normal: e to the power of a [`normal`](Self::normal) number with mean `mu` and standard
    /// deviation `sigma`, which have no unit; `sigma` is not negative. The median is
    /// e<sup>mu</sup>.
    pub fn lognormal(&self, mu: f64, sigma: f64) -> f64 {
        libm::exp(self.normal(mu, sigma))
    }

    /// Log-normal with mean `mean` and standard deviation `sd` of what is drawn, in its unit:
    /// `mean` is above 0, and `sd` not negative.
    pub fn lognormal_with_mean(&self, mean: f64, sd: f64) -> f64 {
        if !(mean > 0.0 && sd >= 0.0) {
            return f64::NAN;
        }
        let variation = sd / mean;
        let variance = libm::log1p(variation * variation);
        self.lognormal(libm::log(mean) - 0.5 * variance, variance.sqrt())
    }

    /// Normal with mean `mean` and standard deviation `sd`, under the condition that it lies in
    /// `low..=high`; either may be infinite.
    ///
    /// `mean` and `sd` are those of the whole distribution. It takes two tries on average at most,
    /// however far from the mean and however short the interval is.
    ///
    /// # References
    ///
    /// C. P. Robert, *Simulation of Truncated Normal Variables*, Statistics and Computing 5, 1995:
    /// normal, uniform or exponential candidates, depending on where the interval is.
    pub fn truncated_normal(&self, mean: f64, sd: f64, low: f64, high: f64) -> f64 {
        if !(mean.is_finite() && (0.0..f64::INFINITY).contains(&sd) && low <= high) {
            return f64::NAN;
        }
        if low == high {
            return low;
        }
        if sd == 0.0 {
            return if (low..=high).contains(&mean) { mean } else { f64::NAN };
        }
        let (from, to, width) = ((low - mean) / sd, (high - mean) / sd, (high - low) / sd);
        // The distance from an end that lies on the side of the tail keeps its precision.
        let drawn = if from >= 0.0 {
            low + sd * self.beyond(from, width)
        } else if to <= 0.0 {
            high - sd * self.beyond(-to, width)
        } else {
            mean + sd * self.around(from, to)
        };
        drawn.clamp(low, high)
    }

    /// Normal with mean 0 and standard deviation 1.
    #[inline]
    pub(super) fn standard_normal(&self) -> f64 {
        let bits = self.bits();
        let layer = (bits & 0xff) as usize;
        let x = to_signed_unit(bits) * ZIGGURAT.x[layer];
        // In 98.8 % of the draws the point lies inside the layer's rectangle.
        if x.abs() < ZIGGURAT.x[layer + 1] { x } else { self.normal_edge(layer, x) }
    }

    /// Accepts or rejects a draw near the edge of its layer, and draws again after a rejection.
    #[cold]
    fn normal_edge(&self, mut layer: usize, mut x: f64) -> f64 {
        loop {
            if layer == 0 {
                return self.normal_tail().copysign(x);
            }
            let (top, bottom) = (ZIGGURAT.f[layer + 1], ZIGGURAT.f[layer]);
            if bottom + (top - bottom) * self.uniform() < libm::exp(-0.5 * x * x) {
                return x;
            }
            let bits = self.bits();
            layer = (bits & 0xff) as usize;
            x = to_signed_unit(bits) * ZIGGURAT.x[layer];
            if x.abs() < ZIGGURAT.x[layer + 1] {
                return x;
            }
        }
    }

    /// What lies beyond `R` (G. Marsaglia, *Generating a Variable from the Tail of the Normal
    /// Distribution*, Technometrics 6, 1964).
    pub(super) fn normal_tail(&self) -> f64 {
        loop {
            let beyond = self.exponential(1.0 / R);
            if 2.0 * self.exponential(1.0) > beyond * beyond {
                return R + beyond;
            }
        }
    }

    /// How far a standard normal number lies beyond `from`, which is not negative, if it lies
    /// beyond it by `width` at most.
    fn beyond(&self, from: f64, width: f64) -> f64 {
        if width <= 1.0 {
            loop {
                let beyond = self.exponential_up_to(from, width);
                // Accepted with probability e^(-1/2) at least.
                if !is_above(self.uniform(), libm::exp(-0.5 * beyond * beyond)) {
                    return beyond;
                }
            }
        }
        // The best rate of exponential candidates; 1 / rate is rate - from, without cancellation.
        let rate = if from < 1e8 { 0.5 * (from + (from * from + 4.0).sqrt()) } else { from };
        let mean = 1.0 / rate;
        loop {
            let beyond = self.exponential(mean);
            let away = beyond - mean;
            if !is_above(beyond, width) && !is_above(self.uniform(), libm::exp(-0.5 * away * away))
            {
                return beyond;
            }
        }
    }

    /// Exponential with rate `rate`, under the condition that it is `width` at most, by inversion;
    /// uniform for a rate of 0.
    fn exponential_up_to(&self, rate: f64, width: f64) -> f64 {
        let u = self.uniform();
        if rate * width < 1e-15 {
            return u * width;
        }
        -libm::log1p(u * libm::expm1(-rate * width)) / rate
    }

    /// A standard normal number in an interval with 0 inside.
    fn around(&self, from: f64, to: f64) -> f64 {
        // Half of the candidates are accepted at least: those of a wide interval are normal, those
        // of a narrow one uniform.
        if to - from > 2.5 {
            loop {
                let x = self.standard_normal();
                if from <= x && x <= to {
                    return x;
                }
            }
        }
        loop {
            let x = self.uniform_in(from, to);
            if !is_above(self.uniform(), libm::exp(-0.5 * x * x)) {
                return x;
            }
        }
    }
}

/// The high 53 bits as a number in `-1.0 <= x < 1.0`.
#[inline]
fn to_signed_unit(bits: u64) -> f64 {
    (bits as i64 >> 11) as f64 * (1.0 / (1_u64 << 52) as f64)
}

/// Computes the tables at compile time, with the same arithmetic on every platform.
const fn ziggurat() -> Ziggurat {
    let mut tables = Ziggurat { x: [0.0; LAYERS + 1], f: [1.0; LAYERS + 1] };
    tables.x[0] = AREA / density(R);
    tables.f[0] = density(tables.x[0]);
    tables.x[1] = R;
    tables.f[1] = density(R);
    let mut layer = 2;
    while layer < LAYERS {
        let density = AREA / tables.x[layer - 1] + tables.f[layer - 1];
        tables.x[layer] = square_root(2.0 * minus_ln(density));
        tables.f[layer] = density;
        layer += 1;
    }
    tables
}

const fn density(x: f64) -> f64 {
    exp_of_minus(0.5 * x * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The layers tile the density: equal areas, and the last one ends at x = 0, f = 1.
    #[test]
    fn layers_have_equal_areas() {
        let Ziggurat { x, f } = &ZIGGURAT;
        let density = |x: f64| libm::exp(-0.5 * x * x);
        let tail = (std::f64::consts::PI / 2.0).sqrt() * libm::erfc(R / 2.0_f64.sqrt());
        assert!(((R * density(R) + tail) / AREA - 1.0).abs() < 1e-14);
        for layer in 1..LAYERS {
            let area = x[layer] * (f[layer + 1] - f[layer]);
            assert!((area / AREA - 1.0).abs() < 1e-9, "layer {layer}: {area} and not {AREA}");
            assert!((f[layer] / density(x[layer]) - 1.0).abs() < 1e-12, "layer {layer}");
        }
        assert_eq!((x[LAYERS], f[LAYERS]), (0.0, 1.0));
    }
}
