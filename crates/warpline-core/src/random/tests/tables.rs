//! Alias tables, empirical distributions, and draws among things.

use proptest::prelude::*;

use super::{super::TableError, discrete::fit, stream};
use crate::{Discrete, Empirical};

/// The probabilities that a table gives.
fn probabilities(table: &Discrete) -> Vec<f64> {
    let n = table.len() as f64;
    let mut probabilities = vec![0.0; table.len()];
    for (column, &[own, other]) in table.columns().iter().enumerate() {
        probabilities[column] += own / n;
        probabilities[other as usize] += (1.0 - own) / n;
    }
    probabilities
}

proptest! {
    /// A table has the probabilities of its weights, and none for a weight of 0.
    #[test]
    fn a_table_is_its_weights(
        weights in prop::collection::vec(prop_oneof![Just(0.0), 0.0..1.0, 0.0..1e-9], 1..300),
        exponent in -1000..1000_i32,
    ) {
        let scale = 2.0_f64.powi(exponent);
        let weights: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        let Ok(table) = Discrete::new(&weights) else {
            prop_assert!(weights.iter().all(|weight| *weight == 0.0));
            return Ok(());
        };
        let total: f64 = weights.iter().map(|weight| weight / scale).sum();
        for (found, weight) in probabilities(&table).into_iter().zip(&weights) {
            let expected = weight / scale / total;
            prop_assert!((found - expected).abs() < 1e-15, "{found} and not {expected}");
            prop_assert!(*weight > 0.0 || found == 0.0);
        }
    }

    /// What is drawn lies between the observations, whatever they are.
    #[test]
    fn an_empirical_draw_is_between(observations in prop::collection::vec(-1e300..1e300, 1..20)) {
        let table = Empirical::new(&observations).expect("finite observations");
        let rng = stream();
        let range = table.sorted()[0]..=table.sorted()[observations.len() - 1];
        for _ in 0..50 {
            let drawn = rng.empirical(&table);
            prop_assert!(range.contains(&drawn), "{drawn} is not in {range:?}");
        }
    }

    /// A permutation has each number once, and is what a shuffle makes of them.
    #[test]
    fn a_permutation_is_one(n in 0..200_usize, seed in any::<[u64; 2]>()) {
        let rng = crate::Stream::from_words(seed);
        let mut items: Vec<usize> = (0..n).collect();
        rng.clone().shuffle(&mut items);
        let mut numbers = rng.permutation(n);
        prop_assert_eq!(&numbers, &items);
        numbers.sort_unstable();
        prop_assert_eq!(numbers, (0..n).collect::<Vec<_>>());
    }
}

#[test]
fn discrete_draws_have_their_probabilities() {
    let weights = [3.0, 0.0, 1.0, 0.5, 12.0, 0.25, 3.25];
    let table = Discrete::new(&weights).expect("weights");
    let rng = stream();
    let mut counts = [0.0; 7];
    for _ in 0..100_000 {
        counts[rng.discrete(&table)] += 1.0;
    }
    let classes: Vec<(f64, f64)> =
        counts.iter().zip(weights).map(|(count, weight)| (*count, weight * 5000.0)).collect();
    assert_eq!(classes[1], (0.0, 0.0));
    fit("discrete", &[&classes[..1], &classes[2..]].concat());
    let one = Discrete::new(&[1e-320]).expect("one weight");
    assert_eq!((rng.discrete(&one), one.len()), (0, 1));
}

#[test]
fn empirical_draws_are_uniform_between_observations() {
    let table = Empirical::new(&[4.0, 1.0, 2.0, 2.0]).expect("observations");
    let rng = stream();
    let mut counts = [0.0; 7];
    for _ in 0..60_000 {
        let drawn = rng.empirical(&table);
        counts[if drawn == 2.0 { 6 } else { (2.0 * (drawn - 1.0)) as usize }] += 1.0;
    }
    let parts = [1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 2.0];
    let classes: Vec<_> = counts.iter().zip(parts).map(|(c, part)| (*c, 1e4 * part)).collect();
    fit("empirical", &classes);
    let one = Empirical::new(&[7.5]).expect("one observation");
    assert_eq!((rng.empirical(&one), one.sorted()), (7.5, &[7.5][..]));
}

#[test]
fn all_orders_have_the_same_probability() {
    let rng = stream();
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..48_000 {
        *counts.entry(rng.permutation(4)).or_insert(0.0) += 1.0;
    }
    assert_eq!(counts.len(), 24);
    fit("orders", &counts.values().map(|count| (*count, 2000.0)).collect::<Vec<_>>());
}

#[test]
fn a_choice_is_one_of_the_items() {
    let rng = stream();
    let items = ["a", "b", "c"];
    let mut counts = [0.0; 3];
    for _ in 0..30_000 {
        let chosen = rng.choice(&items).expect("three items");
        counts[items.iter().position(|item| item == chosen).expect("an item")] += 1.0;
    }
    fit("choice", &counts.map(|count| (count, 10_000.0)));
    assert_eq!(rng.choice::<u8>(&[]), None);
}

#[test]
fn tables_say_what_is_wrong() {
    let outcome = |numbers: &[f64]| Discrete::new(numbers).map_err(|error| error.to_string());
    assert_eq!(Discrete::new(&[]), Err(TableError::Empty));
    assert_eq!(Discrete::new(&[0.0, -0.0]), Err(TableError::AllZero));
    assert_eq!(
        outcome(&[1.0, -2.0]),
        Err("number 1 is -2, but a weight is finite and not negative".into())
    );
    assert!(outcome(&[1.0, f64::NAN]).is_err_and(|error| error.contains("number 1 is NaN")));
    assert!(outcome(&[f64::INFINITY]).is_err());
    assert_eq!(Empirical::new(&[]), Err(TableError::Empty));
    assert!(matches!(Empirical::new(&[f64::NAN]), Err(TableError::Value { index: 0, .. })));
    let apart = TableError::TooFarApart { least: -1e308, greatest: 1e308 };
    assert_eq!(Empirical::new(&[1e308, -1e308]), Err(apart));
}
