//! A source that floods: it sends to all sinks far faster than they handle, so that its worker
//! takes all buffers (the paper's *buffer hogging*, GTW, 3.3).

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use warpline::{Context, LogicalProcess, LpId, Model, VirtualTime, digest::mix};

/// The model. LP 0 is the source, and has worker 0 for itself.
#[derive(Clone, Debug)]
pub(crate) struct Flood {
    pub(crate) sinks: u32,
    /// One of this many events makes its sink answer, and the answer comes far too late.
    pub(crate) answers: u64,
    /// Further events that every LP sends to itself at the start.
    pub(crate) first: u32,
    /// How many events the source has handled, undone or not.
    pub(crate) ticks: Arc<AtomicU64>,
    /// Called in the handlers of the sinks, with the ticks.
    pub(crate) at_sink: fn(&AtomicU64),
}

#[derive(Clone, Debug)]
pub(crate) struct Process(u64);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Message {
    Tick,
    Drop(u64),
    Answer(u64),
    First,
}

impl Flood {
    pub(crate) fn new(at_sink: fn(&AtomicU64)) -> Self {
        Self { sinks: 7, answers: u64::MAX, first: 0, ticks: Arc::default(), at_sink }
    }
}

impl Model for Flood {
    type Lp = Process;
    type Output = Vec<u64>;

    fn name(&self) -> &'static str {
        "flood"
    }

    fn lp_count(&self) -> usize {
        self.sinks as usize + 1
    }

    fn make_lp(&self, _: LpId) -> Process {
        Process(0)
    }

    fn reduce(&self, hashes: impl Iterator<Item = u64>) -> Vec<u64> {
        hashes.collect()
    }

    fn placement(&self, id: LpId, workers: usize) -> usize {
        if id.get() == 0 || workers == 1 { 0 } else { 1 + id.index() % (workers - 1) }
    }
}

impl LogicalProcess for Process {
    type Model = Flood;
    type Message = Message;
    type Summary = u64;

    fn start(&mut self, flood: &Flood, cx: &mut impl Context<Message>) {
        for n in 0..flood.first {
            cx.send(cx.me(), 0.5 + f64::from(n), Message::First);
        }
        if cx.me().get() == 0 {
            cx.send(cx.me(), 0.0, Message::Tick);
        }
    }

    fn handle(&mut self, flood: &Flood, message: &Message, cx: &mut impl Context<Message>) {
        match *message {
            Message::Tick => {
                // Ordering: Relaxed; a count.
                flood.ticks.fetch_add(1, Ordering::Relaxed);
                for sink in 1..=flood.sinks {
                    let delay = 1.0 + cx.rng().exponential(3.0);
                    cx.send(LpId::new(sink), delay, Message::Drop(mix(self.0, sink.into())));
                }
                cx.send(cx.me(), 1.0, Message::Tick);
            }
            Message::Drop(value) => {
                (flood.at_sink)(&flood.ticks);
                self.0 = mix(self.0, value);
                if self.0.is_multiple_of(flood.answers) {
                    let delay = cx.rng().exponential(0.5);
                    cx.send(LpId::new(0), delay, Message::Answer(self.0));
                }
            }
            Message::Answer(value) => self.0 = mix(self.0, value),
            Message::First => {}
        }
    }

    fn identity(model: &Self::Model, message: &Message) -> Option<u64> {
        Some(Self::fingerprint(model, message))
    }

    fn fingerprint(_: &Self::Model, message: &Message) -> u64 {
        match *message {
            Message::Tick => 0,
            Message::Drop(value) => mix(1, value),
            Message::Answer(value) => mix(2, value),
            Message::First => 3,
        }
    }

    fn finish(self, _: &Flood, _: VirtualTime) -> u64 {
        self.0
    }
}
