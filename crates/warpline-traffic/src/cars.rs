//! The cars of an LP: a queue that is scanned whenever a car arrives.
//!
//! The model (`model.rs`) is its only user.
//!
//! # Invariants
//!
//! - **CARS-A.** The queue is in the order of the positions, the car nearest to its exit first.
//! - **CARS-B.** No car is further than the length of the road.
//!
//! # References
//!
//! Pellegrini and Quaglia, *NUMA Time Warp*, 2015, section 4.

use serde::{Deserialize, Serialize};
use warpline::{LpId, state::heap_block};

/// A car on the road of an LP.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Car {
    /// Its number at this LP.
    pub(crate) serial: u32,
    /// The LP that it drives to.
    pub(crate) to: LpId,
    /// When it joined the network.
    pub(crate) joined: f64,
    /// When it came here.
    pub(crate) entered: f64,
    /// When it will be gone, as far as is known.
    pub(crate) leave_at: f64,
    /// When a stop ends.
    pub(crate) resumes_at: f64,
    /// What it drove before it came here (km).
    pub(crate) km: f32,
    /// How far it has driven here (km).
    pub(crate) position: f32,
    /// Its speed here, jams included (km/s).
    pub(crate) speed: f32,
    pub(crate) state: State,
}

/// What a car does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum State {
    Driving,
    /// Until [`Car::resumes_at`].
    Stopped,
    /// The next LP knows that it comes; it is here until [`Car::leave_at`].
    Leaving,
}

/// The cars of an LP.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Queue {
    cars: Vec<Car>,
    /// When the queue was scanned last.
    scanned: f64,
    /// Until when an accident closes the road; 0 before the first one.
    pub(crate) freed_at: f64,
    /// When the last car drives off after an accident.
    drives_off: f64,
}

/// Engines that save states do so into old copies, whose memory is used again.
impl Clone for Queue {
    fn clone(&self) -> Self {
        let Self { ref cars, scanned, freed_at, drives_off } = *self;
        Self { cars: cars.clone(), scanned, freed_at, drives_off }
    }

    fn clone_from(&mut self, source: &Self) {
        let Self { ref cars, scanned, freed_at, drives_off } = *source;
        self.cars.clone_from(cars);
        (self.scanned, self.freed_at, self.drives_off) = (scanned, freed_at, drives_off);
    }
}

impl Queue {
    /// What it owns on the heap.
    #[inline]
    pub(crate) fn heap_bytes(&self) -> usize {
        heap_block(self.cars.capacity() * size_of::<Car>())
    }

    /// Scans the queue: forgets the cars that are gone, and moves the others along a road of `km`.
    /// Returns the time that all cars spent here since the last scan or since `from`, whichever is
    /// later (car-seconds).
    #[inline]
    pub(crate) fn scan(&mut self, now: f64, km: f64, from: f64) -> f64 {
        let (counted_from, moves_from) = (self.scanned.max(from), self.scanned.max(self.freed_at));
        let km = km as f32;
        let (mut kept, mut car_seconds) = (0, 0.0);
        for index in 0..self.cars.len() {
            let mut car = self.cars[index];
            let until = if car.state == State::Leaving { car.leave_at.min(now) } else { now };
            car_seconds += (until - counted_from).max(0.0);
            if car.state == State::Leaving && car.leave_at <= now {
                continue;
            }
            let moves_from = moves_from.max(car.resumes_at);
            car.position = (car.position + car.speed * (now - moves_from).max(0.0) as f32).min(km);
            if car.state == State::Stopped && car.resumes_at <= now {
                car.state = State::Driving;
            }
            // Overtakes those before it that are slower (CARS-A).
            let mut place = kept;
            while place > 0 && self.cars[place - 1].position < car.position {
                self.cars[place] = self.cars[place - 1];
                place -= 1;
            }
            self.cars[place] = car;
            kept += 1;
        }
        self.cars.truncate(kept);
        self.scanned = now;
        car_seconds
    }

    /// Puts a car at the end of the queue. The queue was scanned at the same time.
    #[inline]
    pub(crate) fn push(&mut self, car: Car) {
        self.cars.push(car);
    }

    /// The cars, the one nearest to its exit first.
    pub(crate) fn cars(&self) -> &[Car] {
        &self.cars
    }

