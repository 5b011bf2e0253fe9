//! The sink of handlers that are called again, to restore a state from an earlier copy.
//!
//! Called by [`saving`](super::saving).

use warpline_core::{EventKey, Io, LpId};

use crate::handling::{Admission, Halt, Sink, Source};

/// The sink of a handler that is called again to restore a state. Its events were sent already.
#[derive(Debug)]
pub(super) struct Coasting<'a>(pub(super) &'a Admission);

impl<T> Sink<T> for Coasting<'_> {
    #[inline]
    fn admission(&self) -> &Admission {
        self.0
    }

    #[inline]
    fn accept(&mut self, _: EventKey, _: LpId, _: Option<Io>, message: impl Source<T>) {
        // What writes a message may change the state, too.
        drop(message.make());
    }

    /// A handler that went through once does not fail the second time.
    fn halt(&mut self, halt: Halt) -> ! {
        panic!("a handler ran differently the second time, from the same state: {halt}");
    }
}
