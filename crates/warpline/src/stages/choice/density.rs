//! How many events there are per unit of virtual time.
//!
//! An engine with windows is the faster, the more events a window has; the sequential engine is
//! not. So where the density grows, as in an epidemic, what a trial of windows has shown is soon
//! out of date: it is thought to be more by the root of the growth. Called by
//! [`Choice`](super::Choice).

/// The density grows if it is more by this factor than a slice before.
const GROWS: f64 = 1.25;
/// Growth by less than this says nothing about rates: an LP has quiet times.
const OUTDATED: f64 = 2.0;

/// The density of events, slice by slice.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Density {
    now: f64,
    last: f64,
    /// Where the slice began: a virtual time, and the events that were committed by then.
    began: (f64, u64),
}

impl Density {
    /// A slice begins at this virtual time, with so many events committed.
    pub(super) const fn begin(&mut self, virtual_time: f64, committed: u64) {
        self.began = (virtual_time, committed);
    }

    /// It ends, and the next one begins.
    pub(super) fn end(&mut self, virtual_time: f64, committed: u64) {
        let time = virtual_time - self.began.0;
        debug_assert!(committed >= self.began.1, "CUT-A: events are lost");
        let events = (committed - self.began.1) as f64;
        // Windows are opened before those before them are committed, so either may stand still.
        if time > 0.0 && events > 0.0 {
            (self.last, self.now) = (self.now, events / time);
        }
        self.begin(virtual_time, committed);
    }

    /// The density in the last slice, in events per unit of virtual time; 0 before that.
    pub(super) const fn now(&self) -> f64 {
        self.now
    }

    /// Whether it grows from slice to slice.
    pub(super) fn grows(&self) -> bool {
        self.last > 0.0 && self.now > GROWS * self.last
    }

    /// By which factor windows are probably faster than they were at the density `then`.
    pub(super) fn gain_since(&self, then: f64) -> f64 {
        debug_assert!(then >= 0.0, "fewer events than none");
        if then > 0.0 && self.now > OUTDATED * then { (self.now / then).sqrt() } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_much_growth_counts() {
        let mut density = Density::default();
        density.begin(1.0, 100);
        density.end(2.0, 200);
        assert!(!density.grows(), "nothing is known of the slice before");
        density.end(2.0, 300);
        density.end(3.0, 400);
        assert_eq!(density.now(), 100.0, "a slice in which no time passed tells nothing");
        assert_eq!(density.gain_since(60.0), 1.0);
        assert_eq!(density.gain_since(0.0), 1.0);
        density.end(4.0, 800);
        assert!(density.grows());
        assert_eq!(density.gain_since(100.0), 2.0);
    }
}
