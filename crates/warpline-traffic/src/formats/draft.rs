//! A network while a file is read: junctions by their names, and opposite links joined.
//!
//! # Invariants
//!
//! - **NAMES-A.** No two junctions have the same name.

use std::collections::BTreeMap;

use crate::{
    error::{Flaw, quoted},
    network::{Junction, Network, Route, Unsound},
};

/// A network while a file is read.
#[derive(Debug, Default)]
pub(super) struct Draft {
    network: Network,
    /// The numbers of the junctions.
    numbers: BTreeMap<String, usize>,
    /// One-way routes that have no opposite one yet, by their ends.
    alone: BTreeMap<(usize, usize), Vec<usize>>,
}

impl Draft {
    /// Adds a junction that must be new, and returns its number.
    pub(super) fn add_junction(&mut self, junction: Junction) -> Result<usize, Flaw> {
        let name = junction.name.clone();
        if name.is_empty() {
            return Err(Flaw::new("a junction has no name", "a name that is not empty"));
        }
        if self.numbers.contains_key(&name) {
            let what = format!("the junction {} occurs twice", quoted(&name));
            return Err(Flaw::new(what, "each junction once"));
        }
        let number = self.network.add_junction(junction)?;
        self.numbers.insert(name, number);
        Ok(number)
    }

    /// The number of a junction, if it is there.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// The number of a junction that must be there.
    pub(super) fn number_of(&self, name: &str) -> Result<usize, Flaw> {
        self.find(name).ok_or_else(|| {
            let known = self.network.junctions.iter().take(4);
            let known: Vec<_> = known.map(|junction| quoted(&junction.name)).collect();
            let what = format!("there is no junction {}", quoted(name));
            Flaw::new(what, format!("a junction of the file, such as {}", known.join(", ")))
        })
    }

    /// Adds a route. Two one-way routes in opposite directions become one, of their mean length.
    pub(super) fn add_route(&mut self, route: Route) -> Result<(), Flaw> {
        let ends = (route.from, route.to);
        if route.one_way {
            let opposite = self.alone.get_mut(&(route.to, route.from)).and_then(Vec::pop);
            if let Some(opposite) = opposite {
                // Checks the length of this one.
                self.network.check_route(&route)?;
                let other = &mut self.network.routes[opposite];
                other.km = f64::midpoint(other.km, route.km);
                other.one_way = false;
                return Ok(());
            }
            self.alone.entry(ends).or_default().push(self.network.routes.len());
        }
        Ok(self.network.add_route(route)?)
    }

    /// The network. `geographic` says that positions are degrees.
    pub(super) fn finish(self, geographic: bool) -> Network {
        Network { geographic, ..self.network }
    }
}

impl From<Unsound> for Flaw {
    fn from(Unsound { what, value, allowed }: Unsound) -> Self {
        Self::new(format!("{what} is {value}"), format!("it has to be {allowed}"))
    }
}
