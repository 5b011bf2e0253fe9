//! The traffic model as handlers see it: parameters, network, distributions.
//!
//! The LPs (`lp.rs`) read it, and nothing changes it during a run. `model.rs` says what the model
//! is.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use warpline::{ConfigError, LpId};

use crate::{
    error::FileError,
    gaussian::{Gaussian, distribution},
    network::Network,
    output::{Recorder, Survey, TrafficCounts},
    params::{TrafficParams, duration},
    results::Map,
    roads::{Kind, Place, Roads},
};

/// The traffic model, with its network cut into LPs.
#[derive(Clone)]
pub struct Traffic {
    pub(crate) params: TrafficParams,
    pub(crate) network: Network,
    pub(crate) roads: Roads,
    pub(crate) speeds: Gaussian,
    pub(crate) jams: Gaussian,
    pub(crate) accidents: Gaussian,
    pub(crate) stops: Gaussian,
    /// The mean number of cars that are looked at before one decides to stop, for a draw that is
    /// rounded down.
    pub(crate) cars_per_stop: f64,
    /// How long before its arrival the next LP hears of a car (s).
    pub(crate) notice: f64,
    /// Takes what LPs counted, in a run that writes files.
    pub(crate) shared: Option<Arc<TrafficCounts>>,
    /// The map for a picture of the result, once there is a result.
    map: OnceLock<Arc<Map>>,
}

/// What makes this model another one than the next, which ranks compare: what the parameters and
/// the network say. All else follows from them, or changes while a run goes on.
impl fmt::Debug for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traffic")
            .field("params", &self.params)
            .field("network", &self.network)
            .finish_non_exhaustive()
    }
}

/// The most LPs that a picture shows.
const DRAWN_MAX: usize = 4096;

/// Why a traffic model could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TrafficError {
    /// A parameter is out of its range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The network could not be read.
    #[error(transparent)]
    Network(#[from] FileError),
}

impl Traffic {
    /// The model with these parameters. Reads the network.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range, or the network cannot be read.
    pub fn new(params: TrafficParams) -> Result<Self, TrafficError> {
        params.validate()?;
        let network = params.read_network()?;
        let lps = params.lp_count(network.parts())?;
        let roads = Roads::new(&network, lps, (params.junction_length, params.capacity));
        let speeds = params.speeds();
        let shortest = roads.places.iter().map(|place| place.km).fold(f64::INFINITY, f64::min);
        Ok(Self {
            jams: duration(params.jam_delay, params.jam_deviation),
            accidents: duration(params.accident_time, params.accident_deviation),
            stops: duration(params.stop_time, params.stop_deviation),
            // The floor of an exponential number is geometric.
            cars_per_stop: (-1.0 / libm::log1p(-params.stop)).min(f64::MAX),
            notice: shortest / speeds.high(),
            shared: None,
            map: OnceLock::new(),
            params,
            network,
            roads,
            speeds,
        })
    }

    /// Creates the files that the parameters name, if any; the run of this model fills them.
    ///
    /// # Errors
    ///
    /// When a file cannot be written.
    pub fn record(&mut self) -> Result<Option<Recorder>, FileError> {
        self.recorded_by(false)
    }

    /// The same for a run that goes on with a checkpoint: opens the time series that the run before
    /// has written, for [`Recorder::go_on`].
    ///
    /// # Errors
    ///
    /// When a file is not there, or cannot be written.
    pub fn record_further(&mut self) -> Result<Option<Recorder>, FileError> {
        self.recorded_by(true)
    }

    fn recorded_by(&mut self, goes_on: bool) -> Result<Option<Recorder>, FileError> {
        let survey = || Survey::new(&self.network, &self.roads);
        let opened = Recorder::create(&self.params, goes_on, survey)?;
        Ok(opened.map(|(recorder, shared)| {
            self.shared = Some(shared);
            recorder
        }))
    }

    /// The map of the LPs, if they are few enough to draw.
    pub(crate) fn map(&self) -> Option<&Arc<Map>> {
        let draw = || Arc::new(Survey::new(&self.network, &self.roads).map());
        (self.roads.places.len() <= DRAWN_MAX).then(|| self.map.get_or_init(draw))
    }

    /// The network.
    #[must_use]
    pub const fn network(&self) -> &Network {
        &self.network
    }

    #[inline]
    pub(crate) fn place(&self, lp: LpId) -> &Place {
        &self.roads.places[lp.index()]
    }

    /// The mean time between two cars that join at this LP, if any do.
    pub(crate) fn interarrival(&self, lp: LpId) -> Option<f64> {
        let place = self.place(lp);
        let Kind::Junction(junction) = place.kind else { return None };
        let is_busier = lp.index() < self.roads.places.len() / 2;
        let factor = if is_busier { self.params.uneven } else { 1.0 };
        let mean = self.network.junctions[junction].interarrival?;
        (!place.exits.is_empty()).then_some(mean / factor)
    }

    /// When the event of a car is due that will be gone at `leave_at`.
    #[inline]
    pub(crate) fn due(&self, leave_at: f64, now: f64) -> f64 {
        (leave_at - self.notice).max(now)
    }

    /// Whether an accident happens when a car comes to a place and there are `cars` with it: the
    /// normal distribution around half of the capacity, between half a car less and half a car
    /// more.
    #[inline]
    pub(crate) fn accident(&self, capacity: f64, cars: f64, uniform: f64) -> bool {
        let (mean, deviation) = (capacity / 2.0, capacity * self.params.accident_spread);
        // The probability is at most the greatest density; nearly always that settles it.
        if uniform * deviation >= self.params.accidents * MOST_DENSE {
            return false;
        }
        let below = |cars: f64| distribution((cars - mean) / deviation);
        uniform < self.params.accidents * (below(cars + 0.5) - below(cars - 0.5))
    }
}

/// The greatest density of the standard normal distribution, rounded up: 1 / sqrt(2 pi).
const MOST_DENSE: f64 = 0.398_942_3;
