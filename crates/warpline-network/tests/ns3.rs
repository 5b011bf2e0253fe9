//! Packet for packet what ns-3 does: on each topology, the same packets arrive and are dropped at
//! the same picosecond, after the same links, with the same marks.
//!
//! Packets are drawn by the model; the same network and packets then go through files to ns-3
//! (`ns3/reference.cc`) and to the model. Needs ns-3 with its headers (Debian: libns3-dev,
//! libgsl-dev) and `g++`, so it is built with the feature `ns3` only.
#![cfg(feature = "ns3")]

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use warpline::{Engine, Sequential, Simulation, Speculative, TimeWarp};
use warpline_network::{
    model::Network,
    params::{Arrivals, NetworkParams, Pattern},
    source::Source,
    topology::Topology,
};

/// The time at which sources stop; what is under way then arrives later.
const LAST: f64 = 1e15;

/// What became of a packet: how, when (ps), after how many links, and whether it is marked.
type Fate = (String, u64, u64, u64);

/// A row of the table of packets.
#[derive(Clone, Debug)]
struct Row {
    /// Its source and its number there, or its number in the file.
    source: u64,
    number: u64,
    destination: u64,
    flow: u64,
    bytes: u64,
    sent: u64,
    fate: Fate,
}

fn built(folder: &Path) -> PathBuf {
    let program = folder.join("reference");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ns3/reference.cc");
    let compiled = Command::new("g++")
        .args(["-O1", "-DNDEBUG", "-std=c++17", "-o"])
        .args([&program, &source])
        .args(["-lns3-point-to-point", "-lns3-network", "-lns3-core"])
        .output()
        .expect("g++ is installed");
    let errors = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "is ns-3 installed (libns3-dev, libgsl-dev)?\n{errors}");
    program
}

/// The rows of a run's table.
fn rows(params: NetworkParams, engine: Engine) -> Vec<Row> {
    let path = params.packet_table.clone().expect("a table");
    let mut model = Network::new(params).expect("sound parameters");
    let recorder = model.record().expect("a file that can be written").expect("a recorder");
    Simulation::new(model).end(LAST).engine(engine).run().expect("a sound run");
    recorder.finish().into_iter().for_each(|file| drop(file.expect("a written file")));
    let text = fs::read_to_string(path).expect("a table");
    text.lines().skip(1).map(row).collect()
}

fn row(line: &str) -> Row {
    let cells: Vec<_> = line.split(',').collect();
    let number = |n: usize| cells[n].parse::<u64>().expect("a whole number");
    Row {
        source: number(0),
        number: number(1),
        destination: number(2),
        flow: number(3),
        bytes: number(4),
        sent: number(5),
        fate: (cells[8].to_owned(), number(6), number(7), number(9)),
    }
}

