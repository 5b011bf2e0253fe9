//! Other processes that keep cores busy while something is measured.
//!
//! They are this program with a hidden command, at normal priority. The first is bound to the last
//! core that the process may use, to which the last of as many workers as there are cores is bound;
//! the next ones are bound to the cores before it, and then to the last one again.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
};

use clap::Args;
use warpline_memory::{Binding, bind_worker};

use crate::{failure::Failure, system};

/// What the busy process says once it is bound.
const READY: &str = "ready";

/// The flags of the hidden command.
#[derive(Debug, Args)]
pub(crate) struct SpinArgs {
    /// How many cores there are
    #[arg(long, value_name = "N", default_value_t = system::cores())]
    cores: usize,
    /// How many other processes keep cores busy already, from the last core on
    #[arg(long, value_name = "N", default_value_t = 0)]
    others: usize,
}

/// The core that is kept busy if that many other processes do so already.
fn core(cores: usize, others: usize) -> Option<usize> {
    others.checked_rem(cores).map(|place| cores - 1 - place)
}

/// Keeps a core busy until standard input ends, which it also does when the parent process dies.
pub(crate) fn spin(args: &SpinArgs) -> Result<(), Failure> {
    let binding = core(args.cores, args.others).map(|core| bind_worker(core, args.cores));
    if !binding.as_ref().is_some_and(Binding::is_bound) {
        let cores = args.cores;
        return Err(Failure::Run(format!("this process cannot be bound to one of {cores} cores")));
    }
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // An error is as good an end as any.
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            // Ordering: Relaxed; the flag publishes nothing but itself.
            ended.store(true, Ordering::Relaxed);
        });
        let mut output = std::io::stdout();
        if writeln!(output, "{READY}").and_then(|()| output.flush()).is_err() {
            return Err(Failure::ReaderGone);
        }
        // Interrupts are ignored here: the parent process ends this one after the measurement.
        while !ended.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        Ok(())
    })
}

/// The busy process, which ends with this.
#[derive(Debug)]
pub(super) struct Spinner {
    child: Child,
    /// Its standard input: closing it is the sign to end.
    stop: Option<ChildStdin>,
}

impl Spinner {
    /// Starts one after this number of others; it is busy when this comes back.
    pub(super) fn start(others: usize) -> Result<Self, Failure> {
        let cannot = |what: String| Failure::Run(format!("no core can be kept busy: {what}"));
        let program = std::env::current_exe().map_err(|error| cannot(error.to_string()))?;
        let mut child = Command::new(program)
            .args(["spin", &format!("--cores={}", system::cores()), &format!("--others={others}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| cannot(error.to_string()))?;
        let (stop, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let spinner = Self { child, stop };
        let mut line = String::new();
        let read = output.map(|output| BufReader::new(output).read_line(&mut line));
        if line.trim_end() == READY {
            return Ok(spinner);
        }
        let mut why = format!("{read:?}");
        if let Some(mut errors) = errors {
            // If the process has printed an error, that says more than the missing answer.
            let _ = errors.read_to_string(&mut why);
        }
        Err(cannot(why))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        drop(self.stop.take());
        // It is gone then, or was before: either is fine.
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last core first, and each core once before any of them twice.
    #[test]
    fn cores_are_taken_from_the_last_one_on() {
        assert_eq!([0, 1, 2, 3].map(|others| core(2, others)), [1, 0, 1, 0].map(Some));
        assert_eq!(core(0, 0), None);
    }
}
