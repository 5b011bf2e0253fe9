//! The ISCAS circuits, which are not part of Warpline.
//!
//! Whoever has them says so: with the variable [`FOLDER`], or with the folder `shared/circuits`
//! beside the repository. Then a circuit that is not there is a failure. Where nobody does, tests
//! run circuits of their own only, and say so, also where the output of tests is captured.

use std::{
    env, fs,
    io::{self, Write},
    path::PathBuf,
};

/// Names the folder with the circuits; if it is empty, there is none.
pub(crate) const FOLDER: &str = "WARPLINE_CIRCUITS";

/// The text of a circuit, if somebody says that the circuits are there.
///
/// # Panics
///
/// If somebody does, and it is not.
pub(crate) fn text(name: &str) -> Option<String> {
    let beside = || {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/circuits");
        root.is_dir().then_some(root)
    };
    let named = env::var_os(FOLDER).map(PathBuf::from);
    let folder = named.or_else(beside).filter(|folder| !folder.as_os_str().is_empty());
    let Some(folder) = folder else {
        // Not `eprintln!`, which a test that passes swallows. What cannot be said fails no test.
        let what = format!("no folder of circuits is there, nor in {FOLDER}: {name} is not tested");
        let _ = writeln!(io::stderr(), "{what}");
        return None;
    };
    let path = folder.join(name);
    let text = fs::read_to_string(&path);
    Some(text.unwrap_or_else(|error| panic!("{} is promised: {error}", path.display())))
}
