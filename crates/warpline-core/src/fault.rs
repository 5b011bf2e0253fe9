//! The mistakes of models, and the error that reports one: what, where, and what to do.
//!
//! Engines make these values, and users read them.

use std::fmt;

use crate::{EventKey, LpId};

/// A mistake of a model, found while an event was handled.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// A delay, or a receive time, that is NaN or infinite.
    NotFinite {
        /// The receiver.
        to: LpId,
        /// The delay or time that was given.
        value: f64,
    },
    /// An event sent into the past of its sender.
    Past {
        /// The receiver.
        to: LpId,
        /// The negative delay.
        delay: f64,
    },
    /// An event for an LP that the model does not have.
    NoSuchLp {
        /// The receiver that was named.
        to: LpId,
        /// How many LPs there are.
        lp_count: usize,
    },
    /// Zero-delay events that cause each other without end.
    ZeroDelayChain {
        /// The receiver of the first event beyond the limit.
        to: LpId,
        /// The number of steps allowed at one instant.
        limit: u32,
    },
    /// An event to another LP, sooner than the lookahead of the model allows.
    BrokenLookahead {
        /// The receiver.
        to: LpId,
        /// The delay of the event.
        delay: f64,
        /// The lookahead that the model declares.
        lookahead: f64,
    },
    /// An event to an LP that is not among the links of its sender, where the engine relies on
    /// them.
    NoSuchLink {
        /// The receiver.
        to: LpId,
        /// The delay of the event.
        delay: f64,
    },
    /// An event sooner than the lookahead of its link allows, where the engine relies on it.
    BrokenLink {
        /// The receiver.
        to: LpId,
        /// The delay of the event.
        delay: f64,
        /// The lookahead that the model declares for the link.
        lookahead: f64,
    },
    /// A handler of a blocking I/O event that sends more events than it promises.
    TooManyIoSends {
        /// How many it may send, as the model says.
        most: usize,
    },
    /// An error that the model reported itself.
    Failed(String),
    /// A panic in a handler.
    Panicked {
        /// The panic's message.
        message: String,
        /// The source line that panicked, if it is known.
        location: Option<String>,
    },
    /// A reverse handler that does not restore the state, found by the reverse check: the first
    /// difference between the state before the event and the state after its reversal.
    NotReversed(Box<Discrepancy>),
    /// A handler that does not repeat what it did when it handles the same event again, found by
    /// the reverse check or the check of saving.
    NotRepeated(Box<Discrepancy>),
    /// An LP that did something else when an optimistic engine let it handle its events again, from
    /// what it had saved of the LP. Where no LP is named, events were lost or doubled by that.
    RanDifferently,
    /// A state that differs from a copy that was just made of it, found by the check of saving.
    NotCopied(Box<Discrepancy>),
    /// A state that is not as it was after its last events have been undone by what was saved of
    /// it, found by the check of saving.
    NotRestored {
        /// How many events were undone.
        events: usize,
        /// The first difference between the state before them and after the undo.
        found: Box<Discrepancy>,
    },
    /// Tracked fields that have lost what they wrote to the undo log, found by the check of saving.
    NotUndone {
        /// How many events were undone.
        events: usize,
        /// How often tracked fields were written in them, as the undo log has it.
        written: usize,
        /// How many of these writes the fields have undone.
        undone: usize,
    },
    /// A state or a message that is another one when it is read from its bytes, found by the check
    /// of saving.
    NotReadBack {
        /// The method of the model whose wire it is.
        wire: &'static str,
        /// The first difference between what was written and what was read.
        found: Box<Discrepancy>,
    },
    /// A wire that does not take what it has written, or that panics.
    BrokenWire {
        /// The method of the model whose wire it is.
        wire: &'static str,
        /// What went wrong.
        what: String,
    },
}

/// The first difference between two states or executions that should be equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discrepancy {
    /// What differs: a path of fields as in `tally.bins[3]`, the random stream, or an event that
    /// was sent.
    pub what: String,
    /// Its value in the first.
    pub first: String,
    /// Its value in the second.
    pub second: String,
}

