//! Queues: customers that wait at stations with several servers (M/M/c), in a closed network or in
//! a chain.
//!
//! An LP is a station. A customer that comes takes a free server or waits, first come, first
//! served. Service times are exponential. In a *closed* network the number of customers is fixed,
//! and who has been served goes to another station, drawn uniformly. In a *chain* customers join
//! the first station at random times (Poisson), pass all of them and leave. The way between two
//! stations takes a constant time, which is the lookahead of the model if it is not 0.
//!
//! # Invariants
//!
//! - **QUEUE-A.** Nobody waits at a station that has a free server.
//! - **QUEUE-B.** In a closed network all customers are at stations or on their way, at any time.
//!   Checked at the end of a run: no more are at stations than there are.
//!
//! # References
//!
//! Gordon and Newell, *Closed Queuing Systems with Exponential Servers*, 1967; Burke, *The Output
//! of a Queuing System*, 1956 (what theory says of the closed network and of the chain).

use std::fmt;

use serde::{Deserialize, Serialize};
use warpline::{
    Collected, ConfigError, Context, Figure, FigureKind, Link, LogicalProcess, LpId, Model,
    Results, Saving, State, TrackedDeque, Value, VirtualTime,
    digest::mix,
    picture::{Picture, Shape},
    wire::{Wire, Wires},
};

use crate::branching;

mod params;

pub use params::{Layout, QueuesParams};

/// The most bars of the picture; of more stations, a bar has several.
const BARS_MAX: usize = 64;

/// The queues with their parameters checked.
#[derive(Clone, Debug)]
pub struct Queues {
    params: QueuesParams,
}

impl Queues {
    /// The model with these parameters.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range.
    pub fn new(params: QueuesParams) -> Result<Self, ConfigError> {
        params.validate()?;
        Ok(Self { params })
    }

    /// Where a customer goes from here, if anywhere.
    fn next(&self, cx: &mut impl Context<QueuesMessage>) -> Option<LpId> {
        let (me, stations) = (cx.me().index(), self.params.stations);
        match self.params.layout {
            Layout::Chain => Some(me + 1).filter(|next| *next < stations).map(LpId::from_index),
            Layout::Closed => {
                let other = cx.rng().below(stations as u64 - 1) as usize;
                Some(LpId::from_index(other + usize::from(other >= me)))
            }
        }
    }

    /// Sends the event of the next customer that joins a chain.
    fn schedule_join(&self, cx: &mut impl Context<QueuesMessage>) {
        let delay = cx.rng().exponential(self.params.interarrival());
        cx.send(cx.me(), delay, QueuesMessage::Join);
    }
}

/// A customer at a station.
#[derive(Clone, Copy, Debug, PartialEq, Value, Serialize, Deserialize)]
pub struct Customer {
    /// When it joined the chain.
    pub joined: f64,
    /// When it came to this station.
    pub came: f64,
}

/// What happens at a station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum QueuesMessage {
    /// Somebody joins the chain.
    Join,
    /// A customer comes, who joined the chain at a time.
    Come {
        /// When it joined.
        joined: f64,
    },
    /// A customer has been served.
    Served(Customer),
}

/// A station: who waits, how many are served, and its counts since the warm-up.
#[derive(Debug, Default, State, Serialize, Deserialize)]
pub struct Station {
    waiting: TrackedDeque<Customer>,
    busy: u32,
    /// When something last changed here.
    since: f64,
    tally: Tally,
}

/// What a station counts. Times are in the model's time units.
#[derive(Clone, Debug, Default, Value, Serialize, Deserialize)]
pub struct Tally {
    /// Customers who were served, how long they had waited, and how long they were here.
    served: u64,
    waited: f64,
    stayed: f64,
    /// Customers who passed the whole chain, and how long that took.
    left: u64,
    trip: f64,
    /// Busy servers and customers here, added up over time.
    busy: f64,
    present: f64,
    /// The most customers who waited at one time.
    longest: u32,
    /// Customers who are here at the end.
    here: u64,
    /// The time from the warm-up to the end.
    time: f64,
}

/// The result of the queues, from the warm-up to the end. A number for which there was nothing to
/// measure is NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueuesOutput {
    /// The customers who were served, each time anew.
    pub served: u64,
    /// Customers served per time unit, over all stations.
    pub throughput: f64,
    /// The fraction of the servers that is busy, on average over time.
    pub utilization: f64,
    /// The mean time that a customer waits at a station.
    pub waiting_mean: f64,
    /// The mean time that a customer is at a station.
    pub sojourn_mean: f64,
    /// The customers at a station, on average over time and stations.
    pub customers_mean: f64,
    /// The most customers who ever waited at one station.
    pub longest_queue: u32,
    /// The customers who passed the whole chain.
    pub left: u64,
    /// The mean time that they took.
    pub trip_mean: f64,
    /// By station: the fraction of its servers that is busy.
    pub stations: Vec<f64>,
}

