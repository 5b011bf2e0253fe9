//! A machine shop: machines make parts and break down; repairers mend them, and go back to other
//! work when none is broken. After SimPy's example of that name.
//!
//! A failure *interrupts* the machine that works, which goes on with what was left of the part when
//! it is mended; and it *preempts* a repairer from other jobs, which wait. In the long run a
//! machine that is mended at once works for the share `up / (up + down)` of the time.
//!
//! ```sh
//! cargo run --release -p warpline-processes --features gallery --example machine_shop
//! ```

use serde::{Deserialize, Serialize};
use warpline::{Counter, LpId, RunError, Simulation, State, Statistics, TrackedSeries};
use warpline_processes::{
    ContextOf, Env, Facilities, Handle, Observations, Processes, World, facilities, process,
    processes,
};

mod support;

facilities! { REPAIRER: Resource }

/// The parameters; times are in minutes.
#[derive(Clone, Debug)]
pub(crate) struct Shop {
    pub(crate) shops: usize,
    pub(crate) machines: u32,
    pub(crate) repairers: u32,
    /// Mean time for a part, until a machine breaks down, to mend it, and for another job.
    pub(crate) part: f64,
    pub(crate) up: f64,
    pub(crate) down: f64,
    pub(crate) job: f64,
}

#[derive(Debug, Default, State, Statistics, Serialize, Deserialize)]
#[statistic(time = "minute")]
pub(crate) struct Made {
    /// Parts that were made
    #[statistic(unit = "parts")]
    parts: Counter,
    /// Other jobs that were done
    #[statistic(unit = "jobs")]
    jobs: Counter,
    /// Parts that were made, by the day
    #[statistic(unit = "parts")]
    days: TrackedSeries,
}

/// Makes parts for ever. When it breaks down, it is interrupted.
#[process]
fn machine(env: &mut Env<Shop>) {
    let me = env.me();
    env.spawn(failures(me));
    loop {
        let mut left: f64 = env.rng().exponential(env.world.part);
        loop {
            let begun: f64 = env.now();
            if hold!(left) {
                break;
            }
            // Broken: the repair first, then the rest of the part.
            left -= env.now() - begun;
            acquire!(REPAIRER, priority = 1, preempt = true);
            hold!(env.rng().exponential(env.world.down));
            env.release(REPAIRER);
            env.spawn(failures(env.me()));
        }
        env.site.parts.increment();
        env.site.days.add(1.0, env.cx);
    }
}

/// Breaks a machine down, once.
#[process]
fn failures(env: &mut Env<Shop>, machine: Handle) {
    hold!(env.rng().exponential(env.world.up));
    env.interrupt(machine, 0);
}

/// What a repairer does when no machine is broken.
#[process]
fn other_jobs(env: &mut Env<Shop>) {
    loop {
        let mut left: f64 = env.world.job;
        while left > 0.0 {
            acquire!(REPAIRER);
            let begun: f64 = env.now();
            if hold!(left) {
                env.release(REPAIRER);
                break;
            }
            // A machine has taken the repairer away.
            left -= env.now() - begun;
        }
        env.site.jobs.increment();
    }
}

processes! {
    pub(crate) enum Kind for Shop {
        Machine(machine), Failures(failures), OtherJobs(other_jobs),
    }
}

impl World for Shop {
    type Process = Kind;
    type Site = Made;
    type Item = ();
    type Observed = Made;

    fn name(&self) -> &str {
        "machine-shop"
    }

    fn sites(&self) -> usize {
        self.shops
    }

    fn site(&self, _: LpId) -> Made {
        Made { days: TrackedSeries::new(24.0 * 60.0), ..Made::default() }
    }

    fn observed(site: &mut Made) -> &mut Made {
        site
    }

    fn facilities(&self, _: LpId, to: &mut Facilities) {
        to.preemptive(REPAIRER, self.repairers);
    }

    fn start(&self, env: &mut Env<'_, Self, impl ContextOf<Self>>) {
        for _ in 0..self.machines {
            env.spawn(machine());
        }
        env.spawn(other_jobs());
    }
}

impl Shop {
    /// As many repairers as machines, so that no machine waits.
    pub(crate) const EXAMPLE: Self =
        Self { shops: 16, machines: 4, repairers: 4, part: 10.0, up: 300.0, down: 30.0, job: 30.0 };

    pub(crate) fn parts_by_theory(&self) -> f64 {
        let machines = self.shops as f64 * f64::from(self.machines);
        machines * self.up / (self.up + self.down) / self.part
    }

    pub(crate) fn parts(output: &Observations<Made>) -> f64 {
        output.observed.parts.rate()
    }
}

pub(crate) fn main() -> Result<(), RunError> {
    let shop = Shop::EXAMPLE;
    let (theory, week) = (shop.parts_by_theory(), 7.0 * 24.0 * 60.0);
    let report = Simulation::new(Processes::new(shop)).seed(1).end(4.0 * week).run()?;
    support::print(&report.output);
    support::compare("\nParts per minute", Shop::parts(&report.output), theory);
    Ok(())
}
