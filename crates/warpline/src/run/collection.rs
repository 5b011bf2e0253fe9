//! Non-blocking I/O events on their way to rank 0, which writes those of all ranks.
//!
//! Every other rank *ships* those that are final, with a bound: it has shipped all that it has
//! before that key. Rank 0 *collects* them, and may write what is before the bounds of all. Null
//! messages ship and collect in each freeze, and Time Warp at each GVT. Windows do not need this:
//! their parcels carry I/O events, too.
//!
//! # Invariants
//!
//! - **COLLECT-A.** Rank 0 writes nothing at or above the bound of a rank, and bounds never
//!   decrease. So I/O events of all ranks are written in the order of their keys. Bounds that
//!   decrease, and events below them, are refused.
//! - **COLLECT-B.** The last parcel of a rank says how many it has sent, so rank 0 knows when it
//!   has them all, in whatever order they arrive.
//!
//! Both are checked below, and by `tests/random_models/` and `tests/null_messages.rs`.

use warpline_core::{EventKey, Io, LpId, Wire, WireError, append_words, take_words};
use warpline_net::{Malformed, NetError};

use super::{
    Ranks,
    counted::{SPINS, YIELDS},
    threads,
};
use crate::remote_event::{RemoteEvent, read_event, write_event};

/// A lower bound of keys: the words of a key.
pub(crate) type KeyBound = [u64; 3];

/// After every event.
pub(crate) const NEVER: KeyBound = [u64::MAX; 3];

/// A rank that has nothing to ship tells its bound only once in so many times.
const QUIET_MAX: u32 = 16;

/// A non-blocking I/O event of another rank.
pub(crate) type Arrival<T> = RemoteEvent<T>;

/// One rank's part in this.
#[derive(Debug)]
pub(crate) struct Collection<T> {
    wire: Wire<T>,
    /// At rank 0: the other ranks, by rank less one.
    others: Vec<Shipped>,
    /// At another rank: how many parcels it has sent, and how often it had nothing to ship since.
    parcels: u64,
    quiet: u32,
}

/// What another rank has shipped.
#[derive(Clone, Copy, Debug, Default)]
struct Shipped {
    until: KeyBound,
    parcels: u64,
    /// How many parcels there are in all, once that is known.
    all: Option<u64>,
}

impl Shipped {
    fn is_complete(&self) -> bool {
        self.all == Some(self.parcels)
    }
}

impl<T> Collection<T> {
    /// The part of this rank; nothing if there is only one.
    pub(crate) fn new(ranks: &Ranks<'_>, wire: Wire<T>) -> Option<Self> {
        let count = ranks.count();
        let others = if ranks.me() == 0 { vec![Shipped::default(); count - 1] } else { Vec::new() };
        (count > 1).then_some(Self { wire, others, parcels: 0, quiet: 0 })
    }

    /// Ships I/O events of this rank, which is not rank 0: all those before `until` that it has not
    /// shipped. After the `last` time, it has no more.
    ///
    /// # Errors
    ///
    /// Those of the network. The model's code, which writes the messages, may panic.
    pub(crate) fn ship<'e>(
        &mut self,
        ranks: &Ranks<'_>,
        outputs: impl Iterator<Item = (EventKey, LpId, &'e T)>,
        (until, last): (KeyBound, bool),
    ) -> Result<(), NetError>
    where
        T: 'e,
    {
        let mut body = Vec::new();
        append_words(&mut body, until);
        append_words(&mut body, [if last { self.parcels + 1 } else { 0 }]);
        let head = body.len();
        for (key, to, message) in outputs {
            debug_assert!(key.words() < until, "COLLECT-A: {key:?} is not final");
            write_event(&mut body, &self.wire, (&key, to, Some(Io::NonBlocking)), message);
        }
        self.quiet += 1;
        if body.len() == head && !last && self.quiet < QUIET_MAX {
            return Ok(());
        }
        (self.quiet, self.parcels) = (0, self.parcels + 1);
        ranks.send_output(&body)
    }

    /// Rank 0 takes what has arrived from the other ranks. Returns their least bound.
    ///
    /// # Errors
    ///
    /// Those of the network. The model's code, which reads the messages, may panic.
    pub(crate) fn collect(
        &mut self,
        ranks: &Ranks<'_>,
        take: &mut dyn FnMut(Arrival<T>),
    ) -> Result<KeyBound, NetError> {
        debug_assert_eq!(self.others.len() + 1, ranks.count(), "COLLECT-A: rank 0 collects");
        for (rank, body) in ranks.take_outputs()? {
            let malformed = |error: WireError| NetError::Malformed {
                from: rank,
                what: Malformed::Body(error.to_string()),
            };
            self.read(rank, &body, take).map_err(malformed)?;
        }
        Ok(self.others.iter().map(|other| other.until).min().unwrap_or(NEVER))
    }

