//! What every engine does around a handler call: the context that a handler gets, the rules that
//! its sends have to keep, the reason why it is cut off, and the LP that it belongs to.
//!
//! Engines differ in where a send goes ([`Sink`]); everything else about a call is the same in all
//! of them, so it is written once.

mod admission;
mod context;
mod copying;
mod halt;
mod lp;
mod source;
mod starting;

pub(crate) use admission::{Admission, Cause};
pub(crate) use context::{BoundedSink, Handling, Sink};
pub(crate) use copying::time_copies;
pub(crate) use halt::{CutOff, Halt};
pub(crate) use lp::{Core, Lp, copies_little, copies_much};
pub(crate) use source::{Source, Value};
pub(crate) use starting::start;
