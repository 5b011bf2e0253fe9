//! Continuous distributions that are made of normal, exponential and uniform numbers.

use super::{Stream, is_above};

/// Smaller shapes of [`Stream::beta`] count as this one, so that the logarithms stay finite.
const SHAPE_MIN: f64 = 1e-300;

/// How many numbers [`Stream::truncated`] draws before it gives up.
const TRIES: u32 = 100_000;

impl Stream {
    /// Gamma with shape `shape`, which has no unit, and scale `scale`, in the unit of what is
    /// drawn; both above 0. The mean is their product.
    ///
    /// # References
    ///
    /// Marsaglia and Tsang, *A Simple Method for Generating Gamma Variables*, ACM Transactions on
    /// Mathematical Software 26(3), 2000; a shape below 1 as in its section 6.
    pub fn gamma(&self, shape: f64, scale: f64) -> f64 {
        if !(shape > 0.0 && shape < f64::INFINITY && scale > 0.0) {
            return f64::NAN;
        }
        if shape < 1.0 {
            // The factor is u^(1/shape).
            let factor = libm::exp(-self.exponential(1.0) / shape);
            return self.standard_gamma(shape + 1.0) * factor * scale;
        }
        self.standard_gamma(shape) * scale
    }

    /// Erlang: the sum of `stages` exponential numbers, one at least. `mean` is the mean of the
    /// sum, in the unit of what is drawn, and not negative.
    ///
    /// It is a [`gamma`](Self::gamma) number; with one stage, an
    /// [`exponential`](Self::exponential) one. It takes no longer for many stages.
    pub fn erlang(&self, stages: u32, mean: f64) -> f64 {
        match stages {
            _ if mean < 0.0 => f64::NAN,
            0 => f64::NAN,
            1 => self.exponential(mean),
            _ => self.standard_gamma(stages.into()) * (mean / f64::from(stages)),
        }
    }

    /// Weibull with shape `shape`, which has no unit, and scale `scale`, in the unit of what is
    /// drawn; both above 0. Of all numbers, 63.2 % are below `scale`.
    ///
    /// By inversion: the power 1 / `shape` of an exponential number (L. Devroye, *Non-Uniform
    /// Random Variate Generation*, 1986, section II.2).
    pub fn weibull(&self, shape: f64, scale: f64) -> f64 {
        if !(shape > 0.0 && scale > 0.0) {
            return f64::NAN;
        }
        scale * libm::pow(self.exponential(1.0), 1.0 / shape)
    }

    /// Triangular: from `low` to `high`, with its peak at `mode`, `low <= mode <= high`, all in the
    /// unit of what is drawn. The mean is the mean of the three.
    ///
    /// By inversion (L. Devroye, *Non-Uniform Random Variate Generation*, 1986, section II.2).
    pub fn triangular(&self, low: f64, mode: f64, high: f64) -> f64 {
        if !(low <= mode && mode <= high) {
            return f64::NAN;
        }
        if low == high {
            return low;
        }
        let u = self.uniform();
        let width = high - low;
        let rising = (mode - low) / width;
        let drawn = if u < rising {
            low + width * (u * rising).sqrt()
        } else {
            high - width * ((1.0 - u) * ((high - mode) / width)).sqrt()
        };
        drawn.clamp(low, high)
    }

    /// Beta with shapes `a` and `b`, which have no unit and are above 0; from 0 to 1. The mean is
    /// `a / (a + b)`.
    ///
    /// # References
    ///
    /// The part that one [`gamma`](Self::gamma) number has in the sum of two (L. Devroye,
    /// *Non-Uniform Random Variate Generation*, 1986, section IX.4). For shapes below 1, which give
    /// numbers that may be too small for an `f64`, by their logarithms.
    pub fn beta(&self, a: f64, b: f64) -> f64 {
        let is_shape = |shape: f64| shape > 0.0 && shape < f64::INFINITY;
        if !(is_shape(a) && is_shape(b)) {
            return f64::NAN;
        }
        if a >= 1.0 && b >= 1.0 {
            let one = self.standard_gamma(a);
            return 1.0 / (1.0 + self.standard_gamma(b) / one);
        }
        let one = self.log_gamma(a.max(SHAPE_MIN));
        1.0 / (1.0 + libm::exp(self.log_gamma(b.max(SHAPE_MIN)) - one))
    }

    /// A number that `draw` draws, under the condition that it lies in `low..=high`:
    /// `rng.truncated(0.0, 5.0, |rng| rng.gamma(2.0, 1.0))`.
    ///
    /// It draws until a number fits. Where none of 100 000 does, and where one is NaN, the result
    /// is NaN, which no delay may be, so it does not go by unnoticed. An interval with a
    /// probability of 1/1000 or more is always met; for others of a normal distribution there is
    /// [`truncated_normal`](Self::truncated_normal).
    pub fn truncated(&self, low: f64, high: f64, mut draw: impl FnMut(&Self) -> f64) -> f64 {
        for _ in 0..TRIES {
            let drawn = draw(self);
            if drawn.is_nan() || (low <= drawn && drawn <= high) {
                return drawn;
            }
        }
        f64::NAN
    }

    /// Gamma with scale 1 and a shape of 1 or more.
    fn standard_gamma(&self, shape: f64) -> f64 {
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.standard_normal();
            let t = c * x;
            let root = 1.0 + t;
            if root <= 0.0 {
                continue;
            }
            let v = root * root * root;
            let u = 1.0 - self.uniform();
            let square = x * x;
            let is_inside = u < 1.0 - 0.0331 * square * square;
            if is_inside || !is_above(libm::log(u), log_ratio(d, t)) {
                return d * v;
            }
        }
    }

    /// The logarithm of a gamma number with scale 1.
    fn log_gamma(&self, shape: f64) -> f64 {
        if shape < 1.0 {
            let log_factor = -self.exponential(1.0) / shape;
            return libm::log(self.standard_gamma(shape + 1.0)) + log_factor;
        }
        libm::log(self.standard_gamma(shape))
    }
}

/// `x^2 / 2 + d - d v + d ln v` of Marsaglia and Tsang, where `v` is `(1 + t)^3`, and `x^2` is
/// `9 d t^2`.
pub(super) fn log_ratio(d: f64, t: f64) -> f64 {
    // All but the remainder of the logarithm's series cancels, and would cancel what counts for a
    // large shape: its first terms are exact to 1e-9 of themselves here.
    let remainder = if t.abs() < 1e-3 {
        t * t * t * t * (-1.0 / 4.0 + t * (1.0 / 5.0 - t / 6.0))
    } else {
        libm::log1p(t) - t + t * t * (0.5 - t / 3.0)
    };
    3.0 * d * remainder
}
