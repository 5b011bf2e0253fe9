//! A network of motorways: junctions, and the routes between them.
//!
//! Made by the built-in tables, the generator and the readers of files; cut into logical processes
//! by `roads.rs`.
//!
//! # Invariants
//!
//! - **ROUTE-A.** Both ends of a route are junctions of the network. Checked where routes are
//!   added.

use std::fmt;

/// The most junctions and routes together.
pub const PARTS_MAX: usize = 1 << 22;

/// The mean time from one car that joins at a junction to the next (s), where a network does not
/// say: the busiest setting of the NUMA paper, section 4.
pub const DEFAULT_INTERARRIVAL: f64 = 45.0;
/// The probability that a car that arrives at a junction leaves, where a network does not say.
pub const DEFAULT_LEAVE: f64 = 0.3;

/// A network of motorways.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// The junctions. The first one is where the logical processes are numbered from.
    pub junctions: Vec<Junction>,
    /// The routes.
    pub routes: Vec<Route>,
    /// Whether positions are degrees; else they are kilometers on a plane.
    pub geographic: bool,
}

/// A city or an interchange: cars join and leave motorways here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Junction {
    /// Its name.
    pub name: String,
    /// Where it lies, if that is known.
    pub at: Option<Coordinates>,
    /// The mean time from one car that joins to the next (s), above 0; `None` if no car joins here.
    pub interarrival: Option<f64>,
    /// The probability that a car that arrives here leaves the network.
    pub leave: f64,
}

/// A point on the earth, or on a plane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Coordinates {
    /// To the east: degrees, or kilometers on a plane.
    pub x: f64,
    /// To the north: degrees, or kilometers on a plane.
    pub y: f64,
}

/// A motorway from one junction to another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Route {
    /// Its name.
    pub name: String,
    /// The number of the junction where it begins.
    pub from: usize,
    /// The number of the junction where it ends.
    pub to: usize,
    /// Its length (km), above 0.
    pub km: f64,
    /// Whether cars drive from the beginning to the end only.
    pub one_way: bool,
}

/// A value that a part of a network cannot have: which one, what it was, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is {value}, but must be {allowed}")]
pub struct Unsound {
    /// What has the value.
    pub what: String,
    /// The value.
    pub value: String,
    /// What is allowed.
    pub allowed: &'static str,
}

impl Unsound {
    fn check(
        ok: bool,
        what: impl FnOnce() -> String,
        value: impl fmt::Display,
        allowed: &'static str,
    ) -> Result<(), Self> {
        if ok { Ok(()) } else { Err(Self { what: what(), value: value.to_string(), allowed }) }
    }
}

impl Network {
    /// Adds a junction and returns its number.
    ///
    /// # Errors
    ///
    /// When one of its values is out of range, or there are too many parts.
    pub fn add_junction(&mut self, junction: Junction) -> Result<usize, Unsound> {
        let of = |what: &str| format!("the {what} of `{}`", junction.name);
        if let Some(mean) = junction.interarrival {
            let ok = mean > 0.0 && mean.is_finite();
            Unsound::check(ok, || of("mean interarrival time"), mean, "above 0, and finite")?;
        }
        let leave = junction.leave;
        let ok = (0.0..=1.0).contains(&leave);
        Unsound::check(ok, || of("leave probability"), leave, "from 0 to 1")?;
        if let Some(Coordinates { x, y }) = junction.at {
            let ok = x.is_finite() && y.is_finite();
            Unsound::check(ok, || of("position"), format!("{x}, {y}"), "finite")?;
        }
        self.check_room()?;
        self.junctions.push(junction);
        Ok(self.junctions.len() - 1)
    }

    /// Adds a route.
    ///
    /// # Errors
    ///
    /// When its length is out of range, or there are too many parts.
    ///
    /// # Panics
    ///
    /// When an end is not a junction of the network.
    pub fn add_route(&mut self, route: Route) -> Result<(), Unsound> {
        self.check_route(&route)?;
        self.check_room()?;
        self.routes.push(route);
        Ok(())
    }

    /// Whether a route may be added.
    pub(crate) fn check_route(&self, route: &Route) -> Result<(), Unsound> {
        assert!(
            route.from.max(route.to) < self.junctions.len(),
            "ROUTE-A: a route ends at no junction"
        );
        let ok = route.km > 0.0 && route.km.is_finite();
        let length = || format!("the length of `{}`", route.name);
        Unsound::check(ok, length, format!("{} km", route.km), "above 0, and finite")
    }

    fn check_room(&self) -> Result<(), Unsound> {
        let parts = self.junctions.len() + self.routes.len();
        let what = || "the number of junctions and routes".to_owned();
        Unsound::check(parts < PARTS_MAX, what, parts + 1, "4 194 304 or less")
    }

    /// The length of all routes (km).
    #[must_use]
    pub fn km(&self) -> f64 {
        self.routes.iter().map(|route| route.km).sum()
    }

    /// The junctions and the routes: the least number of logical processes.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.junctions.len() + self.routes.len()
    }
}
