//! Readers of network files.
//!
//! [`Source`](crate::source::Source) calls [`read`]; the ending of a file's name decides about its
//! format. Each format is a file here, and fills a `Draft`.

use std::path::Path;

use warpline::files;

use crate::{
    error::{FileError, Flaw},
    network::Network,
};

mod attributes;
mod csv;
mod draft;
mod graphml;
mod json;
mod sumo;
mod text;

/// The formats, for messages.
pub(crate) const FORMATS: &str =
    "*.csv, *.json (node-link), *.graphml, *.net.xml (SUMO), or *.txt ([INTERSECTIONS], [ROUTES])";

/// A reader of a format.
type Reader = fn(&Path, &str) -> Result<Network, FileError>;

/// The reader of the files with this name.
fn reader(path: &Path) -> Option<Reader> {
    let name = path.file_name()?.to_str()?.to_lowercase();
    let formats: [(&str, Reader); 5] = [
        (".csv", csv::read),
        (".json", json::read),
        (".graphml", graphml::read),
        (".net.xml", sumo::read),
        (".txt", text::read),
    ];
    formats.into_iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, reader)| reader)
}

/// Whether a file of this name can be a network.
pub(crate) fn is_known(path: &Path) -> bool {
    reader(path).is_some()
}

/// Reads a network.
///
/// # Errors
///
/// The first thing that is wrong with the file, with its line.
pub fn read(path: &Path) -> Result<Network, FileError> {
    let whole = |what: String, allowed: &str| Flaw::new(what, allowed).at(path, None);
    let Some(reader) = reader(path) else {
        return Err(whole("the format is not known by this name".to_owned(), FORMATS));
    };
    let unread = |error: std::io::Error| whole(error.to_string(), "a file that can be read");
    let bytes = files::read(path, files::LIMIT).map_err(unread)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|&&byte| byte == b'\n').count();
        Flaw::new("this line is no text", "save the file as UTF-8").at(path, line)
    })?;
    parse(path, &text, reader)
}

/// Reads a network from the text of a file; the name only decides about the format and stands in
/// errors.
///
/// # Errors
///
/// The first thing that is wrong with the text, with its line.
pub fn read_text(path: &Path, text: &str) -> Result<Network, FileError> {
    let reader = reader(path)
        .ok_or_else(|| Flaw::new("the format is not known by this name", FORMATS).at(path, None))?;
    parse(path, text, reader)
}

fn parse(path: &Path, text: &str, reader: Reader) -> Result<Network, FileError> {
    let network = reader(path, text.strip_prefix('\u{feff}').unwrap_or(text))?;
    if network.junctions.is_empty() {
        let allowed = "a network has at least one junction";
        return Err(Flaw::new("there is no junction", allowed).at(path, None));
    }
    Ok(network)
}
