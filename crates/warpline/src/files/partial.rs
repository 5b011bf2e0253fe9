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
//! - **FILE-C.** A run that goes on writes behind a [`Mark`], and only where all before it is as it
//!   was written. Nothing is cut off before that is known.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// How far a file is written, and a checksum of what is in it up to there: a checkpoint has one for
/// each file, and the run that goes on writes behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    length: u64,
    checksum: u32,
}

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
    /// Of all that was written, as long as nothing is written over.
    checksum: Option<crc32fast::Hasher>,
    length: u64,
    /// What an earlier run has left, as long as this one has not gone on with it.
    past: Option<Past>,
}

/// What a file that was reopened is gone on with.
#[derive(Debug)]
enum Past {
    /// Nothing was looked for yet.
    Unknown,
    /// The file that has all up to a mark, with these bytes at a place.
    Found { file: PathBuf, mark: Mark, place: u64, bytes: Vec<u8> },
}

/// What to do about a file that a run cannot go on with, in words.
#[must_use]
pub fn remedy_of_going_on(path: &Path, error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::Unsupported {
        return "name a regular file, or leave the checkpoint out".to_owned();
    }
    let name = path.display();
    format!(
        "bring back what the run has written, {name}.partial or {name}; or leave it out, if that \
         run did not write it"
    )
}

/// Bytes that are written, or read, at a time.
const BUFFER_BYTES: usize = 1 << 16;

fn not_regular() -> io::Error {
    let what = "a run cannot go on with it: it is no regular file to which all is appended";
    io::Error::new(io::ErrorKind::Unsupported, what)
}

