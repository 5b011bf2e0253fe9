//! What a handler may do: [`Context`] has no method for anything that cannot be undone.

use std::fmt;

use crate::{EventKey, LpId, Stream, UndoLog, VirtualTime};

/// The handler's view of the engine, for a model whose messages are of type `M`.
///
/// An engine that speculates can undo everything that a handler does through a context. So nothing
/// here prints, writes files or reads the wall clock. A handler can still do such things without
/// the context; they then happen once per execution, not once per committed event.
///
/// A mistake (a delay that is NaN or negative, a receiver that does not exist, …) does not return
/// an error. The handler ends there, by unwinding, and the run ends with a
/// [`ModelError`](crate::ModelError) once the event can no longer be undone.
///
/// Engines implement this trait, and later versions may add methods to it: other implementations
/// (for the unit tests of a model, say) must then be extended.
pub trait Context<M> {
    /// The time of the event that is being handled; zero in `start`.
    fn now(&self) -> VirtualTime;

    /// The LP that handles it.
    fn me(&self) -> LpId;

    /// The key of the event that is being handled, which no other event has; `None` in `start`.
    fn event_key(&self) -> Option<&EventKey>;

    /// The number of LPs in the model.
    fn lp_count(&self) -> usize;

    /// The random stream of this LP. Draws take it by a shared reference, so that they may stand in
    /// a call: `cx.send(cx.rng().lp(lps), cx.rng().exponential(1.0), message)`. They are drawn in
    /// the order in which they are written.
    fn rng(&self) -> &Stream;

    /// Sends `message` to LP `to`; it arrives after `delay` units of virtual time.
    ///
    /// The delay may be zero: the event is then handled at the same virtual time, after the event
    /// that sent it.
    fn send(&mut self, to: LpId, delay: f64, message: M);

    /// Sends `message` to LP `to`; it arrives at the virtual time `time`.
    fn send_at(&mut self, to: LpId, time: f64, message: M);

    /// Sends a message to LP `to` that `fill` writes where it will lie; it arrives after `delay`
    /// units of virtual time. For large messages: [`send`](Self::send) makes a message first and
    /// copies it then (as TWGetMsg of GTW, 3.6.2, which returns the buffer).
    ///
    /// What `fill` finds there is a message that was sent before, or a default one, and which of
    /// the two may differ from run to run. So it must write all that the receiver reads. If
    /// messages have a destructor, or the engine needs the message elsewhere, it is a default one,
    /// which is copied.
    #[inline]
    fn send_with(&mut self, to: LpId, delay: f64, fill: impl FnOnce(&mut M))
    where
        M: Default,
    {
        let mut message = M::default();
        fill(&mut message);
        self.send(to, delay, message);
    }

    /// Sends an I/O event. [`handle_io`] or [`output`] handles it once nothing can undo it any
    /// more.
    ///
    /// [`handle_io`]: crate::LogicalProcess::handle_io
    /// [`output`]: crate::LogicalProcess::output
    fn send_io(&mut self, io: Io, to: LpId, delay: f64, message: M);

    /// Ends the handler here, and ends the run with this error once the event can no longer be
    /// undone.
    fn fail(&mut self, reason: fmt::Arguments<'_>);

    /// Saves a word for [`reverse`](crate::LogicalProcess::reverse), because the handler is about
    /// to overwrite it. Only the last word of an event is kept. Engines that do not reverse ignore
    /// it.
    #[inline]
    fn note(&mut self, _word: u64) {}

    /// The log that [`Tracked`](crate::Tracked) fields write what they change to; none in an engine
    /// that undoes nothing.
    #[inline(always)]
    fn undo(&mut self) -> Option<&mut UndoLog> {
        None
    }
}

/// The context of a handler of blocking I/O events, which is never undone.
pub trait IoContext<M>: Context<M> {
    /// Sets the simulated time barrier: from now on, no event at or after `time` is handled ahead
    /// of global virtual time. `None` removes the barrier. The barrier limits optimism and never
    /// changes a result; an engine that does not speculate ignores it.
    ///
    /// A barrier that no handler moves does not stop the run: the event that global virtual time
    /// has reached is always handled.
    fn set_time_barrier(&mut self, time: Option<VirtualTime>);
}

/// The two kinds of I/O events (GTW, section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Io {
    /// The LP waits for it: it handles no later event before. The handler has the LP's state.
    Blocking,
    /// The LP does not wait, so the handler has only the message.
    NonBlocking,
}
