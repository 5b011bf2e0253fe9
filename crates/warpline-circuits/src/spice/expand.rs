//! Expands the subcircuits of a deck into a flat circuit.
//!
//! Called by [`read`](super::read). An instance opens a scope with its nets and its parameters; a
//! parameter is looked up in the scope of the instance, then in those around it, as ngspice does.
//! The elements of a subcircuit are named as in ngspice: `m.x1.m2` is `m2` of `x1`, and its net `a`
//! is `x1.a`.
//!
//! An element that is wrong is left out, and its nets are unsure: what is said of them may be
//! wrong.
//!
//! # Invariants
//!
//! - **DECK-B.** What an expansion adds is charged to a budget first, so that nested subcircuits
//!   cannot fill the memory.

use std::collections::{HashMap, HashSet};

use super::{
    card::{Card, Setting, Token, kind},
    control::Transient,
    errors::Errors,
    expression::Expression,
    model,
    notes::Note,
    scope::{Scope, Scopes},
    source,
    structure::Structure,
};
use crate::{
    circuit::{Circuit, NetId, Resistor, Transistor, Waveform},
    error::{Kind, NetlistError, quoted},
};

/// How deep instances can be nested.
const DEPTH_MAX: usize = 64;
/// Width and length of a transistor that gives none (m), as in SPICE.
const SIZE: f64 = 1e-4;

/// A flat circuit, but for the elements between two nets: which of those are fixed is known when
/// all sources are there.
#[derive(Debug)]
pub(super) struct Expander<'a> {
    deck: &'a Structure,
    transient: Transient,
    pub(super) scopes: Scopes<'a>,
    pub(super) circuit: Circuit,
    pub(super) nets: HashMap<String, NetId>,
    cards: HashMap<String, usize>,
    /// The lines of the transistors.
    pub(super) transistors: Vec<&'a Card>,
    /// The lines of the initial voltages.
    pub(super) initial: Vec<&'a Card>,
    pub(super) capacitors: Vec<Pending<'a, f64>>,
    pub(super) sources: Vec<Pending<'a, Waveform>>,
    pub(super) notes: Vec<Note>,
    pub(super) errors: Errors,
    /// Nets at elements that are wrong.
    pub(super) unsure: HashSet<NetId>,
}

/// An element between two nets.
#[derive(Debug)]
pub(super) struct Pending<'a, T> {
    pub(super) card: &'a Card,
    pub(super) name: String,
    pub(super) ends: [NetId; 2],
    pub(super) value: T,
}

impl<'a> Expander<'a> {
    pub(super) fn new(deck: &'a Structure, scopes: Scopes<'a>, transient: Transient) -> Self {
        let mut circuit = Circuit::default();
        circuit.nets.push("0".to_owned());
        Self {
            deck,
            transient,
            scopes,
            circuit,
            nets: HashMap::new(),
            cards: HashMap::new(),
            transistors: Vec::new(),
            initial: Vec::new(),
            capacitors: Vec::new(),
            sources: Vec::new(),
            notes: Vec::new(),
            errors: Errors::default(),
            unsure: HashSet::new(),
        }
    }

    /// Adds the elements of the innermost scope, and of the instances in it.
    pub(super) fn expand(&mut self) {
        let definition = &self.deck.definitions[self.scopes.inner().definition];
        for card in &definition.elements {
            if self.errors.are_enough() {
                return;
            }
            let outcome = self.element(card);
            if self.errors.keep(outcome).is_none() {
                self.leave_out(card);
            }
        }
        for card in &definition.initial {
            if self.errors.are_enough() {
                return;
            }
            let outcome = self.initial(card);
            self.errors.keep(outcome);
        }
    }

    /// Makes the nets of an element unsure. Of an unknown element, all words may be nets.
    fn leave_out(&mut self, card: &Card) {
        let nets = match card.name().as_bytes()[0] {
            b'm' => 4,
            b'r' | b'c' | b'v' => 2,
            _ => usize::MAX,
        };
        for token in card.tokens[1..].iter().take(nets) {
            let Token::Word(word) = token else { return };
            // The error of the element is enough.
            let Ok(net) = self.net(card, word) else { return };
            self.unsure.insert(net);
        }
    }

    fn element(&mut self, card: &'a Card) -> Result<(), NetlistError> {
        let path = &self.scopes.inner().path;
        self.charge(card, card.length + path.len())?;
        match card.name().as_bytes()[0] {
            b'm' => self.transistor(card),
            b'r' => self.resistor(card),
            b'c' => self.capacitor(card),
            b'v' => self.source(card),
            b'x' => self.instance(card),
            letter => {
                let what = format!("{} is {}", quoted(card.name()), kind(letter));
                Err(card.error(what, "only M, C, R, V and X elements are simulated: remove it"))
            }
        }
    }

