//! The waveforms of a few nets as a picture of a run's result.
//!
//! The [model](crate::model) keeps a [`Trace`] of each net that is drawn; its result has the lanes,
//! which whoever shows the report draws.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use warpline::picture::{Picture, Shape};

use crate::{
    circuit::{Channel, Circuit, NetId, Sample, Waveform},
    trace::Trace,
    waveform::{Column, Columns, Cubic},
};

/// The most nets that a picture has.
const NETS_MAX: usize = 12;
/// How many of them may be inputs, where there are more outputs than there is room for.
const INPUTS: usize = 4;
/// The columns of a picture: few hundred points draw the waveform of a net.
const COLUMNS: usize = 480;
/// Voltages are shown in these parts of a volt: less than anyone sees.
const PARTS_OF_A_VOLT: f64 = 1000.0;

/// Which nets are drawn, and over which time.
#[derive(Clone, Debug)]
pub(crate) struct Drawing {
    pub(crate) columns: Columns,
    pub(crate) nets: Vec<NetId>,
    names: Vec<String>,
    /// The voltages of the nets that have a source.
    fixed: Vec<Option<Waveform>>,
    /// What is shown, and what is not.
    meaning: String,
}

/// The waveform of a net of one process, up to the end of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Drawn {
    pub(crate) net: u32,
    pub(crate) columns: Vec<(usize, Column)>,
}

/// The waveforms of the nets of a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Waveforms {
    columns: Columns,
    names: Vec<String>,
    lanes: Vec<Vec<(usize, Column)>>,
    meaning: String,
}

impl Drawing {
    /// A drawing of the nets that are saved or else of inputs and outputs, up to a time (s);
    /// nothing if there is no such net or no such time.
    pub(crate) fn new(circuit: &Circuit, outputs: &[NetId], end: f64) -> Option<Self> {
        let (nets, meaning) = choose(circuit, outputs);
        if nets.is_empty() || !(end > 0.0 && end.is_finite()) {
            return None;
        }
        let ground = Waveform::Constant(0.0);
        let fixed = |&net: &NetId| {
            let source = circuit.sources.iter().find(|source| source.net == net);
            let waveform = source.map(|source| &source.waveform);
            waveform.or((net == NetId::GROUND).then_some(&ground)).cloned()
        };
        Some(Self {
            columns: Columns { end, count: COLUMNS },
            names: nets.iter().map(|net| circuit.nets[net.index()].clone()).collect(),
            fixed: nets.iter().map(fixed).collect(),
            nets,
            meaning,
        })
    }

    /// The waveforms of all nets: those that processes have drawn, and those of sources.
    pub(crate) fn finish(&self, drawn: Vec<Drawn>) -> Waveforms {
        let columns = self.columns;
        // Sources go on; what is shown of them ends where the run did.
        let reached = drawn.iter().filter_map(|drawn| Some(drawn.columns.last()?.0)).max();
        let mut lanes = vec![Vec::new(); self.nets.len()];
        for Drawn { net, columns } in drawn {
            if let Some(lane) = self.nets.iter().position(|known| known.0 == net) {
                lanes[lane] = columns;
            }
        }
        for (lane, waveform) in lanes.iter_mut().zip(&self.fixed) {
            if let Some(waveform) = waveform {
                *lane = of_source(waveform, columns);
                lane.retain(|(index, _)| reached.is_none_or(|reached| *index <= reached));
            }
        }
        Waveforms { columns, lanes, names: self.names.clone(), meaning: self.meaning.clone() }
    }
}

/// The columns of a source's waveform.
fn of_source(waveform: &Waveform, columns: Columns) -> Vec<(usize, Column)> {
    let mut trace = Trace::new(0);
    let mut time = 0.0;
    while time < columns.end {
        let line = waveform.line(time);
        let to = line.to.min(columns.end);
        let at =
            |time| Sample { time, net: NetId::GROUND, value: line.at(time), slope: line.slope() };
        trace.follow(&Cubic::between(&at(time), &at(to)), columns);
        time = line.to;
    }
    trace.finish(columns.end, columns)
}

