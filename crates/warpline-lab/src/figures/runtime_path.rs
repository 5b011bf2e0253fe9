//! Figure 5 of the portable-runtime paper beyond the cores of this machine: what the critical paths
//! of the circuits allow on up to 64 processors.
//!
//! [`runtime_fig5`](super::runtime_fig5) measures the engines on the cores that there are. This
//! figure runs the engine `profile`, whose schedules are bounds: they can refute what the paper
//! found, for circuits that are divided as ours, and cannot confirm it.

use warpline::{Profile, Simulation, report::CriticalPath, settings::Cost};

use super::circuits::{Circuit, Circuits};
use crate::{
    Axis, Basis, Bounds, Claim, Constant, Curve, Dot, Figure, Findings, Lab, LabError, Plot,
    Source, Table,
};

/// The bounds of figure 5.
#[derive(Debug)]
pub struct RuntimePath;

const MOST: usize = 64;
/// Events that a message between processors takes in the last curve.
const LATENCY: u64 = 1;
/// The paper's processors, and the speed-up of the circuit with small subcircuits and of the one
/// with large ones: on a Paragon, a CM5 and an SP2.
const PAPER: [(usize, [f64; 2]); 3] = [(8, [5.0, 5.0]), (32, [20.0, 20.0]), (64, [41.0, 33.0])];
const BOUND: Basis = Basis::Bound(
    "it is what the longest chains of events allow, if all events take the same time and nothing \
     else takes any",
);

/// The paths of a circuit: messages take no time, and [`LATENCY`].
struct Paths<'a> {
    circuit: &'a str,
    free: CriticalPath,
    late: CriticalPath,
}

fn path(circuit: &Circuit, end: f64, latency: u64) -> Result<CriticalPath, LabError> {
    let what = || format!("runtime-fig5-path, {}", circuit.name);
    let failed = |source| LabError::Run { what: what(), source: Box::new(source) };
    let model = circuit.params.model().map_err(|error| failed(error.into()))?;
    let engine = Profile { cost: Cost::Events, latency };
    let report = Simulation::new(model).engine(engine).end(end).run().map_err(failed)?;
    let path = report.details.critical_path;
    Ok(path.unwrap_or_else(|| unreachable!("the engine `profile` finds the path")))
}

impl Paths<'_> {
    /// The bounds by the number of processors: any handles any event, LPs are placed, and messages
    /// take time as well.
    fn curves(&self) -> [(String, Vec<(usize, f64)>); 3] {
        let of = |path: &CriticalPath, placed: bool| {
            let known = path.speedups.iter().filter(|known| known.workers <= MOST);
            known.map(|s| (s.workers, if placed { s.placed } else { s.speedup })).collect()
        };
        let Self { circuit, free, late } = self;
        [
            (format!("{circuit}, any processor"), of(free, false)),
            (format!("{circuit}, placed"), of(free, true)),
            (format!("{circuit}, placed, messages take an event"), of(late, true)),
        ]
    }
}

/// By the bounds of the circuit with small subcircuits and of the one with large ones, if any
/// processor handles any event.
fn claims(bounds: &[(String, Vec<(usize, f64)>); 2]) -> Vec<Claim> {
    let claim = |(processors, wanted): (usize, [f64; 2])| {
        let text = format!("on {processors} processors the speed-up is above the paper's");
        let claim = Claim::of_paper(text).with_basis(BOUND);
        bounds.iter().zip(wanted).fold(claim, |claim, ((curve, bounds), wanted)| {
            let bound = bounds.iter().find(|(workers, _)| *workers == processors);
            match bound {
                Some(&(_, bound)) => claim.test(curve, bound, Bounds::Above(wanted)),
                None => claim,
            }
        })
    };
    PAPER.into_iter().map(claim).collect()
}

