//! What a handler may do; what it may not do is absent from here.

use std::fmt;

use crate::{LpId, Stream, VirtualTime};

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

    /// Sends a message that `make` makes. A large message is best sent this way: an engine may let
    /// it be made in the buffer that carries it, without a copy.
    #[inline]
    fn send_with(&mut self, to: LpId, delay: f64, make: impl FnOnce() -> M)
    where
        Self: Sized,
    {
        self.send(to, delay, make());
    }

    /// Sends `message` to process `to`, to arrive at the virtual time `time`.
    fn send_at(&mut self, to: LpId, time: f64, message: M);

    /// Ends the handler, and the run with an error of the model's own once this event is final.
    fn fail(&mut self, reason: fmt::Arguments<'_>);
}
