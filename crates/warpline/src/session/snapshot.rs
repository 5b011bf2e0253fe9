//! Copies of all that a session is: for going back, and for branches.

use std::fmt;

use warpline_core::Model;

use super::State;
use crate::{
    cut::{Cut, Whole},
    event::{Buffer, Event, Inline, Message},
    handling::Value,
};

/// A session's states and pending events at one point, from
/// [`Session::snapshot`](super::Session::snapshot).
pub struct Snapshot<M: Model>(pub(super) State<M>);

impl<M: Model> fmt::Debug for Snapshot<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("now", &self.0.now).finish_non_exhaustive()
    }
}

/// A copy of where a session is; `copy` copies a message.
pub(super) fn copy_of<M: Model>(
    state: &State<M>,
    copy: &dyn Fn(&Message<M>) -> Message<M>,
) -> State<M> {
    let Cut { lps, pending, log_end } = &state.whole.0;
    let copy_event = |&Event { key, to, io, ref message }: &Event<Inline<Message<M>>>| {
        let message = Inline::store(Value(copy(message.get())), &mut Vec::new());
        Event { key, to, io, message }
    };
    let pending = pending.iter().map(copy_event).collect();
    State {
        whole: Whole(Cut { lps: lps.clone(), pending, log_end: *log_end }),
        now: state.now,
        is_past_now: state.is_past_now,
        totals: state.totals.clone(),
        wall: state.wall,
        details: state.details.clone(),
    }
}
