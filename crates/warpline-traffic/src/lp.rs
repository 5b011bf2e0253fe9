//! The handlers of the traffic model: what a car does at an LP. `model.rs` says what the model is.

use serde::{Deserialize, Serialize};
use warpline::{Collected, Context, EventKey, Io, LogicalProcess, LpId, VirtualTime, digest::mix};

use crate::{
    cars::{Car, Queue, State},
    output::Sample,
    results::Tally,
    roads::{Kind, Place},
    traffic::Traffic,
};

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
    /// The time series has its next point.
    Tick,
    /// What an LP has at a point of the time series.
    Sample(Sample),
}

/// A junction or a portion of a route, with its cars.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct TrafficLp {
    queue: Queue,
    /// How many more cars will be looked at before one stops.
    until_stop: u64,
    next_serial: u32,
    /// Where times begin to count: at the end of the warm-up, which no event sees.
    means_from: f64,
    tally: Tally,
}

/// Engines that save states do so into old copies, whose memory is used again.
impl Clone for TrafficLp {
    fn clone(&self) -> Self {
        let Self { ref queue, until_stop, next_serial, means_from, ref tally } = *self;
        let (queue, tally) = (queue.clone(), tally.clone());
        Self { queue, until_stop, next_serial, means_from, tally }
    }

    fn clone_from(&mut self, source: &Self) {
        let Self { ref queue, until_stop, next_serial, means_from, ref tally } = *source;
        self.queue.clone_from(queue);
        (self.until_stop, self.next_serial) = (until_stop, next_serial);
        self.means_from = means_from;
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
    /// The size of its state, the cars of its queue included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(self.queue.cars())
    }

    /// Scans the queue, and lets some cars stop.
    #[inline]
    fn scan(&mut self, model: &Traffic, cx: &mut impl Context<TrafficMessage>) {
        let now = cx.now().get();
        let km = model.place(cx.me()).km;
        self.tally.car_seconds += self.queue.scan(now, km, self.means_from);
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

    /// Sends the event of the next car that joins here.
    fn schedule_join(model: &Traffic, cx: &mut impl Context<TrafficMessage>) {
        let Some(mean) = model.interarrival(cx.me()) else { return };
        let stages = model.params.erlang_stages;
        let stage = mean / f64::from(stages);
        let delay = (0..stages).map(|_| cx.rng().exponential(stage)).sum();
        cx.send(cx.me(), delay, TrafficMessage::Join);
    }

    /// A car comes to this LP, and does not leave the network here.
    #[inline]
    fn admit(&mut self, model: &Traffic, comer: Comer, cx: &mut impl Context<TrafficMessage>) {
        let (me, now) = (cx.me(), cx.now().get());
        let place = model.place(me);
        self.scan(model, cx);
        let cars = (self.queue.cars().len() + 1) as f64;
        let capacity = place.capacity;
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
        self.tally.passed += 1;
        self.tally.stay_seconds += stay;
        cx.send(to, model.notice, TrafficMessage::Arrive { from: me.get(), km, joined });
    }

    /// What there is here now. A car that is as good as gone counts until it is.
    fn sample(&self, now: f64) -> Sample {
        let cars = self.queue.cars();
        let here = cars.iter().filter(|car| car.state != State::Leaving || car.leave_at > now);
        let closed = self.queue.freed_at > now;
        let standing = here
            .clone()
            .filter(|car| car.state != State::Leaving && (closed || car.resumes_at > now));
        let Tally { joined, left, accidents, .. } = self.tally;
        Sample {
            cars: here.count() as u32,
            standing: standing.count() as u32,
            joined: joined as u32,
            left: left as u32,
            accidents: accidents as u32,
        }
    }

    /// Begins to count times anew.
    fn reset(_: &Traffic, lp: &mut Self, now: VirtualTime) {
        // Cars are not moved up to now: that would round where they are once more.
        lp.means_from = now.get();
        lp.tally.begin_times();
    }

    /// A car leaves the network.
    #[inline]
    fn depart(&mut self, comer: Comer, now: f64) {
        self.tally.left += 1;
        self.tally.trips += 1;
        self.tally.trip_seconds += now - comer.joined;
        self.tally.trip_km += f64::from(comer.km);
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
    const STATISTICS: Collected<Self> = Collected::by(Self::reset, Tally::since);

    fn start(&mut self, model: &Traffic, cx: &mut impl Context<TrafficMessage>) {
        self.until_stop = Self::draw_stop(model, cx);
        Self::schedule_join(model, cx);
        if model.params.series.is_some() {
            cx.send(cx.me(), 0.0, TrafficMessage::Tick);
        }
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
                Self::schedule_join(model, cx);
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
                    self.depart(comer, now);
                } else {
                    self.admit(model, comer, cx);
                }
            }
            TrafficMessage::Leave { serial } => self.leave(model, serial, cx),
            TrafficMessage::Tick => {
                let sample = TrafficMessage::Sample(self.sample(now));
                cx.send_io(Io::NonBlocking, cx.me(), 0.0, sample);
                cx.send(cx.me(), model.params.series_step, TrafficMessage::Tick);
            }
            // Only `output` gets it.
            TrafficMessage::Sample(_) => {}
        }
    }

    fn output(model: &Traffic, _: LpId, event: &EventKey, message: &TrafficMessage) {
        if let (TrafficMessage::Sample(sample), Some(shared)) = (message, &model.shared) {
            shared.sample(event.time().get(), *sample);
        }
    }

    // There is no `reverse`: a scan moves every car by floating-point numbers, which cannot be
    // restored exactly.

    fn finish(mut self, _: &Traffic, end: VirtualTime) -> Tally {
        // A car drives at most one LP's length between two scans, so the length does not matter.
        self.tally.car_seconds += self.queue.scan(end.get(), f64::INFINITY, self.means_from);
        self.tally.seconds = end.get() - self.means_from;
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
    fn identity(model: &Traffic, message: &TrafficMessage) -> Option<u64> {
        Some(Self::fingerprint(model, message))
    }

    #[inline]
    fn heap_bytes(&self) -> usize {
        self.queue.heap_bytes()
    }

    #[inline]
    fn fingerprint(_: &Traffic, message: &TrafficMessage) -> u64 {
        match *message {
            TrafficMessage::Join => 1,
            TrafficMessage::Arrive { from, km, joined } => {
                mix(u64::from(from) << 32 | u64::from(km.to_bits()), joined.to_bits())
            }
            TrafficMessage::Leave { serial } => mix(2, u64::from(serial)),
            TrafficMessage::Tick => 3,
            TrafficMessage::Sample(Sample { cars, standing, joined, left, accidents }) => {
                let pairs = [[cars, standing], [joined, left], [accidents, 0]];
                let words = pairs.map(|[high, low]| u64::from(high) << 32 | u64::from(low));
                words.into_iter().fold(4, mix)
            }
        }
    }
}
