//! What the workers of a run are doing, readable from any thread: [`Monitor`].
//!
//! The workers of Time Warp write it where that costs nothing: when they report in a GVT
//! computation, and when they have been idle for a while; those of engines with windows, when they
//! come to the end of a window, which is a GVT computation there. A reader waits for no worker, so
//! one that hangs in a handler delays no answer: it is the one that has not reported in the latest
//! GVT computation.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
};

use serde::{Deserialize, Serialize};
use warpline_core::VirtualTime;
use warpline_memory::CachePadded;

/// What a worker does, or what it waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Activity {
    /// It makes its LPs, and lets each send its first events.
    #[default]
    Starting,
    /// It handles events.
    Working,
    /// It has no event.
    NoEvents,
    /// It has no event before the end of the run.
    AtEnd,
    /// Its LPs wait for GVT to reach a blocking I/O event, or to show whether a handler that failed
    /// was in a state that is not rolled back.
    Blocked,
    /// Its events are too far ahead: beyond the window, the time barrier, the throttle, or the
    /// limit that a shortage of buffers sets.
    TooFarAhead,
    /// It waits until all workers have sent their first events.
    TooEarly,
    /// It has handled the most events that may be uncommitted, and waits for GVT.
    Full,
    /// It found no buffer for an event, and waits for some to be reclaimed.
    OutOfBuffers,
    /// It has few buffers left, and waits until others have caught up.
    FewBuffers,
    /// It has handled what it knows of a window, and waits until the others have, too.
    AtWindowEnd,
    /// Its LPs wait for what may still arrive on their channels.
    OnChannels,
    /// It has left the run.
    Ended,
}

impl Activity {
    /// All activities, each at the place of its number.
    const ALL: [Self; 13] = [
        Self::Starting,
        Self::Working,
        Self::NoEvents,
        Self::AtEnd,
        Self::Blocked,
        Self::TooFarAhead,
        Self::TooEarly,
        Self::Full,
        Self::OutOfBuffers,
        Self::FewBuffers,
        Self::AtWindowEnd,
        Self::OnChannels,
        Self::Ended,
    ];
}

const _: () = {
    let mut number = 0;
    while number < Activity::ALL.len() {
        assert!(Activity::ALL[number] as usize == number, "a monitor would show another activity");
        number += 1;
    }
};

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Starting => "lets its LPs send their first events",
            Self::Working => "handles events",
            Self::NoEvents => "has no events",
            Self::AtEnd => "has no events before the end of the run",
            Self::Blocked => "waits for GVT to reach an I/O event or a failed handler",
            Self::TooFarAhead => "has only events too far ahead of GVT",
            Self::TooEarly => "waits for the first events of all workers",
            Self::Full => "waits for GVT to commit what it has handled",
            Self::OutOfBuffers => "waits for event buffers",
            Self::FewBuffers => "has few event buffers, and waits for others to catch up",
            Self::AtWindowEnd => "waits for the others at the end of a window",
            Self::OnChannels => "waits for its channels",
            Self::Ended => "has ended",
        })
    }
}

/// What a worker shows to other threads; on a cache line of its own.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// The time of the worker's next or last event, as ordered bits.
    pub(crate) next: AtomicU64,
    pub(crate) committed: AtomicU64,
    pub(crate) processed: AtomicU64,
    pub(crate) rollbacks: AtomicU64,
    /// The number of GVT computations that it has reported in.
    pub(crate) reports: AtomicU64,
    activity: AtomicU8,
}

impl Shown {
    /// Shows what the worker does.
    pub(crate) fn show(&self, activity: Activity) {
        // Ordering: Relaxed; for people. The store is skipped where it changes nothing, so the line
        // stays in the caches of its readers.
        if self.activity.load(Ordering::Relaxed) != activity as u8 {
            self.activity.store(activity as u8, Ordering::Relaxed);
        }
    }

    /// Shows that the worker has come to the end of a window, with the events that it has processed
    /// and its rollbacks.
    pub(crate) fn report(
        &self,
        windows: u64,
        next: VirtualTime,
        (processed, rollbacks): (u64, u64),
    ) {
        // Ordering: Relaxed; for people.
        self.reports.store(windows, Ordering::Relaxed);
        self.next.store(next.get().to_bits(), Ordering::Relaxed);
        self.processed.store(processed, Ordering::Relaxed);
        self.rollbacks.store(rollbacks, Ordering::Relaxed);
    }
}

/// What the workers of a run show.
pub(crate) type Board = Arc<[CachePadded<Shown>]>;

/// A board for this number of workers.
pub(crate) fn board(workers: usize) -> Board {
    (0..workers).map(|_| CachePadded::default()).collect()
}

