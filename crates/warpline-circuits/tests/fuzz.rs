//! No netlist makes the readers panic, hang or grow without bound.
//!
//! `PROPTEST_CASES=1000000 cargo test -p warpline-circuits --test fuzz` tries four million of them,
//! in less than three minutes.

use std::{cell::Cell, io};

use proptest::{prelude::*, sample::Index};
use warpline_circuits::{
    bench,
    export::{self, Accuracy},
    logic::Evaluation,
    process::Capacitances,
    spice,
    stimuli::Stimuli,
    workload::Workload,
};

/// Bytes, about, that an expanded deck may take here.
const BUDGET: usize = 1 << 18;

/// Decks with everything that is read.
const DECKS: &[&str] = &[
    "inverter\n.include cards.lib\n.tran 10p 10n 0 1p\nvdd vdd 0 3.3\n\
     va a 0 dc 0 pulse(0 3.3 1n 0.2n 0.2n 4n 10n)\nmn y a 0 0 nch w=1u l=0.5u ad=1p pd=2u\n\
     mp y a vdd vdd pch w=2u l=0.5u m=2\ncy y 0 10f\n.ic v(y)=3.3\n\
     .measure tran d trig v(a) val='3.3/2' rise=1 targ v(y) val=1.65 fall=last td=1n\n\
     .save v(y) a\n.print tran v(y)\n.options reltol=1e-4 method=gear\n.temp 27\n.end\n",
    "hierarchy\n.param wn=1u beta={ratio*2} ratio=2 ; comment\n.global vdd\n\
     .subckt inv in out w={wn} extra=0\n.param wp='w*beta'\n.model own nmos kp={w*10}\n\
     .subckt load a\nc1 a 0 {1f + max(extra, 0)}\nr1 a inner 1k\nc2 inner 0 1f\n.ends load\n\
     m1 out in 0 0 own w=w l=0.5u\nm2 out in vdd vdd pch w={wp}\n+ l=0.5u\nx1 out load\n\
     .ic v(out)=0\n.ends inv\n.model pch pmos (level=1 vto=-0.8 tox=9n nsub=1e16)\n\
     x1 a b inv\nx2 b c inv params: w=3u extra={wn > 0 ? 1f : 0}\nv1 vdd 0 3.3\n\
     va a vdd pwl(0 0 1n -3.3 2n 0)\n* comment\n.tran 1p 5n\n.control\nrun\n.endc\n.end\n",
];

/// Words of decks, for soups of them.
const WORDS: &[&str] = &[
    "m1",
    "m2",
    "r1",
    "c1",
    "v1",
    "x1",
    "x2",
    "l1",
    "d1",
    "a",
    "b",
    "0",
    "vdd",
    "nch",
    "s",
    "1",
    "1u",
    "10f",
    "-1",
    "4k7",
    "1e999",
    "=",
    "w=1u",
    "l=1u",
    "m=2",
    "(",
    ")",
    "{",
    "}",
    "'",
    "{1/0}",
    "{p}",
    "p=1",
    "p={q}",
    "q={p}",
    "dc",
    "pulse",
    "pwl",
    "(0 1 1n 1n 1n 1n 9n)",
    "v(a)",
    "v(",
    ".param",
    ".subckt",
    ".ends",
    ".model",
    "nmos",
    "pmos",
    "level=1",
    ".ic",
    ".tran",
    "1p 1n",
    ".measure",
    "tran",
    "trig",
    "targ",
    "val=1",
    "rise=1",
    "fall=last",
    ".include",
    "loop.lib",
    "cards.lib",
    ".global",
    ".save",
    ".option",
    ".temp",
    ".end",
    ".control",
    ".endc",
    "*",
    ";",
    "$",
    "+",
    ",",
    "\n",
    "\n",
    "\n",
    "\n",
    "\n+",
    "\r\n",
    "\t",
    "é",
    "\u{0}",
    "params:",
    "**",
    "?",
    ":",
    "max(1,2)",
];

const GATES: &str = "# gates\nINPUT(a)\nINPUT(b)\nOUTPUT(y)\nn = NAND(a, b)\ny = XOR(n, q, a)\n\
                     q = DFF(z)\nz = nor(y, n)\nx = BUFF(z)\nw = XNOR(x, y)\n";