/// The nets that are drawn, from the top, and what to say of them.
fn choose(circuit: &Circuit, outputs: &[NetId]) -> (Vec<NetId>, String) {
    let exists = |net: &NetId| net.index() < circuit.nets.len();
    let distinct = |nets: &mut dyn Iterator<Item = NetId>| {
        let mut distinct = Vec::new();
        for net in nets.filter(exists) {
            if !distinct.contains(&net) {
                distinct.push(net);
            }
        }
        distinct
    };
    let saved = distinct(&mut circuit.saved.iter().copied());
    let (mut nets, all, what) = if saved.is_empty() {
        let moving =
            |source: &&crate::circuit::Source| !matches!(source.waveform, Waveform::Constant(_));
        let mut inputs = distinct(&mut circuit.sources.iter().filter(moving).map(|s| s.net));
        let found = if outputs.is_empty() { ends(circuit) } else { outputs.to_vec() };
        let outputs = distinct(&mut found.into_iter().filter(|net| !inputs.contains(net)));
        let all = inputs.len() + outputs.len();
        inputs.truncate(INPUTS.max(NETS_MAX.saturating_sub(outputs.len())));
        ([inputs, outputs].concat(), all, "inputs that change and of outputs")
    } else {
        let all = saved.len();
        (saved, all, "saved nets")
    };
    nets.truncate(NETS_MAX);
    let meaning = match nets.len() {
        shown if shown == all => format!("Voltages of {what}: all {all}."),
        shown => {
            format!("Voltages of {what}: {shown} of {all}. To see others, name them with `save`.")
        }
    };
    (nets, meaning)
}

/// The nets between channels of both kinds that drive no gate: the outputs of a deck that names
/// none; all nets between channels of both kinds if there are no such.
fn ends(circuit: &Circuit) -> Vec<NetId> {
    const N: u8 = 1;
    const P: u8 = 2;
    const GATE: u8 = 4;
    let mut uses = vec![0_u8; circuit.nets.len()];
    for transistor in &circuit.transistors {
        uses[transistor.gate.index()] |= GATE;
        let kind = match circuit.cards[transistor.card].channel {
            Channel::N => N,
            Channel::P => P,
        };
        uses[transistor.drain.index()] |= kind;
        uses[transistor.source.index()] |= kind;
    }
    for source in &circuit.sources {
        uses[source.net.index()] = 0;
    }
    let of = |wanted: &[u8]| {
        let nets = (1..uses.len()).filter(|&net| wanted.contains(&uses[net]));
        nets.map(|net| NetId(net as u32)).collect::<Vec<_>>()
    };
    let ends = of(&[N | P]);
    if ends.is_empty() { of(&[N | P | GATE]) } else { ends }
}

impl Waveforms {
    /// The picture.
    pub(crate) fn picture(&self) -> Picture {
        let (unit, scale) = self.columns.unit();
        let place = |columns: f64| rounded(columns * self.columns.width() * scale, 1e5);
        let line = |lane: &Vec<(usize, Column)>| {
            let mut points: Vec<[f64; 2]> = Vec::new();
            for &(index, column) in lane {
                let left = index as f64;
                let beyond = column.beyond().map(|volts| [left + 0.5, volts]);
                let ends = [[left, column.first], [left + 1.0, column.last]];
                for [at, volts] in [ends[0]].into_iter().chain(beyond).chain([ends[1]]) {
                    append(&mut points, [place(at), rounded(volts, PARTS_OF_A_VOLT)]);
                }
            }
            points
        };
        Picture {
            title: Cow::Borrowed("Waveforms"),
            meaning: Cow::Owned(self.meaning.clone()),
            unit: Cow::Borrowed("V"),
            shape: Shape::Lanes {
                axis: Cow::Owned(format!("time in {unit}")),
                names: self.names.clone(),
                lines: self.lanes.iter().map(line).collect(),
            },
        }
    }
}

/// Appends a point to a line, without points within its level parts.
fn append(points: &mut Vec<[f64; 2]>, point: [f64; 2]) {
    if points.last_chunk().is_some_and(|[a, b]| a[1] == b[1] && b[1] == point[1]) {
        points.pop();
    }
    if points.last() != Some(&point) {
        points.push(point);
    }
}

fn rounded(number: f64, parts: f64) -> f64 {
    (number * parts).round() / parts
}
