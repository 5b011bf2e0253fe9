//! How a model is written: [`LogicalProcess`] is its parts, [`Model`] is the whole.
//!
//! # References
//!
//! `start`, `handle` and `finish` are the IProc, Proc and FProc procedures of GTW (Das, Fujimoto,
//! Panesar, Allison, Hybinette: *GTW: A Time Warp System for Shared Memory Multiprocessors*, 1994,
//! section 2.1); the fields of a process are its first kind of state, the model behind `&Model`
//! its fourth.

use std::fmt;

use crate::{Context, EventKey, IoContext, LpId, Reversal, Undo, VirtualTime, Wires};

/// A part of a model: private state that changes only when an event arrives.
///
/// Processes share nothing but the read-only model. A model with several kinds of processes makes
/// this type an enum (or a struct around a trait object).
///
/// The engine may clone a process to save its state, and later put the clone in its place. So
/// whatever a handler changes must belong to the clone: plain fields and owned collections do,
/// an `Rc<RefCell<_>>` does not. Large fields that change little are [`Tracked`](crate::Tracked).
/// `Debug` is what a reverse check names a field by.
pub trait LogicalProcess: Clone + fmt::Debug + Send + Sized {
    /// The model this process belongs to.
    type Model: Model<Lp = Self>;
    /// What events carry. Messages are never changed after they are sent: `Sync` sees to it.
    type Message: Send + Sync + 'static;
    /// What is left of the process at the end, for [`Model::reduce`].
    type Summary: Send;

    /// Called once per process before any event: sends the first events, at time zero or later.
    fn start(&mut self, model: &Self::Model, cx: &mut impl Context<Self::Message>);

    /// Called for every event sent to this process, in the order of their keys.
    fn handle(
        &mut self,
        model: &Self::Model,
        message: &Self::Message,
        cx: &mut impl Context<Self::Message>,
    );

    /// Called for a blocking I/O event ([`Io::Blocking`](crate::Io::Blocking)), in the order of
    /// keys among the other events of the process, once nothing can undo it. It may do what
    /// cannot be undone: read and write files, or move the time barrier.
    ///
    /// With limited memory it is called once more if there was no buffer for what it sent: so it
    /// sends first, and then does what cannot be undone.
    fn handle_io(
        &mut self,
        _model: &Self::Model,
        _message: &Self::Message,
        cx: &mut impl IoContext<Self::Message>,
    ) {
        cx.fail(format_args!("got a blocking I/O event, but has no `handle_io` for it"));
    }

    /// Called for a non-blocking I/O event ([`Io::NonBlocking`](crate::Io::NonBlocking)) once
    /// nothing can undo it, for one event at a time and in the order of their keys over all
    /// processes. The process itself may be ahead by then, so there is only the message; what it is
    /// written to belongs to the model.
    fn output(_model: &Self::Model, _lp: LpId, _event: &EventKey, _message: &Self::Message) {}

    /// Whether [`reverse`](Self::reverse) is written.
    const REVERSIBLE: bool = false;

    /// Undoes [`handle`](Self::handle) for the same message: the state is as that left it, and has
    /// to become as it was before. What was sent is taken back by the engine, and the random
    /// stream, too: [`Reversal::rng`] gives the numbers that the handler drew, in the same order.
    fn reverse(&mut self, _model: &Self::Model, _message: &Self::Message, _event: &mut Reversal) {
        unreachable!("`reverse` is called only where `REVERSIBLE` says that it is written");
    }

    /// Shows every [`Tracked`](crate::Tracked) field to `visit`, always in the same order.
    fn tracked(&mut self, _visit: &mut dyn FnMut(&mut dyn Undo)) {}

    /// A number that is equal for equal messages and different for different ones, or a hash of the
    /// whole contents; `None` if it is not known. Lazy cancellation takes a message that is sent
    /// again for the same one by this.
    #[inline]
    fn identity(_message: &Self::Message) -> Option<u64> {
        (size_of::<Self::Message>() == 0).then_some(0)
    }

    /// Called once per process after its last event. `end` is the virtual time at which the run
    /// stopped; time averages end there.
    fn finish(self, model: &Self::Model, end: VirtualTime) -> Self::Summary;

    /// A number that stands for the message's contents in the commit digest.
    ///
    /// The digest always covers the keys of all events and the random streams of all processes;
    /// a model whose messages carry data adds them here.
    #[inline]
    fn fingerprint(_message: &Self::Message) -> u64 {
        0
    }
}

/// A whole model: which processes there are, what they share, and what becomes of their results.
///
/// The model itself is read-only while it runs and seen by every handler: parameters, topology and
/// tables belong here, not into each process.
pub trait Model: Send + Sync + Sized {
    /// The processes.
    type Lp: LogicalProcess<Model = Self>;
    /// The result of a run.
    type Output: Send;

    /// A short name for reports. It may depend on the model's parameters.
    fn name(&self) -> &str;

    /// How many processes there are.
    fn lp_count(&self) -> usize;

    /// Makes process `id`. It may be called on any thread, and for part of the processes only.
    fn make_lp(&self, id: LpId) -> Self::Lp;

    /// Folds what the processes left into the result. The summaries come in the order of the
    /// processes, whatever engine ran them, so that sums of floating-point numbers are repeatable.
    fn reduce(
        &self,
        summaries: impl Iterator<Item = <Self::Lp as LogicalProcess>::Summary>,
    ) -> Self::Output;

    /// The worker, of `workers`, that process `id` is placed on. By default equal blocks.
    fn placement(&self, id: LpId, workers: usize) -> usize {
        (id.index() * workers) / self.lp_count().max(1)
    }

    /// A delay that no event from one process to another goes below, if there is one.
    ///
    /// It is a promise: an engine may rely on it, and every engine ends the run with an error when
    /// it is broken. Events that a process sends to itself are exempt.
    fn lookahead(&self) -> Option<f64> {
        None
    }

    /// The processes that process `from` ever sends to, itself left out, if they are few and known.
    ///
    /// A promise too, but one that the sequential engine does not need and does not check.
    fn links(&self, _from: LpId) -> Option<Vec<Link>> {
        None
    }

    /// How messages and summaries travel between ranks, if the model is to run on several: plain
    /// old data as they lie in memory ([`Wire::plain`](crate::Wire::plain)), anything else
    /// through serde ([`Wire::serde`](crate::Wire::serde)).
    fn wires(&self) -> Option<Wires<Self>> {
        None
    }
}

/// A way that events take from one process to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The receiver.
    pub to: LpId,
    /// A delay that no event on this link goes below; 0 if nothing is known.
    pub lookahead: f64,
}