    /// Takes an element with this many bytes of names from the budget.
    fn charge(&mut self, card: &Card, bytes: usize) -> Result<(), NetlistError> {
        const ELEMENT: usize = 256;
        self.scopes.charge(&card.place, ELEMENT + bytes)
    }

    /// The name of an element of the innermost scope in the flat circuit.
    fn name(&self, card: &Card) -> String {
        match self.scopes.inner().path.as_str() {
            "" => card.name().to_owned(),
            path => format!("{}.{path}.{}", &card.name()[..1], card.name()),
        }
    }

    /// The net that a name is in the innermost scope; it is made if it is new.
    fn net(&mut self, card: &Card, name: &str) -> Result<NetId, NetlistError> {
        let scope = self.scopes.inner();
        if matches!(name, "0" | "gnd") {
            return Ok(NetId::GROUND);
        }
        if let Some(&net) = scope.ports.get(name) {
            return Ok(net);
        }
        let name = scope.net_name(name, &self.deck.globals);
        if let Some(&net) = self.nets.get(&name) {
            return Ok(net);
        }
        self.charge(card, 2 * name.len())?;
        let net = NetId(u32::try_from(self.circuit.nets.len()).expect("the budget is smaller"));
        self.circuit.nets.push(name.clone());
        self.nets.insert(name, net);
        Ok(net)
    }

    fn ends<const N: usize>(
        &mut self,
        card: &Card,
        words: &[&str],
    ) -> Result<[NetId; N], NetlistError> {
        let mut nets = [NetId::GROUND; N];
        for (net, name) in nets.iter_mut().zip(words) {
            *net = self.net(card, name)?;
        }
        Ok(nets)
    }

    /// The settings of an element; each of them must be in `known`.
    fn settings<const N: usize>(
        &mut self,
        card: &Card,
        settings: &[Setting],
        known: [&str; N],
    ) -> Result<[Option<f64>; N], NetlistError> {
        let mut values = [None; N];
        for Setting { name, value } in settings {
            let Some(index) = known.iter().position(|known| known == name) else {
                let what = format!("{} cannot have {}=", quoted(card.name()), quoted(name));
                return Err(card.error(what, format!("remove it; known are {}", known.join(", "))));
            };
            let value = self.scopes.evaluate(value, &card.place)?;
            if values[index].replace(value).is_some() {
                let what = format!("{} is set twice", quoted(name));
                return Err(card.error(what, "remove one of the two"));
            }
        }
        Ok(values)
    }

    fn transistor(&mut self, card: &'a Card) -> Result<(), NetlistError> {
        let (words, settings) = card.words_and_settings()?;
        let [_, _, _, _, model, flags @ ..] = &words[..] else {
            let what = format!("{} has less than four nets and a model", quoted(card.name()));
            return Err(card.error(what, "write M... DRAIN GATE SOURCE BULK MODEL w=... l=..."));
        };
        if let Some(flag) = flags.iter().find(|flag| **flag != "off") {
            let what = format!("{} cannot be read behind the model", quoted(flag));
            return Err(card.error(what, "write M... DRAIN GATE SOURCE BULK MODEL w=... l=..."));
        }
        if !flags.is_empty() {
            self.notes.push(Note::new(&card.place, "`off` of transistors"));
        }
        let [drain, gate, source, bulk] = self.ends(card, &words)?;
        let known = ["w", "l", "m", "ad", "as", "pd", "ps", "nrd", "nrs"];
        let values = self.settings(card, &settings, known)?;
        let [width, length, multiplier, ..] = values;
        let [.., ad, a_s, pd, ps, _, _] = values;
        let multiplier = multiplier.unwrap_or(1.0);
        let (width, length) = (width.unwrap_or(SIZE), length.unwrap_or(SIZE));
        let junctions = [ad, a_s, pd, ps].map(|value| value.unwrap_or(0.0) * multiplier);
        let model = self.card(card, model)?;
        let model_card = &self.circuit.cards[model];
        if !(width * multiplier > 0.0 && width > 0.0) || junctions.iter().any(|value| *value < 0.0)
        {
            let what = "a width or a multiplier is not positive, or an area is negative";
            return Err(card.error(what, "give sizes in meters, such as w=1u"));
        }
        let channel = length - 2.0 * model_card.lateral_diffusion;
        if !(length > 0.0 && channel > 0.0) {
            let what = format!("the channel is {channel:e} m long");
            return Err(card.error(what, "give a length of more than twice the ld of the model"));
        }
        if multiplier != 1.0 && model_card.cgbo != 0.0 {
            return Err(
                card.error("m= is there, and the model has cgbo", "draw several transistors")
            );
        }
        self.circuit.transistors.push(Transistor {
            name: self.name(card),
            drain,
            gate,
            source,
            bulk,
            card: model,
            width: width * multiplier,
            length,
            junction_areas: [junctions[0], junctions[1]],
            junction_perimeters: [junctions[2], junctions[3]],
        });
        self.transistors.push(card);
        Ok(())
    }

