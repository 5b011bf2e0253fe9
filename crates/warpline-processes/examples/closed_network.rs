//! A closed network: customers go from station to station for ever, and queue for the one server of
//! each. They *travel*: a customer is a process that goes on at another site, on another core.
//!
//! Mean value analysis knows how many customers are served per unit of time.
//!
//! ```sh
//! cargo run --release -p warpline-processes --features gallery --example closed_network [-- ENG]
//! ```

#![allow(clippy::print_stdout, reason = "an example prints its result")]

use std::error::Error;

use warpline::{Counter, LpId, Simulation, State, Statistics, settings::EngineKind};
use warpline_processes::{
    ContextOf, Env, Facilities, Observations, Processes, World, facilities, process, processes,
};

mod support;

facilities! { SERVER: Resource }

#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) stations: usize,
    pub(crate) customers: usize,
    pub(crate) service: f64,
    /// The way from a station to the next one takes this long. It is the lookahead, too.
    pub(crate) way: f64,
}

#[derive(Debug, Default, State, Statistics, serde::Serialize, serde::Deserialize)]
pub(crate) struct Station {
    /// Customers who were served
    #[statistic(unit = "customers")]
    pub(crate) served: Counter,
}

#[process]
fn traveler(env: &mut Env<Network>) {
    loop {
        acquire!(SERVER);
        hold!(env.rng().exponential(env.world.service));
        env.release(SERVER);
        env.site.served.increment();
        travel!(env.rng().lp(env.world.stations), env.world.way);
    }
}

processes! { pub(crate) enum Kind for Network { Traveler(traveler) } }

impl World for Network {
    type Process = Kind;
    type Site = Station;
    type Item = ();
    type Observed = Station;

    fn name(&self) -> &str {
        "closed-network"
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
        to.resource(SERVER, 1);
    }

    fn start(&self, env: &mut Env<'_, Self, impl ContextOf<Self>>) {
        let here = env.here().index();
        for _ in (here..self.customers).step_by(self.stations) {
            env.spawn(traveler());
        }
    }

    fn lookahead(&self) -> Option<f64> {
        Some(self.way)
    }
}

impl Network {
    pub(crate) const EXAMPLE: Self = Self { stations: 64, customers: 256, service: 1.0, way: 1.0 };

    pub(crate) fn rate_by_theory(&self) -> f64 {
        support::throughput_of_closed(self.stations, self.customers, self.service, self.way)
    }

    pub(crate) fn rate(output: &Observations<Station>) -> f64 {
        output.observed.served.rate()
    }
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let network = Network::EXAMPLE;
    let theory = network.rate_by_theory();
    let mut simulation = Simulation::new(Processes::new(network)).seed(1).warm_up(50.0).end(2e4);
    if let Some(engine) = std::env::args().nth(1) {
        simulation = simulation.engine(engine.parse::<EngineKind>()?);
    }
    let report = simulation.run()?;
    support::print(&report.output);
    let rate = report.output.observed.served.count() as f64 / report.wall.as_secs_f64();
    println!("{:.2} million customers served per second of wall time", rate / 1e6);
    support::compare("\nCustomers per unit of time", Network::rate(&report.output), theory);
    Ok(())
}
