//! The engine `reverse-check`: every event forward, back and forward again.
//!
//! Called by [`Simulation`](crate::Simulation). It is the sequential engine with another way to
//! handle an ordinary event. It finds the first process and field that a reverse handler does not
//! restore, while the model is being written; an engine that relies on reverse handlers would only
//! show that its results are wrong. What it commits is what the sequential engine commits.
//!
//! It is slow on purpose: it handles every event twice, reverses it once, and prints the state
//! three or four times (`{:#?}`), so an event costs microseconds, and milliseconds where the state
//! is large. A short run of a small model finds what there is to find.
//!
//! # Invariants
//!
//! - **REVERSE-A.** What is sent takes effect once, by the second execution, after all is compared.
//! - **REVERSE-B.** A process is compared by what its `Debug` shows. What that hides is seen only
//!   where it makes the second execution differ.

mod difference;

use warpline_core::{
    Discrepancy, EventKey, Fault, Io, LogicalProcess, LpId, Model, Reversal, Stream,
};

use crate::{
    ConfigError, Engine, Report, RunError,
    event::Message,
    handling::{Admission, Cause, Core, Halt, Handling, Lp, Sink},
    pending::family,
    sequential::{self, Arrival, BoundedSink, Execution},
    settings::Settings,
    watch::Watch,
};

/// Runs `model` from its start to its end.
pub(crate) fn run<M: Model>(
    model: &M,
    settings: &Settings,
    watch: &mut Watch<'_>,
) -> Result<Report<M::Output>, RunError> {
    if !M::Lp::REVERSIBLE {
        let allowed = "another engine for this model: it has no reverse handler to check";
        return Err(ConfigError::new("engine", Engine::ReverseCheck, allowed).into());
    }
    // The checks take so long that the choice of the pending set makes no difference.
    sequential::execute::<M, family::Heap, ThereAndBack>(model, settings, watch)
}

/// Handles an event, reverses it, and handles it again.
struct ThereAndBack;

impl<M: Model> Execution<M> for ThereAndBack {
    const ENGINE: Engine = Engine::ReverseCheck;

    fn handle(
        model: &M,
        event: Arrival<'_, Message<M>>,
        lp: &mut Lp<M::Lp>,
        sink: &mut impl BoundedSink<Message<M>>,
    ) {
        let (before, rng_before) = (show(&lp.state), lp.core.rng.clone());
        let first = forward(model, &event, lp, sink);

        let Arrival { key, to, message } = event;
        let mut reversal = Reversal::new(*key, to, rng_before.clone(), first.note);
        lp.state.reverse(model, message, &mut reversal);
        lp.core.rng = rng_before;
        if let Some(difference) = difference::between(&before, &show(&lp.state)) {
            sink.halt(Halt::Fault(Fault::NotReversed(Box::new(difference))));
        }

        let second = forward(model, &event, lp, sink);
        if let Some(difference) = first.compare::<M::Lp>(&second) {
            sink.halt(Halt::Fault(Fault::NotRepeated(Box::new(difference))));
        }
        for Sent { key, to, io, message } in second.sent {
            sink.accept(key, to, io, message);
            lp.core.sent += 1;
        }
    }
}

/// What came of an execution whose sends have not taken effect.
struct Outcome<T> {
    state: String,
    rng: Stream,
    sent: Vec<Sent<T>>,
    note: u64,
}

/// An event that is sent for the time being.
struct Sent<T> {
    key: EventKey,
    to: LpId,
    io: Option<Io>,
    message: T,
}

/// Handles an event; what is sent is kept back.
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
    Outcome { state: show(state), rng: rng.clone(), sent, note }
}

fn show(state: &impl LogicalProcess) -> String {
    format!("{state:#?}")
}

impl<T> Outcome<T> {
    /// How a second execution differs from this one, if it does.
    fn compare<L: LogicalProcess<Message = T>>(&self, second: &Self) -> Option<Discrepancy> {
        if let Some(difference) = difference::between(&self.state, &second.state) {
            return Some(difference);
        }
        if self.rng != second.rng {
            let [first, second] = [&self.rng, &second.rng].map(|rng| format!("{:x?}", rng.words()));
            return Some(Discrepancy { what: "the random stream".to_owned(), first, second });
        }
        let sent =
            |outcome: &Self, n| outcome.sent.get(n).map_or("none".to_owned(), Sent::show::<L>);
        (0..self.sent.len().max(second.sent.len())).find_map(|n| {
            let (first, second) = (sent(self, n), sent(second, n));
            let what = || format!("number {n} of the events that it sent");
            (first != second).then(|| Discrepancy { what: what(), first, second })
        })
    }
}

impl<T> Sent<T> {
    /// All that two executions have to agree in.
    fn show<L: LogicalProcess<Message = T>>(&self) -> String {
        let Self { key, to, io, message } = self;
        let contents = (L::identity(message), L::fingerprint(message));
        let kind = match io {
            None => "ordinary",
            Some(Io::Blocking) => "blocking I/O",
            Some(Io::NonBlocking) => "non-blocking I/O",
        };
        format!("one ({kind}) to {to:?}, {key:?}, identity and fingerprint {contents:x?}")
    }
}

/// Keeps back what is sent.
struct Trial<'k, K, T> {
    sink: &'k mut K,
    sent: Vec<Sent<T>>,
    note: u64,
}

impl<T, K: BoundedSink<T>> Sink<T> for Trial<'_, K, T> {
    fn admission(&self) -> &Admission {
        self.sink.admission()
    }

    fn accept(&mut self, key: EventKey, to: LpId, io: Option<Io>, message: T) {
        // A handler that sends for ever has to be stopped here.
        if !self.sink.has_room_for(self.sent.len() + 1) {
            self.halt(Halt::OutOfBuffers);
        }
        self.sent.push(Sent { key, to, io, message });
    }

    fn halt(&mut self, halt: Halt) -> ! {
        self.sink.halt(halt)
    }

    fn note(&mut self, word: u64) {
        self.note = word;
    }
}
