//! Distributions of whole numbers.

use std::f64::consts::TAU;

use super::{Stream, is_above};

/// From this mean on, a Poisson or binomial number is drawn by transformed rejection; below, by
/// counting, which takes a time in proportion to the mean.
const MANY: f64 = 10.0;
/// 2^64: no mean of a `u64` is as large.
const TOO_MANY: f64 = 18_446_744_073_709_551_616.0;

impl Stream {
    /// Poisson: how many events there are where `mean` are expected. 0 for a mean that is negative
    /// or NaN, and the largest `u64` for one that no `u64` reaches.
    ///
    /// # References
    ///
    /// W. Hörmann, *The Transformed Rejection Method for Generating Poisson Random Variables*,
    /// Insurance: Mathematics and Economics 12, 1993 (PTRS); below a mean of 10, the arrivals of a
    /// Poisson process are counted. The probabilities are those of C. Loader, *Fast and Accurate
    /// Computation of Binomial Probabilities*, 2000.
    pub fn poisson(&self, mean: f64) -> u64 {
        if mean >= TOO_MANY {
            return u64::MAX;
        }
        if mean >= MANY {
            return self.poisson_of_many(mean);
        }
        let (mut count, mut time) = (0, self.exponential(1.0));
        while time < mean {
            count += 1;
            time += self.exponential(1.0);
        }
        count
    }

    /// Binomial: how many of `n` trials succeed that succeed with probability `p` each. A `p` below
    /// 0, or NaN, counts as 0, and one above 1 as 1.
    ///
    /// # References
    ///
    /// W. Hörmann, *The Generation of Binomial Random Variates*, Journal of Statistical Computation
    /// and Simulation 46, 1993 (BTRS), with the probabilities of C. Loader, *Fast and Accurate
    /// Computation of Binomial Probabilities*, 2000; where fewer than 10 successes are expected,
    /// the second waiting time method (L. Devroye, *Non-Uniform Random Variate Generation*, 1986,
    /// section X.4).
    pub fn binomial(&self, n: u64, p: f64) -> u64 {
        if p > 0.5 {
            return n - self.binomial(n, 1.0 - p.min(1.0));
        }
        if n as f64 * p >= MANY {
            return self.binomial_of_many(n, p);
        }
        // The n trials end at exponential times; those that end early enough succeed.
        let end = -libm::log1p(-p);
        let (mut count, mut time) = (0, 0.0);
        while count < n {
            time += self.exponential(1.0) / (n - count) as f64;
            // An end that is negative or NaN is never before it.
            if time < end {
                count += 1;
            } else {
                break;
            }
        }
        count
    }

    /// Geometric: how many trials fail before the first one that succeeds, with probability `p`
    /// each. 0 for a `p` of 1 or more, or NaN; the largest `u64` for one of 0 or less, with which
    /// none ever succeeds.
    ///
    /// By inversion: an exponential number, rounded down (L. Devroye, *Non-Uniform Random Variate
    /// Generation*, 1986, section X.2).
    pub fn geometric(&self, p: f64) -> u64 {
        if p <= 0.0 {
            return u64::MAX;
        }
        // A conversion rounds down, keeps to the range, and makes a NaN 0.
        (self.exponential(1.0) / -libm::log1p(-p.min(1.0))) as u64
    }

    /// PTRS.
    fn poisson_of_many(&self, mean: f64) -> u64 {
        let b = 0.931 + 2.53 * mean.sqrt();
        let a = -0.059 + 0.02483 * b;
        let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
        let certain = 0.9277 - 3.6224 / (b - 2.0);
        loop {
            let v = 1.0 - self.uniform();
            let u = self.uniform() - 0.5;
            let edge = 0.5 - u.abs();
            let k = libm::floor((2.0 * a / edge + b) * u + mean + 0.43);
            if edge >= 0.07 && v <= certain {
                return k as u64;
            }
            if k < 0.0 || (edge < 0.013 && v > edge) {
                continue;
            }
            let density = v * inverse_alpha / (a / (edge * edge) + b);
            if !is_above(libm::log(density), log_poisson(k, mean)) {
                return k as u64;
            }
        }
    }

