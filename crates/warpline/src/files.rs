//! The files that a user names: read up to a limit, and no output in the place of an input.
//!
//! The command and the readers of models read files with [`read`] and [`read_text`], so that an
//! endless file (a device, a pipe) ends with an error and does not fill the memory. They describe
//! in [`Files`] which files a run reads and writes, and [`Files::check`] finds a file that would be
//! lost before it is touched. Models write their files as [`PartialFile`]s, which get their names
//! when they are complete. Who writes tables for spreadsheets makes their texts with [`cell`].
//!
//! # Invariants
//!
//! - **FILES-A.** Two names are one file if they have the same device and inode; or, where there is
//!   no file yet, the same folder (links resolved) and the same name in it; the folder may be
//!   missing, too. What is no regular file (a terminal, a pipe, `/dev/null`) can be written by
//!   several, and is never a conflict.

mod partial;

pub use partial::{Mark, PartialFile, remedy_of_going_on};

use std::{
    borrow::Cow,
    fmt, fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// The longest file that is read, unless the reader has a limit of its own (bytes): the numbers of
/// some 20 million LPs.
pub const LIMIT: u64 = 256 << 20;

/// Reads a file that may have at most `limit` bytes.
///
/// # Errors
///
/// When it cannot be read, or has more.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let what = format!("it has more than {}, the most that is read", size(limit));
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(bytes)
}

/// Reads a text that may have at most `limit` bytes.
///
/// # Errors
///
/// When it cannot be read, has more, or is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let text = String::from_utf8(read(path, limit)?);
    text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

fn size(bytes: u64) -> String {
    match bytes {
        0..0x10_0000 => format!("{bytes} bytes"),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// A text as a cell of a table: with `'` before it if a spreadsheet would take it for a formula.
/// Numbers need no such care, and are not to be given here.
#[must_use]
pub fn cell(text: &str) -> Cow<'_, str> {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => Cow::Owned(format!("'{text}")),
        false => Cow::Borrowed(text),
    }
}

/// The text of such a [`cell`], as it was before.
#[must_use]
pub fn text_of_cell(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(text) if matches!(self::cell(text), Cow::Owned(_)) => text,
        _ => cell,
    }
}

/// The files that a run reads and writes, each with the flag that names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    inputs: Vec<Named>,
    outputs: Vec<Named>,
}

/// A file, and what names it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    by: By,
    path: PathBuf,
}

/// What names a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// A flag, without dashes.
    Flag(&'static str),
    /// Whoever has redirected standard output.
    Redirection,
}

impl By {
    fn flag(flag: &'static str) -> Self {
        debug_assert!(!flag.starts_with('-'), "an error would say ----{flag}");
        Self::Flag(flag)
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "--{flag}"),
            Self::Redirection => f.write_str("standard output"),
        }
    }
}

/// Where a process finds the file that its standard output goes to; a system without it has nothing
/// there.
const STANDARD_OUTPUT: &str = "/dev/stdout";

impl Files {
    /// With an input that this flag names, if it names one; the flag is written without dashes.
    #[must_use]
    pub fn reading(mut self, flag: &'static str, path: Option<&Path>) -> Self {
        let by = By::flag(flag);
        self.inputs.extend(path.map(|path| Named { by, path: path.to_owned() }));
        self
    }

    /// With an output that this flag names, if it names one; the flag is written without dashes.
    #[must_use]
    pub fn writing(mut self, flag: &'static str, path: Option<&Path>) -> Self {
        let by = By::flag(flag);
        self.outputs.extend(path.map(|path| Named { by, path: path.to_owned() }));
        self
    }

    /// With the file, if it is one, that standard output goes to, unless what would be printed goes
    /// to this output, which is among the others.
    #[must_use]
    pub fn printing_unless(mut self, output: Option<&Path>) -> Self {
        if output.is_none() {
            self.outputs.push(Named { by: By::Redirection, path: STANDARD_OUTPUT.into() });
        }
        self
    }

