//! Random small models, and an executor of events that is as simple as possible.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
};

use proptest::{collection::vec, prelude::*, sample::select};
use serde::{Deserialize, Serialize};
use warpline::{
    Context, EventKey, Io, IoContext, Link, LogicalProcess, LpId, Model, Stream, VirtualTime,
    digest::{CommitDigest, LpDigest},
    wire::{Wire, Wires},
};

/// The place of the mistake in the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Where {
    MakeLp(u32),
    /// On the `n`-th event of an LP, counted from 1; 0 is its start.
    Event(u32, u64),
    Finish(u32),
    Reduce,
}

/// The mistake. An endless chain is not among them, because it takes a million events.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mistake {
    Delay(f64),
    Time(f64),
    NoSuchLp,
    BrokenLookahead,
    Fail,
    Panic,
}

/// The reaction of an LP to an event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Habit {
    /// Sends nothing.
    Idle,
    /// Sends this many events, if the budget allows.
    FanOut(u64),
    /// Sends as many events as the budget allows until it has handled this many.
    FloodUntil(u64),
}

#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) habits: Vec<Habit>,
    /// The delays to draw from; a negative one means an exponential delay with that mean.
    pub(crate) delays: Vec<f64>,
    pub(crate) lookahead: Option<f64>,
    /// The number of events that each LP sends at its start, and the budget of each.
    pub(crate) first: u64,
    pub(crate) budget: u64,
    /// The fractions of events that are blocking and non-blocking I/O events.
    pub(crate) io: [f64; 2],
    pub(crate) wrong: Option<(Where, Mistake)>,
    /// The calls of `output`, in order.
    pub(crate) lines: Arc<Mutex<Vec<Line>>>,
}

/// Models without mistakes, with these lookaheads.
pub(crate) fn specs(lookahead: impl Strategy<Value = Option<f64>>) -> impl Strategy<Value = Spec> {
    let habit = prop_oneof![
        1 => Just(Habit::Idle),
        4 => (0..=3_u64).prop_map(Habit::FanOut),
        1 => (1..20_u64).prop_map(Habit::FloodUntil),
    ];
    let delays = vec(select(&[0.0, 1e-17, 1e-3, 1.0, -1.0, -0.01][..]), 1..4);
    let io = select(&[[0.0; 2], [0.0; 2], [0.1, 0.2], [0.0, 0.4], [0.3, 0.0]][..]);
    let first = prop_oneof![1 => Just(0), 9 => 1..5_u64];
    (vec(habit, 1..=8), delays, lookahead, first, 1..200_u64, io).prop_map(
        |(habits, delays, lookahead, first, budget, io)| Spec {
            habits,
            delays,
            lookahead,
            first,
            budget,
            io,
            wrong: None,
            lines: Arc::default(),
        },
    )
}

pub(crate) type Line = (EventKey, LpId);
/// The result of a run of `Spec`.
pub(crate) type Output = Vec<(u64, Vec<Position>)>;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Process {
    pub(crate) me: u32,
    pub(crate) sent: u64,
    pub(crate) handled: Vec<Position>,
}

/// Time and step: the part of an event's key that its receiver can compute.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
pub(crate) struct Position(f64, u32);

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Message {
    /// Where its sender expects it to take effect, and where the event took effect that sent it.
    pub(crate) due: Position,
    pub(crate) cause: Option<Position>,
    #[serde(with = "io")]
    pub(crate) io: Option<Io>,
    /// How many events it may still cause, including itself, so that every model ends.
    pub(crate) budget: u64,
}

impl Message {
    /// Of an event that nobody has sent.
    pub(crate) const fn from_outside(time: f64) -> Self {
        Self { due: Position(time, 0), cause: None, io: None, budget: 5 }
    }
}

/// The kinds of I/O events as numbers.
mod io {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use warpline::Io;

    pub(super) fn serialize<S: Serializer>(io: &Option<Io>, to: S) -> Result<S::Ok, S::Error> {
        io.map(|io| io == Io::Blocking).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Io>, D::Error> {
        let blocking: Option<bool> = Deserialize::deserialize(from)?;
        Ok(blocking.map(|blocking| if blocking { Io::Blocking } else { Io::NonBlocking }))
    }
}

impl Model for Spec {
    type Lp = Process;
    /// For each LP: how many events it sent, and where those that it handled took effect.
    type Output = Output;

    fn name(&self) -> &'static str {
        "random"
    }

    fn parameters(&self) -> &dyn fmt::Debug {
        &self.habits
    }

    fn lp_count(&self) -> usize {
        self.habits.len()
    }

    fn make_lp(&self, id: LpId) -> Process {
        self.break_in(Where::MakeLp(id.get()));
        Process { me: id.get(), sent: 0, handled: Vec::new() }
    }

    fn reduce(&self, summaries: impl Iterator<Item = (u64, Vec<Position>)>) -> Self::Output {
        let output = summaries.collect();
        self.break_in(Where::Reduce);
        output
    }

    fn lookahead(&self) -> Option<f64> {
        self.lookahead
    }

