//! Progress of long work, on standard error if that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use warpline::{Progress, VirtualTime};

use crate::report::significant;

/// The resolution of a bar over virtual time.
const STEPS: u64 = 10_000;

/// Progress of one run through virtual time.
pub(crate) fn of_run(quiet: bool) -> impl FnMut(&Progress) + Send {
    let style = "{prefix:>12} [{wide_bar}] {percent:>3} %  {msg}  {eta} left";
    let bar = bar(quiet, STEPS, style);
    bar.set_prefix("simulating");
    move |progress| {
        let Progress { virtual_time, end, committed_events, processed_events, wall, .. } = progress;
        if *end < VirtualTime::MAX {
            bar.set_position((virtual_time.get() / end.get() * STEPS as f64) as u64);
        }
        let rate = *committed_events as f64 / wall.as_secs_f64();
        let efficiency = *committed_events as f64 / (*processed_events).max(1) as f64;
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
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
