//! `.model` lines: level-1 cards of MOS transistors.
//!
//! Called while subcircuits are [expanded](super::expand), for the models that transistors use. The
//! defaults, and what follows from the doping and the oxide, are those of SPICE3 (Vladimirescu and
//! Liu, "The Simulation of MOS Integrated Circuits Using SPICE2", UCB/ERL M80/7, and the table of
//! level 1 in the manual of SPICE3) at 27 °C.

use super::{
    card::{Card, Setting},
    notes::Note,
};
use crate::{
    circuit::{Channel, MosCard},
    error::{Complaint, NetlistError, quoted},
    process::OXIDE_PERMITTIVITY,
};

const TEMPERATURE: f64 = 300.15;
const CHARGE: f64 = 1.602_176_62e-19;
const THERMAL_VOLTAGE: f64 = 1.380_648_52e-23 * TEMPERATURE / CHARGE;
const SILICON_PERMITTIVITY: f64 = 11.7 * 8.854_214_871e-12;
/// Intrinsic carriers of silicon (1/m³).
const INTRINSIC: f64 = 1.45e16;

/// Parameters that are not simulated: they make leakage and noise.
const WITHOUT_EFFECT: &[&str] = &["is", "js", "kf", "af", "fc", "n"];
/// Parameters that must be 0, and what to do instead.
const ZERO: &[(&str, &str)] = &[
    ("rd", "draw a resistor at the drain"),
    ("rs", "draw a resistor at the source"),
    ("rsh", "draw resistors at the drain and the source"),
    ("cbd", "give cj, and ad at each transistor"),
    ("cbs", "give cj, and as at each transistor"),
];

/// What a `.model` line sets; `None` where it says nothing.
#[derive(Debug, Default)]
struct Given {
    vto: Option<f64>,
    kp: Option<f64>,
    gamma: Option<f64>,
    phi: Option<f64>,
    tox: Option<f64>,
    uo: Option<f64>,
    nsub: Option<f64>,
    nss: f64,
    tpg: Option<f64>,
}

/// The level-1 card of a `.model` line. `evaluate` gives the values of its expressions; what it
/// leaves out is noted in `notes`.
pub(super) fn mos_card(
    card: &Card,
    mut evaluate: impl FnMut(&Setting) -> Result<f64, NetlistError>,
    notes: &mut Vec<Note>,
) -> Result<MosCard, NetlistError> {
    let (words, settings) = card.words_and_settings()?;
    let (name, channel) = match words[..] {
        [name, "nmos"] => (name, Channel::N),
        [name, "pmos"] => (name, Channel::P),
        [name, ref kind @ ..] => {
            let kind = quoted(&kind.join(" "));
            let what = format!("the model {} is of kind {kind}", quoted(name));
            return Err(card.error(what, "transistors are nmos or pmos"));
        }
        [] => return Err(card.error(".model has no name", "write .model NAME nmos (...)")),
    };
    let mut given = Given::default();
    let mut model = defaults(name, channel);
    let mut seen = std::collections::HashSet::new();
    let mut unknown = Vec::new();
    // The level comes first: another one has other parameters.
    let (level, others): (Vec<_>, Vec<_>) = settings.iter().partition(|one| one.name == "level");
    for setting in level.into_iter().chain(others) {
        let value = evaluate(setting)?;
        if !seen.insert(setting.name.as_str()) {
            let what = format!("{} is set twice", quoted(&setting.name));
            return Err(card.error(what, "remove one of the two"));
        }
        let is_known = set(&mut model, &mut given, &setting.name, value)
            .map_err(|complaint| complaint.at(&card.place))?;
        if !is_known {
            unknown.push(quoted(&setting.name));
        }
        if WITHOUT_EFFECT.contains(&setting.name.as_str()) {
            notes.push(Note::new(&card.place, format!("{} of .model", setting.name)));
        }
    }
    let (word, remedy) = match unknown.len() {
        0 | 1 => ("parameter", "remove it"),
        _ => ("parameters", "remove them"),
    };
    if !unknown.is_empty() {
        let what = format!("level 1 has no {word} {}", unknown.join(", "));
        return Err(card.error(what, remedy));
    }
    derive(&mut model, &given);
    check(&model).map_err(|complaint| complaint.at(&card.place))?;
    Ok(model)
}

fn defaults(name: &str, channel: Channel) -> MosCard {
    MosCard {
        name: name.to_owned(),
        channel,
        vto: 0.0,
        kp: 2e-5,
        gamma: 0.0,
        phi: 0.6,
        lambda: 0.0,
        oxide: 0.0,
        lateral_diffusion: 0.0,
        cgso: 0.0,
        cgdo: 0.0,
        cgbo: 0.0,
        cj: 0.0,
        mj: 0.5,
        cjsw: 0.0,
        mjsw: 0.5,
        pb: 0.8,
    }
}

