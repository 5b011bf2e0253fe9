//! The library of cells: gates as static CMOS, flip-flops of transmission gates.
//!
//! Called for netlists of gates ([`workload`](crate::workload)) and by the generator of register
//! files. An AND is a NAND and an inverter, an OR a NOR and an inverter, a buffer two inverters, an
//! XOR four NANDs, an XNOR four NORs; an XOR or XNOR of more inputs is a chain. A flip-flop has 24
//! transistors: an inverter at its input, two latches with inverters in their loops, an inverter at
//! its output, and two for its clock.

use crate::{
    builder::Builder,
    circuit::NetId,
    logic::{Gate, GateKind},
};

/// Adds a gate from `inputs` to `output`; a flip-flop reads `clock` too.
///
/// # Panics
///
/// If a flip-flop has no clock, or a gate no input.
pub(crate) fn gate(builder: &mut Builder, gate: &Gate, nets: &[NetId], clock: Option<NetId>) {
    let output = nets[gate.output];
    let inputs: Vec<_> = gate.inputs.iter().map(|&input| nets[input]).collect();
    match gate.kind {
        GateKind::Not => inverter(builder, inputs[0], output),
        GateKind::Buffer => {
            let middle = inner(builder, output, "n");
            inverter(builder, inputs[0], middle);
            inverter(builder, middle, output);
        }
        GateKind::Nand => nand(builder, &inputs, output),
        GateKind::Nor => nor(builder, &inputs, output),
        GateKind::And => and(builder, &inputs, output),
        GateKind::Or => {
            let middle = inner(builder, output, "n");
            nor(builder, &inputs, middle);
            inverter(builder, middle, output);
        }
        GateKind::Xor | GateKind::Xnor => parity(builder, gate.kind, &inputs, output),
        GateKind::FlipFlop => {
            let clock = clock.expect("a netlist with flip-flops has a clock");
            flip_flop(builder, inputs[0], clock, output);
        }
    }
}

/// A net between the gates of the cell that drives `output`.
fn inner(builder: &mut Builder, output: NetId, suffix: &str) -> NetId {
    let name = format!("{}.{suffix}", builder.name(output));
    builder.wire(&name)
}

/// An inverter.
pub(crate) fn inverter(builder: &mut Builder, input: NetId, output: NetId) {
    nand(builder, &[input], output);
}

/// A NAND and an inverter.
pub(crate) fn and(builder: &mut Builder, inputs: &[NetId], output: NetId) {
    let middle = inner(builder, output, "n");
    nand(builder, inputs, middle);
    inverter(builder, middle, output);
}

/// Whether transistors are of N or of P channel, as the first letter of their names.
#[derive(Clone, Copy)]
enum Kind {
    N,
    P,
}

fn add(
    builder: &mut Builder,
    kind: Kind,
    cell: &str,
    number: usize,
    ends: [NetId; 2],
    gate: NetId,
) {
    match kind {
        Kind::N => builder.n(format!("{cell}.n{number}"), ends, gate, 1.0),
        Kind::P => builder.p(format!("{cell}.p{number}"), ends, gate, 1.0),
    }
}

/// Transistors in parallel from a rail to `output`.
fn parallel(builder: &mut Builder, kind: Kind, rail: NetId, inputs: &[NetId], output: NetId) {
    let cell = builder.name(output);
    for (number, &input) in inputs.iter().enumerate() {
        add(builder, kind, &cell, number, [output, rail], input);
    }
}

/// Transistors in series from `output`, where the first input is, to a rail.
fn stack(builder: &mut Builder, kind: Kind, rail: NetId, inputs: &[NetId], output: NetId) {
    let cell = builder.name(output);
    let mut upper = output;
    for (number, &input) in inputs.iter().enumerate() {
        let is_last = number + 1 == inputs.len();
        let lower = if is_last { rail } else { builder.net(&format!("{cell}.s{number}")) };
        add(builder, kind, &cell, number, [upper, lower], input);
        upper = lower;
    }
}

/// A NAND; with one input, an inverter.
pub(crate) fn nand(builder: &mut Builder, inputs: &[NetId], output: NetId) {
    parallel(builder, Kind::P, builder.supply(), inputs, output);
    stack(builder, Kind::N, NetId::GROUND, inputs, output);
}

/// A NOR; with one input, an inverter.
fn nor(builder: &mut Builder, inputs: &[NetId], output: NetId) {
    parallel(builder, Kind::N, NetId::GROUND, inputs, output);
    stack(builder, Kind::P, builder.supply(), inputs, output);
}

/// An XOR or XNOR of any number of inputs: XORs in a chain, and `kind` at its end.
fn parity(builder: &mut Builder, kind: GateKind, inputs: &[NetId], output: NetId) {
    let (&first, rest) = inputs.split_first().expect("a gate has an input");
    let Some((&last, middle)) = rest.split_last() else {
        let kind = if kind == GateKind::Xor { GateKind::Buffer } else { GateKind::Not };
        let single = Gate { kind, output: 1, inputs: vec![0] };
        return gate(builder, &single, &[first, output], None);
    };
    let mut left = first;
    for (number, &right) in middle.iter().enumerate() {
        let next = inner(builder, output, &format!("x{number}"));
        parity_of_two(builder, nand, [left, right], next);
        left = next;
    }
    let part = if kind == GateKind::Xor { nand } else { nor };
    parity_of_two(builder, part, [left, last], output);
}

/// Four gates: NANDs make an XOR of them, NORs an XNOR.
fn parity_of_two(
    builder: &mut Builder,
    part: fn(&mut Builder, &[NetId], NetId),
    [a, b]: [NetId; 2],
    output: NetId,
) {
    let [both, left, right] = ["both", "left", "right"].map(|name| inner(builder, output, name));
    part(builder, &[a, b], both);
    part(builder, &[a, both], left);
    part(builder, &[b, both], right);
    part(builder, &[left, right], output);
}

/// A flip-flop that takes its input at the rising edge of the clock, and starts at 0 V.
fn flip_flop(builder: &mut Builder, input: NetId, clock: NetId, output: NetId) {
    let mut net = |suffix| inner(builder, output, suffix);
    let (not_clock, late_clock) = (net("cn"), net("cp"));
    let (not_input, master, not_master, master_loop) = (net("in"), net("m"), net("mn"), net("ml"));
    let (slave, not_slave, slave_loop) = (net("s"), net("sn"), net("sl"));
    let low = [not_clock, late_clock];
    let high = [late_clock, not_clock];
    inverter(builder, clock, not_clock);
    inverter(builder, not_clock, late_clock);
    inverter(builder, input, not_input);
    transmission_gate(builder, [not_input, master], low);
    inverter(builder, master, not_master);
    inverter(builder, not_master, master_loop);
    transmission_gate(builder, [master_loop, master], high);
    transmission_gate(builder, [not_master, slave], high);
    inverter(builder, slave, not_slave);
    inverter(builder, not_slave, slave_loop);
    transmission_gate(builder, [slave_loop, slave], low);
    inverter(builder, not_slave, output);
    builder.initial(slave, 0.0);
}

/// A transmission gate, which conducts while the gate of its N channel is high and that of its P
/// channel low.
fn transmission_gate(builder: &mut Builder, ends: [NetId; 2], [n, p]: [NetId; 2]) {
    let cell = format!("{}.from.{}", builder.name(ends[1]), builder.name(ends[0]));
    builder.n(format!("{cell}.n0"), ends, n, 1.0);
    builder.p(format!("{cell}.p0"), ends, p, 1.0);
}
