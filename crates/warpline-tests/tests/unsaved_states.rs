//! Models whose states are not saved whole. An optimistic engine cannot repair that; it says what
//! is wrong, where it sees it, and what to do. It never panics, in a debug build neither.
//!
//! # Mutations, each seen red
//!
//! - `SpeculativeWorker::check_repeated` is left out: a panic of SPEC-C's assertions in a debug
//!   build.
//! - `SpeculativeWorker::roll_back` goes on where the LP has handled nothing, or without the
//!   anti-message's event: a panic.
//! - `conclude` leaves SPEC-D out: a wrong digest without a word.

use warpline::{
    Context, LogicalProcess, LpId, Model, ModelError, Only, RunError, Saving, Sequential,
    Simulation, Speculative, State, VirtualTime, Width, error::Fault,
};

const LPS: usize = 12;

/// What a field that changes, and is said to be fixed, decides.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Decides {
    /// How often the handler draws.
    Draws,
    /// How many events it sends.
    Sends,
    /// To whom.
    Receiver,
    /// When.
    Delay,
    /// Nothing: a handler that panics unless its events come in order, with what is saved.
    Nothing,
}

struct Wrong {
    decides: Decides,
}

#[derive(Debug, Default, State)]
struct Counter {
    handled: u64,
    last: f64,
    #[state(fixed)]
    forgotten: u64,
}

impl Model for Wrong {
    type Lp = Counter;
    type Output = u64;

    fn name(&self) -> &'static str {
        "wrong"
    }

    fn lp_count(&self) -> usize {
        LPS
    }

    fn make_lp(&self, _: LpId) -> Counter {
        Counter::default()
    }

    fn reduce(&self, counts: impl Iterator<Item = u64>) -> u64 {
        counts.sum()
    }
}

impl LogicalProcess for Counter {
    type Model = Wrong;
    type Message = ();
    type Summary = u64;
    const SAVING: Saving<Self> = Saving::BY_FIELD;

    fn start(&mut self, _: &Wrong, cx: &mut impl Context<()>) {
        for _ in 0..4 {
            let delay = cx.rng().exponential(1.0);
            cx.send(cx.me(), delay, ());
        }
    }

    fn handle(&mut self, model: &Wrong, (): &(), cx: &mut impl Context<()>) {
        self.handled += 1;
        self.forgotten += 1;
        let now = cx.now().get();
        assert!(model.decides != Decides::Nothing || now >= self.last, "events came out of order");
        self.last = now;
        let is = |decides| model.decides == decides && self.forgotten.is_multiple_of(3);
        let (to, delay) = (cx.rng().lp(LPS), cx.rng().exponential(1.0));
        if is(Decides::Draws) {
            cx.rng().bits();
        }
        let to = if is(Decides::Receiver) { LpId::new((to.get() + 1) % LPS as u32) } else { to };
        let delay = if is(Decides::Delay) { 1.5 * delay } else { delay };
        cx.send(to, delay, ());
        if is(Decides::Sends) && self.handled < 40 {
            cx.send(cx.me(), 2.0 * delay, ());
        }
    }

    fn finish(self, _: &Wrong, _: VirtualTime) -> u64 {
        self.handled
    }
}

/// How many of these runs say that an LP ran differently. The others have seen nothing.
fn count_errors(decides: Decides) -> usize {
    let mut errors = 0;
    for (workers, seed) in (1..=3).flat_map(|workers| (0..6).map(move |seed| (workers, seed))) {
        for width in [0.05, 0.3, 2.0] {
            let model = Only::<(Sequential, Speculative), _>::new(Wrong { decides });
            let engine =
                Speculative { workers, width: Width::Fixed(width), ..Speculative::default() };
            let Err(error) = Simulation::new(model).engine(engine).seed(seed).end(60.0).run()
            else {
                continue;
            };
            let text = error.to_string();
            let RunError::Model(ModelError { fault, .. }) = error else { panic!("{text}") };
            assert_eq!(fault, Fault::RanDifferently, "{decides:?}, {workers} workers: {text}");
            assert!(text.contains("ran differently when it handled its events again"), "{text}");
            assert!(text.contains("`saving-check`"), "{text}");
            errors += 1;
        }
    }
    errors
}

#[test]
fn the_speculative_engine_says_what_is_wrong() {
    for decides in [Decides::Draws, Decides::Sends, Decides::Receiver, Decides::Delay] {
        let errors = count_errors(decides);
        assert!(errors > 9, "{decides:?}: seen in {errors} runs of 54");
    }
}

/// A model that is right wherever it is saved is not accused.
#[test]
fn a_field_that_decides_nothing_is_no_mistake() {
    assert_eq!(count_errors(Decides::Nothing), 0);
}
