//! How Time Warp saves states that derive `Clone`, and what that costs: a copy before each event,
//! sparse copies, or what `auto` finds out.
//!
//! PHOLD with a table in each state, of which an event changes two entries, and some work in each
//! event. For each size of the table: the sequential engine in million events per second, and Time
//! Warp with two workers by it, for each way to save. Medians of interleaved rounds.
//!
//! Run it with `cargo run --release -p warpline --example saving_cost -- [ROUNDS]`.

use std::{
    env,
    error::Error,
    io::{self, Write},
};

use warpline::{
    Context, LogicalProcess, LpId, Model, Sequential, Simulation, TimeWarp, VirtualTime,
    settings::{CheckpointInterval, StateSaving},
};

const LPS: usize = 256;
const POPULATION: usize = 1024;
/// Steps of a random generator in each event: some hundred nanoseconds.
const WORK: u32 = 300;
/// Bytes of a table, and the end of the run.
const SIZES: [(usize, f64); 4] = [(64, 800.0), (4096, 800.0), (16_384, 400.0), (65_536, 400.0)];

/// PHOLD whose states have tables.
#[derive(Clone, Copy)]
struct Tables {
    entries: usize,
}

#[derive(Clone, Debug)]
struct Table(Vec<u64>);

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
        Table(vec![0; self.entries])
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
        let count = self.0.len();
        for place in [word as usize % count, (word >> 32) as usize % count] {
            self.0[place] = self.0[place].wrapping_add(word);
        }
        let to = LpId::from_index(cx.rng().below(LPS as u64) as usize);
        let delay = cx.rng().exponential(1.0);
        cx.send(to, delay, word ^ (word >> 33));
    }

    fn finish(self, _: &Tables, _: VirtualTime) -> u64 {
        self.0.into_iter().fold(0, u64::wrapping_add)
    }
}

/// Ways to save a state.
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
    write!(out, "{:>8} {:>10}", "bytes", "sequential")?;
    for (name, _) in ways() {
        write!(out, " {name:>18}")?;
    }
    writeln!(out)?;
    for (bytes, end) in SIZES {
        let model = Tables { entries: bytes / size_of::<u64>() };
        let (mut rates, mut ratios) = (Vec::new(), vec![Vec::new(); ways().len()]);
        for _ in 0..rounds {
            let oracle = Simulation::new(model).engine(Sequential::default()).end(end).run()?;
            let events = oracle.totals.committed_events as f64;
            rates.push(events / oracle.wall.as_secs_f64() / 1e6);
            for ((name, saving), ratios) in ways().into_iter().zip(&mut ratios) {
                let engine = TimeWarp { workers: 2, saving, ..TimeWarp::default() };
                let report = Simulation::new(model).engine(engine).end(end).run()?;
                if report.totals.digest != oracle.totals.digest {
                    return Err(format!("{name} has committed other events").into());
                }
                ratios.push(oracle.wall.as_secs_f64() / report.wall.as_secs_f64());
            }
        }
        write!(out, "{bytes:>8} {:>10.1}", median(rates))?;
        for ratios in ratios {
            write!(out, " {:>18.2}", median(ratios))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