/// The checksum of the first bytes of a file, if there are so many, with other bytes at a place.
fn checksum_of(file: &mut File, length: u64, others: (u64, &[u8])) -> io::Result<Option<u32>> {
    let (place, others) = others;
    let mut hasher = crc32fast::Hasher::new();
    let (mut bytes, mut at) = (vec![0; BUFFER_BYTES], 0);
    file.seek(SeekFrom::Start(0))?;
    while at < length {
        let most = bytes.len().min(usize::try_from(length - at).unwrap_or(usize::MAX));
        match file.read(&mut bytes[..most]) {
            Ok(0) => return Ok(None),
            Ok(read) => {
                for (other, place) in others.iter().zip(place..) {
                    let here = place.checked_sub(at).and_then(|here| usize::try_from(here).ok());
                    if let Some(byte) = here.and_then(|here| bytes[..read].get_mut(here)) {
                        *byte = *other;
                    }
                }
                hasher.update(&bytes[..read]);
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    debug_assert_eq!(at, length, "FILE-C: more is compared than was written");
    Ok(Some(hasher.finalize()))
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
        Ok(Self::new(path, renaming, file))
    }

    fn new(path: &Path, renaming: Option<(PathBuf, PathBuf)>, file: File) -> Self {
        let writer = BufWriter::with_capacity(BUFFER_BYTES, file);
        let checksum = Some(crc32fast::Hasher::new());
        Self {
            path: path.to_owned(),
            renaming,
            is_empty: true,
            writer,
            checksum,
            length: 0,
            past: None,
        }
    }

    /// Opens the file that an earlier run has written, to [go on](Self::go_on) with it; until then
    /// what is written is taken for what the file has already, a header, and goes nowhere.
    ///
    /// # Errors
    ///
    /// Those of the system; also if it is no regular file.
    pub fn reopen(path: &Path) -> io::Result<Self> {
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(not_regular());
        }
        let complete = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let partial = name_of(&complete);
        let file = File::open(&partial).or_else(|_| File::open(&complete))?;
        let mut file = Self::new(path, Some((partial, complete)), file);
        file.is_empty = false;
        file.past = Some(Past::Unknown);
        Ok(file)
    }

    /// How far the file is written; all of that is on the disk then.
    ///
    /// # Errors
    ///
    /// Those of the system; also if it is no regular file, or complete, or something was written
    /// over.
    pub fn mark(&mut self) -> io::Result<Mark> {
        let checksum = self.checksum.clone().filter(|_| self.is_regular());
        let checksum = checksum.ok_or_else(not_regular)?.finalize();
        self.sync()?;
        Ok(Mark { length: self.length, checksum })
    }

    /// Finds out whether what an earlier run has written is there up to a mark, in the file that it
    /// has left or in the complete one, and changes no file. These bytes were at that place before
    /// the file was complete, if some were [written over](Self::overwrite) then.
    ///
    /// # Errors
    ///
    /// Those of the system; also if something else is before the mark than was written then.
    pub fn check(&mut self, mark: Mark, place: u64, bytes: &[u8]) -> io::Result<()> {
        debug_assert!(self.past.is_some(), "FILE-C: {} is gone on with", self.path.display());
        let in_it = place + bytes.len() as u64 <= mark.length;
        debug_assert!(in_it, "FILE-C: {place} is not in {mark:?}");
        let file = self.find(mark, (place, bytes))?.to_owned();
        self.past = Some(Past::Found { file, mark, place, bytes: bytes.to_owned() });
        Ok(())
    }

    /// Goes on behind the mark that was [checked](Self::check): what comes after it is cut off
    /// (FILE-C). Of a complete file, a copy is gone on with.
    ///
    /// # Errors
    ///
    /// Those of the system; also if no mark was checked.
    pub fn go_on(&mut self) -> io::Result<()> {
        let (Some(Past::Found { file: found, mark, place, bytes }), Some((partial, _))) =
            (&self.past, &self.renaming)
        else {
            return Err(io::Error::other("nothing is known of what it has"));
        };
        let (Mark { length, checksum }, place) = (*mark, *place);
        let mut file = if found == partial {
            File::options().write(true).open(partial)?
        } else {
            let mut copy = File::create(partial)?;
            io::copy(&mut File::open(found)?.take(length), &mut copy)?;
            copy
        };
        file.seek(SeekFrom::Start(place))?;
        file.write_all(bytes)?;
        file.set_len(length)?;
        file.seek(SeekFrom::End(0))?;
        self.writer = BufWriter::with_capacity(BUFFER_BYTES, file);
        self.checksum = Some(crc32fast::Hasher::new_with_initial_len(checksum, length));
        self.length = length;
        self.is_empty = length == 0;
        self.past = None;
        Ok(())
    }

    /// Whether it is a regular file, in which one can go back.
    #[must_use]
    pub const fn is_regular(&self) -> bool {
        self.renaming.is_some()
    }

    /// The file that has all up to a mark.
    fn find(&self, mark: Mark, others: (u64, &[u8])) -> io::Result<&Path> {
        let Some((partial, complete)) = &self.renaming else { return Err(not_regular()) };
        debug_assert_ne!(partial, complete, "FILE-A: it has its name before it is complete");
        for path in [partial, complete] {
            let checksum = match File::open(path) {
                Ok(mut file) => checksum_of(&mut file, mark.length, others)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
            if checksum == Some(mark.checksum) {
                return Ok(path);
            }
        }
        let what = "it is not the file that the run had written up to its checkpoint";
        Err(io::Error::new(io::ErrorKind::InvalidData, what))
    }

    /// The file of a run that begins, or of one that goes on.
    ///
    /// # Errors
    ///
    /// Those of [`create`](Self::create) and [`reopen`](Self::reopen).
    pub fn open(path: &Path, goes_on: bool) -> io::Result<Self> {
        if goes_on { Self::reopen(path) } else { Self::create(path) }
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
        self.checksum = None;
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
        debug_assert!(self.past.is_none(), "FILE-C: {} is another run's", self.path.display());
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
        if self.past.is_some() {
            return Ok(bytes.len());
        }
        self.is_empty &= bytes.is_empty();
        let written = self.writer.write(bytes)?;
        if let Some(checksum) = &mut self.checksum {
            checksum.update(&bytes[..written]);
        }
        self.length += written as u64;
        Ok(written)
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

    /// FILE-C: what a run that goes on writes comes behind the mark, of a file that was left and of
    /// one that was completed; another file stays as it is. Red if `go_on` compares no checksum, or
    /// does not cut off what comes after the mark.
    #[test]
    fn a_run_goes_on_behind_a_mark() {
        let folder = tempfile::tempdir().unwrap();
        let (path, partial) = (folder.path().join("a"), folder.path().join("a.partial"));
        let mut file = PartialFile::create(&path).unwrap();
        file.write_all(b"before,").unwrap();
        let mark = file.mark().unwrap();
        file.write_all(b"lost").unwrap();
        drop(file);
        let go_on = |end: &str| {
            let mut file = PartialFile::reopen(&path).unwrap();
            file.write_all(b"a header, which is there").unwrap();
            file.check(mark, 0, &[])?;
            file.go_on().unwrap();
            file.write_all(b"after,").unwrap();
            let later = file.mark().unwrap();
            file.write_all(end.as_bytes()).unwrap();
            file.complete().unwrap();
            io::Result::Ok(later)
        };
        for end in ["of one that was left", "of one that was complete"] {
            let later = go_on(end).unwrap();
            // What a copy that was not finished has left.
            fs::write(&partial, "bef").unwrap();
            let later = go_on(end).map(|again| assert_eq!(again, later)).map(|()| later).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("before,after,{end}"));
            assert!(!partial.exists());
            let mut file = PartialFile::reopen(&path).unwrap();
            file.check(later, 0, &[]).unwrap();
            file.go_on().unwrap();
            assert_eq!(file.mark().unwrap(), later);
            drop(file);
            fs::remove_file(&partial).unwrap();
        }
        for other in ["befor", "Before,of another run"] {
            fs::write(&path, other).unwrap();
            assert_eq!(go_on("").unwrap_err().kind(), io::ErrorKind::InvalidData);
            assert_eq!(fs::read_to_string(&path).unwrap(), other);
            assert!(!partial.exists(), "nothing is copied before it is known to be right");
            fs::write(&partial, other).unwrap();
            go_on("").unwrap_err();
            assert_eq!(fs::read_to_string(&partial).unwrap(), other, "FILE-C");
            fs::remove_file(&partial).unwrap();
        }
        let mut file = PartialFile::create(&path).unwrap();
        file.write_all(b"head").unwrap();
        file.overwrite(0, b"H").unwrap();
        assert_eq!(file.mark().unwrap_err().kind(), io::ErrorKind::Unsupported);
        drop(file);
        fs::remove_file(&partial).unwrap();

        // The head is written over at the end, and put back.
        let mut file = PartialFile::create(&path).unwrap();
        file.write_all(b"head").unwrap();
        let mark = file.mark().unwrap();
        file.overwrite(1, b"EA").unwrap();
        file.complete().unwrap();
        let mut file = PartialFile::reopen(&path).unwrap();
        file.check(mark, 1, b"ea").unwrap();
        file.go_on().unwrap();
        file.complete().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "head");
        fs::remove_file(&path).unwrap();
        assert_eq!(PartialFile::reopen(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
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
