//! Progress of long work: what there is to tell, and how the command shows it, on standard error if
//! that is a terminal.

use std::{
    fmt,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};
use warpline::{Progress, VirtualTime};

use crate::format::significant;

/// How far a call has come.
#[derive(Clone, Copy, Debug)]
pub enum Status {
    /// One run has come so far in virtual time.
    Run(Progress),
    /// So many of all runs are done.
    Runs {
        /// How many are done.
        done: usize,
        /// How many there are.
        all: usize,
    },
}

/// Who has called: is told how far the call has come, and may end it.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    /// Ends what goes on soon after it becomes true.
    pub stop: &'a AtomicBool,
    /// Is told about twenty times a second, from any thread.
    pub show: &'a (dyn Fn(Status) + Sync),
}

impl<'a> Caller<'a> {
    /// What tells the caller, when it is called, that one more of so many runs is done.
    pub(crate) fn counting(self, all: usize) -> impl Fn() + Sync + 'a {
        let done = AtomicUsize::new(0);
        move || {
            // Ordering: Relaxed; a count to be shown.
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            (self.show)(Status::Runs { done, all });
        }
    }

    /// Whether the caller has ended the call.
    pub(crate) fn has_stopped(&self) -> bool {
        // Ordering: Relaxed; the flag publishes nothing but itself.
        self.stop.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Caller<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("stop", &self.stop).finish_non_exhaustive()
    }
}

/// The resolution of a bar over virtual time.
const STEPS: u64 = 10_000;

/// Shows the progress of one run through virtual time.
pub(crate) fn of_run(quiet: bool) -> impl Fn(Status) + Sync {
    let bar = bar(quiet, STEPS, "{prefix:>12} [{wide_bar}] {percent:>3} %  {msg}  {eta} left");
    bar.set_prefix("simulating");
    move |status| {
        let Status::Run(progress) = status else { return };
        let Progress { virtual_time, end, committed_events, processed_events, wall, .. } = progress;
        if end < VirtualTime::MAX {
            bar.set_position((virtual_time.get() / end.get() * STEPS as f64) as u64);
        }
        let rate = committed_events as f64 / wall.as_secs_f64();
        let efficiency = committed_events as f64 / processed_events.max(1) as f64;
        bar.set_message(format!(
            "virtual time {}, {:.2} M events/s, efficiency {efficiency:.2}",
            significant(virtual_time.get()),
            rate / 1e6
        ));
        if virtual_time >= end {
            bar.finish_and_clear();
        }
    }
}

/// The progress through several runs.
#[derive(Debug)]
pub(crate) struct Runs(ProgressBar);

impl Runs {
    /// Begins to show it.
    pub(crate) fn new(quiet: bool, all: usize, what: &'static str) -> Self {
        Self(of_pieces(quiet, all, what).with_finish(ProgressFinish::AndClear))
    }

    /// Shows how many are done.
    pub(crate) fn show(&self, status: Status) {
        if let Status::Runs { done, .. } = status {
            self.0.set_position(done as u64);
        }
    }

    /// Does what writes to the terminal where the progress is shown.
    pub(crate) fn make_way<T>(&self, write: impl FnOnce() -> T) -> T {
        self.0.suspend(write)
    }
}

/// Progress through a number of pieces of work.
pub(crate) fn of_pieces(quiet: bool, pieces: usize, what: &'static str) -> ProgressBar {
    let style = "{prefix:>12} [{wide_bar}] {pos}/{len}  {msg}  {eta} left";
    let bar = bar(quiet, pieces as u64, style);
    bar.set_prefix(what);
    bar
}

fn bar(quiet: bool, length: u64, style: &str) -> ProgressBar {
    let target =
        if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
    let style =
        ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(Some(length), target).with_style(style);
    // That takes a thread. What nobody sees needs none, and indicatif panics where the system has
    // none left.
    if !bar.is_hidden() && thread::Builder::new().spawn(|| {}).is_ok() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    bar
}
