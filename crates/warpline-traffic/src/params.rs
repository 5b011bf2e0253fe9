//! The parameters of the traffic model: flags of the command, keys of configuration files.
//!
//! The model is made from them (`model.rs`). Speeds are in km/h and durations in seconds, and
//! virtual time is in seconds.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use warpline::{ConfigError, files::Files};

use crate::{error::FileError, gaussian::Gaussian, network::Network, source::Source};

/// The number of LPs of the built-in network, unless `--lps` gives another one.
const ITALY_LPS: usize = 1024;
/// The most LPs.
const LPS_MAX: usize = 1 << 24;
/// The most stages of the time between two cars that join.
const STAGES_MAX: u32 = 1000;
/// Seconds in an hour.
pub(crate) const HOUR: f64 = 3_600.0;

/// The parameters of the traffic model. The defaults are those of the NUMA paper, section 4, where
/// it gives them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TrafficParams {
    /// The motorways: italy, grid:WIDTHxHEIGHT, or a file (csv, json, graphml, net.xml, txt)
    #[arg(long, value_name = "NETWORK", default_value_t = Self::default().network)]
    pub network: Source,
    /// Number of LPs, junctions and portions of routes [default: italy 1024, else one per part]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lps: Option<usize>,
    /// Mean time from one car that joins at a junction to the next, in place of the network's
    #[arg(long, value_name = "S")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interarrival: Option<f64>,
    /// Stages of that time: it is Erlang distributed; 1 is exponential
    #[arg(long, value_name = "K", default_value_t = Self::default().erlang_stages)]
    pub erlang_stages: u32,
    /// Probability that a car leaves at a junction, in place of the network's
    #[arg(long, value_name = "P")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leave: Option<f64>,
    /// How many times more cars join in the half of the LPs with the lower numbers
    #[arg(long, value_name = "FACTOR", default_value_t = Self::default().uneven)]
    pub uneven: f64,
    /// Mean speed, drawn anew for each portion
    #[arg(long, value_name = "KM/H", default_value_t = Self::default().speed)]
    pub speed: f64,
    /// Standard deviation of the speed
    #[arg(long, value_name = "KM/H", default_value_t = Self::default().speed_deviation)]
    pub speed_deviation: f64,
    /// Least speed
    #[arg(long, value_name = "KM/H", default_value_t = Self::default().speed_min)]
    pub speed_min: f64,
    /// Greatest speed; `inf` for a model without lookahead
    #[arg(long, value_name = "KM/H", default_value_t = Self::default().speed_max)]
    pub speed_max: f64,
    /// Length of the road through a junction
    #[arg(long, value_name = "KM", default_value_t = Self::default().junction_length)]
    pub junction_length: f64,
    /// Cars that the road holds, in both directions together
    #[arg(long, value_name = "CARS/KM", default_value_t = Self::default().capacity)]
    pub capacity: f64,
    /// Probability of a jam where the road is full; it is proportional to the cars on the road
    #[arg(long, value_name = "P", default_value_t = Self::default().jam)]
    pub jam: f64,
    /// Mean time lost in a jam, as a multiple of the time to drive without
    #[arg(long, value_name = "FACTOR", default_value_t = Self::default().jam_delay)]
    pub jam_delay: f64,
    /// Standard deviation of that multiple
    #[arg(long, value_name = "FACTOR", default_value_t = Self::default().jam_deviation)]
    pub jam_deviation: f64,
    /// Factor of the probability of an accident; 0 for none
    #[arg(long, value_name = "FACTOR", default_value_t = Self::default().accidents)]
    pub accidents: f64,
    /// Deviation of the accidents around half of the capacity, as a part of the capacity
    #[arg(long, value_name = "PART", default_value_t = Self::default().accident_spread)]
    pub accident_spread: f64,
    /// Mean duration of an accident
    #[arg(long, value_name = "S", default_value_t = Self::default().accident_time)]
    pub accident_time: f64,
    /// Standard deviation of that duration
    #[arg(long, value_name = "S", default_value_t = Self::default().accident_deviation)]
    pub accident_deviation: f64,
    /// Time between two cars that drive off when the road is freed
    #[arg(long, value_name = "S", default_value_t = Self::default().headway)]
    pub headway: f64,
    /// Probability that a car decides to stop, each time the queue is scanned
    #[arg(long, value_name = "P", default_value_t = Self::default().stop)]
    pub stop: f64,
    /// Mean duration of a stop
    #[arg(long, value_name = "S", default_value_t = Self::default().stop_time)]
    pub stop_time: f64,
    /// Standard deviation of that duration
    #[arg(long, value_name = "S", default_value_t = Self::default().stop_deviation)]
    pub stop_deviation: f64,
    /// Table of all LPs, with their travel times, speeds, queues and accidents (.csv)
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments: Option<PathBuf>,
    /// Time series of the whole network (.csv)
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<PathBuf>,
    /// Time between two points of the series
    #[arg(
        long,
        value_name = "S",
        requires = "series",
        default_value_t = Self::default().series_step
    )]
    pub series_step: f64,
    /// Map colored by load, with accidents: .svg, .geojson, or .png (needs a build with `plots`)
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub map: Vec<PathBuf>,
}