/// What a worker has shown last.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct WorkerStatus {
    /// Its number, from 0.
    pub worker: usize,
    /// Whether the others wait for it: they have reported in a GVT computation, and it has not. If
    /// it is still awaited later, with the same number of reports, it hangs in a handler or
    /// gets no core. If the numbers of reports grow and the run still makes no progress, the
    /// cause is not one worker.
    pub is_awaited: bool,
    /// What it does; if it is awaited, what it did when it last reported.
    pub activity: Activity,
    /// The time of its next or last event; `None` if it has none.
    pub virtual_time: Option<VirtualTime>,
    /// The number of GVT computations that it has reported in.
    pub gvt_reports: u64,
    /// The number of events that it had processed when it last reported.
    pub processed_events: u64,
    /// How often it had rolled back some LP by then.
    pub rollbacks: u64,
}

impl fmt::Display for WorkerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            worker, is_awaited, activity, virtual_time, gvt_reports, processed_events, ..
        } = self;
        if *is_awaited {
            write!(f, "worker {worker} has not reported yet (last: {activity})")?;
        } else {
            write!(f, "worker {worker} {activity}")?;
        }
        if let Some(time) = virtual_time {
            write!(f, "; at virtual time {time}")?;
        }
        write!(f, "; {gvt_reports} GVT reports, {processed_events} events processed by the last")
    }
}

/// Shows what the workers of a run are doing, from any thread and at any time.
///
/// ```no_run
/// # fn example<M: warpline::Model + 'static>(model: M) {
/// use warpline::{Simulation, TimeWarp, monitor::Monitor};
///
/// let monitor = Monitor::default();
/// let mut simulation = Simulation::new(model).engine(TimeWarp::default()).monitor(&monitor);
/// let run = std::thread::spawn(move || simulation.run().map(|report| report.digest));
/// // Much later, when it should long have ended:
/// if !run.is_finished() {
///     eprintln!("{monitor}");
/// }
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Monitor(Arc<Mutex<Option<Board>>>);

impl Monitor {
    /// What each worker of the latest run has shown last, of its latest stage if the engine runs in
    /// stages; a stage on the sequential engine has one worker. Empty before a run, with the
    /// sequential engine alone, and with null messages.
    #[must_use]
    pub fn workers(&self) -> Vec<WorkerStatus> {
        let board = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let board = board.iter().flat_map(|board| board.iter());
        // Ordering: Relaxed; for people.
        let status = |(worker, shown): (usize, &CachePadded<Shown>)| WorkerStatus {
            worker,
            is_awaited: false,
            activity: Activity::ALL[usize::from(shown.activity.load(Ordering::Relaxed))],
            virtual_time: VirtualTime::new(f64::from_bits(shown.next.load(Ordering::Relaxed))).ok(),
            gvt_reports: shown.reports.load(Ordering::Relaxed),
            processed_events: shown.processed.load(Ordering::Relaxed),
            rollbacks: shown.rollbacks.load(Ordering::Relaxed),
        };
        let mut workers: Vec<_> = board.enumerate().map(status).collect();
        let round = workers.iter().map(|status| status.gvt_reports).max();
        for status in &mut workers {
            status.is_awaited =
                Some(status.gvt_reports) < round && status.activity != Activity::Ended;
        }
        workers
    }

    /// Shows another run from now on.
    pub(crate) fn attach(&self, board: &Board) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(board));
    }
}

/// Which workers the GVT computation waits for, and a line for each worker.
impl fmt::Display for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let workers = self.workers();
        let round = workers.iter().map(|status| status.gvt_reports).max().unwrap_or(0);
        let missing = workers.iter().filter(|status| status.is_awaited);
        let missing: Vec<_> = missing.map(|status| status.worker.to_string()).collect();
        if missing.is_empty() {
            write!(f, "all of {} workers have reported in GVT round {round}", workers.len())?;
        } else {
            write!(f, "GVT round {round} waits for worker {}", missing.join(", "))?;
        }
        workers.iter().try_for_each(|status| write!(f, "\n  {status}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each activity has the number under which `ALL` has it.
    #[test]
    fn activities_have_their_numbers() {
        for (number, activity) in Activity::ALL.into_iter().enumerate() {
            assert_eq!(activity as usize, number);
        }
    }

    #[test]
    fn says_whom_gvt_waits_for() {
        let monitor = Monitor::default();
        assert_eq!(monitor.to_string(), "all of 0 workers have reported in GVT round 0");
        let board = board(3);
        monitor.attach(&board);
        board[0].reports.store(7, Ordering::Relaxed);
        board[1].reports.store(6, Ordering::Relaxed);
        board[2].reports.store(7, Ordering::Relaxed);
        board[1].show(Activity::Working);
        board[1].next.store(1.5_f64.to_bits(), Ordering::Relaxed);
        board[2].show(Activity::NoEvents);
        board[2].next.store(u64::MAX, Ordering::Relaxed);
        let text = monitor.to_string();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("GVT round 7 waits for worker 1"));
        let line = "  worker 1 has not reported yet (last: handles events); at virtual time 1.5; \
                    6 GVT reports, 0 events processed by the last";
        assert_eq!(lines.nth(1), Some(line));
        assert!(
            lines.next().is_some_and(|line| line.starts_with("  worker 2 has no events; 7 GVT"))
        );
        assert_eq!(lines.next(), None);
    }
}
