//! Networks as GraphML, which NetworkX, OSMnx, Gephi and yEd write.
//!
//! `key` elements name the attributes; those that count are the ones of the other formats
//! (`attributes.rs`).

use std::{collections::BTreeMap, path::Path};

use roxmltree::{Document, Node};

use super::{
    attributes::{self, Attributes},
    draft::Draft,
};
use crate::{
    error::{FileError, Flaw},
    network::{Network, Route},
};

const FORM: &str = "a `graphml` element with a `graph` of `node` and `edge` elements";

/// Reads a network.
pub(super) fn read(path: &Path, text: &str) -> Result<Network, FileError> {
    let document = document(path, text)?;
    let root = document.root_element();
    let is = |name: &'static str| move |node: &Node<'_, '_>| node.has_tag_name_of(name);
    let keys: BTreeMap<&str, &str> = root
        .children()
        .filter(is("key"))
        .filter_map(|key| key.attribute("id").zip(key.attribute("attr.name")))
        .filter(|(_, name)| attributes::can_count(name))
        .collect();
    let graph = root.children().find(is("graph"));
    let graph = graph.ok_or_else(|| Flaw::new("there is no `graph`", FORM).at(path, 1))?;
    let directed = graph.attribute("edgedefault") == Some("directed");
    let (mut draft, mut geographic) = (Draft::default(), false);
    for node in graph.children().filter(is("node")) {
        let added = add_node(&mut draft, node, &keys);
        geographic |= added.map_err(|flaw| flaw.at(path, line(node)))?;
    }
    for edge in graph.children().filter(is("edge")) {
        let added = add_edge(&mut draft, edge, &keys, directed);
        added.map_err(|flaw| flaw.at(path, line(edge)))?;
    }
    Ok(draft.finish(geographic))
}

fn add_node(
    draft: &mut Draft,
    node: Node<'_, '_>,
    keys: &BTreeMap<&str, &str>,
) -> Result<bool, Flaw> {
    let (junction, degrees) = attributes::junction(required(node, "id")?, &data(node, keys), "")?;
    draft.add_junction(junction)?;
    Ok(degrees)
}

fn add_edge(
    draft: &mut Draft,
    edge: Node<'_, '_>,
    keys: &BTreeMap<&str, &str>,
    directed: bool,
) -> Result<(), Flaw> {
    let (source, target) = (required(edge, "source")?, required(edge, "target")?);
    let (from, to) = (draft.number_of(source)?, draft.number_of(target)?);
    let one_way = match edge.attribute("directed") {
        Some(word) => word == "true",
        None => directed,
    };
    let values = data(edge, keys);
    let name = attributes::route_name(&values, source, target);
    draft.add_route(Route { name, from, to, km: attributes::km(&values)?, one_way })
}

/// The `data` elements of a node or an edge, by the names of their keys.
fn data(of: Node<'_, '_>, keys: &BTreeMap<&str, &str>) -> Attributes {
    let data = of.children().filter(|child| child.has_tag_name_of("data"));
    let named = data.filter_map(|data| {
        let name = keys.get(data.attribute("key")?)?;
        Some(((*name).to_owned(), data.text().unwrap_or_default().trim().to_owned()))
    });
    named.collect()
}

/// The value of an attribute that must be there.
pub(super) fn required<'a>(node: Node<'a, '_>, name: &str) -> Result<&'a str, Flaw> {
    node.attribute(name).ok_or_else(|| {
        let what = format!("`{}` has no `{name}`", node.tag_name().name());
        Flaw::new(what, format!("an attribute {name}=\"...\""))
    })
}

/// Reads XML.
pub(super) fn document<'a>(path: &Path, text: &'a str) -> Result<Document<'a>, FileError> {
    // Files of SUMO and yEd may have a document type; entities of its own are expanded with limits.
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    Document::parse_with_options(text, options).map_err(|error| {
        let line = error.pos().row as usize;
        Flaw::new(error.to_string(), "the file has to be well-formed XML").at(path, line)
    })
}

/// The line where an element begins.
pub(super) fn line(node: Node<'_, '_>) -> usize {
    node.document().text_pos_at(node.range().start).row as usize
}

/// Names without their namespaces.
pub(super) trait LocalName {
    fn has_tag_name_of(&self, name: &str) -> bool;
}

impl LocalName for Node<'_, '_> {
    fn has_tag_name_of(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}
