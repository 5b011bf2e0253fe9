//! Random small models, sound and broken, against a second executor that is as plain as can be.
//!
//! A run either commits exactly what the plain executor commits, or ends with the error of the one
//! mistake that was put into the model, at the place where it was put; the pending set changes
//! neither, and nothing hangs or panics.

use std::{
    collections::BTreeMap,
    fmt,
    panic::{self, AssertUnwindSafe},
};

use proptest::{collection::vec, option, prelude::*, sample::select};
use warpline::{
    CommitDigest, Context, EventKey, Fault, Io, LogicalProcess, LpDigest, LpId, Model, PendingKind,
    Report, RunError, Simulation, Stream, VirtualTime,
};

/// Where in the model something is wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Where {
    MakeLp(u32),
    /// On the `n`-th event of a process, counted from 1; 0 is its start.
    Event(u32, u64),
    Finish(u32),
    Reduce,
}

/// What is wrong there. An endless chain is not among them: it takes a million events.
#[derive(Clone, Copy, Debug)]
enum Mistake {
    Delay(f64),
    Time(f64),
    NoSuchLp,
    BrokenLookahead,
    Fail,
    Panic,
}

/// What a process does with an event.
#[derive(Clone, Copy, Debug)]
enum Habit {
    /// Lets the event end here.
    Idle,
    /// Sends so many events, if the budget allows.
    FanOut(u64),
    /// Sends as many events as the budget allows until it has handled so many.
    FloodUntil(u64),
}

#[derive(Clone, Debug)]
struct Spec {
    habits: Vec<Habit>,
    /// The delays to draw from; a negative one stands for an exponential delay of that mean.
    delays: Vec<f64>,
    lookahead: Option<f64>,
    /// Events that each process sends at its start, and the events that each may lead to.
    first: u64,
    budget: u64,
    wrong: Option<(Where, Mistake)>,
}

#[derive(Clone, Debug)]
struct Process {
    me: u32,
    sent: u64,
    handled: Vec<Position>,
}

/// Time and step: all of an event's key that a receiver can work out.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct Position(f64, u32);

#[derive(Clone, Copy, Debug)]
struct Message {
    /// What its sender expects of it: where it takes effect, and where its cause did.
    due: Position,
    cause: Option<Position>,
    /// How many events it may still lead to, itself included: so every model comes to an end.
    budget: u64,
}

impl Model for Spec {
    type Lp = Process;
    /// For each process: how many events it sent, and where those it handled took effect.
    type Output = Vec<(u64, Vec<Position>)>;

    fn name(&self) -> &'static str {
        "random"
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
}

impl Spec {
    fn break_in(&self, place: Where) {
        assert!(self.wrong.is_none_or(|(wrong, _)| wrong != place), "broken on purpose");
    }

    /// A promise can be broken if there is one and somebody to whom it is given.
    fn can_break_lookahead(&self) -> bool {
        self.lookahead.unwrap_or(0.0) > 0.0 && self.lp_count() > 1
    }

    fn delay(&self, to_itself: bool, rng: &mut Stream) -> f64 {
        let delay = self.delays[rng.below(self.delays.len() as u64) as usize];
        let delay = if delay < 0.0 { rng.exponential(-delay) } else { delay };
        // An event to another process keeps the promise of the lookahead.
        if to_itself { delay } else { delay + self.lookahead.unwrap_or(0.0) }
    }

