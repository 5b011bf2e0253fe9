//! Two classes of customers at one server: urgent ones go first, and take the server from the
//! others (an M/M/1 queue with preemption, in each of many places).
//!
//! Urgent customers do not see the others: M/M/1. The others have the mean time that the formula of
//! preemptive priorities gives.
//!
//! ```sh
//! cargo run --release -p warpline-processes --features gallery --example priority
//! ```

use serde::{Deserialize, Serialize};
use warpline::{LpId, RunError, Simulation, State, Statistics, Tally, TrackedHistogram};
use warpline_processes::{
    ContextOf, Env, Facilities, Observations, Processes, World, facilities, process, processes,
};

mod support;

facilities! { SERVER: Resource }

/// The parameters: mean times between customers of each class, and of a service.
#[derive(Clone, Debug)]
pub(crate) struct Desks {
    pub(crate) desks: usize,
    pub(crate) urgent: f64,
    pub(crate) normal: f64,
    pub(crate) service: f64,
}

#[derive(Debug, Default, State, Statistics, Serialize, Deserialize)]
pub(crate) struct Times {
    /// Time at the desk of urgent customers
    urgent: Tally,
    /// Time at the desk of the others
    normal: Tally,
    /// Time at the desk of the others
    normals: TrackedHistogram,
}

#[process]
fn arrivals(env: &mut Env<Desks>, is_urgent: bool) {
    loop {
        let mean = if is_urgent { env.world.urgent } else { env.world.normal };
        hold!(env.rng().exponential(mean));
        env.spawn(customer(is_urgent));
    }
}

#[process]
fn customer(env: &mut Env<Desks>, is_urgent: bool) {
    let came: f64 = env.now();
    let mut left: f64 = env.rng().exponential(env.world.service);
    loop {
        acquire!(SERVER, priority = i32::from(is_urgent), preempt = is_urgent);
        let begun: f64 = env.now();
        if hold!(left) {
            env.release(SERVER);
            break;
        }
        left -= env.now() - begun;
    }
    let time = env.now() - came;
    if is_urgent {
        env.site.urgent.add(time);
    } else {
        env.site.normal.add(time);
        env.site.normals.add(time, env.cx);
    }
}

processes! { pub(crate) enum Kind for Desks { Arrivals(arrivals), Customer(customer) } }

impl World for Desks {
    type Process = Kind;
    type Site = Times;
    type Item = ();
    type Observed = Times;

    fn name(&self) -> &str {
        "priority"
    }

    fn sites(&self) -> usize {
        self.desks
    }

    fn site(&self, _: LpId) -> Times {
        Times { normals: TrackedHistogram::new(0.0, 10.0, 10), ..Times::default() }
    }

    fn observed(site: &mut Times) -> &mut Times {
        site
    }

    fn facilities(&self, _: LpId, to: &mut Facilities) {
        to.preemptive(SERVER, 1);
    }

    fn start(&self, env: &mut Env<'_, Self, impl ContextOf<Self>>) {
        env.spawn(arrivals(true));
        env.spawn(arrivals(false));
    }
}

impl Desks {
    pub(crate) const EXAMPLE: Self = Self { desks: 32, urgent: 4.0, normal: 2.5, service: 1.0 };

    /// The mean times of urgent customers and of the others.
    pub(crate) fn times_by_theory(&self) -> [f64; 2] {
        let (urgent, all) =
            (self.service / self.urgent, self.service * (1.0 / self.urgent + 1.0 / self.normal));
        [self.service / (1.0 - urgent), self.service / ((1.0 - urgent) * (1.0 - all))]
    }

    pub(crate) fn times(output: &Observations<Times>) -> [f64; 2] {
        [output.observed.urgent.mean(), output.observed.normal.mean()]
    }
}

pub(crate) fn main() -> Result<(), RunError> {
    let desks = Desks::EXAMPLE;
    let theory = desks.times_by_theory();
    let report = Simulation::new(Processes::new(desks)).seed(1).warm_up(200.0).end(5e3).run()?;
    support::print(&report.output);
    let found = Desks::times(&report.output);
    support::compare("\nTime of urgent customers", found[0], theory[0]);
    support::compare("Time of the others", found[1], theory[1]);
    Ok(())
}
