//! Where a report goes: found to be writable before the run, and written after it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::failure::Failure;

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
        Self::open_for("--output", path)
    }

    /// The same for the path of another flag.
    pub(crate) fn open_for(flag: &str, path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self(None)) };
        let new = !path.exists();
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| {
            Failure::Configuration(format!("{flag} {} cannot be written: {error}", path.display()))
        })?;
        Ok(Self(Some(Target { path: path.to_owned(), file, new, written: false })))
    }

    /// Writes a part; the first part replaces what the file held.
    pub(crate) fn write_part(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.0 {
            None => io::stdout().lock().write_all(bytes),
            Some(target) => target.write(bytes),
        }
    }

    /// Writes part of the report.
    pub(crate) fn write(&mut self, text: &str) -> Result<(), Failure> {
        self.write_bytes(text.as_bytes())
    }

    /// The same for a part that need not be text.
    pub(crate) fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self.write_part(bytes) {
            Err(error) if self.0.is_none() && error.kind() == io::ErrorKind::BrokenPipe => {
                Err(Failure::ReaderGone)
            }
            other => other.map_err(|error| {
                let text = str::from_utf8(bytes).unwrap_or_default();
                Failure::Run(format!("the report could not be written: {error}\n{text}"))
            }),
        }
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