impl Results for QueuesOutput {
    fn figures(&self) -> Vec<Figure> {
        let (figure, count) = (Figure::new, Figure::of_count);
        let time = "time units";
        vec![
            count("served", self.served, "customers", "each time that one was served"),
            figure("throughput", self.throughput, "customers/time unit", "of all stations"),
            figure("utilization", self.utilization, "", "part of the servers that is busy"),
            figure("waiting_mean", self.waiting_mean, time, "wait for a server, per station"),
            figure("sojourn_mean", self.sojourn_mean, time, "wait and service, per station"),
            figure("customers_mean", self.customers_mean, "customers", "at a station"),
            figure(
                "longest_queue",
                self.longest_queue.into(),
                "customers",
                "waited at one station",
            )
            .of_kind(FigureKind::ExtremeCount),
            count("left", self.left, "customers", "passed the whole chain"),
            figure("trip_mean", self.trip_mean, time, "through the whole chain"),
        ]
    }

    fn pictures(&self) -> Vec<Picture> {
        let side = self.stations.len().div_ceil(BARS_MAX).max(1);
        let bars = self.stations.chunks(side);
        let mean = |bar: &[f64]| bar.iter().sum::<f64>() / bar.len() as f64;
        vec![Picture {
            title: "Utilization by station".into(),
            meaning: "Part of the servers of a station that is busy, on average over time.".into(),
            unit: "".into(),
            shape: Shape::Bars {
                axis: "station".into(),
                labels: (0..bars.len()).map(|bar| (bar * side).to_string()).collect(),
                values: bars.map(mean).collect(),
            },
        }]
    }
}

impl Model for Queues {
    type Lp = Station;
    type Output = QueuesOutput;

    fn name(&self) -> &'static str {
        "queues"
    }

    fn parameters(&self) -> &dyn fmt::Debug {
        &self.params
    }

    fn wires(&self) -> Option<Wires<Self>> {
        Some(Wires::serde())
    }

    fn state_wire(&self) -> Option<Wire<Self::Lp>> {
        Some(Wire::serde())
    }

    fn adapt(&self, before: &Self, _: LpId, _: &mut Self::Lp) -> Result<(), String> {
        let &QueuesParams { service, transit, load, .. } = &self.params;
        let other = QueuesParams { service, transit, load, ..before.params.clone() };
        let may_differ = "--service, --transit, --load";
        branching::check(self.params == other, may_differ)
    }

    fn lp_count(&self) -> usize {
        self.params.stations
    }

    fn make_lp(&self, _: LpId) -> Station {
        Station::default()
    }

    fn reduce(&self, tallies: impl Iterator<Item = Tally>) -> QueuesOutput {
        let servers = f64::from(self.params.servers);
        let (mut sum, mut stations) = (Tally::default(), Vec::new());
        for tally in tallies {
            stations.push(tally.busy / tally.time / servers);
            sum.served += tally.served;
            sum.waited += tally.waited;
            sum.stayed += tally.stayed;
            sum.left += tally.left;
            sum.trip += tally.trip;
            sum.busy += tally.busy;
            sum.present += tally.present;
            sum.longest = sum.longest.max(tally.longest);
            sum.here += tally.here;
            sum.time = tally.time;
        }
        if self.params.layout == Layout::Closed {
            let all = self.params.customers as u64;
            assert!(sum.here <= all, "QUEUE-B: {} customers, and not {all}", sum.here);
        }
        let (served, count) = (sum.served as f64, stations.len() as f64);
        QueuesOutput {
            served: sum.served,
            throughput: served / sum.time,
            utilization: stations.iter().sum::<f64>() / count,
            waiting_mean: sum.waited / served,
            sojourn_mean: sum.stayed / served,
            customers_mean: sum.present / (sum.time * count),
            longest_queue: sum.longest,
            left: sum.left,
            trip_mean: sum.trip / sum.left as f64,
            stations,
        }
    }

    fn lookahead(&self) -> Option<f64> {
        (self.params.transit > 0.0).then_some(self.params.transit)
    }

    fn links(&self, from: LpId) -> Option<Vec<Link>> {
        if self.params.layout == Layout::Closed {
            return None;
        }
        let next = from.index() + 1;
        let link = |next| Link { to: LpId::from_index(next), lookahead: self.params.transit };
        Some((next < self.params.stations).then(|| link(next)).into_iter().collect())
    }
}

impl Station {
    /// Adds up busy servers and customers since something last changed.
    fn note(&mut self, until: f64) {
        let time = until - self.since;
        self.tally.busy += f64::from(self.busy) * time;
        self.tally.present += (self.busy as usize + self.waiting.len()) as f64 * time;
        self.since = until;
    }

