//! What a run writes beside its report: a table of all packets and a table of all links.
//!
//! The parameters name the files, the model hands over what became of packets and what ports
//! counted, and the command completes the files with [`Recorder::finish`]. Files are created before
//! a run, so that one that cannot be written is found out then; they get their names when they are
//! complete, and an older file stays as it is until then. A checkpoint has the [`Marks`] of the
//! files, behind which the run that goes on writes.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};
use warpline::files::{Mark, PartialFile, remedy_of_going_on};

use crate::{
    error::FileError,
    packet::{Packet, PacketEvent},
    params::NetworkParams,
    ports::PortTo,
    results::Tally,
};

/// The files of a run, not complete yet.
#[derive(Debug)]
pub struct Recorder(Arc<NetworkTables>);

/// How far the files of a run are written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Marks {
    packets: Option<Mark>,
    links: Option<Mark>,
}

/// What the model hands over.
#[derive(Debug, Default)]
pub(crate) struct NetworkTables {
    packets: Mutex<Option<Table>>,
    links: Mutex<Option<Table>>,
}

/// A file that is not complete yet.
#[derive(Debug)]
struct Table {
    file: PartialFile,
    failure: Option<FileError>,
}

fn unwritten(path: &Path, error: &io::Error) -> FileError {
    FileError::new(path, None, error.to_string(), "name a file that can be written")
}

fn not_gone_on(path: &Path, error: &io::Error) -> FileError {
    FileError::new(path, None, error.to_string(), remedy_of_going_on(path, error))
}

impl Table {
    fn open(path: &Path, header: &str, goes_on: bool) -> Result<Self, FileError> {
        let failed = if goes_on { not_gone_on } else { unwritten };
        let file = PartialFile::open(path, goes_on).map_err(|error| failed(path, &error))?;
        let mut table = Self { file, failure: None };
        table.with(|writer| writeln!(writer, "{header}"));
        table.failure.take().map_or(Ok(table), Err)
    }

    fn mark(&mut self) -> Result<Mark, FileError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.file.mark().map_err(|error| not_gone_on(self.file.path(), &error))
    }

    fn check(&mut self, mark: Option<Mark>) -> Result<(), FileError> {
        let none = || io::Error::other("the checkpoint is of a run that did not write it");
        let checked = mark.ok_or_else(none).and_then(|mark| self.file.check(mark, 0, &[]));
        checked.map_err(|error| not_gone_on(self.file.path(), &error))
    }

    fn go_on(&mut self) -> Result<(), FileError> {
        self.file.go_on().map_err(|error| not_gone_on(self.file.path(), &error))
    }

    /// Does what writes to the file; the first failure is kept.
    fn with(&mut self, write: impl FnOnce(&mut PartialFile) -> io::Result<()>) {
        if self.failure.is_none() {
            let failed = write(&mut self.file).err();
            self.failure = failed.map(|error| unwritten(self.file.path(), &error));
        }
    }

    fn finish(mut self) -> Result<PathBuf, FileError> {
        self.with(PartialFile::complete);
        self.failure.map_or_else(|| Ok(self.file.path().to_owned()), Err)
    }
}

impl Recorder {
    /// Creates the files that the parameters name, or opens them for a run that goes on; none if
    /// they name none. The second result is for the model.
    pub(crate) fn create(
        params: &NetworkParams,
        goes_on: bool,
    ) -> Result<Option<(Self, Arc<NetworkTables>)>, FileError> {
        const PACKETS: &str =
            "source,packet,destination,flow,bytes,sent_ps,ended_ps,hops,fate,marked";
        const LINKS: &str = "from,to,gbit_per_s,delay_ps,utilization,packets,dropped,marked,\
                             longest_queue";
        if !params.files().has_outputs() {
            return Ok(None);
        }
        let create = |path: &Option<PathBuf>, header| {
            path.as_deref().map(|path| Table::open(path, header, goes_on)).transpose()
        };
        let shared = Arc::new(NetworkTables {
            packets: Mutex::new(create(&params.packet_table, PACKETS)?),
            links: Mutex::new(create(&params.link_table, LINKS)?),
        });
        Ok(Some((Self(Arc::clone(&shared)), shared)))
    }

    /// How far the files are written; all of that is on the disk then.
    ///
    /// # Errors
    ///
    /// When a file could not be written, or is none to which rows can be appended later.
    pub fn mark(&self) -> Result<Marks, FileError> {
        let Self(shared) = self;
        let mark = |table: &Mutex<Option<Table>>| lock(table).as_mut().map(Table::mark).transpose();
        Ok(Marks { packets: mark(&shared.packets)?, links: mark(&shared.links)? })
    }

    /// Goes on behind the marks, with files that were
    /// [opened](crate::model::Network::record_further) for that. Nothing is written before.
    ///
    /// # Errors
    ///
    /// When a file is not what had been written up to its mark.
    pub fn go_on(&self, marks: &Marks) -> Result<(), FileError> {
        let Self(shared) = self;
        let tables = [(&shared.packets, marks.packets), (&shared.links, marks.links)];
        // Nothing is cut off as long as another file may be refused.
        for (table, mark) in tables {
            lock(table).as_mut().map_or(Ok(()), |table| table.check(mark))?;
        }
        let mut tables = tables.into_iter();
        tables.try_for_each(|(table, _)| lock(table).as_mut().map_or(Ok(()), Table::go_on))
    }

    /// Completes the files after the run, and names each; or says why it could not be written.
    #[must_use]
    pub fn finish(self) -> Vec<Result<PathBuf, FileError>> {
        let Self(shared) = self;
        let tables = [&shared.packets, &shared.links];
        tables.into_iter().filter_map(|table| lock(table).take()).map(Table::finish).collect()
    }
}

impl NetworkTables {
    /// Takes what became of a packet.
    pub(crate) fn packet(&self, ended: f64, packet: &Packet) {
        let mut table = lock(&self.packets);
        let Some(table) = table.as_mut() else { return };
        let Packet { source, number, destination, flow, bytes, sent, hops, marked, .. } = *packet;
        let fate = match packet.event {
            PacketEvent::Dropped => "dropped",
            _ => "delivered",
        };
        let marked = u8::from(marked);
        table.with(|writer| {
            write!(writer, "{source},{number},{destination},{flow},{bytes},{sent},{ended},")?;
            writeln!(writer, "{hops},{fate},{marked}")
        });
    }

    /// Takes what the ports of all nodes counted.
    pub(crate) fn links(&self, ports: &[Vec<PortTo>], tallies: &[Tally]) {
        let mut table = lock(&self.links);
        let Some(table) = table.as_mut() else { return };
        for (node, tally) in tallies.iter().enumerate() {
            for (port, to) in tally.ports.iter().zip(&ports[node]) {
                let gbits = to.rate as f64 / 1e9;
                let utilization = port.busy / tally.end;
                let (delay, to) = (to.delay, to.to.get());
                let (packets, dropped, marked) = (port.packets, port.dropped, port.marked);
                let longest = port.longest;
                table.with(|writer| {
                    writeln!(
                        writer,
                        "{node},{to},{gbits},{delay},{utilization:.6},{packets},{dropped},{marked},\
                         {longest}"
                    )
                });
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
