//! Files of networks: the same network in every format, what is refused and where, and input that
//! is no network at all.
//!
//! `PROPTEST_CASES=100000 cargo test -p warpline-traffic --test formats` tries many more mutations.
//!
//! # Mutations of the readers, each seen red
//!
//! - `Draft::add_route` joins no opposite links: SUMO's network has four routes.
//! - `Lines::of` counts from 0: the errors of JSON name the line before.
//! - `read_text` does not strip the byte order mark: the table has no column `from`.

use std::path::Path;

use proptest::prelude::*;
use warpline_traffic::{formats::read_text, network::Network};

const CSV: &str = "\
# a comment
motorway,from,to,km,from_lon,from_lat,to_lon,to_lat,from_interarrival,from_leave
A1,Milano,Piacenza,57,9.19,45.46,9.73,45.03,60,0.5
A1,Piacenza,Parma,47,9.73,45.03,10.24,44.84,,
";

const JSON: &str = r#"{
  "directed": false, "multigraph": false, "graph": {},
  "nodes": [
    {"id": "Milano", "lon": 9.19, "lat": 45.46, "interarrival": 60, "leave": 0.5},
    {"id": "Piacenza", "lon": 9.73, "lat": 45.03},
    {"id": "Parma", "lon": 10.24, "lat": 44.84}
  ],
  "links": [
    {"source": "Milano", "target": "Piacenza", "km": 57, "motorway": "A1"},
    {"source": "Piacenza", "target": "Parma", "length": 47000, "motorway": "A1"}
  ]
}"#;

const GRAPHML: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="lon" attr.type="double"/>
  <key id="d1" for="node" attr.name="lat" attr.type="double"/>
  <key id="d2" for="node" attr.name="interarrival" attr.type="double"/>
  <key id="d3" for="node" attr.name="leave" attr.type="double"/>
  <key id="d4" for="edge" attr.name="km" attr.type="double"/>
  <key id="d5" for="edge" attr.name="motorway" attr.type="string"/>
  <graph edgedefault="undirected">
    <node id="Milano"><data key="d0">9.19</data><data key="d1">45.46</data>
      <data key="d2">60</data><data key="d3">0.5</data></node>
    <node id="Piacenza"><data key="d0">9.73</data><data key="d1">45.03</data></node>
    <node id="Parma"><data key="d0">10.24</data><data key="d1">44.84</data></node>
    <edge source="Milano" target="Piacenza"><data key="d4">57</data><data key="d5">A1</data></edge>
    <edge source="Piacenza" target="Parma"><data key="d4">47</data><data key="d5">A1</data></edge>
  </graph>
</graphml>"#;

const SUMO: &str = r#"<?xml version="1.0"?>
<!-- generated -->
<net version="1.16">
  <location netOffset="0,0"/>
  <edge id=":b_0" function="internal"><lane id=":b_0_0" index="0" speed="13" length="5"/></edge>
  <edge id="ab" from="a" to="b"><lane id="ab_0" index="0" speed="36" length="1000.5"/></edge>
  <edge id="-ab" from="b" to="a"><lane id="-ab_0" index="0" speed="36" length="999.5"/></edge>
  <edge id="bc" from="b" to="c"><lane id="bc_0" index="0" speed="36" length="500"/></edge>
  <edge id="-bc" from="c" to="b"><lane id="-bc_0" index="0" speed="36" length="500"/></edge>
  <edge id="ca" from="c" to="a"><lane id="ca_0" index="0" speed="36" length="700"/></edge>
  <junction id="a" type="dead_end" x="0.0" y="0.0"/>
  <junction id="b" type="priority" x="1000.0" y="0.0"/>
  <junction id="c" type="priority" x="1000.0" y="500.0"/>
  <junction id=":b_0" type="internal" x="1.0" y="1.0"/>
</net>"#;

const TEXT: &str = "\
# name, mean interarrival, leave probability
[INTERSECTIONS]
Milano, 60, 0.5
Piacenza, 45, 0.3
Parma, 45, 0.3
[ROUTES]
A1 Milano - Piacenza, Milano, Piacenza, 57
A1 Piacenza - Parma; Piacenza; Parma; 47
";

/// Each format with a name and a sound file.
const ALL: [(&str, &str); 5] = [
    ("roads.csv", CSV),
    ("roads.json", JSON),
    ("roads.graphml", GRAPHML),
    ("roads.net.xml", SUMO),
    ("roads.txt", TEXT),
];

