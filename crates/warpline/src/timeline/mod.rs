//! What the workers of a run did, over wall time: [`Timeline`].
//!
//! A [`Simulation`](crate::Simulation) that has a timeline lets each worker write what it does into
//! a `Recorder` of its own: batches of events, rollbacks and what caused them, GVT, fossil
//! collection, cancelback, waiting. No worker shares anything with another for that, and none looks
//! at the clock for each event. After the run, [`Timeline::recording`] makes tracks and arrows of
//! it; `warpline-trace` writes them as a Perfetto trace.
//!
//! | module | what it has |
//! |---|---|
//! | `recorder` | what a worker writes while it runs, in bounded memory |
//! | `assembly` | spans, arrows and samples, made of that after the run |
//!
//! # Invariants
//!
//! - **SPAN-A.** The spans of a track nest: two of them are apart, or one contains the other.
//! - **SPAN-B.** An arrow has both ends, and does not lead back in time; between ranks that are
//!   processes, by no more than their clocks may differ.
//! - **SPAN-C.** What is not in the recording for lack of room is counted.

mod assembly;
mod recorder;

use std::{
    collections::BTreeMap,
    fmt,
    ops::{Deref, DerefMut, Range},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};
use warpline_memory::Clock;

use crate::monitor::Activity;
pub(crate) use assembly::Meeting;
pub(crate) use recorder::{Recorder, Stamp, Tape};

/// The memory of all workers together, unless the program says otherwise. Its first use takes as
/// long as some thousand batches.
const MEMORY: u64 = 4 << 20;
/// A worker has room for this many records at the least.
const RECORDS_MIN: usize = 4096;
/// More stages than this are not noted.
const STAGES_MAX: usize = 4096;

/// What a worker does for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Phase {
    /// It makes its LPs, and lets each send its first events.
    Start,
    /// It handles events: a batch of the least ones, or all until the next look at the clock.
    Batch,
    /// It handles the blocking I/O event that GVT has reached.
    BlockingIo,
    /// It undoes events of one LP.
    Rollback(Cause),
    /// It takes over a new GVT, and answers it.
    Gvt,
    /// It commits the events below GVT, and reclaims their buffers.
    FossilCollection,
    /// It takes back events that it has sent from far ahead, because buffers are short.
    Cancelback,
    /// It opens a window: it handles the events of the window that it knows. With conservative
    /// windows that is all of them.
    Window,
    /// It settles a window: it handles events that came late, and repairs what they change.
    Settling,
    /// It commits a window.
    Commit,
    /// All workers give up their windows, and begin again at the last border.
    Resize,
    /// LPs that may handle their next events do so, in turn: each as far as its channels allow.
    Turns,
    /// LPs are looked at that may have to send null messages, or to request some.
    NullMessages,
    /// All workers stop, to find out whether there is a deadlock, and how the run goes on.
    DeadlockDetection,
    /// It has no event that it may handle.
    Waiting(Activity),
}

/// Why events are undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Cause {
    /// An earlier event came late: a primary rollback.
    Straggler,
    /// An event that was handled is canceled: a secondary rollback.
    AntiMessage,
    /// Buffers are short, or the run ends early: all events beyond some time are undone.
    Horizon,
    /// A handler was cut off, for lack of buffers or with a failure. This is no rollback: the LP
    /// had not gone beyond the event.
    CutOff,
}

/// A number that changes over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Gauge {
    /// The virtual time of the event that the worker handled last.
    VirtualTime,
    /// Global virtual time, as the worker knows it.
    Gvt,
    /// Events that were committed, of those processed since the last sample.
    Efficiency,
    /// Events that were handled and are not committed.
    Uncommitted,
    /// Event buffers that the worker can count on, where memory is limited.
    FreeBuffers,
}

