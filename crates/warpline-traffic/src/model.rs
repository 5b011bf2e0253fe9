//! Cars on a network of motorways, as a model for the engines.
//!
//! An LP is a junction or a portion of a route. A car joins at a junction, and drives from LP to LP
//! until it leaves at a junction. Virtual time is in seconds.
//!
//! When a car comes to an LP, the queue of cars there is scanned: all are moved to where they are
//! now, and some decide to stop. Then its speed is drawn, a jam may slow it down, and an accident
//! may close the road. It sends itself [`TrafficMessage::Leave`] for when it will be through. An
//! event that finds that the car stopped, or that the road is closed, is put off.
//!
//! # The lookahead
//!
//! A car tells the next LP of its arrival some time before: the *notice*, the time that the fastest
//! car takes through the shortest LP. It is the lookahead of the model. What happens behind a car
//! in that time does not hold it up any more. Without a greatest speed there is no notice.
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

use std::{fmt, sync::Arc};

use warpline::{
    AnyModel, Link, LpId, Model,
    wire::{Wire, Wires},
};

use crate::results::{Tally, TrafficOutput};
pub use crate::{
    lp::{TrafficLp, TrafficMessage},
    traffic::{Traffic, TrafficError},
};

impl Traffic {
    /// The type forgotten, with all engines.
    #[must_use]
    pub fn into_any(self) -> AnyModel {
        AnyModel::new(self)
    }
}

impl Model for Traffic {
    type Lp = TrafficLp;
    type Output = TrafficOutput;

    fn name(&self) -> &'static str {
        "traffic"
    }

    fn parameters(&self) -> &dyn fmt::Debug {
        self
    }

    fn wires(&self) -> Option<Wires<Self>> {
        Some(Wires::serde())
    }

    fn state_wire(&self) -> Option<Wire<Self::Lp>> {
        Some(Wire::serde())
    }

    fn lp_count(&self) -> usize {
        self.roads.places.len()
    }

    fn make_lp(&self, _: LpId) -> TrafficLp {
        TrafficLp::default()
    }

    fn reduce(&self, tallies: impl Iterator<Item = Tally>) -> TrafficOutput {
        let kms = self.roads.places.iter().map(|place| place.km);
        let (map, mut densities, mut kept) = (self.map(), Vec::new(), Vec::new());
        let tallies = kms.zip(tallies).inspect(|(km, tally)| {
            if map.is_some() {
                densities.push(tally.density(*km));
            }
            if self.shared.is_some() {
                kept.push(tally.clone());
            }
        });
        let mut output = TrafficOutput::new(tallies);
        output.map = map.map(|map| (Arc::clone(map), densities));
        if let Some(shared) = &self.shared {
            shared.take(kept);
        }
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
