//! Generated netlists of gates: chains, rings, adders and multipliers.

use crate::logic::{
    Gate,
    GateKind::{And, Nand, Not},
    Gates, Signal,
};

/// `length` inverters from `in` to `n{length}`.
pub(super) fn chain(length: usize) -> Gates {
    let mut gates = Gates::new("chain");
    let mut last = gates.input("in");
    for number in 1..=length {
        last = gates.gate(Not, format!("n{number}"), [last]);
    }
    gates.outputs = vec![last];
    gates
}

/// `length` inverters in a circle.
pub(super) fn ring(length: usize) -> Gates {
    let mut gates = Gates::new("ring");
    let first = gates.signal("n0");
    let mut last = first;
    for number in 1..length {
        last = gates.gate(Not, format!("n{number}"), [last]);
    }
    gates.gates.push(Gate { kind: Not, output: first, inputs: vec![last] });
    gates.outputs = vec![first];
    gates
}

/// The sum of `a`, `b` and `cin`, in `s` and `cout`.
pub(super) fn adder(bits: usize) -> Gates {
    let mut gates = Gates::new("adder");
    let [a, b] = ["a", "b"].map(|name| number(&mut gates, name, bits));
    let mut carry = gates.input("cin");
    for bit in 0..bits {
        let out = if bit + 1 == bits { "cout".to_owned() } else { format!("c{bit}") };
        let (sum, next) = full_adder(&mut gates, &format!("s{bit}"), &out, [a[bit], b[bit], carry]);
        gates.outputs.push(sum);
        carry = next;
    }
    gates.outputs.push(carry);
    gates
}

/// The product of `a` and `b` in `p`: rows of adders, each of which adds `a`, shifted, where a bit
/// of `b` is set.
pub(super) fn multiplier(bits: usize) -> Gates {
    let mut gates = Gates::new("multiplier");
    let [a, b] = ["a", "b"].map(|name| number(&mut gates, name, bits));
    let partial = |gates: &mut Gates, row: usize| -> Vec<Signal> {
        (0..bits).map(|bit| gates.gate(And, format!("and{row}.{bit}"), [a[bit], b[row]])).collect()
    };
    // What the rows so far add up to, without the bits that are in `outputs`.
    let mut sum = partial(&mut gates, 0);
    gates.outputs.push(sum.remove(0));
    for row in 1..bits {
        let addend = partial(&mut gates, row);
        let mut next = Vec::with_capacity(bits + 1);
        let mut carry = None;
        for (bit, &right) in addend.iter().enumerate() {
            let name = format!("sum{row}.{bit}");
            let out = format!("carry{row}.{bit}");
            let left = sum.get(bit).copied();
            let (bit_sum, bit_carry) = match (left, carry) {
                (Some(left), Some(carry)) => {
                    full_adder(&mut gates, &name, &out, [left, right, carry])
                }
                (Some(other), None) | (None, Some(other)) => {
                    half_adder(&mut gates, &name, &out, [other, right])
                }
                (None, None) => unreachable!("the first bit of a row has a bit of the sum"),
            };
            next.push(bit_sum);
            carry = Some(bit_carry);
        }
        next.extend(carry);
        gates.outputs.push(next.remove(0));
        sum = next;
    }
    gates.outputs.extend(sum);
    for (bit, &output) in gates.outputs.iter().enumerate() {
        gates.names[output] = format!("p{bit}");
    }
    gates
}

fn number(gates: &mut Gates, name: &str, bits: usize) -> Vec<Signal> {
    (0..bits).map(|bit| gates.input(format!("{name}{bit}"))).collect()
}

/// Nine NANDs: the sum and the carry.
fn full_adder(
    gates: &mut Gates,
    sum: &str,
    carry: &str,
    [a, b, c]: [Signal; 3],
) -> (Signal, Signal) {
    let (half, neither) = exclusive_or(gates, &format!("{sum}.ab"), [a, b]);
    let (sum, not_both) = exclusive_or(gates, sum, [half, c]);
    (sum, gates.gate(Nand, carry, [neither, not_both]))
}

/// Four NANDs and an inverter: the sum and the carry.
fn half_adder(gates: &mut Gates, sum: &str, carry: &str, inputs: [Signal; 2]) -> (Signal, Signal) {
    let (sum, not_both) = exclusive_or(gates, sum, inputs);
    (sum, gates.gate(Not, carry, [not_both]))
}

/// Four NANDs: the exclusive or, and whether not both inputs are set.
fn exclusive_or(gates: &mut Gates, name: &str, [a, b]: [Signal; 2]) -> (Signal, Signal) {
    let not_both = gates.gate(Nand, format!("{name}.both"), [a, b]);
    let left = gates.gate(Nand, format!("{name}.left"), [a, not_both]);
    let right = gates.gate(Nand, format!("{name}.right"), [b, not_both]);
    (gates.gate(Nand, name, [left, right]), not_both)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::logic::Evaluation;

    fn value(bits: impl IntoIterator<Item = bool>) -> u64 {
        bits.into_iter().enumerate().map(|(bit, is_set)| u64::from(is_set) << bit).sum()
    }

    fn result(gates: &Gates, inputs: &[bool]) -> u64 {
        let mut evaluation = Evaluation::new(gates);
        let values = evaluation.settle(inputs);
        value(gates.outputs.iter().map(|&output| values[output].expect("no cycle")))
    }

    #[test]
    fn a_ring_has_no_value_and_a_chain_inverts() {
        assert_eq!(Evaluation::new(&ring(5)).settle(&[]), [None; 5]);
        assert_eq!(result(&chain(5), &[true]), 0);
        assert_eq!(result(&chain(4), &[true]), 1);
    }

    proptest! {
        #[test]
        fn adders_add_and_multipliers_multiply(
            size in 2_usize..12,
            bits in prop::collection::vec(any::<bool>(), 25),
        ) {
            let numbers = &bits[..2 * size];
            let (a, b) = numbers.split_at(size);
            let (a, b) = (value(a.iter().copied()), value(b.iter().copied()));
            let carry = u64::from(bits[2 * size]);
            prop_assert_eq!(result(&adder(size), &bits[..=2 * size]), a + b + carry);
            prop_assert_eq!(result(&multiplier(size), numbers), a * b);
        }
    }
}
