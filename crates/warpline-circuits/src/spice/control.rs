//! Lines with a dot: `.tran`, `.measure`, `.save`, `.option` and their like.
//!
//! Called by [`read`](super::read): before the expansion for what the elements depend on, and
//! behind it for what names nets.

use std::collections::{HashMap, HashSet};

use super::{
    card::{Card, Token},
    errors::Errors,
    notes::Note,
    scope::Scopes,
};
use crate::{
    circuit::{Circuit, Crossing, Direction, Measure, NetId},
    error::{Kind, NetlistError, Place, quoted},
};

/// `.tran`; 0 where it cannot be read, which nothing is longer than.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Transient {
    /// Seconds between points of output.
    pub(super) step: f64,
    /// Seconds that are simulated.
    pub(super) end: f64,
}

/// The longest `.tran` (s). How long a run can be depends on how fast the gates are, too: the model
/// checks it.
const END_MAX: f64 = 1000.0;
/// The most points of output that a `.tran` asks for.
const POINTS_MAX: f64 = 1e9;

/// Options that change how a simulator solves the equations or prints, and not the equations.
const HARMLESS: &[&str] = &[
    "abstol",
    "acct",
    "chgtol",
    "gmin",
    "gminsteps",
    "ingold",
    "interp",
    "itl1",
    "itl2",
    "itl3",
    "itl4",
    "itl5",
    "itl6",
    "keepopinfo",
    "klu",
    "list",
    "maxord",
    "method",
    "noacct",
    "node",
    "noinit",
    "nomod",
    "nopage",
    "noprint",
    "numdgt",
    "opts",
    "pivrel",
    "pivtol",
    "post",
    "probe",
    "reltol",
    "savecurrents",
    "sparse",
    "srcsteps",
    "trtol",
    "vntol",
    "warn",
];

/// What `.tran`, the options and the temperature say; the harmless options are noted.
pub(super) fn transient(
    file: &str,
    controls: &[Card],
    scopes: &mut Scopes<'_>,
    notes: &mut Vec<Note>,
    errors: &mut Errors,
) -> Transient {
    let mut transient = None;
    for card in controls {
        let outcome = match card.name() {
            ".tran" => {
                let found = errors.keep(tran(card, scopes, notes)).unwrap_or_default();
                match transient.replace(found) {
                    None => Ok(()),
                    Some(_) => Err(card.error("there are two .tran lines", "remove one of them")),
                }
            }
            ".option" | ".options" | ".opt" => options(card, scopes, notes, errors),
            ".temp" => match &card.tokens[..] {
                [_, value] => is_27(card, value, scopes),
                _ => Err(card.error(".temp has not one value", "write .temp 27")),
            },
            ".op" => {
                notes.push(Note::new(&card.place, ".op"));
                Ok(())
            }
            ".title" | ".save" | ".print" | ".probe" | ".plot" | ".measure" | ".meas" => Ok(()),
            name => {
                let what = format!("{} is not supported", quoted(name));
                Err(card.error(what, remedy(name)))
            }
        };
        errors.keep(outcome);
    }
    transient.unwrap_or_else(|| {
        let remedy = "write .tran STEP END, as in .tran 10p 20n";
        let missing = NetlistError::new(&Place::file(file), "the deck has no .tran", remedy);
        errors.keep(Err(missing.of(Kind::UnknownName))).unwrap_or_default()
    })
}

fn remedy(name: &str) -> &'static str {
    match name {
        ".ac" | ".dc" | ".noise" | ".tf" | ".sens" | ".disto" | ".pz" | ".four" | ".sp" => {
            "remove it: only .tran is simulated"
        }
        ".nodeset" => "write .ic, which holds the net until time 0",
        ".lib" => "write .include with a file that has the models only",
        ".func" => "write the expression where it is used",
        ".if" | ".elseif" | ".else" | ".endif" => "keep the lines that apply",
        _ => "remove it",
    }
}

fn tran(
    card: &Card,
    scopes: &mut Scopes<'_>,
    notes: &mut Vec<Note>,
) -> Result<Transient, NetlistError> {
    let tokens = &card.tokens[1..];
    if matches!(tokens.last(), Some(Token::Word(word)) if word == "uic") {
        let remedy = "remove it: the DC point is found first, and .ic holds nets there";
        return Err(card.error("uic is not supported", remedy));
    }
    let values = tokens.iter().map(|token| scopes.evaluate(&card.value(token)?, &card.place));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    let &[step, end, ref rest @ ..] = &values[..] else {
        return Err(card.error(".tran has less than two times", "write .tran STEP END"));
    };
    if rest.len() > 2 || !(step > 0.0 && end > 0.0) {
        return Err(card.error(".tran has wrong times", "write .tran STEP END with times above 0"));
    }
    if end > END_MAX {
        let what = format!(".tran has {end:e} s, which would take for ever");
        let remedy = format!("end it after {END_MAX} s at most; gates switch within nanoseconds");
        return Err(card.error(what, remedy));
    }
    let points = end / step;
    if points > POINTS_MAX {
        let what = format!(".tran asks for {points:.1e} points");
        return Err(card.error(what, format!("write a STEP of {:e} or more", end / POINTS_MAX)));
    }
    if rest.iter().any(|time| *time != 0.0) {
        notes.push(Note::new(&card.place, "the begin of output and the greatest step of .tran"));
    }
    Ok(Transient { step, end })
}