    fn links(&self, _: LpId) -> Option<Vec<Link>> {
        let lookahead = self.lookahead.unwrap_or(0.0);
        Some((0..self.lp_count()).map(|to| Link { to: LpId::from_index(to), lookahead }).collect())
    }

    fn wires(&self) -> Option<Wires<Self>> {
        Some(Wires { message: Wire::serde(), summary: Wire::serde() })
    }

    fn state_wire(&self) -> Option<Wire<Process>> {
        Some(Wire::serde())
    }
}

impl Spec {
    fn break_in(&self, place: Where) {
        assert!(self.wrong.is_none_or(|(wrong, _)| wrong != place), "broken on purpose");
    }

    /// A lookahead can be broken if the model declares one and has a second LP.
    pub(crate) fn can_break_lookahead(&self) -> bool {
        self.lookahead.unwrap_or(0.0) > 0.0 && self.lp_count() > 1
    }

    fn delay(&self, to_itself: bool, rng: &Stream) -> f64 {
        let delay = self.delays[rng.below(self.delays.len() as u64) as usize];
        let delay = if delay < 0.0 { rng.exponential(-delay) } else { delay };
        // An event to another LP respects the lookahead.
        if to_itself { delay } else { delay + self.lookahead.unwrap_or(0.0) }
    }

    fn kind(&self, rng: &Stream) -> Option<Io> {
        let [blocking, non_blocking] = self.io;
        let dice = if blocking + non_blocking > 0.0 { rng.uniform() } else { 1.0 };
        if dice < blocking {
            Some(Io::Blocking)
        } else {
            (dice < blocking + non_blocking).then_some(Io::NonBlocking)
        }
    }

    fn make_mistake(&self, mistake: Mistake, cx: &mut impl Context<Message>) {
        let message = Message { due: Position(0.0, 0), cause: None, io: None, budget: 1 };
        let (me, now) = (cx.me(), cx.now().get());
        match mistake {
            Mistake::Delay(delay) => cx.send(me, delay, message),
            Mistake::Time(earlier) => cx.send_at(me, now - earlier, message),
            Mistake::NoSuchLp => cx.send(LpId::from_index(cx.lp_count()), 1.0, message),
            Mistake::BrokenLookahead if !self.can_break_lookahead() => {}
            Mistake::BrokenLookahead => {
                let other = LpId::from_index((me.index() + 1) % cx.lp_count());
                cx.send(other, self.lookahead.unwrap_or(0.0) / 2.0, message);
            }
            Mistake::Fail => cx.fail(format_args!("broken on purpose")),
            Mistake::Panic => panic!("broken on purpose"),
        }
    }
}

impl Process {
    /// Sends `count` events that share the budget.
    fn scatter(
        &mut self,
        spec: &Spec,
        cause: Option<Position>,
        (count, budget): (u64, u64),
        cx: &mut impl Context<Message>,
    ) {
        let (now, lps) = (cx.now().get(), cx.lp_count());
        for child in 0..count.min(budget) {
            let to = cx.rng().lp(lps);
            let delay = spec.delay(to == cx.me(), cx.rng());
            let time = now + delay;
            let step = cause.map_or(0, |cause| if time > now { 0 } else { cause.1 + 1 });
            let budget = budget / count.min(budget) + u64::from(child < budget % count.min(budget));
            let io = spec.kind(cx.rng());
            let message = Message { due: Position(time, step), cause, io, budget };
            match io {
                None => cx.send(to, delay, message),
                Some(io) => cx.send_io(io, to, delay, message),
            }
            self.sent += 1;
        }
    }

    /// Handles an ordinary event or a blocking I/O event.
    fn work(&mut self, spec: &Spec, message: &Message, cx: &mut impl Context<Message>) {
        assert_eq!(self.me, cx.me().get(), "someone else's event");
        assert_eq!(message.due.0, cx.now().get(), "not when it was due");
        assert!(
            message.cause.is_none_or(|cause| cause < message.due),
            "an effect before its cause"
        );
        assert!(self.handled.last().is_none_or(|last| *last <= message.due), "out of order");
        self.handled.push(message.due);
        let handled = self.handled.len() as u64;
        let count = match spec.habits[cx.me().index()] {
            Habit::Idle => 0,
            Habit::FanOut(count) => count,
            Habit::FloodUntil(events) => {
                if handled < events {
                    u64::MAX
                } else {
                    0
                }
            }
        };
        self.scatter(spec, Some(message.due), (count, message.budget - 1), cx);
        if let Some((place, mistake)) = spec.wrong
            && place == Where::Event(self.me, handled)
        {
            spec.make_mistake(mistake, cx);
        }
    }
}

impl LogicalProcess for Process {
    type Model = Spec;
    type Message = Message;
    type Summary = (u64, Vec<Position>);

    fn start(&mut self, spec: &Spec, cx: &mut impl Context<Message>) {
        self.scatter(spec, None, (spec.first, spec.first * spec.budget), cx);
        if let Some((Where::Event(lp, 0), mistake)) = spec.wrong
            && lp == self.me
        {
            spec.make_mistake(mistake, cx);
        }
    }

