//! What it costs to move an LP to another worker while Time Warp goes on.
//!
//! Each LP has a state of 1 KiB and 16 pending events, and a tenth of all LPs move all the time, at
//! random. The report says what a move takes: packing an LP up with its records, saved states and
//! pending events, and taking it in, in the time of the threads that do so.
//!
//! Run it with `cargo run --release -p warpline --features measurements --example move_cost`.

use std::{
    error::Error,
    io::{self, Write},
};

use warpline::{
    Balance, Context, LogicalProcess, LpId, Model, Only, Simulation, TimeWarp, VirtualTime,
};

const LPS: usize = 1024;
const PENDING: usize = 16;
const STATE_BYTES: usize = 1024;

/// PHOLD with large states.
struct Large;

#[derive(Clone, Debug)]
struct Process([u64; STATE_BYTES / 8]);

impl Model for Large {
    type Lp = Process;
    type Output = u64;

    fn name(&self) -> &'static str {
        "large"
    }

    fn lp_count(&self) -> usize {
        LPS
    }

    fn make_lp(&self, _: LpId) -> Process {
        Process([0; STATE_BYTES / 8])
    }

    fn reduce(&self, handled: impl Iterator<Item = u64>) -> u64 {
        handled.sum()
    }
}

impl LogicalProcess for Process {
    type Model = Large;
    type Message = ();
    type Summary = u64;

    fn start(&mut self, _: &Large, cx: &mut impl Context<()>) {
        for _ in 0..PENDING {
            let delay = cx.rng().exponential(1.0);
            cx.send(cx.me(), delay, ());
        }
    }

    fn handle(&mut self, _: &Large, (): &(), cx: &mut impl Context<()>) {
        let count = self.0.len() as u64;
        self.0[cx.rng().below(count) as usize] += 1;
        let to = LpId::from_index(cx.rng().below(LPS as u64) as usize);
        let delay = 0.1 + cx.rng().exponential(1.0);
        cx.send(to, delay, ());
    }

    fn finish(self, _: &Large, _: VirtualTime) -> u64 {
        self.0.iter().sum()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let engine = TimeWarp { balance: Balance::Randomly(0.1), ..TimeWarp::default() };
    let model = Only::<TimeWarp, _>::new(Large);
    let report = Simulation::new(model).engine(engine).end(300.0).run()?;
    for remark in report.details.remarks {
        writeln!(io::stdout(), "{remark}")?;
    }
    Ok(())
}
