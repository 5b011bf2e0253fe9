//! Packets through switches with queues, on fat trees, dragonflies and other networks.
//!
//! An LP is a host or a switch; virtual time is in picoseconds. The crate `warpline-network` has
//! the model and its parameters. Here is what the command needs to know.
//!
//! # References
//!
//! ns-3 (<https://www.nsnam.org>), at link level: packet for packet the same.

use warpline::{AnyModel, ConfigError, Figure, Results, files::Files};
use warpline_network::{
    error::FileError,
    model::{Network, NetworkError, NetworkOutput},
    output::{Marks, Recorder},
};
pub use warpline_network::{
    params::{Arrivals, NetworkParams, Pattern, Sizes},
    source::Source,
};

use crate::{
    catalog::{Domain, Hold, Load, Parameters, Prepared, Refusal, RunSetup, TimeUnit, Workload},
    tables::{Tables, tables},
};

impl Parameters for NetworkParams {
    const MODEL: &'static str = "network";
    const ABOUT: &'static str =
        "A packet network: switches, full queues, equal-cost routes; exact against ns-3";
    /// A millisecond.
    const END: f64 = 1e9;
    const TIME: Option<TimeUnit> = Some(TimeUnit::PICOSECOND);

    fn model(self) -> Result<AnyModel, ConfigError> {
        let topology = self.topology.to_string();
        match Network::new(self) {
            Ok(model) => Ok(model.into_any()),
            Err(NetworkError::Config(error)) => Err(error),
            Err(NetworkError::File(error)) => {
                Err(ConfigError::new("topology", topology, format!("a sound network: {error}")))
            }
        }
    }

    fn prepare(self, run: &RunSetup) -> Result<Prepared, Refusal> {
        // The packets of a file end; those that are drawn do not.
        let end = if self.packets.is_some() { f64::INFINITY } else { Self::END };
        let mut model = Network::new(self)?;
        let recording = Recorder::recording(run, |goes_on| {
            if goes_on { model.record_further() } else { model.record() }
        })?;
        Ok(Prepared { end, recording, ..Prepared::of(model.into_any()) })
    }

    fn files(&self) -> Files {
        self.files()
    }

    fn end_in_words() -> String {
        format!("{} {}, or when all packets of a file are gone", Self::END, TimeUnit::PICOSECOND)
    }

    fn results() -> Vec<Figure> {
        NetworkOutput::default().figures()
    }

    fn workloads() -> Vec<Workload> {
        let topology = "fat-tree:16".parse().expect("a topology");
        vec![Workload {
            name: "W8",
            title: "network: fat tree of 16-port switches, 1 344 LPs, load 0.6, Poisson",
            params: Self { topology, ..Self::default() }.into(),
            // Some 600 packets of each of 1 024 hosts.
            end: 5.6e8,
            bare: Load::Hold(Hold { lps: 1344, population: 11_000, remote: 0.9, lookahead: 0.5 }),
        }]
    }

    fn domains() -> &'static [Domain] {
        const {
            &[
                Domain::new("topology", "", "a shape with its sizes, or a file"),
                Domain::new("rate", "Gbit/s", "0.000001 to 100000"),
                Domain::new("delay", "ps", "1 ps to 1 s"),
                Domain::new("delay-spread", "", "0 or more, below 1"),
                Domain::new("queue", "packets", "0 or more"),
                Domain::new("mark-at", "packets", "1 or more"),
                Domain::new("packets", "", "a file"),
                Domain::new("traffic", "", "one of the words"),
                Domain::new("arrivals", "", "one of the words"),
                Domain::new("load", "", "above 0, at most 1"),
                Domain::new("sizes", "bytes", "1 to 65535 each"),
                Domain::new("flow-packets", "packets", "1 to 1000000"),
                Domain::new("fan-in", "hosts", "1 to 1000000"),
                Domain::new("chunk", "bytes", "1 to 1073741824"),
                Domain::new("per-host", "packets", "0 or more"),
                Domain::new("packet-table", "", "a file that can be written"),
                Domain::new("link-table", "", "a file that can be written"),
            ]
        }
    }
}

tables!(Recorder, Marks, FileError);
