//! The ISCAS circuits, which are not part of Warpline.

use std::{fs, path::PathBuf};

/// The text of a circuit, if the files lie beside the repository.
pub(crate) fn text(name: &str) -> Option<String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("../shared/circuits").join(name);
    let text = fs::read_to_string(&path).ok();
    if text.is_none() {
        eprintln!("{} is not there: what it would show is not tested", path.display());
    }
    text
}
