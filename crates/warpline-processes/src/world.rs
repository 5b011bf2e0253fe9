//! A world: sites, and the processes that live there.

use std::fmt;

use serde::{Serialize, de::DeserializeOwned};
use warpline::{Context, LpId, State, Statistics, Value};

use crate::{Env, Facilities, message::Message, process::ProcessKind};

/// A context in which the processes of a world run. Every context of an engine is one.
pub trait ContextOf<W: World>: Context<Message<W>> {}

impl<W: World, C: Context<Message<W>>> ContextOf<W> for C {}

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
    /// ([`Model::adapt`](warpline::Model::adapt)).
    ///
    /// # Errors
    ///
    /// Why that may not be; by default, because a site may depend on the parameters.
    fn adapt(&self, _before: &Self, _id: LpId, _site: &mut Self::Site) -> Result<(), String> {
        Err("the world does not say how its sites go on with other parameters (`World::adapt`)"
            .to_owned())
    }
}
