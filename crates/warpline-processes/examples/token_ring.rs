//! A token ring: one token goes round, and whoever has it sends all that waits, then passes it on.
//! It is the polling system with exhaustive service.
//!
//! Each station is a site and the token is a process that travels. The mean wait is known for equal
//! stations (H. Takagi, *Analysis of Polling Systems*, MIT Press 1986).
//!
//! ```sh
//! cargo run --release -p warpline-processes --features gallery --example token_ring
//! ```

use serde::{Deserialize, Serialize};
use warpline::{Link, LpId, RunError, Simulation, State, Statistics, Tally, TrackedHistogram};
use warpline_processes::{
    ContextOf, Env, Facilities, Observations, Processes, World, facilities, process, processes,
};

mod support;

facilities! {
    /// When each frame was made that waits.
    FRAMES: Store,
}

/// Rings with stations, numbered ring after ring.
#[derive(Clone, Debug)]
pub(crate) struct Rings {
    pub(crate) rings: usize,
    pub(crate) stations: usize,
    /// Mean time between two frames of a station.
    pub(crate) interarrival: f64,
    /// To send a frame.
    pub(crate) frame: f64,
    /// From one station to the next.
    pub(crate) way: f64,
}

#[derive(Debug, Default, State, Statistics, Serialize, Deserialize)]
pub(crate) struct Waits {
    /// How long frames wait
    wait: Tally,
    /// How long frames wait
    waits: TrackedHistogram,
}

#[process]
fn source(env: &mut Env<Rings>) {
    loop {
        hold!(env.rng().exponential(env.world.interarrival));
        env.put(FRAMES, env.now());
    }
}

#[process]
fn token(env: &mut Env<Rings>) {
    loop {
        while env.items(FRAMES) > 0 {
            if let Some(made) = get!(FRAMES) {
                let wait = env.now() - made;
                env.site.wait.add(wait);
                env.site.waits.add(wait, env.cx);
            }
            hold!(env.world.frame);
        }
        travel!(env.world.next(env.here()), env.world.way);
    }
}

processes! { pub(crate) enum Kind for Rings { Source(source), Token(token) } }

impl World for Rings {
    type Process = Kind;
    type Site = Waits;
    type Item = f64;
    type Observed = Waits;

    fn name(&self) -> &str {
        "token-ring"
    }

    fn sites(&self) -> usize {
        self.rings * self.stations
    }

    fn site(&self, _: LpId) -> Waits {
        Waits { waits: TrackedHistogram::new(0.0, 10.0, 10), ..Waits::default() }
    }

    fn observed(site: &mut Waits) -> &mut Waits {
        site
    }

    fn facilities(&self, _: LpId, to: &mut Facilities) {
        to.store(FRAMES);
    }

    fn start(&self, env: &mut Env<'_, Self, impl ContextOf<Self>>) {
        env.spawn(source());
        if env.here().index().is_multiple_of(self.stations) {
            env.spawn(token());
        }
    }

    fn lookahead(&self) -> Option<f64> {
        Some(self.way)
    }

    fn links(&self, from: LpId) -> Option<Vec<Link>> {
        Some(vec![Link { to: self.next(from), lookahead: self.way }])
    }
}

impl Rings {
    pub(crate) const EXAMPLE: Self =
        Self { rings: 8, stations: 8, interarrival: 16.0, frame: 1.0, way: 0.25 };

    fn next(&self, here: LpId) -> LpId {
        let (ring, station) = (here.index() / self.stations, here.index() % self.stations);
        LpId::from_index(ring * self.stations + (station + 1) % self.stations)
    }

    pub(crate) fn wait_by_theory(&self) -> f64 {
        let stations = self.stations as f64;
        let load = stations * self.frame / self.interarrival;
        let sent = stations / self.interarrival * self.frame * self.frame;
        (sent + self.way * (stations - load)) / (2.0 * (1.0 - load))
    }

    pub(crate) fn wait(output: &Observations<Waits>) -> f64 {
        output.observed.wait.mean()
    }
}

pub(crate) fn main() -> Result<(), RunError> {
    let rings = Rings::EXAMPLE;
    let theory = rings.wait_by_theory();
    let report = Simulation::new(Processes::new(rings)).seed(1).warm_up(200.0).end(2e4).run()?;
    support::print(&report.output);
    support::compare("\nHow long frames wait", Rings::wait(&report.output), theory);
    Ok(())
}
