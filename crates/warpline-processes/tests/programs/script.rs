//! A world whose processes do what a script says, twice: by the macro, and by hand.

use serde::{Deserialize, Serialize};
use warpline::{LpId, State, Statistics, Tally, Value};
use warpline_processes::{
    ContextOf, Env, Facilities, Handle, Resource, World, facilities, process, processes,
    rt::{CoroutineState, Pause, Resume, Source},
};

facilities! { FIRST: Resource, SECOND: Resource, ITEMS: Store, TANK: Container, NEWS: Condition }

/// What a process does next. Times are in halves.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Hold { time: u8 },
    Use { resource: u8, patience: u8, priority: i8, preempts: bool },
    Get { patience: u8 },
    Put { patience: u8 },
    Take { amount: u8, patience: u8 },
    Fill { amount: u8, patience: u8 },
    Wait { patience: u8 },
    Signal,
    Sleep { patience: u8 },
    Wake { interrupts: bool },
    Spawn { script: u8 },
    Travel { to: u8, time: u8 },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Machine {
    ByMacro,
    ByHand,
}

#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) machine: Machine,
    /// Each is repeated a few times.
    pub(crate) scripts: Vec<Vec<Op>>,
}

const SITES: usize = 3;
const ROUNDS: u32 = 6;

#[derive(Debug, Default, State, Serialize, Deserialize)]
pub(crate) struct Site {
    /// Who came last.
    last: Option<Handle>,
    spawned: u32,
    pub(crate) observed: Observed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Value, Statistics, Serialize, Deserialize)]
pub(crate) struct Observed {
    /// When waits ended that came to what they were for
    done: Tally,
    /// When others ended
    failed: Tally,
    /// What was got
    got: Tally,
}

fn half(time: u8) -> f64 {
    f64::from(time) / 2.0
}

impl Script {
    /// What the process of a script does at a step; nothing if it has ended.
    fn op(&self, script: u8, step: u32) -> Option<Op> {
        let ops = &self.scripts[usize::from(script)];
        (step < ROUNDS * ops.len() as u32).then(|| ops[step as usize % ops.len()])
    }
}

fn resource(number: u8) -> Resource {
    [FIRST, SECOND][usize::from(number)]
}

/// Notes how a wait ended.
fn note(env: &mut Env<'_, Script, impl ContextOf<Script>>, ended: bool) {
    let now = env.now();
    let of = &mut env.site.observed;
    if ended { of.done.add(now) } else { of.failed.add(now) }
}

/// What does not wait.
fn at_once(env: &mut Env<'_, Script, impl ContextOf<Script>>, op: Op) {
    match op {
        Op::Signal => env.signal(NEWS),
        Op::Wake { interrupts } => {
            if let Some(last) = env.site.last.filter(|last| *last != env.me()) {
                if interrupts {
                    env.interrupt(last, 1);
                } else {
                    env.activate(last);
                }
            }
        }
        Op::Spawn { script } if env.site.spawned < 20 => {
            env.site.spawned += 1;
            let new = env.world.new_process(script);
            let to = LpId::from_index((env.here().index() + 1) % SITES);
            if env.rng().chance(0.5) {
                env.site.last = Some(env.spawn(new));
            } else {
                env.spawn_at(to, 0.5, new);
            }
        }
        _ => {}
    }
}

/// By the macro.
#[process]
fn runner(env: &mut Env<Script>, script: u8) {
    let mut step: u32 = 0;
    while let Some(op) = env.world.op(script, step) {
        step += 1;
        match op {
            Op::Hold { time } => {
                let ended = hold!(half(time));
                note(env, ended);
            }
            Op::Use { resource: which, patience, priority, preempts } => {
                let what = resource(which);
                let preempts = preempts && which == 0;
                let ended = acquire!(
                    what,
                    timeout = half(patience),
                    priority = i32::from(priority),
                    preempt = preempts
                );
                note(env, ended);
                if ended {
                    let ended = hold!(1.0);
                    note(env, ended);
                    // It may have been taken away.
                    if !matches!(env.woken(), warpline_processes::Woken::Preempted(_)) {
                        env.release(resource(match env.world.op(script, step - 1) {
                            Some(Op::Use { resource, .. }) => resource,
                            _ => 0,
                        }));
                    }
                }
            }
            Op::Get { patience } => {
                let got = get!(ITEMS, timeout = half(patience));
                if let Some(item) = got {
                    env.site.observed.got.add(item);
                }
            }
            Op::Put { patience } => {
                let ended = put!(ITEMS, env.now(), timeout = half(patience));
                note(env, ended);
            }
            Op::Take { amount, patience } => {
                let ended = take!(TANK, f64::from(amount), timeout = half(patience));
                note(env, ended);
            }
            Op::Fill { amount, patience } => {
                let ended = fill!(TANK, f64::from(amount), timeout = half(patience));
                note(env, ended);
            }
            Op::Wait { patience } => {
                let ended = wait!(NEWS, timeout = half(patience));
                note(env, ended);
            }
            Op::Sleep { patience } => {
                env.site.last = Some(env.me());
                let ended = passivate!(timeout = half(patience));
                note(env, ended);
            }
            Op::Travel { to, time } => {
                travel!(LpId::from_index(usize::from(to)), half(time));
            }
            now => at_once(env, now),
        }
    }
}

