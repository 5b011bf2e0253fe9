//! A generated register file: a port to write, and a port to read through precharged bit lines.
//!
//! A word is written while the clock `write` is high, and read while the clock `read` is high,
//! later in the same period; while `read` is low, the read bit lines are charged. An address beyond
//! the words writes nothing and reads zeros. A cell has eight transistors: two inverters, two N
//! channels to the write bit lines, and two in series that discharge the read bit line where the
//! bit is set.

use crate::{
    builder::Builder,
    cells,
    circuit::NetId,
    process::Capacitances,
    stimuli::{self, Stimuli},
    workload::{Settled, Workload},
};

/// The fractions of a period at which `write` rises and falls.
const WRITE: [f64; 2] = [0.15, 0.45];
/// The fractions of a period at which `read` rises and falls.
const READ: [f64; 2] = [0.5, 0.9];

/// The register file, with a random address to write, data and address to read in each vector.
pub(super) fn workload(
    words: usize,
    bits: usize,
    stimuli: &Stimuli,
    capacitances: Capacitances,
) -> Workload {
    let title = format!("regfile:{words}x{bits}");
    let (mut builder, _) = Builder::new(&title, capacitances, []);
    let address_bits = words.next_power_of_two().trailing_zeros() as usize;
    let mut inputs = |name, count| -> Vec<NetId> {
        (0..count).map(|bit| builder.wire(&format!("{name}{bit}"))).collect()
    };
    let (write_address, read_address) = (inputs("wa", address_bits), inputs("ra", address_bits));
    let data = inputs("d", bits);
    let period = stimuli.period(false);
    let ports = [("write", &write_address, WRITE), ("read", &read_address, READ)];
    let [writes, reads] = ports.map(|(name, address, [begin, end])| {
        let clock = builder.wire(name);
        builder.source(clock, stimuli::pulse(period, begin, end));
        (clock, decoder(&mut builder, name, address, clock, words))
    });
    let columns = data.iter().enumerate();
    let outputs = columns
        .map(|(bit, &data)| column(&mut builder, bit, data, &writes.1, reads.0, &reads.1))
        .collect::<Vec<_>>();
    let vectors = stimuli.bits(2 * address_bits + bits);
    for (index, &input) in write_address.iter().chain(&read_address).chain(&data).enumerate() {
        builder.source(input, stimuli::waveform(vectors.iter().map(|bits| bits[index]), period));
    }
    let settled = evaluate(&vectors, [words, address_bits], &outputs, period);
    let circuit = builder.finish(stimuli.vectors as f64 * period);
    Workload { circuit, outputs, settled, included: Vec::new() }
}

/// The word lines of a port: each is high while the clock is, if its word is addressed.
fn decoder(
    builder: &mut Builder,
    name: &str,
    address: &[NetId],
    clock: NetId,
    words: usize,
) -> Vec<NetId> {
    let literals: Vec<[NetId; 2]> = address
        .iter()
        .map(|&bit| {
            let not_bit = builder.wire(&format!("{}.n", builder.name(bit)));
            cells::inverter(builder, bit, not_bit);
            [not_bit, bit]
        })
        .collect();
    let line = |word: usize| {
        let mut inputs = vec![clock];
        inputs.extend(literals.iter().enumerate().map(|(bit, literal)| literal[word >> bit & 1]));
        let line = builder.wire(&format!("{name}{word}"));
        cells::and(builder, &inputs, line);
        line
    };
    (0..words).map(line).collect()
}

