//! Emergency departments: patients come to triage, wait for a doctor, and some of them go to X-ray
//! and back; some stay in a bed. Each place is a site, and patients travel between them, so that
//! the places of all hospitals run at the same time. The *event log* has each patient's way, for
//! tools that animate it (`vidigi`) or mine it (`pm4py`).
//!
//! The network is open and of Jackson's kind, so the mean time in each queue is that of an M/M/c
//! with the rate of all who come there.
//!
//! ```sh
//! cargo run --release -p warpline-processes --features gallery --example emergency [-- LOG.csv]
//! ```

use std::error::Error;

use serde::{Deserialize, Serialize};
use warpline::{LpId, Simulation, State, Statistics, Tally, TrackedHistogram};
use warpline_processes::{
    ContextOf, Env, EventLog, Facilities, Observations, Processes, World, facilities, process,
    processes,
};

mod support;

facilities! { NURSE: Resource, DOCTOR: Resource, SCANNER: Resource }

/// The places of a hospital, in the order of their sites.
const PLACES: usize = 3;
const TRIAGE: usize = 0;
const DOCTORS: usize = 1;
const XRAY: usize = 2;

/// The parameters; times are in minutes.
#[derive(Clone, Debug)]
pub(crate) struct Hospitals {
    pub(crate) hospitals: usize,
    pub(crate) interarrival: f64,
    /// Mean times with a nurse, a doctor and at the scanner, and how many there are of each.
    pub(crate) times: [f64; PLACES],
    pub(crate) servers: [u32; PLACES],
    /// The probability that a doctor sends somebody to X-ray.
    pub(crate) scanned: f64,
    /// From place to place.
    pub(crate) way: f64,
}

#[derive(Debug, Default, State, Statistics, Serialize, Deserialize)]
#[statistic(time = "minute")]
pub(crate) struct Seen {
    /// Time in the queue of triage, for a doctor, and for X-ray
    #[statistic(unit = "minutes")]
    wait: [Tally; PLACES],
    /// Time from coming to leaving
    #[statistic(unit = "minutes")]
    stay: Tally,
    /// Time from coming to leaving
    #[statistic(unit = "minutes")]
    stays: TrackedHistogram,
}

#[process]
fn arrivals(env: &mut Env<Hospitals>) {
    loop {
        hold!(env.rng().exponential(env.world.interarrival));
        env.spawn(patient());
    }
}

#[process]
fn patient(env: &mut Env<Hospitals>) {
    let came: f64 = env.now();
    call!(served());
    loop {
        travel!(env.world.place(env.here(), DOCTORS), env.world.way);
        call!(served());
        if !env.rng().chance(env.world.scanned) {
            break;
        }
        travel!(env.world.place(env.here(), XRAY), env.world.way);
        call!(served());
    }
    let stay = env.now() - came;
    env.site.stay.add(stay);
    env.site.stays.add(stay, env.cx);
}

/// What happens to a patient at any of the places.
#[process]
fn served(env: &mut Env<Hospitals>) -> f64 {
    let came: f64 = env.now();
    let place: usize = env.here().index() % PLACES;
    acquire!([NURSE, DOCTOR, SCANNER][place]);
    let wait = env.now() - came;
    env.site.wait[place].add(wait);
    hold!(env.rng().exponential(env.world.times[place]));
    env.release([NURSE, DOCTOR, SCANNER][place]);
    env.now() - came
}

processes! { pub(crate) enum Kind for Hospitals { Arrivals(arrivals), Patient(patient) } }

impl World for Hospitals {
    type Process = Kind;
    type Site = Seen;
    type Item = ();
    type Observed = Seen;
    const EVENT_LOG: bool = true;

    fn name(&self) -> &str {
        "emergency"
    }

    fn sites(&self) -> usize {
        self.hospitals * PLACES
    }

    fn site(&self, _: LpId) -> Seen {
        Seen { stays: TrackedHistogram::new(0.0, 240.0, 12), ..Seen::default() }
    }

    fn observed(site: &mut Seen) -> &mut Seen {
        site
    }

    fn facilities(&self, site: LpId, to: &mut Facilities) {
        let place = site.index() % PLACES;
        to.resource([NURSE, DOCTOR, SCANNER][place], self.servers[place]);
    }

    fn start(&self, env: &mut Env<'_, Self, impl ContextOf<Self>>) {
        if env.here().index() % PLACES == TRIAGE {
            env.spawn(arrivals());
        }
    }

    fn lookahead(&self) -> Option<f64> {
        Some(self.way)
    }
}

impl Hospitals {
    pub(crate) const EXAMPLE: Self = Self {
        hospitals: 8,
        interarrival: 6.0,
        times: [5.0, 15.0, 10.0],
        servers: [2, 5, 2],
        scanned: 0.3,
        way: 2.0,
    };

    /// One hospital, for an event log that one can read.
    pub(crate) const SMALL: Self = Self { hospitals: 1, ..Self::EXAMPLE };

    /// The site of a place of the hospital that this site is in.
    fn place(&self, here: LpId, place: usize) -> LpId {
        LpId::from_index(here.index() / PLACES * PLACES + place)
    }

    pub(crate) fn waits_by_theory(&self) -> [f64; PLACES] {
        // A patient sees a doctor once more for each X-ray.
        let visits = 1.0 / (1.0 - self.scanned);
        let rates = [1.0, visits, visits * self.scanned];
        std::array::from_fn(|place| {
            let interarrival = self.interarrival / rates[place];
            support::wait_in_mmc(self.servers[place], interarrival, self.times[place])
        })
    }

    pub(crate) fn waits(output: &Observations<Seen>) -> [f64; PLACES] {
        output.observed.wait.map(|wait| wait.mean())
    }
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    if let Some(path) = std::env::args().nth(1) {
        // A log of a long run is large: it is of one hospital, for some hours.
        let log = EventLog::file(path)?;
        Simulation::new(Processes::new(Hospitals::SMALL).event_log(&log))
            .seed(1)
            .end(240.0)
            .run()?;
        return Ok(log.finish()?);
    }
    let hospitals = Hospitals::EXAMPLE;
    let theory = hospitals.waits_by_theory();
    let report = Simulation::new(Processes::new(hospitals)).seed(1).end(1e5).run()?;
    support::print(&report.output);
    let found = Hospitals::waits(&report.output);
    for (place, name) in ["triage", "a doctor", "X-ray"].into_iter().enumerate() {
        support::compare(&format!("Wait for {name}"), found[place], theory[place]);
    }
    Ok(())
}
