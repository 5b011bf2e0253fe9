//! A context for calling a single handler by hand; it keeps what is sent.

use std::fmt;

use warpline::{Context, EventKey, Io, LpId, Model, Stream, VirtualTime};

/// What a handler sends, and the random stream it draws from.
pub(crate) struct Sends<M> {
    pub(crate) now: VirtualTime,
    pub(crate) me: LpId,
    lp_count: usize,
    rng: Stream,
    pub(crate) sent: Vec<(LpId, f64, M)>,
}

impl<M: fmt::Debug> Sends<M> {
    pub(crate) fn new(model: &impl Model, me: usize) -> Self {
        let me = LpId::from_index(me);
        let rng = Stream::for_lp(5, me);
        Self { now: VirtualTime::ZERO, me, lp_count: model.lp_count(), rng, sent: Vec::new() }
    }

    /// Forgets what was sent, and sets the time.
    pub(crate) fn at(&mut self, now: f64) -> &mut Self {
        self.now = VirtualTime::new(now).expect("a time");
        self.sent.clear();
        self
    }

    /// The only event that was sent.
    pub(crate) fn only(&self) -> (usize, f64, &M) {
        let [(to, time, message)] = &self.sent[..] else { panic!("sent {:?}", self.sent) };
        (to.index(), *time, message)
    }
}

impl<M: fmt::Debug> Context<M> for Sends<M> {
    fn now(&self) -> VirtualTime {
        self.now
    }

    fn me(&self) -> LpId {
        self.me
    }

    fn event_key(&self) -> Option<&EventKey> {
        None
    }

    fn lp_count(&self) -> usize {
        self.lp_count
    }

    fn rng(&self) -> &Stream {
        &self.rng
    }

    fn send(&mut self, to: LpId, delay: f64, message: M) {
        self.send_at(to, self.now.get() + delay, message);
    }

    fn send_at(&mut self, to: LpId, time: f64, message: M) {
        self.sent.push((to, time, message));
    }

    fn send_io(&mut self, io: Io, _: LpId, _: f64, message: M) {
        panic!("no model here does I/O, but sent {io:?} {message:?}");
    }

    fn fail(&mut self, reason: fmt::Arguments<'_>) {
        panic!("{reason}");
    }
}
