//! The reader of SPICE decks, as ngspice takes them.
//!
//! Called by [`netlist::read`](crate::netlist::read). It reads MOS transistors of level 1,
//! capacitors to fixed nets, resistors, voltage sources (DC, PULSE, PWL), subcircuits with
//! parameters, `.include`, `.global`, `.ic`, `.tran`, `.measure` of delays, and the lists of nets
//! to save. What changes the result and is not supported is an error; what does not change it is
//! noted. A deck's errors come all at once. Sources: the manuals of SPICE3 and of ngspice 39.
//!
//! A deck goes through `lines`, `structure`, `expand` and `fix`, in this order.

mod card;
mod control;
mod errors;
mod expand;
mod expression;
mod fix;
pub(crate) mod lines;
mod model;
mod notes;
mod number;
mod scope;
mod source;
mod structure;

mod title;

pub use lines::Include;
pub use notes::Note;

use std::path::PathBuf;

use crate::{circuit::Circuit, error::NetlistError};

/// What the elements of a deck may take after its subcircuits are expanded (bytes, about).
const BUDGET: usize = 2 << 30;

/// A deck that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Deck {
    /// The circuit.
    pub circuit: Circuit,
    /// What has no effect, in the order of lines.
    pub notes: Vec<Note>,
    /// A remark on what is skipped, if anything is.
    pub remark: Option<String>,
    /// The files that it includes, if it was read from a file.
    pub included: Vec<PathBuf>,
}

/// Reads the text of a deck; `include` finds the files that it includes.
///
/// # Errors
///
/// All lines that cannot be read, or that ask for something that is not simulated.
pub fn read(file: &str, text: &str, include: &mut Include<'_>) -> Result<Deck, NetlistError> {
    read_within(file, text, include, BUDGET)
}

/// The same with another limit for the expanded deck (bytes, about).
///
/// # Errors
///
/// Those of [`read`].
pub fn read_within(
    file: &str,
    text: &str,
    include: &mut Include<'_>,
    budget: usize,
) -> Result<Deck, NetlistError> {
    let lines::Lines { title, lines, mut notes, mut errors, .. } = lines::read(file, text, include);
    let deck = structure::structure(&lines, &mut errors);
    errors.next_part();
    let mut scopes = scope::Scopes::new(&deck.definitions[0].parameters, budget);
    let transient = control::transient(file, &deck.controls, &mut scopes, &mut notes, &mut errors);
    let mut expander = expand::Expander::new(&deck, scopes, transient);
    (expander.notes, expander.errors) = (notes, errors);
    expander.circuit.title = title;
    expander.circuit.end = transient.end;
    expander.circuit.print_step = transient.step;
    expander.expand();
    expander.errors.next_part();
    fix::finish(file, &mut expander);
    let expand::Expander { mut scopes, nets, mut circuit, mut notes, mut errors, .. } = expander;
    errors.next_part();
    let saving = control::output(&deck.controls, &mut scopes, &nets, &mut circuit, &mut errors);
    let begins_with_card = title::is_card(&circuit.title, &deck);
    if begins_with_card && errors.are_there() {
        errors.keep::<()>(Err(title::missing(file, &circuit.title)));
    }
    errors.finish()?;
    if begins_with_card {
        notes.push(Note::new(&title::place(file), "what is the title: the first line"));
    }
    notes::sort(file, &mut notes);
    let remark = notes::remark(file, &notes, &saving);
    Ok(Deck { circuit, notes, remark, included: Vec::new() })
}

/// A number as decks have it, with a suffix and a unit: `2.5`, `1e-9`, `10n`, `5ps`.
#[must_use]
pub fn number(text: &str) -> Option<f64> {
    number::whole(&text.to_lowercase())
}
