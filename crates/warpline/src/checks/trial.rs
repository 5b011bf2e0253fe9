//! One execution of an event whose sends have not taken effect, and what came of it.

use warpline_core::{
    Discrepancy, EventKey, Fault, Io, LogicalProcess, LpId, Model, Stream, UndoLog,
};

use super::{Arrival, difference};
use crate::{
    event::Message,
    handling::{Admission, BoundedSink, Cause, Core, Halt, Handling, Lp, Sink, Source, Value},
};

/// The outcome of an execution whose sends have not taken effect.
pub(super) struct Outcome<T> {
    /// The text of the state after it.
    pub(super) state: String,
    rng: Stream,
    sent: Vec<Sent<T>>,
    pub(super) note: u64,
}

/// An event that was sent and has not taken effect.
struct Sent<T> {
    key: EventKey,
    to: LpId,
    io: Option<Io>,
    message: T,
}

/// How an event is tried.
pub(super) struct Trial<'t, M: Model, K> {
    pub(super) model: &'t M,
    pub(super) event: &'t Arrival<'t, Message<M>>,
    /// The same event for the second execution: with its message as it is read from its bytes, if
    /// it becomes some.
    pub(super) again: &'t Arrival<'t, Message<M>>,
    /// Where what takes effect goes.
    pub(super) sink: &'t mut K,
    /// What shows a state.
    pub(super) show: fn(&M, &M::Lp) -> String,
}

impl<M: Model, K: BoundedSink<Message<M>>> Trial<'_, M, K> {
    pub(super) fn text(&self, state: &M::Lp) -> String {
        (self.show)(self.model, state)
    }

    /// Handles the event, and holds back what it sends. Tracked fields write to the log, if there
    /// is one.
    pub(super) fn forward(
        &mut self,
        lp: &mut Lp<M::Lp>,
        undo_log: Option<&mut UndoLog>,
    ) -> Outcome<Message<M>> {
        let Lp { state, core: Core { rng, sent, .. } } = lp;
        let mut held = Holding { sink: &mut *self.sink, sent: Vec::new(), note: 0, undo_log };
        let cause = Cause::event(self.event.key, self.event.to);
        let mut cx = Handling { cause, rng, sent: &mut sent.clone(), sink: &mut held };
        state.handle(self.model, self.event.message, &mut cx);
        let Holding { sent, note, .. } = held;
        Outcome { state: self.text(&lp.state), rng: lp.core.rng.clone(), sent, note }
    }

    /// The second execution.
    pub(super) fn repeat(
        &mut self,
        lp: &mut Lp<M::Lp>,
        undo_log: Option<&mut UndoLog>,
    ) -> Outcome<Message<M>> {
        debug_assert_eq!(self.again.key, self.event.key, "CHECK-A: another event is repeated");
        self.event = self.again;
        self.forward(lp, undo_log)
    }

    /// Lets a second execution take effect if it is the same as the first one.
    pub(super) fn conclude(
        &mut self,
        first: &Outcome<Message<M>>,
        second: Outcome<Message<M>>,
        lp: &mut Lp<M::Lp>,
    ) {
        if let Some(difference) = first.compare(&second, self.model) {
            self.fail(Fault::NotRepeated(Box::new(difference)));
        }
        for Sent { key, to, io, message } in second.sent {
            debug_assert_eq!(key.sequence(), lp.core.sent, "{to} gets an event of another number");
            self.sink.accept(key, to, io, Value(message));
            lp.core.sent += 1;
        }
    }

    /// If the state differs from what it should be, the run ends with this fault.
    pub(super) fn expect_same(
        &mut self,
        expected: &str,
        found: &str,
        fault: impl FnOnce(Box<Discrepancy>) -> Fault,
    ) {
        if let Some(difference) = difference::between(expected, found) {
            self.fail(fault(Box::new(difference)));
        }
    }

    pub(super) fn fail(&mut self, fault: Fault) -> ! {
        self.sink.halt(Halt::Fault(fault))
    }
}

impl<T> Outcome<T> {
    /// The first difference between this execution and a second one, if there is any.
    fn compare<M>(&self, second: &Self, model: &M) -> Option<Discrepancy>
    where
        M: Model,
        M::Lp: LogicalProcess<Message = T>,
    {
        if let Some(difference) = difference::between(&self.state, &second.state) {
            return Some(difference);
        }
        if self.rng != second.rng {
            let [first, second] = [&self.rng, &second.rng].map(|rng| format!("{:x?}", rng.words()));
            return Some(Discrepancy { what: "the random stream".to_owned(), first, second });
        }
        let sent = |outcome: &Self, n: usize| {
            outcome.sent.get(n).map_or("none".to_owned(), |sent| sent.show(model))
        };
        (0..self.sent.len().max(second.sent.len())).find_map(|n| {
            let (first, second) = (sent(self, n), sent(second, n));
            let what = || format!("number {n} of the events that it sent");
            (first != second).then(|| Discrepancy { what: what(), first, second })
        })
    }
}

impl<T> Sent<T> {
    /// All parts of it that must be equal in two executions.
    fn show<M>(&self, model: &M) -> String
    where
        M: Model,
        M::Lp: LogicalProcess<Message = T>,
    {
        let Self { key, to, io, message } = self;
        let contents = (M::Lp::identity(model, message), M::Lp::fingerprint(model, message));
        let kind = match io {
            None => "ordinary",
            Some(Io::Blocking) => "blocking I/O",
            Some(Io::NonBlocking) => "non-blocking I/O",
        };
        format!("one ({kind}) to {to:?}, {key:?}, identity and fingerprint {contents:x?}")
    }
}

/// A sink that holds back what is sent.
struct Holding<'k, K, T> {
    sink: &'k mut K,
    sent: Vec<Sent<T>>,
    note: u64,
    undo_log: Option<&'k mut UndoLog>,
}

impl<T, K: BoundedSink<T>> Sink<T> for Holding<'_, K, T> {
    fn admission(&self) -> &Admission {
        self.sink.admission()
    }

    fn accept(&mut self, key: EventKey, to: LpId, io: Option<Io>, message: impl Source<T>) {
        // Otherwise a handler that sends for ever would not be stopped.
        if !self.sink.has_room_for(self.sent.len() + 1) {
            self.halt(Halt::OutOfBuffers);
        }
        debug_assert!(
            self.sent.last().is_none_or(|last| last.key.sequence() < key.sequence()),
            "an LP sends in the order of its numbers"
        );
        self.sent.push(Sent { key, to, io, message: message.make() });
    }

    fn halt(&mut self, halt: Halt) -> ! {
        self.sink.halt(halt)
    }

    fn note(&mut self, word: u64) {
        self.note = word;
    }

    fn undo(&mut self) -> Option<&mut UndoLog> {
        self.undo_log.as_deref_mut()
    }
}
