//! Cars on a network of motorways, as a model for the engines.
//!
//! An LP is a junction or a portion of a route. A car joins at a junction, and drives from LP to LP
//! until it leaves at a junction. Virtual time is in seconds.
//!
//! When a car comes to an LP, the queue of cars there is scanned: all are moved to where they are
//! now, and some decide to stop. Then its speed is drawn, a jam may slow it down, and an accident may
//! close the road. It sends itself [`TrafficMessage::Leave`] for when it will be through. An event
//! that finds that the car stopped, or that the road is closed, is put off.
//!
//! # The lookahead
//!
//! A car tells the next LP of its arrival some time before: the *notice*, the time that the fastest
//! car takes through the shortest LP. It is the lookahead of the model. What happens behind a car in
//! that time does not hold it up any more. Without a greatest speed there is no notice.
//!
//! # Invariants
//!
//! - **TRAFFIC-A.** Of each LP: the cars that joined or were received are those that left, were
//!   handed over, or are still there. Checked at the end of every run.
//! - **TRAFFIC-B.** A car that no other LP knows of has exactly one pending `Leave`.
//! - **TRAFFIC-C.** No more cars were received than were handed over. Checked at the end of every
//!   run.
//!
//! # References
//!
//! Pellegrini and Quaglia, *NUMA Time Warp*, 2015, section 4.

use serde::{Deserialize, Serialize};
use warpline::{
    AnyModel, ConfigError, Context, Link, LogicalProcess, LpId, Model, VirtualTime, digest::mix,
    wire::Wires,
};

use crate::{
    cars::{Car, Queue, State},
    error::FileError,
    gaussian::{Gaussian, distribution},
    network::Network,
    params::{TrafficParams, duration},
    results::{Tally, TrafficOutput},
    roads::{Kind, Place, Roads},
};

/// The traffic model, with its network cut into LPs.
#[derive(Clone, Debug)]
pub struct Traffic {
    params: TrafficParams,
    network: Network,
    roads: Roads,
    speeds: Gaussian,
    jams: Gaussian,
    accidents: Gaussian,
    stops: Gaussian,
    /// The mean number of cars that are looked at before one decides to stop, for a draw that is
    /// rounded down.
    cars_per_stop: f64,
    /// How long before its arrival the next LP hears of a car (s).
    notice: f64,
}

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
        let roads = Roads::new(&network, lps, params.junction_length);
        let speeds = params.speeds();
        let shortest = roads.places.iter().map(|place| place.km).fold(f64::INFINITY, f64::min);
        Ok(Self {
            jams: duration(params.jam_delay, params.jam_deviation),
            accidents: duration(params.accident_time, params.accident_deviation),
            stops: duration(params.stop_time, params.stop_deviation),
            // The floor of an exponential number is geometric.
            cars_per_stop: (-1.0 / libm::log1p(-params.stop)).min(f64::MAX),
            notice: shortest / speeds.high(),
            params,
            network,
            roads,
            speeds,
        })
    }

    /// The type forgotten, with all engines.
    #[must_use]
    pub fn into_any(self) -> AnyModel {
        AnyModel::new(self)
    }

    /// The network.
    #[must_use]
    pub const fn network(&self) -> &Network {
        &self.network
    }

    #[inline]
    fn place(&self, lp: LpId) -> &Place {
        &self.roads.places[lp.index()]
    }

    /// The mean time between two cars that join at this LP, if any do.
    fn interarrival(&self, lp: LpId) -> Option<f64> {
        let place = self.place(lp);
        let Kind::Junction(junction) = place.kind else { return None };
        let is_busier = lp.index() < self.roads.places.len() / 2;
        let factor = if is_busier { self.params.uneven } else { 1.0 };
        let mean = self.network.junctions[junction].interarrival?;
        (!place.exits.is_empty()).then_some(mean / factor)
    }

    /// Sends the event of the next car that joins here.
    fn schedule_join(&self, cx: &mut impl Context<TrafficMessage>) {
        let Some(mean) = self.interarrival(cx.me()) else { return };
        let stages = self.params.erlang_stages;
        let stage = mean / f64::from(stages);
        let delay = (0..stages).map(|_| cx.rng().exponential(stage)).sum();
        cx.send(cx.me(), delay, TrafficMessage::Join);
    }

    /// When the event of a car is due that will be gone at `leave_at`.
    #[inline]
    fn due(&self, leave_at: f64, now: f64) -> f64 {
        (leave_at - self.notice).max(now)
    }

    /// Whether an accident happens when a car comes to a place and there are `cars` with it: the
    /// normal distribution around half of the capacity, between half a car less and half a car more.
    #[inline]
    fn accident(&self, capacity: f64, cars: f64, uniform: f64) -> bool {
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

/// What happens at an LP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TrafficMessage {
    /// A car joins the network.
    Join,
    /// A car comes from another LP.
    Arrive {
        /// The number of that LP.
        from: u32,
        /// What it has driven (km).
        km: f32,
        /// When it joined the network (s).
        joined: f64,
    },
    /// A car may leave the LP.
    Leave {
        /// Its number at the LP.
        serial: u32,
    },
}

