//! A bank with impatient customers: an M/M/c queue with reneging, in each of many branches.
//!
//! Customers come at random and want one of the tellers. Whoever has waited too long leaves. The
//! branches do not know of each other, so an engine can run them at the same time; and because
//! theory knows the mean queue of one (Erlang A), the result is checked.
//!
//! ```sh
//! cargo run --release -p warpline-processes --example tellers
//! ```

use serde::{Deserialize, Serialize};
use warpline::{Counter, LpId, RunError, Simulation, State, Statistics, Tally, TrackedHistogram};
use warpline_processes::{
    ContextOf, Env, Facilities, Observations, Processes, World, facilities, process, processes,
};

mod support;

facilities! {
    /// Those who serve.
    TELLER: Resource,
}

/// The parameters, which no process changes. Times are in minutes.
#[derive(Clone, Debug)]
pub(crate) struct Bank {
    pub(crate) branches: usize,
    pub(crate) tellers: u32,
    pub(crate) interarrival: f64,
    pub(crate) service: f64,
    pub(crate) patience: f64,
}

/// What a branch observes: each field is named, explained and counted once, here.
#[derive(Debug, Default, State, Statistics, Serialize, Deserialize)]
#[statistic(time = "minute")]
pub(crate) struct Branch {
    /// Customers who came
    #[statistic(unit = "customers")]
    came: Counter,
    /// Customers who left because they had waited too long
    #[statistic(unit = "customers")]
    reneged: Counter,
    /// Time in the queue of those who were served
    #[statistic(unit = "minutes")]
    wait: Tally,
    /// Time in the queue of those who were served
    #[statistic(unit = "minutes")]
    waits: TrackedHistogram,
}

#[process]
fn arrivals(env: &mut Env<Bank>) {
    loop {
        hold!(env.rng().exponential(env.world.interarrival));
        env.spawn(customer());
    }
}

#[process]
fn customer(env: &mut Env<Bank>) {
    // What is still used after a wait has a type.
    let arrived: f64 = env.now();
    env.site.came.increment();
    if acquire!(TELLER, timeout = env.rng().exponential(env.world.patience)) {
        let wait = env.now() - arrived;
        env.site.wait.add(wait);
        env.site.waits.add(wait, env.cx);
        hold!(env.rng().exponential(env.world.service));
        env.release(TELLER);
    } else {
        env.site.reneged.increment();
    }
}

processes! {
    pub(crate) enum Kind for Bank { Arrivals(arrivals), Customer(customer) }
}

impl World for Bank {
    type Process = Kind;
    type Site = Branch;
    type Item = ();
    type Observed = Branch;

    fn name(&self) -> &str {
        "bank"
    }

    fn sites(&self) -> usize {
        self.branches
    }

    fn site(&self, _: LpId) -> Branch {
        Branch { waits: TrackedHistogram::new(0.0, 2.0, 10), ..Branch::default() }
    }

    fn observed(site: &mut Branch) -> &mut Branch {
        site
    }

    fn facilities(&self, _: LpId, to: &mut Facilities) {
        to.resource(TELLER, self.tellers);
    }

    fn start(&self, env: &mut Env<'_, Self, impl ContextOf<Self>>) {
        env.spawn(arrivals());
    }
}

impl Bank {
    pub(crate) const EXAMPLE: Self =
        Self { branches: 16, tellers: 5, interarrival: 0.2, service: 1.0, patience: 2.0 };

    /// The mean number of those who wait: Erlang A, by the states of its Markov chain.
    pub(crate) fn queue_by_theory(&self) -> f64 {
        let (come, serve, leave) =
            (1.0 / self.interarrival, 1.0 / self.service, 1.0 / self.patience);
        let (mut weight, mut all, mut queue) = (1.0, 1.0, 0.0);
        for there in 1..500 {
            let waiting = f64::from((there as u32).saturating_sub(self.tellers));
            let busy = f64::from(there) - waiting;
            weight *= come / (busy * serve + waiting * leave);
            all += weight;
            queue += weight * waiting;
        }
        queue / all
    }

    /// What the run has beside what theory says.
    pub(crate) fn queue(output: &Observations<Branch>) -> f64 {
        support::figure(output, "teller_waiting_mean")
    }
}

pub(crate) fn main() -> Result<(), RunError> {
    let bank = Bank::EXAMPLE;
    let theory = bank.queue_by_theory();
    let report = Simulation::new(Processes::new(bank)).seed(1).warm_up(60.0).end(2_000.0).run()?;
    support::print(&report.output);
    support::compare("\nCustomers who wait", Bank::queue(&report.output), theory);
    Ok(())
}
