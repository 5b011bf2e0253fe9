//! Worlds whose processes are functions of another language.
//!
//! A suspended process is a few words, in one of three size classes, of which the first has its
//! kind and where it goes on. A function for each kind resumes it ([`Resumption`]): it changes the
//! words in place, and returns what the process asks for, whose details are in its
//! [`ProcessContext`]. What a process does at once are calls of functions in the context. All
//! else, queues and waits and travel, is `warpline-processes`, as for processes in Rust: so the
//! same model has the same digest in both languages.

mod context;
mod resume;
mod site;
mod state;

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use warpline::{AnyModel, ConfigError, Link, LpId, wire::Wire};
use warpline_processes::{
    Condition, Container, ContextOf, Env, EventLog, Facilities, Processes, Resource, Store, World,
};

pub use context::{PROCESS_LAYOUT, ProcessContext, Resumption, Starter};
use site::Site;
use state::{Class, Item, Process};

use super::{
    base::{Constants, check_streams},
    failures::Failures,
    model::{Finish, States, by_sender},
    statistics::Statistic,
};

/// What a world is.
#[derive(Debug)]
pub struct WorldDescription {
    /// Its name, for reports.
    pub name: String,
    /// The number of sites.
    pub sites: usize,
    /// Spawns the first processes of a site.
    pub start: Starter,
    /// The kinds of processes, by their numbers.
    pub processes: Vec<ProcessDescription>,
    /// What processes queue for, by numbers.
    pub facilities: Vec<Facility>,
    /// The 64-bit words of a site.
    pub site_words: usize,
    /// The sites at the beginning, one's words after the other's.
    pub initial: Vec<u64>,
    /// What all processes read.
    pub parameters: Vec<u64>,
    /// What makes this world another one than the next: ranks compare it.
    pub identity: String,
    /// A lower bound of the delays of travel.
    pub lookahead: Option<f64>,
    /// Where processes travel to, if that is few others: each site with its links.
    pub links: Option<Vec<(LpId, Link)>>,
    /// The statistics in a site.
    pub statistics: Vec<Statistic>,
    /// What computes more results of a run.
    pub finish: Option<Finish>,
    /// Whether what happens to each process is told to an event log. Its rows are events, too.
    pub is_logged: bool,
}

/// A kind of processes.
#[derive(Clone, Debug)]
pub struct ProcessDescription {
    /// The name, for errors.
    pub name: String,
    /// Lets a process of this kind go on.
    pub resume: Resumption,
    /// The words that a suspended one takes.
    pub words: usize,
}

/// What processes queue for.
#[derive(Clone, Debug)]
pub struct Facility {
    /// Its name in reports.
    pub name: String,
    /// What it is.
    pub kind: FacilityKind,
    /// Of each site: the units or the capacity, and what is there at the beginning. A site with a
    /// capacity that is no number has no such facility.
    pub of_sites: Vec<(f64, f64)>,
}

/// A kind of facilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FacilityKind {
    /// Equal units.
    Resource,
    /// Equal units that processes with a higher priority may take away.
    Preemptive,
    /// Items; with an infinite capacity, for any number of them.
    Store,
    /// An amount.
    Container,
    /// What is signaled.
    Condition,
}

/// A world with foreign processes, ready to run. Clones share what a run leaves behind.
#[derive(Clone)]
pub struct ForeignWorld(Arc<Inner>);

struct Inner {
    /// Without the links.
    description: WorldDescription,
    /// They point to the parameters of the description.
    constants: Constants,
    statistics: Arc<[Statistic]>,
    links: Option<Vec<Vec<Link>>>,
    /// The names of the facilities, which live as long as the program: those of one name are one.
    names: Vec<&'static &'static str>,
    failures: Failures,
    states: Mutex<States>,
}

/// The most words of a process behind the first one, in each size class. The message of an event
/// has the words of the first two in place.
const SMALL: usize = 3;
const MIDDLE: usize = 7;
const LARGE: usize = 23;

