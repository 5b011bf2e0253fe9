//! A world: sites, and the processes that live there; and the types that cannot be said without
//! each other: what a process sees, what it is, and what a site has.

use std::{
    collections::VecDeque,
    fmt::{self, Debug},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use warpline::{Context, LpId, State, Statistics, TrackedDeque, TrackedMap, Value};

use crate::{
    chain::Chain,
    facility::{Facilities, Resource},
    message::Message,
    queue::Queue,
    slot::{Held, Slot, Status},
};

/// A context in which the processes of a world run. Every context of an engine is one.
pub trait ContextOf<W: World>: Context<Message<Carried<W>>> {}

impl<W: World, C: Context<Message<Carried<W>>>> ContextOf<W> for C {}

/// A process of a world as it is sent.
pub type Carried<W> = <<W as World>::Process as ProcessKind<W>>::Carried;

/// A model of sites that host processes.
///
/// A site is a logical process of Warpline: processes at one site see each other's effects at
/// once, and what happens at several sites can be computed at the same time. Sites are fixed in
/// number; processes come, travel, and go.
pub trait World: Send + Sync + Sized + 'static {
    /// All kinds of processes: what [`processes!`](crate::processes!) writes.
    type Process: ProcessKind<Self>;
    /// The data of a site, which its processes read and write: what is observed is a part of it. It
    /// derives [`State`](derive@warpline::State).
    type Site: State + fmt::Debug + Send + Serialize + DeserializeOwned;
    /// What stores contain; `()` in a world without stores.
    type Item: Value + fmt::Debug + Sync + Serialize + DeserializeOwned;
    /// What is observed: the statistics of a site, which are the result of a run.
    type Observed: Statistics + fmt::Debug + Send + Serialize + DeserializeOwned;

    /// Whether what happens to each process is told to an [`EventLog`](crate::EventLog). Its rows
    /// are events, too, of a run with a log and of one without: the digest has them.
    const EVENT_LOG: bool = false;

    /// Whether this very world has the log that worlds of its type may have: for a type whose
    /// worlds are known at run time only.
    fn has_event_log(&self) -> bool {
        Self::EVENT_LOG
    }

    /// A short name for reports.
    fn name(&self) -> &str;

    /// The number of sites.
    fn sites(&self) -> usize;

    /// The data of a site at the beginning.
    fn site(&self, id: LpId) -> Self::Site;

    /// The statistics of a site.
    fn observed(site: &mut Self::Site) -> &mut Self::Observed;

    /// Says what processes can queue for at a site, and how much there is of it.
    fn facilities(&self, _site: LpId, _to: &mut Facilities) {}

    /// Spawns the first processes of a site, at time zero. `env.here()` is the site.
    fn start(&self, env: &mut Env<'_, Self, impl ContextOf<Self>>);

    /// A lower bound of the delays of `travel!` and `spawn_at` from one site to another, if there
    /// is one: conservative engines need it, and others gain by it.
    fn lookahead(&self) -> Option<f64> {
        None
    }

    /// The sites that processes ever travel to from a site, without itself, if they are few and
    /// known ([`Model::links`](warpline::Model::links)).
    fn links(&self, _from: LpId) -> Option<Vec<warpline::Link>> {
        None
    }

    /// What makes this world another one than the next of its type
    /// ([`Model::parameters`](warpline::Model::parameters)).
    fn parameters(&self) -> &dyn fmt::Debug {
        &()
    }

    /// Completes what was observed at all sites, once a run is over: with what no site can know
    /// alone.
    fn complete(&self, _observed: &mut Self::Observed) {}

    /// Prepares the data of a site for other parameters, in a branch of a run
    /// ([`Model::adapt`](warpline::Model::adapt)). The facilities stay as they are, so parameters
    /// with others are refused; a process changes them ([`Env::set_units`]).
    ///
    /// # Errors
    ///
    /// Why that may not be; by default, because a site may depend on the parameters.
    fn adapt(&self, _before: &Self, _id: LpId, _site: &mut Self::Site) -> Result<(), String> {
        Err("the world does not say how its sites go on with other parameters (`World::adapt`)"
            .to_owned())
    }
}

/// A suspended process of a world, which can go on.
///
/// `#[process]` implements it for the state of a process. By hand it is an enum and a `match`: what
/// a process has reached, and what it does next.
pub trait Resume<W: World> {
    /// Lets the process run until it waits again, or ends.
    fn resume<C: ContextOf<W>>(&mut self, env: &mut Env<'_, W, C>) -> CoroutineState<Pause, ()>;
}

/// All kinds of processes of a world, as one type. [`processes!`](crate::processes!) writes it.
pub trait ProcessKind<W: World>:
    Resume<W> + Value + Debug + Send + Sync + Serialize + DeserializeOwned
{
    /// What is sent when a process travels: the process, or a box with it if it is large.
    type Carried: From<Self> + Debug + Clone + Send + Sync + Serialize + DeserializeOwned + 'static;

    /// What tells the code of these processes from other code, for checkpoints.
    fn source(world: &W) -> u64;

    /// The process that was sent.
    fn arrived(carried: &Self::Carried) -> Self;

    /// The bytes on the heap of what is sent.
    fn carried_bytes(carried: &Self::Carried) -> usize;

    /// Which kind of process it is, from 0 on.
    fn kind(&self) -> u16;

    /// The name of a kind of processes, for errors and event logs.
    fn name(world: &W, kind: u16) -> &str;
}

/// What a process does after it has run for a while.
#[derive(Debug)]
pub enum CoroutineState<Y, R> {
    /// It waits.
    Yielded(Y),
    /// It has ended.
    Complete(R),
}

/// Why a process does not run any more.
#[derive(Debug)]
pub enum Pause {
    /// It waits here.
    Wait,
    /// It goes on at this site, after this time.
    Travel(LpId, f64),
}

/// What a process sees while it runs: its site, its world, and what it can do.
///
/// In the signature of a process it is `env: &mut Env<Bank>`. A function that is no process takes
/// `env: &mut Env<'_, Bank, impl ContextOf<Bank>>`.
pub struct Env<'a, W: World, C = ()> {
    /// The world: parameters, and all that no process changes.
    pub world: &'a W,
    /// The data of the site where the process is.
    pub site: &'a mut W::Site,
    /// The context of the event, which tracked fields of the site are written with:
    /// `env.site.waits.add(3.0, env.cx)`.
    pub cx: &'a mut C,
    pub(crate) core: &'a mut Core<W>,
    /// The slot of the process that runs, and which of its waits comes next.
    pub(crate) slot: u32,
    pub(crate) generation: u32,
    pub(crate) held: Held,
    /// How its last wait ended, and what it got.
    pub(crate) woken: Woken,
    pub(crate) item: Option<W::Item>,
    /// How its next wait is.
    pub(crate) status: Status,
    pub(crate) is_heeded: bool,
}

/// The processes of a site, and what they wait for.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) struct Core<W: World> {
    pub(crate) slots: Vec<Slot<W::Process>>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) free: u32,
    /// How many processes were born here.
    pub(crate) born: u32,
    /// Whether the world has an event log.
    pub(crate) is_logged: bool,
    /// Those who run before the event ends. Empty between events.
    #[serde(skip)]
    pub(crate) ready: VecDeque<Ready<W::Item>>,
    #[serde(skip)]
    pub(crate) chain: Chain,
    /// What most events do not touch lies elsewhere.
    pub(crate) more: Box<More<W::Item>>,
}

