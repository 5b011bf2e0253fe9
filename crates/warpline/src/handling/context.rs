//! The context of a handler call, and where its sends go.
//!
//! There is one [`Handling`] for all engines. It checks what a handler sends, gives each event its
//! key and counts the events of the LP; an engine says by its [`Sink`] what becomes of an event
//! that was admitted. All of it is inlined into the handler: a send costs no call that the engine
//! does not make itself.

use std::fmt;

use warpline_core::{
    Context, EventKey, Fault, Io, IoContext, LogicalProcess, LpId, Stream, UndoLog, VirtualTime,
};

use super::{
    admission::{Admission, Cause},
    halt::Halt,
    source::{Fill, Source, Value},
};

/// Where events go that a handler sends.
pub(crate) trait Sink<T> {
    /// The rules that events have to keep.
    fn admission(&self) -> &Admission;

    /// Called at the beginning of each send: an engine may take the time from here on.
    #[inline]
    fn begin_send(&mut self) {}

    /// Called before each of an LP's first events, of which there may be endlessly many.
    fn begin_first_send(&mut self) {}

    /// Takes an event that keeps the rules.
    fn accept(&mut self, key: EventKey, to: LpId, io: Option<Io>, message: impl Source<T>);

    /// Notes why the handler cannot go on, and leaves it: it might go on for ever otherwise.
    fn halt(&mut self, halt: Halt) -> !;

    /// Takes the word that the handler leaves for its reversal.
    #[inline]
    fn note(&mut self, _word: u64) {}

    /// The log that [`Tracked`](warpline_core::Tracked) fields write what they change to; none in
    /// an engine that never undoes writes.
    #[inline(always)]
    fn undo(&mut self) -> Option<&mut UndoLog> {
        None
    }

    /// Sets the simulated time barrier. It limits optimism, so only Time Warp has one.
    fn set_time_barrier(&mut self, _time: Option<VirtualTime>) {}
}

/// A sink that holds a limited number of events: checks keep events back, and ask whether there
/// would be room for them.
pub(crate) trait BoundedSink<T>: Sink<T> {
    /// Whether this many more events may be pending.
    fn has_room_for(&self, events: usize) -> bool;
}

impl<T, K: Sink<T>> Sink<T> for &mut K {
    #[inline]
    fn admission(&self) -> &Admission {
        (**self).admission()
    }

    #[inline]
    fn begin_send(&mut self) {
        (**self).begin_send();
    }

    fn begin_first_send(&mut self) {
        (**self).begin_first_send();
    }

    #[inline(always)]
    fn accept(&mut self, key: EventKey, to: LpId, io: Option<Io>, message: impl Source<T>) {
        (**self).accept(key, to, io, message);
    }

    #[inline]
    fn halt(&mut self, halt: Halt) -> ! {
        (**self).halt(halt)
    }

    #[inline]
    fn note(&mut self, word: u64) {
        (**self).note(word);
    }

    #[inline(always)]
    fn undo(&mut self) -> Option<&mut UndoLog> {
        (**self).undo()
    }

    fn set_time_barrier(&mut self, time: Option<VirtualTime>) {
        (**self).set_time_barrier(time);
    }
}

/// The context of one handler call.
#[derive(Debug)]
pub(crate) struct Handling<'a, K> {
    pub(crate) cause: Cause<'a>,
    pub(crate) rng: &'a mut Stream,
    /// How many events the LP has sent.
    pub(crate) sent: &'a mut u64,
    /// By value, so that an engine's sink is reached without a second pointer.
    pub(crate) sink: K,
}

impl<K> Handling<'_, K> {
    /// Sends an event, if the rules admit it.
    #[inline]
    fn send_event<T>(&mut self, io: Option<Io>, to: LpId, time: f64, message: impl Source<T>)
    where
        K: Sink<T>,
    {
        self.sink.begin_send();
        match self.sink.admission().admit(&self.cause, to, time, *self.sent) {
            Ok(key) => self.sink.accept(key, to, io, message),
            Err(fault) => self.sink.halt(Halt::Fault(fault)),
        }
        *self.sent += 1;
    }

    /// Lets an LP handle a blocking I/O event.
    pub(crate) fn handle_io<L: LogicalProcess>(
        &mut self,
        state: &mut L,
        model: &L::Model,
        message: &L::Message,
    ) where
        K: Sink<L::Message>,
    {
        let most = L::io_sends_max(model, message);
        debug_assert!(self.cause.key.is_some(), "an I/O event without a key");
        let before = *self.sent;
        state.handle_io(model, message, self);
        if *self.sent - before > most as u64 {
            self.sink.halt(Halt::Fault(Fault::TooManyIoSends { most }));
        }
    }

    /// The time of an event sent with a delay.
    #[inline]
    fn after<T>(&mut self, to: LpId, delay: f64) -> f64
    where
        K: Sink<T>,
    {
        match Admission::after(&self.cause, to, delay) {
            Ok(time) => time,
            Err(fault) => self.sink.halt(Halt::Fault(fault)),
        }
    }
}

impl<T, K: Sink<T>> Context<T> for Handling<'_, K> {
    #[inline]
    fn now(&self) -> VirtualTime {
        self.cause.now
    }

    #[inline]
    fn me(&self) -> LpId {
        self.cause.me
    }

    #[inline]
    fn event_key(&self) -> Option<&EventKey> {
        self.cause.key
    }

    #[inline]
    fn lp_count(&self) -> usize {
        self.sink.admission().lp_count()
    }

    #[inline]
    fn rng(&self) -> &Stream {
        self.rng
    }

    #[inline]
    fn send(&mut self, to: LpId, delay: f64, message: T) {
        let time = self.after(to, delay);
        self.send_event(None, to, time, Value(message));
    }

    #[inline]
    fn send_at(&mut self, to: LpId, time: f64, message: T) {
        self.send_event(None, to, time, Value(message));
    }

    #[inline]
    fn send_with(&mut self, to: LpId, delay: f64, fill: impl FnOnce(&mut T))
    where
        T: Default,
    {
        let time = self.after(to, delay);
        self.send_event(None, to, time, Fill(fill));
    }

    #[inline]
    fn send_io(&mut self, io: Io, to: LpId, delay: f64, message: T) {
        let time = self.after(to, delay);
        self.send_event(Some(io), to, time, Value(message));
    }

    /// Inline, like all that a handler calls: a context whose address is handed on lies in memory,
    /// and each of its sends reads it from there.
    #[inline]
    fn fail(&mut self, reason: fmt::Arguments<'_>) {
        self.sink.halt(failed(reason));
    }

    #[inline]
    fn note(&mut self, word: u64) {
        self.sink.note(word);
    }

    #[inline(always)]
    fn undo(&mut self) -> Option<&mut UndoLog> {
        self.sink.undo()
    }
}

/// Why a handler ends that has failed.
#[cold]
fn failed(reason: fmt::Arguments<'_>) -> Halt {
    Halt::Fault(Fault::Failed(reason.to_string()))
}

impl<T, K: Sink<T>> IoContext<T> for Handling<'_, K> {
    fn set_time_barrier(&mut self, time: Option<VirtualTime>) {
        self.sink.set_time_barrier(time);
    }
}
