//! Reads netlists from files, by their kind.
//!
//! Called by the command.

use std::{io, path::Path};

use warpline::files;

use crate::{
    bench,
    error::{NetlistError, Place, quoted},
    logic::Gates,
    process::Capacitances,
    spice::{self, Deck, lines::BYTES_MAX},
    stimuli::Stimuli,
    workload::Workload,
};

/// A netlist that was read from a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Netlist {
    /// A SPICE deck, with its stimuli.
    Deck(Box<Deck>),
    /// Gates, which need stimuli.
    Gates(Gates),
}

impl Netlist {
    /// The circuit that is simulated: that of a deck, or the gates in the built-in cells with
    /// random stimuli.
    ///
    /// # Errors
    ///
    /// Stimuli that are out of range.
    pub fn workload(
        self,
        stimuli: &Stimuli,
        capacitances: Capacitances,
    ) -> Result<Workload, NetlistError> {
        match self {
            Self::Gates(gates) => Workload::of_gates(&gates, stimuli, capacitances),
            Self::Deck(deck) => Ok(Workload {
                outputs: deck.circuit.saved.clone(),
                circuit: deck.circuit,
                settled: Vec::new(),
                included: deck.included,
            }),
        }
    }
}

/// Reads a netlist: a SPICE deck from a file that ends in `.cir`, `.sp`, `.spice`, `.net` or
/// `.ckt`, and gates from one that ends in `.bench`.
///
/// # Errors
///
/// A file of another kind, one that cannot be read, and what is wrong with the netlist.
pub fn read(path: &Path) -> Result<Netlist, NetlistError> {
    let name = path.display().to_string();
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    let reads_spice = ["cir", "sp", "spice", "net", "ckt"].iter().any(|known| extension == *known);
    if !reads_spice && extension != "bench" {
        let what = format!("{} is no netlist by its name", quoted(&name));
        let remedy = "name SPICE decks *.cir, *.sp or *.spice, and gates *.bench";
        return Err(NetlistError::new(&Place::file(&name), what, remedy));
    }
    let text = text(path).map_err(|error| {
        let what = format!("the file cannot be read: {error}");
        NetlistError::new(&Place::file(&name), what, "is the path right?")
    })?;
    if !reads_spice {
        return bench::read(&name, &text).map(Netlist::Gates);
    }
    let mut included = Vec::new();
    let mut include = |from: &str, name: &str| {
        let path = Path::new(from).with_file_name(name);
        let text = self::text(&path)?;
        let name = path.display().to_string();
        included.push(path);
        Ok((name, text))
    };
    let deck = spice::read(&name, &text, &mut include)?;
    Ok(Netlist::Deck(Box::new(Deck { included, ..deck })))
}

/// The text of a file. Bytes that are no UTF-8, as in comments of old files, are replaced.
fn text(path: &Path) -> io::Result<String> {
    let bytes = files::read(path, BYTES_MAX as u64)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
