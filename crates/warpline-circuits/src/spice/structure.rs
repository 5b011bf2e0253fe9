//! The structure of a deck: which lines belong to which subcircuit.
//!
//! Called by [`read`](super::read). Elements are not looked at here: what is not supported in a
//! subcircuit that nobody uses does no harm. A line that is wrong is left out, and the others are
//! read.
//!
//! # Invariants
//!
//! - **DECK-A.** Definition 0 is the deck itself; the parent of any other has a smaller index.

use std::collections::{HashMap, HashSet};

use super::{
    card::{Card, Setting, Token, is_parameter},
    errors::Errors,
    expression::Expression,
    lines::Line,
};
use crate::error::{Kind, NetlistError, Place, quoted};

/// A subcircuit, or the deck itself.
#[derive(Debug, Default)]
pub(super) struct Definition {
    /// The definition that it is in, where its models and subcircuits are looked up next.
    pub(super) parent: Option<usize>,
    /// The nets of its interface.
    pub(super) ports: Vec<String>,
    /// Its parameters: those of its interface with their defaults, then those of `.param` lines.
    pub(super) parameters: Vec<Parameter>,
    /// Its `.model` lines, by the names of the models.
    pub(super) models: HashMap<String, Card>,
    /// The definitions in it, by name.
    pub(super) subcircuits: HashMap<String, usize>,
    /// Its elements.
    pub(super) elements: Vec<Card>,
    /// Its `.ic` lines.
    pub(super) initial: Vec<Card>,
}

/// A parameter, and where it is defined.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) place: Place,
    pub(super) name: String,
    pub(super) value: Expression,
    /// Whether an instance can set it: it is on the `.subckt` line.
    pub(super) is_interface: bool,
}

/// A deck, line by line in its place.
#[derive(Debug)]
pub(super) struct Structure {
    pub(super) definitions: Vec<Definition>,
    /// Nets that are the same in all subcircuits.
    pub(super) globals: HashSet<String>,
    /// The other lines with a dot: analyses, options, output.
    pub(super) controls: Vec<Card>,
}

/// How deep definitions can be nested.
const NESTING_MAX: usize = 32;

/// Sorts the lines of a deck.
pub(super) fn structure(lines: &[Line], errors: &mut Errors) -> Structure {
    let mut builder = Builder {
        deck: Structure {
            definitions: vec![Definition::default()],
            globals: HashSet::new(),
            controls: Vec::new(),
        },
        open: Vec::new(),
        elements: vec![HashMap::new()],
        parameters: vec![HashMap::new()],
    };
    for line in lines {
        let outcome = builder.line(line);
        errors.keep(outcome);
        if errors.are_enough() {
            return builder.deck;
        }
    }
    if let Some((_, place)) = builder.open.pop() {
        let what = "the subcircuit does not end";
        let remedy = "write .ends behind its last element";
        errors.keep::<()>(Err(NetlistError::new(&place, what, remedy)));
    }
    builder.deck
}

struct Builder {
    deck: Structure,
    /// The definitions around the current line, and where they begin.
    open: Vec<(usize, Place)>,
    /// For each definition, its elements and their lines.
    elements: Vec<HashMap<String, Place>>,
    /// For each definition, its parameters and their lines.
    parameters: Vec<HashMap<String, Place>>,
}

impl Builder {
    fn current(&self) -> usize {
        self.open.last().map_or(0, |(index, _)| *index)
    }

    fn line(&mut self, line: &Line) -> Result<(), NetlistError> {
        let word = line.text.split_whitespace().next().unwrap_or_default();
        if matches!(word, ".param" | ".params" | ".parameters") {
            return self.parameters(&line.place, &line.text[word.len()..]);
        }
        let card = Card::new(&line.place, &line.text)?;
        match card.name() {
            ".subckt" => self.open(&card),
            ".ends" => self.close(&card),
            ".model" => self.model(card),
            ".global" => {
                self.deck.globals.extend(names(&card)?);
                Ok(())
            }
            ".ic" => {
                let current = self.current();
                self.deck.definitions[current].initial.push(card);
                Ok(())
            }
            name if name.starts_with('.') => {
                if !self.open.is_empty() {
                    let what = format!("{} is within a subcircuit", quoted(name));
                    return Err(card.error(what, "move it out, to the deck itself"));
                }
                self.deck.controls.push(card);
                Ok(())
            }
            "" => Err(card.error("the line begins with no name", "write the name of an element")),
            name => {
                let current = self.current();
                if let Some(first) =
                    self.elements[current].insert(name.to_owned(), card.place.clone())
                {
                    let what = format!("{} is there already, at {first}", quoted(name));
                    return Err(card.error(what, "give one of the two another name"));
                }
                self.deck.definitions[current].elements.push(card);
                Ok(())
            }
        }
    }

