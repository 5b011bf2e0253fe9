//! The traits that a model implements: [`LogicalProcess`] for its parts, [`Model`] for the whole.
//!
//! Engines call their methods.
//!
//! # References
//!
//! `start`, `handle` and `finish` are the IProc, Proc and FProc procedures of GTW (Das, Fujimoto,
//! Panesar, Allison, Hybinette: *GTW: A Time Warp System for Shared Memory Multiprocessors*, 1994,
//! section 2.1). The fields of an LP are its first kind of state, and the read-only model is its
//! fourth.

mod collected;

use std::fmt;

use serde::{Serialize, de::DeserializeOwned};

use crate::{Context, EventKey, IoContext, LpId, Reversal, Saving, VirtualTime, Wire};

pub use collected::Collected;

/// A logical process (LP): private state that changes only when an event arrives.
///
/// LPs share only the read-only model. If a model has several kinds of LPs, this type is an enum
/// (or a struct around a trait object).
///
/// An engine may clone an LP to save its state, and later continue with the clone. So the clone
/// must own all that a handler changes: plain fields and owned collections work, an
/// `Rc<RefCell<_>>` does not. Fields of which events change only a small part are best
/// [`Tracked`](crate::Tracked), with [`SAVING`](Self::SAVING) by field. The reverse check compares
/// states by their [text](Model::state_text).
pub trait LogicalProcess: Clone + fmt::Debug + Send + Sized {
    /// The model that this LP belongs to.
    type Model: Model<Lp = Self>;
    /// The contents of events. A message is shared between threads and never changed after it is
    /// sent, hence `Sync`.
    type Message: Send + Sync + 'static;
    /// The result of one LP, for [`Model::reduce`].
    type Summary: Send;

    /// Called once per LP before any event. It sends the first events, at time zero or later.
    ///
    /// An engine that chooses engines may also make and start a few LPs ahead that it drops: so it
    /// sees how many events there are.
    fn start(&mut self, model: &Self::Model, cx: &mut impl Context<Self::Message>);

    /// Called for every event that was sent to this LP, in the order of their keys.
    fn handle(
        &mut self,
        model: &Self::Model,
        message: &Self::Message,
        cx: &mut impl Context<Self::Message>,
    );

    /// Called for a blocking I/O event ([`Io::Blocking`](crate::Io::Blocking)), in key order with
    /// the other events of the LP, once nothing can undo it. So it may read and write files and
    /// move the time barrier.
    ///
    /// It is called once for each event, and sends at most as many events as
    /// [`io_sends_max`](Self::io_sends_max) says.
    fn handle_io(
        &mut self,
        _model: &Self::Model,
        _message: &Self::Message,
        cx: &mut impl IoContext<Self::Message>,
    ) {
        cx.fail(format_args!("got a blocking I/O event, but has no `handle_io` for it"));
    }

    /// The most events that [`handle_io`](Self::handle_io) sends for this message.
    ///
    /// It is a promise: a handler that sends more ends the run with an error, in every engine. Time
    /// Warp with limited memory relies on it: what the handler does cannot be undone, so the
    /// buffers for what it sends are reserved before it is called.
    fn io_sends_max(_model: &Self::Model, _message: &Self::Message) -> usize {
        8
    }

    /// Called for a non-blocking I/O event ([`Io::NonBlocking`](crate::Io::NonBlocking)) once
    /// nothing can undo it, for one event at a time and in the order of their keys. On several
    /// ranks, rank 0 calls it for the events of all. The LP may have gone on by then, so only the
    /// message is available. The file or device to write to belongs to the model.
    fn output(_model: &Self::Model, _lp: LpId, _event: &EventKey, _message: &Self::Message) {}

    /// Whether [`reverse`](Self::reverse) is implemented. A type whose handlers are known at run
    /// time only says so in [`Model::is_reversible`], too.
    const REVERSIBLE: bool = false;

    /// Undoes [`handle`](Self::handle) for the same message: restores the state to what it was
    /// before. The engine itself cancels the events that were sent and restores the random stream.
    /// [`Reversal::rng`] returns the numbers that the handler drew, in the same order.
    fn reverse(&mut self, _model: &Self::Model, _message: &Self::Message, _event: &mut Reversal) {
        unreachable!("`reverse` is called only where `REVERSIBLE` is true");
    }

