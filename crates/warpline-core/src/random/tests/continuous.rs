//! Continuous draws against their distributions: the distance of Kolmogorov and Smirnov, both
//! tails, mean and variance. The seeds are fixed; each threshold is passed by chance once in 10^5
//! seeds or less.

use std::f64::consts::PI;

use statrs::{
    distribution::{
        Beta, ContinuousCDF, Erlang, Exp, Gamma, LogNormal, Normal, Triangular, Uniform, Weibull,
    },
    statistics::Distribution,
};

use super::{
    super::{continuous::log_ratio, normal::R},
    Stream, stream,
};

const N: usize = 40_000;

/// Refuses draws that do not have the distribution function `cdf`.
fn fits(what: &str, draw: impl Fn(&Stream) -> f64, cdf: impl Fn(f64) -> f64) -> Vec<f64> {
    let rng = stream();
    let draws: Vec<f64> = (0..N).map(|_| draw(&rng)).collect();
    let mut parts: Vec<f64> = draws.iter().map(|&x| cdf(x)).collect();
    parts.sort_by(f64::total_cmp);
    let n = N as f64;
    let distances = parts.iter().enumerate().map(|(i, part)| (part - (i as f64 + 0.5) / n).abs());
    let distance = distances.fold(0.0, f64::max);
    assert!(distance < 2.47 / n.sqrt(), "{what}: distance {distance}");
    for quantile in [0.001, 0.01, 0.99, 0.999] {
        let below = parts.iter().filter(|&&part| part < quantile).count() as f64;
        let deviation = (n * quantile * (1.0 - quantile)).sqrt();
        let away = (below - n * quantile) / deviation;
        assert!(away.abs() < 4.5, "{what}: {below} draws are below the quantile {quantile}");
    }
    draws
}

/// The same, and the moments.
fn agrees<L>(what: &str, draw: impl Fn(&Stream) -> f64, law: &L)
where
    L: ContinuousCDF<f64, f64> + Distribution<f64>,
{
    let draws = fits(what, draw, |x| law.cdf(x));
    let moment = |power: i32, of: f64| {
        draws.iter().map(|x| (x - of).powi(power)).sum::<f64>() / draws.len() as f64
    };
    let (mean, variance) = (law.mean().expect("a mean"), law.variance().expect("a variance"));
    let deviation = (variance / N as f64).sqrt();
    let found = moment(1, 0.0);
    assert!((found - mean).abs() < 4.5 * deviation, "{what}: mean {found} and not {mean}");
    let (found, fourth) = (moment(2, mean), moment(4, mean));
    let deviation = ((fourth - variance * variance) / N as f64).sqrt();
    assert!((found - variance).abs() < 5.0 * deviation, "{what}: variance {found}, {variance}");
}

#[test]
fn normal() {
    for (mean, sd) in [(0.0, 1.0), (-3.0, 0.25), (1e6, 1e3)] {
        let law = Normal::new(mean, sd).expect("a distribution");
        agrees(&format!("normal {mean} {sd}"), |rng| rng.normal(mean, sd), &law);
    }
    assert_eq!(stream().normal(3.5, 0.0), 3.5);
}

/// Two millions of draws: the tail beyond the last layer, which one in 4000 comes from, and the
/// wedges.
#[test]
fn the_tail_of_the_normal_distribution() {
    let rng = stream();
    let law = Normal::new(0.0, 1.0).expect("a distribution");
    let mut counts = [0_u32; 12];
    let n = 2_000_000;
    for _ in 0..n {
        let x = rng.normal(0.0, 1.0);
        let place = (2.0 * (x.abs() - 2.0)) as usize;
        counts[if x.abs() < 2.0 { 11 } else { place + usize::from(x < 0.0) * 5 }.min(11)] += 1;
    }
    for (place, from) in [2.0, 2.5, 3.0, 3.5, 4.0].into_iter().enumerate() {
        let expected = f64::from(n) * (law.cdf(from + 0.5) - law.cdf(from));
        for count in [counts[place], counts[place + 5]] {
            let away = (f64::from(count) - expected) / expected.sqrt();
            assert!(away.abs() < 4.5, "{count} from {from} on, and not {expected}");
        }
    }
}