impl ForeignWorld {
    /// The most words that a process may have.
    pub const WORDS_MAX: usize = 1 + LARGE;

    /// A world.
    ///
    /// # Errors
    ///
    /// If the initial sites are not all of them, a facility is not that of all sites, a process is
    /// too large, or a link is from a site that there is not.
    ///
    /// # Safety
    ///
    /// For as long as the world is used, `start` and the functions of `processes` can be called
    /// from any thread, several at a time, and keep to what [`Resumption`] and [`ProcessContext`]
    /// say: they write nothing but the words of the process, the site and the stream, and what is
    /// theirs in the context; they read nothing that changes meanwhile, and they do not unwind.
    #[expect(unsafe_code, reason = "processes are functions of another language")]
    pub unsafe fn new(mut description: WorldDescription) -> Result<Self, ConfigError> {
        check_streams();
        let sites = description.sites;
        let links = description.links.take().map(|links| by_sender(links, sites)).transpose()?;
        let WorldDescription { site_words, initial, facilities, processes, .. } = &description;
        let allowed = format!("{site_words} words for each of {sites} sites");
        ConfigError::check(initial.len() == sites * site_words, "states", initial.len(), &allowed)?;
        for Statistic { name, kind, word, .. } in &description.statistics {
            let allowed = format!("in a site of {site_words} words");
            ConfigError::check(word + kind.words() <= *site_words, name, word, &allowed)?;
        }
        for Facility { name, of_sites, .. } in facilities {
            let allowed = format!("one for each of {sites} sites");
            ConfigError::check(of_sites.len() == sites, name, of_sites.len(), &allowed)?;
        }
        for ProcessDescription { name, words, .. } in processes {
            let allowed = format!("a process of at most {} words", Self::WORDS_MAX);
            ConfigError::check(*words <= Self::WORDS_MAX, name, words, &allowed)?;
        }
        let names = facilities.iter().map(|facility| for_ever(&facility.name)).collect();
        let statistics = description.statistics.as_slice().into();
        let constants = Constants::new(sites, &description.parameters);
        let (failures, states) = Default::default();
        let inner = Inner { description, constants, statistics, links, names, failures, states };
        Ok(Self(Arc::new(inner)))
    }

    /// The world as a model for a run, in the size class that it needs.
    #[must_use]
    pub fn into_any(self) -> AnyModel {
        self.sized(None)
    }

    /// The same, of a world that has an event log, which this one is.
    #[must_use]
    pub fn into_any_with(self, log: &EventLog) -> AnyModel {
        self.sized(Some(log))
    }

    /// A process of a kind that begins at a site, with these words: a message for a session, as it
    /// travels between ranks.
    #[must_use]
    pub fn arrival(&self, kind: u32, words: &[u64]) -> Vec<u8> {
        match self.class() {
            SMALL => arrival::<SMALL>(kind, words),
            MIDDLE => arrival::<MIDDLE>(kind, words),
            _ => arrival::<LARGE>(kind, words),
        }
    }

    /// The size class that its processes need.
    fn class(&self) -> usize {
        let words = self.0.description.processes.iter().map(|process| process.words).max();
        match words.unwrap_or(1).saturating_sub(1) {
            rest if rest <= SMALL => SMALL,
            rest if rest <= MIDDLE => MIDDLE,
            _ => LARGE,
        }
    }

    fn sized(self, log: Option<&EventLog>) -> AnyModel {
        match self.class() {
            SMALL => self.typed::<SMALL>(log),
            MIDDLE => self.typed::<MIDDLE>(log),
            _ => self.typed::<LARGE>(log),
        }
    }

    fn typed<const N: usize>(self, log: Option<&EventLog>) -> AnyModel
    where
        Process<N>: Class,
    {
        let model = Processes::new(Typed::<N>(self.0));
        AnyModel::new(match log {
            Some(log) => model.event_log(log),
            None => model,
        })
    }

    /// What failed in its runs.
    #[must_use]
    pub fn failures(&self) -> &Failures {
        &self.0.failures
    }

