//! PHOLD, the usual benchmark of parallel simulation, as a whole model: a fixed population of
//! events, each of which sends the next one to a process drawn at random.
//!
//! Run it with `cargo run --release --example phold`.

use warpline::{Context, LogicalProcess, LpId, Model, RunError, Simulation, VirtualTime};

struct Phold {
    lps: usize,
    events_per_lp: usize,
    mean: f64,
}

#[derive(Clone)]
struct Node {
    handled: u64,
}

impl Model for Phold {
    type Lp = Node;
    type Output = u64;

    fn name(&self) -> &'static str {
        "phold"
    }

    fn lp_count(&self) -> usize {
        self.lps
    }

    fn make_lp(&self, _: LpId) -> Node {
        Node { handled: 0 }
    }

    fn reduce(&self, handled: impl Iterator<Item = u64>) -> u64 {
        handled.sum()
    }
}

impl LogicalProcess for Node {
    type Model = Phold;
    type Message = ();
    type Summary = u64;

    fn start(&mut self, phold: &Phold, cx: &mut impl Context<()>) {
        for _ in 0..phold.events_per_lp {
            phold.send_anywhere(cx);
        }
    }

    fn handle(&mut self, phold: &Phold, _: &(), cx: &mut impl Context<()>) {
        self.handled += 1;
        phold.send_anywhere(cx);
    }

    fn finish(self, _: &Phold, _: VirtualTime) -> u64 {
        self.handled
    }
}

impl Phold {
    fn send_anywhere(&self, cx: &mut impl Context<()>) {
        let to = LpId::from_index(cx.rng().below(self.lps as u64) as usize);
        let delay = cx.rng().exponential(self.mean);
        cx.send(to, delay, ());
    }
}

#[expect(clippy::print_stdout, reason = "an example shows its results on the terminal")]
fn main() -> Result<(), RunError> {
    let phold = Phold { lps: 256, events_per_lp: 4, mean: 1.0 };
    let report = Simulation::new(phold).seed(1).end(1_000.0).run()?;
    println!("model             {}", report.model);
    println!("engine            {}, {} worker(s)", report.engine, report.workers);
    println!("end time          {}", report.end_time);
    println!("committed events  {}", report.committed_events);
    println!("events handled    {} by the count of the processes themselves", report.output);
    println!("event rate        {:.2} million/s", report.events_per_second() / 1e6);
    println!("event buffers     {} bytes at most", report.peak_buffer_bytes);
    println!("digest            {}", report.digest);
    Ok(())
}
