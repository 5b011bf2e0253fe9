//! The first line of a deck, which is its title whatever it looks like.
//!
//! Called by [`read`](super::read) for a hint: a deck that begins with a card or an element lacks
//! its title, and what that line defines is unknown to the others.

use super::{
    card::{Card, Token},
    number,
    structure::Structure,
};
use crate::error::{NetlistError, Place, quoted};

/// The place of the title.
pub(super) fn place(file: &str) -> Place {
    Place::line(&file.into(), 1)
}

/// The error that a deck has no title above its first card.
pub(super) fn missing(file: &str, title: &str) -> NetlistError {
    let what = format!("line 1 is the title, so {} is not read", quoted(title));
    NetlistError::new(&place(file), what, "write a line with a title above it")
}

/// Whether a title looks like a card or an element of the deck.
pub(super) fn is_card(title: &str, deck: &Structure) -> bool {
    let title = title.to_ascii_lowercase();
    if let Some(name) = title.strip_prefix('.') {
        return name.starts_with(|c: char| c.is_ascii_alphabetic()) && !name.starts_with("title");
    }
    let Ok(card) = Card::new(&Place::file(""), &title) else { return false };
    let words: Vec<&str> = card
        .tokens
        .iter()
        .map_while(|token| match token {
            Token::Word(word) => Some(word.as_str()),
            _ => None,
        })
        .collect();
    let top = &deck.definitions[0];
    let is_net = |name: &str| name == "0" || name.starts_with("vdd") || name == "gnd";
    match (title.as_bytes().first(), &words[..]) {
        (Some(b'm'), [_, _, _, _, _, model, ..]) => top.models.contains_key(*model),
        (Some(b'x'), [_, .., last]) => top.subcircuits.contains_key(*last),
        (Some(b'r' | b'c'), [_, a, b, value]) => {
            (is_net(a) || is_net(b)) && number::whole(value).is_some()
        }
        (Some(b'v'), [_, a, b, kind, ..]) => {
            let is_waveform = matches!(*kind, "dc" | "pulse" | "pwl");
            (is_net(a) || is_net(b)) && (is_waveform || number::whole(kind).is_some())
        }
        _ => false,
    }
}
