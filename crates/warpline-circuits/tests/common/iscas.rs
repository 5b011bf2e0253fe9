//! The ISCAS circuits, which are not part of Warpline.
//!
//! Whoever has them says so: with the variable [`FOLDER`], or with the folder `shared/circuits`
//! beside the repository. Then a circuit that is not there is a failure. Where nobody does, tests
//! run circuits of their own only.

use std::{env, fs, path::PathBuf};

/// Names the folder with the circuits.
const FOLDER: &str = "WARPLINE_CIRCUITS";

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
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from).or_else(beside) else {
        eprintln!("no folder of circuits is there, nor in {FOLDER}: {name} is not tested");
        return None;
    };
    let path = folder.join(name);
    let text = fs::read_to_string(&path);
    Some(text.unwrap_or_else(|error| panic!("{} is promised: {error}", path.display())))
}
