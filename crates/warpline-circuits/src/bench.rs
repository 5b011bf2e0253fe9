//! The reader of ISCAS `.bench` files: gates and flip-flops.
//!
//! Called by [`read`](crate::netlist::read). A file has one statement a line: `INPUT(a)`,
//! `OUTPUT(y)` or `y = NAND(a, b)`; `#` begins a comment. Names are not case-sensitive, as in
//! SPICE. Source: Brglez and Fujiwara, "A neutral netlist of 10 combinational benchmark circuits
//! and a target translator in Fortran", ISCAS 1985; for flip-flops, Brglez, Bryan and Kozminski,
//! ISCAS 1989.

use std::{collections::HashMap, sync::Arc};

use crate::{
    error::{NetlistError, Place, quoted},
    logic::{Gate, GateKind, Gates, Signal},
};

/// The most inputs of a gate: a stack of more transistors is a mistake in the file.
const INPUTS_MAX: usize = 64;

/// Reads the text of a `.bench` file.
///
/// # Errors
///
/// A line that is no statement, a gate that is not known or has the wrong number of inputs, a net
/// with two drivers or with none, and a file without gates.
pub fn read(file: &str, text: &str) -> Result<Gates, NetlistError> {
    let place: Arc<str> = file.into();
    let mut reader =
        Reader { file, gates: Gates::new(file), nets: HashMap::new(), uses: Vec::new() };
    for (number, line) in text.lines().enumerate() {
        let statement = line.split('#').next().unwrap_or_default().trim();
        if !statement.is_empty() {
            reader.statement(&Place::line(&place, number + 1), statement)?;
        }
    }
    reader.finish()
}

struct Reader<'a> {
    file: &'a str,
    gates: Gates,
    nets: HashMap<String, Net>,
    /// Nets that are read, and where.
    uses: Vec<(Signal, usize)>,
}

struct Net {
    signal: Signal,
    /// The line that drives it.
    driver: Option<usize>,
    is_output: bool,
}

impl Reader<'_> {
    fn statement(&mut self, place: &Place, statement: &str) -> Result<(), NetlistError> {
        let (target, call) = match statement.split_once('=') {
            Some((target, call)) => (Some(target.trim()), call.trim()),
            None => (None, statement),
        };
        let Some((word, arguments)) = call.strip_suffix(')').and_then(|call| call.split_once('('))
        else {
            return Err(no_statement(place, statement));
        };
        let arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
        if let Some(name) =
            target.into_iter().chain(arguments.iter().copied()).find(|name| !is_name(name))
        {
            let what = format!("{} is no name of a net in {}", quoted(name), quoted(statement));
            return Err(NetlistError::new(place, what, "write names without blanks and brackets"));
        }
        match (target, word.trim().to_ascii_uppercase().as_str()) {
            (None, "INPUT") => {
                let signal = self.driven(place, one(place, "INPUT", &arguments)?)?;
                self.gates.inputs.push(signal);
            }
            (None, "OUTPUT") => {
                let name = one(place, "OUTPUT", &arguments)?;
                let signal = self.used(place, name);
                if !std::mem::replace(&mut self.net(name).is_output, true) {
                    self.gates.outputs.push(signal);
                }
            }
            (Some(target), word) => self.gate(place, target, word, &arguments)?,
            (None, _) => return Err(no_statement(place, statement)),
        }
        Ok(())
    }

    fn gate(
        &mut self,
        place: &Place,
        target: &str,
        word: &str,
        arguments: &[&str],
    ) -> Result<(), NetlistError> {
        let Some(kind) = kind(word) else {
            let what = format!("there is no gate {}", quoted(word));
            let remedy = "use AND, NAND, OR, NOR, XOR, XNOR, NOT, BUFF or DFF";
            return Err(NetlistError::new(place, what, remedy));
        };
        if matches!(kind, GateKind::Buffer | GateKind::Not | GateKind::FlipFlop) {
            one(place, word, arguments)?;
        }
        if arguments.len() > INPUTS_MAX {
            let what = format!("the gate {} has {} inputs", quoted(target), arguments.len());
            let remedy = format!("split it into gates of at most {INPUTS_MAX} inputs");
            return Err(NetlistError::new(place, what, remedy));
        }
        let output = self.driven(place, target)?;
        let inputs = arguments.iter().map(|name| self.used(place, name)).collect();
        self.gates.gates.push(Gate { kind, output, inputs });
        Ok(())
    }

    fn net(&mut self, name: &str) -> &mut Net {
        let Self { gates, nets, .. } = self;
        let name = name.to_lowercase();
        let new =
            |name: &String| Net { signal: gates.signal(name), driver: None, is_output: false };
        nets.entry(name).or_insert_with_key(new)
    }

    fn used(&mut self, place: &Place, name: &str) -> Signal {
        let signal = self.net(name).signal;
        self.uses.extend(place.line.map(|line| (signal, line)));
        signal
    }

    fn driven(&mut self, place: &Place, name: &str) -> Result<Signal, NetlistError> {
        let net = self.net(name);
        if let Some(line) = net.driver {
            let what = format!("net {} has a driver in line {line} already", quoted(name));
            let remedy = "give one of the two nets another name (case makes no difference)";
            return Err(NetlistError::new(place, what, remedy));
        }
        net.driver = place.line;
        Ok(net.signal)
    }

    fn finish(self) -> Result<Gates, NetlistError> {
        if self.gates.gates.is_empty() {
            let remedy = "a gate is a line like `y = NAND(a, b)`";
            return Err(NetlistError::new(&Place::file(self.file), "there is no gate", remedy));
        }
        let mut has_driver = vec![false; self.gates.names.len()];
        self.nets.values().for_each(|net| has_driver[net.signal] = net.driver.is_some());
        if let Some(&(signal, line)) = self.uses.iter().find(|(signal, _)| !has_driver[*signal]) {
            let name = quoted(&self.gates.names[signal]);
            let what = format!("net {name} has no driver");
            let remedy = format!("write INPUT({}), or give it a gate", self.gates.names[signal]);
            return Err(NetlistError::new(&Place::line(&self.file.into(), line), what, remedy));
        }
        Ok(self.gates)
    }
}

