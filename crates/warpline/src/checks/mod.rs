//! The engines that check a model while it runs: `reverse-check` and `saving-check`.
//!
//! The sequential engine runs them, and calls them where it would handle an ordinary event
//! otherwise; so they commit the same events. Every event is undone and handled again. They name
//! the first LP and field that are not as they were before. An engine that undoes events would only
//! show that the results are wrong.
//!
//! They are slow: they handle every event twice and print the state several times (`{:#?}`), so an
//! event takes microseconds, or milliseconds where the state is large. A short run of a small model
//! is enough.
//!
//! # Invariants
//!
//! - **CHECK-A.** Sends take effect once: those of the second execution, after all comparisons.
//! - **CHECK-B.** The state of an LP is compared as its text shows it. A field that the text hides
//!   is noticed only if it makes the second execution differ.

mod difference;
mod reverse;
mod saving;
mod trial;
mod wires;

use warpline_core::{EventKey, LpId};

pub(crate) use reverse::{refuse_irreversible, there_and_back};
pub(crate) use saving::SavingChecker;

/// An ordinary event, and the LP that handles it.
pub(crate) struct Arrival<'e, T> {
    pub(crate) key: &'e EventKey,
    pub(crate) to: LpId,
    pub(crate) message: &'e T,
}