    fn open(&mut self, card: &Card) -> Result<(), NetlistError> {
        let (words, settings) = card.words_and_settings()?;
        let Some((&name, ports)) = words.split_first() else {
            return Err(card.error(".subckt has no name", "write .subckt NAME NET ..."));
        };
        if self.open.len() == NESTING_MAX {
            let what = format!("subcircuits are defined more than {NESTING_MAX} deep");
            return Err(card.error(what, "is an .ends missing?").of(Kind::Last));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = ports.iter().find(|port| !seen.insert(**port)) {
            let what = format!("the net {} is twice in the interface", quoted(twice));
            return Err(card.error(what, "name each net once"));
        }
        let (parent, index) = (self.current(), self.deck.definitions.len());
        debug_assert!(parent < index, "DECK-A: the definitions around are there already");
        let definition = Definition {
            parent: Some(parent),
            ports: ports.iter().map(|&port| port.to_owned()).collect(),
            ..Definition::default()
        };
        self.deck.definitions.push(definition);
        self.elements.push(HashMap::new());
        self.parameters.push(HashMap::new());
        let others = &mut self.deck.definitions[parent].subcircuits;
        if others.insert(name.to_owned(), index).is_some() {
            let what = format!("the subcircuit {} is defined twice", quoted(name));
            return Err(card.error(what, "give one of the two another name"));
        }
        self.open.push((index, card.place.clone()));
        for Setting { name, value } in settings {
            self.parameter(Parameter {
                place: card.place.clone(),
                name,
                value,
                is_interface: true,
            })?;
        }
        Ok(())
    }

    fn close(&mut self, card: &Card) -> Result<(), NetlistError> {
        let Some((index, begin)) = self.open.pop() else {
            return Err(card.error(".ends without .subckt", "remove it"));
        };
        let name = names(card)?.into_iter().next();
        let own = &self.deck.definitions[self.current()].subcircuits;
        if let Some(name) = name.filter(|name| own.get(name) != Some(&index)) {
            let what = format!(".ends {name} does not end the subcircuit that begins at {begin}");
            return Err(card.error(what, "write its name, or none"));
        }
        Ok(())
    }

    fn model(&mut self, mut card: Card) -> Result<(), NetlistError> {
        let Some(Token::Word(name)) = card.tokens.get(1) else {
            return Err(card.error(".model has no name", "write .model NAME nmos (...)"));
        };
        let current = self.current();
        let name = name.clone();
        // The parameters of a model may stand in brackets, which say nothing.
        card.tokens.retain(|token| !matches!(token, Token::Open | Token::Close));
        let models = &mut self.deck.definitions[current].models;
        if let Some(first) = models.get(&name) {
            let what = format!("the model {} is there already, at {}", quoted(&name), first.place);
            return Err(card.error(what, "give one of the two another name"));
        }
        models.insert(name, card);
        Ok(())
    }

    /// `.param a = 1 b = {2*a}`
    fn parameters(&mut self, place: &Place, text: &str) -> Result<(), NetlistError> {
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let Some((name, value)) = rest.split_once('=') else {
                let what = format!(".param has {} where NAME=VALUE belongs", quoted(rest));
                let remedy = "write expressions with blanks in braces, as in a={1 + 2}";
                return Err(NetlistError::new(place, what, remedy));
            };
            let (name, value) = (name.trim(), value.trim_start());
            if !is_parameter(name) {
                let what =
                    format!(".param has {} where the name of a parameter belongs", quoted(name));
                let remedy = "write expressions with blanks in braces, as in a={1 + 2}; \
                              functions are not supported";
                return Err(NetlistError::new(place, what, remedy));
            }
            let parse = if value.starts_with(['{', '\'']) {
                Expression::bracketed
            } else {
                Expression::bare
            };
            let (expression, length) = parse(value).map_err(|complaint| complaint.at(place))?;
            self.parameter(Parameter {
                place: place.clone(),
                name: name.to_owned(),
                value: expression,
                is_interface: false,
            })?;
            rest = value[length..].trim_start_matches([' ', '\t', ',']);
        }
        Ok(())
    }

    fn parameter(&mut self, parameter: Parameter) -> Result<(), NetlistError> {
        let current = self.current();
        let Parameter { name, place, .. } = &parameter;
        if let Some(first) = self.parameters[current].insert(name.clone(), place.clone()) {
            let what = format!("the parameter {} is there already, at {first}", quoted(name));
            return Err(NetlistError::new(place, what, "remove one of the two"));
        }
        self.deck.definitions[current].parameters.push(parameter);
        Ok(())
    }
}

/// The words behind the name of a line.
fn names(card: &Card) -> Result<Vec<String>, NetlistError> {
    let (words, settings) = card.words_and_settings()?;
    if let Some(setting) = settings.first() {
        let what = format!("{} has {}=", card.name(), quoted(&setting.name));
        return Err(card.error(what, "write names only"));
    }
    Ok(words.into_iter().map(str::to_owned).collect())
}
