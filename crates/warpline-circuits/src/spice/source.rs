//! V elements: the waveforms of voltage sources.
//!
//! Called while subcircuits are [expanded](super::expand).

use super::{
    card::{Card, Token},
    control::Transient,
    expression::Expression,
    notes::Note,
};
use crate::{
    circuit::{Pulse, Waveform},
    error::{NetlistError, quoted},
};

/// The most times that a pulse is repeated within a run: more take hours, or for ever.
const PULSES_MAX: f64 = 1e8;

/// The waveform of a source, from the tokens behind its nets. `evaluate` gives the values of
/// expressions; what has no effect is noted in `notes`.
pub(super) fn waveform(
    card: &Card,
    tokens: &[Token],
    transient: &Transient,
    mut evaluate: impl FnMut(&Expression) -> Result<f64, NetlistError>,
    notes: &mut Vec<Note>,
) -> Result<Waveform, NetlistError> {
    let (mut constant, mut varying) = (None, None);
    let mut rest = tokens;
    while let [token, after @ ..] = rest {
        let twice = || card.error("the source has two waveforms", "give it one of them");
        rest = match token {
            Token::Word(word) if word == "dc" => match after {
                [Token::Equals, rest @ ..] | rest => rest,
            },
            Token::Word(word) if word == "ac" => {
                notes.push(Note::new(&card.place, "ac of sources"));
                let values = after.iter().take(2).take_while(|token| is_number(token)).count();
                &after[values..]
            }
            Token::Word(word) if matches!(word.as_str(), "pulse" | "pwl") => {
                let (values, rest) = arguments(card, after, &mut evaluate)?;
                let waveform = match word.as_str() {
                    "pulse" => pulse(card, &values, transient)?,
                    _ => piecewise_linear(card, &values)?,
                };
                if varying.replace(waveform).is_some() {
                    return Err(twice());
                }
                rest
            }
            Token::Word(word) if matches!(after.first(), Some(Token::Open)) => {
                let what = format!("{} is no waveform of a voltage source here", quoted(word));
                return Err(card.error(what, "use DC, PULSE or PWL"));
            }
            token => {
                let value = evaluate(&card.value(token)?)?;
                if constant.replace(value).is_some() {
                    return Err(twice());
                }
                after
            }
        };
    }
    Ok(varying.unwrap_or(Waveform::Constant(constant.unwrap_or(0.0))))
}

fn is_number(token: &Token) -> bool {
    match token {
        Token::Word(word) => super::number::whole(word).is_some(),
        _ => false,
    }
}

/// The values behind the name of a waveform, in brackets or up to the end, and what follows.
fn arguments<'a>(
    card: &Card,
    tokens: &'a [Token],
    evaluate: &mut impl FnMut(&Expression) -> Result<f64, NetlistError>,
) -> Result<(Vec<f64>, &'a [Token]), NetlistError> {
    let (tokens, rest) = match tokens {
        [Token::Open, inner @ ..] => {
            let Some(end) = inner.iter().position(|token| matches!(token, Token::Close)) else {
                return Err(
                    card.error("a bracket is not closed", "write `)` behind the last value")
                );
            };
            (&inner[..end], &inner[end + 1..])
        }
        tokens => (tokens, &[][..]),
    };
    let values = tokens.iter().map(|token| evaluate(&card.value(token)?));
    Ok((values.collect::<Result<_, _>>()?, rest))
}

fn pulse(card: &Card, values: &[f64], transient: &Transient) -> Result<Waveform, NetlistError> {
    let wrong = |what: &str, remedy: &str| Err(card.error(what, remedy));
    let (&[low, high], times) = values.split_at(values.len().min(2)) else {
        return wrong(
            "PULSE has less than two values",
            "write PULSE(LOW HIGH DELAY RISE FALL WIDTH PERIOD)",
        );
    };
    if times.len() > 5 {
        return wrong("PULSE has more than seven values", "leave the others out");
    }
    if times.iter().any(|time| *time < 0.0) {
        return wrong("a time of the PULSE is less than 0", "give times of at least 0");
    }
    let time = |index: usize| times.get(index).copied().filter(|&time| time > 0.0);
    let pulse = Pulse {
        low,
        high,
        delay: time(0).unwrap_or(0.0),
        rise: time(1).unwrap_or(transient.step),
        fall: time(2).unwrap_or(transient.step),
        width: time(3).unwrap_or(transient.end),
        period: time(4).unwrap_or(f64::INFINITY),
    };
    // Rounding of the sum must not refuse a pulse that fills its period.
    if pulse.rise + pulse.width + pulse.fall > pulse.period * (1.0 + 1e-9) {
        return wrong(
            "rise, width and fall of the PULSE are longer than its period",
            "give a shorter width, or a longer period",
        );
    }
    // Each of them ends a step, whether anything happens or not.
    let pulses = (transient.end - pulse.delay) / pulse.period;
    if pulses > PULSES_MAX {
        let what = format!("the PULSE is repeated {pulses:.1e} times within .tran");
        return wrong(&what, "give a longer period, or end .tran earlier");
    }
    Ok(Waveform::Pulse(pulse))
}

fn piecewise_linear(card: &Card, values: &[f64]) -> Result<Waveform, NetlistError> {
    let remedy = "write PWL(TIME VOLTAGE TIME VOLTAGE ...)";
    let (pairs, single) = values.as_chunks::<2>();
    let [_, ..] = pairs else {
        return Err(card.error("PWL has no point", remedy));
    };
    if !single.is_empty() {
        return Err(card.error("PWL has a time without a voltage", remedy));
    }
    let points: Vec<_> = pairs.iter().map(|&[time, voltage]| (time, voltage)).collect();
    if points[0].0 < 0.0 {
        return Err(card.error("PWL begins before time 0", "give times of at least 0"));
    }
    if let Some(pair) = points.windows(2).find(|pair| pair[1].0 <= pair[0].0) {
        let what = format!("the time {:e} of the PWL is not after {:e}", pair[1].0, pair[0].0);
        return Err(
            card.error(what, "give times that increase; a step needs a time too, such as 1p")
        );
    }
    Ok(Waveform::PiecewiseLinear(points))
}
