//! What happens to single packets, computed by hand; and what is wrong with files.
//!
//! # Mutations of the model, each seen red
//!
//! - `Port::queue` takes a link for free whose last packet ends now: the first of the ties.
//! - `Port::begin_until` begins what begins now, whatever was known first: `a_full_queue_drops`,
//!   and the ns-3 test.

use std::{fs, path::Path};

use tempfile::TempDir;
use warpline::{Results, Sequential, Simulation, any_model::AnyOutput};
use warpline_network::{model::Network, params::NetworkParams};

/// Two hosts at a switch: 0, 1, and the switch 2. A byte takes 0.8 ns, a link 1 ns or 2 ns.
const LINKS: &str = "0 2 10000000000 1000 1\n1 2 10000000000 2000 1\n";

fn params(folder: &Path, links: &str, packets: &str) -> NetworkParams {
    let [topology, list, table] =
        ["net.txt", "packets.txt", "out.csv"].map(|name| folder.join(name));
    fs::write(&topology, links).expect("it can be written");
    fs::write(&list, packets).expect("it can be written");
    NetworkParams {
        topology: topology.to_str().expect("a name").parse().expect("a file"),
        packets: Some(list),
        packet_table: Some(table),
        ..NetworkParams::default()
    }
}

/// The rows of a run: number, time of the end, links, fate, mark; with a result.
fn run(links: &str, packets: &str, mark_at: Option<u32>, figure: &str) -> (Vec<String>, f64) {
    let folder = tempfile::tempdir().expect("a folder");
    let params = NetworkParams { mark_at, ..params(folder.path(), links, packets) };
    let table = params.packet_table.clone().expect("a table");
    let mut model = Network::new(params).expect("sound files");
    let recorder = model.record().expect("a file").expect("a recorder");
    let report = Simulation::new(model.into_any()).engine(Sequential::default()).run();
    let output: AnyOutput = report.expect("a sound run").output;
    recorder.finish().into_iter().for_each(|file| drop(file.expect("a file")));
    let text = fs::read_to_string(table).expect("a table");
    let row = |line: &str| {
        let cells: Vec<_> = line.split(',').collect();
        [1, 6, 7, 8, 9].map(|cell| cells[cell]).join(" ")
    };
    let figures = output.figures();
    let value = figures.iter().find(|found| found.name == figure).expect("a figure").value;
    (text.lines().skip(1).map(row).collect(), value)
}

/// 98 bytes and a header take 80 ns on a link; the second packet waits for the first.
#[test]
fn packets_follow_each_other() {
    let (rows, longest) = run(LINKS, "0 0 1 98 1\n0 0 1 98 1\n", None, "longest_queue");
    assert_eq!(rows, ["0 163000 2 delivered 0", "1 243000 2 delivered 0"]);
    assert_eq!(longest, 1.0);
}

/// One packet is transmitted and one waits: the third finds the queue full, or is marked.
#[test]
fn a_full_queue_drops() {
    let packets = "0 0 1 98 1\n5 0 1 98 1\n7 0 1 98 1\n80000 0 1 98 1\n";
    let (rows, dropped) = run(LINKS, packets, None, "packets_dropped");
    assert_eq!(rows[0], "2 7 1 dropped 0");
    // At 80 ns the second one begins, but the fourth was known before.
    assert_eq!(rows[1], "3 80000 1 dropped 0");
    assert_eq!(dropped, 2.0);
    let links = LINKS.replace(" 1\n", " 9\n");
    let (rows, marked) = run(&links, packets, Some(1), "packets_marked");
    let marks: Vec<_> = rows.iter().filter(|row| row.ends_with(" 1")).collect();
    assert_eq!((marks.len(), marked), (2, 2.0), "{rows:?}");
}

