//! The reader of SPICE decks, as ngspice takes them.
//!
//! Called by [`netlist::read`](crate::netlist::read). It reads MOS transistors of level 1,
//! capacitors to fixed nets, resistors, voltage sources (DC, PULSE, PWL), subcircuits with
//! parameters, `.include`, `.global`, `.ic`, `.tran`, `.measure` of delays, and the lists of nets
//! to save. What changes the result and is not supported is an error; what does not change it is
//! noted. Sources: the manuals of SPICE3 and of ngspice 39.
//!
//! A deck goes through `lines`, `structure`, `expand` and `fix`, in this order.

mod card;
mod control;
mod expand;
mod expression;
mod fix;
pub(crate) mod lines;
mod model;
mod number;
mod scope;
mod source;
mod structure;

pub use lines::Include;

use crate::{circuit::Circuit, error::NetlistError};

/// What the elements of a deck may take after its subcircuits are expanded (bytes, about).
const BUDGET: usize = 2 << 30;

/// A deck that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Deck {
    /// The circuit.
    pub circuit: Circuit,
    /// Lines that have no effect, with their places.
    pub notes: Vec<String>,
}

/// Reads the text of a deck; `include` finds the files that it includes.
///
/// # Errors
///
/// A line that cannot be read, or that asks for something that is not simulated.
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
    let mut lines = lines::read(file, text, include)?;
    let deck = structure::structure(&lines.lines)?;
    let mut scopes = scope::Scopes::new(&deck.definitions[0].parameters);
    let mut notes = std::mem::take(&mut lines.notes);
    let transient = control::transient(file, &deck.controls, &mut scopes, &mut notes)?;
    let mut expander = expand::Expander::new(&deck, scopes, transient, budget);
    expander.notes = notes;
    expander.circuit.title = lines.title;
    expander.circuit.end = transient.end;
    expander.circuit.print_step = transient.step;
    expander.expand()?;
    fix::finish(file, &mut expander)?;
    let expand::Expander { mut scopes, nets, mut circuit, notes, .. } = expander;
    control::output(&deck.controls, &mut scopes, &nets, &mut circuit)?;
    Ok(Deck { circuit, notes })
}

/// A number as decks have it, with a suffix and a unit: `2.5`, `1e-9`, `10n`, `5ps`.
#[must_use]
pub fn number(text: &str) -> Option<f64> {
    number::whole(&text.to_lowercase())
}