/// Something that a worker did. An event that is annihilated before it was handled is one, too,
/// with no duration and no phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// What it did; `None` for an annihilated event.
    pub phase: Option<Phase>,
    /// Nanoseconds since the run began.
    pub begin: u64,
    /// Nanoseconds since the run began.
    pub end: u64,
    /// The span around it, among the spans of its track.
    pub parent: Option<usize>,
    /// How many events: handled, undone, committed. When a window is settled, or all are given up,
    /// those that were undone; in a deadlock detection, deadlocks.
    pub events: u64,
    /// How many of something else. In batches of Time Warp, events that were sent to other ranks;
    /// in turns of LPs and between them, null messages that were sent; when a window is settled,
    /// LPs that were rolled back.
    pub count: u64,
    /// A virtual time: of the last event of a batch, of a straggler, of an annihilated event, the
    /// new GVT, the end of a window.
    pub virtual_time: Option<f64>,
    /// The LP that is rolled back, or that an annihilated event was for.
    pub lp: Option<u32>,
}

/// A number at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Nanoseconds since the run began.
    pub at: u64,
    /// Which number.
    pub gauge: Gauge,
    /// The number.
    pub value: f64,
}

/// What one worker did.
#[derive(Clone, Debug, Default)]
pub struct Track {
    /// Its rank.
    pub rank: usize,
    /// Its number among the workers of that rank.
    pub worker: usize,
    /// In the order of their beginnings.
    pub spans: Vec<Span>,
    /// In the order of time.
    pub samples: Vec<Sample>,
}

/// What an arrow means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// From the batch that sent an event to the rollback that the event caused at its receiver.
    Straggler,
    /// From the span that canceled an event to the event's end: it is annihilated, or the rollback
    /// that undoes it.
    Cancellation,
}

/// What led to what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// What it means.
    pub link: Link,
    /// The track and the span in it where the arrow begins.
    pub from: (usize, usize),
    /// The track and the span in it where it ends.
    pub to: (usize, usize),
}

/// A part of a run on one engine.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The engine and its workers, as people read it.
    pub name: String,
    /// Nanoseconds since the run began.
    pub begin: u64,
}

/// What all workers did.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// By rank and worker.
    pub tracks: Vec<Track>,
    /// In no order.
    pub arrows: Vec<Arrow>,
    /// Where a run changes engines; empty for other runs.
    pub stages: Vec<Stage>,
    /// When the last span ends, in nanoseconds since the run began.
    pub end: u64,
    /// For lack of room, only what began in one of this many slices of time is there: 1 if all is.
    pub one_of: u64,
    /// How long a slice is, in nanoseconds.
    pub slice: u64,
    /// How many spans are not there.
    pub left_out: u64,
    /// Where ranks are processes: by how many nanoseconds, at the most, the time of another rank
    /// may differ from that of rank 0, as far as the clocks run evenly.
    pub clock_error: u64,
}

/// The recorder that a worker has. It comes back when the worker ends, however that comes about.
#[derive(Debug)]
pub(crate) struct LentRecorder {
    timeline: Timeline,
    recorder: Box<Recorder>,
}

impl Deref for LentRecorder {
    type Target = Recorder;

    fn deref(&self) -> &Recorder {
        &self.recorder
    }
}

impl DerefMut for LentRecorder {
    fn deref_mut(&mut self) -> &mut Recorder {
        &mut self.recorder
    }
}

impl Drop for LentRecorder {
    fn drop(&mut self) {
        let mut recorder = Box::new(self.recorder.take());
        recorder.close();
        let other = self.timeline.state().recorders.insert(recorder.place(), recorder);
        debug_assert!(other.is_none(), "two workers have recorded as one");
    }
}

/// What the workers of a run did; a handle that is given to
/// [`Simulation::timeline`](crate::Simulation::timeline).
///
/// Memory is bounded. When there is no room for more, every other slice of time goes, and again
/// when that was not enough: so a long run has short stretches in full, evenly spread
/// ([`Recording::one_of`]).
///
/// ```
/// # fn example<M: warpline::Model>(model: M) -> Result<(), warpline::RunError> {
/// use warpline::{Simulation, TimeWarp, timeline::Timeline};
///
/// let timeline = Timeline::default();
/// Simulation::new(model).engine(TimeWarp::default()).timeline(&timeline).run()?;
/// for track in timeline.recording().tracks {
///     println!("worker {}: {} spans", track.worker, track.spans.len());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Timeline(Arc<SharedTimeline>);

struct SharedTimeline {
    records: usize,
    state: Mutex<State>,
}