fn options(
    card: &Card,
    scopes: &mut Scopes<'_>,
    notes: &mut Vec<Note>,
    errors: &mut Errors,
) -> Result<(), NetlistError> {
    let mut rest = &card.tokens[1..];
    let mut harmless: Vec<&str> = Vec::new();
    while let [Token::Word(name), after @ ..] = rest {
        let (value, after) = match after {
            [Token::Equals, value, after @ ..] => (Some(value), after),
            after => (None, after),
        };
        let outcome = match (name.as_str(), value) {
            ("temp" | "tnom", Some(value)) => is_27(card, value, scopes),
            (name, _) if HARMLESS.contains(&name) => {
                harmless.push(name);
                Ok(())
            }
            (name, _) => {
                let what = format!("the option {} is not supported", quoted(name));
                Err(card.error(what, "remove it; write sizes and values where they belong"))
            }
        };
        errors.keep(outcome);
        rest = after;
    }
    if !harmless.is_empty() {
        notes.push(Note::new(&card.place, format!("{} {}", card.name(), harmless.join(" "))));
    }
    match rest {
        [] => Ok(()),
        [token, ..] => {
            let what = format!("{} cannot be read at {}", card.name(), token.text());
            Err(card.error(what, "write .option NAME=VALUE"))
        }
    }
}

fn is_27(card: &Card, value: &Token, scopes: &mut Scopes<'_>) -> Result<(), NetlistError> {
    let value = scopes.evaluate(&card.value(value)?, &card.place)?;
    if value == 27.0 {
        return Ok(());
    }
    let what = format!("the temperature is {value}");
    Err(card.error(what, "write 27: cards hold for 27 degrees, and are not scaled"))
}

/// Adds what is measured and saved to a flat circuit. Returns the cards that name the only nets
/// that are saved.
pub(super) fn output(
    controls: &[Card],
    scopes: &mut Scopes<'_>,
    nets: &HashMap<String, NetId>,
    circuit: &mut Circuit,
    errors: &mut Errors,
) -> Vec<Note> {
    let (mut all, mut saved, mut measured) = (false, HashSet::new(), HashSet::new());
    let mut saving = Vec::new();
    for card in controls {
        match card.name() {
            ".measure" | ".meas" => {
                let Some(measure) = errors.keep(measure(card, scopes, nets)) else { continue };
                if !measured.insert(measure.name.clone()) {
                    let what = format!("{} is measured twice", quoted(&measure.name));
                    let twice = card.error(what, "give one of the two another name");
                    errors.keep::<()>(Err(twice));
                }
                circuit.measures.push(measure);
            }
            name @ (".save" | ".print" | ".probe" | ".plot") => {
                let Some(named) = errors.keep(saved_nets(card, nets)) else { continue };
                all |= named.is_none();
                let new = named.unwrap_or_default().into_iter().filter(|net| saved.insert(*net));
                circuit.saved.extend(new);
                saving.push(Note::new(&card.place, name));
            }
            _ => {}
        }
    }
    if all {
        circuit.saved.clear();
        saving.clear();
    }
    saving
}

/// The nets that a card names; none for all of them.
fn saved_nets(
    card: &Card,
    nets: &HashMap<String, NetId>,
) -> Result<Option<Vec<NetId>>, NetlistError> {
    let (mut all, mut named) = (false, Vec::new());
    let mut names = card.tokens[1..].iter().peekable();
    while let Some(token) = names.next() {
        let bracket = names.next_if(|next| matches!(next, Token::Open)).is_some();
        match token {
            Token::Word(word) if bracket && word == "v" => {
                named.push(net(card, names.next(), nets)?);
                close(card, names.next())?;
            }
            Token::Word(word) if !bracket && word == "all" => all = true,
            Token::Word(word) if !bracket && word == "tran" => {}
            Token::Word(_) if !bracket && card.name() == ".save" => {
                named.push(net(card, Some(token), nets)?);
            }
            token => {
                let what = format!("{} of {} is not supported", token.text(), card.name());
                return Err(card.error(what, "only voltages are known: write v(NET)"));
            }
        }
    }
    Ok((!all).then_some(named))
}

