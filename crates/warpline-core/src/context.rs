//! What a handler may do; what it may not do is absent from here.

use std::fmt;

use crate::{LpId, Stream, UndoPoint, VirtualTime};

/// The handler's view of the engine, for a model whose messages are of type `M`.
///
/// Everything a handler does through a context can be undone by an engine that speculates, so
/// nothing here prints, writes files or tells the wall-clock time. Handlers that do such things
/// behind the context's back run them once per execution, not once per committed event.
///
/// A mistake (a delay that is NaN or negative, a receiver that does not exist, …) does not return
/// an error: the handler ends there, by unwinding, and the run ends with a
/// [`ModelError`](crate::ModelError) once the event that made the mistake is final.
///
/// Engines implement this trait, and it will gain methods: an implementation elsewhere (for the
/// unit tests of a model, say) has to keep up.
pub trait Context<M> {
    /// The time of the event being handled; zero in `start`.
    fn now(&self) -> VirtualTime;

    /// The process that handles it.
    fn me(&self) -> LpId;

    /// How many processes the model has.
    fn lp_count(&self) -> usize;

    /// This process's own stream of random numbers.
    fn rng(&mut self) -> &mut Stream;

    /// Sends `message` to process `to`, to arrive after `delay` units of virtual time.
    ///
    /// The delay may be zero: the effect is then handled at the same time, after its cause.
    fn send(&mut self, to: LpId, delay: f64, message: M);

    /// Sends `message` to process `to`, to arrive at the virtual time `time`.
    fn send_at(&mut self, to: LpId, time: f64, message: M);

    /// Sends an I/O event: one that is handled, by [`handle_io`] or [`output`], only once nothing
    /// can undo it any more.
    ///
    /// [`handle_io`]: crate::LogicalProcess::handle_io
    /// [`output`]: crate::LogicalProcess::output
    fn send_io(&mut self, io: Io, to: LpId, delay: f64, message: M);

    /// Ends the handler, and the run with an error of the model's own once this event is final.
    fn fail(&mut self, reason: fmt::Arguments<'_>);

    /// Leaves a word for [`reverse`](crate::LogicalProcess::reverse): what the handler is about to
    /// forget and the reverse handler needs. The last word counts. Engines that do not reverse
    /// ignore it.
    #[inline]
    fn note(&mut self, _word: u64) {}

    /// Where a [`Tracked`](crate::Tracked) field stands in the history of its process.
    #[inline]
    fn undo_point(&self) -> UndoPoint {
        UndoPoint::NEVER
    }
}

/// The view of a handler of blocking I/O events, which is never undone.
pub trait IoContext<M>: Context<M> {
    /// Sets the simulated time barrier: from now on no event at or after `time` is handled ahead of
    /// global virtual time; `None` takes the barrier away. It limits optimism and never changes a
    /// result; an engine that does not speculate ignores it.
    ///
    /// A barrier that nobody raises does not stop the run: the event that global virtual time has
    /// reached is always handled.
    fn set_time_barrier(&mut self, time: Option<VirtualTime>);
}

/// The two kinds of I/O events (GTW, section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Io {
    /// Its process waits for it: nothing later is handled there before. The handler has the state.
    Blocking,
    /// Its process does not wait, so the handler has the message only.
    NonBlocking,
}
