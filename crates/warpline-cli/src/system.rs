//! Facts about this machine and this process, from the operating system.

use std::fs;

pub(crate) use warpline_memory::cores;
use warpline_memory::processor_name;

use crate::format::counted;

/// The peak resident size of this process, in bytes, where the system reports it.
pub(crate) fn peak_resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// The processor's name and how many of its cores this process may use.
pub(crate) fn processor() -> String {
    format!("{}, {}", processor_name(), counted(cores(), "core"))
}