/// The net that a word is, by its name in the flat circuit.
fn net(
    card: &Card,
    token: Option<&Token>,
    nets: &HashMap<String, NetId>,
) -> Result<NetId, NetlistError> {
    let found = match token {
        Some(Token::Word(name)) => nets.get(name).ok_or(quoted(name)),
        Some(token) => Err(token.text()),
        None => Err("the end".to_owned()),
    };
    found.copied().map_err(|text| {
        let what = format!("there is no net {text}");
        let remedy = "name a net of the circuit; a net in a subcircuit is x1.NET";
        card.error(what, remedy).of(Kind::UnknownName)
    })
}

fn close(card: &Card, token: Option<&Token>) -> Result<(), NetlistError> {
    match token {
        Some(Token::Close) => Ok(()),
        _ => Err(card.error("v( is for one net", "write v(NET)")),
    }
}

/// `.measure tran NAME trig v(a) val=1 rise=1 targ v(b) val=1 fall=1`
fn measure(
    card: &Card,
    scopes: &mut Scopes<'_>,
    nets: &HashMap<String, NetId>,
) -> Result<Measure, NetlistError> {
    let [_, Token::Word(kind), Token::Word(name), Token::Word(trig), rest @ ..] = &card.tokens[..]
    else {
        return Err(card.error(".measure has no name", MEASURE));
    };
    if kind != "tran" {
        let what = format!(".measure is for {}", quoted(kind));
        return Err(card.error(what, "remove it: only .tran is simulated"));
    }
    if trig != "trig" {
        let what = format!("{} of .measure is not supported", quoted(trig));
        return Err(card.error(what, MEASURE));
    }
    let is_target = |token: &Token| matches!(token, Token::Word(word) if word == "targ");
    let Some(at) = rest.iter().position(is_target) else {
        return Err(card.error(".measure has no targ", MEASURE));
    };
    Ok(Measure {
        name: name.clone(),
        trigger: crossing(card, &rest[..at], scopes, nets)?,
        target: crossing(card, &rest[at + 1..], scopes, nets)?,
    })
}

const MEASURE: &str =
    "write .measure tran NAME trig v(NET) val=VOLTAGE rise=1 targ v(NET) val=VOLTAGE fall=1";

fn crossing(
    card: &Card,
    tokens: &[Token],
    scopes: &mut Scopes<'_>,
    nets: &HashMap<String, NetId>,
) -> Result<Crossing, NetlistError> {
    let [Token::Word(v), Token::Open, name, Token::Close, rest @ ..] = tokens else {
        return Err(card.error("trig or targ of .measure is not v(NET)", MEASURE));
    };
    if v != "v" {
        let what = format!("{} of .measure is not supported", quoted(v));
        return Err(card.error(what, MEASURE));
    }
    let net = net(card, Some(name), nets)?;
    let (mut threshold, mut after, mut which) = (None, None, None);
    let mut rest = rest;
    while !rest.is_empty() {
        let [Token::Word(name), Token::Equals, value, more @ ..] = rest else {
            let what = format!(".measure cannot be read at {}", rest[0].text());
            return Err(card.error(what, MEASURE));
        };
        let mut number = || scopes.evaluate(&card.value(value)?, &card.place);
        let direction = match name.as_str() {
            "rise" => Some(Direction::Rise),
            "fall" => Some(Direction::Fall),
            "cross" => Some(Direction::Cross),
            _ => None,
        };
        let is_twice = match (name.as_str(), direction) {
            (_, Some(direction)) => {
                let last = matches!(value, Token::Word(word) if word == "last");
                let ordinal = if last { None } else { Some(ordinal(card, number()?)?) };
                which.replace((direction, ordinal)).is_some()
            }
            ("val", _) => threshold.replace(number()?).is_some(),
            ("td", _) => after.replace(number()?).is_some(),
            _ => {
                let what = format!("{}= of .measure is not supported", quoted(name));
                return Err(card.error(what, MEASURE));
            }
        };
        if is_twice {
            let what =
                format!("{}= of .measure is there twice, or rise= and fall= are", quoted(name));
            return Err(card.error(what, "remove one of the two"));
        }
        rest = more;
    }
    let (Some(threshold), Some((direction, ordinal))) = (threshold, which) else {
        return Err(card.error(".measure needs val= and one of rise=, fall= and cross=", MEASURE));
    };
    Ok(Crossing { net, threshold, direction, ordinal, after: after.unwrap_or(0.0) })
}

fn ordinal(card: &Card, value: f64) -> Result<u32, NetlistError> {
    if value >= 1.0 && value <= f64::from(u32::MAX) && value == value.trunc() {
        return Ok(value as u32);
    }
    let what = format!("the crossing number {value} does not exist");
    Err(card.error(what, "count from 1, or write `last`"))
}
