//! Who gets what, and when: cases that random programs cannot judge, because all engines would
//! agree on a wrong answer.
//!
//! Mutations that turn these tests red: those who go on come in the other order; a unit that is not
//! handed over; `is_next` that asks for an empty queue; no `preempt_next`
//! behind a release or behind a process that gave up; a difference of facilities that is not looked
//! at.

use serde::{Deserialize, Serialize};
use warpline::{LpId, Only, Sequential, Simulation, State, Statistics, Tally};
use warpline_processes::{
    ContextOf, Env, Facilities, Processes, World, facilities, process, processes,
};

facilities! { TANK: Container, MACHINE: Resource }

/// What each of a few processes does, by its number.
#[derive(Clone, Copy, Debug)]
enum Does {
    /// Takes or fills so much.
    Takes {
        amount: f64,
        priority: i32,
    },
    Fills {
        amount: f64,
        priority: i32,
    },
    /// Takes so much, and then uses a machine for a unit of time.
    TakesAndUses {
        amount: f64,
    },
    /// Uses a machine for so long, if it gets one in time.
    Uses {
        time: f64,
        priority: i32,
        preempts: bool,
        patience: f64,
    },
}
use Does::{Fills, Takes, TakesAndUses, Uses};

#[derive(Debug)]
struct Case {
    /// When each process begins, and what it does.
    processes: Vec<(f64, Does)>,
    machines: u32,
}

/// When each process got what it wanted.
#[derive(Debug, Default, State, Statistics, Serialize, Deserialize)]
struct Got {
    at: [Tally; 6],
}

#[process]
fn worker(env: &mut Env<Case>, number: usize) {
    hold!(env.world.processes[number].0);
    match env.world.processes[number].1 {
        Takes { amount, priority } => {
            take!(TANK, amount, priority = priority);
        }
        Fills { amount, priority } => {
            fill!(TANK, amount, priority = priority);
        }
        TakesAndUses { amount } => {
            take!(TANK, amount);
            acquire!(MACHINE);
            let now = env.now();
            env.site.at[number].add(now);
            hold!(1.0);
            env.release(MACHINE);
            return;
        }
        Uses { time: length, priority, preempts, patience } => {
            let time: f64 = length;
            if !acquire!(MACHINE, priority = priority, preempt = preempts, timeout = patience) {
                return;
            }
            let now = env.now();
            env.site.at[number].add(now);
            if hold!(time) {
                env.release(MACHINE);
            }
            return;
        }
    }
    let now = env.now();
    env.site.at[number].add(now);
}

processes! { enum Kind for Case { Worker(worker) } }

impl World for Case {
    type Process = Kind;
    type Site = Got;
    type Item = ();
    type Observed = Got;

    fn name(&self) -> &str {
        "case"
    }

    fn sites(&self) -> usize {
        1
    }

    fn site(&self, _: LpId) -> Got {
        Got::default()
    }

    fn observed(site: &mut Got) -> &mut Got {
        site
    }

    fn facilities(&self, _: LpId, to: &mut Facilities) {
        to.container(TANK, 5.0, 6.0).preemptive(MACHINE, self.machines);
    }

    fn start(&self, env: &mut Env<'_, Self, impl ContextOf<Self>>) {
        for number in 0..self.processes.len() {
            env.spawn(worker(number));
        }
    }

    fn adapt(&self, _: &Self, _: LpId, _: &mut Got) -> Result<(), String> {
        Ok(())
    }
}

/// When each process got what it wanted; nothing if it did not.
fn run(machines: u32, processes: &[(f64, Does)]) -> Vec<Option<f64>> {
    let case = Case { processes: processes.to_vec(), machines };
    let model = Only::<Sequential, _>::new(Processes::new(case));
    let report = Simulation::new(model).end(100.0).run().expect("sound");
    let at = &report.output.observed.at[..processes.len()];
    at.iter().map(|tally| (tally.count() > 0).then(|| tally.mean())).collect()
}