    /// A customer comes, and takes a server or waits for one.
    fn admit(&mut self, queues: &Queues, joined: f64, cx: &mut impl Context<QueuesMessage>) {
        let now = cx.now().get();
        self.note(now);
        let customer = Customer { joined, came: now };
        if self.busy < queues.params.servers {
            self.busy += 1;
            self.serve(queues, customer, cx);
        } else {
            self.waiting.push_back(customer, cx);
            self.tally.longest = self.tally.longest.max(self.waiting.len() as u32);
        }
    }

    /// A server begins with a customer.
    fn serve(&mut self, queues: &Queues, customer: Customer, cx: &mut impl Context<QueuesMessage>) {
        let now = cx.now().get();
        self.tally.waited += now - customer.came;
        let time = cx.rng().exponential(queues.params.service);
        cx.send(cx.me(), time, QueuesMessage::Served(customer));
    }

    /// A customer has been served and goes on; the server takes the next one.
    fn release(
        &mut self,
        queues: &Queues,
        customer: Customer,
        cx: &mut impl Context<QueuesMessage>,
    ) {
        let now = cx.now().get();
        self.note(now);
        let next = queues.next(cx);
        self.tally.served += 1;
        self.tally.stayed += now - customer.came;
        if next.is_none() {
            self.tally.left += 1;
            self.tally.trip += now - customer.joined;
        }
        if let Some(next) = next {
            cx.send(next, queues.params.transit, QueuesMessage::Come { joined: customer.joined });
        }
        match self.waiting.pop_front(cx) {
            Some(first) => self.serve(queues, first, cx),
            None => self.busy -= 1,
        }
    }
}

impl Station {
    /// Begins to count anew.
    fn reset(_: &Queues, station: &mut Self, now: VirtualTime) {
        let now = now.get();
        station.note(now);
        let longest = station.waiting.len() as u32;
        station.tally = Tally { longest, time: -now, ..Tally::default() };
    }
}

impl Tally {
    /// What was counted since these counts.
    const fn since(&self, earlier: &Self) -> Self {
        Self {
            served: self.served - earlier.served,
            waited: self.waited - earlier.waited,
            stayed: self.stayed - earlier.stayed,
            left: self.left - earlier.left,
            trip: self.trip - earlier.trip,
            busy: self.busy - earlier.busy,
            present: self.present - earlier.present,
            longest: self.longest,
            here: self.here,
            time: self.time - earlier.time,
        }
    }
}

impl LogicalProcess for Station {
    type Model = Queues;
    type Message = QueuesMessage;
    type Summary = Tally;
    const SAVING: Saving<Self> = Saving::BY_FIELD;
    const STATISTICS: Collected<Self> = Collected::by(Self::reset, Tally::since);

    fn start(&mut self, queues: &Queues, cx: &mut impl Context<QueuesMessage>) {
        let me = cx.me().index();
        match queues.params.layout {
            Layout::Chain if me == 0 => queues.schedule_join(cx),
            Layout::Chain => {}
            Layout::Closed => {
                let (customers, stations) = (queues.params.customers, queues.params.stations);
                let mine = customers / stations + usize::from(me < customers % stations);
                for _ in 0..mine {
                    self.admit(queues, 0.0, cx);
                }
            }
        }
    }

    fn handle(
        &mut self,
        queues: &Queues,
        message: &QueuesMessage,
        cx: &mut impl Context<QueuesMessage>,
    ) {
        match *message {
            QueuesMessage::Join => {
                self.admit(queues, cx.now().get(), cx);
                queues.schedule_join(cx);
            }
            QueuesMessage::Come { joined } => self.admit(queues, joined, cx),
            QueuesMessage::Served(customer) => self.release(queues, customer, cx),
        }
    }

    fn identity(queues: &Queues, message: &QueuesMessage) -> Option<u64> {
        // The fingerprint covers the whole message.
        Some(Self::fingerprint(queues, message))
    }

    fn finish(mut self, queues: &Queues, end: VirtualTime) -> Tally {
        let is_idle = self.busy < queues.params.servers;
        assert!(!is_idle || self.waiting.is_empty(), "QUEUE-A: customers wait for a free server");
        self.note(end.get());
        self.tally.here = u64::from(self.busy) + self.waiting.len() as u64;
        self.tally.time += end.get();
        self.tally
    }

    fn fingerprint(_: &Queues, message: &QueuesMessage) -> u64 {
        match *message {
            QueuesMessage::Join => 1,
            QueuesMessage::Come { joined } => mix(2, joined.to_bits()),
            QueuesMessage::Served(Customer { joined, came }) => {
                mix(3 ^ joined.to_bits(), came.to_bits())
            }
        }
    }
}