/// By hand: where the process is, and what it does when it goes on.
#[derive(Clone, Debug, PartialEq, Value, Serialize, Deserialize)]
pub(crate) struct ByHand {
    script: u8,
    /// Of the operation that it does next.
    step: u32,
    at: At,
}

#[derive(Clone, Copy, Debug, PartialEq, Value, Serialize, Deserialize)]
enum At {
    Next,
    /// It waits, and notes how that ends.
    Waits,
    Got,
    /// It waits for a resource, and then has it.
    Acquires(u8),
    Uses(u8),
}

impl Source for ByHand {
    const SOURCE: u64 = 0;
}

impl Resume<Script> for ByHand {
    fn resume<C: ContextOf<Script>>(
        &mut self,
        env: &mut Env<'_, Script, C>,
    ) -> CoroutineState<Pause, ()> {
        let wait = CoroutineState::Yielded(Pause::Wait);
        loop {
            match std::mem::replace(&mut self.at, At::Next) {
                At::Next => {}
                At::Waits => note(env, env.__succeeded()),
                At::Got => {
                    if let Some(item) = env.__got() {
                        env.site.observed.got.add(item);
                    }
                }
                At::Acquires(which) => {
                    let ended = env.__succeeded();
                    note(env, ended);
                    if ended {
                        env.__hold(1.0, true);
                        self.at = At::Uses(which);
                        return wait;
                    }
                }
                At::Uses(which) => {
                    note(env, env.__succeeded());
                    if !matches!(env.woken(), warpline_processes::Woken::Preempted(_)) {
                        env.release(resource(which));
                    }
                }
            }
            let Some(op) = env.world.op(self.script, self.step) else {
                return CoroutineState::Complete(());
            };
            self.step += 1;
            if let Op::Travel { to, time } = op {
                let to = LpId::from_index(usize::from(to));
                return CoroutineState::Yielded(Pause::Travel(to, half(time)));
            }
            if self.begin(op, env) {
                return wait;
            }
        }
    }
}

impl ByHand {
    /// Begins an operation; true if the process has to wait.
    fn begin<C: ContextOf<Script>>(&mut self, op: Op, env: &mut Env<'_, Script, C>) -> bool {
        self.at = At::Waits;
        match op {
            Op::Hold { time } => {
                env.__hold(half(time), true);
                true
            }
            Op::Use { resource: which, patience, priority, preempts } => {
                self.at = At::Acquires(which);
                let (priority, preempts) = (i32::from(priority), preempts && which == 0);
                env.__acquire(resource(which), half(patience), priority, preempts, true)
            }
            Op::Get { patience } => {
                self.at = At::Got;
                env.__get(ITEMS, half(patience), 0, true)
            }
            Op::Put { patience } => env.__put(ITEMS, env.now(), half(patience), 0, true),
            Op::Take { amount, patience } => {
                env.__take(TANK, f64::from(amount), half(patience), 0, true)
            }
            Op::Fill { amount, patience } => {
                env.__fill(TANK, f64::from(amount), half(patience), 0, true)
            }
            Op::Wait { patience } => {
                env.__wait(NEWS, half(patience), 0, true);
                true
            }
            Op::Sleep { patience } => {
                env.site.last = Some(env.me());
                env.__passivate(half(patience), true);
                true
            }
            now => {
                self.at = At::Next;
                at_once(env, now);
                false
            }
        }
    }
}

/// As a module that the macro writes, for the list of processes.
mod by_hand {
    pub(crate) type State = super::ByHand;
}

processes! { pub(crate) enum Kind for Script { Runner(runner), ByHand(by_hand) } }

impl Script {
    fn new_process(&self, script: u8) -> Kind {
        match self.machine {
            Machine::ByMacro => runner(script).into(),
            Machine::ByHand => ByHand { script, step: 0, at: At::Next }.into(),
        }
    }
}

impl World for Script {
    type Process = Kind;
    type Site = Site;
    type Item = f64;
    type Observed = Observed;

    fn name(&self) -> &str {
        "script"
    }

    fn sites(&self) -> usize {
        SITES
    }

    fn site(&self, _: LpId) -> Site {
        Site::default()
    }

    fn observed(site: &mut Site) -> &mut Observed {
        &mut site.observed
    }

    fn facilities(&self, site: LpId, to: &mut Facilities) {
        to.preemptive(FIRST, 1 + site.get() % 2)
            .resource(SECOND, 1)
            .bounded_store(ITEMS, 2)
            .container(TANK, 2.0, 4.0)
            .condition(NEWS);
    }

    fn start(&self, env: &mut Env<'_, Self, impl ContextOf<Self>>) {
        for script in 0..self.scripts.len() {
            env.spawn(self.new_process(script as u8));
        }
    }
}
