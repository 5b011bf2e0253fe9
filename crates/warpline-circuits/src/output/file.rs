//! A file that is written while a run goes on. Every writer has one.
//!
//! # Invariants
//!
//! - **FILE-A.** A file has its name only when it is complete. Until then it is called
//!   `NAME.partial`, where one may look at it; a run that fails, or is killed, leaves it there. An
//!   older file `NAME` stays as it is until then. What is no regular file (a pipe, `/dev/stdout`)
//!   is written at once.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, BufWriter, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use super::OutputError;

/// A file that is not complete yet.
#[derive(Debug)]
pub(super) struct PartialFile {
    /// The name that was given, for messages.
    path: PathBuf,
    /// Where it is written, and the name that it gets then; `None` if it is no regular file.
    renaming: Option<(PathBuf, PathBuf)>,
    writer: BufWriter<File>,
}

impl PartialFile {
    /// Creates the file, or finds out that it cannot be written.
    pub(super) fn create(path: &Path) -> Result<Self, OutputError> {
        let failed = |source| OutputError::Create { path: path.to_owned(), source };
        let is_other = fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
        let (renaming, file) = if is_other {
            (None, File::options().write(true).open(path).map_err(failed)?)
        } else {
            // A symbolic link stays, and the file that it names is replaced.
            let complete = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            let mut partial = OsString::from(&complete);
            partial.push(".partial");
            let file = File::create(&partial).map_err(failed)?;
            (Some((PathBuf::from(partial), complete)), file)
        };
        Ok(Self {
            path: path.to_owned(),
            renaming,
            writer: BufWriter::with_capacity(1 << 16, file),
        })
    }

    /// Whether it is a regular file, in which one can go back.
    pub(super) const fn is_regular(&self) -> bool {
        self.renaming.is_some()
    }

    /// The name that was given.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes over what is at a place of the file.
    pub(super) fn overwrite(&mut self, place: u64, bytes: &[u8]) -> io::Result<()> {
        self.writer.seek(SeekFrom::Start(place))?;
        self.writer.write_all(bytes)?;
        self.writer.seek(SeekFrom::End(0)).map(drop)
    }

    /// The file is complete, and gets its name.
    pub(super) fn complete(&mut self) -> io::Result<()> {
        self.writer.flush()?;
        self.renaming.as_ref().map_or(Ok(()), |(partial, complete)| fs::rename(partial, complete))
    }

    /// The error that writing it had.
    pub(super) fn failed(&self, source: io::Error) -> OutputError {
        OutputError::Write { path: self.path.clone(), source }
    }
}

impl Write for PartialFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
