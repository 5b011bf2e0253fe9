//! A run with a single worker on a single rank: nobody can send it a straggler, so it needs no
//! records, no saved states and no global virtual time, and is handled by the sequential engine.
//!
//! Called by `run`, if no setting was changed that the sequential engine does not read
//! ([`TimeWarp::is_alone`]). The settings and the placement are checked as for any other number of
//! workers, and the report says how the run was made.
//!
//! # References
//!
//! That Time Warp on one processor should be like a sequential simulator: Das, Fujimoto, Panesar,
//! Allison, Hybinette: *GTW: A Time Warp System for Shared Memory Multiprocessors*, 1994, section
//! 3.6.1.

use warpline_core::Model;

use super::refusals::{own_error, refuse_what_the_model_lacks};
use crate::{
    EngineKind, Report, RunError,
    cut::{Rest, Whole},
    panics,
    placement::LpDirectory,
    sequential,
    settings::{Sequential, Settings, TimeWarp},
    watch::Watch,
};

/// What the report says.
const REMARK: &str = "the only worker has worked as the sequential engine does, because nobody can \
                    send it a straggler: no records, no saved states, no global virtual time, and \
                    no policy of Time Warp; `as-if-many`, or any such policy, runs all of it";

pub(super) fn run<M: Model>(
    model: &M,
    settings: &Settings<TimeWarp>,
    watch: &mut Watch<'_>,
    from: Option<Whole<M>>,
) -> Result<Report<Rest<M>>, RunError> {
    refuse_what_the_model_lacks(model, settings)?;
    settings.parallel().validate()?;
    settings.engine.validate(1)?;
    let place = || LpDirectory::new(model, model.lp_count(), &settings.engine.placement, 1, 0..1);
    panics::catch(place).map_err(|fault| own_error(fault, settings))??;
    let sequential = settings.with(Sequential { pending: settings.engine.pending });
    let mut report = sequential::run_as(EngineKind::TimeWarp, model, &sequential, watch, from)?;
    report.details.remarks.push(REMARK.to_owned());
    Ok(report)
}
