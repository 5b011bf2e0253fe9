//! How a simulated run may fail: as the sequential run does, or for lack of buffers.

use warpline_core::Model;

use super::super::shared::TimeWarpShared;
use crate::{
    RunError,
    simulated::{
        Truth,
        model::{Log, Toy},
    },
};

/// Compares the error of a run, and what it has noted until then, with those of the sequential one.
pub(super) fn check_error(
    error: RunError,
    toy: &Toy,
    log: &Log,
    truth: &Truth,
    shared: &TimeWarpShared<Toy>,
) {
    match (error, &truth.result) {
        (RunError::Model(found), Err(RunError::Model(expected))) => {
            let place = |place: &warpline_core::Place| (place.lp, place.event);
            assert_eq!(place(&found.place), place(&expected.place), "{found}");
            assert_eq!(found.fault, expected.fault);
            assert_eq!(log.outputs, truth.log.outputs);
            // When the handler of an output fails, a blocking I/O event may already be handled.
            assert!(log.blocking.starts_with(&truth.log.blocking), "blocking: {:?}", log.blocking);
            let same = log.blocking.len() == truth.log.blocking.len();
            assert!(same || toy.wrong_output.is_some(), "blocking: {:?}", log.blocking);
        }
        (RunError::OutOfBuffers { events, .. }, Ok(_)) => {
            // The last two are what messages own, and what states and their logs do.
            let (owned, saved) = (truth.peak / 2, 4 * toy.lp_count() as u64);
            let needed = truth.peak + 2 * shared.workers() as u64 + 8 + owned + saved;
            assert!(events < needed, "{events} buffers are enough, {needed} are needed");
        }
        (RunError::OutOfBuffers { .. }, Err(_)) => {}
        (error, truth) => panic!("ended with {error}, but the sequential run with {truth:?}"),
    }
}