/// A change of a text.
#[derive(Clone, Debug)]
enum Change {
    Delete(Index, Index),
    Insert(Index, &'static str),
    Repeat(Index, Index),
    Replace(Index, char),
    SwapLines(Index, Index),
    DeleteLine(Index),
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<Index>;
    prop_oneof![
        (index(), index()).prop_map(|(a, b)| Change::Delete(a, b)),
        (index(), prop::sample::select(WORDS)).prop_map(|(at, word)| Change::Insert(at, word)),
        (index(), index()).prop_map(|(a, b)| Change::Repeat(a, b)),
        (index(), any::<char>()).prop_map(|(at, c)| Change::Replace(at, c)),
        (index(), index()).prop_map(|(a, b)| Change::SwapLines(a, b)),
        index().prop_map(Change::DeleteLine),
    ]
}

fn changed(text: &str, changes: &[Change]) -> String {
    const LENGTH_MAX: usize = 64;
    let mut text: Vec<char> = text.chars().collect();
    for change in changes {
        let length = text.len().max(1);
        let range = |a: &Index, b: &Index| {
            let from = a.index(length).min(text.len());
            from..(from + b.index(LENGTH_MAX)).min(text.len())
        };
        match change {
            Change::Delete(a, b) => drop(text.drain(range(a, b))),
            Change::Insert(at, word) => {
                let at = at.index(length).min(text.len());
                text.splice(at..at, format!(" {word} ").chars());
            }
            Change::Repeat(a, b) => {
                let part = text[range(a, b)].to_vec();
                let at = range(a, b).end;
                text.splice(at..at, part);
            }
            Change::Replace(at, c) => {
                if let Some(old) = text.get_mut(at.index(length)) {
                    *old = *c;
                }
            }
            Change::SwapLines(a, b) => {
                text = with_lines(&text, |lines| {
                    let [a, b] = [a, b].map(|line| line.index(lines.len()));
                    lines.swap(a, b);
                })
            }
            Change::DeleteLine(at) => {
                text = with_lines(&text, |lines| {
                    lines.remove(at.index(lines.len()));
                })
            }
        }
    }
    text.into_iter().collect()
}

/// The text with its lines changed, if it has any.
fn with_lines(text: &[char], change: impl FnOnce(&mut Vec<&str>)) -> Vec<char> {
    let text: String = text.iter().collect();
    let mut lines: Vec<&str> = text.lines().collect();
    if !lines.is_empty() {
        change(&mut lines);
    }
    lines.join("\n").chars().collect()
}

/// Reads a deck; what is accepted has to survive its export.
fn read_deck(text: &str) -> Result<(), TestCaseError> {
    let files = Cell::new(0);
    let mut include = |_: &str, name: &str| {
        files.set(files.get() + 1);
        let text = match name {
            "cards.lib" => {
                ".model nch nmos (vto=0.7 uo=350 tox=9n)\n.model pch pmos vto=-0.8 kp=40u"
            }
            "loop.lib" => ".include loop.lib\n.include loop.lib",
            _ => return Err(io::ErrorKind::NotFound.into()),
        };
        Ok((name.to_owned(), text.to_owned()))
    };
    let result = spice::read_within("a.cir", text, &mut include, BUDGET);
    prop_assert!(files.get() <= 5000, "{} files were read", files.get());
    match result {
        Err(error) => {
            let message = error.to_string();
            let is_named = message.starts_with("a.cir") || error.place.file.ends_with(".lib");
            let is_short = error.others.len() <= 20 && message.len() < 1000 * 21;
            prop_assert!(is_named && is_short, "{message}");
        }
        Ok(deck) => {
            let circuit = deck.circuit;
            let elements = circuit.transistors.len() + circuit.resistors.len();
            prop_assert!(elements <= BUDGET / 256);
            let mut bytes = Vec::new();
            export::write(&circuit, &Accuracy::default(), &mut bytes).expect("memory is there");
            let written = String::from_utf8(bytes).expect("a deck is text");
            let again = spice::read_within("b.cir", &written, &mut include, 2 * BUDGET);
            let again =
                again.map_err(|error| TestCaseError::fail(format!("{error}\n{written}")))?;
            prop_assert_eq!(again.circuit.transistors.len(), circuit.transistors.len());
            prop_assert_eq!(again.circuit.sources.len(), circuit.sources.len());
        }
    }
    Ok(())
}

fn read_gates(text: &str) {
    if let Ok(gates) = bench::read("a.bench", text) {
        let stimuli = Stimuli { vectors: 2, ..Stimuli::default() };
        let workload = Workload::of_gates(&gates, &stimuli, Capacitances::Explicit);
        assert!(workload.is_ok(), "the stimuli are in range");
        Evaluation::new(&gates).settle(&vec![true; gates.inputs.len()]);
    }
}

fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { cases: config.cases.max(3000), ..config }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn changed_decks(
        deck in prop::sample::select(DECKS),
        changes in prop::collection::vec(change(), 1..6),
    ) {
        read_deck(&changed(deck, &changes))?;
    }

    #[test]
    fn soups_of_words(words in prop::collection::vec(prop::sample::select(WORDS), 1..60)) {
        read_deck(&format!("soup\n.tran 1p 1n\n{}", words.join(" ")))?;
    }

    #[test]
    fn any_text(text in "\\PC{0,60}(\n\\PC{0,60}){0,4}") {
        read_deck(&text)?;
        read_gates(&text);
    }

    #[test]
    fn changed_gates(changes in prop::collection::vec(change(), 1..6)) {
        read_gates(&changed(GATES, &changes));
    }
}

#[test]
fn the_decks_are_good_before_they_are_changed() {
    for deck in DECKS {
        read_deck(deck).expect("a deck");
        let mut include = |_: &str, name: &str| {
            Ok((name.to_owned(), ".model nch nmos\n.model pch pmos".to_owned()))
        };
        let result = spice::read("a.cir", deck, &mut include);
        assert!(result.is_ok(), "{}", result.expect_err("refused"));
    }
    assert!(bench::read("a.bench", GATES).is_ok());
}
