//! A netlist of gates, and its Boolean evaluation.
//!
//! Made by the reader of `.bench` files and by the generators; expanded to transistors by
//! `cells`. The evaluation is the oracle for the voltages at which nets settle.
//!
//! # Invariants
//!
//! - **LOGIC-A.** Each signal is an input or the output of exactly one gate.

/// A signal of a netlist of gates, by its index in [`Gates::names`].
pub type Signal = usize;

/// What a gate computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GateKind {
    /// The input.
    Buffer,
    /// Not the input.
    Not,
    /// Whether all inputs are true.
    And,
    /// Whether some input is false.
    Nand,
    /// Whether some input is true.
    Or,
    /// Whether all inputs are false.
    Nor,
    /// Whether the number of true inputs is odd.
    Xor,
    /// Whether the number of true inputs is even.
    Xnor,
    /// The input at the last rising edge of the clock.
    FlipFlop,
}

/// A gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// What it computes.
    pub kind: GateKind,
    /// The signal that it drives.
    pub output: Signal,
    /// The signals that it reads: one for a buffer, an inverter and a flip-flop.
    pub inputs: Vec<Signal>,
}

/// A netlist of gates. Cycles without a flip-flop are allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gates {
    /// What the netlist is called.
    pub title: String,
    /// The names of the signals.
    pub names: Vec<String>,
    /// The signals that come from outside.
    pub inputs: Vec<Signal>,
    /// The signals that are of interest outside.
    pub outputs: Vec<Signal>,
    /// The gates.
    pub gates: Vec<Gate>,
}

impl Gates {
    /// An empty netlist.
    #[must_use]
    pub fn new(title: &str) -> Self {
        Self { title: title.to_owned(), ..Self::default() }
    }

    /// Adds a signal.
    pub fn signal(&mut self, name: impl Into<String>) -> Signal {
        self.names.push(name.into());
        self.names.len() - 1
    }

    /// Adds a signal that comes from outside.
    pub fn input(&mut self, name: impl Into<String>) -> Signal {
        let signal = self.signal(name);
        self.inputs.push(signal);
        signal
    }

    /// Adds a gate with a signal for its output.
    pub fn gate(
        &mut self,
        kind: GateKind,
        name: impl Into<String>,
        inputs: impl Into<Vec<Signal>>,
    ) -> Signal {
        let output = self.signal(name);
        self.gates.push(Gate { kind, output, inputs: inputs.into() });
        output
    }

    /// Whether there is a flip-flop, so that the netlist needs a clock.
    #[must_use]
    pub fn is_clocked(&self) -> bool {
        self.gates.iter().any(|gate| gate.kind == GateKind::FlipFlop)
    }
}

/// The Boolean evaluation of a netlist, vector by vector.
///
/// Flip-flops start as false. A signal on a cycle has a value only where the inputs decide it.
#[derive(Clone, Debug)]
pub struct Evaluation<'a> {
    gates: &'a Gates,
    /// For each signal, the gates that read it.
    readers: Vec<Vec<usize>>,
    values: Vec<Option<bool>>,
}

impl<'a> Evaluation<'a> {
    /// An evaluation before its first vector.
    #[must_use]
    pub fn new(gates: &'a Gates) -> Self {
        debug_assert!(has_one_driver_each(gates), "LOGIC-A: a signal has no driver, or several");
        let mut readers = vec![Vec::new(); gates.names.len()];
        let mut values = vec![None; gates.names.len()];
        for (index, gate) in gates.gates.iter().enumerate() {
            if gate.kind == GateKind::FlipFlop {
                values[gate.output] = Some(false);
            } else {
                gate.inputs.iter().for_each(|&input| readers[input].push(index));
            }
        }
        Self { gates, readers, values }
    }

    /// The values of all signals with these values of the inputs, in the order of
    /// [`Gates::inputs`]; `None` where a cycle leaves a signal undecided.
    ///
    /// # Panics
    ///
    /// If there is not one value for each input.
    pub fn settle(&mut self, inputs: &[bool]) -> &[Option<bool>] {
        assert_eq!(inputs.len(), self.gates.inputs.len(), "a vector has a value for each input");
        let states: Vec<_> =
            self.states().map(|gate| (gate.output, self.values[gate.output])).collect();
        self.values.fill(None);
        let mut decided: Vec<Signal> = Vec::new();
        let given =
            self.gates.inputs.iter().zip(inputs).map(|(&signal, &value)| (signal, Some(value)));
        for (signal, value) in given.chain(states) {
            self.values[signal] = value;
            if value.is_some() {
                decided.push(signal);
            }
        }
        // A value that is decided stays as it is, so each signal comes here once at most.
        while let Some(signal) = decided.pop() {
            for &reader in &self.readers[signal] {
                let gate = &self.gates.gates[reader];
                if self.values[gate.output].is_none() {
                    self.values[gate.output] = evaluate(gate, &self.values);
                    if self.values[gate.output].is_some() {
                        decided.push(gate.output);
                    }
                }
            }
        }
        &self.values
    }

