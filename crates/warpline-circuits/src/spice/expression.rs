//! Expressions of parameters: `{2*w + l}` and `'2*w + l'`.
//!
//! Called by the [reader of cards](super::card); evaluated while subcircuits are expanded. An
//! expression is compiled to postfix operations, so that its evaluation needs no recursion. The
//! meaning is that of ngspice: `^` and `**` are powers and group to the left, `log` is natural.

use super::number;
use crate::error::{Complaint, quoted};

/// How deep brackets and signs can be nested.
const DEPTH_MAX: usize = 64;

type Unary = fn(f64) -> f64;
type Binary = fn(f64, f64) -> f64;

/// A compiled expression.
#[derive(Clone, Debug)]
pub(super) struct Expression(Vec<Operation>);

#[derive(Clone, Debug)]
enum Operation {
    Number(f64),
    Parameter(String),
    Unary(Unary),
    Binary(Binary),
    /// Takes a condition and two values.
    Select,
}

impl Expression {
    /// An expression that is a number.
    pub(super) fn number(value: f64) -> Self {
        Self(vec![Operation::Number(value)])
    }

    /// An expression that is a parameter.
    pub(super) fn parameter(name: &str) -> Self {
        Self(vec![Operation::Parameter(name.to_owned())])
    }

    /// The bracketed expression at the begin of a text in lower case, and its length.
    pub(super) fn bracketed(text: &str) -> Result<(Self, usize), Complaint> {
        let mut parser = Parser::new(text, false);
        parser.primary()?;
        Ok((Self(parser.operations), parser.at))
    }

    /// An expression without brackets around it that ends at a blank, and its length.
    pub(super) fn bare(text: &str) -> Result<(Self, usize), Complaint> {
        let mut parser = Parser::new(text, true);
        parser.ternary()?;
        Ok((Self(parser.operations), parser.at))
    }

    /// How many operations its evaluation takes.
    pub(super) const fn operations(&self) -> usize {
        self.0.len()
    }

    /// The value, with `parameter` for the values of parameters.
    pub(super) fn evaluate<E>(
        &self,
        mut parameter: impl FnMut(&str) -> Result<f64, E>,
    ) -> Result<f64, E> {
        let mut stack = Vec::new();
        let pop = |stack: &mut Vec<f64>| stack.pop().unwrap_or(f64::NAN);
        for operation in &self.0 {
            let value = match operation {
                Operation::Number(value) => *value,
                Operation::Parameter(name) => parameter(name)?,
                Operation::Unary(function) => function(pop(&mut stack)),
                Operation::Binary(function) => {
                    let right = pop(&mut stack);
                    function(pop(&mut stack), right)
                }
                Operation::Select => {
                    let (no, yes) = (pop(&mut stack), pop(&mut stack));
                    if pop(&mut stack) != 0.0 { yes } else { no }
                }
            };
            stack.push(value);
        }
        Ok(pop(&mut stack))
    }
}

/// The binary operators by their binding, the loosest ones first; the longer ones come first.
const OPERATORS: &[&[(&str, Binary)]] = &[
    &[("||", |a, b| truth(a != 0.0 || b != 0.0))],
    &[("&&", |a, b| truth(a != 0.0 && b != 0.0))],
    &[("==", |a, b| truth(a == b)), ("!=", |a, b| truth(a != b))],
    &[
        ("<=", |a, b| truth(a <= b)),
        (">=", |a, b| truth(a >= b)),
        ("<", |a, b| truth(a < b)),
        (">", |a, b| truth(a > b)),
    ],
    &[("+", |a, b| a + b), ("-", |a, b| a - b)],
    &[("*", |a, b| a * b), ("/", |a, b| a / b), ("%", |a, b| libm::fmod(a, b))],
];
const POWER: Binary = libm::pow;

const UNARY_FUNCTIONS: &[(&str, Unary)] = &[
    ("abs", f64::abs),
    ("ceil", f64::ceil),
    ("exp", libm::exp),
    ("floor", f64::floor),
    ("int", f64::trunc),
    ("ln", libm::log),
    ("log", libm::log),
    ("log10", libm::log10),
    ("nint", libm::rint),
    ("sgn", |a| if a == 0.0 { 0.0 } else { 1.0_f64.copysign(a) }),
    ("sqrt", f64::sqrt),
];
const BINARY_FUNCTIONS: &[(&str, Binary)] = &[("max", f64::max), ("min", f64::min), ("pow", POWER)];