/// A junction or a portion of a route, with its cars.
#[derive(Debug, Default)]
pub struct TrafficLp {
    queue: Queue,
    /// How many more cars will be looked at before one stops.
    until_stop: u64,
    next_serial: u32,
    tally: Tally,
}

/// Engines that save states do so into old copies, whose memory is used again.
impl Clone for TrafficLp {
    fn clone(&self) -> Self {
        let Self { ref queue, until_stop, next_serial, ref tally } = *self;
        Self { queue: queue.clone(), until_stop, next_serial, tally: tally.clone() }
    }

    fn clone_from(&mut self, source: &Self) {
        let Self { ref queue, until_stop, next_serial, ref tally } = *source;
        self.queue.clone_from(queue);
        (self.until_stop, self.next_serial) = (until_stop, next_serial);
        self.tally.clone_from(tally);
    }
}

/// A car that comes to an LP.
#[derive(Clone, Copy, Debug)]
struct Comer {
    from: Option<LpId>,
    joined: f64,
    km: f32,
}

impl TrafficLp {
    /// Scans the queue, and lets some cars stop.
    #[inline]
    fn scan(&mut self, model: &Traffic, cx: &mut impl Context<TrafficMessage>) {
        let now = cx.now().get();
        let km = model.place(cx.me()).km;
        self.tally.car_seconds += self.queue.scan(now, km, model.params.warmup);
        let cars = self.queue.cars().len() as u64;
        while self.until_stop < cars {
            let place = self.until_stop;
            let stop = model.stops.at(cx.rng().uniform());
            self.tally.stops += u64::from(self.queue.stop(place as usize, now, stop));
            self.until_stop = self.until_stop.saturating_add(1 + Self::draw_stop(model, cx));
        }
        self.until_stop -= cars;
    }

    /// How many cars do not stop before one does.
    #[inline]
    fn draw_stop(model: &Traffic, cx: &mut impl Context<TrafficMessage>) -> u64 {
        // The cast saturates; the result stays below the greatest number, so that one can be added.
        (cx.rng().exponential(model.cars_per_stop) as u64).min(u64::MAX >> 1)
    }

    /// A car comes to this LP, and does not leave the network here.
    #[inline]
    fn admit(&mut self, model: &Traffic, comer: Comer, cx: &mut impl Context<TrafficMessage>) {
        let (me, now) = (cx.me(), cx.now().get());
        let place = model.place(me);
        self.scan(model, cx);
        let cars = (self.queue.cars().len() + 1) as f64;
        let capacity = model.params.capacity * place.km;
        let mut time = place.km / model.speeds.at(cx.rng().uniform());
        if cx.rng().uniform() * capacity < model.params.jam * cars {
            self.tally.jams += 1;
            time *= 1.0 + model.jams.at(cx.rng().uniform());
        }
        let is_free = self.queue.freed_at <= now;
        if model.accident(capacity, cars, cx.rng().uniform()) && is_free {
            self.tally.accidents += 1;
            self.queue.freed_at = now + model.accidents.at(cx.rng().uniform());
        }
        let to = choose_exit(place, comer.from, cx);
        let serial = self.next_serial;
        self.next_serial = serial.wrapping_add(1);
        let leave_at = now + time;
        self.queue.push(Car {
            serial,
            to,
            joined: comer.joined,
            entered: now,
            leave_at,
            resumes_at: 0.0,
            km: comer.km,
            position: 0.0,
            speed: (place.km / time) as f32,
            state: State::Driving,
        });
        self.tally.longest = self.tally.longest.max(self.queue.cars().len() as u32);
        cx.send_at(me, model.due(leave_at, now), TrafficMessage::Leave { serial });
    }

    /// A car may leave, unless it stopped or the road is closed.
    #[inline]
    fn leave(&mut self, model: &Traffic, serial: u32, cx: &mut impl Context<TrafficMessage>) {
        let (me, now) = (cx.me(), cx.now().get());
        let freed_at = self.queue.freed_at;
        let Some(index) = self.queue.find(serial) else {
            return cx.fail(format_args!("TRAFFIC-B: car {serial} is not there"));
        };
        let mut leave_at = self.queue.cars()[index].leave_at;
        if model.due(leave_at, now) <= now && freed_at > leave_at {
            leave_at = self.queue.next_to_drive_off(model.params.headway);
            self.tally.held += 1;
        }
        let due = model.due(leave_at, now);
        let car = self.queue.car_mut(index);
        car.leave_at = leave_at;
        if due > now {
            return cx.send_at(me, due, TrafficMessage::Leave { serial });
        }
        // The delay is the notice itself, not a difference of times, which may be a bit less.
        car.leave_at = now + model.notice;
        car.state = State::Leaving;
        let (to, joined, km) = (car.to, car.joined, car.km + model.place(me).km as f32);
        let stay = car.leave_at - car.entered;
        self.tally.handed_over += 1;
        if now >= model.params.warmup {
            self.tally.passed += 1;
            self.tally.stay_seconds += stay;
        }
        cx.send(to, model.notice, TrafficMessage::Arrive { from: me.get(), km, joined });
    }

