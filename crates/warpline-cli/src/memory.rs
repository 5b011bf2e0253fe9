//! Memory that a run cannot have: found before it begins where that is known, and reported with
//! advice where an allocation fails.
//!
//! `run` calls [`check`]; the command installs [`tell_when_exhausted`]. What is checked before a
//! run is what its first events need at the least, against what this process can have at the most.
//! Only a run that ends before its first events could have gone well all the same.

use std::{
    fs,
    io::{self, Write},
    process,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use warpline::nodes;
use warpline_models::catalog::ModelParams;

use crate::{
    failure::Failure,
    format::{counted, grouped},
};

/// What a pending event takes at the least, in any engine: its key and its receiver (bytes).
const EVENT_BYTES: u64 = 32;

/// Refuses a model whose first events do not fit into the memory that there is.
pub(crate) fn check(params: &ModelParams) -> Result<(), Failure> {
    let events = params.events_at_start();
    let needed = events.saturating_mul(EVENT_BYTES);
    let limit = limits().into_iter().min_by_key(|(bytes, _)| *bytes);
    match limit {
        Some((bytes, what)) if needed > bytes => Err(Failure::Configuration(format!(
            "{} begins with {}, which take {} MiB of memory or more; {what} is {} MiB\n  \
             what to do: let it begin with fewer events, or give it more memory",
            params.name(),
            counted(events, "event"),
            grouped(needed >> 20),
            grouped(bytes >> 20),
        ))),
        _ => Ok(()),
    }
}

/// What limits the memory of this process, where the system tells it (bytes).
fn limits() -> Vec<(u64, &'static str)> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let of_process = address_space(&read("/proc/self/limits"));
    let group = read("/sys/fs/cgroup/memory.max").trim().parse().ok();
    let group =
        group.or_else(|| read("/sys/fs/cgroup/memory/memory.limit_in_bytes").trim().parse().ok());
    let machine = of_machine(&read("/proc/meminfo"));
    let known = [
        (of_process, "the limit on this process's address space (`ulimit -v`)"),
        (group, "the limit on memory of its control group"),
        (machine, "the memory of this machine, with what it can swap,"),
    ];
    known.into_iter().filter_map(|(bytes, what)| Some((bytes?, what))).collect()
}

/// The limit on address space in the text of `/proc/self/limits`.
fn address_space(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// All memory and swap in the text of `/proc/meminfo`.
fn of_machine(information: &str) -> Option<u64> {
    let kibibytes = |name: &str| -> Option<u64> {
        let line = information.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    Some((kibibytes("MemTotal:")? + kibibytes("SwapTotal:").unwrap_or(0)) << 10)
}

/// Lets an allocation that fails end the program with what happened and what to do, and not with an
/// abort. It takes a program that has installed [`nodes::NodeAllocator`].
pub(crate) fn tell_when_exhausted() {
    nodes::on_exhausted(exhausted);
}

/// Tells it, without an allocation, and ends the program.
fn exhausted(bytes: usize) {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    // Ordering: Relaxed; only one thread is to go on, whichever it is.
    if REPORTED.swap(true, Ordering::Relaxed) {
        // Another thread is telling it; if it is this one, the allocator aborts.
        thread::sleep(Duration::from_secs(1));
        return;
    }
    let mut text = io::Cursor::new([0_u8; 512]);
    // The text fits, and if standard error is closed, it is lost.
    let _ = write!(
        text,
        "error: there is no memory left: the system has refused another {bytes} bytes\n  what to \
         do: limit the pending events with --memory, choose a smaller model or fewer runs at a \
         time (--jobs), or raise the limit (`ulimit -v`)\n"
    );
    let length = text.position() as usize;
    let _ = io::stderr().write_all(&text.get_ref()[..length]);
    process::exit(1);
}

#[cfg(test)]
mod tests {
    use warpline_models::phold::PholdParams;

    use super::*;

    /// What Linux says is read.
    #[test]
    fn limits_are_read() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max address space         1536000000           unlimited            bytes\n";
        assert_eq!(address_space(limits), Some(1_536_000_000));
        assert_eq!(address_space(&limits.replace("1536000000", "unlimited ")), None);
        let machine = "MemTotal:        1000 kB\nMemFree: 1 kB\nSwapTotal:       24 kB\n";
        assert_eq!(of_machine(machine), Some(1 << 20));
        assert_eq!(of_machine(""), None);
    }

    /// A model that no machine holds is refused, and one that any machine holds is not.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_no_machine_holds_is_refused() {
        let phold =
            |population| check(&PholdParams { population, ..PholdParams::default() }.into());
        assert!(phold(1024).is_ok());
        let refused = phold(1 << 50).unwrap_err().message();
        assert!(refused.contains("phold begins with") && refused.contains("fewer events"));
    }
}