/// What ns-3 says, by the number of the packet.
fn reference(program: &Path, topology: &Path, packets: &Path, mark_at: Option<u32>) -> Vec<Fate> {
    let mark = mark_at.map(|mark| mark.to_string());
    let run =
        Command::new(program).arg(topology).arg(packets).args(mark).output().expect("it runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let text = String::from_utf8(run.stdout).expect("text");
    let fate = |line: &str| {
        let words: Vec<_> = line.split(' ').collect();
        let number = |n: usize| words[n].parse::<u64>().expect("a whole number");
        (words[1].to_owned(), number(2), number(3), number(4))
    };
    text.lines().map(fate).collect()
}

fn write_topology(path: &Path, topology: &Topology) {
    let text = topology.links.iter().fold(String::new(), |mut text, link| {
        let [a, b] = link.ends;
        writeln!(text, "{a} {b} {} {} {}", link.rate, link.delay, link.queue).expect("a string");
        text
    });
    fs::write(path, text).expect("it can be written");
}

fn write_packets(path: &Path, rows: &[Row]) {
    let text = rows.iter().fold(String::new(), |mut text, row| {
        let Row { source, destination, flow, bytes, sent, .. } = row;
        writeln!(text, "{sent} {source} {destination} {bytes} {flow}").expect("a string");
        text
    });
    fs::write(path, text).expect("it can be written");
}

/// The network that `model.rs` has, too: two hosts at a switch, with queues for one packet.
const SWITCH: &str = "0 2 10000000000 1000 1\n1 2 10000000000 2000 1\n";

/// Packets at the very time when a link becomes free: as many as wait are dropped or not.
const TIES: &str = "0 0 1 98 1\n80000 0 1 98 1\n80000 0 1 98 1\n160000 0 1 98 1\n161000 1 0 98 1
240000 0 1 98 2\n240000 0 1 98 2\n";

/// The networks and packets: each with drops, or with marks, or without.
fn cases() -> Vec<NetworkParams> {
    let of = |topology: &str, per_host, load| NetworkParams {
        topology: topology.parse().expect("a topology"),
        per_host: Some(per_host),
        load,
        queue: 8,
        ..NetworkParams::default()
    };
    let on_off = Arrivals::OnOff;
    vec![
        NetworkParams { queue: 64, ..of("fat-tree:4", 1_000, 0.6) },
        NetworkParams { mark_at: Some(3), ..of("fat-tree:4", 600, 0.9) },
        of("fat-tree:8", 150, 0.8),
        NetworkParams { rate: 3.0, arrivals: on_off, ..of("dragonfly:4x2x2", 150, 0.4) },
        NetworkParams {
            traffic: Pattern::Incast,
            arrivals: on_off,
            rate: 7.0,
            queue: 20,
            mark_at: Some(10),
            fan_in: 5,
            ..of("leaf-spine:4x3x6", 300, 0.2)
        },
        NetworkParams {
            traffic: Pattern::AllReduce,
            chunk: 10_000,
            queue: 1_000,
            ..of("leaf-spine:3x2x4", 300, 1.0)
        },
        NetworkParams {
            traffic: Pattern::Permutation,
            arrivals: Arrivals::Constant,
            rate: 0.933,
            queue: 3,
            ..of("ring:9", 300, 0.5)
        },
        NetworkParams { queue: 1, ..of("grid:5x4", 300, 0.3) },
    ]
}

/// What ns-3 does with packets by hand, which `model.rs` has computed by hand.
fn check_ties(program: &Path, [topology, packets, table]: [&Path; 3]) {
    fs::write(topology, SWITCH).expect("it can be written");
    fs::write(packets, TIES).expect("it can be written");
    let params = NetworkParams {
        topology: Source::File(topology.to_owned()),
        packets: Some(packets.to_owned()),
        packet_table: Some(table.to_owned()),
        ..NetworkParams::default()
    };
    let expected = reference(program, topology, packets, None);
    assert_eq!(expected[2], ("dropped".to_owned(), 80_000, 1, 0));
    let mut found = rows(params, Sequential::default().into());
    found.sort_by_key(|row| row.number);
    assert_eq!(found.into_iter().map(|row| row.fate).collect::<Vec<_>>(), expected);
}

#[test]
fn every_packet_does_what_it_does_in_ns3() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = built(folder.path());
    let at = |name: &str| folder.path().join(name);
    let (topology, packets, table) = (at("net.topology"), at("net.packets"), at("net.csv"));
    check_ties(&program, [&topology, &packets, &table]);
    let mut wrong = String::new();
    let (mut all, mut dropped, mut marked) = (0, 0, 0);
    for drawn in cases() {
        let drawn = NetworkParams { packet_table: Some(table.clone()), ..drawn };
        write_topology(&topology, Network::new(drawn.clone()).expect("a network").topology());
        let first = rows(drawn.clone(), Sequential::default().into());
        write_packets(&packets, &first);
        let expected = reference(&program, &topology, &packets, drawn.mark_at);
        assert_eq!(expected.len(), first.len(), "ns-3 has lost packets: {drawn:?}");
        let from_files = NetworkParams {
            topology: Source::File(topology.clone()),
            packets: Some(packets.clone()),
            ..drawn.clone()
        };
        let mut note = |how: &str, number: usize, found: &Fate| {
            if *found != expected[number] && wrong.len() < 4_000 {
                let topology = &drawn.topology;
                let expected = &expected[number];
                writeln!(wrong, "{topology}, {how}: packet {number} {found:?}, not {expected:?}")
                    .expect("a string");
            }
        };
        // The file has the packets in the order of the table of the first run.
        first.iter().enumerate().for_each(|(n, row)| note("drawn", n, &row.fate));
        let engines: [(&str, Engine); 3] = [
            ("sequential", Sequential::default().into()),
            ("speculative", Speculative { workers: 2, ..Speculative::default() }.into()),
            ("timewarp", TimeWarp { workers: 2, ..TimeWarp::default() }.into()),
        ];
        for (name, engine) in engines {
            let found = rows(from_files.clone(), engine);
            assert_eq!(found.len(), expected.len());
            found.iter().for_each(|row| note(name, row.number as usize, &row.fate));
        }
        all += expected.len();
        dropped += expected.iter().filter(|fate| fate.0 == "dropped").count();
        marked += expected.iter().filter(|fate| fate.3 == 1).count();
    }
    assert!(wrong.is_empty(), "not what ns-3 does:\n{wrong}");
    assert!(all > 50_000 && dropped > 1_000 && marked > 1_000, "{all}, {dropped}, {marked}");
}
