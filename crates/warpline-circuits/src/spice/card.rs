//! Cards: lines of a deck in tokens.
//!
//! Made by the [structure](super::structure) of a deck, once for each line; read by everything that
//! comes after.

use super::{expression::Expression, number};
use crate::error::{Complaint, NetlistError, Place, quoted};

/// A line of a deck, with its continuation lines.
#[derive(Clone, Debug)]
pub(super) struct Card {
    pub(super) place: Place,
    pub(super) tokens: Vec<Token>,
    /// The length of the line: what it costs to read it again for each instance.
    pub(super) length: usize,
}

/// A part of a line. Blanks and commas separate words.
#[derive(Clone, Debug)]
pub(super) enum Token {
    Word(String),
    /// `{…}` or `'…'`.
    Expression(Expression),
    Equals,
    Open,
    Close,
}

/// A value that is given by a number, an expression or the name of a parameter.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) name: String,
    pub(super) value: Expression,
}

impl Card {
    /// The tokens of a line in lower case.
    pub(super) fn new(place: &Place, line: &str) -> Result<Self, NetlistError> {
        let mut tokens = Vec::new();
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = match first {
                '(' | ')' | '=' => {
                    tokens.push(match first {
                        '(' => Token::Open,
                        ')' => Token::Close,
                        _ => Token::Equals,
                    });
                    1
                }
                ',' => 1,
                '{' | '\'' => {
                    let (expression, length) =
                        Expression::bracketed(rest).map_err(|complaint| complaint.at(place))?;
                    tokens.push(Token::Expression(expression));
                    length
                }
                '}' | '"' => {
                    let what = format!("there is a stray {}", quoted(&first.to_string()));
                    let remedy = "write expressions as {2*w}, and names without quotes";
                    return Err(NetlistError::new(place, what, remedy));
                }
                _ => {
                    let ends = |c: char| c.is_whitespace() || "(),={}'\"".contains(c);
                    let length = rest.find(ends).unwrap_or(rest.len());
                    tokens.push(Token::Word(rest[..length].to_owned()));
                    length
                }
            };
            rest = rest[length..].trim_start();
        }
        Ok(Self { place: place.clone(), tokens, length: line.len() })
    }

    /// The first word: the name of an element, or what a line with a dot is.
    pub(super) fn name(&self) -> &str {
        match self.tokens.first() {
            Some(Token::Word(word)) => word,
            _ => "",
        }
    }

    /// An error at the card.
    pub(super) fn error(&self, what: impl Into<String>, remedy: impl Into<String>) -> NetlistError {
        NetlistError::new(&self.place, what, remedy)
    }

    /// The words after the name, up to the settings; and the settings, `name=value` each.
    ///
    /// The word `params:` may stand between them.
    pub(super) fn words_and_settings(&self) -> Result<(Vec<&str>, Vec<Setting>), NetlistError> {
        self.split(self.tokens.get(1..).unwrap_or_default())
    }

    /// The same for some of its tokens.
    pub(super) fn split<'a>(
        &self,
        tokens: &'a [Token],
    ) -> Result<(Vec<&'a str>, Vec<Setting>), NetlistError> {
        let mut words: Vec<&str> = Vec::new();
        let mut settings = Vec::new();
        let mut rest = tokens;
        loop {
            rest = match rest {
                [] => return Ok((words, settings)),
                [Token::Word(name), Token::Equals, value, rest @ ..] => {
                    let value = self.value(value)?;
                    settings.push(Setting { name: name.clone(), value });
                    rest
                }
                [Token::Word(word), rest @ ..] if settings.is_empty() => {
                    if word != "params:" {
                        words.push(word);
                    }
                    rest
                }
                [token, ..] => {
                    let what = format!("{} cannot be read at {}", self.name(), token.text());
                    return Err(self.error(what, "write names first, and then NAME=VALUE"));
                }
            };
        }
    }

    /// The expression that a token is.
    pub(super) fn value(&self, token: &Token) -> Result<Expression, NetlistError> {
        token.value().map_err(|complaint| complaint.at(&self.place))
    }
}

impl Token {
    /// The expression that it is: `{…}`, a number, or a parameter.
    pub(super) fn value(&self) -> Result<Expression, Complaint> {
        if let Self::Expression(expression) = self {
            return Ok(expression.clone());
        }
        if let Self::Word(word) = self {
            if let Some(number) = number::whole(word) {
                return Ok(Expression::number(number));
            }
            if is_parameter(word) {
                return Ok(Expression::parameter(word));
            }
        }
        let what = format!("{} is no value", self.text());
        Err(Complaint::new(what, "write a number such as 10n, or an expression in braces"))
    }

    /// How a message calls it.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Word(word) => quoted(word),
            Self::Expression(_) => "an expression".to_owned(),
            Self::Equals => "`=`".to_owned(),
            Self::Open => "`(`".to_owned(),
            Self::Close => "`)`".to_owned(),
        }
    }
}

/// Whether a parameter can have this name.
pub(super) fn is_parameter(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
}

/// What an element that is not supported is.
pub(super) fn kind(letter: u8) -> &'static str {
    match letter {
        b'l' => "an inductor",
        b'k' => "a coupling of inductors",
        b'd' => "a diode",
        b'q' => "a bipolar transistor",
        b'j' => "a junction field-effect transistor",
        b'z' => "a MESFET",
        b'i' => "a current source",
        b'b' => "a behavioral source",
        b'e' | b'f' | b'g' | b'h' => "a controlled source",
        b's' | b'w' => "a switch",
        b't' | b'o' | b'u' | b'y' | b'p' => "a transmission line",
        b'a' | b'n' => "a code model",
        _ => "no element of SPICE",
    }
}
