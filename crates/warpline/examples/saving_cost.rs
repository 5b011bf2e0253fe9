//! How states that derive `Clone` are saved, and what that costs: in Time Warp a copy before each
//! event, sparse copies, or what `auto` finds out; in the speculative engine sparse copies.
//!
//! PHOLD with a table in each state, of which an event changes two entries, and queues, one of
//! which it uses; and some work in each event. For each size: the sequential engine in million
//! events per second, and the others with two workers by it. Medians of interleaved rounds.
//!
//! Run it with
//! `cargo run --release -p warpline --features measurements --example saving_cost -- [ROUNDS]`.

use std::{
    collections::VecDeque,
    env,
    error::Error,
    io::{self, Write},
};

use warpline::{
    Context, LogicalProcess, LpId, Model, Sequential, Simulation, Speculative, TimeWarp,
    VirtualTime,
    settings::{CheckpointInterval, StateSaving},
};

const LPS: usize = 256;
const POPULATION: usize = 1024;
/// Steps of a random generator in each event: some hundred nanoseconds.
const WORK: u32 = 300;
/// The most numbers in a queue.
const QUEUED_MAX: usize = 8;
/// Bytes of a table, queues, and the end of the run.
const SIZES: [(usize, usize, f64); 5] =
    [(64, 0, 800.0), (64, 8, 800.0), (4096, 0, 800.0), (16_384, 0, 400.0), (65_536, 0, 400.0)];

/// PHOLD whose states have tables and queues.
#[derive(Clone, Copy)]
struct Tables {
    entries: usize,
    queues: usize,
}

#[derive(Clone, Debug)]
struct Table {
    entries: Vec<u64>,
    queues: Vec<VecDeque<u64>>,
}

impl Model for Tables {
    type Lp = Table;
    type Output = u64;

    fn name(&self) -> &'static str {
        "tables"
    }

    fn lp_count(&self) -> usize {
        LPS
    }

    fn make_lp(&self, _: LpId) -> Table {
        Table { entries: vec![0; self.entries], queues: vec![VecDeque::new(); self.queues] }
    }

    fn reduce(&self, sums: impl Iterator<Item = u64>) -> u64 {
        sums.fold(0, u64::wrapping_add)
    }
}

impl LogicalProcess for Table {
    type Model = Tables;
    type Message = u64;
    type Summary = u64;

    fn start(&mut self, _: &Tables, cx: &mut impl Context<u64>) {
        for number in 0..(POPULATION / LPS) as u64 {
            let delay = cx.rng().exponential(1.0);
            cx.send(cx.me(), delay, number);
        }
    }

    fn handle(&mut self, _: &Tables, message: &u64, cx: &mut impl Context<u64>) {
        let mut word = message | 1;
        for _ in 0..WORK {
            word = word.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        }
        let count = self.entries.len();
        for place in [word as usize % count, (word >> 32) as usize % count] {
            self.entries[place] = self.entries[place].wrapping_add(word);
        }
        let queues = self.queues.len().max(1);
        if let Some(queue) = self.queues.get_mut(word as usize % queues) {
            queue.push_back(word);
            if queue.len() > QUEUED_MAX {
                queue.pop_front();
            }
        }
        let to = LpId::from_index(cx.rng().below(LPS as u64) as usize);
        let delay = cx.rng().exponential(1.0);
        cx.send(to, delay, word ^ (word >> 33));
    }

    fn finish(self, _: &Tables, _: VirtualTime) -> u64 {
        self.entries.into_iter().fold(0, u64::wrapping_add)
    }
}

/// Ways of Time Warp to save a state.
fn ways() -> [(&'static str, StateSaving); 4] {
    let every = |events| StateSaving::Copy { interval: CheckpointInterval::Every(events) };
    [
        ("copy", StateSaving::COPY),
        ("copy:interval=8", every(8)),
        ("copy:interval=auto", StateSaving::Copy { interval: CheckpointInterval::Auto }),
        ("auto", StateSaving::Auto),
    ]
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = env::args().nth(1).map_or(Ok(5), |rounds| rounds.parse::<usize>())?.max(1);
    let mut out = io::stdout();
    write!(out, "{:>8} {:>6} {:>10} {:>11}", "bytes", "queues", "sequential", "speculative")?;
    for (name, _) in ways() {
        write!(out, " {name:>18}")?;
    }
    writeln!(out)?;
    for (bytes, queues, end) in SIZES {
        let model = Tables { entries: bytes / size_of::<u64>(), queues };
        let (mut rates, mut windows) = (Vec::new(), Vec::new());
        let mut ratios = vec![Vec::new(); ways().len()];
        for _ in 0..rounds {
            let oracle = Simulation::new(model).engine(Sequential::default()).end(end).run()?;
            let events = oracle.totals.committed_events as f64;
            rates.push(events / oracle.wall.as_secs_f64() / 1e6);
            let engine = Speculative { workers: 2, ..Speculative::default() };
            let report = Simulation::new(model).engine(engine).end(end).run()?;
            windows.push(oracle.wall.as_secs_f64() / report.wall.as_secs_f64());
            for ((name, saving), ratios) in ways().into_iter().zip(&mut ratios) {
                let engine = TimeWarp { workers: 2, saving, ..TimeWarp::default() };
                let report = Simulation::new(model).engine(engine).end(end).run()?;
                if report.totals.digest != oracle.totals.digest {
                    return Err(format!("{name} has committed other events").into());
                }
                ratios.push(oracle.wall.as_secs_f64() / report.wall.as_secs_f64());
            }
        }
        write!(out, "{bytes:>8} {queues:>6} {:>10.1} {:>11.2}", median(rates), median(windows))?;
        for ratios in ratios {
            write!(out, " {:>18.2}", median(ratios))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
