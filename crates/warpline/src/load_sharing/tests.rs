//! Runs without a run: workers whose load is a function of where LPs are.

use proptest::prelude::*;

use super::*;

/// Seconds between two looks, and measured windows in that time.
const STEP: f64 = 0.25e-3;

/// A run of some seconds on two or more workers, where the load of each LP depends on the time.
/// Returns the unevenness from look to look, and what was done in the end.
fn play(
    workers: usize,
    lps: usize,
    seconds: f64,
    load: impl Fn(usize, f64) -> f64,
) -> (Vec<f64>, MoveStatistics) {
    let mut sharing = LoadSharing::new(Balance::On, 1);
    let (mut time, mut seen) = (0.0, Vec::new());
    while time < seconds {
        let (loads, placement) = sharing.begin_stage(workers, time);
        let loads = loads.expect("there are several workers");
        let table: Vec<usize> = match placement {
            Some(Placement::Table(table)) => table.iter().map(|&worker| worker as usize).collect(),
            _ => (0..lps).map(|lp| lp * workers / lps).collect(),
        };
        let of = |worker| (0..lps).filter(|&lp| table[lp] == worker).collect::<Vec<_>>();
        let lists: Vec<_> = (0..workers).map(of).collect();
        time += 0.2e-3;
        let mut samples = 0;
        loop {
            time += STEP;
            samples += 1;
            for (worker, list) in lists.iter().enumerate() {
                loads.set(worker, samples, list.iter().map(|&lp| load(lp, time)).sum());
            }
            seen.push(loads.unevenness());
            if sharing.look(time) || time > seconds {
                break;
            }
        }
        // Red, as nothing moves, if the end of a stage does not request it.
        if loads.are_wanted() {
            for (worker, list) in lists.iter().enumerate() {
                loads.put(worker, list.iter().map(|&lp| (LpId::from_index(lp), load(lp, time))));
            }
        }
    }
    (seen, sharing.statistics())
}

proptest! {
    /// A load that stays as it is becomes even, and then nothing moves any more.
    #[test]
    fn a_load_becomes_even(
        workers in 2_usize..6,
        loads in prop::collection::vec(1.0..20.0_f64, 200..400),
        busy in 1.0..20.0_f64,
    ) {
        let part = loads.len() / 3;
        let load = |lp: usize, _: f64| if lp < part { busy * loads[lp] } else { loads[lp] };
        let (seen, statistics) = play(workers, loads.len(), 0.5, load);
        let last = seen.last().copied().unwrap_or_default();
        prop_assert!(last < 1.15, "{:?}, {}", statistics, last);
        prop_assert!(statistics.moves <= 3, "{:?}", statistics);
        let even = seen.iter().filter(|&&unevenness| unevenness < 1.15).count();
        prop_assert!(even * 10 > 8 * seen.len(), "{} of {}", even, seen.len());
    }

    /// What is even never moves, whatever noise is in it.
    #[test]
    fn an_even_load_stays(workers in 2_usize..6, seed in any::<u64>()) {
        let noise = |lp: usize, time: f64| {
            let hash = warpline_core::mix(seed ^ lp as u64, (time / STEP) as u64);
            0.5 + hash as f64 / u64::MAX as f64
        };
        let (_, statistics) = play(workers, 600, 0.5, noise);
        prop_assert_eq!(statistics.moves, 0);
    }
}

/// A hot spot that wanders is followed.
#[test]
fn a_hot_spot_is_followed() {
    let hot = |lp: usize, time: f64| {
        let at = (time / 2.0 * 300.0) as usize % 300;
        if (lp + 300 - at) % 300 < 60 { 20.0 } else { 1.0 }
    };
    let (seen, statistics) = play(2, 300, 2.0, hot);
    let mean = seen.iter().sum::<f64>() / seen.len() as f64;
    assert!(mean < 1.12 && statistics.moves >= 8, "{mean}, {statistics:?}");
}

/// One LP that has most of the load cannot be shared: it is tried more and more rarely.
#[test]
fn what_cannot_be_shared_is_left() {
    let (_, statistics) = play(2, 100, 2.0, |lp, _| if lp == 0 { 1000.0 } else { 1.0 });
    assert!(statistics.moves <= 1, "{statistics:?}");
}

/// What takes long to move waits until it would have gained as much twice.
#[test]
fn many_lps_move_late() {
    let lp = |number: u32| Measured { worker: number / 1000, load: f64::from(3 - number / 1000) };
    let measured: Vec<_> = (0..2000).map(lp).collect();
    let moves = |each, time| Balancer::default().place(&measured, (2, each), 0.0, time).is_some();
    // The busiest worker has 1.2 times the mean, and 167 LPs are to move.
    assert!(moves(0.0, 1e-3) && moves(1e-6, 3e-3));
    assert!(!moves(1e-6, 1.5e-3), "it would have gained 0.25 ms, and takes 0.17");
}

/// One worker, or a placement that is to stay, measures nothing.
#[test]
fn nothing_is_measured_in_vain() {
    let mut sharing = LoadSharing::new(Balance::On, 1);
    assert!(sharing.begin_stage(1, 0.0).0.is_none());
    let mut sharing = LoadSharing::new(Balance::Off, 1);
    assert!(sharing.begin_stage(2, 0.0).0.is_none() && !sharing.look(1.0));
}
