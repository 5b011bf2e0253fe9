//! The event log: what happens to each process, as a table that process mining and animations read.
//!
//! A site sends each row as a non-blocking I/O event, so the log has what is committed, in the
//! order of virtual time, whatever the engine. A world only says that it has a log
//! ([`World::EVENT_LOG`]): rows are written where processes begin, queue, get, release, travel and
//! end.
//!
//! The columns are those of `vidigi` (`entity_id`, `event_type`, `event`, `time`, `resource_id`),
//! and the process and the site; `pm4py` takes `entity_id` for the case and `event` for the
//! activity.

mod file;
mod units;

use std::{
    collections::BTreeMap,
    fmt, io,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use warpline::{LpId, VirtualTime};

use crate::{
    facility::Facilities,
    message::What,
    world::{ProcessKind, World, facilities},
};
use file::File;
use units::Units;

/// A row without its names, as it is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) entity: u64,
    pub(crate) kind: u16,
    pub(crate) facility: u16,
    pub(crate) what: What,
}

/// A row of the event log.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Row {
    /// The number of the process: [`Env::entity`](crate::Env::entity).
    pub entity_id: u64,
    /// `arrival_departure`, `queue`, `resource_use` or `resource_use_end`.
    pub event_type: &'static str,
    /// `arrival`, `depart`, `travel`, or `queue_`, `give_up_`, `use_`, `release_` and the name of
    /// the facility.
    pub event: String,
    /// Virtual time.
    pub time: f64,
    /// Which unit of the resource it is, from 1 on: the least that is free. Not known of one that
    /// was in use before the log began.
    pub resource_id: Option<u32>,
    /// The name of the process.
    pub process: String,
    /// The number of the site.
    pub site: u32,
}

/// Where the rows of a run go to. It is made before the run and has them after it; a copy is the
/// same log.
///
/// ```no_run
/// # use warpline::Simulation;
/// # use warpline_processes::{EventLog, Processes, World};
/// # fn run<Bank: World>(bank: Bank) -> Result<(), Box<dyn std::error::Error>> {
/// let log = EventLog::file("bank.csv")?;
/// Simulation::new(Processes::new(bank).event_log(&log)).end(480.0).run()?;
/// log.finish()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct EventLog(Arc<Mutex<Log>>);

#[derive(Debug)]
struct Log {
    to: To,
    units: Units,
    /// What each site has, once a row named it.
    facilities: BTreeMap<LpId, Facilities>,
    /// The first failure.
    failure: Option<io::Error>,
}

#[derive(Debug)]
enum To {
    Rows(Vec<Row>),
    File(Box<File>),
    Nothing,
}

impl EventLog {
    /// A log in memory.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::to(To::Rows(Vec::new()))
    }

    /// A log in a file: CSV, or with the feature `parquet` and a name that ends with `.parquet`, a
    /// Parquet file. It has its name when it is [complete](Self::finish).
    ///
    /// # Errors
    ///
    /// When the file cannot be made, or its name says another format.
    pub fn file(path: impl AsRef<Path>) -> io::Result<Self> {
        File::create(path.as_ref()).map(|file| Self::to(To::File(Box::new(file))))
    }

    fn to(to: To) -> Self {
        Self(Arc::new(Mutex::new(Log {
            to,
            units: Units::default(),
            facilities: BTreeMap::new(),
            failure: None,
        })))
    }

    /// The rows of a log in memory, which has none then.
    #[must_use]
    pub fn take_rows(&self) -> Vec<Row> {
        let mut log = self.log();
        log.units = Units::default();
        log.facilities.clear();
        match &mut log.to {
            To::Rows(rows) => std::mem::take(rows),
            To::File(_) | To::Nothing => Vec::new(),
        }
    }

    /// Completes the file of the log, after the run.
    ///
    /// # Errors
    ///
    /// When a row could not be written, or the file cannot be completed.
    pub fn finish(&self) -> io::Result<()> {
        let mut log = self.log();
        if let Some(failure) = log.failure.take() {
            return Err(failure);
        }
        match std::mem::replace(&mut log.to, To::Nothing) {
            To::File(file) => file.finish(),
            To::Rows(_) | To::Nothing => Ok(()),
        }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what happened at a site.
    pub(crate) fn write<W: World>(&self, world: &W, site: LpId, time: VirtualTime, record: Record) {
        let mut log = self.log();
        let facility = match record.what {
            What::Arrives | What::Travels | What::Departs => None,
            _ => {
                let of_site = log.facilities.entry(site).or_insert_with(|| facilities(world, site));
                of_site.name(usize::from(record.facility))
            }
        };
        let resource_id = log.units.of(site, &record);
        let row = Row {
            entity_id: record.entity,
            event_type: record.what.event_type(),
            event: record.what.event(facility),
            time: time.get(),
            resource_id,
            process: W::Process::name(world, record.kind).to_owned(),
            site: site.get(),
        };
        let failed = match &mut log.to {
            To::Rows(rows) => {
                rows.push(row);
                None
            }
            To::File(file) => file.write(row).err(),
            To::Nothing => None,
        };
        log.failure = log.failure.take().or(failed);
    }
}

impl What {
    const fn event_type(self) -> &'static str {
        match self {
            Self::Arrives | Self::Departs => "arrival_departure",
            Self::Queues | Self::GivesUp | Self::Travels => "queue",
            Self::Uses => "resource_use",
            Self::Releases => "resource_use_end",
        }
    }

    fn event(self, facility: Option<&str>) -> String {
        let of = |verb: &str| format!("{verb}_{}", facility.unwrap_or("facility"));
        match self {
            Self::Arrives => "arrival".to_owned(),
            Self::Departs => "depart".to_owned(),
            Self::Travels => "travel".to_owned(),
            Self::Queues => of("queue"),
            Self::GivesUp => of("give_up"),
            Self::Uses => of("use"),
            Self::Releases => of("release"),
        }
    }
}

impl Row {
    /// The names of the columns.
    pub const COLUMNS: [&'static str; 7] =
        ["entity_id", "event_type", "event", "time", "resource_id", "process", "site"];
}

/// As a row of a CSV file.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entity_id, event_type, event, time, resource_id, process, site } = self;
        write!(f, "{entity_id},{event_type},{event},{time},")?;
        if let Some(unit) = resource_id {
            write!(f, "{unit}")?;
        }
        write!(f, ",{process},{site}")
    }
}
