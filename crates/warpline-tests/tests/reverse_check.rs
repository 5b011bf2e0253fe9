//! The reverse check passes sound models and commits the same as the sequential engine. In a broken
//! model it finds the bug, and names LP, time and field.

use std::sync::atomic::{AtomicU64, Ordering};

use warpline::{
    ConfigError, Context, Io, IoContext, LogicalProcess, LpId, Model, ModelError, Only, Reversal,
    ReverseCheck, RunError, Sequential, Simulation, TimeWarp, VirtualTime,
    error::{Discrepancy, Fault},
    settings::{EngineKind, StateSaving},
};

const SEED: u64 = 12;

/// A model for which no parallel engine is compiled.
type Compiled<M> = Only<(Sequential, ReverseCheck), M>;

/// A bank of accounts that send each other money, with one bug or none.
struct Bank {
    bug: Option<Bug>,
    /// A count of handler calls; a sound handler does not depend on it.
    calls: AtomicU64,
    /// The number of I/O events that were handled.
    written: AtomicU64,
}

/// Bugs, all of them at account 3 only.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bug {
    ForgetsAField,
    ForgetsABin,
    RoundsAway,
    DrawsAnotherNumber,
    /// Changes a field that `Debug` does not show, and does not restore it.
    HidesAField,
    /// Depends on the count of handler calls, as do the following ones.
    SendsAnotherDelay,
    SendsAnotherAmount,
    SendsMore,
    DrawsMore,
    RemembersCalls,
    SendsForEver,
}

#[derive(Clone)]
struct Account {
    handled: u64,
    history: History,
    last: Option<f64>,
    hidden: u64,
}

#[derive(Clone, Debug, Default)]
struct History {
    /// Payments by size.
    sizes: [u32; 4],
    log: Vec<u64>,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { handled, history, last, hidden: _ } = self;
        let mut shown = f.debug_struct("Account");
        shown.field("handled", handled).field("history", history).field("last", last).finish()
    }
}

#[derive(Clone, Debug)]
enum Message {
    Payment(u64),
    Report,
}

impl Bank {
    fn new(bug: Option<Bug>) -> Self {
        Self { bug, calls: AtomicU64::new(0), written: AtomicU64::new(0) }
    }

    fn has(&self, me: LpId, bug: Bug) -> bool {
        me.get() == 3 && self.bug == Some(bug)
    }

    /// The count of handler calls, for an account with this bug.
    fn calls(&self, me: LpId, bug: Bug) -> u64 {
        if self.has(me, bug) { self.calls.fetch_add(1, Ordering::Relaxed) } else { 0 }
    }
}

impl Model for Bank {
    type Lp = Account;
    /// Events handled, and I/O events handled.
    type Output = (u64, u64);

    fn name(&self) -> &'static str {
        "bank"
    }

    fn lp_count(&self) -> usize {
        5
    }

    fn make_lp(&self, _: LpId) -> Account {
        Account { handled: 0, history: History::default(), last: None, hidden: 0 }
    }

    fn reduce(&self, handled: impl Iterator<Item = u64>) -> (u64, u64) {
        (handled.sum(), self.written.load(Ordering::Relaxed))
    }
}

impl LogicalProcess for Account {
    type Model = Bank;
    type Message = Message;
    type Summary = u64;
    const REVERSIBLE: bool = true;

    fn start(&mut self, _: &Bank, cx: &mut impl Context<Message>) {
        let delay = cx.rng().uniform();
        cx.send(cx.me(), delay, Message::Payment(u64::from(cx.me().get())));
        cx.send_io(Io::Blocking, cx.me(), delay, Message::Report);
    }

    fn handle(&mut self, bank: &Bank, message: &Message, cx: &mut impl Context<Message>) {
        let Message::Payment(amount) = *message else { unreachable!("an I/O event") };
        let me = cx.me();
        cx.note(self.last.unwrap_or(-1.0).to_bits());
        self.last = Some(cx.now().get());
        self.handled += 1;
        self.history.sizes[(amount % 4) as usize] += 1;
        self.history.log.push(amount);
        if cx.rng().chance(0.5) {
            self.history.log.push(0);
        }
        let mut delay = cx.rng().exponential(1.0) + bank.calls(me, Bug::SendsAnotherDelay) as f64;
        if bank.has(me, Bug::HidesAField) {
            self.hidden += 1;
            delay += self.hidden as f64;
        }
        if bank.calls(me, Bug::DrawsMore) % 2 == 1 {
            cx.rng().bits();
        }
        self.handled += 1000 * bank.calls(me, Bug::RemembersCalls);
        let to = LpId::new((me.get() + 1) % 5);
        cx.send(to, delay, Message::Payment(amount + 7 + bank.calls(me, Bug::SendsAnotherAmount)));
        if bank.calls(me, Bug::SendsMore) % 2 == 1 {
            cx.send(to, 2.0, Message::Payment(amount));
        }
        while bank.has(me, Bug::SendsForEver) {
            cx.send(to, 2.0, Message::Payment(amount));
        }
        cx.send_io(Io::NonBlocking, me, 0.0, Message::Report);
    }