    /// Rank 0 waits for all that the other ranks still ship. Returns whether it has everything: if
    /// another rank fails, some of it may never come.
    ///
    /// # Errors
    ///
    /// As for [`collect`](Self::collect).
    pub(crate) fn collect_rest(
        &mut self,
        ranks: &Ranks<'_>,
        take: &mut dyn FnMut(Arrival<T>),
    ) -> Result<bool, NetError> {
        let mut waited = 0;
        loop {
            // A rank that alerts has shipped all that it will.
            let alerting = ranks.alerting()?;
            self.collect(ranks, take)?;
            let is_complete = |rank: &usize| self.others[rank - 1].is_complete();
            if (1..=self.others.len()).all(|rank| is_complete(&rank)) {
                return Ok(true);
            }
            if !alerting.iter().all(is_complete) {
                return Ok(false);
            }
            threads::wait(waited, SPINS, YIELDS);
            waited = waited.saturating_add(1);
        }
    }

    fn read(
        &mut self,
        rank: usize,
        mut body: &[u8],
        take: &mut dyn FnMut(Arrival<T>),
    ) -> Result<(), WireError> {
        let until: KeyBound = take_words(&mut body)?;
        let [all] = take_words(&mut body)?;
        let other = rank.checked_sub(1).and_then(|place| self.others.get_mut(place));
        let other = other.ok_or_else(|| WireError::new("I/O events for a rank that takes none"))?;
        let before = other.until;
        while !body.is_empty() {
            let arrival = read_event(&mut body, &self.wire)?;
            if arrival.key.words() < before {
                return Err(WireError::new("COLLECT-A: an I/O event comes after its bound"));
            }
            take(arrival);
        }
        other.parcels += 1;
        if all > 0 {
            other.all = Some(all);
        } else if until < before {
            return Err(WireError::new("COLLECT-A: a bound of I/O events has decreased"));
        } else {
            other.until = until;
        }
        // The last parcel may overtake others, so it alone says nothing.
        if other.is_complete() {
            other.until = NEVER;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use warpline_core::VirtualTime;
    use warpline_net::network;

    use super::*;

    const WIRE: Wire<u16> = Wire::plain();

    fn key(time: f64) -> EventKey {
        EventKey::new(VirtualTime::new(time).unwrap(), 0, LpId::new(7), 1)
    }

    fn until(time: f64) -> (KeyBound, bool) {
        (key(time).words(), false)
    }

    /// Ships one event at each of these times.
    fn ship(ranks: &Ranks<'_>, from: &mut Collection<u16>, times: &[f64], until: (KeyBound, bool)) {
        let outputs = times.iter().map(|&time| (key(time), LpId::new(7), &5));
        from.ship(ranks, outputs, until).unwrap();
    }

    /// COLLECT-A: the least bound counts. COLLECT-B: the end is known when all has arrived.
    #[test]
    fn a_rank_that_has_shipped_nothing_holds_the_others_back() {
        let ends = network(3, 1);
        let ranks: Vec<_> = ends.iter().map(|end| Ranks::of(end)).collect();
        let mut all: Vec<_> =
            ranks.iter().map(|ranks| Collection::new(ranks, WIRE).unwrap()).collect();
        let mut arrived = Vec::new();
        let mut collect = |first: &mut Collection<_>| {
            first.collect(&ranks[0], &mut |arrival| arrived.push(arrival.key)).unwrap()
        };
        ship(&ranks[1], &mut all[1], &[1.0, 1.5], until(2.0));
        assert_eq!(collect(&mut all[0]), [0; 3]);
        // A rank without events says so once in a while.
        for quiet in 1..=QUIET_MAX {
            ship(&ranks[2], &mut all[2], &[], until(3.0));
            let bound = if quiet < QUIET_MAX { [0; 3] } else { key(2.0).words() };
            assert_eq!(collect(&mut all[0]), bound);
        }
        ship(&ranks[1], &mut all[1], &[2.5], (NEVER, true));
        ship(&ranks[2], &mut all[2], &[], (NEVER, true));
        assert_eq!(collect(&mut all[0]), NEVER);
        assert_eq!(arrived, [1.0, 1.5, 2.5].map(key));
        assert_eq!(all[0].collect_rest(&ranks[0], &mut |_| {}), Ok(true));
    }

    /// COLLECT-A.
    #[test]
    fn what_breaks_a_bound_is_refused() {
        for (times, second) in [(&[1.0][..], 3.0), (&[], 1.0)] {
            let ends = network(2, 1);
            let ranks: Vec<_> = ends.iter().map(|end| Ranks::of(end)).collect();
            let mut first = Collection::new(&ranks[0], WIRE).unwrap();
            let mut other = Collection::new(&ranks[1], WIRE).unwrap();
            ship(&ranks[1], &mut other, &[0.5], until(2.0));
            other.quiet = QUIET_MAX;
            ship(&ranks[1], &mut other, times, until(second));
            let refused = first.collect(&ranks[0], &mut |_| {});
            assert!(matches!(refused, Err(NetError::Malformed { from: 1, .. })), "{refused:?}");
        }
    }

    /// A rank that ends early has shipped all that it will.
    #[test]
    fn nobody_waits_for_a_rank_that_has_failed() {
        let ends = network(2, 1);
        let ranks: Vec<_> = ends.iter().map(|end| Ranks::of(end)).collect();
        let mut first = Collection::new(&ranks[0], WIRE).unwrap();
        ranks[1].alert();
        assert_eq!(first.collect_rest(&ranks[0], &mut |_| {}), Ok(false));
    }
}
