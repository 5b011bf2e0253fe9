//! A world as a model, which any engine runs.

use std::fmt;

use warpline::{
    Collected, Context, EventKey, Link, LogicalProcess, LpId, Model, Saving, Statistics,
    VirtualTime,
    wire::{Wire, Wires},
};

use crate::{
    event_log::{EventLog, Record},
    host::Host,
    message::{Message, NEW},
    observations::{Observations, Summary},
    world::{Carried, Core, ProcessKind, World, facilities},
};

/// A world as a model: `Simulation::new(Processes::new(bank))`.
pub struct Processes<W> {
    pub(crate) world: W,
    pub(crate) log: Option<EventLog>,
}

impl<W: World> Processes<W> {
    /// The model of a world.
    pub const fn new(world: W) -> Self {
        Self { world, log: None }
    }

    /// Writes what happens to each process to an event log. The world has
    /// [`EVENT_LOG`](World::EVENT_LOG).
    #[must_use]
    pub fn event_log(self, log: &EventLog) -> Self {
        const { assert!(W::EVENT_LOG, "the world says `const EVENT_LOG: bool = true`") }
        Self { log: Some(log.clone()), ..self }
    }

    /// A process that begins at a site, for [`Session::inject`](warpline::Session::inject).
    pub fn arrival(process: impl Into<W::Process>) -> Message<Carried<W>> {
        Message::Arrive { entity: NEW, process: process.into().into() }
    }

    /// The world.
    pub const fn world(&self) -> &W {
        &self.world
    }
}

/// What makes the model another one: the parameters of the world, and the code of its processes,
/// whose states a checkpoint has.
impl<W: World> fmt::Debug for Processes<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Processes")
            .field("code", &format_args!("{:016x}", W::Process::source(&self.world)))
            .field("world", &self.world.parameters())
            .finish()
    }
}

impl<W: World> Model for Processes<W> {
    type Lp = Host<W>;
    type Output = Observations<W::Observed>;

    fn name(&self) -> &str {
        self.world.name()
    }

    fn lp_count(&self) -> usize {
        self.world.sites()
    }

    fn make_lp(&self, id: LpId) -> Host<W> {
        let (queues, stores) = facilities(&self.world, id).into_queues();
        let core = Core::new(queues, stores, self.world.has_event_log());
        Host { site: self.world.site(id), core }
    }

    fn reduce(
        &self,
        sites: impl Iterator<Item = Summary<W::Observed>>,
    ) -> Observations<W::Observed> {
        Observations::of(&self.world, sites)
    }

    fn lookahead(&self) -> Option<f64> {
        self.world.lookahead()
    }

    fn links(&self, from: LpId) -> Option<Vec<Link>> {
        self.world.links(from)
    }

    fn parameters(&self) -> &dyn fmt::Debug {
        self
    }

    fn adapt(&self, before: &Self, id: LpId, lp: &mut Host<W>) -> Result<(), String> {
        let other = facilities(&self.world, id).difference(&facilities(&before.world, id));
        if let Some(name) = other {
            return Err(format!(
                "site {id} had another `{name}` before, which a branch keeps: let a process change \
                 it (`Env::set_units`), with a number that the parameters have"
            ));
        }
        self.world.adapt(&before.world, id, &mut lp.site)
    }

    fn wires(&self) -> Option<Wires<Self>> {
        Some(Wires::serde())
    }

    fn state_wire(&self) -> Option<Wire<Host<W>>> {
        Some(Wire::serde())
    }
}

impl<W: World> LogicalProcess for Host<W> {
    type Model = Processes<W>;
    type Message = Message<Carried<W>>;
    type Summary = Summary<W::Observed>;
    const SAVING: Saving<Self> = Saving::BY_FIELD;
    const STATISTICS: Collected<Self> = Collected::by(
        |_, site, now| {
            W::observed(&mut site.site).reset(now);
            for queue in &mut site.core.queues {
                queue.in_use.reset(now);
                queue.waiting.reset(now);
            }
        },
        Statistics::since,
    );

    fn start(&mut self, model: &Processes<W>, cx: &mut impl Context<Message<Carried<W>>>) {
        self.begin(&model.world, cx);
    }

    #[inline]
    fn handle(
        &mut self,
        model: &Processes<W>,
        message: &Message<Carried<W>>,
        cx: &mut impl Context<Message<Carried<W>>>,
    ) {
        self.on(&model.world, message, cx);
    }

    fn output(model: &Processes<W>, lp: LpId, event: &EventKey, message: &Message<Carried<W>>) {
        if let (Some(log), &Message::Log { entity, kind, facility, what }) = (&model.log, message) {
            let record = Record { entity, kind, facility, what };
            log.write(&model.world, lp, event.time(), record);
        }
    }

    /// A wake-up is one of a process at a site; what travels is not compared.
    #[inline]
    fn identity(_: &Processes<W>, message: &Message<Carried<W>>) -> Option<u64> {
        match *message {
            Message::Wake { slot, generation } => {
                Some(u64::from(slot) << 32 | u64::from(generation))
            }
            _ => None,
        }
    }

    fn message_heap_bytes(message: &Message<Carried<W>>) -> usize {
        match message {
            Message::Arrive { process, .. } => {
                <W::Process as ProcessKind<W>>::carried_bytes(process)
            }
            _ => 0,
        }
    }

    fn finish(self, _: &Processes<W>, end: VirtualTime) -> Summary<W::Observed> {
        Summary::of::<W>(self, end)
    }
}