    /// The index of the model that a name is in the innermost scope.
    fn card(&mut self, user: &Card, name: &str) -> Result<usize, NetlistError> {
        let mut definition = self.scopes.inner().definition;
        let line = loop {
            match self.deck.definitions[definition].models.get(name) {
                Some(line) => break line,
                None => match self.deck.definitions[definition].parent {
                    Some(parent) => definition = parent,
                    None => {
                        let what = format!("there is no model {}", quoted(name));
                        let remedy = format!("write .model {name} nmos (...)");
                        return Err(user.error(what, remedy).of(Kind::UnknownName));
                    }
                },
            }
        };
        let scope = self.scopes.of_definition(definition);
        if let Some(&index) = self.scopes.all[scope].models.get(name) {
            return Ok(index);
        }
        let Self { scopes, notes, .. } = self;
        scopes.charge(&user.place, line.length)?;
        let evaluate = |setting: &Setting| scopes.evaluate_in(scope, &setting.value, &line.place);
        let mut card = model::mos_card(line, evaluate, notes)?;
        // Two scopes may have models of one name: the second one gets its path, if they differ.
        let path = &scopes.all[scope].path;
        let index = loop {
            match self.cards.get(&card.name) {
                None => break self.circuit.cards.len(),
                Some(&index) if self.circuit.cards[index] == card => break index,
                Some(_) => card.name = format!("{path}.{}", card.name),
            }
        };
        if index == self.circuit.cards.len() {
            self.cards.insert(card.name.clone(), index);
            self.circuit.cards.push(card);
        }
        self.scopes.all[scope].models.insert(name.to_owned(), index);
        Ok(index)
    }

    /// The two nets and the value of a resistor or a capacitor; `name` is what its value is called.
    fn two_ends(
        &mut self,
        card: &'a Card,
        name: &str,
    ) -> Result<([NetId; 2], f64, f64), NetlistError> {
        let usage = || format!("write {} NET NET VALUE", quoted(card.name()));
        let [_, Token::Word(a), Token::Word(b), rest @ ..] = &card.tokens[..] else {
            return Err(card.error(format!("{} has no two nets", quoted(card.name())), usage()));
        };
        let (value, rest) = match rest {
            [Token::Word(_), Token::Equals, ..] | [] => (None, rest),
            [value, rest @ ..] => (Some(card.value(value)?), rest),
        };
        let (words, settings) = card.split(rest)?;
        if let Some(word) = words.first() {
            let what = format!("{} cannot be read behind the value", quoted(word));
            return Err(card.error(what, usage()));
        }
        let [set, multiplier] = self.settings(card, &settings, [name, "m"])?;
        let value = match (value, set) {
            (Some(value), None) => self.scopes.evaluate(&value, &card.place)?,
            (None, Some(value)) => value,
            _ => {
                let what = format!("{} does not have one value", quoted(card.name()));
                return Err(card.error(what, usage()));
            }
        };
        let multiplier = multiplier.unwrap_or(1.0);
        if multiplier <= 0.0 {
            return Err(card.error("m= is not positive", "give a number greater than 0"));
        }
        Ok((self.ends(card, &[a, b])?, value, multiplier))
    }

    fn resistor(&mut self, card: &'a Card) -> Result<(), NetlistError> {
        let (ends, value, multiplier) = self.two_ends(card, "r")?;
        let resistance = value / multiplier;
        if !(resistance > 0.0 && resistance.is_finite()) {
            let what = format!("the resistance is {resistance:e} ohm");
            return Err(
                card.error(what, "give more than 0; for a wire, use one net instead of two")
            );
        }
        if ends[0] == ends[1] {
            self.notes.push(Note::new(&card.place, "resistors with both ends at one net"));
        } else {
            self.circuit.resistors.push(Resistor { name: self.name(card), ends, resistance });
        }
        Ok(())
    }

    fn capacitor(&mut self, card: &'a Card) -> Result<(), NetlistError> {
        let (ends, value, multiplier) = self.two_ends(card, "c")?;
        let value = value * multiplier;
        if !(value >= 0.0 && value.is_finite()) {
            let what = format!("the capacitance is {value:e} F");
            return Err(card.error(what, "give a number that is not less than 0"));
        }
        if ends[0] == ends[1] || value == 0.0 {
            let what = "capacitors of 0 F, or with both ends at one net";
            self.notes.push(Note::new(&card.place, what));
        } else {
            self.capacitors.push(Pending { card, name: self.name(card), ends, value });
        }
        Ok(())
    }

