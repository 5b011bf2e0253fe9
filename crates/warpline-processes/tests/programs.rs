//! Random programs: processes that hold, queue, get, put, take, fill, signal, interrupt, spawn and
//! travel as a script says. The macro and a state machine that is written by hand come to the same,
//! and so do the engines.
//!
//! Mutations that turn these tests red: a wake-up whose generation is not looked at (PROC-A); a
//! queue that is not left at a timeout; a facility that is not saved.

use proptest::prelude::*;
use warpline::{
    Engine, Figure, Only, Results, SavingCheck, Sequential, Simulation, Speculative, TimeWarp,
};
use warpline_processes::{Observations, Processes};

#[path = "programs/script.rs"]
mod script;

use script::{Machine, Observed, Op, Script};

type Engines = ((Sequential, SavingCheck), (TimeWarp, Speculative));

fn op() -> impl Strategy<Value = Op> {
    let time = 0u8..8;
    prop_oneof![
        4 => time.clone().prop_map(|time| Op::Hold { time }),
        3 => (0u8..2, time.clone(), -1i8..2, any::<bool>()).prop_map(
            |(resource, patience, priority, preempts)| {
                Op::Use { resource, patience, priority, preempts }
            }
        ),
        2 => time.clone().prop_map(|patience| Op::Get { patience }),
        2 => time.clone().prop_map(|patience| Op::Put { patience }),
        1 => (1u8..4, time.clone()).prop_map(|(amount, patience)| Op::Take { amount, patience }),
        1 => (1u8..4, time.clone()).prop_map(|(amount, patience)| Op::Fill { amount, patience }),
        1 => time.clone().prop_map(|patience| Op::Wait { patience }),
        1 => Just(Op::Signal),
        1 => time.clone().prop_map(|patience| Op::Sleep { patience }),
        1 => any::<bool>().prop_map(|interrupts| Op::Wake { interrupts }),
        1 => (0u8..3).prop_map(|script| Op::Spawn { script }),
        2 => (0u8..3, 1u8..4).prop_map(|(to, time)| Op::Travel { to, time }),
    ]
}

fn scripts() -> impl Strategy<Value = Vec<Vec<Op>>> {
    prop::collection::vec(prop::collection::vec(op(), 1..7), 3)
}

/// The digest and the figures, bit for bit.
fn run(script: &Script, engine: impl Into<Engine>) -> (String, Vec<u64>) {
    let model = Only::<Engines, _>::new(Processes::new(script.clone()));
    let run = Simulation::new(model).engine(engine).seed(3).end(20.0).run();
    let report = run.unwrap_or_else(|error| panic!("{error}\n{script:?}"));
    let bits = |output: &Observations<Observed>| {
        output.figures().into_iter().map(|Figure { value, .. }| value.to_bits()).collect()
    };
    (report.digest.to_string(), bits(&report.output))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn macro_and_hand_and_engines_agree(scripts in scripts()) {
        let script = |machine| Script { machine, scripts: scripts.clone() };
        let by_macro = script(Machine::ByMacro);
        let right = run(&by_macro, Sequential::default());
        prop_assert_eq!(&run(&script(Machine::ByHand), Sequential::default()), &right);
        prop_assert_eq!(&run(&by_macro, SavingCheck), &right);
        let pin = false;
        let time_warp = TimeWarp { workers: 2, pin, gvt_interval: 8, ..TimeWarp::default() };
        prop_assert_eq!(&run(&by_macro, time_warp), &right);
        let speculative = Speculative { workers: 2, pin, ..Speculative::default() };
        prop_assert_eq!(&run(&by_macro, speculative), &right);
    }
}