    fn handle_io(&mut self, bank: &Bank, _: &Message, _: &mut impl IoContext<Message>) {
        bank.written.fetch_add(1, Ordering::Relaxed);
    }

    fn output(bank: &Bank, _: LpId, _: &warpline::EventKey, _: &Message) {
        bank.written.fetch_add(1, Ordering::Relaxed);
    }

    fn reverse(&mut self, bank: &Bank, message: &Message, event: &mut Reversal) {
        let Message::Payment(amount) = *message else { unreachable!("an I/O event") };
        assert_eq!(self.last, Some(event.now().get()));
        let has = |bug| bank.has(event.me(), bug);
        if !has(Bug::ForgetsAField) {
            self.handled -= 1;
        }
        if !has(Bug::ForgetsABin) || amount % 4 != 1 {
            self.history.sizes[(amount % 4) as usize] -= 1;
        }
        let last = f64::from_bits(event.note());
        let last = if has(Bug::RoundsAway) { last.trunc() } else { last };
        self.last = Some(last).filter(|last| *last >= 0.0);
        let skip = has(Bug::DrawsAnotherNumber);
        if event.rng().chance(0.5) != skip {
            self.history.log.pop();
        }
        self.history.log.pop();
    }

    fn identity(_: &Bank, message: &Message) -> Option<u64> {
        match message {
            Message::Payment(amount) => Some(*amount),
            Message::Report => Some(u64::MAX),
        }
    }

    fn finish(self, _: &Bank, _: VirtualTime) -> u64 {
        self.handled
    }
}

fn check(bug: Option<Bug>) -> Simulation<'static, Compiled<Bank>> {
    Simulation::new(Compiled::new(Bank::new(bug))).engine(ReverseCheck).seed(SEED).end(50.0)
}

/// The fault that the check reports for a bug, which must be at account 3.
fn fault_of(bug: Bug) -> Fault {
    let error = check(Some(bug)).run().expect_err("the bug is found");
    let text = error.to_string();
    let RunError::Model(ModelError { fault, place }) = error else { panic!("{text}") };
    assert_eq!((place.lp, place.engine, place.seed), (Some(LpId::new(3)), "reverse-check", SEED));
    let time = place.event.expect("in an event").time();
    let names = [format!("LP 3 at virtual time {time} "), "engine reverse-check".to_owned()];
    for name in names.iter().map(String::as_str).chain(["seed 12", fault.advice()]) {
        assert!(text.contains(name), "{name:?} is not in: {text}");
    }
    fault
}

#[test]
fn what_is_not_restored_is_named() {
    let not_reversed = |bug| match fault_of(bug) {
        Fault::NotReversed(found) => (found.what, found.first, found.second),
        fault => panic!("{bug:?}: {fault}"),
    };
    let texts = |(what, first, second): (&str, &str, &str)| {
        (what.to_owned(), first.to_owned(), second.to_owned())
    };
    assert_eq!(not_reversed(Bug::ForgetsAField), texts(("`handled`", "0", "1")));
    assert_eq!(not_reversed(Bug::ForgetsABin), texts(("`history.sizes[1]`", "0", "1")));
    let (what, before, after) = not_reversed(Bug::RoundsAway);
    assert_eq!(what, "`last`");
    let (before, after): (f64, f64) = (before.parse().unwrap(), after.parse().unwrap());
    assert!(before != after && before.trunc() == after, "{before} {after}");
    let (what, ..) = not_reversed(Bug::DrawsAnotherNumber);
    assert!(what.starts_with("`history.log"), "{what}");
}

