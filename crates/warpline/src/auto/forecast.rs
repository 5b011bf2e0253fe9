//! What the first events of some LPs tell of a run before any engine begins it.
//!
//! Windows that begin a run make all LPs, with what it takes to undo events, and hand them over if
//! they turn out to have few events. With very many LPs that takes as long as a short run. So a few
//! of the LPs are made and started ahead, and dropped; what they send is counted. Called by
//! [`auto`](super) for runs that windows may begin; [`Choice`](crate::stages::Choice) decides what
//! follows.
//!
//! # Invariants
//!
//! - **FORE-A.** Nothing of this is seen in what a run commits: a fault of the model, or a start
//!   without an end, tells nothing here, and is reported by the engine that comes to it.

use std::time::{Duration, Instant};

use warpline_core::{EventKey, Io, LpId, Model};

use crate::{
    handling::{self, Admission, Halt, Lp, Sink, Source},
    panics,
    stages::Forecast,
};

/// One LP of so many is made ahead: that takes a part of what it takes to make all of them.
const LPS_EACH: usize = 64;
/// No fewer, or they would tell too little; and no more, which would tell hardly more.
const SAMPLE_LEAST: usize = 16;
const SAMPLE_MOST: usize = 256;
/// An LP may send so many first events, on average.
const SENDS_EACH: u64 = 64;
/// All of it takes no longer than this, but for the LP that is being made.
const TIME_MOST: Duration = Duration::from_millis(1);

/// What a few of the LPs tell; nothing if there are not many LPs, or not enough of them come to
/// their first events.
pub(super) fn forecast<M: Model>(model: &M, seed: u64, end: f64) -> Option<Forecast> {
    let admission = Admission::new(model).ok()?;
    let (lps, began) = (admission.lp_count(), Instant::now());
    let sample = (lps / LPS_EACH).min(SAMPLE_MOST);
    if sample < SAMPLE_LEAST {
        return None;
    }
    let sends_most = SENDS_EACH * sample as u64;
    let mut first = FirstEvents { admission, end, sent: 0, pending: 0, times: 0.0, sends_most };
    let mut started = 0;
    for me in spread(sample, lps).take_while(|_| began.elapsed() < TIME_MOST) {
        panics::catch(|| first.start(model, me, seed)).ok()?;
        started += 1;
    }
    (started >= SAMPLE_LEAST).then(|| first.forecast(lps as f64 / started as f64))
}

/// So many of the LPs, here and there: none of the regular patterns in which models number theirs.
fn spread(sample: usize, lps: usize) -> impl Iterator<Item = LpId> {
    // Multiples of the golden ratio are far from each other, modulo 1.
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    (1..=sample as u64).map(move |number| {
        let part = u128::from(number.wrapping_mul(GOLDEN));
        LpId::from_index(((part * lps as u128) >> 64) as usize)
    })
}

/// What LPs have sent that were started ahead. Nothing is kept.
struct FirstEvents {
    admission: Admission,
    end: f64,
    /// How many events, how many of them before the end, and the sum of their times.
    sent: u64,
    pending: u64,
    times: f64,
    sends_most: u64,
}

impl FirstEvents {
    fn start<M: Model>(&mut self, model: &M, me: LpId, seed: u64) {
        let Lp { mut state, mut core } = Lp::new(model, me, seed);
        handling::start(&mut state, &mut core, model, me, self, || false);
    }

    /// What all LPs will send, of which each that was started stands for so many. Each event is
    /// thought to have one effect, after as long a time as it took itself.
    fn forecast(&self, each: f64) -> Forecast {
        debug_assert!(each >= 1.0, "more LPs were started than there are");
        let (sent, pending) = (self.sent as f64, each * self.pending as f64);
        let mean = if self.times > 0.0 { self.times / sent } else { 0.0 };
        let events = if mean > 0.0 { each * sent * self.end / mean } else { f64::INFINITY };
        Forecast { pending, events }
    }
}

impl<T> Sink<T> for FirstEvents {
    fn admission(&self) -> &Admission {
        &self.admission
    }

