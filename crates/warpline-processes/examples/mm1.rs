//! M/M/1 with a million customers, as two processes and a store, in each of many stations: the
//! model that process-oriented libraries are compared with. It prints the wall time of each run.
//!
//! ```sh
//! cargo run --release -p warpline-processes --features gallery --example mm1 [-- STATIONS ENGINE]
//! ```

#![allow(clippy::print_stdout, reason = "an example prints its result")]

use std::{error::Error, time::Instant};

use serde::{Deserialize, Serialize};
use warpline::{
    Engine, LpId, Sequential, Simulation, State, Statistics, Tally, settings::EngineKind,
};
use warpline_processes::{
    ContextOf, Env, Facilities, Processes, World, facilities, process, processes,
};

facilities! {
    /// When each customer came.
    QUEUE: Store,
}

const CUSTOMERS: u64 = 1_000_000;

pub(crate) struct Stations {
    pub(crate) stations: usize,
    /// Of each station.
    pub(crate) customers: u64,
}

#[derive(Debug, Default, State, Statistics, Serialize, Deserialize)]
pub(crate) struct Station {
    /// Time in the system
    time: Tally,
}

#[process]
fn arrivals(env: &mut Env<Stations>) {
    for _ in 0u64..env.world.customers {
        hold!(env.rng().exponential(1.0 / 0.9));
        env.put(QUEUE, env.now());
    }
}

#[process]
fn service(env: &mut Env<Stations>) {
    while let Some(came) = get!(QUEUE) {
        let came: f64 = came;
        hold!(env.rng().exponential(1.0));
        let time = env.now() - came;
        env.site.time.add(time);
    }
}

processes! { pub(crate) enum Kind for Stations { Arrivals(arrivals), Service(service) } }

impl World for Stations {
    type Process = Kind;
    type Site = Station;
    type Item = f64;
    type Observed = Station;

    fn name(&self) -> &str {
        "mm1"
    }

    fn sites(&self) -> usize {
        self.stations
    }

    fn site(&self, _: LpId) -> Station {
        Station::default()
    }

    fn observed(site: &mut Station) -> &mut Station {
        site
    }

    fn facilities(&self, _: LpId, to: &mut Facilities) {
        to.store(QUEUE);
    }

    fn start(&self, env: &mut Env<'_, Self, impl ContextOf<Self>>) {
        env.spawn(arrivals());
        env.spawn(service());
    }
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let stations: usize = arguments.next().map_or(Ok(1), |stations| stations.parse())?;
    let engine = match arguments.next() {
        Some(engine) => Engine::from(engine.parse::<EngineKind>()?),
        None => Sequential::default().into(),
    };
    let customers = CUSTOMERS / stations as u64;
    let begin = Instant::now();
    let model = Processes::new(Stations { stations, customers });
    let report = Simulation::new(model).engine(engine).seed(1).run()?;
    let wall = begin.elapsed();
    let time = report.output.observed.time;
    println!("{} customers in {wall:.3?}, time in the system {:.3}", time.count(), time.mean());
    Ok(())
}