    /// A car leaves the network.
    #[inline]
    fn depart(&mut self, model: &Traffic, comer: Comer, now: f64) {
        self.tally.left += 1;
        if now >= model.params.warmup {
            self.tally.trips += 1;
            self.tally.trip_seconds += now - comer.joined;
            self.tally.trip_km += f64::from(comer.km);
        }
    }
}

/// The LP that a car drives to: any exit but the one that it came from, unless there is no other.
#[inline]
fn choose_exit(place: &Place, from: Option<LpId>, cx: &mut impl Context<TrafficMessage>) -> LpId {
    let exits = &place.exits;
    let back = exits.iter().position(|&exit| Some(exit) == from);
    let others = exits.len() - usize::from(back.is_some());
    if others == 0 {
        return exits[0];
    }
    let nth = if others == 1 { 0 } else { cx.rng().below(others as u64) as usize };
    exits[nth + usize::from(back.is_some_and(|back| nth >= back))]
}

impl LogicalProcess for TrafficLp {
    type Model = Traffic;
    type Message = TrafficMessage;
    type Summary = Tally;

    fn start(&mut self, model: &Traffic, cx: &mut impl Context<TrafficMessage>) {
        self.until_stop = Self::draw_stop(model, cx);
        model.schedule_join(cx);
    }

    #[inline]
    fn handle(
        &mut self,
        model: &Traffic,
        message: &TrafficMessage,
        cx: &mut impl Context<TrafficMessage>,
    ) {
        let now = cx.now().get();
        match *message {
            TrafficMessage::Join => {
                self.tally.joined += 1;
                self.admit(model, Comer { from: None, joined: now, km: 0.0 }, cx);
                model.schedule_join(cx);
            }
            TrafficMessage::Arrive { from, km, joined } => {
                self.tally.received += 1;
                let comer = Comer { from: Some(LpId::new(from)), joined, km };
                let place = model.place(cx.me());
                let leaves = match place.kind {
                    Kind::Junction(junction) => {
                        let leave = model.network.junctions[junction].leave;
                        place.exits.is_empty() || cx.rng().chance(leave)
                    }
                    Kind::Portion { .. } => false,
                };
                if leaves {
                    self.depart(model, comer, now);
                } else {
                    self.admit(model, comer, cx);
                }
            }
            TrafficMessage::Leave { serial } => self.leave(model, serial, cx),
        }
    }

    // There is no `reverse`: a scan moves every car by floating-point numbers, which cannot be
    // restored exactly.

    fn finish(mut self, model: &Traffic, end: VirtualTime) -> Tally {
        // A car drives at most one LP's length between two scans, so the length does not matter.
        self.tally.car_seconds += self.queue.scan(end.get(), f64::INFINITY, model.params.warmup);
        self.tally.seconds = (end.get() - model.params.warmup).max(0.0);
        self.tally.staying = self.queue.staying() as u64;
        let Tally { joined, received, left, handed_over, staying, .. } = self.tally;
        assert_eq!(
            joined + received,
            left + handed_over + staying,
            "TRAFFIC-A: cars appeared or vanished"
        );
        self.tally
    }

    #[inline]
    fn identity(message: &TrafficMessage) -> Option<u64> {
        Some(Self::fingerprint(message))
    }

    #[inline]
    fn fingerprint(message: &TrafficMessage) -> u64 {
        match *message {
            TrafficMessage::Join => 1,
            TrafficMessage::Arrive { from, km, joined } => {
                mix(u64::from(from) << 32 | u64::from(km.to_bits()), joined.to_bits())
            }
            TrafficMessage::Leave { serial } => mix(2, u64::from(serial)),
        }
    }
}

impl Model for Traffic {
    type Lp = TrafficLp;
    type Output = TrafficOutput;

    fn name(&self) -> &'static str {
        "traffic"
    }

    fn wires(&self) -> Option<Wires<Self>> {
        Some(Wires::serde())
    }

    fn lp_count(&self) -> usize {
        self.roads.places.len()
    }

    fn make_lp(&self, _: LpId) -> TrafficLp {
        TrafficLp::default()
    }

    fn reduce(&self, tallies: impl Iterator<Item = Tally>) -> TrafficOutput {
        let kms = self.roads.places.iter().map(|place| place.km);
        let output = TrafficOutput::new(kms.zip(tallies));
        assert!(output.received <= output.handed_over, "TRAFFIC-C: cars were received twice");
        output
    }

    fn lookahead(&self) -> Option<f64> {
        (self.notice > 0.0).then_some(self.notice)
    }

    fn links(&self, from: LpId) -> Option<Vec<Link>> {
        let mut exits = self.place(from).exits.clone();
        exits.sort_unstable();
        exits.dedup();
        Some(exits.into_iter().map(|to| Link { to, lookahead: self.notice }).collect())
    }
}