    /// The sites at the end of the last run; none if there was no such run.
    #[must_use]
    pub fn take_states(&self) -> States {
        std::mem::take(&mut *self.0.states.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for ForeignWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ForeignWorld").field(&self.0.description.name).finish()
    }
}

fn arrival<const N: usize>(kind: u32, words: &[u64]) -> Vec<u8>
where
    Process<N>: Class,
{
    let message = Processes::<Typed<N>>::arrival(Process::new(kind, words));
    let mut bytes = Vec::new();
    Wire::serde().write(&message, &mut bytes);
    bytes
}

/// A name that lives as long as the program.
fn for_ever(name: &str) -> &'static &'static str {
    static KNOWN: Mutex<BTreeSet<&'static &'static str>> = Mutex::new(BTreeSet::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(name) = known.iter().find(|known| **known == &name) {
        return name;
    }
    let name: &'static str = Box::leak(name.into());
    let name: &'static &'static str = Box::leak(Box::new(name));
    known.insert(name);
    name
}

/// The world with processes of one size class.
struct Typed<const N: usize>(Arc<Inner>);

impl<const N: usize> World for Typed<N>
where
    Process<N>: Class,
{
    type Process = Process<N>;
    type Site = Site;
    type Item = Item;
    type Observed = Site;
    const EVENT_LOG: bool = true;

    fn has_event_log(&self) -> bool {
        self.0.description.is_logged
    }

    fn name(&self) -> &str {
        &self.0.description.name
    }

    fn sites(&self) -> usize {
        self.0.description.sites
    }

    fn site(&self, id: LpId) -> Site {
        let WorldDescription { site_words, initial, .. } = &self.0.description;
        let words = &initial[id.index() * site_words..][..*site_words];
        Site::new(words, Arc::clone(&self.0.statistics))
    }

    fn observed(site: &mut Site) -> &mut Site {
        site
    }

    fn facilities(&self, site: LpId, to: &mut Facilities) {
        for (number, facility) in self.0.description.facilities.iter().enumerate() {
            let (capacity, amount) = facility.of_sites[site.index()];
            if capacity.is_nan() {
                continue;
            }
            let (number, name) = (number as u16, self.0.names[number]);
            match facility.kind {
                FacilityKind::Resource => to.resource(Resource::new(number, name), capacity as u32),
                FacilityKind::Preemptive => {
                    to.preemptive(Resource::new(number, name), capacity as u32)
                }
                FacilityKind::Store if capacity == f64::INFINITY => {
                    to.store(Store::new(number, name))
                }
                FacilityKind::Store => to.bounded_store(Store::new(number, name), capacity as u32),
                FacilityKind::Container => {
                    to.container(Container::new(number, name), amount, capacity)
                }
                FacilityKind::Condition => to.condition(Condition::new(number, name)),
            };
        }
    }

    fn start(&self, env: &mut Env<'_, Self, impl ContextOf<Self>>) {
        resume::start(env);
    }

    fn lookahead(&self) -> Option<f64> {
        self.0.description.lookahead
    }

    fn links(&self, from: LpId) -> Option<Vec<Link>> {
        Some(self.0.links.as_ref()?[from.index()].clone())
    }

    fn parameters(&self) -> &dyn fmt::Debug {
        &self.0.description.identity
    }

    /// A site has no copy of the parameters, so any of them may differ.
    fn adapt(&self, before: &Self, _: LpId, _: &mut Site) -> Result<(), String> {
        let words = |it: &WorldDescription| it.site_words;
        let (now, before) = (words(&self.0.description), words(&before.0.description));
        if now == before {
            return Ok(());
        }
        Err(format!("its sites have {now} words, and had {before}"))
    }

    fn complete(&self, observed: &mut Site) {
        let states = observed.complete(self.0.description.finish.as_ref());
        *self.0.states.lock().unwrap_or_else(PoisonError::into_inner) = states;
    }
}
