//! The parameters of the hypercube, as commands and files have them.

use serde::{Deserialize, Serialize};
use warpline::{AnyModel, ConfigError, Figure, Results};

use super::{Hypercube, HypercubeOutput};
use crate::catalog::{Domain, Hold, Load, Parameters, Workload};

/// The largest dimension: a node has the state of this number of links.
pub const DIMENSION_MAX: u32 = 16;

/// The parameters of the hypercube. The defaults are those of the buffer paper, where it gives
/// them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct HypercubeParams {
    /// Dimension D of the cube: 2^D nodes with D outgoing links each
    #[arg(long, value_name = "D", default_value_t = Self::default().dimension)]
    pub dimension: u32,
    /// Number of messages in the network, distributed evenly over the nodes at the start
    #[arg(long, value_name = "N", default_value_t = Self::default().messages)]
    pub messages: usize,
    /// Shortest message, in time units that it occupies a link
    #[arg(long, value_name = "T", default_value_t = Self::default().min_length)]
    pub min_length: f64,
    /// Longest message, in time units that it occupies a link; lengths are uniform
    #[arg(long, value_name = "T", default_value_t = Self::default().max_length)]
    pub max_length: f64,
    /// Switch delay of each hop, in time units, during which the link is not occupied
    #[arg(long, value_name = "T", default_value_t = Self::default().latency)]
    pub latency: f64,
    /// What messages queue for: a link each, or all of them for the node, as in the buffer paper
    #[arg(long, value_enum, default_value_t = Self::default().service)]
    pub service: Service,
}

/// What transmits one message at a time, first come, first served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(clap::ValueEnum)]
pub enum Service {
    /// Each link: a node transmits over all its links at once
    #[default]
    Link,
    /// Each node: it transmits over one of its links at a time
    Node,
}

impl Default for HypercubeParams {
    fn default() -> Self {
        Self {
            dimension: 7,
            messages: 2048,
            min_length: 0.5,
            max_length: 1.5,
            latency: 0.0,
            service: Service::Link,
        }
    }
}

impl HypercubeParams {
    /// Checks every parameter.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range: the error names the first one.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let Self { dimension, min_length, max_length, latency, .. } = *self;
        let finite = |x: f64| x.is_finite() && x >= 0.0;
        ConfigError::check(
            (1..=DIMENSION_MAX).contains(&dimension),
            "dimension",
            dimension,
            &format!("from 1 to {DIMENSION_MAX}"),
        )?;
        ConfigError::check(finite(min_length), "min-length", min_length, "0 or more, and finite")?;
        ConfigError::check(
            max_length.is_finite() && max_length >= min_length,
            "max-length",
            max_length,
            &format!("at least --min-length ({min_length}), and finite"),
        )?;
        ConfigError::check(finite(latency), "latency", latency, "0 or more, and finite")?;
        ConfigError::check(
            max_length + latency > 0.0,
            "max-length",
            max_length,
            "greater than 0 when the latency is 0, or time would stand still",
        )
    }

    pub(super) fn nodes(&self) -> usize {
        1 << self.dimension
    }

    /// What serves messages in a node.
    pub(super) fn servers(&self) -> usize {
        match self.service {
            Service::Link => self.dimension as usize,
            Service::Node => 1,
        }
    }

    /// The time units that a message occupies a link, on average.
    fn mean_length(&self) -> f64 {
        0.5 * (self.min_length + self.max_length)
    }

    /// The mean distance between two different nodes.
    fn mean_hops(&self) -> f64 {
        let nodes = self.nodes() as f64;
        0.5 * f64::from(self.dimension) * nodes / (nodes - 1.0)
    }

    /// A rough mean latency: with few messages, that without queues; with many messages, that with
    /// all servers busy, by Little's law.
    pub(super) fn typical_latency(&self) -> f64 {
        let servers = (self.nodes() * self.servers()) as f64;
        let unhindered = self.mean_hops() * (self.mean_length() + self.latency);
        let saturated = self.messages as f64 * self.mean_hops() * self.mean_length() / servers;
        unhindered.max(saturated)
    }
}

impl Parameters for HypercubeParams {
    const MODEL: &'static str = "hypercube";
    const ABOUT: &'static str =
        "Messages routed through a binary hypercube with first-come-first-served links";
    const END: f64 = 10_000.0;

    fn model(self) -> Result<AnyModel, ConfigError> {
        Ok(AnyModel::new(Hypercube::new(self)?))
    }

    fn events_at_start(&self) -> u64 {
        self.messages as u64
    }

    fn results() -> Vec<Figure> {
        HypercubeOutput::default().figures()
    }

    fn domains() -> &'static [Domain] {
        const {
            &[
                Domain::new("dimension", "", "from 1 to 16"),
                Domain::new("messages", "", "0 or more"),
                Domain::new("min-length", "time units", "0 or more"),
                Domain::new("max-length", "time units", "at least --min-length"),
                Domain::new("latency", "time units", "0 or more"),
                Domain::new("service", "", "one of the words"),
            ]
        }
    }

    fn workloads() -> Vec<Workload> {
        vec![Workload {
            name: "W4",
            title: "hypercube: dimension 7, 2 048 messages",
            params: Self::default().into(),
            end: 3_000.0,
            bare: Load::Hold(Hold { lps: 128, population: 2048, remote: 1.0, lookahead: 0.0 }),
        }]
    }
}