/// Sets a parameter, and says whether there is one with this name.
fn set(model: &mut MosCard, given: &mut Given, name: &str, value: f64) -> Result<bool, Complaint> {
    match name {
        "level" if value == 1.0 => {}
        "level" => {
            let what = format!("the model is of level {value}");
            let remedy =
                "only level 1 (Shichman and Hodges) is simulated: fit a card of level 1 to it";
            return Err(Complaint::new(what, remedy));
        }
        "vto" | "vt0" => given.vto = Some(value),
        "kp" => given.kp = Some(value),
        "gamma" => given.gamma = Some(value),
        "phi" => given.phi = Some(value),
        "tox" => given.tox = Some(value),
        "uo" | "u0" => given.uo = Some(value),
        "nsub" => given.nsub = Some(value),
        "nss" => given.nss = value,
        "tpg" => given.tpg = Some(value),
        "lambda" => model.lambda = value,
        "ld" => model.lateral_diffusion = value,
        "cgso" => model.cgso = value,
        "cgdo" => model.cgdo = value,
        "cgbo" => model.cgbo = value,
        "cj" => model.cj = value,
        "mj" => model.mj = value,
        "cjsw" => model.cjsw = value,
        "mjsw" => model.mjsw = value,
        "pb" => model.pb = value,
        "tnom" if value == 27.0 => {}
        "tnom" => {
            return Err(Complaint::new("tnom is not 27", "give the parameters for 27 degrees"));
        }
        "lmin" | "lmax" | "wmin" | "wmax" => {
            let what = format!("the model is for a range of sizes ({name})");
            return Err(Complaint::new(what, "write one model for all sizes, without bins"));
        }
        _ if WITHOUT_EFFECT.contains(&name) => {}
        _ => {
            let Some((_, remedy)) = ZERO.iter().find(|(known, _)| *known == name) else {
                return Ok(false);
            };
            if value != 0.0 {
                return Err(Complaint::new(format!("{name} is not supported"), *remedy));
            }
        }
    }
    Ok(true)
}

/// What follows from the oxide and the doping, unless it is given.
fn derive(model: &mut MosCard, given: &Given) {
    let tox = given.tox.filter(|&tox| tox != 0.0);
    if let Some(tox) = tox {
        model.oxide = OXIDE_PERMITTIVITY / tox;
        model.kp = given.uo.unwrap_or(600.0) * 1e-4 * model.oxide;
        if let Some(nsub) = given.nsub.map(|nsub| nsub * 1e6).filter(|&nsub| nsub > INTRINSIC) {
            let phi = 2.0 * THERMAL_VOLTAGE * libm::log(nsub / INTRINSIC);
            model.phi = given.phi.unwrap_or(phi.max(0.1));
            let gamma = (2.0 * SILICON_PERMITTIVITY * CHARGE * nsub).sqrt() / model.oxide;
            model.gamma = given.gamma.unwrap_or(gamma);
            model.vto = threshold(model, given);
        }
    }
    model.vto = given.vto.unwrap_or(model.vto);
    model.kp = given.kp.unwrap_or(model.kp);
    model.gamma = given.gamma.unwrap_or(model.gamma);
    model.phi = given.phi.unwrap_or(model.phi);
}

/// The threshold voltage that follows from the work functions and the charge at the surface.
fn threshold(model: &MosCard, given: &Given) -> f64 {
    let sign = if model.channel == Channel::N { 1.0 } else { -1.0 };
    let gap = 1.16 - 7.02e-4 * TEMPERATURE * TEMPERATURE / (TEMPERATURE + 1108.0);
    let bulk = 3.25 + 0.5 * gap + sign * 0.5 * model.phi;
    let gate = match given.tpg.unwrap_or(1.0) {
        0.0 => 3.2,
        kind => 3.25 + 0.5 * gap - sign * kind * 0.5 * gap,
    };
    let flat_band = gate - bulk - given.nss * 1e4 * CHARGE / model.oxide;
    flat_band + sign * (model.gamma * model.phi.sqrt() + model.phi)
}

fn check(model: &MosCard) -> Result<(), Complaint> {
    let positive = [("kp", model.kp), ("phi", model.phi), ("pb", model.pb)];
    let not_negative = [
        ("gamma", model.gamma),
        ("lambda", model.lambda),
        ("tox", model.oxide),
        ("ld", model.lateral_diffusion),
        ("cgso", model.cgso),
        ("cgdo", model.cgdo),
        ("cgbo", model.cgbo),
        ("cj", model.cj),
        ("cjsw", model.cjsw),
    ];
    let fractions = [("mj", model.mj), ("mjsw", model.mjsw)];
    let wrong = (positive.iter().find(|(_, value)| !(*value > 0.0 && value.is_finite())))
        .map(|(name, _)| (*name, "give a number greater than 0"))
        .or_else(|| {
            let wrong =
                not_negative.iter().find(|(_, value)| !(*value >= 0.0 && value.is_finite()));
            wrong.map(|(name, _)| (*name, "give a number that is not less than 0"))
        })
        .or_else(|| {
            let wrong = fractions.iter().find(|(_, value)| !(0.0..1.0).contains(value));
            wrong.map(|(name, _)| (*name, "give a number of at least 0 and less than 1"))
        })
        .or_else(|| (!model.vto.is_finite()).then_some(("vto", "give a number")));
    match wrong {
        Some((name, remedy)) => Err(Complaint::new(
            format!("{name} of model {} is out of range", quoted(&model.name)),
            remedy,
        )),
        None => Ok(()),
    }
}
