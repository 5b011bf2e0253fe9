//! Which nets are fixed, and what follows: the last part of reading a deck.
//!
//! Called by [`read`](super::read) with an expanded circuit.

use std::{
    collections::{HashSet, VecDeque},
    mem,
};

use super::{
    card::Card,
    errors::Errors,
    expand::{Expander, Pending},
    notes::Note,
};
use crate::{
    circuit::{Capacitor, Circuit, NetId, Pulse, Source, Waveform},
    error::{Kind, NetlistError, Place, quoted},
};

/// Adds the sources and the capacitors, and checks that the circuit can be simulated. Nets without
/// an element lose their names, so that nothing can be asked of them.
pub(super) fn finish(file: &str, expander: &mut Expander<'_>) {
    let Expander { circuit, notes, errors, unsure, .. } = expander;
    let mut is_fixed = fix(circuit, mem::take(&mut expander.sources), unsure, errors);
    is_fixed[NetId::GROUND.index()] = true;
    // What is wrong with the nets of an element that is wrong itself may follow from that.
    unsure.iter().for_each(|net| is_fixed[net.index()] = true);
    add_capacitors(circuit, mem::take(&mut expander.capacitors), &is_fixed, notes, errors);
    check(circuit, &expander.transistors, &is_fixed, errors);
    if circuit.transistors.is_empty() && circuit.resistors.is_empty() {
        let what = "there is no transistor and no resistor";
        let empty = NetlistError::new(&Place::file(file), what, "is it the right file?");
        errors.keep::<()>(Err(empty.of(Kind::UnknownName)));
    }
    let mut is_connected = connected(circuit);
    check_initial(circuit, &expander.initial, &is_fixed, &is_connected, unsure, errors);
    unsure.iter().for_each(|net| is_connected[net.index()] = true);
    expander.nets.retain(|_, net| is_connected[net.index()]);
}

/// Says of each net whether an element is there.
fn connected(circuit: &Circuit) -> Vec<bool> {
    let mut is_connected = vec![false; circuit.nets.len()];
    let transistors = circuit.transistors.iter();
    let nets = transistors.flat_map(|mos| [mos.drain, mos.gate, mos.source, mos.bulk]);
    let nets = nets.chain(circuit.resistors.iter().flat_map(|resistor| resistor.ends));
    let nets = nets.chain(circuit.capacitors.iter().flat_map(|load| [load.net, load.reference]));
    let nets = nets.chain(circuit.sources.iter().map(|source| source.net));
    nets.for_each(|net| is_connected[net.index()] = true);
    is_connected
}

/// Turns sources between two nets into sources against ground, beginning with those at ground.
/// Says of each net whether it is fixed.
fn fix(
    circuit: &mut Circuit,
    sources: Vec<Pending<'_, Waveform>>,
    unsure: &mut HashSet<NetId>,
    errors: &mut Errors,
) -> Vec<bool> {
    let mut at: Vec<Vec<usize>> = vec![Vec::new(); circuit.nets.len()];
    for (index, source) in sources.iter().enumerate() {
        source.ends.iter().for_each(|end| at[end.index()].push(index));
    }
    let mut found: Vec<Option<Source>> = vec![None; sources.len()];
    let mut is_fixed = vec![false; circuit.nets.len()];
    // Nets whose voltage is constant, with the voltage.
    let mut constant = VecDeque::from([(NetId::GROUND, 0.0)]);
    is_fixed[NetId::GROUND.index()] = true;
    while let Some((reference, voltage)) = constant.pop_front() {
        for &index in &at[reference.index()] {
            if found[index].is_some() {
                continue;
            }
            let Pending { card, name, ends: [plus, minus], value } = &sources[index];
            let (net, sign) = if *minus == reference { (*plus, 1.0) } else { (*minus, -1.0) };
            let waveform = transform(value, sign, voltage);
            if mem::replace(&mut is_fixed[net.index()], true) {
                let net = quoted(&circuit.nets[net.index()]);
                let what =
                    format!("{} is at the net {net}, which is fixed already", quoted(card.name()));
                errors.keep::<()>(Err(card.error(what, "remove one of the sources")));
            } else if let Waveform::Constant(voltage) = waveform {
                // Once for each net, so that each source is looked at twice at most.
                constant.push_back((net, voltage));
            }
            found[index] = Some(Source { name: name.clone(), net, waveform });
        }
    }
    let are_sources_sure = unsure.is_empty();
    for (source, pending) in found.into_iter().zip(&sources) {
        let Some(source) = source else {
            unsure.extend(pending.ends);
            if !are_sources_sure {
                continue;
            }
            let what =
                format!("{} is between nets that no source fixes", quoted(pending.card.name()));
            let remedy = "put one of its ends to ground or to a net with a DC source; to measure a \
                          current is not supported: use one net instead of the two";
            errors.keep::<()>(Err(pending.card.error(what, remedy)));
            continue;
        };
        circuit.sources.push(source);
    }
    is_fixed
}

