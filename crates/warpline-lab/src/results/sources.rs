//! Digests of sources: whether what a measurement depends on has changed since.
//!
//! A digest is over the paths and the text of files, so it needs no git and is the same in a
//! shallow clone. Of Rust it is over the code that a program is made of: comments and tests change
//! no measurement. The module's parent writes digests, `list` compares them.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Files and folders, from the root of the repository, with the digests that they had; `None`
/// where it is not known.
pub(super) type Digests = BTreeMap<String, Option<String>>;

/// The files of a folder, and of those in it, in the order of their paths; a file itself.
pub(super) fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        files.extend(self::files(&entry?.path())?);
    }
    files.sort_unstable();
    Ok(files)
}

/// The digest of a file, or of all files in a folder: FNV-1a (64 bits) over the path of each below
/// the folder, a zero, what counts of its bytes without carriage returns, and a zero.
pub(super) fn digest(path: &Path) -> io::Result<String> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut mix = |bytes: &[u8]| {
        for &byte in bytes.iter().filter(|&&byte| byte != b'\r').chain(&[0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    let is_code = |file: &PathBuf| file.file_name().is_none_or(|name| name != "tests.rs");
    for file in files(path)?.into_iter().filter(is_code) {
        let name = file.strip_prefix(path).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        mix(name.as_bytes());
        mix(&what_counts(&file, fs::read(&file)?));
    }
    Ok(format!("{hash:016x}"))
}

/// What counts of a file: of Rust, all lines but empty ones, comments and modules of tests.
fn what_counts(path: &Path, bytes: Vec<u8>) -> Vec<u8> {
    if path.extension().is_none_or(|extension| extension != "rs") {
        return bytes;
    }
    let Ok(text) = str::from_utf8(&bytes) else { return bytes };
    let mut lines = text.lines().peekable();
    let mut code = Vec::new();
    while let Some(line) = lines.next() {
        let opens_module = |next: &&str| next.contains("mod ") && next.ends_with('{');
        if line == "#[cfg(test)]" && lines.next_if(opens_module).is_some() {
            lines.by_ref().find(|line| *line == "}");
        } else if !matches!(line.trim_start().as_bytes(), [] | [b'/', b'/', ..]) {
            code.extend(line.bytes().chain(*b"\n"));
        }
    }
    code
}

/// When the file that changed last was changed.
pub(super) fn newest(path: &Path) -> io::Result<SystemTime> {
    let mut times = files(path)?.into_iter().map(|file| fs::metadata(file)?.modified());
    times.try_fold(SystemTime::UNIX_EPOCH, |newest, time| Ok(newest.max(time?)))
}

/// The sources that are not as they were, or of which that is not known.
pub(super) fn changed<'a>(root: &Path, sources: &'a Digests) -> Vec<&'a str> {
    let is_same = |(path, was): &(&String, &Option<String>)| {
        let was = was.as_ref();
        was.is_some_and(|was| digest(&root.join(path)).is_ok_and(|now| now == *was))
    };
    sources.iter().filter(|source| !is_same(source)).map(|(path, _)| path.as_str()).collect()
}