    /// How an engine that undoes events saves the state: it clones the whole state, or, with
    /// [`Saving::BY_FIELD`] for a type that derives [`State`](crate::State), the fields save what
    /// they change.
    const SAVING: Saving<Self> = Saving::BY_COPY;

    /// Where the [statistics](crate::statistics) of this LP are, if it collects any: a run with a
    /// warm-up lets them begin anew at its end.
    const STATISTICS: Collected<Self> = Collected::NONE;

    /// A number that is equal for equal messages and differs for different ones, or a hash of the
    /// whole contents; `None` if there is no such number. The speculative engine compares it: what
    /// an LP sends again, after an event that came late, its receivers need not handle again.
    #[inline]
    fn identity(_model: &Self::Model, _message: &Self::Message) -> Option<u64> {
        (size_of::<Self::Message>() == 0).then_some(0)
    }

    /// The bytes that this state owns on the heap, as far as a copy of it owns as many: memory
    /// limits count them for saved states. By default a state that is saved by field says what its
    /// fields say, and another one owns nothing, or nothing that is worth counting.
    ///
    /// [`heap_block`](crate::heap_block) says what one allocation takes.
    #[inline]
    fn heap_bytes(&self) -> usize {
        Self::SAVING.heap_bytes(self).unwrap_or_default()
    }

    /// The bytes that a message owns on the heap: memory limits count them while the event is
    /// pending, and in Time Warp until it is committed. By default a message owns nothing, or
    /// nothing that is worth counting. It must be the same number each time, so a message that can
    /// change behind its reference must not be asked for what changes.
    #[inline]
    fn message_heap_bytes(_message: &Self::Message) -> usize {
        0
    }

    /// Called once per LP after its last event. `end` is the virtual time at which the run stopped;
    /// time averages end there.
    fn finish(self, model: &Self::Model, end: VirtualTime) -> Self::Summary;

    /// A number that represents the contents of a message in the commit digest.
    ///
    /// The digest always covers the keys of all events and the random streams of all LPs. A model
    /// whose messages carry data can add the data here.
    #[inline]
    fn fingerprint(_model: &Self::Model, _message: &Self::Message) -> u64 {
        0
    }
}

/// What a model says that does not say how its LPs [go on](Model::adapt) with other parameters.
#[doc(hidden)]
pub const NOT_ADAPTED: &str =
    "the model does not say how its LPs go on with other parameters (`Model::adapt`)";

/// A whole model: its LPs, the data that they share, and how their results are combined.
///
/// Every handler can read the model, and nothing changes it during a run. So parameters, topology
/// and tables belong here, not into each LP.
pub trait Model: Send + Sync + Sized {
    /// The type of the LPs.
    type Lp: LogicalProcess<Model = Self>;
    /// The result of a run.
    type Output: Send;

    /// A short name for reports. It may depend on the model's parameters.
    fn name(&self) -> &str;

    /// The number of LPs.
    fn lp_count(&self) -> usize;

    /// Makes LP `id`. An engine may call it on any thread, and on each rank for some LPs only.
    fn make_lp(&self, id: LpId) -> Self::Lp;

    /// Combines the results of all LPs into the result of the run. The summaries come in the order
    /// of the LPs in every engine, so that sums of floating-point numbers are repeatable.
    fn reduce(
        &self,
        summaries: impl Iterator<Item = <Self::Lp as LogicalProcess>::Summary>,
    ) -> Self::Output;

    /// The worker, out of `workers`, that LP `id` is placed on. The default makes equal blocks.
    fn placement(&self, id: LpId, workers: usize) -> usize {
        (id.index() * workers) / self.lp_count().max(1)
    }

    /// A lower bound of the delays of all events from one LP to another, if there is one.
    ///
    /// It is a promise: an engine may rely on it, and every engine ends the run with an error when
    /// it is broken. Events that an LP sends to itself are exempt.
    fn lookahead(&self) -> Option<f64> {
        None
    }

    /// The LPs that LP `from` ever sends to, without itself, if they are few and known.
    ///
    /// It is a promise too. The conservative engine relies on it for null messages, and checks it
    /// there; no other engine checks it.
    fn links(&self, _from: LpId) -> Option<Vec<Link>> {
        None
    }

    /// Whether the LPs of this model have reverse handlers. [`LogicalProcess::REVERSIBLE`] says it
    /// for the type of LPs, and where that is false there are none.
    fn is_reversible(&self) -> bool {
        Self::Lp::REVERSIBLE
    }