/// `sign * waveform + offset`
fn transform(waveform: &Waveform, sign: f64, offset: f64) -> Waveform {
    let map = |voltage: f64| sign * voltage + offset;
    match waveform {
        Waveform::Constant(voltage) => Waveform::Constant(map(*voltage)),
        Waveform::PiecewiseLinear(points) => Waveform::PiecewiseLinear(
            points.iter().map(|&(time, voltage)| (time, map(voltage))).collect(),
        ),
        Waveform::Pulse(pulse) => {
            Waveform::Pulse(Pulse { low: map(pulse.low), high: map(pulse.high), ..*pulse })
        }
    }
}

fn add_capacitors(
    circuit: &mut Circuit,
    capacitors: Vec<Pending<'_, f64>>,
    is_fixed: &[bool],
    notes: &mut Vec<Note>,
    errors: &mut Errors,
) {
    for Pending { card, name, ends: [a, b], value } in capacitors {
        let (net, reference) = match (is_fixed[a.index()], is_fixed[b.index()]) {
            (false, true) => (a, b),
            (true, false) => (b, a),
            (true, true) => {
                notes.push(Note::new(&card.place, "capacitors between fixed nets"));
                continue;
            }
            (false, false) => {
                let what = format!("{} couples two nets that no source fixes", quoted(card.name()));
                let remedy = "put a capacitor from each of the two nets to ground instead";
                errors.keep::<()>(Err(card.error(what, remedy)));
                continue;
            }
        };
        circuit.capacitors.push(Capacitor { name, net, reference, capacitance: value });
    }
}

/// Bulks are fixed, and each gate has a driver.
fn check(circuit: &Circuit, cards: &[&Card], is_fixed: &[bool], errors: &mut Errors) {
    let mut is_driven = is_fixed.to_vec();
    let channels = circuit.transistors.iter().flat_map(|mos| [mos.drain, mos.source]);
    let resistors = circuit.resistors.iter().flat_map(|resistor| resistor.ends);
    channels.chain(resistors).for_each(|net| is_driven[net.index()] = true);
    for (mos, card) in circuit.transistors.iter().zip(cards) {
        if !is_fixed[mos.bulk.index()] {
            let net = quoted(&circuit.nets[mos.bulk.index()]);
            let what =
                format!("the bulk of {} is {net}, which no source fixes", quoted(card.name()));
            errors.keep::<()>(Err(card.error(what, "put it to ground or to a supply")));
        }
        if !is_driven[mos.gate.index()] {
            let net = quoted(&circuit.nets[mos.gate.index()]);
            let what =
                format!("the gate of {} is {net}, which nothing drives", quoted(card.name()));
            let remedy = "is the name right? give the net a source or a transistor";
            errors.keep::<()>(Err(card.error(what, remedy)));
        }
    }
}

/// Each net starts at one voltage at most, and fixed nets at that of their source.
fn check_initial(
    circuit: &Circuit,
    cards: &[&Card],
    is_fixed: &[bool],
    is_connected: &[bool],
    unsure: &HashSet<NetId>,
    errors: &mut Errors,
) {
    let mut seen = HashSet::new();
    for (&(net, _), card) in circuit.initial.iter().zip(cards) {
        if unsure.contains(&net) {
            continue;
        }
        let name = quoted(&circuit.nets[net.index()]);
        let wrong = if is_fixed[net.index()] {
            format!(".ic is for {name}, which a source fixes")
        } else if !is_connected[net.index()] {
            format!(".ic is for {name}, where no element is")
        } else if !seen.insert(net) {
            format!(".ic is for {name} twice")
        } else {
            continue;
        };
        errors.keep::<()>(Err(card.error(wrong, "remove it from the .ic line")));
    }
}
