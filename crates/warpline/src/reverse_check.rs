//! The engine `reverse-check`: every event forward, back and forward again.
//!
//! The sequential engine runs it, and calls [`there_and_back`] where it would handle an ordinary
//! event otherwise; so it commits the same events. It names the first LP and field that a reverse
//! handler does not restore. Time Warp with reverse handlers would only show that the results are
//! wrong.
//!
//! It is slow: it handles every event twice, reverses it once, and prints the state three or four
//! times (`{:#?}`), so an event takes microseconds, or milliseconds where the state is large. A
//! short run of a small model is enough.
//!
//! # Invariants
//!
//! - **REVERSE-A.** Sends take effect once: those of the second execution, after all comparisons.
//! - **REVERSE-B.** The state of an LP is compared as its text shows it. A field that the text
//!   hides is noticed only if it makes the second execution differ.

mod difference;

use warpline_core::{
    Discrepancy, EventKey, Fault, Io, LogicalProcess, LpId, Model, Reversal, Stream,
};

use crate::{
    ConfigError, EngineKind,
    event::Message,
    handling::{Admission, BoundedSink, Cause, Core, Halt, Handling, Lp, Sink, Source, Value},
};

/// Refuses a model that has nothing to check.
pub(crate) fn refuse_irreversible<M: Model>(model: &M) -> Result<(), ConfigError> {
    let allowed = "another engine for this model: it has no reverse handler to check";
    ConfigError::check(model.is_reversible(), "engine", EngineKind::ReverseCheck, allowed)
}

/// An ordinary event, and the LP that handles it.
pub(crate) struct Arrival<'e, T> {
    pub(crate) key: &'e EventKey,
    pub(crate) to: LpId,
    pub(crate) message: &'e T,
}

/// Handles an event, reverses it, and handles it again.
pub(crate) fn there_and_back<M: Model>(
    model: &M,
    event: &Arrival<'_, Message<M>>,
    lp: &mut Lp<M::Lp>,
    sink: &mut impl BoundedSink<Message<M>>,
) {
    let (before, rng_before) = (model.state_text(&lp.state), lp.core.rng.clone());
    let first = forward(model, event, lp, sink);

    let &Arrival { key, to, message } = event;
    let mut reversal = Reversal::new(*key, to, rng_before.clone(), first.note);
    lp.state.reverse(model, message, &mut reversal);
    lp.core.rng = rng_before;
    if let Some(difference) = difference::between(&before, &model.state_text(&lp.state)) {
        sink.halt(Halt::Fault(Fault::NotReversed(Box::new(difference))));
    }

    let second = forward(model, event, lp, sink);
    if let Some(difference) = first.compare(&second, model) {
        sink.halt(Halt::Fault(Fault::NotRepeated(Box::new(difference))));
    }
    for Sent { key, to, io, message } in second.sent {
        debug_assert_eq!(key.sequence(), lp.core.sent, "{to} gets an event of another number");
        sink.accept(key, to, io, Value(message));
        lp.core.sent += 1;
    }
}

/// The outcome of an execution whose sends have not taken effect.
struct Outcome<T> {
    state: String,
    rng: Stream,
    sent: Vec<Sent<T>>,
    note: u64,
}

/// An event that was sent and has not taken effect.
struct Sent<T> {
    key: EventKey,
    to: LpId,
    io: Option<Io>,
    message: T,
}

/// Handles an event, and holds back what it sends.
fn forward<M: Model>(
    model: &M,
    event: &Arrival<'_, Message<M>>,
    lp: &mut Lp<M::Lp>,
    sink: &mut impl BoundedSink<Message<M>>,
) -> Outcome<Message<M>> {
    let Lp { state, core: Core { rng, sent, .. } } = lp;
    let mut trial = Trial { sink, sent: Vec::new(), note: 0 };
    let cause = Cause::event(event.key, event.to);
    let mut cx = Handling { cause, rng, sent: &mut sent.clone(), sink: &mut trial };
    state.handle(model, event.message, &mut cx);
    let Trial { sent, note, .. } = trial;
    Outcome { state: model.state_text(state), rng: rng.clone(), sent, note }
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
struct Trial<'k, K, T> {
    sink: &'k mut K,
    sent: Vec<Sent<T>>,
    note: u64,
}

impl<T, K: BoundedSink<T>> Sink<T> for Trial<'_, K, T> {
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
}
