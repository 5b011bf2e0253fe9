//! A workshop in which processes do all that they can: queues with priorities, timeouts and
//! preemption, stores with and without limits, containers, conditions, handles, processes within
//! processes, and travel.

use serde::{Deserialize, Serialize};
use warpline::{Counter, Link, LpId, State, Statistics, Tally, Tracked, Value};
use warpline_processes::{
    ContextOf, Env, Facilities, Handle, Woken, World, facilities, process, processes,
};

pub(crate) const SHOPS: usize = 6;

facilities! {
    /// What breaks down.
    pub(crate) MACHINE: Resource,
    CRANE: Resource,
    /// Room for three.
    PARTS: Store,
    ORDERS: Store,
    FUEL: Container,
    NEWS: Condition,
}

#[derive(Clone, Debug)]
pub(crate) struct Workshop;

/// What stores contain: parts, and orders that own memory.
#[derive(Clone, Debug, PartialEq, Value, Serialize, Deserialize)]
pub(crate) enum Item {
    Part { number: u64 },
    Order { lines: Vec<u32> },
}

#[derive(Debug, Default, State, Statistics, Serialize, Deserialize)]
pub(crate) struct Observed {
    /// Time at a machine, with what interrupts it
    work: Tracked<Tally>,
    /// Parts that were too late
    late: Tracked<Counter>,
    broken: Tracked<Counter>,
    preempted: Tracked<Counter>,
    interrupted: Tracked<Counter>,
    ordered: Tracked<Counter>,
    starved: Tracked<Counter>,
    woken: Tracked<Tally>,
}

#[derive(Debug, State, Serialize, Deserialize)]
pub(crate) struct Floor {
    /// Plain data, beside what is tracked.
    sleeper: Option<Handle>,
    worker: Option<Handle>,
    runs: u64,
    #[state(nested)]
    pub(crate) observed: Observed,
}

/// Works on a part, however often a machine breaks down, and returns how long that took.
#[process]
fn work(env: &mut Env<Workshop>, urgent: bool, time: f64) -> f64 {
    let begun: f64 = env.now();
    let mut left: f64 = time;
    let priority: i32 = i32::from(urgent);
    loop {
        if !acquire!(MACHINE, priority = priority) {
            env.site.observed.interrupted.write(env.cx).increment();
            continue;
        }
        let since: f64 = env.now();
        if hold!(left) {
            env.release(MACHINE);
            return env.now() - begun;
        }
        left -= env.now() - since;
        match env.woken() {
            Woken::Preempted(what) => {
                assert_eq!(what, MACHINE);
                env.site.observed.preempted.write(env.cx).increment();
            }
            // The unit is still its own.
            _ => {
                env.site.observed.interrupted.write(env.cx).increment();
                env.release(MACHINE);
            }
        }
    }
}

#[process]
fn supplier(env: &mut Env<Workshop>) {
    for number in 0u64..1_000_000 {
        hold!(env.rng().exponential(0.9));
        if !put!(PARTS, Item::Part { number }, timeout = 2.0) {
            env.site.observed.late.write(env.cx).increment();
        }
    }
}

#[process]
fn worker(env: &mut Env<Workshop>, urgent: bool) {
    let mut done: u32 = 0;
    loop {
        env.site.worker = Some(env.me());
        let Some(part) = get!(PARTS, timeout = 5.0, priority = i32::from(urgent)) else {
            env.site.observed.starved.write(env.cx).increment();
            continue;
        };
        let amount: f64 = match part {
            Item::Part { number } => 0.5 + (number % 3) as f64,
            Item::Order { .. } => 0.0,
        };
        while !take!(FUEL, amount, timeout = 3.0) {
            env.signal(NEWS);
        }
        let took = call!(work(urgent, env.rng().exponential(0.8)));
        env.site.observed.work.write(env.cx).add(took);
        env.site.runs += 1;
        done += 1;
        if done % 3 == 0 {
            let lines: Vec<u32> = (0..done % 4).collect();
            env.put(ORDERS, Item::Order { lines });
        }
        if done % 5 == 0 {
            travel!(env.rng().lp(SHOPS), 0.25);
        } else if let Some(sleeper) = env.site.sleeper {
            if env.rng().chance(0.5) {
                env.activate(sleeper);
            } else {
                env.interrupt(sleeper, u64::from(done));
            }
        }
    }
}