impl Figure for RuntimePath {
    fn name(&self) -> &'static str {
        "runtime-fig5-path"
    }

    fn title(&self) -> &'static str {
        "Circuits: the speed-up that the critical path allows on up to 64 processors"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let circuits = Circuits::of(lab);
        let mut paths = Vec::new();
        for circuit in circuits.all() {
            let (free, late) =
                (path(circuit, circuits.end, 0)?, path(circuit, circuits.end, LATENCY)?);
            paths.push(Paths { circuit: &circuit.name, free, late });
        }
        let all: Vec<_> = paths.iter().flat_map(Paths::curves).collect();
        let [small, large] = [0, 1].map(|nth: usize| paths[nth].curves()[0].clone());
        let remark = |path: &Paths<'_>| {
            let CriticalPath { events, length, .. } = path.free;
            let most = path.free.parallelism();
            format!(
                "{}: {events} events, the longest chain {length}; at most {most:.2}.",
                path.circuit
            )
        };
        let y = "speed-up at most";
        let ticks = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
        Ok(Findings {
            claims: claims(&[small, large]),
            table: table(y, &all),
            plot: Plot {
                title: "Two circuits, bounds".to_owned(),
                x: Axis::new("processors").with_ticks(ticks).logarithmic(),
                y: Axis::new(y),
                curves: all.iter().map(|(name, bounds)| curve(name, bounds)).collect(),
            },
            paper: "Wen and Yelick 1995, figure 5: against the parallel program on one processor \
                    the speed-up was over 5 on 8 nodes of the Paragon and over 20 on 32 of the CM5 \
                    with both circuits, and over 41 (C2670) and 33 (register file) on 64 of the \
                    SP2.",
            setup: format!(
                "{}. The engine `profile` runs them and finds the longest chains of events, and \
                 schedules for up to {MOST} processors. An event is one of a process of up to 32 \
                 subcircuits, where the paper's were of a subcircuit each; all events take the \
                 same time. An engine takes more: queues, null messages, and waiting for what \
                 turns out not to come.",
                circuits.describe()
            ),
            source: Source::Computed,
            constants: constants(&circuits),
            remarks: paths.iter().map(remark).collect(),
        })
    }
}

fn constants(circuits: &Circuits) -> Vec<Constant> {
    let mut constants = circuits.constants();
    constants.extend([
        Constant::paper("8, 32 and 64 processors, and the speed-up with them", "section 5"),
        Constant::ours(
            format!("a message takes {LATENCY} event in the last curve"),
            "told, and no claim is about it",
        ),
    ]);
    constants
}

fn curve(name: &str, bounds: &[(usize, f64)]) -> Curve {
    let dot =
        |&(workers, y): &(usize, f64)| Dot { x: workers as f64, y, low: y, high: y, hollow: false };
    Curve::new(name.to_owned(), bounds.iter().map(dot).collect())
}

fn table(y: &str, curves: &[(String, Vec<(usize, f64)>)]) -> Table {
    let rows = curves.iter().flat_map(|(name, bounds)| {
        bounds.iter().map(move |(workers, bound)| {
            vec![name.clone(), workers.to_string(), format!("{bound:.2}")]
        })
    });
    Table { header: ["curve", "processors", y].map(str::to_owned).into(), rows: rows.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;

    /// A bound above the paper's number confirms nothing, and one below refutes it.
    #[test]
    fn bounds_refute_and_do_not_confirm() {
        let verdicts = |bound: fn(usize) -> f64| {
            let of = |name: &str| {
                (name.to_owned(), [8, 32, 64].map(|workers| (workers, bound(workers))).into())
            };
            claims(&[of("small"), of("large")]).iter().map(Claim::verdict).collect::<Vec<_>>()
        };
        assert_eq!(verdicts(|workers| workers as f64), [Verdict::Possible; 3]);
        assert_eq!(verdicts(|_| 4.0), [Verdict::No; 3]);
        // At 64 the two circuits of the paper differ.
        let between = verdicts(|workers| if workers == 64 { 40.0 } else { 21.0 });
        assert_eq!(between, [Verdict::Possible, Verdict::Possible, Verdict::Partly(1, 2)]);
    }
}