fn read(name: &str, text: &str) -> Network {
    read_text(Path::new(name), text).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(name: &str, text: &str) -> String {
    let read = read_text(Path::new(name), text);
    read.map(|network| panic!("{text} is read as {network:?}")).unwrap_err().to_string()
}

#[test]
fn formats_have_the_same_network() {
    let table = read("roads.csv", CSV);
    assert_eq!(read("roads.json", JSON), table);
    assert_eq!(read("roads.graphml", GRAPHML), table);
    let mut text = read("roads.txt", TEXT);
    assert!(text.junctions.iter().all(|junction| junction.at.is_none()));
    text.geographic = true;
    for (junction, other) in text.junctions.iter_mut().zip(&table.junctions) {
        junction.at = other.at;
    }
    assert_eq!(text, table);
    assert_eq!(read("roads.csv", &format!("\u{feff}{CSV}")), table);
    assert_eq!(read("ROADS.CSV", &CSV.replace('\n', "\r\n")), table);
}

/// Opposite edges are one route; what lies inside junctions is left out.
#[test]
fn sumo_networks_are_read() {
    let network = read("town.net.xml", SUMO);
    let names: Vec<_> = network.junctions.iter().map(|junction| junction.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let routes = network.routes.iter().map(|route| (route.from, route.to, route.km, route.one_way));
    let expected = [(0, 1, 1.0, false), (1, 2, 0.5, false), (2, 0, 0.7, true)];
    assert_eq!(routes.collect::<Vec<_>>(), expected);
    assert_eq!(network.junctions[2].at.map(|at| (at.x, at.y)), Some((1.0, 0.5)));
}

/// NetworkX calls links `edges` since version 3.6, and OSMnx writes lengths in meters.
#[test]
fn directed_graphs_have_one_way_routes() {
    let text = r#"{"directed": true, "nodes": [{"id": 1}, {"id": 2}],
        "edges": [{"source": 1, "target": 2, "length": 250.0, "key": 0}]}"#;
    let network = read("osm.json", text);
    assert_eq!(network.routes.len(), 1);
    assert!(network.routes[0].one_way);
    assert_eq!(network.routes[0].km, 0.25);
    assert_eq!(network.junctions[0].interarrival, Some(45.0));
}

/// 0 is no car at all.
#[test]
fn junctions_without_cars_that_join() {
    let network = read("n.txt", "[INTERSECTIONS]\na 0 1\nb 45 0\n[ROUTES]\nr a b 2\n");
    assert_eq!(network.junctions[0].interarrival, None);
    assert_eq!(network.junctions[1].interarrival, Some(45.0));
}

/// NAMES-A, and everything else that is refused. Every refusal names the file, the line and what is
/// allowed.
#[test]
fn refusals_name_the_line() {
    let cases = [
        ("a.csv", "from,to\n", "a.csv: there is no junction"),
        ("a.csv", "from,km\na,5\n", "a.csv:1: there is no column `to`"),
        ("a.csv", "from,to,km\na,b,5\nb,c,x\n", "a.csv:3: `km` is `x`; it has to be a number"),
        ("a.csv", "from,to,km\na,b\n", "a.csv:2: 2 values for 3 columns"),
        ("a.csv", "from,to,km\na,b,-5\n", "a.csv:2: the length of `a - b` is -5 km"),
        ("a.csv", "from,to,km\na,b,inf\n", "a.csv:2: the length of `a - b` is inf km"),
        ("a.csv", "from,to,km,one_way\na,b,5,maybe\n", "a.csv:2: `one_way` is `maybe`; yes or no"),
        ("a.csv", "from,to,km\n,b,5\n", "a.csv:2: a junction has no name"),
        ("a.csv", "from,to,from_leave,km\na,b,2,5\n", "a.csv:2: the leave probability of `a` is 2"),
        ("a.json", "{\"nodes\": [],\n \"links\": [}", "a.json:2: "),
        ("a.json", "[]", "a.json:1: "),
        ("a.json", "{\"nodes\": [\n{\"id\": 1},\n{\"ix\": 2}], \"links\": []}", "a.json:3: `id`"),
        (
            "a.json",
            "{\"nodes\": [{\"id\": 1}],\n\"links\": [{\"source\": 1,\n\"target\": 7}]}",
            "a.json:2: there is no junction `7`; a junction of the file, such as `1`",
        ),
        ("a.json", "{\"nodes\": [3], \"links\": []}", "a.json:1: this is no object"),
        ("a.graphml", "<graphml>\n<grap/></graphml>", "a.graphml:1: there is no `graph`"),
        ("a.graphml", "<graphml>\n<graph></graphml>", "a.graphml:2: "),
        ("a.graphml", "<graphml><graph>\n<node/></graph></graphml>", "a.graphml:2: `node` has no"),
        ("a.net.xml", "<routes/>", "a.net.xml:1: the file is a `routes`; a `net`"),
        (
            "a.net.xml",
            "<net><junction id='a'/>\n<edge id='e' from='a' to='a'/></net>",
            "a.net.xml:2: an edge has no lane",
        ),
        ("a.txt", "a, 1, 2\n", "a.txt:1: a line before the first section; begin with"),
        ("a.txt", "[CITIES]\n", "a.txt:1: there is no section `CITIES`; [INTERSECTIONS]"),
        ("a.txt", "[INTERSECTIONS]\na, 45, 0.3\na, 45, 0.3\n", "a.txt:3: the junction `a` occurs"),
        ("a.txt", "[INTERSECTIONS]\na, 45\n", "a.txt:2: 2 values in this line; an intersection is"),
        ("a.txt", "[INTERSECTIONS]\na, -1, 0.3\n", "a.txt:2: the mean interarrival time of `a`"),
        ("a.txt", "[INTERSECTIONS]\na, 1, NaN\n", "a.txt:2: the leave probability of `a` is NaN"),
        (
            "a.txt",
            "[INTERSECTIONS]\na, 1, 0\n\n[ROUTES]\nr, a, b, 1\n",
            "a.txt:5: there is no junction `b`; a junction of the file, such as `a`",
        ),
        ("a.txt", "", "a.txt: there is no junction"),
        ("a.yaml", "", "a.yaml: the format is not known by this name; *.csv, *.json"),
    ];
    for (name, text, begin) in cases {
        let found = refusal(name, text);
        assert!(found.starts_with(begin), "{text:?}:\n  {found}\nand not\n  {begin}");
        assert!(found.contains("; "), "{found}: nothing is said to be allowed");
    }
}

/// A file that is no text, one that is not there, and one that never ends.
#[test]
fn files_that_cannot_be_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("roads.txt");
    let error = warpline_traffic::formats::read(&path).expect_err("it is not there").to_string();
    assert!(error.contains("roads.txt: ") && error.ends_with("a file that can be read"), "{error}");
    std::fs::write(&path, b"[ROUTES]\n\xff\n").expect("it can be written");
    let error = warpline_traffic::formats::read(&path).expect_err("it is no text").to_string();
    assert!(error.contains("roads.txt:2: this line is no text"), "{error}");
}

