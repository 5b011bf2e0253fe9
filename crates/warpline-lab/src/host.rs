//! The machine and the date of a measurement, for the texts; the command shows the machine, too.

use std::{env::consts, fs, time::SystemTime};

/// The machine and the time.
#[derive(Clone, Debug)]
pub struct Host {
    /// The processor's model name.
    pub processor: String,
    /// The number of cores that this process may use.
    pub cores: usize,
    /// The operating system and architecture.
    pub system: String,
    /// The date by the system clock (UTC), as year-month-day.
    pub date: String,
}

impl Host {
    /// This machine, now.
    #[must_use]
    pub fn detect() -> Self {
        Self {
            processor: processor(),
            cores: cores(),
            system: format!("{} on {}", consts::OS, consts::ARCH),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string()[..10].to_owned(),
        }
    }
}

/// The number of cores that this process may use.
#[must_use]
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The processor's model name, if the system has it.
#[must_use]
pub fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or("unknown processor", |(_, name)| name.trim()).to_owned()
}
