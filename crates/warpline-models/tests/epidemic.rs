//! The epidemic against theory: its final size on a random network of contacts.
//!
//! # Mutations of the model, each seen red
//!
//! - `Region::handle` infects people who have recovered: "EPIDEMIC-A"
//! - `Region::infect` sends infections to contacts after the recovery, too: the final size

use warpline::replication::Estimate;
use warpline_models::epidemic::{EpidemicOutput, EpidemicParams};

mod typed;

/// The part of the people who are ever infected, if the part `first` is at the start.
///
/// Who is infected passes it on over each of its contacts with the same probability, and the number
/// of those that lead to somebody is Poisson distributed: `z = 1 - (1 - first) exp(-R z)`.
fn final_size(reproduction: f64, first: f64) -> f64 {
    let mut size = 1.0;
    for _ in 0..10_000 {
        size = 1.0 - (1.0 - first) * libm::exp(-reproduction * size);
    }
    size
}

fn run(params: EpidemicParams, seed: u64) -> EpidemicOutput {
    let end = 2_000.0;
    let mut runs = typed::replicate::<EpidemicOutput>(params, seed, 0.0..end, 1);
    runs.reports.remove(0).output.clone()
}

#[test]
fn theory_by_hand() {
    // A known value of the final size for R = 2, and the threshold.
    assert!((final_size(2.0, 0.0) - 0.796_812).abs() < 1e-6);
    assert!(final_size(0.9, 0.0) < 1e-9);
    assert_eq!(final_size(0.0, 0.25), 0.25);
    let params =
        EpidemicParams { transmission: 0.25, infectious: 4.0, ..EpidemicParams::default() };
    assert_eq!(params.reproduction(), 5.0);
}

/// On different networks, each with a run: most contacts near or far, with a latent time or none.
#[test]
fn the_final_size_is_that_of_theory() {
    let cases =
        [(1.0, 10, 0.06, 0.0), (0.1, 10, 0.06, 3.0), (0.5, 4, 0.15, 0.0), (1.0, 20, 0.005, 0.0)];
    for (travel, contacts, transmission, latent) in cases {
        let params = EpidemicParams {
            people: 20_000,
            regions: 10,
            contacts,
            travel,
            transmission,
            latent,
            infected: 200,
            ..EpidemicParams::default()
        };
        let sizes = (1..=12).map(|seed| {
            let output = run(EpidemicParams { contact_seed: seed, ..params.clone() }, seed);
            assert_eq!(output.infected_at_end, 0, "it is over");
            assert_eq!(output.infected, output.infections.iter().sum::<u64>());
            output.attack_rate
        });
        let found = Estimate::of(sizes);
        let theory = final_size(params.reproduction(), 0.01);
        assert!(found.covers(theory), "{params:?}: {found:?}, but theory says {theory}");
        assert!(found.half_width < 0.02 * theory.max(0.1), "{params:?}: {found:?} is wide");
    }
}

/// People are divided among regions, however many; without contacts, nobody else is infected.
#[test]
fn all_divisions_have_all_people() {
    for (people, regions) in [(1, 1), (10, 3), (1_000, 999), (997, 100), (7, 7)] {
        let all = EpidemicParams { people, regions, infected: people, ..EpidemicParams::default() };
        let output = run(all.clone(), 1);
        assert_eq!((output.infected, output.attack_rate), (people as u64, 1.0));
        let alone = run(EpidemicParams { infected: 1, contacts: 0, ..all }, 1);
        assert_eq!((alone.infected, alone.last_infection), (1, 0.0));
    }
}

/// Without contacts elsewhere the infection stays in its region.
#[test]
fn regions_without_travel_are_alone() {
    let params = EpidemicParams {
        people: 10_000,
        regions: 10,
        travel: 0.0,
        infected: 1,
        transmission: 1.0,
        ..EpidemicParams::default()
    };
    let output = run(params, 3);
    assert!(output.infected > 900 && output.infected <= 1_000, "{}", output.infected);
    assert_eq!(output.foreign, 0.0);
}
