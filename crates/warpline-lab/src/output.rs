//! The directory for the results. [`run()`](crate::run()) creates it, and finds out whether it can
//! be written, before anything runs (LAB-C).

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use warpline::files::PartialFile;

use crate::error::LabError;

/// A directory that was found to be writable.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    /// The files that were written.
    pub(crate) written: Vec<PathBuf>,
}

impl Directory {
    /// Makes the directory if it does not exist, and tries it with a temporary file.
    pub(crate) fn create(path: &Path) -> Result<Self, LabError> {
        let tried = fs::create_dir_all(path).and_then(|()| tempfile::tempfile_in(path));
        tried.map_err(|source| LabError::Directory { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), written: Vec::new() })
    }

    pub(crate) fn write(&mut self, name: &str, content: &[u8]) -> Result<(), LabError> {
        let path = self.path.join(name);
        write(&path, content)?;
        self.written.push(path);
        Ok(())
    }
}

/// Writes a file beside the one that may be there, and puts it in its place.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), LabError> {
    PartialFile::create(path)
        .and_then(|file| file.fill(|file| file.write_all(content)))
        .map_err(|source| LabError::Write { path: path.to_owned(), source })
}