    /// BTRS; `p` is 0.5 at most.
    fn binomial_of_many(&self, n: u64, p: f64) -> u64 {
        let trials = n as f64;
        let mean = trials * p;
        let deviation = (mean * (1.0 - p)).sqrt();
        let b = 1.15 + 2.53 * deviation;
        let a = -0.0873 + 0.0248 * b + 0.01 * p;
        let alpha = (2.83 + 5.1 / b) * deviation;
        let certain = 0.92 - 4.2 / b;
        loop {
            let v = 1.0 - self.uniform();
            let u = self.uniform() - 0.5;
            let edge = 0.5 - u.abs();
            let k = libm::floor((2.0 * a / edge + b) * u + mean + 0.5);
            if edge >= 0.07 && v <= certain {
                return (k as u64).min(n);
            }
            if k < 0.0 || k > trials {
                continue;
            }
            let mode = libm::floor((trials + 1.0) * p);
            let bound = log_binomial(k, trials, p) - log_binomial(mode, trials, p);
            let density = v * alpha / (a / (edge * edge) + b);
            if !is_above(libm::log(density), bound) {
                return (k as u64).min(n);
            }
        }
    }
}

/// The logarithm of the probability of `k` events where `mean` are expected.
pub(super) fn log_poisson(k: f64, mean: f64) -> f64 {
    // The factorial of 0 has no such factor.
    -0.5 * libm::log(TAU * k.max(1.0 / TAU)) - deviance(k, mean) - stirling(k)
}

/// The logarithm of the probability of `k` successes in `n` trials, but for what is the same for
/// all `k`.
pub(super) fn log_binomial(k: f64, n: f64, p: f64) -> f64 {
    let rest = n - k;
    let deviances = deviance(k, n * p) + deviance(rest, n * (1.0 - p));
    let errors = stirling(k) + stirling(rest);
    // The factorials of 0 have no such factors.
    -0.5 * libm::log(k.max(1.0 / TAU) * rest.max(1.0 / TAU)) - errors - deviances
}

/// `k ln(k / mean) + mean - k`, without cancellation where `k` is near the mean (Loader 2000,
/// section 3).
fn deviance(k: f64, mean: f64) -> f64 {
    let difference = k - mean;
    let v = difference / (k + mean);
    if v.abs() >= 0.1 {
        return if k > 0.0 { k * libm::log(k / mean) - difference } else { mean };
    }
    // k / mean is (1 + v) / (1 - v), of which the logarithm is 2 (v + v^3 / 3 + v^5 / 5 + ...).
    let square = v * v;
    let (mut sum, mut n) = (0.0, 19.0);
    while n > 1.0 {
        sum = square * (sum + 1.0 / n);
        n -= 2.0;
    }
    v * difference + 2.0 * k * v * sum
}

/// `ln k!` less Stirling's formula, `k ln k - k + ln(2 pi k) / 2`; 0 for 0 (Loader 2000, section
/// 2).
fn stirling(k: f64) -> f64 {
    if k < STIRLING.len() as f64 {
        return STIRLING[k as usize];
    }
    let inverse = 1.0 / k;
    let square = inverse * inverse;
    inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)))
}

/// Its values where the series is not good enough.
const STIRLING: [f64; 16] = [
    0.0,
    0.081_061_466_795_327_26,
    0.041_340_695_955_409_3,
    0.027_677_925_684_998_34,
    0.020_790_672_103_765_093,
    0.016_644_691_189_821_193,
    0.013_876_128_823_070_748,
    0.011_896_709_945_891_77,
    0.010_411_265_261_972_096,
    0.009_255_462_182_712_733,
    0.008_330_563_433_362_87,
    0.007_573_675_487_951_841,
    0.006_942_840_107_209_53,
    0.006_408_994_188_004_207,
    0.005_951_370_112_758_847_5,
    0.005_554_733_551_962_801,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Both the table and the series, up to the rounding of what they are compared with.
    #[test]
    fn stirling_completes_the_factorial() {
        assert_eq!(stirling(0.0), 0.0);
        for k in (1..40).map(f64::from) {
            let formula = k * libm::log(k) - k + 0.5 * libm::log(TAU * k);
            let expected = libm::lgamma(k + 1.0) - formula;
            assert!((stirling(k) - expected).abs() < 1e-13, "{k}: {}", stirling(k));
        }
    }

    /// Near the mean and far from it, and where one branch ends and the other begins.
    #[test]
    fn deviance_is_its_formula() {
        for (k, mean) in [(0.0, 12.0), (7.0, 12.0), (11.0, 9.0), (11.0, 9.1), (99.0, 100.0)] {
            let expected = if k > 0.0 { k * libm::log(k / mean) + mean - k } else { mean };
            assert!((deviance(k, mean) - expected).abs() < 1e-13, "{k}, {mean}");
        }
        // One standard deviation from the mean: the square of the distance over twice the mean.
        let near = deviance(1e18 + 1e9, 1e18);
        assert!((near - 0.5).abs() < 1e-9, "{near}");
    }
}