    fn handle(&mut self, spec: &Spec, message: &Message, cx: &mut impl Context<Message>) {
        assert_eq!(message.io, None);
        self.work(spec, message, cx);
    }

    fn handle_io(&mut self, spec: &Spec, message: &Message, cx: &mut impl IoContext<Message>) {
        assert_eq!(message.io, Some(Io::Blocking));
        self.work(spec, message, cx);
    }

    fn io_sends_max(_: &Spec, message: &Message) -> usize {
        // And one by mistake.
        message.budget as usize + 1
    }

    fn output(spec: &Spec, lp: LpId, event: &EventKey, message: &Message) {
        assert_eq!(message.io, Some(Io::NonBlocking));
        spec.lines.lock().unwrap().push((*event, lp));
    }

    fn finish(self, spec: &Spec, _: VirtualTime) -> Self::Summary {
        spec.break_in(Where::Finish(self.me));
        (self.sent, self.handled)
    }

    fn fingerprint(_: &Spec, message: &Message) -> u64 {
        message.budget
    }
}

/// The simple executor: one ordered map of events, for models without mistakes.
pub(crate) struct Plain {
    pub(crate) pending: BTreeMap<EventKey, (LpId, Message)>,
    pub(crate) lps: Vec<(Process, Stream, u64, LpDigest)>,
    /// Every event that was handled, in order, and every line that was written.
    pub(crate) history: Vec<(LpId, EventKey)>,
    pub(crate) lines: Vec<Line>,
}

impl Plain {
    pub(crate) fn run(spec: &Spec, seed: u64, end: f64) -> Self {
        let sound = Spec { wrong: None, ..spec.clone() };
        let (history, lines) = (Vec::new(), Vec::new());
        let mut plain = Self { pending: BTreeMap::new(), lps: Vec::new(), history, lines };
        let all = || (0..sound.lp_count()).map(LpId::from_index);
        let make = |me| (sound.make_lp(me), Stream::for_lp(seed, me), 0, LpDigest::new());
        plain.lps.extend(all().map(make));
        for me in all() {
            plain.call(me, None, |lp, cx| lp.start(&sound, cx));
        }
        while let Some((key, (to, message))) = plain.pending.pop_first() {
            if key.time().get() >= end {
                plain.pending.insert(key, (to, message));
                break;
            }
            if message.io == Some(Io::NonBlocking) {
                plain.lines.push((key, to));
            } else {
                plain.history.push((to, key));
                plain.call(to, Some(key), |lp, cx| lp.work(&sound, &message, cx));
            }
            plain.lps[to.index()].3.commit(&key, message.budget);
        }
        plain
    }

    fn call(
        &mut self,
        me: LpId,
        event: Option<EventKey>,
        handler: impl FnOnce(&mut Process, &mut PlainContext<'_>),
    ) {
        let Self { pending, lps, .. } = self;
        let lp_count = lps.len();
        let (lp, rng, sent, _) = &mut lps[me.index()];
        handler(lp, &mut PlainContext { me, event, rng, sent, lp_count, pending });
    }

    pub(crate) fn digest(&self) -> CommitDigest {
        let mut digest = CommitDigest::default();
        for (index, (_, rng, sent, chain)) in self.lps.iter().enumerate() {
            digest.add_lp(LpId::from_index(index), *chain, rng, *sent);
        }
        digest
    }
}

struct PlainContext<'a> {
    me: LpId,
    event: Option<EventKey>,
    rng: &'a mut Stream,
    sent: &'a mut u64,
    lp_count: usize,
    pending: &'a mut BTreeMap<EventKey, (LpId, Message)>,
}

impl Context<Message> for PlainContext<'_> {
    fn now(&self) -> VirtualTime {
        self.event.map_or(VirtualTime::ZERO, |key| key.time())
    }

    fn me(&self) -> LpId {
        self.me
    }

    fn event_key(&self) -> Option<&EventKey> {
        self.event.as_ref()
    }

    fn lp_count(&self) -> usize {
        self.lp_count
    }

    fn rng(&self) -> &Stream {
        self.rng
    }

    fn send(&mut self, to: LpId, delay: f64, message: Message) {
        self.send_at(to, self.now().get() + delay, message);
    }

    fn send_at(&mut self, to: LpId, time: f64, message: Message) {
        let time = VirtualTime::new(time).expect("the model makes no mistake");
        let chained = self.event.filter(|cause| cause.time() == time);
        let step = chained.map_or(0, |cause| cause.step() + 1);
        self.pending.insert(EventKey::new(time, step, self.me, *self.sent), (to, message));
        *self.sent += 1;
    }

    fn send_io(&mut self, _: Io, to: LpId, delay: f64, message: Message) {
        self.send(to, delay, message);
    }

    fn fail(&mut self, reason: fmt::Arguments<'_>) {
        panic!("the model makes no mistake, but: {reason}");
    }
}
