//! Scopes: nets, parameters and models of the instances that are being expanded.
//!
//! Used by the [expansion](super::expand). A parameter is evaluated when it is first asked for, in
//! the scope that it belongs to, so the order of `.param` lines makes no difference.

use std::collections::{HashMap, HashSet};

use super::{expression::Expression, structure::Parameter};
use crate::{
    circuit::NetId,
    error::{Kind, NetlistError, Place, quoted},
};

/// How many parameters can refer to each other in a row.
const REFERENCES_MAX: usize = 128;

/// The instances around the current one, the outermost first.
#[derive(Debug)]
pub(super) struct Scopes<'a> {
    pub(super) all: Vec<Scope<'a>>,
    references: usize,
    /// What an expansion may still take (bytes, about): elements, their names, and what is
    /// evaluated again for each instance.
    budget: usize,
}

/// An instance of a subcircuit, or the deck itself.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    /// What it is an instance of.
    pub(super) definition: usize,
    /// The names of the instances up to it, with dots; empty for the deck.
    pub(super) path: String,
    /// The nets at its interface.
    pub(super) ports: HashMap<&'a str, NetId>,
    /// The models in it that were used so far.
    pub(super) models: HashMap<String, usize>,
    parameters: HashMap<&'a str, State<'a>>,
}

#[derive(Clone, Copy, Debug)]
enum State<'a> {
    Known(f64),
    Defined(&'a Parameter),
}

impl<'a> Scope<'a> {
    pub(super) fn new(definition: usize, path: String, parameters: &'a [Parameter]) -> Self {
        let parameters = parameters
            .iter()
            .map(|parameter| (parameter.name.as_str(), State::Defined(parameter)))
            .collect();
        Self { definition, path, ports: HashMap::new(), models: HashMap::new(), parameters }
    }

    /// Sets a parameter of the interface to a value instead of its default, once; otherwise says
    /// what is wrong.
    pub(super) fn set(&mut self, name: &str, value: f64) -> Result<(), &'static str> {
        match self.parameters.get_mut(name) {
            Some(state @ State::Defined(Parameter { is_interface: true, .. })) => {
                *state = State::Known(value);
                Ok(())
            }
            Some(State::Known(_)) => Err("is set twice by an instance of"),
            _ => Err("is no parameter of"),
        }
    }

    /// The name of a net of this scope in the flat circuit.
    pub(super) fn net_name(&self, name: &str, globals: &HashSet<String>) -> String {
        if self.path.is_empty() || globals.contains(name) {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }
}

impl<'a> Scopes<'a> {
    /// The scope of the deck itself, and what its expansion may take (bytes, about).
    pub(super) fn new(parameters: &'a [Parameter], budget: usize) -> Self {
        Self { all: vec![Scope::new(0, String::new(), parameters)], references: 0, budget }
    }

    /// Takes so many bytes from the budget (DECK-B).
    pub(super) fn charge(&mut self, place: &Place, bytes: usize) -> Result<(), NetlistError> {
        let Some(budget) = self.budget.checked_sub(bytes) else {
            let what = "the subcircuits expand to more than fits";
            return Err(
                NetlistError::new(place, what, "simulate a part of the circuit").of(Kind::Last)
            );
        };
        self.budget = budget;
        Ok(())
    }

    pub(super) fn inner(&self) -> &Scope<'a> {
        self.all.last().expect("the scope of the deck")
    }

    /// The innermost instance of a definition; there is one around everything that sees into it.
    pub(super) fn of_definition(&self, definition: usize) -> usize {
        self.all.iter().rposition(|scope| scope.definition == definition).unwrap_or(0)
    }

    /// The value of an expression in the innermost scope.
    pub(super) fn evaluate(
        &mut self,
        expression: &Expression,
        place: &Place,
    ) -> Result<f64, NetlistError> {
        self.evaluate_in(self.all.len() - 1, expression, place)
    }

    /// The value of an expression in a scope.
    pub(super) fn evaluate_in(
        &mut self,
        scope: usize,
        expression: &Expression,
        place: &Place,
    ) -> Result<f64, NetlistError> {
        let value = expression.evaluate(|name| self.parameter(scope, name, place))?;
        if !value.is_finite() {
            let what = format!("the value of an expression is {value}");
            return Err(NetlistError::new(
                place,
                what,
                "look for a division by 0 or a huge number",
            ));
        }
        Ok(value)
    }

    fn parameter(&mut self, scope: usize, name: &str, place: &Place) -> Result<f64, NetlistError> {
        let scopes = self.all[..=scope].iter().enumerate().rev();
        let mut found =
            scopes.filter_map(|(index, scope)| Some((index, scope.parameters.get(name)?)));
        let Some((owner, state)) = found.next() else {
            let what = format!("there is no parameter {}", quoted(name));
            let remedy = format!("write .param {name}=VALUE");
            return Err(NetlistError::new(place, what, remedy).of(Kind::UnknownName));
        };
        let parameter = match *state {
            State::Known(value) => return Ok(value),
            State::Defined(parameter) if self.references < REFERENCES_MAX => parameter,
            State::Defined(_) => {
                let what = format!(
                    "the parameter {} depends on itself, or on more than {REFERENCES_MAX} others \
                     in a row",
                    quoted(name)
                );
                return Err(NetlistError::new(place, what, "give one of them a number"));
            }
        };
        // Each instance evaluates its own, and one that fails is tried again by who needs it.
        self.charge(place, size_of::<f64>() * parameter.value.operations())?;
        self.references += 1;
        let value = self.evaluate_in(owner, &parameter.value, &parameter.place);
        self.references -= 1;
        let value = value?;
        self.all[owner].parameters.insert(&parameter.name, State::Known(value));
        Ok(value)
    }
}