    fn make_mistake(&self, mistake: Mistake, cx: &mut impl Context<Message>) {
        let message = Message { due: Position(0.0, 0), cause: None, budget: 1 };
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
        let (now, lps) = (cx.now().get(), cx.lp_count() as u64);
        for child in 0..count.min(budget) {
            let to = LpId::new(cx.rng().below(lps) as u32);
            let delay = spec.delay(to == cx.me(), cx.rng());
            let time = now + delay;
            let step = cause.map_or(0, |cause| if time > now { 0 } else { cause.1 + 1 });
            let budget = budget / count.min(budget) + u64::from(child < budget % count.min(budget));
            cx.send(to, delay, Message { due: Position(time, step), cause, budget });
            self.sent += 1;
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

    fn finish(self, spec: &Spec, _: VirtualTime) -> Self::Summary {
        spec.break_in(Where::Finish(self.me));
        (self.sent, self.handled)
    }

    fn fingerprint(message: &Message) -> u64 {
        message.budget
    }
}

/// The plain executor: one ordered map of events, for models without mistakes.
struct Plain {
    pending: BTreeMap<EventKey, (LpId, Message)>,
    lps: Vec<(Process, Stream, u64, LpDigest)>,
    /// Every event that was handled, in order.
    history: Vec<(LpId, EventKey)>,
}

impl Plain {
    fn run(spec: &Spec, seed: u64, end: f64) -> Self {
        let sound = Spec { wrong: None, ..spec.clone() };
        let mut plain = Self { pending: BTreeMap::new(), lps: Vec::new(), history: Vec::new() };
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
            plain.history.push((to, key));
            plain.call(to, Some(key), |lp, cx| lp.handle(&sound, &message, cx));
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

    fn digest(&self) -> CommitDigest {
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

    fn lp_count(&self) -> usize {
        self.lp_count
    }

    fn rng(&mut self) -> &mut Stream {
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

fn mistake() -> impl Strategy<Value = Mistake> {
    const DELAYS: &[f64] = &[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -1e-300];
    prop_oneof![
        select(DELAYS).prop_map(Mistake::Delay),
        select(&[f64::NAN, 1e-3, 1e9][..]).prop_map(Mistake::Time),
        Just(Mistake::NoSuchLp),
        Just(Mistake::BrokenLookahead),
        Just(Mistake::Fail),
        Just(Mistake::Panic),
    ]
}

fn place(lps: u32) -> impl Strategy<Value = Where> {
    prop_oneof![
        8 => (0..lps, 0..12_u64).prop_map(|(lp, n)| Where::Event(lp, n)),
        1 => (0..lps).prop_map(Where::MakeLp),
        1 => (0..lps).prop_map(Where::Finish),
        1 => Just(Where::Reduce),
    ]
}

fn spec() -> impl Strategy<Value = Spec> {
    let habit = prop_oneof![
        1 => Just(Habit::Idle),
        4 => (0..=3_u64).prop_map(Habit::FanOut),
        1 => (1..20_u64).prop_map(Habit::FloodUntil),
    ];
    let delays = vec(select(&[0.0, 1e-17, 1e-3, 1.0, -1.0, -0.01][..]), 1..4);
    let lookahead = option::of(select(&[0.0, 0.5, 0.5, 1.0][..]));
    (vec(habit, 1..=8), delays, lookahead, prop_oneof![1 => Just(0), 9 => 1..5_u64], 1..200_u64)
        .prop_flat_map(|(habits, delays, lookahead, first, budget)| {
            let wrong = option::of((place(habits.len() as u32), mistake()));
            wrong.prop_map(move |wrong| Spec {
                habits: habits.clone(),
                delays: delays.clone(),
                lookahead,
                first,
                budget,
                wrong,
            })
        })
}

/// Where the error is to be: the process, and the event if it is in one. `None` if the model never
/// comes to the mistake, or it is none in this model.
fn expected_error(spec: &Spec, plain: &Plain) -> Option<(Option<LpId>, Option<EventKey>)> {
    let (place, mistake) = spec.wrong?;
    match place {
        Where::MakeLp(lp) | Where::Finish(lp) => return Some((Some(LpId::new(lp)), None)),
        Where::Reduce => return Some((None, None)),
        Where::Event(..) => {}
    }
    let Where::Event(lp, n) = place else { return None };
    let of_lp = |(to, key): &(LpId, EventKey)| (to.get() == lp).then_some(*key);
    let event = match n.checked_sub(1) {
        None => None,
        Some(earlier) => Some(plain.history.iter().filter_map(of_lp).nth(earlier as usize)?),
    };
    match mistake {
        Mistake::BrokenLookahead if !spec.can_break_lookahead() => None,
        _ => Some((Some(LpId::new(lp)), event)),
    }
}

fn is_told_as(mistake: (Where, Mistake), fault: &Fault) -> bool {
    match mistake {
        (Where::MakeLp(_) | Where::Finish(_) | Where::Reduce, _) | (_, Mistake::Panic) => {
            matches!(fault, Fault::Panicked { message, .. } if message == "broken on purpose")
        }
        (_, Mistake::Delay(x) | Mistake::Time(x)) if x.is_nan() || x == f64::INFINITY => {
            matches!(fault, Fault::NotFinite { .. })
        }
        (_, Mistake::Delay(_) | Mistake::Time(_)) => matches!(fault, Fault::Past { .. }),
        (_, Mistake::NoSuchLp) => matches!(fault, Fault::NoSuchLp { .. }),
        (_, Mistake::BrokenLookahead) => matches!(fault, Fault::BrokenLookahead { .. }),
        (_, Mistake::Fail) => *fault == Fault::Failed("broken on purpose".to_owned()),
    }
}

fn check_report(
    report: &Report<Vec<(u64, Vec<Position>)>>,
    plain: &Plain,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(report.digest, plain.digest());
    prop_assert_eq!(report.committed_events, plain.history.len() as u64);
    for ((sent, handled), (lp, ..)) in report.output.iter().zip(&plain.lps) {
        prop_assert_eq!((sent, handled), (&lp.sent, &lp.handled));
    }
    let sent: u64 = report.output.iter().map(|(sent, _)| sent).sum();
    prop_assert_eq!(sent, report.committed_events + plain.pending.len() as u64);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn runs_agree_with_the_plain_executor(
        spec in spec(),
        seed in any::<u64>(),
        end in prop_oneof![1 => Just(0.0), 9 => select(&[f64::INFINITY, 1.0, 4.5, 50.0][..])],
    ) {
        let plain = Plain::run(&spec, seed, end);
        let expected = expected_error(&spec, &plain);
        let mut errors = Vec::new();
        for &pending in PendingKind::ALL.iter().chain(PendingKind::ALL) {
            let simulation = || Simulation::new(spec.clone()).seed(seed).end(end);
            let run = panic::catch_unwind(AssertUnwindSafe(|| simulation().pending(pending).run()));
            let Ok(run) = run else {
                return Err(TestCaseError::fail(format!("a panic escaped from {pending}")));
            };
            match (run, expected) {
                (Ok(report), None) => check_report(&report, &plain)?,
                (Err(RunError::Model(error)), Some((lp, event))) => {
                    prop_assert_eq!(error.place.event, event, "{}", error);
                    prop_assert!(lp.is_none_or(|lp| Some(lp) == error.place.lp), "{}", error);
                    prop_assert!(spec.wrong.is_some_and(|w| is_told_as(w, &error.fault)), "{}", error);
                    errors.push(error.to_string());
                }
                (run, _) => prop_assert!(false, "expected {expected:?}, but {run:?}"),
            }
        }
        prop_assert!(errors.windows(2).all(|pair| pair[0] == pair[1]), "{errors:?}");
    }
}