/// The draws beyond the last layer alone.
#[test]
fn the_tail_is_that_of_the_normal_distribution() {
    let law = Normal::new(0.0, 1.0).expect("a distribution");
    let beyond = |x: f64| 1.0 - law.cdf(-x) / law.cdf(-R);
    fits("tail", |rng| rng.normal_tail(), beyond);
}

#[test]
fn lognormal() {
    for (mu, sigma) in [(0.0, 1.0), (2.0, 0.1)] {
        let law = LogNormal::new(mu, sigma).expect("a distribution");
        fits(&format!("lognormal {mu} {sigma}"), |rng| rng.lognormal(mu, sigma), |x| law.cdf(x));
        let (mean, sd) = (law.mean().expect("a mean"), law.std_dev().expect("a deviation"));
        let draw = |rng: &Stream| rng.lognormal_with_mean(mean, sd);
        fits(&format!("lognormal with mean {mean} and {sd}"), draw, |x| law.cdf(x));
    }
    assert_eq!(stream().lognormal_with_mean(1.0, 0.0), 1.0);
}

#[test]
fn gamma() {
    for shape in [0.02, 0.3, 0.99, 1.0, 1.5, 4.0, 60.0, 1000.0] {
        let law = Gamma::new(shape, 0.5).expect("a distribution");
        agrees(&format!("gamma {shape}"), |rng| rng.gamma(shape, 2.0), &law);
    }
    // It is nearly normal, and the exact condition does not lose itself in rounding.
    for shape in [1e8, 1e13, 1e20] {
        let law = Normal::new(0.0, 1.0).expect("a distribution");
        let draw = |rng: &Stream| (rng.gamma(shape, 1.0 / shape) - 1.0) * f64::sqrt(shape);
        if shape < 1e14 {
            fits(&format!("gamma {shape}"), draw, |x| law.cdf(x));
        }
        let t = -2.0 / (3.0 * f64::sqrt(shape));
        let ratio = log_ratio(shape, t);
        assert!((ratio * 27.0 * shape / 4.0 + 1.0).abs() < 1e-3, "{shape}: {ratio}");
    }
}

#[test]
fn erlang() {
    for stages in [1, 2, 5, 40] {
        let law = Erlang::new(stages.into(), f64::from(stages) / 3.0).expect("a distribution");
        agrees(&format!("erlang {stages}"), |rng| rng.erlang(stages, 3.0), &law);
    }
    let (one, other) = (stream(), stream());
    assert_eq!(one.erlang(1, 3.0), other.exponential(3.0));
}

#[test]
fn weibull() {
    for shape in [0.5, 1.0, 1.5, 8.0] {
        let law = Weibull::new(shape, 2.0).expect("a distribution");
        agrees(&format!("weibull {shape}"), |rng| rng.weibull(shape, 2.0), &law);
    }
}

#[test]
fn triangular() {
    for (low, mode, high) in [(0.0, 1.0, 4.0), (-2.0, -2.0, 1.0), (5.0, 6.0, 6.0)] {
        let law = Triangular::new(low, high, mode).expect("a distribution");
        let draw = |rng: &Stream| rng.triangular(low, mode, high);
        agrees(&format!("triangular {low} {mode} {high}"), draw, &law);
    }
    assert_eq!(stream().triangular(2.0, 2.0, 2.0), 2.0);
}

#[test]
fn beta() {
    let shapes = [(0.05, 0.5), (0.5, 0.5), (0.4, 3.0), (3.0, 0.4), (1.0, 1.0), (2.0, 5.0)];
    for (a, b) in shapes.into_iter().chain([(30.0, 1.0), (300.0, 200.0)]) {
        let law = Beta::new(a, b).expect("a distribution");
        agrees(&format!("beta {a} {b}"), |rng| rng.beta(a, b), &law);
    }
    // Numbers that no `f64` holds are 0 or 1, with the right probabilities.
    let rng = stream();
    let ones = (0..N).filter(|_| rng.beta(3e-8, 1e-8) == 1.0).count() as f64;
    assert!((ones / N as f64 - 0.75).abs() < 0.01, "{ones}");
}