/// Who is first in a queue by its priority gets what is there, whoever waits behind.
#[test]
fn priority_passes_those_who_want_too_much() {
    let takes = |amount, priority| Takes { amount, priority };
    let got = run(1, &[(1.0, takes(5.5, 0)), (2.0, takes(3.0, 1))]);
    assert_eq!(got, [None, Some(2.0)]);
    let got = run(1, &[(1.0, takes(5.5, 0)), (2.0, takes(3.0, 0))]);
    assert_eq!(got, [None, None], "nobody of the same priority is passed");
    let fills = |amount, priority| Fills { amount, priority };
    let got = run(1, &[(1.0, fills(4.0, 0)), (2.0, fills(1.0, 1))]);
    assert_eq!(got, [None, Some(2.0)]);
    // What the first one leaves room for goes in behind it.
    let got = run(1, &[(1.0, fills(2.0, 0)), (2.0, fills(1.0, 0)), (3.0, takes(4.0, 0))]);
    assert_eq!(got, [Some(3.0), Some(3.0), Some(3.0)]);
}

/// Those who get something in one event go on in the order in which they got it.
#[test]
fn first_come_first() {
    let takes = |amount| TakesAndUses { amount };
    let processes = [
        (0.5, Takes { amount: 5.0, priority: 0 }),
        (1.0, takes(2.0)),
        (2.0, takes(2.0)),
        (3.0, takes(2.0)),
        (4.0, Fills { amount: 6.0, priority: 0 }),
    ];
    let got = run(1, &processes);
    assert_eq!(got, [Some(0.5), Some(4.0), Some(5.0), Some(6.0), Some(4.0)]);
}

/// Who may take a unit takes it as soon as nobody is before it.
#[test]
fn preemption_is_tried_again() {
    let uses = |time, priority, preempts| Uses { time, priority, preempts, patience: 50.0 };
    // Two hold; one waits that does not preempt, and one behind it that does.
    let processes = [
        (0.0, uses(10.0, 0, false)),
        (0.0, uses(30.0, 0, false)),
        (1.0, uses(5.0, 5, false)),
        (2.0, uses(5.0, 5, true)),
    ];
    assert_eq!(run(2, &processes), [Some(0.0), Some(0.0), Some(10.0), Some(10.0)]);
    // The one before it gives up.
    let gives_up = Uses { time: 5.0, priority: 5, preempts: false, patience: 2.0 };
    let processes = [(0.0, uses(30.0, 0, false)), (1.0, gives_up), (2.0, uses(5.0, 5, true))];
    assert_eq!(run(1, &processes), [Some(0.0), None, Some(3.0)]);
    // Nothing is taken from somebody whose priority is as high.
    let processes = [(0.0, uses(30.0, 5, false)), (1.0, uses(5.0, 5, true))];
    assert_eq!(run(1, &processes), [Some(0.0), Some(30.0)]);
}

/// A branch keeps the facilities that there were, so it cannot be one with others.
#[test]
fn a_branch_has_the_same_facilities() {
    let model = |machines| Processes::new(Case { processes: vec![], machines });
    let mut session = Simulation::new(Only::<Sequential, _>::new(model(2)));
    session = session.end(10.0);
    let mut session = session.session().expect("sound");
    session.run_until(5.0).expect("sound");
    let same = session.branch_as(model(2));
    assert!(same.is_ok());
    let other = session.branch_as(model(3));
    let error = other.expect_err("another number of machines").to_string();
    assert!(error.contains("`machine`") && error.contains("set_units"), "{error}");
}

/// A process that begins from outside waits its turn like any other.
#[test]
fn a_process_begins_from_outside() {
    let uses = Uses { time: 4.0, priority: 0, preempts: false, patience: 50.0 };
    let case = Case { processes: vec![(1.0, uses)], machines: 1 };
    let mut simulation = Simulation::new(Only::<Sequential, _>::new(Processes::new(case)));
    simulation = simulation.end(20.0);
    let mut session = simulation.session().expect("sound");
    session.run_until(2.0).expect("sound");
    let arrival = || Processes::<Case>::arrival(worker(0));
    session.inject(LpId::new(0), 2.5, arrival()).expect("in time");
    session.inject(LpId::new(0), 1.5, arrival()).expect_err("too late");
    session.run_to_end().expect("sound");
    let got = session.report().expect("sound").output.observed.at[0];
    // One gets the machine at 1, and the other one when that releases it.
    assert_eq!((got.count(), got.max()), (2, 5.0));
}