    /// A rising edge of the clock: each flip-flop takes the value of its input.
    pub fn clock(&mut self) {
        let next: Vec<_> =
            self.states().map(|gate| (gate.output, self.values[gate.inputs[0]])).collect();
        for (output, value) in next {
            self.values[output] = value;
        }
    }

    fn states(&self) -> impl Iterator<Item = &'a Gate> + use<'a> {
        self.gates.gates.iter().filter(|gate| gate.kind == GateKind::FlipFlop)
    }
}

fn has_one_driver_each(gates: &Gates) -> bool {
    let mut drivers = vec![0; gates.names.len()];
    gates.inputs.iter().for_each(|&input| drivers[input] += 1);
    gates.gates.iter().for_each(|gate| drivers[gate.output] += 1);
    drivers.iter().all(|&drivers| drivers == 1)
}

/// The value of a gate's output, if the values of its inputs decide it.
fn evaluate(gate: &Gate, values: &[Option<bool>]) -> Option<bool> {
    let mut inputs = gate.inputs.iter().map(|&input| values[input]);
    let unless = |forcing: bool| {
        let mut decided = Some(!forcing);
        for input in gate.inputs.iter().map(|&input| values[input]) {
            if input == Some(forcing) {
                return Some(forcing);
            }
            decided = decided.filter(|_| input.is_some());
        }
        decided
    };
    match gate.kind {
        GateKind::Buffer | GateKind::FlipFlop => inputs.next()?,
        GateKind::Not => inputs.next()?.map(|value| !value),
        GateKind::And => unless(false),
        GateKind::Nand => unless(false).map(|value| !value),
        GateKind::Or => unless(true),
        GateKind::Nor => unless(true).map(|value| !value),
        GateKind::Xor => inputs.try_fold(false, |odd, input| Some(odd ^ input?)),
        GateKind::Xnor => inputs.try_fold(true, |even, input| Some(even ^ input?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(kind: GateKind, inputs: usize) -> String {
        let mut gates = Gates::new("one gate");
        let read: Vec<_> = (0..inputs).map(|i| gates.input(format!("i{i}"))).collect();
        let output = gates.gate(kind, "o", read);
        let mut evaluation = Evaluation::new(&gates);
        let vector = |row: usize| (0..inputs).map(|i| row >> i & 1 == 1).collect::<Vec<_>>();
        (0..1 << inputs)
            .map(|row| evaluation.settle(&vector(row))[output])
            .map(|value| value.map_or('x', |value| if value { '1' } else { '0' }))
            .collect()
    }

    #[test]
    fn gates_have_their_truth_tables() {
        assert_eq!(table(GateKind::Buffer, 1), "01");
        assert_eq!(table(GateKind::Not, 1), "10");
        assert_eq!(table(GateKind::And, 3), "00000001");
        assert_eq!(table(GateKind::Nand, 2), "1110");
        assert_eq!(table(GateKind::Or, 2), "0111");
        assert_eq!(table(GateKind::Nor, 3), "10000000");
        assert_eq!(table(GateKind::Xor, 3), "01101001");
        assert_eq!(table(GateKind::Xnor, 3), "10010110");
    }

    #[test]
    fn a_cycle_is_decided_where_the_inputs_decide_it() {
        // A set-reset latch of NOR gates.
        let mut gates = Gates::new("latch");
        let (set, reset) = (gates.input("set"), gates.input("reset"));
        let (q, not_q) = (gates.signal("q"), gates.signal("not_q"));
        gates.gates.push(Gate { kind: GateKind::Nor, output: q, inputs: vec![reset, not_q] });
        gates.gates.push(Gate { kind: GateKind::Nor, output: not_q, inputs: vec![set, q] });
        let mut evaluation = Evaluation::new(&gates);
        assert_eq!(evaluation.settle(&[true, false])[q], Some(true));
        assert_eq!(evaluation.settle(&[false, true])[q], Some(false));
        assert_eq!(evaluation.settle(&[false, false])[q], None);
    }

    #[test]
    fn flip_flops_take_their_inputs_all_at_once() {
        let mut gates = Gates::new("shift register");
        let input = gates.input("d");
        let first = gates.gate(GateKind::FlipFlop, "q1", [input]);
        let second = gates.gate(GateKind::FlipFlop, "q2", [first]);
        let mut evaluation = Evaluation::new(&gates);
        let mut seen = Vec::new();
        for bit in [true, false, true] {
            let values = evaluation.settle(&[bit]);
            seen.push((values[first], values[second]));
            evaluation.clock();
        }
        let bits = |a, b| (Some(a), Some(b));
        assert_eq!(seen, [bits(false, false), bits(true, false), bits(false, true)]);
    }
}
