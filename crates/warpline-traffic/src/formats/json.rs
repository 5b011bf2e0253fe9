//! Networks as node-link JSON, which NetworkX writes with `node_link_data`.
//!
//! `nodes` have an `id`, and `links` (or `edges`) have a `source`, a `target` and a length. If the
//! graph is `directed`, cars drive along a link from its source to its target only.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::{
    attributes::{self, Attributes},
    draft::Draft,
};
use crate::{
    error::{FileError, Flaw},
    network::{Network, Route},
};

const FORM: &str = "an object with `nodes` and `links`, as NetworkX's node_link_data makes it";

/// The whole file. Nodes and links stay text, because the text knows its line.
#[derive(Deserialize)]
struct Graph<'a> {
    #[serde(default)]
    directed: bool,
    #[serde(borrow)]
    nodes: Vec<&'a RawValue>,
    #[serde(borrow, alias = "edges")]
    links: Vec<&'a RawValue>,
}

/// Reads a network.
pub(super) fn read(path: &Path, text: &str) -> Result<Network, FileError> {
    let broken = |error: serde_json::Error| {
        let line = Some(error.line()).filter(|&line| line > 0);
        Flaw::new(error.to_string(), FORM).at(path, line)
    };
    let graph: Graph<'_> = serde_json::from_str(text).map_err(broken)?;
    let lines = Lines::new(text);
    let (mut draft, mut geographic) = (Draft::default(), false);
    for raw in graph.nodes {
        let added = add_node(&mut draft, raw);
        geographic |= added.map_err(|flaw| flaw.at(path, lines.of(raw)))?;
    }
    for raw in graph.links {
        let added = add_link(&mut draft, raw, graph.directed);
        added.map_err(|flaw| flaw.at(path, lines.of(raw)))?;
    }
    Ok(draft.finish(geographic))
}

fn add_node(draft: &mut Draft, raw: &RawValue) -> Result<bool, Flaw> {
    let values = values(raw)?;
    let id = required(&values, "id")?;
    let (junction, degrees) = attributes::junction(id, &values, "")?;
    draft.add_junction(junction)?;
    Ok(degrees)
}

fn add_link(draft: &mut Draft, raw: &RawValue, one_way: bool) -> Result<(), Flaw> {
    let values = values(raw)?;
    let (source, target) = (required(&values, "source")?, required(&values, "target")?);
    let (from, to) = (draft.number_of(source)?, draft.number_of(target)?);
    let name = attributes::route_name(&values, source, target);
    draft.add_route(Route { name, from, to, km: attributes::km(&values)?, one_way })
}

fn required<'a>(values: &'a Attributes, name: &str) -> Result<&'a String, Flaw> {
    let missing = || Flaw::new(format!("`{name}` is missing"), "a text or a number");
    values.get(name).ok_or_else(missing)
}

/// The members of an object, as text. Lists and objects among them are left out.
fn values(raw: &RawValue) -> Result<Attributes, Flaw> {
    let no_object = |_| Flaw::new("this is no object", FORM);
    let members: Map<String, Value> = serde_json::from_str(raw.get()).map_err(no_object)?;
    let text = |(name, value)| match value {
        Value::String(text) => Some((name, text)),
        Value::Number(number) => Some((name, number.to_string())),
        Value::Bool(is) => Some((name, is.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    Ok(members.into_iter().filter_map(text).collect())
}

/// The lines of a text.
struct Lines<'a> {
    text: &'a str,
    /// Where each line but the first begins.
    begins: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, begins: text.match_indices('\n').map(|(index, _)| index + 1).collect() }
    }

    /// The line where a part of the text begins.
    fn of(&self, part: &RawValue) -> usize {
        let offset = part.get().as_ptr().addr().wrapping_sub(self.text.as_ptr().addr());
        1 + self.begins.partition_point(|&begin| begin <= offset)
    }
}