struct State {
    clock: Clock,
    /// Those that no worker has at the moment, by rank and worker.
    recorders: BTreeMap<(usize, usize), Box<Recorder>>,
    stages: Vec<Stage>,
    /// If ranks are processes: where the clocks of the others were, by rank less one, at the
    /// beginning and at the end.
    meetings: Vec<Vec<Meeting>>,
}

impl State {
    const fn new(clock: Clock, recorders: BTreeMap<(usize, usize), Box<Recorder>>) -> Self {
        Self { clock, recorders, stages: Vec::new(), meetings: Vec::new() }
    }
}

impl Default for Timeline {
    fn default() -> Self {
        Self::new(MEMORY)
    }
}

impl fmt::Debug for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeline").field("records", &self.0.records).finish_non_exhaustive()
    }
}

impl Timeline {
    /// A timeline of one run, into which all workers together write at most about this number of
    /// bytes: 32 for the beginning of a span, its end, an end of an arrow, a sample.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        let records = usize::try_from(bytes).unwrap_or(usize::MAX) / size_of::<recorder::Record>();
        let state = Mutex::new(State::new(Clock::start(), BTreeMap::new()));
        Self(Arc::new(SharedTimeline { records, state }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run begins, of this number of workers for each of these ranks.
    pub(crate) fn prepare(&self, ranks: Range<usize>, workers: usize) {
        debug_assert!(!ranks.is_empty() && workers > 0, "nobody is recorded: {ranks:?}");
        let room = (self.0.records / (ranks.len() * workers).max(1)).max(RECORDS_MIN);
        let places = ranks.flat_map(|rank| (0..workers).map(move |worker| (rank, worker)));
        let clock = Clock::start();
        let make = |place| (place, Box::new(Recorder::new(clock, place, room)));
        *self.state() = State::new(clock, places.map(make).collect());
    }

    /// The clock starts anew, before the workers do.
    pub(crate) fn restart(&self) {
        let mut state = self.state();
        state.clock = Clock::start();
        let clock = state.clock;
        state.recorders.values_mut().for_each(|recorder| recorder.restart(clock));
    }

    /// What the clock shows.
    pub(crate) fn ticks(&self) -> u64 {
        self.state().clock.ticks()
    }

    /// Notes where the clocks of other ranks are, in their order.
    pub(crate) fn note_meetings(&self, meetings: Vec<Meeting>) {
        let all = &mut self.state().meetings;
        debug_assert!(
            all.iter().all(|others| others.len() == meetings.len()),
            "the clock of a rank was not looked at"
        );
        all.push(meetings);
    }

    /// Takes what the workers have recorded, for another rank.
    pub(crate) fn take_tapes(&self) -> Vec<Tape> {
        let recorders = std::mem::take(&mut self.state().recorders);
        recorders.into_values().map(|recorder| recorder.into_tape()).collect()
    }

    /// Adds what the workers of another rank have recorded.
    pub(crate) fn add_tapes(&self, tapes: Vec<Tape>) {
        let State { clock, recorders, .. } = &mut *self.state();
        for tape in tapes {
            let recorder = Box::new(Recorder::of_tape(*clock, tape));
            let other = recorders.insert(recorder.place(), recorder);
            debug_assert!(other.is_none(), "two ranks have recorded as one");
        }
    }

    /// The recorder of a worker, which has it until it ends.
    pub(crate) fn lend(&self, rank: usize, worker: usize) -> Option<LentRecorder> {
        let recorder = self.state().recorders.remove(&(rank, worker))?;
        Some(LentRecorder { timeline: self.clone(), recorder })
    }

    /// Notes that another part of the run begins.
    pub(crate) fn begin_stage(&self, name: String) {
        let State { clock, stages, .. } = &mut *self.state();
        debug_assert!(
            stages.last().is_none_or(|last| last.begin <= clock.ticks()),
            "{name} begins before the stage before it"
        );
        if stages.len() < STAGES_MAX {
            stages.push(Stage { name, begin: clock.ticks() });
        }
    }

    /// What the workers did, once the run has ended. Of a run that failed, it may be a part.
    #[must_use]
    pub fn recording(&self) -> Recording {
        let State { clock, recorders, stages, meetings } = &mut *self.state();
        let recorders = recorders.values_mut().map(|recorder| &mut **recorder);
        assembly::assemble(recorders, stages.clone(), meetings, clock.nanoseconds_per_tick())
    }
}
