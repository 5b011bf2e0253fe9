//! A file that is written while a run goes on. Models that write files of their own have one for
//! each.
//!
//! # Invariants
//!
//! - **FILE-A.** A file has its name only when it is complete. Until then it is called
//!   `NAME.partial`, where one may look at it; a run that fails, or is killed, leaves it there if
//!   anything was written. An older file `NAME` stays as it is until then. What is no regular file
//!   (a pipe, `/dev/stdout`) is written at once.
//! - **FILE-B.** Of a file that is written all at once (`fill`) and cannot be written to its end,
//!   nothing stays: part of it is of no use.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, BufWriter, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

/// A file that is not complete yet.
#[derive(Debug)]
pub struct PartialFile {
    /// The name that was given, for messages.
    path: PathBuf,
    /// Where it is written, and the name that it gets then; `None` if it is no regular file, or has
    /// its name.
    renaming: Option<(PathBuf, PathBuf)>,
    is_empty: bool,
    writer: BufWriter<File>,
}

/// What a file is called until it is complete.
pub(super) fn name_of(complete: &Path) -> PathBuf {
    let mut partial = OsString::from(complete);
    partial.push(".partial");
    PathBuf::from(partial)
}

impl PartialFile {
    /// Creates the file, or finds out that it cannot be written.
    ///
    /// # Errors
    ///
    /// Those of the system, when it creates the file.
    pub fn create(path: &Path) -> io::Result<Self> {
        let is_other = fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
        let (renaming, file) = if is_other {
            (None, File::options().write(true).open(path)?)
        } else {
            // A symbolic link stays, and the file that it names is replaced.
            let complete = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            let partial = name_of(&complete);
            let file = File::create(&partial)?;
            (Some((partial, complete)), file)
        };
        let writer = BufWriter::with_capacity(1 << 16, file);
        Ok(Self { path: path.to_owned(), renaming, is_empty: true, writer })
    }

    /// Whether it is a regular file, in which one can go back.
    #[must_use]
    pub const fn is_regular(&self) -> bool {
        self.renaming.is_some()
    }

    /// The name that was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes over what is at a place of the file.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn overwrite(&mut self, place: u64, bytes: &[u8]) -> io::Result<()> {
        self.writer.seek(SeekFrom::Start(place))?;
        self.writer.write_all(bytes)?;
        self.writer.seek(SeekFrom::End(0)).map(drop)
    }

    /// All that was written is on the disk, and not only on its way there.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn sync(&mut self) -> io::Result<()> {
        self.writer.flush()?;
        self.writer.get_ref().sync_data()
    }

    /// The file is complete, and gets its name.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn complete(&mut self) -> io::Result<()> {
        self.writer.flush()?;
        if let Some((partial, complete)) = &self.renaming {
            fs::rename(partial, complete)?;
            self.renaming = None;
        }
        Ok(())
    }

    /// Writes all of the file; if that fails, what is there of it is removed (FILE-B).
    ///
    /// # Errors
    ///
    /// Those of `write`, and of the system.
    pub fn fill(mut self, write: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        let filled = write(&mut self).and_then(|()| self.complete());
        if filled.is_err()
            && let Some((partial, _)) = self.renaming.take()
        {
            // The error of the file itself says more than that of its removal.
            let _ = fs::remove_file(partial);
        }
        filled
    }
}

impl Write for PartialFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.is_empty &= bytes.is_empty();
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if let Some((partial, _)) = self.renaming.take_if(|_| self.is_empty) {
            // There is nothing in it to look at; if it stays, no harm is done.
            let _ = fs::remove_file(partial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FILE-A: an older file stays until the new one is complete, and a run that ends before leaves
    /// what it has written, and no empty file.
    #[test]
    fn a_file_has_its_name_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let (path, partial) = (folder.path().join("a"), folder.path().join("a.partial"));
        fs::write(&path, "older").unwrap();
        let text = |path: &Path| fs::read_to_string(path).unwrap_or_else(|_| "none".to_owned());
        drop(PartialFile::create(&path).unwrap());
        assert_eq!((text(&path), text(&partial)), ("older".to_owned(), "none".to_owned()));
        let mut file = PartialFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        drop(file);
        assert_eq!((text(&path), text(&partial)), ("older".to_owned(), "new".to_owned()));
        let mut file = PartialFile::create(&path).unwrap();
        assert!(file.is_regular());
        file.write_all(b"whole").unwrap();
        file.overwrite(0, b"W").unwrap();
        file.complete().unwrap();
        drop(file);
        assert_eq!((text(&path), text(&partial)), ("Whole".to_owned(), "none".to_owned()));
    }

    /// FILE-B: it is there as a whole, or not at all. Red if `fill` leaves what could be written.
    #[test]
    fn a_file_that_cannot_be_filled_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "older").unwrap();
        let fill = |end: io::Result<()>| {
            let file = PartialFile::create(&path).unwrap();
            let filled = file.fill(|file| file.write_all(&[b'x'; 1 << 17]).and(end));
            let length = fs::metadata(&path).unwrap().len();
            (filled.is_ok(), length, fs::read_dir(folder.path()).unwrap().count())
        };
        assert_eq!(fill(Err(io::ErrorKind::FileTooLarge.into())), (false, 5, 1));
        assert_eq!(fill(Ok(())), (true, 1 << 17, 1));
    }
}
