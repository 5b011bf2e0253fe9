//! The parameters of the queues, as commands and files have them.

use serde::{Deserialize, Serialize};
use warpline::{AnyModel, ConfigError, Figure, Results};

use super::{Queues, QueuesOutput};
use crate::catalog::{Domain, Hold, Load, Parameters, Workload};

/// The most stations, and the most customers.
const MANY: usize = 1 << 24;

/// The parameters of the queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct QueuesParams {
    /// How customers go from station to station
    #[arg(long, value_enum, default_value_t = Self::default().layout)]
    pub layout: Layout,
    /// Number of stations
    #[arg(long, value_name = "N", default_value_t = Self::default().stations)]
    pub stations: usize,
    /// Servers of each station
    #[arg(long, value_name = "N", default_value_t = Self::default().servers)]
    pub servers: u32,
    /// Mean time that a server takes for a customer
    #[arg(long, value_name = "TIME", default_value_t = Self::default().service)]
    pub service: f64,
    /// Time from one station to the next
    #[arg(long, value_name = "TIME", default_value_t = Self::default().transit)]
    pub transit: f64,
    /// Customers of a closed network, dealt evenly at the start
    #[arg(long, value_name = "N", default_value_t = Self::default().customers)]
    pub customers: usize,
    /// Part of the servers of a chain that is busy, on average: it says how often customers join
    #[arg(long, value_name = "PART", default_value_t = Self::default().load)]
    pub load: f64,
}

/// How customers go from station to station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(clap::ValueEnum)]
pub enum Layout {
    /// For ever, to another station drawn uniformly
    Closed,
    /// In at the first station, through all of them, and out
    Chain,
}

impl Default for QueuesParams {
    fn default() -> Self {
        Self {
            layout: Layout::Closed,
            stations: 64,
            servers: 2,
            service: 1.0,
            transit: 0.0,
            customers: 512,
            load: 0.8,
        }
    }
}

impl QueuesParams {
    /// Checks every parameter.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range: the error names the first one.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let least = if self.layout == Layout::Closed { 2 } else { 1 };
        let allowed = format!("from {least} to {MANY}");
        let stations = self.stations;
        ConfigError::check((least..=MANY).contains(&stations), "stations", stations, &allowed)?;
        ConfigError::check(self.servers > 0, "servers", self.servers, "1 or more")?;
        let allowed = format!("at most {MANY}");
        ConfigError::check(self.customers <= MANY, "customers", self.customers, &allowed)?;
        let service = self.service;
        let is_time = service > 0.0 && service.is_finite();
        ConfigError::check(is_time, "service", service, "greater than 0, and finite")?;
        let transit = self.transit;
        let is_time = transit >= 0.0 && transit.is_finite();
        ConfigError::check(is_time, "transit", transit, "0 or more, and finite")?;
        let load = self.load;
        ConfigError::check(load > 0.0 && load < 1.0, "load", load, "greater than 0, less than 1")
    }

    /// The mean time between two customers who join a chain.
    #[must_use]
    pub fn interarrival(&self) -> f64 {
        self.service / (self.load * f64::from(self.servers))
    }
}

impl Parameters for QueuesParams {
    const MODEL: &'static str = "queues";
    const ABOUT: &'static str =
        "Customers at stations with several servers (M/M/c): a closed network or a chain";
    const END: f64 = 1_000.0;

    fn model(self) -> Result<AnyModel, ConfigError> {
        Ok(AnyModel::new(Queues::new(self)?))
    }

    fn events_at_start(&self) -> u64 {
        let all = self.stations as u64 * u64::from(self.servers);
        if self.layout == Layout::Closed { all.min(self.customers as u64) } else { 1 }
    }

    fn results() -> Vec<Figure> {
        QueuesOutput::default().figures()
    }

    fn domains() -> &'static [Domain] {
        const {
            &[
                Domain::new("layout", "", "one of the words"),
                Domain::new("stations", "", "1 or more; closed 2 or more"),
                Domain::new("servers", "", "1 or more"),
                Domain::new("service", "time units", "above 0"),
                Domain::new("transit", "time units", "0 or more"),
                Domain::new("customers", "", "0 or more"),
                Domain::new("load", "", "above 0, below 1"),
            ]
        }
    }

    fn workloads() -> Vec<Workload> {
        vec![Workload {
            name: "W9",
            title: "queues: closed network of 64 stations with 2 servers, 512 customers",
            params: Self::default().into(),
            end: 14_000.0,
            bare: Load::Hold(Hold { lps: 64, population: 120, remote: 0.5, lookahead: 0.0 }),
        }]
    }
}
