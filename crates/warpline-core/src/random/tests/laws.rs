//! What holds for all parameters: every draw ends, and says NaN where a parameter is out of its
//! range.

use proptest::prelude::*;

use super::stream;
use crate::Stream;

/// Any number: all bits, and those at which something changes.
fn number() -> impl Strategy<Value = f64> {
    let ends = [0.0, -0.0, 1.0, 0.5, 1e-300, 5e-324, f64::MAX, f64::INFINITY, f64::NAN, 10.0];
    let ends = prop::sample::select(ends.to_vec());
    let signed =
        (ends, any::<bool>()).prop_map(|(end, is_negative)| if is_negative { -end } else { end });
    prop_oneof![any::<u64>().prop_map(f64::from_bits), signed, -20.0..20.0, 0.0..1.0]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_draw_ends(a in number(), b in number(), c in number(), d in number(), n: u64) {
        let rng = &stream();
        let is_above_zero = |x: f64| x > 0.0;
        let nan_unless = |is_allowed: bool, drawn: f64| is_allowed || drawn.is_nan();
        prop_assert!(nan_unless(b >= 0.0, rng.normal(a, b)));
        prop_assert!(nan_unless(b >= 0.0, rng.lognormal(a, b)));
        prop_assert!(nan_unless(is_above_zero(a) && b >= 0.0, rng.lognormal_with_mean(a, b)));
        prop_assert!(nan_unless(is_above_zero(a) && is_above_zero(b), rng.gamma(a, b)));
        prop_assert!(nan_unless(b >= 0.0, rng.erlang(n as u32, b)));
        prop_assert!(rng.erlang(0, b).is_nan());
        prop_assert!(nan_unless(is_above_zero(a) && is_above_zero(b), rng.weibull(a, b)));
        prop_assert!(nan_unless(a <= b && b <= c, rng.triangular(a, b, c)));
        prop_assert!(nan_unless(is_above_zero(a) && is_above_zero(b), rng.beta(a, b)));
        let drawn = rng.truncated_normal(a, b, c, d);
        prop_assert!(nan_unless(b >= 0.0 && c <= d, drawn));
        prop_assert!(drawn.is_nan() || (c..=d).contains(&drawn));
        rng.poisson(a);
        rng.geometric(a);
        prop_assert!(rng.binomial(n, a) <= n);
        prop_assert!(rng.binomial(n % 100, a) <= n % 100);
    }

    /// Finite parameters in their ranges give numbers, in the range of the distribution.
    #[test]
    fn no_draw_is_nan(a in 1e-200..1e200, b in 1e-200..1e200, c in -1e100..1e100, seed: [u64; 2]) {
        let rng = Stream::from_words(seed);
        prop_assert!(rng.normal(c, a).is_finite());
        prop_assert!(rng.gamma(a, 1.0) >= 0.0 && rng.gamma(1.0 / a, 1.0) >= 0.0);
        prop_assert!((0.0..=1.0).contains(&rng.beta(a, b)));
        prop_assert!((0.0..=1.0).contains(&rng.beta(1.0 / a, b)));
        prop_assert!(rng.weibull(a, b) >= 0.0);
        let (low, high) = (c.min(a), c.max(a));
        prop_assert!((low..=high).contains(&rng.triangular(low, low.max(1.0).min(high), high)));
        prop_assert!((low..=high).contains(&rng.truncated_normal(c, b, low, high)));
        prop_assert!((low..=high).contains(&rng.truncated_normal(-b, a, low, high)));
    }
}