/// Breaks machines down.
#[process]
fn failure(env: &mut Env<Workshop>) {
    loop {
        hold!(env.rng().exponential(7.0));
        if acquire!(MACHINE, priority = 9, preempt = true, timeout = 1.0) {
            env.site.observed.broken.write(env.cx).increment();
            hold!(env.rng().exponential(0.5));
            env.release(MACHINE);
        }
    }
}

/// Brings fuel, in amounts for which there may be no room.
#[process]
fn tanker(env: &mut Env<Workshop>) {
    loop {
        acquire!(CRANE);
        let amount = 1.0 + 3.0 * env.rng().uniform();
        fill!(FUEL, amount);
        env.release(CRANE);
        wait!(NEWS, timeout = 1.5);
    }
}

/// Waits until somebody wakes it, and sends scouts.
#[process]
fn sleeper(env: &mut Env<Workshop>) {
    env.site.sleeper = Some(env.me());
    loop {
        let since: f64 = env.now();
        let ended = passivate!(timeout = 4.0);
        let asleep = env.now() - since;
        env.site.observed.woken.write(env.cx).add(asleep);
        if let Some(worker) = env.site.worker {
            env.interrupt(worker, 7);
        }
        if !ended && env.woken() == Woken::TimedOut {
            env.spawn_at(env.rng().lp(SHOPS), 0.3, scout(env.here(), 3));
        }
    }
}

/// Reads orders, and goes home by steps.
#[process]
fn scout(env: &mut Env<Workshop>, home: LpId, orders: u32) {
    for _ in 0..orders {
        if let Some(Item::Order { lines }) = get!(ORDERS, timeout = 1.0) {
            env.site.observed.ordered.write(env.cx).add(lines.len() as u64);
        }
        // A crane, if it is free.
        if acquire!(CRANE, timeout = 0.0) {
            hold!(0.1);
            env.release(CRANE);
        }
    }
    travel!(home, 0.25);
    env.signal_one(NEWS);
}

processes! {
    pub(crate) enum Kind for Workshop {
        Supplier(supplier), Worker(worker), Failure(failure), Tanker(tanker), Sleeper(sleeper),
        Scout(scout),
    }
}

impl World for Workshop {
    type Process = Kind;
    type Site = Floor;
    type Item = Item;
    type Observed = Observed;
    const EVENT_LOG: bool = true;

    fn name(&self) -> &str {
        "workshop"
    }

    fn sites(&self) -> usize {
        SHOPS
    }

    fn site(&self, _: LpId) -> Floor {
        Floor { sleeper: None, worker: None, runs: 0, observed: Observed::default() }
    }

    fn observed(site: &mut Floor) -> &mut Observed {
        &mut site.observed
    }

    fn facilities(&self, site: LpId, to: &mut Facilities) {
        to.preemptive(MACHINE, 1 + site.get() % 2)
            .resource(CRANE, 1)
            .bounded_store(PARTS, 3)
            .store(ORDERS)
            .container(FUEL, 2.0, 6.0)
            .condition(NEWS);
    }

    fn start(&self, env: &mut Env<'_, Self, impl ContextOf<Self>>) {
        env.spawn(supplier());
        for urgent in [true, false, false, true] {
            env.spawn(worker(urgent));
        }
        env.spawn(failure());
        env.spawn(tanker());
        env.spawn(sleeper());
    }

    fn lookahead(&self) -> Option<f64> {
        Some(0.25)
    }

    fn links(&self, from: LpId) -> Option<Vec<Link>> {
        let others = (0..SHOPS).map(LpId::from_index).filter(|to| *to != from);
        Some(others.map(|to| Link { to, lookahead: 0.25 }).collect())
    }
}
