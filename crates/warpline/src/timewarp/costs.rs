//! Where the time goes: nanoseconds by part of the engine, measured with `--costs`.
//!
//! Of the events that a worker handles, one in [`SAMPLE_EVERY`] is timed part by part. Work done
//! once per turn or per GVT is always timed. The time that a look at the clock takes is measured at
//! the start and taken off.

use std::time::{Duration, Instant};

/// One of this many events is timed.
const SAMPLE_EVERY: u64 = 61;

/// A part of the work of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Taking mail, annihilating canceled events.
    Receive,
    /// Taking the least event from the pending set.
    Pending,
    /// Saving the state and writing the record.
    Saving,
    /// The handler of the model, without its sends.
    Handler,
    /// Sends: the key, the buffer, the pending set or the mail.
    Send,
    /// Rolling back.
    Rollback,
    /// Fossil collection.
    Fossil,
}

impl Part {
    /// Every part, each at the place of its number.
    pub(super) const ALL: [Self; 7] = [
        Self::Receive,
        Self::Pending,
        Self::Saving,
        Self::Handler,
        Self::Send,
        Self::Rollback,
        Self::Fossil,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending set",
            Self::Saving => "state saving",
            Self::Handler => "handler",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Rollback => "rollback",
            Self::Fossil => "fossil collection",
        }
    }

    /// Whether it is timed only for a sample of the events.
    const fn is_sampled(self) -> bool {
        matches!(self, Self::Pending | Self::Saving | Self::Handler | Self::Send)
    }
}

const _: () = {
    let mut index = 0;
    while index < Part::ALL.len() {
        assert!(Part::ALL[index] as usize == index, "costs have the name of another part");
        index += 1;
    }
};

/// Where the time of one worker went.
#[derive(Clone, Debug)]
pub(super) struct Costs {
    on: bool,
    /// Whether the event at hand is timed.
    sampling: bool,
    /// Whether the timeline is told where events come from.
    notes_sends: bool,
    /// One of the two.
    watches_sends: bool,
    since: Instant,
    entered: Instant,
    /// Time of inner parts, to be taken off the outer one.
    inner: Duration,
    /// The time that a look at the clock takes.
    clock: Duration,
    spent: [Duration; Part::ALL.len()],
}

impl Costs {
    pub(super) fn new(on: bool) -> Self {
        let now = Instant::now();
        Self {
            on,
            sampling: false,
            notes_sends: false,
            watches_sends: false,
            since: now,
            entered: now,
            inner: Duration::ZERO,
            clock: if on { clock_cost() } else { Duration::ZERO },
            spent: [Duration::ZERO; Part::ALL.len()],
        }
    }

    /// Begins a part that is timed every time.
    #[inline]
    pub(super) fn begin(&mut self) {
        if self.on {
            (self.since, self.inner) = (Instant::now(), Duration::ZERO);
        }
    }

    /// Ends it.
    #[inline]
    pub(super) fn end(&mut self, part: Part) {
        if self.on {
            self.note(part);
        }
    }

    /// Begins an event, the `number`-th.
    #[inline]
    pub(super) fn begin_event(&mut self, number: u64) {
        if self.on {
            self.begin_sample(number);
        }
    }

    #[cold]
    fn begin_sample(&mut self, number: u64) {
        self.sampling = number.is_multiple_of(SAMPLE_EVERY);
        self.watches_sends = self.sampling || self.notes_sends;
        self.begin();
    }

    /// Lets the timeline be told where events come from that are sent from now on, or not.
    pub(super) fn note_sends(&mut self, notes: bool) {
        self.notes_sends = notes;
        self.watches_sends = self.sampling || notes;
    }

    /// Whether anything is to be done when an event has been sent.
    #[inline]
    pub(super) const fn watches_sends(&self) -> bool {
        debug_assert!(self.watches_sends == (self.sampling || self.notes_sends), "out of date");
        self.watches_sends
    }

    /// Whether the timeline is told where the event comes from that has been sent.
    pub(super) const fn notes_sends(&self) -> bool {
        self.notes_sends
    }

    /// Ends a part of an event, and begins the next one.
    #[inline]
    pub(super) fn lap(&mut self, part: Part) {
        if self.sampling {
            self.note(part);
        }
    }

    #[inline]
    const fn times(&self, part: Part) -> bool {
        if part.is_sampled() { self.sampling } else { self.on }
    }

    /// Begins a part within another.
    #[inline]
    pub(super) fn enter(&mut self, part: Part) {
        if self.times(part) {
            self.entered = Instant::now();
        }
    }

    /// Ends it.
    #[inline]
    pub(super) fn leave(&mut self, part: Part) {
        if self.times(part) {
            self.note_inner(part);
        }
    }

    #[cold]
    fn note_inner(&mut self, part: Part) {
        let took = self.entered.elapsed();
        self.spent[part as usize] += took.saturating_sub(self.clock);
        self.inner += took + self.clock;
    }

    #[cold]
    fn note(&mut self, part: Part) {
        let now = Instant::now();
        let took = (now - self.since).saturating_sub(self.inner + self.clock);
        self.spent[part as usize] += took;
        (self.since, self.inner) = (Instant::now(), Duration::ZERO);
    }

    /// The seconds spent in each part, sampled parts scaled up; `None` if nothing was timed.
    pub(super) fn seconds(&self) -> Option<[f64; Part::ALL.len()]> {
        let seconds = |index: usize| {
            let part = Part::ALL[index];
            let scale = if part.is_sampled() { SAMPLE_EVERY as f64 } else { 1.0 };
            self.spent[index].as_secs_f64() * scale
        };
        self.on.then(|| std::array::from_fn(seconds))
    }
}

/// The time that a look at the clock takes: the least of many.
fn clock_cost() -> Duration {
    let look = || {
        let start = Instant::now();
        start.elapsed()
    };
    (0..1000).map(|_| look()).min().unwrap_or_default()
}
