//! Crossings of half the supply voltage, compared with those of another simulator.

use std::fmt;

use warpline_circuits::{
    circuit::{Circuit, NetId, Source},
    workload::Workload,
};

use crate::traces::{Crossing, Crossings, Traces};

/// Crossings further apart than this part of their delay are not the same one.
const APART_MAX: f64 = 0.2;
/// ... or than this time (s), if that is longer.
const APART_ALWAYS: f64 = 20e-12;

/// Reads rows of `net,time,direction`, after a head.
pub(crate) fn from_csv(text: &str) -> Result<Crossings, String> {
    let mut crossings = Crossings::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let &[net, time, direction] = &fields[..] else { return Err(format!("{line}: 3 fields")) };
        let time = time.parse().map_err(|_| format!("{line}: no time"))?;
        let crossing = Crossing { time, is_rise: direction == "rise" };
        crossings.entry(net.to_owned()).or_default().push(crossing);
    }
    Ok(crossings)
}

/// The last crossing of each net in each period (s): where it settles.
pub(crate) fn last_of_periods(crossings: &Crossings, period: f64) -> Crossings {
    let number = |crossing: &Crossing| (crossing.time / period).floor();
    let of_net = |(net, times): (&String, &Vec<Crossing>)| {
        let groups = times.chunk_by(|a, b| number(a) == number(b));
        (net.clone(), groups.filter_map(|group| group.last().copied()).collect())
    };
    crossings.iter().map(of_net).collect()
}

/// How far crossings are from a reference.
#[derive(Clone, Debug, Default)]
pub(crate) struct Comparison {
    /// Crossings of the reference.
    pub(crate) reference: usize,
    pub(crate) missed: usize,
    pub(crate) extra: usize,
    /// Magnitudes of delay errors, sorted.
    pub(crate) errors: Vec<f64>,
    /// The mean of the errors with their signs.
    pub(crate) bias: f64,
}

impl Comparison {
    pub(crate) fn mean(&self) -> f64 {
        self.errors.iter().sum::<f64>() / self.errors.len() as f64
    }

    pub(crate) fn percentile(&self, part: f64) -> f64 {
        self.errors[((self.errors.len() as f64 * part) as usize).min(self.errors.len() - 1)]
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |part| self.percentile(part) * 100.0;
        write!(
            f,
            "{} crossings, {} missed, {} extra, delay error mean {:.2} %, p95 {:.2} %, \
             max {:.2} %, bias {:.2} %",
            self.reference,
            self.missed,
            self.extra,
            self.mean() * 100.0,
            percent(0.95),
            percent(1.0),
            self.bias * 100.0
        )
    }
}

/// The times at which inputs cross half the supply.
fn causes(circuit: &Circuit) -> Vec<f64> {
    let mut causes = Vec::new();
    let half = circuit.threshold();
    for source in &circuit.sources {
        let mut time = 0.0;
        while time < circuit.end {
            let line = source.waveform.line(time);
            if (line.first < half) != (line.last < half) {
                causes.push(line.from + (half - line.first) / line.slope());
            }
            time = line.to;
        }
    }
    causes.sort_unstable_by(f64::total_cmp);
    causes
}

/// Compares crossings with a reference.
pub(crate) fn compare(circuit: &Circuit, found: &Crossings, reference: &Crossings) -> Comparison {
    let causes = causes(circuit);
    let mut result = Comparison::default();
    for (net, expected) in reference {
        // Some outputs are inputs too: sources are not simulated.
        let is_fixed = |source: &Source| &circuit.nets[source.net.index()] == net;
        if circuit.sources.iter().any(is_fixed) {
            continue;
        }
        result.reference += expected.len();
        let none = Vec::new();
        let mut found = found.get(net).unwrap_or(&none).iter().peekable();
        for expected in expected {
            let before = causes.partition_point(|&cause| cause < expected.time);
            let delay = expected.time - before.checked_sub(1).map_or(0.0, |at| causes[at]);
            let apart = (APART_MAX * delay).max(APART_ALWAYS);
            while found.next_if(|found| found.time < expected.time - apart).is_some() {
                result.extra += 1;
            }
            let matches = |found: &&Crossing| {
                found.is_rise == expected.is_rise && found.time <= expected.time + apart
            };
            match found.next_if(matches) {
                Some(found) => {
                    let error = (found.time - expected.time) / delay;
                    result.bias += error;
                    result.errors.push(error.abs());
                }
                None => result.missed += 1,
            }
        }
        result.extra += found.count();
    }
    result.bias /= result.errors.len().max(1) as f64;
    result.errors.sort_unstable_by(f64::total_cmp);
    result
}

/// How many of the nets have not settled at their Boolean value.
pub(crate) fn wrong_values(workload: &Workload, traces: &Traces) -> usize {
    let half = workload.circuit.threshold();
    let settled = workload.settled.iter();
    let values =
        settled.flat_map(|settled| settled.values.iter().map(|value| (settled.time, value)));
    let is_wrong = |&(time, (net, value)): &(f64, &(NetId, bool))| {
        let trace = &traces[net];
        let after = trace.partition_point(|sample| sample.time <= time);
        (trace[after.saturating_sub(1)].value > half) != *value
    };
    values.filter(is_wrong).count()
}
