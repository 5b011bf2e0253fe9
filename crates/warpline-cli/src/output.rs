//! Where a report goes: found to be writable before the run, and written after it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use warpline::files::PartialFile;

use crate::failure::Failure;

/// Creates a file beside the report, which gets its name when it is complete; or finds out, before
/// the run, that it cannot be written.
pub(crate) fn beside(flag: &str, path: &Path) -> Result<PartialFile, Failure> {
    PartialFile::create(path).map_err(|error| unwritable(flag, path, &error))
}

fn unwritable(flag: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::Configuration(format!("{flag} {} cannot be written: {error}", path.display()))
}

/// A file or standard output. What a file held stays there until there is something to write.
#[derive(Debug)]
pub(crate) struct Output(Option<Target>);

#[derive(Debug)]
struct Target {
    path: PathBuf,
    file: File,
    /// Whether the file was made here and has nothing in it yet.
    new: bool,
    written: bool,
}

impl Output {
    /// Opens the file for writing, without changing it.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Failure::if_nobody_reads().map(|()| Self(None)) };
        let new = !path.exists();
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| unwritable("--output", path, &error))?;
        Ok(Self(Some(Target { path: path.to_owned(), file, new, written: false })))
    }

    /// Writes a part; the first part replaces what the file held.
    pub(crate) fn write_part(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.0 {
            None => {
                let mut out = io::stdout().lock();
                out.write_all(bytes)?;
                out.flush()
            }
            Some(target) => target.write(bytes),
        }
    }

    /// The file, if it is none of standard output.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.0.as_ref().map(|target| &*target.path)
    }

    /// Whether it is a regular file, which keeps what is written.
    pub(crate) fn is_file(&self) -> bool {
        let file = |target: &Target| target.file.metadata().is_ok_and(|file| file.is_file());
        self.0.as_ref().is_some_and(file)
    }

    /// Goes on after the first bytes of what the file holds, and drops the rest.
    pub(crate) fn keep(&mut self, bytes: u64) -> Result<(), Failure> {
        let Some(target) = &mut self.0 else { return Ok(()) };
        target.written = bytes > 0;
        let kept = target.file.set_len(bytes).and_then(|()| target.file.seek(SeekFrom::End(0)));
        kept.map(drop).map_err(|error| {
            Failure::Run(format!("{} could not be written: {error}", target.path.display()))
        })
    }

    /// Writes over all that the file holds with the same number of bytes, which are there already,
    /// so that no disk is too full for it.
    pub(crate) fn rewrite(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let Some(target) = &mut self.0 else { return Ok(()) };
        let rewritten =
            target.file.seek(SeekFrom::Start(0)).and_then(|_| target.file.write_all(bytes));
        rewritten.map_err(|error| {
            Failure::Run(format!("{} could not be sorted: {error}", target.path.display()))
        })
    }

    /// Writes part of a report. What a run has found and cannot be written is shown with the error:
    /// it is not to be had again without the run.
    pub(crate) fn write_report(&mut self, text: &str) -> Result<(), Failure> {
        self.write(text.as_bytes()).map_err(|failure| match failure {
            Failure::Run(error) => Failure::Run(format!("{error}\n{text}")),
            other => other,
        })
    }

    /// Writes a part of what can be had again.
    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
        self.write_part(bytes.as_ref()).map_err(|error| match &self.0 {
            None if error.kind() == io::ErrorKind::BrokenPipe => Failure::ReaderGone,
            None => Failure::Run(format!("standard output could not be written: {error}")),
            Some(target) => {
                Failure::Run(format!("{} could not be written: {error}", target.path.display()))
            }
        })
    }
}

impl Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.written && self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.written = true;
        self.file.write_all(bytes)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if self.new && !self.written {
            // An empty file would look like a report; if it stays, no harm is done.
            let _ = fs::remove_file(&self.path);
        }
    }
}