impl Fault {
    /// What the author of the model can do about it.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::NotFinite { .. } => {
                "check the computation of the delay: 0/0, ln(0) and overflow are the usual causes"
            }
            Self::Past { .. } => "send with a delay of zero or more",
            Self::NoSuchLp { .. } => "send to an LP below the model's lp_count()",
            Self::ZeroDelayChain { .. } => {
                "give one event of the cycle a delay greater than zero, or end the cycle; a delay \
                 too small to change the time counts as zero"
            }
            Self::BrokenLookahead { .. } => {
                "lower the lookahead that the model declares, or lengthen the delay"
            }
            Self::NoSuchLink { .. } => {
                "add the link to those that `links` of the model returns for the sender, or use \
                 --synchronization windows or another engine, which need no links"
            }
            Self::BrokenLink { .. } => {
                "lower the lookahead of this link in the model's `links`, or lengthen the delay"
            }
            Self::TooManyIoSends { .. } => {
                "let the model's `io_sends_max` return as many as `handle_io` may send"
            }
            Self::Failed(_) | Self::Panicked { .. } => {
                "look at the handler of this LP; the same seed and flags repeat the failure"
            }
            Self::NotReversed(_) => {
                "undo every change of `handle` in `reverse`, the last one first; save values that \
                 `handle` overwrites with `Context::note`, or draw them again from `Reversal::rng`"
            }
            Self::NotRepeated(_) => {
                "let the handler depend only on the model, the message, the state and its random \
                 stream; and let `Debug` show the whole state, because the check compares what it \
                 shows. If the model has `Model::wires`, the second time the check of saving \
                 handles the message as it is read from its bytes: let them have all of it"
            }
            Self::RanDifferently => {
                "run it with the engine `saving-check`, which names the field that is not saved, \
                 or what the handler depends on beside the model, the message, the state and its \
                 random stream. If that finds nothing, it is a bug of Warpline: please report it"
            }
            Self::NotCopied(_) => {
                "let `clone` and `clone_from` copy all that a handler changes, or derive `State`, \
                 which writes them; and let `Debug` show no addresses and nothing of an order that \
                 a copy does not keep"
            }
            Self::NotRestored { .. } => {
                "let the state own all that a handler changes, because what it shares (`Rc`, \
                 `Arc`, a static) is not saved; if fields save what they change, a field that \
                 changes is tracked or plain and not `#[state(fixed)]`, and no tracked field is \
                 replaced or swapped"
            }
            Self::NotUndone { .. } => {
                "change tracked fields by their methods, and never replace, take or swap them \
                 (`clear` empties one); in a `State` that is written by hand, let `undo_to` call \
                 that of each tracked field"
            }
            Self::NotReadBack { .. } => {
                "let the wire write and read every field, also one that nothing changes, without \
                 `#[serde(skip)]`: the ranks of a session, and a run that goes on from a \
                 checkpoint, have nothing but these bytes; and let `Debug` show no addresses and \
                 nothing of an order that bytes do not keep"
            }
            Self::BrokenWire { .. } => {
                "let `read` of the wire take exactly the bytes that `write` has appended; the \
                 engine `saving-check` tries each wire at each event"
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite { to, value } => {
                write!(f, "sent an event to {to:?} with a delay or time of {value}")
            }
            Self::Past { to, delay } => {
                write!(f, "sent an event to {to:?} with the negative delay {delay}")
            }
            Self::NoSuchLp { to, lp_count } => {
                write!(f, "sent an event to {to:?}, but there are {lp_count} LPs, numbered from 0")
            }
            Self::ZeroDelayChain { to, limit } => {
                write!(f, "sent a zero-delay event to {to:?} after {limit} of them at one instant")
            }
            Self::BrokenLookahead { to, delay, lookahead } => {
                write!(f, "sent an event to {to:?} with delay {delay}, below lookahead {lookahead}")
            }
            Self::NoSuchLink { to, delay } => {
                write!(f, "sent an event to {to:?} with delay {delay}, but has no link to it")
            }
            Self::BrokenLink { to, delay, lookahead } => {
                write!(
                    f,
                    "sent an event to {to:?} with delay {delay}, below lookahead {lookahead} of \
                     their link"
                )
            }
            Self::TooManyIoSends { most } => {
                write!(f, "sent more events for a blocking I/O event than the {most} it promises")
            }
            Self::Failed(reason) => f.write_str(reason),
            Self::Panicked { message, location: Some(location) } => {
                write!(f, "panicked at {location}: {message}")
            }
            Self::Panicked { message, location: None } => write!(f, "panicked: {message}"),
            Self::NotReversed(discrepancy) => {
                let Discrepancy { what, first, second } = &**discrepancy;
                write!(
                    f,
                    "is not restored by its reverse handler: {what} was {first} before the event, \
                     and is {second} after its reversal"
                )
            }
            Self::NotRepeated(discrepancy) => {
                let Discrepancy { what, first, second } = &**discrepancy;
                write!(
                    f,
                    "does something else when it handles the same event again: {what} was {first} \
                     the first time, and {second} the second time"
                )
            }
            Self::RanDifferently => f.write_str(
                "ran differently when it handled its events again: something that it depends on is \
                 not restored",
            ),
            Self::NotCopied(discrepancy) => {
                let Discrepancy { what, first, second } = &**discrepancy;
                write!(f, "is not the same in a copy: {what} is {first}, and {second} in the copy")
            }
            Self::NotRestored { events, found } => {
                let Discrepancy { what, first, second } = &**found;
                write!(
                    f,
                    "is not restored when {} undone: {what} was {first} before, and is {second} \
                     after",
                    last(*events)
                )
            }
            Self::NotUndone { events, written, undone } => write!(
                f,
                "loses what its tracked fields have saved: of {written} writes, {undone} were \
                 undone when {} undone",
                last(*events)
            ),
            Self::NotReadBack { wire, found } => {
                let Discrepancy { what, first, second } = &**found;
                let of = of_wire(wire);
                write!(
                    f,
                    "has a {of} that `{wire}` does not write and read as it is: {what} was {first} \
                     before, and is {second} after"
                )
            }
            Self::BrokenWire { wire, what } => {
                write!(f, "has a {} that `{wire}` cannot write and read: {what}", of_wire(wire))
            }
        }
    }
}

