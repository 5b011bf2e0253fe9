//! Draws of whole numbers against their probabilities: chi-square with fixed seeds. Each threshold
//! is passed by chance once in 10^5 seeds.

use std::collections::BTreeMap;

use statrs::distribution::{
    Binomial, ChiSquared, ContinuousCDF, Discrete, DiscreteCDF, Geometric, Normal, Poisson,
};

use super::{
    super::discrete::{log_binomial, log_poisson},
    Stream, stream,
};

const N: u32 = 150_000;

/// Refuses counts of which the chi-square statistic is too large, or far too small.
pub(super) fn fit(what: &str, counts: &[(f64, f64)]) {
    let statistic: f64 =
        counts.iter().map(|(count, expected)| (count - expected).powi(2) / expected).sum();
    let law = ChiSquared::new(counts.len() as f64 - 1.0).expect("two classes at least");
    let p = 1.0 - law.cdf(statistic);
    assert!((1e-5..1.0 - 1e-5).contains(&p), "{what}: chi-square {statistic}, p {p}: {counts:?}");
}

/// Refuses draws that do not have these probabilities; `below` is the probability of less.
fn agrees(
    what: &str,
    draw: impl Fn(&Stream) -> u64,
    probability: impl Fn(u64) -> f64,
    below: impl Fn(u64) -> f64,
) {
    let rng = stream();
    let mut counts: BTreeMap<u64, f64> = BTreeMap::new();
    for _ in 0..N {
        *counts.entry(draw(&rng)).or_default() += 1.0;
    }
    let (n, last) = (f64::from(N), *counts.last_key_value().expect("draws").0);
    let first = *counts.first_key_value().expect("draws").0;
    // Classes of consecutive numbers, with twenty draws expected in each; the last has the rest.
    let mut classes = vec![(0.0, n * below(first))];
    for k in first..=last {
        if classes.last().is_some_and(|class| class.1 >= 20.0) {
            classes.push((0.0, 0.0));
        }
        let class = classes.last_mut().expect("a class");
        class.0 += counts.get(&k).unwrap_or(&0.0);
        class.1 += n * probability(k);
    }
    let expected: f64 = classes.iter().map(|class| class.1).sum();
    let last = classes.last_mut().expect("a class");
    last.1 += n - expected;
    if last.1 < 20.0 {
        let (count, few) = classes.pop().expect("a class");
        let before = classes.last_mut().expect("two classes");
        *before = (before.0 + count, before.1 + few);
    }
    fit(what, &classes);
}

/// Counted up to a mean of 10, and then by PTRS.
#[test]
fn poisson() {
    for mean in [0.05, 1.0, 4.5, 9.99, 10.0, 11.0, 15.5, 40.0, 300.0, 5_000.0] {
        let law = Poisson::new(mean).expect("a distribution");
        let below = |k: u64| if k > 0 { law.cdf(k - 1) } else { 0.0 };
        agrees(&format!("poisson {mean}"), |rng| rng.poisson(mean), |k| law.pmf(k), below);
    }
}

/// What candidates are accepted by.
#[test]
fn log_probabilities_are_exact() {
    for mean in [10.0, 33.3, 1e4] {
        let law = Poisson::new(mean).expect("a distribution");
        for k in [0, 1, 7, 10, 15, 16, 40, 9_000, 10_200] {
            let (found, expected) = (log_poisson(k as f64, mean), law.ln_pmf(k));
            assert!((found - expected).abs() < 1e-9 * expected.abs(), "{k} of {mean}: {found}");
        }
    }
    for (n, p) in [(25, 0.42), (1_000, 0.5), (30_000, 0.01)] {
        let law = Binomial::new(p, n).expect("a distribution");
        let log = |k: u64| log_binomial(k as f64, n as f64, p);
        for k in [0, 1, 12, 20, n / 2, n - 3, n] {
            let (found, expected) = (log(k) - log(11), law.ln_pmf(k) - law.ln_pmf(11));
            assert!(
                (found - expected).abs() < 1e-8 * (1.0 + expected.abs()),
                "{k} of {n}: {found}"
            );
        }
    }
}

/// Both branches on both sides of one half.
#[test]
fn binomial() {
    let small = [(1, 0.3), (7, 0.5), (15, 0.6), (100, 0.05), (100_000, 1e-5), (99, 0.99)];
    let large = [(20, 0.5), (25, 0.42), (40, 0.3), (150, 0.9), (10_000, 0.02), (5_000, 0.5)];
    for (n, p) in small.into_iter().chain(large) {
        let law = Binomial::new(p, n).expect("a distribution");
        let below = |k: u64| if k > 0 { law.cdf(k - 1) } else { 0.0 };
        agrees(&format!("binomial {n} {p}"), |rng| rng.binomial(n, p), |k| law.pmf(k), below);
    }
    let rng = stream();
    assert_eq!([0.0, -1.0, f64::NAN].map(|p| rng.binomial(9, p)), [0; 3]);
    assert_eq!([1.0, 2.0, f64::INFINITY].map(|p| rng.binomial(9, p)), [9; 3]);
    assert_eq!(rng.binomial(0, 0.5), 0);
}

#[test]
fn geometric() {
    for p in [0.02, 0.3, 0.5, 0.97] {
        // That of statrs counts the trials, with the one that succeeds.
        let law = Geometric::new(p).expect("a distribution");
        let below = |k: u64| if k > 0 { law.cdf(k) } else { 0.0 };
        agrees(&format!("geometric {p}"), |rng| rng.geometric(p), |k| law.pmf(k + 1), below);
    }
    let rng = stream();
    assert_eq!([1.0, 2.0, f64::NAN].map(|p| rng.geometric(p)), [0; 3]);
    assert_eq!([0.0, -1.0].map(|p| rng.geometric(p)), [u64::MAX; 2]);
}

/// Where a number more or less does not count, they are normal: from 10^6 up to where neighbors are
/// one `f64`.
#[test]
fn large_means_are_nearly_normal() {
    let law = Normal::new(0.0, 1.0).expect("a distribution");
    let is_normal = |what: &str, draw: &dyn Fn(&Stream) -> f64| {
        let rng = stream();
        let mut counts = [0.0; 16];
        for _ in 0..N {
            let part = law.cdf(draw(&rng));
            counts[((part * 16.0) as usize).min(15)] += 1.0;
        }
        fit(what, &counts.map(|count| (count, f64::from(N) / 16.0)));
    };
    for mean in [1e9, 1e13, 1e16, 1e18] {
        let scaled = |count: u64, sd: f64| (count as f64 + 0.5 - mean) / sd;
        let draw = |rng: &Stream| scaled(rng.poisson(mean), mean.sqrt());
        is_normal(&format!("poisson {mean}"), &draw);
        let n = (4.0 * mean) as u64;
        let draw = |rng: &Stream| scaled(rng.binomial(n, 0.25), (0.75 * mean).sqrt());
        is_normal(&format!("binomial {n}"), &draw);
    }
    let rng = stream();
    assert_eq!([1e20, f64::INFINITY].map(|mean| rng.poisson(mean)), [u64::MAX; 2]);
    assert_eq!([0.0, -1.0, f64::NAN].map(|mean| rng.poisson(mean)), [0; 3]);
}