    fn source(&mut self, card: &'a Card) -> Result<(), NetlistError> {
        let [_, Token::Word(plus), Token::Word(minus), rest @ ..] = &card.tokens[..] else {
            let what = format!("{} has no two nets", quoted(card.name()));
            return Err(card.error(what, "write V... NET 0 DC|PULSE|PWL ..."));
        };
        let ends = self.ends(card, &[plus, minus])?;
        let Self { scopes, notes, transient, .. } = self;
        let evaluate = |value: &Expression| scopes.evaluate(value, &card.place);
        let value = source::waveform(card, rest, transient, evaluate, notes)?;
        self.sources.push(Pending { card, name: self.name(card), ends, value });
        Ok(())
    }

    fn instance(&mut self, card: &'a Card) -> Result<(), NetlistError> {
        let (words, settings) = card.words_and_settings()?;
        let Some((&name, nets)) = words.split_last() else {
            let what = format!("{} has no subcircuit", quoted(card.name()));
            return Err(card.error(what, "write X... NET ... SUBCIRCUIT"));
        };
        let mut around = Some(self.scopes.inner().definition);
        let index = loop {
            let Some(definition) = around.map(|index| &self.deck.definitions[index]) else {
                let what = format!("there is no subcircuit {}", quoted(name));
                let remedy = format!("write .subckt {name} ..., or include it");
                return Err(card.error(what, remedy).of(Kind::UnknownName));
            };
            if let Some(&index) = definition.subcircuits.get(name) {
                break index;
            }
            around = definition.parent;
        };
        let definition = &self.deck.definitions[index];
        if nets.len() != definition.ports.len() {
            let (given, wanted) = (nets.len(), definition.ports.len());
            let what = format!(
                "{} has {given} nets, and {} has {wanted}",
                quoted(card.name()),
                quoted(name)
            );
            return Err(card.error(what, "give a net for each net of its .subckt line"));
        }
        if self.scopes.all.len() == DEPTH_MAX {
            let what = format!("instances are nested more than {DEPTH_MAX} deep");
            let remedy = format!("does {} contain itself?", quoted(name));
            return Err(card.error(what, remedy).of(Kind::Last));
        }
        self.charge(card, 64 * (definition.parameters.len() + nets.len()))?;
        let path = match self.scopes.inner().path.as_str() {
            "" => card.name().to_owned(),
            path => format!("{path}.{}", card.name()),
        };
        let mut scope = Scope::new(index, path, &definition.parameters);
        for Setting { name: parameter, value } in &settings {
            let value = self.scopes.evaluate(value, &card.place)?;
            scope.set(parameter, value).map_err(|wrong| {
                let what = format!("{} {wrong} {}", quoted(parameter), quoted(name));
                card.error(what, "the .subckt line names the parameters: set each once")
            })?;
        }
        for (port, net) in definition.ports.iter().zip(nets) {
            let net = self.net(card, net)?;
            scope.ports.insert(port, net);
        }
        self.scopes.all.push(scope);
        self.expand();
        self.scopes.all.pop();
        Ok(())
    }

    /// `.ic v(a)=1 v(b)=2`
    fn initial(&mut self, card: &'a Card) -> Result<(), NetlistError> {
        let mut rest = &card.tokens[1..];
        while !rest.is_empty() {
            let [
                Token::Word(v),
                Token::Open,
                Token::Word(name),
                Token::Close,
                Token::Equals,
                value,
                after @ ..,
            ] = rest
            else {
                let what = format!(".ic cannot be read at {}", rest[0].text());
                return Err(card.error(what, "write .ic v(NET)=VOLTAGE ..."));
            };
            let scope = self.scopes.inner();
            let full = scope.net_name(name, &self.deck.globals);
            let net = scope.ports.get(name.as_str()).or_else(|| self.nets.get(&full)).copied();
            let Some(net) = net.filter(|_| v == "v") else {
                let what = format!(".ic is for {}({name}), which is no net", quoted(v));
                return Err(card.error(what, "write .ic v(NET)=VOLTAGE with a net of the circuit"));
            };
            let value = card.value(value)?;
            self.charge(card, size_of::<f64>() * value.operations())?;
            let voltage = self.scopes.evaluate(&value, &card.place)?;
            self.circuit.initial.push((net, voltage));
            self.initial.push(card);
            rest = after;
        }
        Ok(())
    }
}
