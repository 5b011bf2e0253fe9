//! An inventory with the rule (s, S): when there are s or fewer pieces on hand and on order, as
//! many are ordered as make S. Who comes when the shelf is empty waits: a *container* serves them
//! in their order when pieces come.
//!
//! Demand is Poisson and the time of delivery constant, so theory knows the mean stock: on hand and
//! on order there is any number from s + 1 to S equally often, less the demand of one time of
//! delivery.
//!
//! ```sh
//! cargo run --release -p warpline-processes --features gallery --example inventory
//! ```

use serde::{Deserialize, Serialize};
use warpline::{LpId, RunError, Simulation, State, Statistics, Tally, TrackedHistogram};
use warpline_processes::{
    ContextOf, Env, Facilities, Observations, Processes, World, facilities, process, processes,
};

mod support;

facilities! { SHELF: Container }

/// The parameters; times are in days.
#[derive(Clone, Debug)]
pub(crate) struct Shops {
    pub(crate) shops: usize,
    pub(crate) reorder_at: u32,
    pub(crate) order_up_to: u32,
    pub(crate) interarrival: f64,
    pub(crate) delivery: f64,
}

#[derive(Debug, Default, State, Serialize, Deserialize)]
pub(crate) struct Shop {
    /// Pieces on hand and on order, less those that people wait for.
    position: i64,
    #[state(nested)]
    observed: Observed,
}

#[derive(Debug, Default, State, Statistics, Serialize, Deserialize)]
#[statistic(time = "day")]
pub(crate) struct Observed {
    /// How long customers wait for their piece
    #[statistic(unit = "days")]
    wait: warpline::Tracked<Tally>,
    /// Pieces on the shelf that a customer finds
    #[statistic(unit = "pieces")]
    found: TrackedHistogram,
}

#[process]
fn arrivals(env: &mut Env<Shops>) {
    loop {
        hold!(env.rng().exponential(env.world.interarrival));
        env.spawn(customer());
    }
}

#[process]
fn customer(env: &mut Env<Shops>) {
    let came: f64 = env.now();
    let found = env.amount(SHELF);
    env.site.observed.found.add(found, env.cx);
    env.site.position -= 1;
    if env.site.position <= i64::from(env.world.reorder_at) {
        let pieces = i64::from(env.world.order_up_to) - env.site.position;
        env.site.position += pieces;
        env.spawn(order(pieces as f64));
    }
    take!(SHELF, 1.0);
    let wait = env.now() - came;
    env.site.observed.wait.write(env.cx).add(wait);
}

#[process]
fn order(env: &mut Env<Shops>, pieces: f64) {
    hold!(env.world.delivery);
    fill!(SHELF, pieces);
}

processes! {
    pub(crate) enum Kind for Shops { Arrivals(arrivals), Customer(customer), Order(order) }
}

impl World for Shops {
    type Process = Kind;
    type Site = Shop;
    type Item = ();
    type Observed = Observed;

    fn name(&self) -> &str {
        "inventory"
    }

    fn sites(&self) -> usize {
        self.shops
    }

    fn site(&self, _: LpId) -> Shop {
        let found = TrackedHistogram::new(0.0, f64::from(self.order_up_to) + 1.0, 14);
        let observed = Observed { found, ..Observed::default() };
        Shop { position: i64::from(self.order_up_to), observed }
    }

    fn observed(shop: &mut Shop) -> &mut Observed {
        &mut shop.observed
    }

    fn facilities(&self, _: LpId, to: &mut Facilities) {
        to.container(SHELF, f64::from(self.order_up_to), f64::INFINITY);
    }

    fn start(&self, env: &mut Env<'_, Self, impl ContextOf<Self>>) {
        env.spawn(arrivals());
    }
}

impl Shops {
    pub(crate) const EXAMPLE: Self =
        Self { shops: 32, reorder_at: 4, order_up_to: 12, interarrival: 0.5, delivery: 3.0 };

    /// The mean stock on the shelf.
    pub(crate) fn stock_by_theory(&self) -> f64 {
        let demand = self.delivery / self.interarrival;
        // The probabilities of Poisson's distribution, up to a factor.
        let weights = std::iter::successors(Some((0, 1.0)), |&(wanted, weight)| {
            Some((wanted + 1, weight * demand / f64::from(wanted + 1)))
        });
        let weights: Vec<(u32, f64)> = weights.take(200).collect();
        let all: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let on_shelf = |position: u32| {
            let left = |wanted: u32| f64::from(position.saturating_sub(wanted));
            weights.iter().map(|&(wanted, weight)| weight / all * left(wanted)).sum::<f64>()
        };
        let positions = self.reorder_at + 1..=self.order_up_to;
        let count = f64::from(self.order_up_to - self.reorder_at);
        positions.map(on_shelf).sum::<f64>() / count
    }

    pub(crate) fn stock(output: &Observations<Observed>) -> f64 {
        support::figure(output, "shelf_amount_mean")
    }
}

pub(crate) fn main() -> Result<(), RunError> {
    let shops = Shops::EXAMPLE;
    let theory = shops.stock_by_theory();
    let report = Simulation::new(Processes::new(shops)).seed(1).warm_up(100.0).end(3e3).run()?;
    support::print(&report.output);
    support::compare("\nPieces on the shelf", Shops::stock(&report.output), theory);
    Ok(())
}