/// At one time, what was known first comes first (PACKET-B).
#[test]
fn ties_go_by_what_was_known_first() {
    // Each packet comes to the switch when the one before leaves it, and was sent before that one
    // began there: it waits for no time at all, in the queue.
    let packets = "0 0 1 98 1\n80000 0 1 98 1\n";
    assert_eq!(run(LINKS, packets, None, "longest_queue").1, 1.0);
    // Two at that time: the first one waits, so there is no place for the second.
    let both = "0 0 1 98 1\n80000 0 1 98 1\n80000 0 1 98 1\n";
    assert_eq!(run(LINKS, both, None, "packets_dropped").1, 1.0);
    // A faster link, so that the second one is sent when the first has long begun at the switch.
    let links = LINKS.replacen("10000000000", "100000000000", 1);
    assert_eq!(run(&links, packets, None, "longest_queue").1, 0.0);
}

/// A wrong file is named with its line, and what to write.
#[test]
fn wrong_files_are_told() {
    let folder: TempDir = tempfile::tempdir().expect("a folder");
    for (links, packets, expected) in [
        ("0 1 1 1\n", "", "net.txt:1: this is no line of five whole numbers; write NODE NODE"),
        ("\n# none\n", "", "net.txt: there is no link"),
        ("0 1 9 1 1\n0 0 1 1 1\n", "", "net.txt:2: a link leads from a node to itself"),
        ("0 1 0 1 1\n", "", "net.txt:1: the rate is out of range"),
        ("0 1048576 1 1 1\n", "", "net.txt:1: a number of a node is too large"),
        ("0 1 9 1 1\n2 3 9 1 1\n", "0 0 3 9 9\n", "no links lead from node 0 to node 3"),
        (LINKS, "0 0 1 9 9\n0 1 1 9 9\n", "packets.txt:2: a packet is sent to its source"),
        (LINKS, "0 0 3 9 9\n", "packets.txt:1: there is no such node"),
        (LINKS, "0 0 1 65536 9\n", "packets.txt:1: the packet is too large"),
        (LINKS, "9007199254740992 0 1 9 9\n", "packets.txt:1: the time is too late"),
        (LINKS, "0.5 0 1 9 9\n", "packets.txt:1: this is no line of five whole numbers"),
    ] {
        let error = Network::new(params(folder.path(), links, packets)).expect_err(expected);
        assert!(error.to_string().contains(expected), "{error}\nand not: {expected}");
    }
}

/// A shape that is none, or too large, is refused where it is typed.
#[test]
fn wrong_shapes_are_told() {
    for (text, expected) in [
        ("fat-tree:3", "even number of ports"),
        ("fat-tree:4294967294", "at most 1048576 nodes"),
        ("torus:3x3", "expected fat-tree:K"),
        ("grid:0x3", "expected fat-tree:K"),
        ("ring:2", "3 nodes or more"),
        ("grid:1x1", "2 nodes or more"),
        ("leaf-spine:4x2", "expected fat-tree:K"),
        ("dragonfly:4294967295x4294967295x4294967295", "at most 1048576 nodes"),
    ] {
        let error = text.parse::<warpline_network::source::Source>().expect_err(expected);
        assert!(error.contains(expected), "{error}");
    }
}

/// A run that ends early costs no older table: the new one takes its place when it is complete.
#[test]
fn an_older_table_stays_until_the_new_one_is_complete() {
    let folder = TempDir::new().expect("a folder");
    let params = params(folder.path(), LINKS, "0 0 1 98 1\n");
    let path = params.packet_table.clone().expect("a table");
    fs::write(&path, "older").expect("it can be written");
    let recorder = || {
        let mut model = Network::new(params.clone()).expect("sound");
        model.record().expect("a file").expect("a recorder")
    };
    drop(recorder());
    assert_eq!(fs::read_to_string(&path).expect("there"), "older");
    assert!(recorder().finish().iter().all(Result::is_ok));
    assert!(fs::read_to_string(&path).expect("there").starts_with("source,"));
}
