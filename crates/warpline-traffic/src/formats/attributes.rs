//! The attributes of junctions and routes, as files name them.
//!
//! Used by the readers of CSV, JSON and GraphML, which have the same names.

use std::collections::BTreeMap;

use crate::{
    error::{Flaw, quoted},
    network::{Coordinates, DEFAULT_INTERARRIVAL, DEFAULT_LEAVE, Junction},
};

/// Attributes by their names; a value that is empty counts as none.
pub(super) type Attributes = BTreeMap<String, String>;

/// Whether an attribute of this name can count. A longer name, which a table or a `key` gives once,
/// is not to be carried along with each row or node.
pub(super) const fn can_count(name: &str) -> bool {
    const NAME_MAX: usize = 32;
    name.len() <= NAME_MAX
}

/// The value of an attribute as a number, if there is one.
pub(super) fn number(attributes: &Attributes, name: &str) -> Result<Option<f64>, Flaw> {
    let value = attributes.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
    value.map(|value| parse(name, value)).transpose()
}

/// A number.
pub(super) fn parse(name: &str, value: &str) -> Result<f64, Flaw> {
    value.parse().map_err(|_| {
        Flaw::new(format!("`{name}` is {}", quoted(value)), "it has to be a number, such as 45.5")
    })
}

/// A mean interarrival time: 0 if no car joins.
pub(super) fn interarrival(seconds: f64) -> Option<f64> {
    (seconds != 0.0).then_some(seconds)
}

/// A junction. Its attributes have the names `lon`, `lat` (degrees) or `x`, `y` (km),
/// `interarrival` (s) and `leave`, each behind the `prefix`. The second result says whether it has
/// degrees.
pub(super) fn junction(
    name: &str,
    attributes: &Attributes,
    prefix: &str,
) -> Result<(Junction, bool), Flaw> {
    let value = |key: &str| number(attributes, &format!("{prefix}{key}"));
    let degrees = value("lon")?.zip(value("lat")?);
    let plane = value("x")?.zip(value("y")?);
    let junction = Junction {
        name: name.to_owned(),
        at: degrees.or(plane).map(|(x, y)| Coordinates { x, y }),
        interarrival: value("interarrival")?.map_or(Some(DEFAULT_INTERARRIVAL), interarrival),
        leave: value("leave")?.unwrap_or(DEFAULT_LEAVE),
    };
    Ok((junction, degrees.is_some()))
}

/// The length of a route (km): `km`, or `length` in meters.
pub(super) fn km(attributes: &Attributes) -> Result<f64, Flaw> {
    if let Some(km) = number(attributes, "km")? {
        return Ok(km);
    }
    let meters = number(attributes, "length")?;
    meters.map(|meters| meters / 1000.0).ok_or_else(|| {
        Flaw::new("a route has no length", "`km` in kilometers, or `length` in meters")
    })
}

/// The name of a route: the first attribute of these that it has, or its ends.
pub(super) fn route_name(attributes: &Attributes, from: &str, to: &str) -> String {
    let names = ["name", "motorway", "ref", "id"];
    let mut names = names.iter().filter_map(|name| attributes.get(*name));
    let own = names.find(|name| !name.is_empty());
    own.map_or_else(|| format!("{from} - {to}"), |own| format!("{own} {from} - {to}"))
}
