//! Which parameters may change in a branch of a run: those that no state has a copy of.
//!
//! Called by models, in [`Model::adapt`](warpline::Model::adapt).

/// Refuses other parameters than those that may differ.
pub(crate) fn check(is_allowed: bool, may_differ: &str) -> Result<(), String> {
    let why = || format!("branches of this model may differ only in {may_differ}");
    if is_allowed { Ok(()) } else { Err(why()) }
}