/// Entities that would grow a thousandfold at each level are refused.
#[test]
fn entities_do_not_explode() {
    let mut text = "<!DOCTYPE graphml [<!ENTITY a0 'x'>".to_owned();
    for n in 1..12 {
        let inner = format!("&a{};", n - 1).repeat(100);
        text += &format!("<!ENTITY a{n} '{inner}'>");
    }
    text += "]><graphml>&a11;</graphml>";
    assert!(refusal("bomb.graphml", &text).starts_with("bomb.graphml:1: "));
}

proptest! {
    /// No text makes a reader panic.
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}", which in 0_usize..5) {
        let _ = read_text(Path::new(ALL[which].0), &text);
    }

    /// Nor does a sound file with pieces cut out, doubled, or replaced by what is significant.
    #[test]
    fn mutated_files_are_read_or_refused(
        which in 0_usize..5,
        edits in proptest::collection::vec((any::<u16>(), 0_usize..30, 0_usize..16), 1..6),
    ) {
        const PIECES: [&str; 16] = [
            "", "\"", "<", ">", "/", "{", "}", "[", "]", ",", "\n", "-1e999", "NaN", "&", "\u{0}",
            "9999999999999999999999",
        ];
        let (name, sound) = ALL[which];
        let mut text = sound.to_owned();
        for (at, length, piece) in edits {
            let floor = |index: usize| (0..=index.min(text.len())).rev()
                .find(|&index| text.is_char_boundary(index)).unwrap_or(0);
            let begin = floor(usize::from(at) % (text.len() + 1));
            let end = floor(begin + length).max(begin);
            text.replace_range(begin..end, PIECES[piece]);
        }
        if let Ok(network) = read_text(Path::new(name), &text) {
            // What is read is sound.
            for route in &network.routes {
                prop_assert!(route.from.max(route.to) < network.junctions.len());
                prop_assert!(route.km > 0.0 && route.km.is_finite());
            }
            for junction in &network.junctions {
                prop_assert!((0.0..=1.0).contains(&junction.leave));
                prop_assert!(junction.interarrival.is_none_or(|mean| mean > 0.0));
            }
        }
    }
}
