//! The result of a run: what the world observes, and how its facilities were used.

use serde::{Deserialize, Serialize};
use warpline::{
    Figure, Level, LpId, Results, Statistics, VirtualTime,
    picture::Picture,
    statistics::{Findings, Label},
};

use crate::{
    host::Host,
    queue::Kind,
    world::{World, facilities},
};

/// What was observed at all sites together.
#[derive(Clone, Debug, PartialEq)]
pub struct Observations<O> {
    /// What the world observes.
    pub observed: O,
    /// How its facilities were used, by the names that they have: those of one name at several
    /// sites are one, with the average over the sites that have it.
    pub facilities: Vec<Usage>,
}

/// How a facility was used.
#[derive(Clone, Debug, PartialEq)]
pub struct Usage {
    /// The name of the facility.
    pub name: &'static str,
    /// Units in use, items in store, or what there was in a container.
    pub in_use: Level,
    /// How many processes waited for it.
    pub waiting: Level,
    /// What `in_use` is.
    what: &'static str,
}

impl<O> Observations<O> {
    /// How the facilities of this name were used.
    #[must_use]
    pub fn usage(&self, name: &str) -> Option<&Usage> {
        self.facilities.iter().find(|usage| usage.name == name)
    }

    pub(crate) fn of<W>(world: &W, sites: impl Iterator<Item = Summary<O>>) -> Self
    where
        W: World<Observed = O>,
        O: Statistics,
    {
        let mut all = Self { observed: O::default(), facilities: Vec::new() };
        for (number, site) in sites.enumerate() {
            all.observed.merge(&site.observed);
            let of = facilities(world, LpId::from_index(number));
            for (side, [in_use, waiting]) in of.sides.iter().zip(site.levels) {
                let Some(queue) = &side.queue else { continue };
                match all.facilities.iter_mut().find(|usage| usage.name == side.name) {
                    Some(usage) => {
                        usage.in_use.merge(&in_use);
                        usage.waiting.merge(&waiting);
                    }
                    None => {
                        let (name, what) = (side.name, what(queue.kind));
                        all.facilities.push(Usage { name, in_use, waiting, what });
                    }
                }
            }
        }
        world.complete(&mut all.observed);
        all
    }
}

const fn what(kind: Kind) -> &'static str {
    match kind {
        Kind::Resource | Kind::Preemptive => "in_use",
        Kind::Store => "items",
        Kind::Container => "amount",
        Kind::Absent | Kind::Condition | Kind::Entrance => "",
    }
}

impl<O: Statistics> Observations<O> {
    fn findings(&self) -> Findings {
        let mut findings = Findings::default();
        self.observed.tell(&Label::default(), &mut findings);
        for Usage { name, in_use, waiting, what } in &self.facilities {
            if !what.is_empty() {
                in_use.tell(&Label::new(format!("{name}_{what}"), "", label(what)), &mut findings);
            }
            let label = Label::new(format!("{name}_waiting"), "", "Processes that wait for it");
            waiting.tell(&label, &mut findings);
        }
        findings
    }
}

fn label(what: &str) -> &'static str {
    match what {
        "in_use" => "Units in use",
        "items" => "Items in store",
        _ => "Amount in the container",
    }
}

impl<O: Statistics> Results for Observations<O> {
    fn figures(&self) -> Vec<Figure> {
        self.findings().figures
    }

    fn pictures(&self) -> Vec<Picture> {
        self.findings().pictures
    }
}

/// What a site has observed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Summary<O> {
    observed: O,
    /// Of each facility by its number: what is in use, and how many wait.
    levels: Vec<[Level; 2]>,
}

impl<O> Summary<O> {
    pub(crate) fn of<W: World<Observed = O>>(mut site: Host<W>, end: VirtualTime) -> Self
    where
        O: Statistics,
    {
        let observed = W::observed(&mut site.site).clone().until(end);
        let queues = site.core.queues.iter().filter(|queue| queue.kind != Kind::Entrance);
        let levels = queues.map(|queue| [queue.in_use.until(end), queue.waiting.until(end)]);
        Self { observed, levels: levels.collect() }
    }
}

impl<O: Statistics> Statistics for Summary<O> {
    fn reset(&mut self, now: VirtualTime) {
        self.observed.reset(now);
        self.levels.iter_mut().flatten().for_each(|level| level.reset(now));
    }

    fn close(&mut self, end: VirtualTime) {
        self.observed.close(end);
        self.levels.iter_mut().flatten().for_each(|level| level.close(end));
    }

    fn merge(&mut self, other: &Self) {
        self.observed.merge(&other.observed);
        for (levels, others) in self.levels.iter_mut().zip(&other.levels) {
            levels.iter_mut().zip(others).for_each(|(level, other)| level.merge(other));
        }
    }

    fn since(&self, earlier: &Self) -> Self {
        let levels = self.levels.iter().zip(&earlier.levels);
        let levels =
            levels.map(|(now, before)| [now[0].since(&before[0]), now[1].since(&before[1])]);
        Self { observed: self.observed.since(&earlier.observed), levels: levels.collect() }
    }

    fn tell(&self, as_: &Label<'_>, to: &mut Findings) {
        self.observed.tell(as_, to);
    }
}
