//! A model on any directed graph, on which null messages and deadlock recovery are tested.

use std::sync::{Arc, Mutex};

use warpline::{
    Context, EventKey, Io, IoContext, Link, LogicalProcess, LpId, Model, VirtualTime,
    wire::{Wire, Wires},
};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mistake {
    Fail,
    Panic,
    /// An event to this LP, to which there may be no link.
    SendTo(u32),
    /// An event on the first link, with half of its lookahead as its delay.
    TooSoon,
}

/// A directed graph, and how its LPs behave.
#[derive(Clone, Debug)]
pub(crate) struct RandomGraph {
    /// By LP: the receivers of its links, and their lookaheads.
    pub(crate) links: Vec<Vec<(u32, f64)>>,
    /// Delays beyond the lookahead, of which one is drawn for each event. A negative one is the
    /// mean of an exponential delay.
    pub(crate) delays: Vec<f64>,
    /// The least and the greatest number of events that an event sends, as far as its budget goes.
    pub(crate) fan: [u64; 2],
    /// How many events each LP sends at its start, and how many events may follow from each.
    pub(crate) first: u64,
    pub(crate) budget: u64,
    /// The fractions of events that are blocking and non-blocking I/O events.
    pub(crate) io: [f64; 2],
    pub(crate) wrong: Option<(u32, u64, Mistake)>,
    /// The arguments of the calls to `output`, in order.
    pub(crate) lines: Arc<Mutex<Vec<(EventKey, LpId)>>>,
}

impl RandomGraph {
    /// Sound LPs that send a few events on each link.
    pub(crate) fn new(links: Vec<Vec<(u32, f64)>>) -> Self {
        Self {
            links,
            delays: vec![0.0, 0.5, -1.0],
            fan: [1, 1],
            first: 2,
            budget: 50,
            io: [0.0; 2],
            wrong: None,
            lines: Arc::default(),
        }
    }

    /// A ring of `count` LPs.
    pub(crate) fn ring(count: u32, lookahead: f64) -> Self {
        Self::new((0..count).map(|me| vec![((me + 1) % count, lookahead)]).collect())
    }

    /// The same model with another list of lines.
    pub(crate) fn apart(&self) -> Self {
        Self { lines: Arc::default(), ..self.clone() }
    }
}

impl Model for RandomGraph {
    type Lp = GraphLp;
    type Output = Vec<(u64, u64)>;

    fn name(&self) -> &'static str {
        "random-graph"
    }

    fn lp_count(&self) -> usize {
        self.links.len()
    }

    fn make_lp(&self, _: LpId) -> GraphLp {
        GraphLp { handled: 0, sum: 0 }
    }

    fn reduce(&self, summaries: impl Iterator<Item = (u64, u64)>) -> Self::Output {
        summaries.collect()
    }

    fn links(&self, from: LpId) -> Option<Vec<Link>> {
        let link = |&(to, lookahead): &(u32, f64)| Link { to: LpId::new(to), lookahead };
        Some(self.links[from.index()].iter().map(link).collect())
    }

    fn wires(&self) -> Option<Wires<Self>> {
        Some(Wires { message: Wire::plain(), summary: Wire::serde() })
    }
}

/// An LP whose result depends on the order in which it handles its events.
#[derive(Clone, Debug)]
pub(crate) struct GraphLp {
    handled: u64,
    sum: u64,
}

impl GraphLp {
    fn scatter(&self, model: &RandomGraph, [count, budget]: [u64; 2], cx: &mut impl Context<u64>) {
        let me = cx.me();
        let links = &model.links[me.index()];
        for child in 0..count.min(budget) {
            let share = budget / count.min(budget) + u64::from(child < budget % count.min(budget));
            // The last choice is the LP itself.
            let choice = cx.rng().below(links.len() as u64 + 1) as usize;
            let (to, lookahead) =
                links.get(choice).map_or((me, 0.0), |&(to, lookahead)| (LpId::new(to), lookahead));
            let more = model.delays[cx.rng().below(model.delays.len() as u64) as usize];
            let more = if more < 0.0 { cx.rng().exponential(-more) } else { more };
            let dice = if model.io == [0.0; 2] { 1.0 } else { cx.rng().uniform() };
            let delay = lookahead + more;
            if dice < model.io[0] {
                cx.send_io(Io::Blocking, to, delay, share);
            } else if dice < model.io[0] + model.io[1] {
                cx.send_io(Io::NonBlocking, to, delay, share);
            } else {
                cx.send(to, delay, share);
            }
        }
    }

    fn work(&mut self, model: &RandomGraph, budget: u64, cx: &mut impl Context<u64>) {
        self.handled += 1;
        self.sum = self.sum.wrapping_mul(31).wrapping_add(budget);
        let [least, most] = model.fan;
        let count = least + cx.rng().below(most - least + 1);
        self.scatter(model, [count, budget - 1], cx);
        if let Some((lp, event, mistake)) = model.wrong
            && (lp, event) == (cx.me().get(), self.handled)
        {
            match mistake {
                Mistake::Fail => cx.fail(format_args!("broken on purpose")),
                Mistake::Panic => panic!("broken on purpose"),
                Mistake::SendTo(to) => cx.send(LpId::new(to), 1.0, 1),
                Mistake::TooSoon => {
                    let (to, lookahead) = model.links[cx.me().index()][0];
                    cx.send(LpId::new(to), lookahead / 2.0, 1);
                }
            }
        }
    }
}

impl LogicalProcess for GraphLp {
    type Model = RandomGraph;
    type Message = u64;
    type Summary = (u64, u64);

    fn start(&mut self, model: &RandomGraph, cx: &mut impl Context<u64>) {
        self.scatter(model, [model.first, model.first * model.budget], cx);
    }

    fn handle(&mut self, model: &RandomGraph, budget: &u64, cx: &mut impl Context<u64>) {
        self.work(model, *budget, cx);
    }

    fn handle_io(&mut self, model: &RandomGraph, budget: &u64, cx: &mut impl IoContext<u64>) {
        self.work(model, *budget, cx);
    }

    fn io_sends_max(_: &RandomGraph, budget: &u64) -> usize {
        // And one by mistake.
        *budget as usize + 1
    }

    fn output(model: &RandomGraph, lp: LpId, event: &EventKey, _: &u64) {
        model.lines.lock().unwrap().push((*event, lp));
    }

    fn finish(self, _: &RandomGraph, _: VirtualTime) -> (u64, u64) {
        (self.handled, self.sum)
    }

    fn fingerprint(_: &RandomGraph, budget: &u64) -> u64 {
        *budget
    }
}