impl Default for TrafficParams {
    fn default() -> Self {
        Self {
            network: Source::Italy,
            lps: None,
            interarrival: None,
            erlang_stages: 2,
            leave: None,
            uneven: 1.0,
            speed: 110.0,
            speed_deviation: 20.0,
            speed_min: 40.0,
            speed_max: 180.0,
            junction_length: 1.0,
            capacity: 60.0,
            jam: 0.5,
            jam_delay: 1.0,
            jam_deviation: 0.5,
            accidents: 1.0,
            accident_spread: 0.1,
            accident_time: HOUR,
            accident_deviation: HOUR / 2.0,
            headway: 1.0,
            stop: 0.001,
            stop_time: 900.0,
            stop_deviation: 300.0,
            segments: None,
            series: None,
            series_step: 600.0,
            map: Vec::new(),
        }
    }
}

impl TrafficParams {
    /// Checks every parameter that does not depend on the network.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range: the error names the first one.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let check = |ok, key, value: f64, allowed| ConfigError::check(ok, key, value, allowed);
        let stages = self.erlang_stages;
        check(
            (1..=STAGES_MAX).contains(&stages),
            "erlang-stages",
            stages.into(),
            "from 1 to 1000",
        )?;
        let mean = self.interarrival.unwrap_or(1.0);
        check(is_above_zero(mean), "interarrival", mean, "above 0, and finite")?;
        for (key, value) in [
            ("uneven", self.uneven),
            ("speed", self.speed),
            ("speed-min", self.speed_min),
            ("junction-length", self.junction_length),
            ("capacity", self.capacity),
            ("accident-spread", self.accident_spread),
        ] {
            check(is_above_zero(value), key, value, "above 0, and finite")?;
        }
        self.check_speeds()?;
        for (key, value) in [
            ("speed-deviation", self.speed_deviation),
            ("jam-delay", self.jam_delay),
            ("jam-deviation", self.jam_deviation),
            ("accidents", self.accidents),
            ("accident-time", self.accident_time),
            ("accident-deviation", self.accident_deviation),
            ("headway", self.headway),
            ("stop-time", self.stop_time),
            ("stop-deviation", self.stop_deviation),
        ] {
            check(value >= 0.0 && value.is_finite(), key, value, "0 or more, and finite")?;
        }
        check(self.series_step >= 1.0, "series-step", self.series_step, "1 or more")?;
        for (key, p) in
            [("leave", self.leave.unwrap_or(0.0)), ("jam", self.jam), ("stop", self.stop)]
        {
            check((0.0..=1.0).contains(&p), key, p, "a probability, from 0 to 1")?;
        }
        Ok(())
    }

    /// Checks that the mean speed lies between its bounds. The error names the one that is not the
    /// default: somebody has typed it.
    fn check_speeds(&self) -> Result<(), ConfigError> {
        let (default, speed) = (Self::default(), self.speed);
        let (low, high) = (self.speed_min, self.speed_max);
        if low > speed && low == default.speed_min {
            let allowed = format!("at least `speed-min`, {low}");
            return Err(ConfigError::new("speed", speed, allowed));
        }
        if high < speed && high == default.speed_max {
            let allowed = format!("at most `speed-max`, {high}");
            return Err(ConfigError::new("speed", speed, allowed));
        }
        let allowed = format!("at most the mean `speed`, {speed}");
        ConfigError::check(low <= speed, "speed-min", low, &allowed)?;
        let allowed = format!("at least the mean `speed`, {speed}, or `inf`");
        ConfigError::check(high >= speed, "speed-max", high, &allowed)
    }

    /// The files that a run reads and writes.
    #[must_use]
    pub fn files(&self) -> Files {
        let network = match &self.network {
            Source::File(path) => Some(&**path),
            Source::Italy | Source::Grid { .. } => None,
        };
        let files = Files::default()
            .reading("network", network)
            .writing("segments", self.segments.as_deref())
            .writing("series", self.series.as_deref());
        self.map.iter().fold(files, |files, path| files.writing("map", Some(path)))
    }

    /// The number of LPs for a network with so many junctions and routes.
    pub(crate) fn lp_count(&self, parts: usize) -> Result<usize, ConfigError> {
        let default = if self.network == Source::Italy { ITALY_LPS } else { parts };
        let lps = self.lps.unwrap_or(default);
        let allowed = format!("from {parts} (one per junction and route) to {LPS_MAX}");
        ConfigError::check((parts.max(1)..=LPS_MAX).contains(&lps), "lps", lps, &allowed)?;
        Ok(lps)
    }

    /// The speed (km/s).
    pub(crate) fn speeds(&self) -> Gaussian {
        let bounds = (self.speed_min / HOUR, self.speed_max / HOUR);
        Gaussian::new(self.speed / HOUR, self.speed_deviation / HOUR, bounds)
    }

    /// The network, with the parameters that stand in place of its own.
    pub(crate) fn read_network(&self) -> Result<Network, FileError> {
        let mut network = self.network.read()?;
        for junction in &mut network.junctions {
            junction.leave = self.leave.unwrap_or(junction.leave);
            if let Some(mean) = &mut junction.interarrival {
                *mean = self.interarrival.unwrap_or(*mean);
            }
        }
        Ok(network)
    }
}

fn is_above_zero(value: f64) -> bool {
    value > 0.0 && value.is_finite()
}

/// A duration or a multiple of one: not negative.
pub(crate) fn duration(mean: f64, deviation: f64) -> Gaussian {
    Gaussian::new(mean, deviation, (0.0, f64::INFINITY))
}
