//! How processes run: what an event does to a site.

use warpline::{Context, Value};

use super::{Core, Host, Kind, Ready, Slot, Status, Woken, name_of};
use crate::{
    ContextOf, Env, World,
    message::Message,
    model::{facilities, name_of_facility},
    process::{ProcessKind, Resume},
    rt::{CoroutineState, Pause},
};

impl<W: World> Host<W> {
    /// The first events of a site.
    pub(crate) fn begin<C: ContextOf<W>>(&mut self, world: &W, cx: &mut C) {
        if let Some(mistake) = facilities(world, cx.me()).mistake {
            cx.fail(format_args!("the facilities of the site: {mistake}"));
        }
        world.start(&mut Env::outside(world, &mut self.site, &mut self.core, cx));
        self.settle(world, cx);
    }

    /// Handles an event.
    #[inline]
    pub(crate) fn on<C: ContextOf<W>>(&mut self, world: &W, message: &Message<W>, cx: &mut C) {
        // A handler that was cut off may have left some.
        self.core.ready.clear();
        match message {
            &Message::Wake { slot, generation } => {
                let it = &self.core.slots[slot as usize];
                if it.generation != generation {
                    return;
                }
                let woken = if it.status == Status::Holds { Woken::Done } else { Woken::TimedOut };
                let queues = it.status == Status::Queues;
                self.core.save_slot(slot, cx);
                if queues {
                    self.core.give_up(slot, cx);
                }
                self.run(world, slot, woken, None, cx);
            }
            Message::Arrive { entity, process } => {
                let process = W::Process::arrived(process);
                let slot = self.core.allocate(*entity, process, cx);
                self.run(world, slot, Woken::Done, None, cx);
            }
            Message::Log(_) => cx.fail(format_args!("a record of the event log is no event")),
        }
        self.settle(world, cx);
    }

    /// Lets a process run until it waits. Its slot is saved.
    #[inline]
    fn run<C: ContextOf<W>>(
        &mut self,
        world: &W,
        slot: u32,
        woken: Woken,
        item: Option<W::Item>,
        cx: &mut C,
    ) {
        let it = &mut self.core.slots[slot as usize];
        it.generation = it.generation.wrapping_add(1);
        it.status = Status::Ready;
        let Some(mut process) = it.process.take() else {
            unreachable!("PROC-B: a slot without a process is not woken");
        };
        let Self { site, core } = self;
        let name = process.name();
        let mut env = Env { world, site, cx, core, slot, woken, item, name };
        let step = process.resume(&mut env);
        match step {
            CoroutineState::Yielded(Pause::Wait) => {
                self.core.slots[slot as usize].process = Some(process);
            }
            CoroutineState::Yielded(Pause::Travel(to, delay)) => {
                check_leaves(&self.core.slots[slot as usize], name, "travels away", world, cx);
                let entity = self.core.slots[slot as usize].entity;
                self.core.release_slot(slot, cx);
                cx.send(to, delay, Message::Arrive { entity, process: process.into() });
            }
            CoroutineState::Complete(()) => {
                check_leaves(&self.core.slots[slot as usize], name, "ends", world, cx);
                self.core.release_slot(slot, cx);
            }
        }
    }

    /// Runs those who got something in this event, and those who are new, until all wait.
    #[inline]
    fn settle<C: ContextOf<W>>(&mut self, world: &W, cx: &mut C) {
        while let Some(ready) = self.core.ready.pop_front() {
            match ready {
                Ready::Goes { slot, woken, item } => {
                    self.core.save_slot(slot, cx);
                    self.run(world, slot, woken, item, cx);
                }
                Ready::Interrupt { slot, life, woken } => {
                    if self.core.slots[slot as usize].life == life {
                        self.core.interrupt::<W>(slot, woken, cx);
                    }
                }
            }
        }
    }
}

impl<P: Value, I: Value> Core<P, I> {
    /// Lets a process leave the queue in which it waits, without what it waited for. Its slot is
    /// saved.
    pub(crate) fn give_up<M>(&mut self, slot: u32, cx: &mut impl Context<M>) {
        let queue = self.slots[slot as usize].queue as usize;
        self.leave(slot, cx);
        let of = &self.queues[queue];
        match of.kind {
            Kind::Entrance if self.queues[of.other_side as usize].kind == Kind::Store => {
                self.offered.remove(&slot, cx);
            }
            // Another one may be content with less.
            Kind::Entrance => {
                let container = of.other_side as usize;
                self.save_queue(container, cx);
                self.serve_container(container, cx);
            }
            Kind::Container => self.serve_container(queue, cx),
            _ => {}
        }
    }

    /// Ends the wait of a process that is not to run before: it is interrupted.
    pub(crate) fn interrupt<W>(&mut self, slot: u32, woken: Woken, cx: &mut impl ContextOf<W>)
    where
        W: World<Process = P, Item = I>,
    {
        let it = &self.slots[slot as usize];
        let (status, life, is_heeded) = (it.status, it.life, it.is_heeded);
        if status == Status::Ready {
            self.ready.push_back(Ready::Interrupt { slot, life, woken });
            return;
        }
        if !is_heeded {
            let name = name_of::<W>(it.process.as_ref());
            cx.fail(format_args!(
                "`{name}` is interrupted, and does not look at how its wait ends: write \
                 `if !hold!(…) {{ … }}`, and what it does then"
            ));
        }
        self.save_slot(slot, cx);
        if status == Status::Queues {
            self.give_up(slot, cx);
        }
        self.wake(slot, woken, None);
    }
}

/// A process that leaves its slot has given back what it had.
#[inline]
fn check_leaves<W: World>(
    it: &Slot<W::Process>,
    name: &str,
    leaves: &str,
    world: &W,
    cx: &mut impl ContextOf<W>,
) {
    if let Some(resource) = it.any_held() {
        let held = name_of_facility(world, cx.me(), resource);
        cx.fail(format_args!("`{name}` {leaves} and has not released `{held}`"));
    }
}
