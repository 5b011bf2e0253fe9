//! A model that does what a script says: sends, and mistakes of every kind.
//!
//! The integration tests about mistakes of models use it.

use std::{panic, sync::Arc};

use warpline::{Context, LogicalProcess, LpId, Model, Only, Sequential, Simulation, VirtualTime};

/// The action of an LP on an event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    Send(u32, f64),
    SendAt(u32, f64),
    Fail,
    Panic(Payload),
}

/// The payload of a panic.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Payload {
    Str,
    Text,
    Other,
}

impl Payload {
    fn throw(self) -> ! {
        match self {
            Self::Str => panic!("a literal"),
            // Not a constant: the compiler would format it into a literal.
            Self::Text => panic!("LP {} broke", std::hint::black_box(1)),
            Self::Other => panic::panic_any(7_i32),
        }
    }

    pub(crate) const fn message(self) -> &'static str {
        match self {
            Self::Str => "a literal",
            Self::Text => "LP 1 broke",
            Self::Other => "a panic without a message",
        }
    }
}

/// Places of a panic in the code of the model, outside of its handlers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stage {
    MakeLp,
    Start,
    Finish,
    LpCount,
    Lookahead,
    Placement,
    Name,
    /// Before the first summary is taken.
    ReduceFirst,
    /// After the last summary is taken.
    Reduce,
    /// When a message is dropped that was never handled.
    DropOfMessage,
}

/// A model of four LPs that follow a script, with messages of `BYTES` bytes.
pub(crate) struct Scripted<const BYTES: usize> {
    lps: usize,
    script: Box<Script>,
    lookahead: Option<f64>,
    breaks: Option<(Stage, Payload)>,
    /// Every message has a reference: if no other reference is left, every message was dropped.
    pub(crate) token: Arc<()>,
}

/// The script: the action of LP `lp` on its `n`-th event, counted from 1; 0 is the start.
pub(crate) type Script = dyn Fn(u32, u64) -> Vec<Act> + Send + Sync;

#[derive(Clone, Debug)]
pub(crate) struct Process<const BYTES: usize> {
    handled: u64,
    sent: u64,
}

pub(crate) struct Message<const BYTES: usize> {
    _token: Arc<()>,
    payload: [u8; BYTES],
    breaks: Option<Payload>,
}

impl<const BYTES: usize> Drop for Message<BYTES> {
    fn drop(&mut self) {
        if let Some(payload) = self.breaks.take() {
            payload.throw();
        }
    }
}

pub(crate) fn scripted(
    script: impl Fn(u32, u64) -> Vec<Act> + Send + Sync + 'static,
) -> Scripted<0> {
    Scripted {
        lps: 4,
        script: Box::new(script),
        lookahead: None,
        breaks: None,
        token: Arc::default(),
    }
}

/// A run of `model`, for which only the sequential engine is compiled.
pub(crate) fn simulation<'a, M: Model>(model: M) -> Simulation<'a, Only<Sequential, M>> {
    Simulation::new(Only::new(model))
}

/// A correct model: LP 0 sends an event to LP 1, which sends one to LP 3.
pub(crate) fn two_events() -> Scripted<0> {
    scripted(|lp, n| match (lp, n) {
        (0, 0) => vec![Act::Send(1, 1.0)],
        (1, 1) => vec![Act::Send(3, 1.0)],
        _ => vec![],
    })
}

impl<const BYTES: usize> Scripted<BYTES> {
    pub(crate) fn lps(self, lps: usize) -> Self {
        Self { lps, ..self }
    }

    pub(crate) fn lookahead(self, lookahead: f64) -> Self {
        Self { lookahead: Some(lookahead), ..self }
    }

    pub(crate) fn breaks(self, stage: Stage, payload: Payload) -> Self {
        Self { breaks: Some((stage, payload)), ..self }
    }

    pub(crate) fn payload<const MORE: usize>(self) -> Scripted<MORE> {
        let Self { lps, script, lookahead, breaks, token } = self;
        Scripted { lps, script, lookahead, breaks, token }
    }

    /// Panics if the script names this LP and this stage.
    fn reach(&self, stage: Stage, at_work: bool) {
        if let Some((breaks_in, payload)) = self.breaks
            && breaks_in == stage
            && at_work
        {
            payload.throw();
        }
    }
}

impl<const BYTES: usize> Model for Scripted<BYTES> {
    type Lp = Process<BYTES>;
    /// Events handled and events sent, as the LPs count them.
    type Output = (u64, u64);

    fn name(&self) -> &'static str {
        self.reach(Stage::Name, true);
        "scripted"
    }

    fn lp_count(&self) -> usize {
        self.reach(Stage::LpCount, true);
        self.lps
    }

    fn make_lp(&self, id: LpId) -> Self::Lp {
        self.reach(Stage::MakeLp, id.get() == 2);
        Process { handled: 0, sent: 0 }
    }

    fn reduce(&self, counts: impl Iterator<Item = (u64, u64)>) -> (u64, u64) {
        self.reach(Stage::ReduceFirst, true);
        let sum = counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        self.reach(Stage::Reduce, true);
        sum
    }

    fn placement(&self, id: LpId, workers: usize) -> usize {
        self.reach(Stage::Placement, id.get() == 2);
        id.index() * workers / self.lps
    }

    fn lookahead(&self) -> Option<f64> {
        self.reach(Stage::Lookahead, true);
        self.lookahead
    }
}

impl<const BYTES: usize> Process<BYTES> {
    fn act(&mut self, model: &Scripted<BYTES>, cx: &mut impl Context<Message<BYTES>>) {
        for act in (model.script)(cx.me().get(), self.handled) {
            // The later one of `two_events`: it is pending when a run ends before time 2.
            let breaks = match model.breaks {
                Some((Stage::DropOfMessage, payload)) if self.handled > 0 => Some(payload),
                _ => None,
            };
            let message = Message { _token: model.token.clone(), payload: [7; BYTES], breaks };
            match act {
                Act::Send(to, delay) => cx.send(LpId::new(to), delay, message),
                Act::SendAt(to, time) => cx.send_at(LpId::new(to), time, message),
                Act::Fail => cx.fail(format_args!("ran out of {}", "paper")),
                Act::Panic(payload) => payload.throw(),
            }
            self.sent += 1;
        }
    }
}

impl<const BYTES: usize> LogicalProcess for Process<BYTES> {
    type Model = Scripted<BYTES>;
    type Message = Message<BYTES>;
    type Summary = (u64, u64);

    fn start(&mut self, model: &Self::Model, cx: &mut impl Context<Message<BYTES>>) {
        model.reach(Stage::Start, cx.me().get() == 2);
        self.act(model, cx);
    }

    fn handle(
        &mut self,
        model: &Self::Model,
        message: &Message<BYTES>,
        cx: &mut impl Context<Message<BYTES>>,
    ) {
        assert_eq!(message.payload, [7; BYTES]);
        self.handled += 1;
        self.act(model, cx);
    }

    fn finish(self, model: &Self::Model, _: VirtualTime) -> (u64, u64) {
        model.reach(Stage::Finish, true);
        (self.handled, self.sent)
    }
}
