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
/// an error: the event is not sent, the engine notes the mistake, and ends the run with a
/// [`ModelError`](crate::ModelError) when the event that made it is final.
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

    /// Ends the run with an error of the model's own, once this event is final.
    ///
    /// The first mistake of an event counts; later ones are dropped.
    fn fail(&mut self, reason: fmt::Arguments<'_>);
}