fn truth(is_true: bool) -> f64 {
    f64::from(u8::from(is_true))
}

/// What is read of a text, which may go on for long behind the expression: no step looks for its
/// end.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Whether a blank ends the expression.
    is_bare: bool,
    operations: Vec<Operation>,
}

impl<'a> Parser<'a> {
    const fn new(text: &'a str, is_bare: bool) -> Self {
        Self { text, at: 0, depth: 0, is_bare, operations: Vec::new() }
    }

    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        if self.is_bare {
            return if rest.starts_with(char::is_whitespace) { "" } else { rest };
        }
        let rest = rest.trim_start();
        self.at = self.text.len() - rest.len();
        rest
    }

    fn take(&mut self, token: &str) -> bool {
        let is_there = self.rest().starts_with(token);
        self.at += if is_there { token.len() } else { 0 };
        is_there
    }

    fn complaint(&mut self, expected: &str) -> Complaint {
        let is_bare = self.is_bare;
        let end = move |c: char| is_bare && c.is_whitespace();
        let whole = |text: &str| quoted(text.split(end).next().unwrap_or_default());
        let text = whole(self.text);
        let rest = self.rest();
        let found = if rest.is_empty() { "the end".to_owned() } else { whole(rest) };
        Complaint::new(
            format!("the expression {text} has {found} where {expected} belongs"),
            "write it as in {2*w + 1u}",
        )
    }

    fn nested(&mut self, rule: fn(&mut Self) -> Result<(), Complaint>) -> Result<(), Complaint> {
        if self.depth == DEPTH_MAX {
            let what =
                format!("an expression has more than {DEPTH_MAX} levels of brackets or signs");
            return Err(Complaint::new(what, "split it into several parameters"));
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    fn ternary(&mut self) -> Result<(), Complaint> {
        self.binary(0)?;
        if self.take("?") {
            self.nested(Self::ternary)?;
            if !self.take(":") {
                return Err(self.complaint("`:`"));
            }
            self.nested(Self::ternary)?;
            self.operations.push(Operation::Select);
        }
        Ok(())
    }

    fn binary(&mut self, level: usize) -> Result<(), Complaint> {
        let Some(&operators) = OPERATORS.get(level) else {
            return self.power();
        };
        self.binary(level + 1)?;
        while let Some(&(_, function)) = operators.iter().find(|(token, _)| self.take(token)) {
            self.binary(level + 1)?;
            self.operations.push(Operation::Binary(function));
        }
        Ok(())
    }

    /// Signs, and powers of what is behind them.
    fn power(&mut self) -> Result<(), Complaint> {
        if self.take("-") {
            self.nested(Self::power)?;
            self.operations.push(Operation::Unary(|a| -a));
            return Ok(());
        }
        if self.take("+") {
            return self.nested(Self::power);
        }
        if self.take("!") {
            self.nested(Self::power)?;
            self.operations.push(Operation::Unary(|a| truth(a == 0.0)));
            return Ok(());
        }
        self.primary()?;
        while self.take("**") || self.take("^") {
            let is_negative = self.take("-");
            self.primary()?;
            if is_negative {
                self.operations.push(Operation::Unary(|a| -a));
            }
            self.operations.push(Operation::Binary(POWER));
        }
        Ok(())
    }

    fn primary(&mut self) -> Result<(), Complaint> {
        for (open, close) in [("(", ")"), ("{", "}"), ("'", "'")] {
            if self.take(open) {
                self.nested(Self::ternary)?;
                let message = format!("`{close}`");
                return if self.take(close) { Ok(()) } else { Err(self.complaint(&message)) };
            }
        }
        if let Some((value, length)) = number::prefix(self.rest()) {
            self.at += length;
            self.operations.push(Operation::Number(value));
            return Ok(());
        }
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        if length == 0 {
            return Err(self.complaint("a number, a parameter or a function"));
        }
        let name = rest[..length].to_owned();
        self.at += length;
        if self.take("(") {
            return self.call(&name);
        }
        self.operations.push(Operation::Parameter(name));
        Ok(())
    }

    fn call(&mut self, name: &str) -> Result<(), Complaint> {
        let mut arguments = 0;
        loop {
            self.nested(Self::ternary)?;
            arguments += 1;
            if !self.take(",") {
                break;
            }
        }
        if !self.take(")") {
            return Err(self.complaint("`)`"));
        }
        let unary = UNARY_FUNCTIONS.iter().find(|(known, _)| *known == name && arguments == 1);
        let binary = BINARY_FUNCTIONS.iter().find(|(known, _)| *known == name && arguments == 2);
        let operation = match (unary, binary) {
            (Some((_, function)), _) => Operation::Unary(*function),
            (_, Some((_, function))) => Operation::Binary(*function),
            (None, None) => {
                let known = UNARY_FUNCTIONS.iter().map(|(known, _)| *known);
                let known: Vec<_> =
                    known.chain(BINARY_FUNCTIONS.iter().map(|entry| entry.0)).collect();
                let what = format!("there is no function {} of {arguments}", quoted(name));
                return Err(Complaint::new(what, format!("use one of {}", known.join(", "))));
            }
        };
        self.operations.push(operation);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(text: &str) -> Result<f64, String> {
        let text = format!("{{{text}}}");
        let (expression, length) =
            Expression::bracketed(&text).map_err(|complaint| format!("{complaint:?}"))?;
        assert_eq!(length, text.len(), "{text}");
        expression.evaluate(|name| if name == "two" { Ok(2.0) } else { Err(name.to_owned()) })
    }

    /// The values are those that ngspice 39 gives.
    #[test]
    fn operators_and_functions_mean_what_they_mean_in_ngspice() {
        for (text, expected) in [
            ("-two**2", -4.0),
            ("2**3**2", 64.0),
            ("2^3", 8.0),
            ("7%4", 3.0),
            ("int(-1.5)", -1.0),
            ("nint(2.5)", 2.0),
            ("log10(10)", 1.0),
            ("log(10) - ln(10)", 0.0),
            ("1>0 ? 2 : 3", 2.0),
            ("sgn(-3)", -1.0),
            ("1==1", 1.0),
            ("10/5/2", 1.0),
            ("!0", 1.0),
            ("pow(-2,3)", -8.0),
            ("floor(-1.5)", -2.0),
            ("max(1,2)", 2.0),
            ("2*-3", -6.0),
            ("2**-1", 0.5),
            ("1<2 && 0", 0.0),
            ("1+2*3", 7.0),
            ("(1+2)*3u", 9e-6),
            ("0 ? 1 : 0 ? 2 : 3", 3.0),
            ("1k-1meg", -999e3),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
        assert_eq!(value("3*other"), Err("other".to_owned()));
    }

    #[test]
    fn what_is_no_expression_is_told() {
        for (text, part) in [
            ("1+", "has `}` where a number, a parameter or a function belongs"),
            ("(1", "has `}` where `)` belongs"),
            ("1 2", "has `2}` where `}` belongs"),
            ("1?2", "where `:` belongs"),
            ("gauss(1,2,3)", "there is no function `gauss` of 3"),
            ("max(1)", "there is no function `max` of 1"),
        ] {
            let text = value(text).expect_err(text);
            assert!(text.contains(part), "{text}");
        }
        let deep = format!("{}1", "-".repeat(100_000));
        assert!(value(&deep).expect_err("deep").contains("more than 64 levels"));
        let deep = format!("{}1", "(".repeat(100_000));
        assert!(value(&deep).expect_err("deep").contains("more than 64 levels"));
        let long = format!("1{}", "+1".repeat(100_000));
        assert_eq!(value(&long), Ok(100_001.0));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[-0-9a-cé+*/(){}'?:!<>=&| .,^%]{0,24}") {
            if let Ok((expression, length)) = Expression::bracketed(&text) {
                prop_assert!(length <= text.len());
                let _ = expression.evaluate(|_| Ok::<_, ()>(1.0));
            }
        }
    }
}
