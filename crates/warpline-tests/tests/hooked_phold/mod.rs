//! A PHOLD-like model with a hook in every handler call.
//!
//! A message carries a hash of all that its sender has handled. So the hook can tell from an LP's
//! hash whether the LP is in a state that the sequential engine never reaches, and may stall or
//! fail there.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use warpline::{
    Context, EventKey, Io, IoContext, LogicalProcess, LpId, Model, Only, Sequential, Simulation,
    Speculative, Stream, TimeWarp, VirtualTime, digest::mix,
};

/// One call of a handler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HandlerCall {
    pub(crate) lp: u32,
    /// The number of the event at its LP, counted from 1; 0 is the LP's start.
    pub(crate) nth: usize,
    /// A hash of all events of the LP up to this one.
    pub(crate) hash: u64,
    /// Whether it is a blocking I/O event.
    pub(crate) io: bool,
}

/// Called in every handler. If it returns a reason, the handler fails with it.
pub(crate) type Hook = dyn Fn(HandlerCall) -> Option<&'static str> + Send + Sync;

/// Draws the receiver of an event, out of that many LPs, and its delay.
pub(crate) type Next = fn(&Stream, usize) -> (LpId, f64);

/// The arguments of the calls to the output handler, in order.
pub(crate) type Lines = Arc<Mutex<Vec<(EventKey, LpId, u64)>>>;

/// PHOLD with a hook.
pub(crate) struct HookedPhold {
    pub(crate) lps: u32,
    /// How many events each LP starts with; every event sends another one.
    pub(crate) population: u32,
    /// The mean time of these.
    pub(crate) first: f64,
    /// The delay from an event to its line of output.
    pub(crate) line_delay: f64,
    /// One event in this number is a blocking I/O event.
    pub(crate) blocking: u64,
    /// Where an event sends the next one, and after which delay.
    pub(crate) next: Next,
    pub(crate) lookahead: Option<f64>,
    pub(crate) hook: Box<Hook>,
    pub(crate) lines: Lines,
    /// Called after each line, with the number of lines.
    pub(crate) on_line: Box<dyn Fn(usize) + Send + Sync>,
}

#[derive(Clone, Debug)]
pub(crate) struct HookedLp {
    handled: usize,
    hash: u64,
}

/// One event in this number sends a line of output.
const LINES: u64 = 4;

impl HookedPhold {
    pub(crate) fn new(
        lps: u32,
        hook: impl Fn(HandlerCall) -> Option<&'static str> + Send + Sync + 'static,
    ) -> Self {
        let (hook, on_line) = (Box::new(hook), Box::new(|_| ()));
        Self {
            lps,
            population: 4,
            first: 1.0,
            line_delay: 0.0,
            blocking: 64,
            next: |rng, lps| (rng.lp(lps), rng.exponential(1.0)),
            lookahead: None,
            hook,
            lines: Lines::default(),
            on_line,
        }
    }

    /// A model in which nothing fails.
    pub(crate) fn sound(lps: u32) -> Self {
        Self::new(lps, |_| None)
    }

    fn fail_if_asked(&self, call: HandlerCall, cx: &mut impl Context<u64>) {
        if let Some(reason) = (self.hook)(call) {
            cx.fail(format_args!("{reason}"));
        }
    }
}

impl fmt::Debug for HookedPhold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookedPhold").field("lps", &self.lps).finish_non_exhaustive()
    }
}

impl Model for HookedPhold {
    type Lp = HookedLp;
    /// The hash of each LP.
    type Output = Vec<u64>;

    fn name(&self) -> &'static str {
        "hooked-phold"
    }

    fn lp_count(&self) -> usize {
        self.lps as usize
    }

    fn make_lp(&self, _: LpId) -> HookedLp {
        HookedLp { handled: 0, hash: 0 }
    }

    fn lookahead(&self) -> Option<f64> {
        self.lookahead
    }

    fn reduce(&self, hashes: impl Iterator<Item = u64>) -> Vec<u64> {
        hashes.collect()
    }
}

impl HookedLp {
    fn work(&mut self, model: &HookedPhold, message: u64, io: bool, cx: &mut impl Context<u64>) {
        self.handled += 1;
        self.hash = mix(self.hash, message ^ cx.now().get().to_bits());
        let Self { handled, hash } = *self;
        model.fail_if_asked(HandlerCall { lp: cx.me().get(), nth: handled, hash, io }, cx);
        if hash.is_multiple_of(LINES) {
            cx.send_io(Io::NonBlocking, cx.me(), model.line_delay, hash);
        }
        let lps = cx.lp_count();
        let (to, delay) = (model.next)(cx.rng(), lps);
        if hash % model.blocking == 1 {
            cx.send_io(Io::Blocking, to, delay, hash);
        } else {
            cx.send(to, delay, hash);
        }
    }
}

impl LogicalProcess for HookedLp {
    type Model = HookedPhold;
    type Message = u64;
    type Summary = u64;

    fn start(&mut self, model: &HookedPhold, cx: &mut impl Context<u64>) {
        model.fail_if_asked(HandlerCall { lp: cx.me().get(), nth: 0, hash: 0, io: false }, cx);
        for message in 0..u64::from(model.population) {
            let delay = model.first * cx.rng().exponential(1.0);
            cx.send(cx.me(), delay, message);
        }
    }

    fn handle(&mut self, model: &HookedPhold, message: &u64, cx: &mut impl Context<u64>) {
        self.work(model, *message, false, cx);
    }

    fn handle_io(&mut self, model: &HookedPhold, message: &u64, cx: &mut impl IoContext<u64>) {
        self.work(model, *message, true, cx);
    }

    fn output(model: &HookedPhold, lp: LpId, event: &EventKey, message: &u64) {
        let mut lines = model.lines.lock().unwrap();
        lines.push((*event, lp, *message));
        (model.on_line)(lines.len());
    }

    fn identity(_: &HookedPhold, message: &u64) -> Option<u64> {
        Some(*message)
    }

    fn fingerprint(_: &HookedPhold, message: &u64) -> u64 {
        *message
    }

    fn finish(self, _: &HookedPhold, _: VirtualTime) -> u64 {
        self.hash
    }
}

/// The oracle, and the engines that undo what they have done.
pub(crate) type Optimists = (Sequential, (TimeWarp, Speculative));

/// A run of `model`, for which only these engines are compiled.
pub(crate) fn simulation<'a, M: Model>(model: M) -> Simulation<'a, Only<Optimists, M>> {
    Simulation::new(Only::new(model))
}

/// The hashes of each LP, event by event, as the sequential engine computes them.
pub(crate) fn truth(lps: u32, end: f64) -> Vec<Vec<u64>> {
    let known = Arc::new(Mutex::new(vec![Vec::new(); lps as usize]));
    let noted = Arc::clone(&known);
    let model = HookedPhold::new(lps, move |HandlerCall { lp, nth, hash, .. }| {
        if nth > 0 {
            noted.lock().unwrap()[lp as usize].push(hash);
        }
        None
    });
    simulation(model).engine(Sequential::default()).end(end).run().expect("a sound model");
    let known = known.lock().unwrap();
    known.clone()
}