    /// The car at this place of the queue stops for a while, unless it stands or is as good as
    /// gone.
    #[inline]
    pub(crate) fn stop(&mut self, place: usize, now: f64, duration: f64) -> bool {
        let car = &mut self.cars[place];
        let stops = car.state == State::Driving;
        if stops {
            car.state = State::Stopped;
            car.resumes_at = now + duration;
            car.leave_at += duration;
        }
        stops
    }

    /// The place in the queue of the car with this number.
    #[inline]
    pub(crate) fn find(&self, serial: u32) -> Option<usize> {
        self.cars.iter().position(|car| car.serial == serial)
    }

    /// The car at this place of the queue.
    #[inline]
    pub(crate) fn car_mut(&mut self, place: usize) -> &mut Car {
        &mut self.cars[place]
    }

    /// When the next car drives off that an accident held up; at least `headway` after the last.
    #[inline]
    pub(crate) fn next_to_drive_off(&mut self, headway: f64) -> f64 {
        self.drives_off = (self.drives_off + headway).max(self.freed_at);
        self.drives_off
    }

    /// The cars that no other LP knows of.
    pub(crate) fn staying(&self) -> usize {
        self.cars.iter().filter(|car| car.state != State::Leaving).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn car(serial: u32, position: f32, speed: f32) -> Car {
        Car {
            serial,
            to: LpId::new(0),
            joined: 0.0,
            entered: 0.0,
            leave_at: 100.0,
            resumes_at: 0.0,
            km: 0.0,
            position,
            speed,
            state: State::Driving,
        }
    }

    fn serials(queue: &Queue) -> Vec<u32> {
        queue.cars().iter().map(|car| car.serial).collect()
    }

    /// CARS-A and CARS-B.
    #[test]
    fn faster_cars_overtake_and_stay_on_the_road() {
        let mut queue = Queue::default();
        for (serial, speed) in [(0, 0.01), (1, 0.03), (2, 0.02)] {
            queue.push(car(serial, 0.0, speed));
        }
        assert_eq!(queue.scan(10.0, 5.0, 0.0), 30.0);
        assert_eq!(serials(&queue), [1, 2, 0]);
        queue.push(car(3, 0.0, 1.0));
        assert_eq!(queue.scan(20.0, 5.0, 15.0), 20.0, "car-seconds count from a time on");
        assert_eq!(serials(&queue), [3, 1, 2, 0]);
        assert_eq!(queue.cars()[0].position, 5.0);
        assert_eq!((queue.find(2), queue.find(9)), (Some(2), None));
    }

    #[test]
    fn cars_stand_while_they_stop_and_while_the_road_is_closed() {
        let mut queue = Queue::default();
        queue.push(car(0, 0.0, 0.1));
        assert!(queue.stop(0, 0.0, 4.0));
        assert!(!queue.stop(0, 1.0, 4.0), "it stands already");
        queue.scan(10.0, 50.0, 0.0);
        assert!((queue.cars()[0].position - 0.6).abs() < 1e-6);
        assert_eq!((queue.cars()[0].state, queue.cars()[0].leave_at), (State::Driving, 104.0));
        queue.freed_at = 15.0;
        queue.scan(20.0, 50.0, 0.0);
        assert!((queue.cars()[0].position - 1.1).abs() < 1e-6);
        assert_eq!([queue.next_to_drive_off(2.0), queue.next_to_drive_off(2.0)], [15.0, 17.0]);
    }

    /// A car is there until it is gone, and its time counts until then.
    #[test]
    fn cars_that_leave_are_forgotten_when_they_are_gone() {
        let mut queue = Queue::default();
        queue.push(car(0, 0.0, 0.1));
        queue.push(car(1, 0.0, 0.05));
        *queue.car_mut(0) = Car { state: State::Leaving, leave_at: 12.0, ..queue.cars()[0] };
        assert!(!queue.stop(0, 0.0, 1.0));
        assert_eq!((queue.scan(10.0, 9.0, 0.0), queue.cars().len()), (20.0, 2));
        assert_eq!(queue.staying(), 1);
        assert_eq!((queue.scan(20.0, 9.0, 0.0), serials(&queue)), (12.0, vec![1]));
        let mut copy = Queue::default();
        copy.clone_from(&queue);
        assert_eq!(format!("{copy:?}"), format!("{queue:?}"));
    }
}