    /// Whether the LPs of this model have statistics that can begin anew.
    /// [`LogicalProcess::STATISTICS`] says it for the type of LPs, and where there are none, there
    /// are none here.
    fn has_statistics(&self) -> bool {
        Self::Lp::STATISTICS.is_some()
    }

    /// The text of a state in which the reverse check looks for differences, in the layout of
    /// `{:#?}`. By default it is the LP's `Debug` text; a model whose LPs do not know the names of
    /// their fields can add them here.
    fn state_text(&self, lp: &Self::Lp) -> String {
        format!("{lp:#?}")
    }

    /// What makes this model another one than the next of its type: its parameters, and the data
    /// that it has read. Ranks compare the `Debug` text before a run on several of them, and show
    /// it if it is short; a checkpoint has it, and a run with another one does not go on with it.
    /// So the text is the same at all times, and on all ranks: it has nothing that a run changes,
    /// no lock and no file. By default there is nothing to compare; the checkpoints of a command
    /// (`warpline_cli`) then have the flags of the model.
    fn parameters(&self) -> &dyn fmt::Debug {
        &()
    }

    /// Prepares the state of an LP that `before`, a model of the same type with as many LPs, has
    /// handled events with: from now on this model goes on with it. Called for each LP where a
    /// branch of a run has other parameters. A state that has copies of parameters gets the new
    /// ones here.
    ///
    /// # Errors
    ///
    /// Why that may not be. By default it may not, because a state may depend on the parameters.
    fn adapt(&self, _before: &Self, _id: LpId, _lp: &mut Self::Lp) -> Result<(), String> {
        Err(NOT_ADAPTED.to_owned())
    }

    /// What two summaries of an LP differ in, for a model whose results are of use for an interval
    /// of a run, too ([`Difference`]). By default its [statistics](LogicalProcess::STATISTICS) know
    /// it, if it has any.
    fn difference(&self) -> Option<Difference<Self>> {
        Self::Lp::STATISTICS.difference()
    }

    /// How messages and summaries become bytes, for a model that runs on several ranks: plain old
    /// data as it lies in memory ([`Wire::plain`](crate::Wire::plain)), anything else through serde
    /// ([`Wire::serde`](crate::Wire::serde)).
    fn wires(&self) -> Option<Wires<Self>> {
        None
    }

    /// How the state of an LP becomes bytes, for a model whose runs can be written to a file and
    /// resumed, or stop and go on on several ranks; its [`wires`](Self::wires) write the messages.
    /// The bytes carry every field, also one that nothing changes: whoever reads them has nothing
    /// else. Plain old data is written as it lies in memory, so such a file is read on the same
    /// kind of machine only.
    fn state_wire(&self) -> Option<Wire<Self::Lp>> {
        None
    }
}

/// The summary of an interval: what happened in a run up to the time of the first summary and not
/// up to that of the second one, which is earlier. Counts, sums and lengths of time are subtracted;
/// what is no sum, such as a maximum, is the first one's.
pub type Difference<M> = fn(
    &<<M as Model>::Lp as LogicalProcess>::Summary,
    &<<M as Model>::Lp as LogicalProcess>::Summary,
) -> <<M as Model>::Lp as LogicalProcess>::Summary;

/// A receiver of the events of an LP, as [`Model::links`] declares it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The receiver.
    pub to: LpId,
    /// A lower bound of the delays of events on this link; 0 if none is known.
    pub lookahead: f64,
}

/// How the messages and the summaries of a model become bytes.
pub struct Wires<M: Model> {
    /// For the contents of events.
    pub message: Wire<<M::Lp as LogicalProcess>::Message>,
    /// For the results of LPs, which rank 0 combines.
    pub summary: Wire<<M::Lp as LogicalProcess>::Summary>,
}

impl<M: Model> Wires<M> {
    /// Uses serde for both.
    #[must_use]
    pub const fn serde() -> Self
    where
        <M::Lp as LogicalProcess>::Message: Serialize + DeserializeOwned,
        <M::Lp as LogicalProcess>::Summary: Serialize + DeserializeOwned,
    {
        Self { message: Wire::serde(), summary: Wire::serde() }
    }
}

impl<M: Model> Clone for Wires<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Model> Copy for Wires<M> {}

impl<M: Model> fmt::Debug for Wires<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wires").finish_non_exhaustive()
    }
}
