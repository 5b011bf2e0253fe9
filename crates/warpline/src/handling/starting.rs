//! The first events of an LP, which may be endlessly many: each look whether the run is to stop.
//!
//! Every engine calls [`start`] for its LPs. The sink is another type here than where events are
//! handled, so that ordinary sends do not look at anything.

use warpline_core::{EventKey, Io, LogicalProcess, LpId};

use super::{
    admission::{Admission, Cause},
    context::{Handling, Sink},
    halt::Halt,
    lp::Core,
    source::Source,
};

/// Lets an LP send its first events. It is cut off, with [`Halt::Stopped`], once `is_to_stop`
/// returns true; what it has sent by then is counted in its `core`.
pub(crate) fn start<L: LogicalProcess>(
    state: &mut L,
    core: &mut Core,
    model: &L::Model,
    me: LpId,
    sink: impl Sink<L::Message>,
    is_to_stop: impl FnMut() -> bool,
) {
    debug_assert_eq!(core.sent, 0, "{me} starts twice");
    let Core { rng, sent, .. } = core;
    let sink = Starting { sink, is_to_stop };
    state.start(model, &mut Handling { cause: Cause::start(me), rng, sent, sink });
}

/// The sink of an LP that starts.
struct Starting<K, F> {
    sink: K,
    is_to_stop: F,
}

impl<T, K: Sink<T>, F: FnMut() -> bool> Sink<T> for Starting<K, F> {
    fn admission(&self) -> &Admission {
        self.sink.admission()
    }

    fn begin_send(&mut self) {
        self.sink.begin_send();
    }

    // A call: the copy of the engine's send that matters is the one in the handler.
    #[inline(never)]
    fn accept(&mut self, key: EventKey, to: LpId, io: Option<Io>, message: impl Source<T>) {
        if (self.is_to_stop)() {
            self.sink.halt(Halt::Stopped);
        }
        self.sink.begin_first_send();
        self.sink.accept(key, to, io, message);
    }

    fn halt(&mut self, halt: Halt) -> ! {
        self.sink.halt(halt)
    }
}