/// A column of cells with its bit lines; returns the output of the read port.
fn column(
    builder: &mut Builder,
    bit: usize,
    data: NetId,
    writes: &[NetId],
    read: NetId,
    reads: &[NetId],
) -> NetId {
    let mut wire = |name: &str| builder.wire(&format!("{name}{bit}"));
    let (not_line, line) = (wire("wbn"), wire("wb"));
    let (read_line, output) = (wire("rb"), wire("q"));
    inverter(builder, data, not_line, [4.0, 4.0]);
    inverter(builder, not_line, line, [4.0, 4.0]);
    builder.p(format!("rb{bit}.p0"), [read_line, builder.supply()], read, 2.0);
    cells::inverter(builder, read_line, output);
    for (word, (&write, &read)) in writes.iter().zip(reads).enumerate() {
        let name = format!("w{word}.b{bit}");
        let [stored, not_stored, stack] =
            ["t", "f", "s"].map(|part| builder.net(&format!("{name}.{part}")));
        // The P channels are weak, so that the write bit lines win.
        inverter(builder, not_stored, stored, [1.0, 0.5]);
        inverter(builder, stored, not_stored, [1.0, 0.5]);
        builder.n(format!("{name}.t.n1"), [line, stored], write, 1.5);
        builder.n(format!("{name}.f.n1"), [not_line, not_stored], write, 1.5);
        builder.n(format!("{name}.s.n0"), [read_line, stack], read, 1.0);
        builder.n(format!("{name}.s.n1"), [stack, NetId::GROUND], stored, 1.0);
        builder.initial(stored, 0.0);
    }
    output
}

/// An inverter whose N and P channel are so many times as wide as usual.
fn inverter(builder: &mut Builder, input: NetId, output: NetId, [n, p]: [f64; 2]) {
    let name = builder.name(output);
    builder.n(format!("{name}.n0"), [output, NetId::GROUND], input, n);
    builder.p(format!("{name}.p0"), [output, builder.supply()], input, p);
}

/// What the outputs have to be at the end of each read.
fn evaluate(
    vectors: &[Vec<bool>],
    [words, address_bits]: [usize; 2],
    outputs: &[NetId],
    period: f64,
) -> Vec<Settled> {
    let address = |bits: &[bool]| -> usize {
        bits.iter().enumerate().map(|(bit, &is_set)| usize::from(is_set) << bit).sum()
    };
    let mut memory = vec![vec![false; outputs.len()]; words];
    let cycle = |(number, vector): (usize, &Vec<bool>)| {
        let (write, rest) = vector.split_at(address_bits);
        let (read, data) = rest.split_at(address_bits);
        if let Some(word) = memory.get_mut(address(write)) {
            word.copy_from_slice(data);
        }
        let word = memory.get(address(read)).cloned().unwrap_or_else(|| vec![false; data.len()]);
        Settled {
            time: (number as f64 + READ[1]) * period,
            values: outputs.iter().copied().zip(word).collect(),
        }
    };
    vectors.iter().enumerate().map(cycle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_last_is_read() {
        let outputs = [NetId(3), NetId(4)];
        // Write address, read address, two bits of data: three words, so address 3 is nowhere.
        let vectors = ["00 00 11", "10 00 01", "11 10 11", "00 10 00", "00 11 00"];
        let bits = |text: &str| text.chars().filter(|c| *c != ' ').map(|c| c == '1').collect();
        let vectors: Vec<Vec<bool>> = vectors.iter().map(|text| bits(text)).collect();
        let settled = evaluate(&vectors, [3, 2], &outputs, 1.0);
        let read: Vec<Vec<bool>> =
            settled.iter().map(|at| at.values.iter().map(|value| value.1).collect()).collect();
        let [both, second, none] = [vec![true, true], vec![false, true], vec![false, false]];
        assert_eq!(read, [both.clone(), both, second.clone(), second, none]);
        assert_eq!(settled[1].time, 1.9);
    }

    #[test]
    fn a_cell_has_eight_transistors() {
        let count = |words, bits| {
            let stimuli = Stimuli::default();
            let explicit = Capacitances::Explicit;
            workload(words, bits, &stimuli, explicit).circuit.transistors.len()
        };
        assert_eq!(count(16, 32) - count(16, 31), 16 * 8 + 7);
    }
}
