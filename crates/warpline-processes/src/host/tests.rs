//! Queues against a plain list, and undone: PROC-C and PROC-D.
//!
//! Mutations that turn these tests red: a class that is not forgotten when its last process leaves;
//! the first one before another class; `set_prev` that saves nothing; a queue that is not saved.

use std::fmt;

use proptest::prelude::*;
use warpline::{Context, EventKey, Io, LpId, State, Stream, VirtualTime, state::UndoLog};

use super::Host;
use crate::{
    ContextOf, Empty, Env, World,
    message::Message,
    process, processes,
    queue::{Kind, Queue},
    slot::NONE,
    world::{Carried, Core},
};

#[derive(Debug)]
struct Street;

#[process]
fn walker(env: &mut Env<Street>) {
    hold!(1.0);
}

processes! { enum Kinds for Street { Walker(walker) } }

impl World for Street {
    type Process = Kinds;
    type Site = Empty;
    type Item = u64;
    type Observed = Empty;

    fn name(&self) -> &str {
        "street"
    }

    fn sites(&self) -> usize {
        1
    }

    fn site(&self, _: LpId) -> Empty {
        Empty
    }

    fn observed(site: &mut Empty) -> &mut Empty {
        site
    }

    fn start(&self, env: &mut Env<'_, Self, impl ContextOf<Self>>) {
        env.spawn(walker());
    }
}

/// A context that has an undo log, and forgets what is sent.
struct Undoing {
    log: UndoLog,
    rng: Stream,
}

impl Context<Message<Carried<Street>>> for Undoing {
    fn now(&self) -> VirtualTime {
        VirtualTime::ZERO
    }

    fn me(&self) -> LpId {
        LpId::from_index(0)
    }

    fn event_key(&self) -> Option<&EventKey> {
        None
    }

    fn lp_count(&self) -> usize {
        1
    }

    fn rng(&self) -> &Stream {
        &self.rng
    }

    fn send(&mut self, _: LpId, _: f64, _: Message<Carried<Street>>) {}

    fn send_at(&mut self, _: LpId, _: f64, _: Message<Carried<Street>>) {}

    fn send_io(&mut self, _: Io, _: LpId, _: f64, _: Message<Carried<Street>>) {}

    fn fail(&mut self, reason: fmt::Arguments<'_>) {
        panic!("{reason}");
    }

    fn undo(&mut self) -> Option<&mut UndoLog> {
        Some(&mut self.log)
    }
}

/// What happens to a queue.
#[derive(Clone, Copy, Debug)]
enum Step {
    Enter {
        priority: i32,
    },
    Leave {
        which: usize,
    },
    LeaveFirst,
    /// The event ends.
    Commit,
    /// What was since the last event ends is undone.
    Undo,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => (-2..3).prop_map(|priority| Step::Enter { priority }),
        2 => any::<usize>().prop_map(|which| Step::Leave { which }),
        2 => Just(Step::LeaveFirst),
        1 => Just(Step::Commit),
        1 => Just(Step::Undo),
    ];
    prop::collection::vec(step, 1..120)
}

/// The slots of a queue, from the first on.
fn listed(core: &Core<Street>) -> Vec<u32> {
    let mut all = Vec::new();
    let mut next = core.queues[0].head;
    while next != NONE {
        all.push(next);
        next = core.slots[next as usize].next;
    }
    all
}

/// A process that waits nowhere has its slot.
fn idle(core: &mut Core<Street>, cx: &mut Undoing) -> u32 {
    let entity = core.next_entity(cx);
    core.take_in(entity, walker().into(), cx)
}

fn site() -> Host<Street> {
    let queues = vec![Queue::new(Kind::Condition, 0, 0.0, 0.0)];
    Host { site: Empty, core: Core::new(queues, 0, false) }
}

proptest! {
    #[test]
    fn a_queue_is_a_sorted_list(steps in steps()) {
        let mut cx = Undoing { log: UndoLog::default(), rng: Stream::from_words([1, 2]) };
        let mut host = site();
        let mut point = cx.log.begin();
        // By falling priority, and by when they came.
        let mut right: Vec<(i32, u32)> = Vec::new();
        let mut committed = (right.clone(), format!("{host:?}"));
        for step in steps {
            let core = &mut host.core;
            match step {
                Step::Enter { priority } => {
                    let slot = idle(core, &mut cx);
                    core.enter(0, slot, priority, &mut cx);
                    let place = right.iter().position(|(other, _)| *other < priority);
                    right.insert(place.unwrap_or(right.len()), (priority, slot));
                }
                Step::Leave { .. } | Step::LeaveFirst if right.is_empty() => {}
                Step::Leave { which } => {
                    let (_, slot) = right.remove(which % right.len());
                    core.save_slot(slot, &mut cx);
                    core.leave(slot, &mut cx);
                    core.release_slot(slot, &mut cx);
                }
                Step::LeaveFirst => {
                    core.save_queue(0, &mut cx);
                    let (slot, _) = core.leave_first(0, &mut cx);
                    prop_assert_eq!(slot, right.remove(0).1);
                    core.release_slot(slot, &mut cx);
                }
                Step::Commit => {
                    point = cx.log.begin();
                    committed = (right.clone(), format!("{host:?}"));
                }
                Step::Undo => {
                    host.undo_to(point, &mut cx.log);
                    cx.log.drop_from(point);
                    cx.log.begin();
                    right.clone_from(&committed.0);
                    prop_assert_eq!(&format!("{host:?}"), &committed.1);
                }
            }
            let slots: Vec<_> = right.iter().map(|(_, slot)| *slot).collect();
            prop_assert_eq!(listed(&host.core), slots);
            prop_assert_eq!(host.core.queues[0].len as usize, right.len());
        }
    }
}
