//! The machine and the date of a measurement, for the texts.

use std::{env::consts, time::SystemTime};

use warpline_memory::{cores, processor_name};

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
            processor: processor_name(),
            cores: cores(),
            system: format!("{} on {}", consts::OS, consts::ARCH),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string()[..10].to_owned(),
        }
    }
}