/// In the middle, at an end, on both sides, far away; wide, narrow and open.
#[test]
fn truncated_normal() {
    let infinity = f64::INFINITY;
    let law = Normal::new(0.0, 1.0).expect("a distribution");
    let intervals = [(-3.0, 4.0), (-1.0, 0.5), (-0.1, 2.0), (0.0, 0.7), (0.0, infinity)];
    let more = [(0.5, 2.5), (1.0, 9.0), (2.0, 2.5), (3.0, infinity), (-infinity, infinity)];
    for (from, to) in intervals.into_iter().chain(more) {
        for sign in [1.0, -1.0] {
            let (low, high) = if sign > 0.0 { (from, to) } else { (-to, -from) };
            // Of the tail on the left, which has no cancellation.
            let part = |x: f64| law.cdf(-x);
            let cdf =
                |x: f64| (part(from) - part(sign * (x - 7.0) / 2.0)) / (part(from) - part(to));
            let what = format!("truncated_normal {low} {high}");
            let draw =
                |rng: &Stream| rng.truncated_normal(7.0, 2.0, 7.0 + 2.0 * low, 7.0 + 2.0 * high);
            let draws = fits(&what, draw, cdf);
            let range = 7.0 + 2.0 * low..=7.0 + 2.0 * high;
            assert!(draws.iter().all(|x| range.contains(x)), "{what}");
        }
    }
}

/// Where the probability of the interval is no `f64`, what is drawn is nearly exponential; over a
/// short way, uniform.
#[test]
fn truncated_normal_far_in_the_tail() {
    for from in [50.0, 1e6, 1e9, 1e12] {
        let law = Exp::new(1.0).expect("a distribution");
        let draw = |rng: &Stream| rng.truncated_normal(-from, 1.0, 0.0, f64::INFINITY) * from;
        let fit = |x: f64| law.cdf(x + x * x / (2.0 * from * from));
        fits(&format!("beyond {from}"), draw, fit);
        let draw = |rng: &Stream| -rng.truncated_normal(from, 1.0, -1e-3 / from, 0.0) * from * 1e3;
        let law = Uniform::new(0.0, 1.0).expect("a distribution");
        fits(&format!("near {from}"), draw, |x| law.cdf(x) + 5e-4 * x * (1.0 - x));
    }
    let rng = stream();
    assert_eq!(rng.truncated_normal(0.0, 1e-300, 1.0, 2.0), 1.0);
    assert_eq!(rng.truncated_normal(0.0, 1e-300, -2.0, -1.0), -1.0);
    assert_eq!(rng.truncated_normal(0.0, 0.0, -2.0, 1.0), 0.0);
    assert_eq!(rng.truncated_normal(0.0, 1.0, 4.0, 4.0), 4.0);
}

#[test]
fn truncated() {
    let law = Gamma::new(2.0, 1.0).expect("a distribution");
    let (from, to) = (law.cdf(0.5), law.cdf(3.0));
    let draw = |rng: &Stream| rng.truncated(0.5, 3.0, |rng| rng.gamma(2.0, 1.0));
    fits("truncated", draw, |x| (law.cdf(x) - from) / (to - from));
    let rng = stream();
    let mut tries = 0;
    let never = |rng: &Stream| {
        tries += 1;
        rng.uniform()
    };
    assert!(rng.truncated(2.0, 3.0, never).is_nan());
    assert_eq!(tries, 100_000);
    assert!(rng.truncated(3.0, 2.0, |_| 2.5).is_nan());
    assert!(rng.truncated(2.0, 3.0, |_| f64::NAN).is_nan());
    assert_eq!(rng.truncated(2.0, 3.0, |_| PI - 1.0), PI - 1.0);
}
