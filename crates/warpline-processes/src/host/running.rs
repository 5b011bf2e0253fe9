//! How processes run: what an event does to a site.

use super::Host;
use crate::{
    message::{Message, NEW, What},
    queue::Kind,
    slot::{Held, NONE, Slot, Status},
    world::{
        Carried, ContextOf, Core, CoroutineState, Env, Pause, ProcessKind, Ready, Resume, Woken,
        World, facilities, name_of_facility,
    },
};

impl<W: World> Host<W> {
    /// The first events of a site.
    pub(crate) fn begin<C: ContextOf<W>>(&mut self, world: &W, cx: &mut C) {
        if let Some(mistake) = facilities(world, cx.me()).mistake {
            cx.fail(format_args!("the facilities of the site: {mistake}"));
        }
        let Self { site, core } = self;
        world.start(&mut Env::new(world, site, core, cx, (NONE, 0), Held::NOTHING));
        self.settle(None, world, cx);
    }

    /// Handles an event.
    #[inline]
    pub(crate) fn on<C: ContextOf<W>>(
        &mut self,
        world: &W,
        message: &Message<Carried<W>>,
        cx: &mut C,
    ) {
        // A handler that was cut off may have left some.
        if !self.core.ready.is_empty() {
            self.core.ready.clear();
        }
        let first = match message {
            &Message::Wake { slot, generation } => {
                let Self { core, .. } = self;
                let it = &mut core.slots[slot as usize];
                if it.generation != generation {
                    return;
                }
                core.chain.slot(slot, it, cx);
                let woken =
                    if it.status == Status::Holds { Woken::Done } else { core.time_out(slot, cx) };
                Going { slot, woken, item: None }
            }
            Message::Arrive { entity, process } => {
                let process = W::Process::arrived(process);
                // One from outside was born nowhere: here it gets a number.
                let number = match *entity {
                    NEW => self.core.next_entity(cx),
                    entity => entity & !NEW,
                };
                let slot = self.core.take_in(number, process, cx);
                if entity & NEW != 0 {
                    self.core.log(slot, What::Arrives, 0, cx);
                }
                Going { slot, woken: Woken::Done, item: None }
            }
            Message::Log { .. } => {
                cx.fail(format_args!("a record of the event log is no event"));
                return;
            }
        };
        self.settle(Some(first), world, cx);
    }

    /// Runs a process, then those who got something in this event, and those who are new, until all
    /// wait.
    #[inline]
    fn settle<C: ContextOf<W>>(&mut self, first: Option<Going<W::Item>>, world: &W, cx: &mut C) {
        let mut next = first;
        loop {
            if let Some(going) = next.take() {
                self.run(world, going, cx);
            }
            next = match self.core.ready.pop_front() {
                None => return,
                Some(Ready::Goes { slot, woken, item }) => {
                    self.core.save_slot(slot, cx);
                    Some(Going { slot, woken, item })
                }
                Some(Ready::Interrupt { slot, life, woken }) => {
                    if self.core.slots[slot as usize].life == life {
                        self.core.interrupt(world, slot, woken, cx);
                    }
                    None
                }
                Some(Ready::Preempt { resource }) => {
                    self.core.preempt_now(world, resource, cx);
                    None
                }
            };
        }
    }

    /// Lets a process run until it waits. Its slot is saved.
    #[inline(always)]
    fn run<C: ContextOf<W>>(&mut self, world: &W, going: Going<W::Item>, cx: &mut C) {
        let Going { slot, woken, item } = going;
        let Self { site, core } = self;
        let it = &mut core.slots[slot as usize];
        it.generation = it.generation.wrapping_add(1);
        it.status = Status::Ready;
        let (generation, held) = (it.generation, it.held);
        // Only here: what is passed on by value is copied each time.
        let Some(mut process) = it.process.take() else {
            unreachable!("PROC-B: a slot without a process is not woken");
        };
        let mut env = Env::new(world, site, core, cx, (slot, generation), held);
        env.woken = woken;
        env.item = item;
        let step = process.resume(&mut env);
        let Env { held, status, is_heeded, .. } = env;
        let it = &mut core.slots[slot as usize];
        match step {
            CoroutineState::Yielded(Pause::Wait) => {
                it.process = Some(process);
                it.held = held;
                it.status = status;
                it.is_heeded = is_heeded;
            }
            CoroutineState::Yielded(Pause::Travel(to, delay)) => {
                let (entity, process) = (it.entity, process.into());
                core.log(slot, What::Travels, 0, cx);
                leave(core, slot, held, "travels away", world, cx);
                cx.send(to, delay, Message::Arrive { entity, process });
            }
            CoroutineState::Complete(()) => {
                core.log(slot, What::Departs, 0, cx);
                leave(core, slot, held, "ends", world, cx);
            }
        }
    }
}

/// A process that goes on, with how its wait ended and what it got.
struct Going<I> {
    slot: u32,
    woken: Woken,
    item: Option<I>,
}

/// A process leaves its slot, and has given back what it had.
#[inline]
fn leave<W: World>(
    core: &mut Core<W>,
    slot: u32,
    held: Held,
    leaves: &str,
    world: &W,
    cx: &mut impl ContextOf<W>,
) {
    if let Some(resource) = held.any() {
        keeps(&core.slots[slot as usize], resource, leaves, world, cx);
    }
    core.release_slot(slot, cx);
}

#[cold]
fn keeps<W: World>(
    it: &Slot<W::Process>,
    resource: usize,
    leaves: &str,
    world: &W,
    cx: &mut impl ContextOf<W>,
) {
    let (name, held) = (it.name(world), name_of_facility(world, cx.me(), resource));
    cx.fail(format_args!("`{name}` {leaves} and has not released `{held}`"));
}

impl<W: World> Core<W> {
    /// Lets a process leave the queue in which it waits, without what it waited for. Its slot is
    /// saved.
    pub(crate) fn give_up(&mut self, slot: u32, cx: &mut impl ContextOf<W>) {
        let queue = self.slots[slot as usize].queue as usize;
        self.leave(slot, cx);
        self.log(slot, What::GivesUp, queue, cx);
        let of = &self.queues[queue];
        let (kind, other_side) = (of.kind, of.other_side as usize);
        match kind {
            Kind::Entrance if self.queues[other_side].kind == Kind::Store => {
                self.more.offered.remove(&slot, cx);
            }
            // Another one may be content with less.
            Kind::Entrance => {
                self.save_queue(other_side, cx);
                self.serve_container(other_side, cx);
            }
            Kind::Container => self.serve_container(queue, cx),
            Kind::Preemptive => self.preempt_next(queue),
            _ => {}
        }
    }

    /// A process goes on without what it waited for. Its slot is saved.
    fn time_out(&mut self, slot: u32, cx: &mut impl ContextOf<W>) -> Woken {
        if self.slots[slot as usize].status == Status::Queues {
            self.give_up(slot, cx);
        }
        Woken::TimedOut
    }

    /// Ends the wait of a process that is not to run before: it is interrupted.
    pub(crate) fn interrupt(
        &mut self,
        world: &W,
        slot: u32,
        woken: Woken,
        cx: &mut impl ContextOf<W>,
    ) {
        let it = &self.slots[slot as usize];
        let (status, life, is_heeded) = (it.status, it.life, it.is_heeded);
        if status == Status::Ready {
            self.ready.push_back(Ready::Interrupt { slot, life, woken });
            return;
        }
        if !is_heeded {
            let name = it.name(world);
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