/// CHECK-B: a field that `Debug` hides is noticed by what the second execution does.
#[test]
fn what_is_different_the_second_time_is_named() {
    for (bug, name, [first, second]) in [
        (Bug::RemembersCalls, "`handled`", ["1", "1001"]),
        (Bug::DrawsMore, "the random stream", ["[", "["]),
        (Bug::SendsAnotherDelay, "number 0 of the events", ["to LP 4", "to LP 4"]),
        (Bug::HidesAField, "number 0 of the events", ["to LP 4", "to LP 4"]),
        (Bug::SendsAnotherAmount, "number 0 of the events", ["Some(a)", "Some(b)"]),
        (Bug::SendsMore, "number 1 of the events", ["non-blocking", "ordinary"]),
    ] {
        let Fault::NotRepeated(found) = fault_of(bug) else {
            panic!("{bug:?} was taken for something else");
        };
        let Discrepancy { what, first: was, second: is } = *found;
        assert!(what.starts_with(name), "{bug:?}: {what}");
        assert!(was.contains(first) && is.contains(second) && was != is, "{bug:?}: {was} {is}");
    }
}

/// CHECK-A: each send and each I/O event takes effect once, so the results are those of the
/// sequential engine.
#[test]
fn commits_what_the_sequential_engine_commits() {
    let checked = check(None).run().expect("sound");
    let plain = check(None).engine(Sequential::default()).run().expect("sound");
    assert_eq!(checked.engine, EngineKind::ReverseCheck);
    assert_eq!((checked.digest, checked.output), (plain.digest, plain.output));
    assert_eq!(checked.committed_events, plain.committed_events);
    assert_eq!(checked.committed_events, plain.output.0 + plain.output.1);
    assert!(plain.output.0 > 100);
}

/// Events that are held back count, too: the memory that the sequential engine needs is enough, and
/// less is not.
#[test]
fn memory_is_limited() {
    let error = check(Some(Bug::SendsForEver)).memory(100_000).run().expect_err("no end");
    assert!(matches!(error, RunError::OutOfBuffers { .. }), "{error}");
    let peak = check(None).run().expect("no limit").peak_buffer_bytes;
    assert!(check(None).memory(peak).run().is_ok());
    assert!(check(None).memory(peak - 1).run().is_err());
}

/// A model that has no reverse handler.
struct OneWay;

#[derive(Clone, Debug)]
struct Street;

impl Model for OneWay {
    type Lp = Street;
    type Output = ();

    fn name(&self) -> &'static str {
        "one-way"
    }

    fn lp_count(&self) -> usize {
        1
    }

    fn make_lp(&self, _: LpId) -> Street {
        panic!("made although it cannot run")
    }

    fn reduce(&self, _: impl Iterator<Item = ()>) {}
}

impl LogicalProcess for Street {
    type Model = OneWay;
    type Message = ();
    type Summary = ();

    fn start(&mut self, _: &OneWay, _: &mut impl Context<()>) {}

    fn handle(&mut self, _: &OneWay, (): &(), _: &mut impl Context<()>) {}

    fn finish(self, _: &OneWay, _: VirtualTime) {}
}

#[test]
fn models_without_reverse_handlers_are_refused() {
    let run = Simulation::new(Compiled::new(OneWay)).engine(ReverseCheck).run();
    let Err(RunError::Config(ConfigError { key, value, allowed })) = run else {
        panic!("not refused");
    };
    assert_eq!((key.as_str(), value.as_str()), ("engine", "reverse-check"));
    assert!(allowed.contains("no reverse handler"), "{allowed}");
    let reverse = TimeWarp { saving: StateSaving::Reverse, ..TimeWarp::default() };
    let only = Only::<(Sequential, TimeWarp), _>::new(OneWay);
    let error = Simulation::new(only).engine(reverse).run().map(drop).expect_err("it cannot");
    assert!(error.to_string().contains("`saving` is reverse, but must be auto or copy"), "{error}");
}

/// Red if `Simulation::new` takes the sequential engine for every model, or the error does not say
/// what to do.
#[test]
fn a_single_engine_need_not_be_named() {
    let text = |error: RunError| error.to_string();
    let one = Simulation::new(Only::<ReverseCheck, _>::new(OneWay)).run().map(drop);
    let one = text(one.expect_err("it has no reverse handler"));
    assert!(
        one.contains("`engine` is reverse-check") && one.contains("no reverse handler"),
        "{one}"
    );
    let two = Simulation::new(Only::<(ReverseCheck, TimeWarp), _>::new(OneWay)).run().map(drop);
    let two = text(two.expect_err("which one?"));
    assert!(two.contains("`engine` is sequential") && two.contains("Simulation::engine"), "{two}");
}