/// Where no LP is at work, no handler is to blame.
const OUTSIDE_OF_LPS: &str = "look at the method of the model that failed, or the function of its \
                              wires; the same seed and flags repeat the failure";

/// What a wire is for, by the method that has it.
fn of_wire(method: &str) -> &'static str {
    debug_assert!(method.starts_with("Model::"), "{method} is no method that has a wire");
    if method.ends_with("state_wire") { "state" } else { "message" }
}

/// An LP's last events, as the subject of a sentence.
fn last(events: usize) -> String {
    if events == 1 { "its event is".to_owned() } else { format!("its last {events} events are") }
}

/// Where a fault happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The LP that was active; `None` if the fault concerns the model as a whole.
    pub lp: Option<LpId>,
    /// The event it handled; `None` in `start` and `finish`, and while the LP was made.
    pub event: Option<EventKey>,
    /// The engine, by the name that `--engine` takes.
    pub engine: &'static str,
    /// The worker within the engine.
    pub worker: usize,
    /// The seed of the run.
    pub seed: u64,
}

impl Place {
    /// The run in which it happened, as errors describe it.
    #[must_use]
    pub fn run(&self) -> String {
        let Self { engine, worker, seed, .. } = self;
        format!("engine {engine}, worker {worker}, seed {seed}")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.lp, self.event) {
            (Some(lp), Some(key)) => write!(f, "{lp:?} at virtual time {}", key.time_value()),
            (Some(lp), None) => write!(f, "{lp:?} outside of any event"),
            (None, _) => f.write_str("the model as a whole, outside of any LP,"),
        }
    }
}

/// A fault of a model with its place: the error that ends a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelError {
    /// What happened.
    pub fault: Fault,
    /// Where it happened.
    pub place: Place,
}

impl std::error::Error for ModelError {}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, place } = self;
        match (fault, place.lp, place.event) {
            // The event is not known.
            (Fault::RanDifferently, Some(lp), None) => {
                write!(f, "the model failed: {lp:?} {fault}")?;
            }
            _ => write!(f, "the model failed: {place} {fault}")?,
        }
        if let Some(key) = place.event {
            write!(f, "\n  event: number {} sent by {:?}", key.sequence(), key.sender())?;
            if key.step() > 0 {
                write!(f, ", zero-delay step {}", key.step())?;
            }
        }
        let advice = match fault {
            Fault::Failed(_) | Fault::Panicked { .. } if place.lp.is_none() => OUTSIDE_OF_LPS,
            _ => fault.advice(),
        };
        write!(f, "\n  run: {}\n  what to do: {advice}", place.run())
    }
}
