//! A car wash: cars wait in a lane, which is a *store*; washers get one after the other. There is
//! room for a few cars only, and whoever finds the lane full drives on.
//!
//! With one washer, a constant time and a long lane it is the queue M/D/1, whose mean wait is
//! known.
//!
//! ```sh
//! cargo run --release -p warpline-processes --features gallery --example car_wash
//! ```

use serde::{Deserialize, Serialize};
use warpline::{
    Counter, LpId, RunError, Simulation, State, Statistics, Tally, TrackedHistogram, Value,
};
use warpline_processes::{
    ContextOf, Env, Facilities, Observations, Processes, World, facilities, process, processes,
};

mod support;

facilities! { LANE: Store }

#[derive(Clone, Debug)]
pub(crate) struct Wash {
    pub(crate) places: usize,
    pub(crate) washers: u32,
    pub(crate) room: u32,
    pub(crate) interarrival: f64,
    pub(crate) time: f64,
}

/// What waits in the lane.
#[derive(Clone, Copy, Debug, Value, Serialize, Deserialize)]
pub(crate) struct Car {
    came: f64,
}

#[derive(Debug, Default, State, Statistics, Serialize, Deserialize)]
#[statistic(time = "minute")]
pub(crate) struct Seen {
    /// Cars that found no room
    #[statistic(unit = "cars")]
    drove_on: Counter,
    /// Time in the lane
    #[statistic(unit = "minutes")]
    wait: Tally,
    /// Time in the lane
    #[statistic(unit = "minutes")]
    waits: TrackedHistogram,
}

#[process]
fn street(env: &mut Env<Wash>) {
    loop {
        hold!(env.rng().exponential(env.world.interarrival));
        // Whoever cannot drive in at once does not wait.
        let came = env.now();
        if !put!(LANE, Car { came }, timeout = 0.0) {
            env.site.drove_on.increment();
        }
    }
}

#[process]
fn washer(env: &mut Env<Wash>) {
    while let Some(car) = get!(LANE) {
        let wait = env.now() - car.came;
        env.site.wait.add(wait);
        env.site.waits.add(wait, env.cx);
        hold!(env.world.time);
    }
}

processes! { pub(crate) enum Kind for Wash { Street(street), Washer(washer) } }

impl World for Wash {
    type Process = Kind;
    type Site = Seen;
    type Item = Car;
    type Observed = Seen;

    fn name(&self) -> &str {
        "car-wash"
    }

    fn sites(&self) -> usize {
        self.places
    }

    fn site(&self, _: LpId) -> Seen {
        Seen { waits: TrackedHistogram::new(0.0, 20.0, 10), ..Seen::default() }
    }

    fn observed(site: &mut Seen) -> &mut Seen {
        site
    }

    fn facilities(&self, _: LpId, to: &mut Facilities) {
        to.bounded_store(LANE, self.room);
    }

    fn start(&self, env: &mut Env<'_, Self, impl ContextOf<Self>>) {
        env.spawn(street());
        for _ in 0..self.washers {
            env.spawn(washer());
        }
    }
}

impl Wash {
    pub(crate) const EXAMPLE: Self =
        Self { places: 32, washers: 1, room: 200, interarrival: 5.0, time: 4.0 };

    /// Pollaczek and Khinchine, for a constant time.
    pub(crate) fn wait_by_theory(&self) -> f64 {
        let load = self.time / self.interarrival;
        load * self.time / (2.0 * (1.0 - load))
    }

    pub(crate) fn wait(output: &Observations<Seen>) -> f64 {
        output.observed.wait.mean()
    }
}

pub(crate) fn main() -> Result<(), RunError> {
    let wash = Wash::EXAMPLE;
    let theory = wash.wait_by_theory();
    let report = Simulation::new(Processes::new(wash)).seed(1).warm_up(500.0).end(3e4).run()?;
    support::print(&report.output);
    support::compare("\nTime in the lane", Wash::wait(&report.output), theory);
    Ok(())
}
