//! The parameters of the wireless network, as commands and files have them.

use serde::{Deserialize, Serialize};
use warpline::{AnyModel, ConfigError, Figure, Results};

use super::{Grid, Pcs, PcsOutput, Topology};
use crate::catalog::{Domain, Hold, Load, Parameters, TimeUnit, Workload};

/// The parameters of the wireless network. The defaults are those of the GTW paper, or, where it
/// gives none, those of the buffer paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PcsParams {
    /// Size of the grid of cells
    #[arg(long, value_name = "WxH", default_value_t = Self::default().cells)]
    pub cells: Grid,
    /// Number of portables, distributed evenly over the cells at the start
    #[arg(long, value_name = "N", default_value_t = Self::default().portables)]
    pub portables: usize,
    /// Channels of each cell
    #[arg(long, value_name = "N", default_value_t = Self::default().channels)]
    pub channels: u32,
    /// Mean stay of a portable in a cell, in minutes; `inf` for portables that never move
    #[arg(long, value_name = "MIN", default_value_t = Self::default().stay)]
    pub stay: f64,
    /// Mean length of a call, in minutes
    #[arg(long, value_name = "MIN", default_value_t = Self::default().call)]
    pub call: f64,
    /// Mean idle time of a portable between two calls, in minutes
    #[arg(long, value_name = "MIN", default_value_t = Self::default().idle)]
    pub idle: f64,
    /// Mean stay as a multiple of --call, as in the GTW paper; in place of --stay
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_enum, conflicts_with = "stay")]
    pub mobility: Option<Mobility>,
    /// What lies beyond the border of the grid
    #[arg(long, value_enum, default_value_t = Self::default().grid)]
    pub grid: Topology,
    /// Wall time that each event keeps a core busy; about 30 000 in the GTW paper
    #[arg(long, value_name = "NANOSECONDS", default_value_t = Self::default().grain)]
    pub grain: u64,
}

/// How often portables move, in the settings of the GTW paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(clap::ValueEnum)]
pub enum Mobility {
    /// A fifth of the rate at which calls end: the mean stay is 5 calls long
    High,
    /// A ninth: the mean stay is 9 calls long
    Medium,
    /// A 25th: the mean stay is 25 calls long
    Low,
}

impl Mobility {
    /// The mean stay in a cell, in mean lengths of a call.
    #[must_use]
    pub const fn calls_per_stay(self) -> f64 {
        match self {
            Self::High => 5.0,
            Self::Medium => 9.0,
            Self::Low => 25.0,
        }
    }
}

impl Default for PcsParams {
    fn default() -> Self {
        Self {
            cells: Grid::new(64, 32).expect("a grid that is neither empty nor large"),
            portables: 50_000,
            channels: 10,
            stay: 75.0,
            call: 3.0,
            idle: 6.0,
            mobility: None,
            grid: Topology::Torus,
            grain: 0,
        }
    }
}

impl PcsParams {
    /// Checks every parameter.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range: the error names the first one.
    pub fn validate(&self) -> Result<(), ConfigError> {
        ConfigError::check(self.channels > 0, "channels", self.channels, "1 or more")?;
        ConfigError::check(self.stay > 0.0, "stay", self.stay, "greater than 0, or `inf`")?;
        for (key, mean) in [("call", self.call), ("idle", self.idle)] {
            ConfigError::check(
                mean > 0.0 && mean.is_finite(),
                key,
                mean,
                "greater than 0, and finite",
            )?;
        }
        Ok(())
    }

    /// The mean stay of a portable in a cell, in minutes: by the mobility, if that is given.
    #[must_use]
    pub fn mean_stay(&self) -> f64 {
        self.mobility.map_or(self.stay, |mobility| self.call * mobility.calls_per_stay())
    }
}

impl Parameters for PcsParams {
    const MODEL: &'static str = "pcs";
    const ABOUT: &'static str =
        "A wireless network (PCS): portables that stay, call, idle and move between cells";
    const END: f64 = 1_440.0;
    const TIME: Option<TimeUnit> = Some(TimeUnit::MINUTE);

    fn model(self) -> Result<AnyModel, ConfigError> {
        Ok(AnyModel::new(Pcs::new(self)?))
    }

    fn events_at_start(&self) -> u64 {
        self.portables as u64
    }

    fn results() -> Vec<Figure> {
        PcsOutput::default().figures()
    }

    fn domains() -> &'static [Domain] {
        const {
            &[
                Domain::new("cells", "", "each side 1 or more"),
                Domain::new("portables", "", "0 or more"),
                Domain::new("channels", "", "1 or more"),
                Domain::new("stay", "minutes", "above 0, or inf"),
                Domain::new("call", "minutes", "above 0"),
                Domain::new("idle", "minutes", "above 0"),
                Domain::new("mobility", "", "in place of --stay"),
                Domain::new("grid", "", "one of the words"),
                Domain::new("grain", "nanoseconds", "0 or more"),
            ]
        }
    }

    fn workloads() -> Vec<Workload> {
        vec![Workload {
            name: "W5",
            title: "pcs: 64 x 32 cells, 50 000 portables, 10 channels",
            params: Self::default().into(),
            end: 300.0,
            bare: Load::Hold(Hold { lps: 2048, population: 50_000, remote: 0.1, lookahead: 0.0 }),
        }]
    }
}
