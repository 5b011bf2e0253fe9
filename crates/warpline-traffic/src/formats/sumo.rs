//! Networks of SUMO, the traffic simulator: `*.net.xml`.
//!
//! A `junction` is a junction and an `edge` is a one-way route as long as its first lane; two edges
//! in opposite directions are one route. What lies inside junctions (`internal`) is left out.
//! Positions are on a plane. The files do not say how many cars there are, so interarrival times
//! and leave probabilities are the defaults.

use std::path::Path;

use roxmltree::Node;

use super::{
    attributes::parse,
    draft::Draft,
    graphml::{LocalName, document, line, required},
};
use crate::{
    error::{FileError, Flaw},
    network::{Coordinates, DEFAULT_INTERARRIVAL, DEFAULT_LEAVE, Junction, Network, Route},
};

/// Reads a network.
pub(super) fn read(path: &Path, text: &str) -> Result<Network, FileError> {
    let document = document(path, text)?;
    let root = document.root_element();
    if !root.has_tag_name_of("net") {
        let what = format!("the file is a `{}`", root.tag_name().name());
        return Err(Flaw::new(what, "a `net` with `edge` and `junction` elements").at(path, 1));
    }
    let mut draft = Draft::default();
    let parts = |name: &'static str, inner: &'static str| {
        root.children().filter(move |node| {
            let kind = node.attribute("function").or_else(|| node.attribute("type"));
            node.has_tag_name_of(name) && kind != Some(inner)
        })
    };
    for junction in parts("junction", "internal") {
        add_junction(&mut draft, junction).map_err(|flaw| flaw.at(path, line(junction)))?;
    }
    for edge in parts("edge", "internal") {
        add_edge(&mut draft, edge).map_err(|flaw| flaw.at(path, line(edge)))?;
    }
    Ok(draft.finish(false))
}

fn add_junction(draft: &mut Draft, node: Node<'_, '_>) -> Result<(), Flaw> {
    let km = |name| -> Result<Option<f64>, Flaw> {
        let meters = node.attribute(name).map(|meters| parse(name, meters)).transpose()?;
        Ok(meters.map(|meters| meters / 1000.0))
    };
    let at = km("x")?.zip(km("y")?).map(|(x, y)| Coordinates { x, y });
    let name = required(node, "id")?.to_owned();
    let interarrival = Some(DEFAULT_INTERARRIVAL);
    draft.add_junction(Junction { name, at, interarrival, leave: DEFAULT_LEAVE }).map(|_| ())
}

fn add_edge(draft: &mut Draft, edge: Node<'_, '_>) -> Result<(), Flaw> {
    let from = draft.number_of(required(edge, "from")?)?;
    let to = draft.number_of(required(edge, "to")?)?;
    let lane = edge.children().find(|child| child.has_tag_name_of("lane"));
    let lane = lane.ok_or_else(|| Flaw::new("an edge has no lane", "a `lane` with a `length`"))?;
    let km = parse("length", required(lane, "length")?)? / 1000.0;
    let name = required(edge, "id")?.to_owned();
    draft.add_route(Route { name, from, to, km, one_way: true })
}