fn kind(word: &str) -> Option<GateKind> {
    Some(match word {
        "BUF" | "BUFF" => GateKind::Buffer,
        "NOT" | "INV" => GateKind::Not,
        "AND" => GateKind::And,
        "NAND" => GateKind::Nand,
        "OR" => GateKind::Or,
        "NOR" => GateKind::Nor,
        "XOR" => GateKind::Xor,
        "XNOR" => GateKind::Xnor,
        "DFF" => GateKind::FlipFlop,
        _ => return None,
    })
}

fn is_name(name: &str) -> bool {
    let is_delimiter = |c: char| c.is_whitespace() || c.is_control() || "()=,".contains(c);
    !name.is_empty() && !name.contains(is_delimiter)
}

fn one<'a>(place: &Place, word: &str, arguments: &[&'a str]) -> Result<&'a str, NetlistError> {
    let &[argument] = arguments else {
        let what = format!("{word} takes one net, not {}", arguments.len());
        return Err(NetlistError::new(place, what, "write a line for each net"));
    };
    Ok(argument)
}

fn no_statement(place: &Place, statement: &str) -> NetlistError {
    let what = format!("{} is no statement of a .bench file", quoted(statement));
    NetlistError::new(place, what, "write INPUT(a), OUTPUT(y) or y = NAND(a, b)")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn error(text: &str) -> String {
        read("a.bench", text).expect_err("a broken file").to_string()
    }

    #[test]
    fn statements_are_read_in_any_order_and_case() {
        let text = "# half adder\nOUTPUT(S)\noutput(C)\ns = xor(a, B)\nC=AND(A,b) # carry\n\
                    INPUT(a)\nINPUT(b)\nq = DFF(c)";
        let gates = read("a.bench", text).expect("a good file");
        assert_eq!(gates.names, ["s", "c", "a", "b", "q"]);
        assert_eq!((&gates.inputs[..], &gates.outputs[..]), (&[2, 3][..], &[0, 1][..]));
        let xor = Gate { kind: GateKind::Xor, output: 0, inputs: vec![2, 3] };
        assert_eq!(gates.gates[0], xor);
        assert!(gates.is_clocked());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_what_to_do() {
        assert_eq!(
            error("INPUT(a)\ny = NAND(a, b)\n"),
            "a.bench:2: net `b` has no driver; write INPUT(b), or give it a gate"
        );
        assert_eq!(
            error("INPUT(a)\ny = NOT(a)\nY = BUFF(a)"),
            "a.bench:3: net `Y` has a driver in line 2 already; give one of the two nets another \
             name (case makes no difference)"
        );
        assert_eq!(
            error("INPUT(a)\ny = MUX(a, a)"),
            "a.bench:2: there is no gate `MUX`; use AND, NAND, OR, NOR, XOR, XNOR, NOT, BUFF or DFF"
        );
        assert_eq!(
            error("\n\ny NOT(a)"),
            "a.bench:3: `y NOT(a)` is no statement of a .bench file; write INPUT(a), OUTPUT(y) or \
             y = NAND(a, b)"
        );
        assert_eq!(
            error("y = NOT(a, b)"),
            "a.bench:1: NOT takes one net, not 2; write a line for each net"
        );
        assert_eq!(
            error("y = AND(a, )"),
            "a.bench:1: `` is no name of a net in `y = AND(a, )`; write names without blanks and \
             brackets"
        );
        assert_eq!(
            error("# nothing"),
            "a.bench: there is no gate; a gate is a line like `y = NAND(a, b)`"
        );
        let wide = format!("INPUT(a)\ny = AND({})", vec!["a"; 65].join(","));
        assert_eq!(
            error(&wide),
            "a.bench:2: the gate `y` has 65 inputs; split it into gates of at most 64 inputs"
        );
    }

    /// Something like a line of a file.
    const LINE: &str = "(INPUT|OUTPUT|[a-c] = ?(NAND|DFF|xor))?[(=]?[a-c, #é]{0,5}[)]?";

    proptest! {
        #[test]
        fn no_text_makes_it_panic(
            lines in prop::collection::vec(LINE, 0..8),
        ) {
            if let Ok(gates) = read("a.bench", &lines.join("\n")) {
                prop_assert!(gates.gates.iter().all(|gate| !gate.inputs.is_empty()));
            }
        }
    }
}