    fn accept(&mut self, key: EventKey, _: LpId, _: Option<Io>, _: impl Source<T>) {
        if self.sent == self.sends_most {
            Sink::<T>::halt(self, Halt::Stopped);
        }
        self.sent += 1;
        self.pending += u64::from(key.time_value() < self.end);
        self.times += key.time_value();
    }

    /// For whatever reason: none is told (FORE-A).
    fn halt(&mut self, _: Halt) -> ! {
        panics::cut_off()
    }
}

#[cfg(test)]
mod tests {
    use warpline_core::{Context, LogicalProcess, VirtualTime};

    use super::*;

    /// LPs that only send first events, at these times.
    struct Firsts {
        lps: usize,
        times: fn(usize) -> Vec<f64>,
    }

    #[derive(Clone, Debug)]
    struct First;

    impl Model for Firsts {
        type Lp = First;
        type Output = ();

        fn name(&self) -> &'static str {
            "firsts"
        }

        fn lp_count(&self) -> usize {
            self.lps
        }

        fn make_lp(&self, _: LpId) -> First {
            First
        }

        fn reduce(&self, _: impl Iterator<Item = ()>) {}
    }

    impl LogicalProcess for First {
        type Model = Firsts;
        type Message = ();
        type Summary = ();

        fn start(&mut self, model: &Firsts, cx: &mut impl Context<()>) {
            for time in (model.times)(cx.me().index()) {
                cx.send(cx.me(), time, ());
            }
        }

        fn handle(&mut self, _: &Firsts, (): &(), _: &mut impl Context<()>) {}

        fn finish(self, _: &Firsts, _: VirtualTime) {}
    }

    /// What is foreseen of 65 536 LPs until time 100, per LP: pending events, and all.
    fn foreseen(times: fn(usize) -> Vec<f64>) -> Option<(f64, f64)> {
        let lps = 1 << 16;
        let forecast = forecast(&Firsts { lps, times }, 1, 100.0)?;
        Some((forecast.pending / lps as f64, forecast.events / lps as f64))
    }

    /// (Red if events after the end are pending, or if their times do not count.)
    #[test]
    fn first_events_tell_of_the_others() {
        assert_eq!(foreseen(|_| vec![10.0, 30.0]), Some((2.0, 10.0)));
        assert_eq!(foreseen(|_| vec![50.0, 150.0]), Some((1.0, 2.0)));
        assert_eq!(foreseen(|_| vec![]), Some((0.0, f64::INFINITY)), "nobody knows how many");
        assert_eq!(foreseen(|_| vec![0.0]), Some((1.0, f64::INFINITY)));
        let (few, _) =
            foreseen(|me| if me % 1000 == 0 { vec![1.0] } else { vec![] }).expect("some");
        assert!(few < 1.0 / 64.0, "{few} of an LP");
    }

    /// (Red where a fault is taken for a start without events, and without `SAMPLE_LEAST`. Without
    /// `SENDS_EACH`, this has no end.)
    #[test]
    fn faults_endless_starts_and_few_lps_tell_nothing() {
        assert_eq!(foreseen(|_| panic!("a fault")), None, "FORE-A");
        assert_eq!(foreseen(|_| vec![-1.0]), None);
        assert_eq!(foreseen(|_| vec![1.0; 1 << 20]), None, "FORE-A");
        let few = Firsts { lps: SAMPLE_LEAST * LPS_EACH - 1, times: |_| vec![1.0] };
        assert!(forecast(&few, 1, 100.0).is_none());
    }

    /// (Red if the LPs of a sample are neighbors, or at a regular distance.)
    #[test]
    fn a_sample_is_spread() {
        for lps in [1024, 1000 * 64, 1 << 20] {
            let sample: Vec<_> = spread(SAMPLE_LEAST, lps).map(LpId::index).collect();
            for part in 0..4 {
                let within = part * lps / 4..(part + 1) * lps / 4;
                assert_eq!(sample.iter().filter(|lp| within.contains(lp)).count(), 4, "{sample:?}");
            }
            let odd = sample.iter().filter(|&lp| lp % 2 == 1).count();
            assert!((2..=14).contains(&odd), "{sample:?}");
        }
    }
}