    /// With all files of another one.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.inputs.extend(other.inputs);
        self.outputs.extend(other.outputs);
        self
    }

    /// Whether something is written.
    #[must_use]
    pub const fn has_outputs(&self) -> bool {
        !self.outputs.is_empty()
    }

    /// Finds an output that is an input or another output as well (FILES-A).
    ///
    /// # Errors
    ///
    /// The first such output.
    pub fn check(&self) -> Result<(), SameFile> {
        let mut known = self.inputs.iter().map(|file| (file, Clash::Input)).collect::<Vec<_>>();
        for output in &self.outputs {
            if let Some((other, clash)) = find(&known, &output.path) {
                // Nobody has typed where standard output goes to.
                let typed = if output.by == By::Redirection { other } else { output };
                let (by, path) = (output.by, typed.path.clone());
                return Err(SameFile { by, path, other: other.by, clash });
            }
            known.push((output, Clash::Output));
        }
        for output in &self.outputs {
            let path = partial::name_of(&output.path);
            if let Some((other, _)) = find(&known, &path) {
                let (by, clash) = (output.by, Clash::Partial);
                return Err(SameFile { by, path, other: other.by, clash });
            }
        }
        Ok(())
    }
}

/// The one of these files that a path names, and what it is.
fn find<'f>(known: &[(&'f Named, Clash)], path: &Path) -> Option<(&'f Named, Clash)> {
    let place = Place::of(path)?;
    known.iter().copied().find(|(file, _)| Place::of(&file.path).as_ref() == Some(&place))
}

/// Which file a path names.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// A file, by its device and inode.
    #[cfg(unix)]
    File(u64, u64),
    /// A file by its name, with links resolved.
    Name(PathBuf),
}

impl Place {
    /// The file that a path names; none if it is no regular file, or can be none.
    fn of(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => Self::of_file(path, &metadata),
            Ok(_) => None,
            // A link to a file that is not there yet is followed by who makes the file.
            Err(_) => match fs::read_link(path) {
                Ok(target) => Self::of_new(&path.parent()?.join(target)),
                Err(_) => Self::of_new(path),
            },
        }
    }

    #[cfg(unix)]
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere it may be unknown")]
    fn of_file(_: &Path, metadata: &fs::Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        Some(Self::File(metadata.dev(), metadata.ino()))
    }

    #[cfg(not(unix))]
    fn of_file(path: &Path, _: &fs::Metadata) -> Option<Self> {
        fs::canonicalize(path).ok().map(Self::Name)
    }

    fn of_new(path: &Path) -> Option<Self> {
        folder_of(path).map(|folder| Self::Name(folder.join(path.file_name().unwrap_or_default())))
    }
}

/// The folder that a file is made in, with links resolved as far as there are folders.
fn folder_of(path: &Path) -> Option<PathBuf> {
    path.file_name()?;
    let folder = path.parent()?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match fs::canonicalize(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Some(folder_of(folder)?.join(folder.file_name()?))
        }
        folder => folder.ok(),
    }
}

/// An output that is an input or another output as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SameFile {
    by: By,
    path: PathBuf,
    other: By,
    clash: Clash,
}

/// What the other file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clash {
    Input,
    Output,
    /// It has the name that the output has until it is complete (FILE-A).
    Partial,
}

impl fmt::Display for SameFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { by, path, other, clash } = self;
        let path = path.display();
        match (by, clash) {
            (By::Redirection, Clash::Input) => write!(
                f,
                "standard output goes to the file that {other} reads, {path}, and would change \
                 it\n  what to do: redirect it to another file"
            ),
            (By::Redirection, _) => write!(
                f,
                "standard output goes to the file that {other} names, {path}\n  what to do: give \
                 each its own"
            ),
            (_, Clash::Input) => write!(
                f,
                "{by} names the file that {other} reads, {path}, and would overwrite it\n  what to \
                 do: give {by} another name"
            ),
            (_, Clash::Output) if by == other => write!(
                f,
                "{by} names the same file twice, {path}\n  what to do: name each file once"
            ),
            (_, Clash::Partial) => write!(
                f,
                "until it is complete, what {by} names is {path}, and that is the file of \
                 {other}\n  what to do: give {other} another name"
            ),
            (_, Clash::Output) => write!(
                f,
                "{by} and {other} name the same file, {path}\n  what to do: give each its own"
            ),
        }
    }
}

