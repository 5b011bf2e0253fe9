//! Random networks with random packets: every engine commits what the sequential one does, writes
//! the same tables, and no packet is lost.
//!
//! # Mutation of the model, seen red
//!
//! - `Node::forward` leaves the delay out: an engine finds a broken lookahead.

use std::{fs, path::Path};

use proptest::prelude::*;
use warpline::{
    Conservative, Engine, Results, Sequential, Simulation, Speculative, TimeWarp,
    settings::{Synchronization, SynchronizationKind},
};
use warpline_network::{
    model::Network,
    params::{Arrivals, NetworkParams, Pattern},
};

/// All shapes, small.
fn topologies() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "fat-tree:2",
        "fat-tree:4",
        "leaf-spine:3x2x2",
        "dragonfly:2x1x1",
        "ring:5",
        "grid:3x2",
    ])
}

/// A network with two links between two nodes, a loop, and two leaves.
const FILE: &str = "# a comment
0 1 1000000000 400000 3
1 2 3000000000 0 2 # short
1 2 3000000000 7 1
2 3 1000000000 1000 0
1 4 70000000 9999 5
4 2 8000000 1 5
";

/// Parameters in all ranges, extremes among them.
fn params() -> impl Strategy<Value = NetworkParams> {
    let patterns =
        vec![Pattern::Uniform, Pattern::Permutation, Pattern::Incast, Pattern::AllReduce];
    let arrivals = vec![Arrivals::Constant, Arrivals::Poisson, Arrivals::OnOff];
    let sending = (
        prop::sample::select(patterns),
        prop::sample::select(arrivals),
        prop::sample::select(vec![0.1, 0.7, 1.0]),
        prop::sample::select(vec!["1", "98,498,1498", "65535"]),
        1_u32..30,
        prop::sample::select(vec![None, Some(0), Some(7)]),
    );
    let links = (
        topologies(),
        prop::sample::select(vec![0.5, 10.0, 99.9]),
        prop::sample::select(vec![1.0, 1e3, 1e6]),
        prop::sample::select(vec![0.0, 0.9]),
        0_u32..6,
        prop::sample::select(vec![None, Some(1), Some(3)]),
    );
    (sending, links, 1_u32..5, 1_u64..9_000).prop_map(|(sending, links, fan_in, chunk)| {
        let (traffic, arrivals, load, sizes, flow, per_host) = sending;
        let (topology, rate, delay, delay_spread, queue, mark_at) = links;
        NetworkParams {
            topology: topology.parse().expect("a topology"),
            rate,
            delay,
            delay_spread,
            queue,
            mark_at,
            traffic,
            arrivals,
            load,
            sizes: sizes.parse().expect("sizes"),
            flow_packets: flow,
            fan_in,
            chunk,
            per_host,
            ..NetworkParams::default()
        }
    })
}

/// What a run committed, its results with every bit, and its tables.
#[derive(Debug, PartialEq)]
struct Outcome {
    digest: String,
    figures: Vec<(String, u64)>,
    packets: String,
    links: String,
}

fn outcome(params: &NetworkParams, engine: Engine, folder: &Path) -> Outcome {
    let (packets, links) = (folder.join("packets.csv"), folder.join("links.csv"));
    let params = NetworkParams {
        packet_table: Some(packets.clone()),
        link_table: Some(links.clone()),
        ..params.clone()
    };
    let mut model = Network::new(params.clone()).expect("sound parameters");
    let recorder = model.record().expect("files").expect("a recorder");
    let report = Simulation::new(model).seed(7).end(3e7).engine(engine).run();
    let report = report.unwrap_or_else(|error| panic!("{error}: {params:?}"));
    recorder.finish().into_iter().for_each(|file| drop(file.expect("a file")));
    let output = &report.output;
    let under_way = output.sent() - output.delivered() - output.dropped();
    let packets = fs::read_to_string(packets).expect("a table");
    let rows = packets.lines().count() as u64 - 1;
    assert_eq!(rows + under_way, output.sent(), "{params:?}");
    let figures = output.figures().into_iter();
    Outcome {
        digest: report.digest.to_string(),
        figures: figures.map(|figure| (figure.name.to_string(), figure.value.to_bits())).collect(),
        packets,
        links: fs::read_to_string(links).expect("a table"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 32,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_engine_commits_the_same(
        params in params(), from_file in any::<bool>(), workers in 1_usize..4,
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut params = params;
        if from_file {
            let path = folder.path().join("net.txt");
            fs::write(&path, FILE).expect("it can be written");
            params.topology = path.to_str().expect("a name").parse().expect("a file");
        }
        let oracle = outcome(&params, Sequential::default().into(), folder.path());
        let windows = Conservative { workers, ..Conservative::default() };
        let synchronization = Synchronization::new(SynchronizationKind::NullMessages, 8);
        let engines: [Engine; 4] = [
            TimeWarp { workers, ..TimeWarp::default() }.into(),
            Speculative { workers, ..Speculative::default() }.into(),
            Conservative { synchronization, ..windows.clone() }.into(),
            windows.into(),
        ];
        for engine in engines {
            let name = format!("{engine:?}");
            let found = outcome(&params, engine, folder.path());
            prop_assert_eq!(&found, &oracle, "{} {:?}", name, params);
        }
    }
}
