//! The workloads that everything is measured on.

use clap::ValueEnum;
use warpline_models::{
    catalog::ModelParams, hypercube::HypercubeParams, pcs::PcsParams, phold::PholdParams,
};

/// A standard workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// PHOLD, 256 LPs, 1 024 events, all remote
    #[value(name = "W1", alias = "w1")]
    Seed,
    /// PHOLD, 1 024 LPs, 16 384 events, 10 % remote, lookahead 0.1
    #[value(name = "W2", alias = "w2")]
    Local,
    /// PHOLD, 65 536 LPs, 1 048 576 events, 50 % remote, lookahead 0.1
    #[value(name = "W3", alias = "w3")]
    Big,
    /// Hypercube of dimension 7, 2 048 messages
    #[value(name = "W4", alias = "w4")]
    Hypercube,
    /// PCS, 64 x 32 cells, 50 000 portables, 10 channels
    #[value(name = "W5", alias = "w5")]
    Pcs,
}

impl Workload {
    pub(crate) const ALL: [Self; 5] =
        [Self::Seed, Self::Local, Self::Big, Self::Hypercube, Self::Pcs];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Seed => "W1",
            Self::Local => "W2",
            Self::Big => "W3",
            Self::Hypercube => "W4",
            Self::Pcs => "W5",
        }
    }

    /// Whether the model promises one, so that the conservative engine can run it.
    pub(crate) const fn has_lookahead(self) -> bool {
        matches!(self, Self::Local | Self::Big | Self::Hypercube)
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Seed => "seed: PHOLD, 256 LPs, population 1 024, remote 1",
            Self::Local => "local: PHOLD, 1 024 LPs, population 16 384, remote 0.1, lookahead 0.1",
            Self::Big => "big: PHOLD, 65 536 LPs, population 1 048 576, remote 0.5, lookahead 0.1",
            Self::Hypercube => "hypercube: dimension 7, 2 048 messages",
            Self::Pcs => "pcs: 64 x 32 cells, 50 000 portables, 10 channels",
        }
    }

    pub(crate) fn params(self) -> ModelParams {
        match self {
            Self::Hypercube => ModelParams::Hypercube(HypercubeParams::default()),
            Self::Pcs => ModelParams::Pcs(PcsParams::default()),
            Self::Seed | Self::Local | Self::Big => ModelParams::Phold(self.bare()),
        }
    }

    /// The bare loop's parameters: the workload itself, or for a model that is not PHOLD, PHOLD
    /// with as many processes and events.
    pub(crate) fn bare(self) -> PholdParams {
        let phold = |lps, population, remote, lookahead| PholdParams {
            lps,
            population,
            remote,
            lookahead,
            ..PholdParams::default()
        };
        match self {
            Self::Seed => phold(256, 1024, 1.0, 0.0),
            Self::Local => phold(1024, 16_384, 0.1, 0.1),
            Self::Big => phold(65_536, 1_048_576, 0.5, 0.1),
            Self::Hypercube => phold(128, 2048, 1.0, 0.0),
            Self::Pcs => phold(2048, 50_000, 0.1, 0.0),
        }
    }

    /// The events that are pending at any time.
    pub(crate) fn population(self) -> usize {
        self.bare().population
    }

    /// The virtual time that a sample of full length runs to: a few million events.
    pub(crate) fn end(self) -> f64 {
        match self {
            Self::Seed => 4_000.0,
            Self::Local => 270.0,
            Self::Big => 6.0,
            Self::Hypercube => 3_000.0,
            Self::Pcs => 300.0,
        }
    }
}