impl std::error::Error for SameFile {}

#[cfg(test)]
mod tests {
    use super::*;

    fn conflict(inputs: &[&Path], outputs: &[&Path]) -> Option<String> {
        let files = inputs.iter().fold(Files::default(), |all, path| all.reading("in", Some(path)));
        let files = outputs.iter().fold(files, |all, path| all.writing("out", Some(path)));
        files.check().err().map(|error| error.to_string())
    }

    /// FILES-A: whatever it is called, one file is one file; and two are two.
    #[test]
    fn a_file_has_many_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        fs::write(at("a"), "a").unwrap();
        fs::write(at("b"), "b").unwrap();
        let (a, b, new) = (at("a"), at("b"), at("new"));
        assert_eq!(conflict(&[&a], &[&b, &new]), None);
        assert!(conflict(&[&a], &[&at("sub/../a")]).unwrap().contains("would overwrite"));
        assert!(conflict(&[], &[&new, &at("sub/../new")]).unwrap().contains("twice"));
        // A folder that is still to be made.
        let made = at("no/such/new");
        assert!(conflict(&[], &[&made, &at("sub/../no/such/new")]).unwrap().contains("twice"));
        assert_eq!(conflict(&[], &[&made, &at("no/new"), &at("such/new")]), None);
        #[cfg(unix)]
        {
            fs::hard_link(&a, at("hard")).unwrap();
            std::os::unix::fs::symlink("a", at("soft")).unwrap();
            std::os::unix::fs::symlink("new", at("dangling")).unwrap();
            for name in ["hard", "soft"] {
                assert!(conflict(&[&a], &[&at(name)]).is_some(), "{name}");
            }
            assert!(conflict(&[], &[&new, &at("dangling")]).is_some());
            // The name of an output that is not complete.
            let partial = at("new.partial");
            let error = conflict(&[&partial], &[&new]).unwrap();
            assert!(error.contains("until it is complete, what --out names is"), "{error}");
            assert!(conflict(&[], &[&partial, &new]).is_some());
            let device = Path::new("/dev/null");
            assert_eq!(conflict(&[device], &[device, device]), None);
        }
    }

    /// A file is read up to its limit, and not a byte further.
    #[test]
    fn reading_has_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("four");
        fs::write(&path, "four").unwrap();
        assert_eq!(read_text(&path, 4).unwrap(), "four");
        assert!(read(&path, 3).unwrap_err().to_string().contains("more than 3 bytes"));
        fs::write(&path, [0xff]).unwrap();
        assert_eq!(read_text(&path, 4).unwrap_err().kind(), io::ErrorKind::InvalidData);
        #[cfg(unix)]
        {
            let error = read(Path::new("/dev/zero"), 1 << 20).unwrap_err().to_string();
            assert!(error.contains("more than 1 MiB"), "{error}");
        }
    }

    /// What a spreadsheet would run is text, and can be had back; what it would not is untouched.
    #[test]
    fn formulas_become_text() {
        for text in ["=1+1", "+5v", "-x", "@a", "\tx", "'", "'a", "a=b", ""] {
            let cell = cell(text);
            assert!(!cell.starts_with(['=', '+', '-', '@', '\t', '\r']), "{cell}");
            assert_eq!(text_of_cell(&cell), text);
        }
        assert_eq!(cell("=1"), "'=1");
        assert_eq!(cell("a=b"), "a=b");
    }
}