/// What stores contain, and what priorities and preemption need.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "I: Value + Serialize + serde::de::DeserializeOwned")]
pub(crate) struct More<I> {
    /// The items of stores.
    pub(crate) stores: Vec<TrackedDeque<I>>,
    /// The last process of a queue for each priority other than 0, the highest one first.
    pub(crate) classes: TrackedMap<(u32, i64), u32>,
    /// Who has units of resources that can be taken away: the lowest priority first, and the last
    /// one first.
    pub(crate) holders: TrackedMap<(u32, i32, u64), u32>,
    /// The items that wait for room in a store, by the slots of their processes.
    pub(crate) offered: TrackedMap<u32, I>,
}

/// A process that runs before the event ends.
#[derive(Debug)]
pub(crate) enum Ready<I> {
    /// It begins, or its wait is over.
    Goes { slot: u32, woken: Woken, item: Option<I> },
    /// It is interrupted once it waits again, if it does.
    Interrupt { slot: u32, life: u32, woken: Woken },
    /// The first one that waits for a resource takes a unit from another process, if it wants to
    /// and there is one.
    Preempt { resource: usize },
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Woken {
    /// What it waited for has happened.
    Done,
    /// Its time was over before.
    TimedOut,
    /// Another process interrupted it, and gave a cause.
    Interrupted(u64),
    /// A unit of this resource was taken away.
    Preempted(Resource),
}

/// What a site has, as its world says.
pub(crate) fn facilities<W: World>(world: &W, site: LpId) -> Facilities {
    let mut facilities = Facilities::default();
    world.facilities(site, &mut facilities);
    facilities
}

/// The name of a facility, for an error.
#[cold]
pub(crate) fn name_of_facility<W: World>(world: &W, site: LpId, number: usize) -> &'static str {
    facilities(world, site).name(number).unwrap_or("what it acquired")
}
