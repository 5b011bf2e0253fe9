//! Draws waveforms over those of another simulator: lines by Warpline, dots from a raw file.
//!
//! ```text
//! cargo run --release -p warpline-circuits --example picture -- DECK RAW NETS FROM TO OUT.svg
//! ```
//!
//! The deck is simulated, and the raw file is what `ngspice -b -r RAW DECK` wrote for it. NETS has
//! commas between names; FROM and TO are nanoseconds. Between two samples of a net its waveform is
//! a cubic, and so are the curves of SVG: the lines are exact.

use std::{
    error::Error,
    fmt::Write as _,
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use warpline::Simulation;
use warpline_circuits::{
    circuit::{Circuit, NetId, Sample},
    model::{CircuitModel, Options},
    netlist,
    process::Capacitances,
    stimuli::Stimuli,
};

#[path = "../tests/common/raw.rs"]
mod raw;

/// The sizes of the picture, in pixels: its width, the height of a net, and what is around them.
const WIDTH: f64 = 760.0;
const PANEL: f64 = 74.0;
const LEFT: f64 = 56.0;
const MARGIN: f64 = 24.0;
/// Pixels between two dots.
const DOTS_APART: f64 = 9.0;

/// From seconds and volts to pixels.
struct Scale {
    from: f64,
    to: f64,
    rails: [f64; 2],
}

impl Scale {
    fn x(&self, time: f64) -> f64 {
        LEFT + (time - self.from) / (self.to - self.from) * (WIDTH - LEFT - MARGIN)
    }

    fn y(&self, panel: usize, voltage: f64) -> f64 {
        let [low, high] = self.rails;
        let bottom = MARGIN + (panel + 1) as f64 * PANEL - 8.0;
        bottom - (voltage - low) / (high - low) * (PANEL - 16.0)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [deck, raw, nets, from, to, out] = &arguments[..] else {
        return Err("DECK RAW NETS FROM TO OUT.svg are needed".into());
    };
    let nets: Vec<&str> = nets.split(',').collect();
    let workload =
        netlist::read(Path::new(deck))?.workload(&Stimuli::default(), Capacitances::Explicit)?;
    let circuit = &workload.circuit;
    let find = |name: &&str| circuit.nets.iter().position(|net| net == name);
    let ids: Vec<NetId> = nets
        .iter()
        .map(|name| find(name).map(|net| NetId(net as u32)).ok_or(format!("no net {name}")))
        .collect::<Result<_, _>>()?;
    let samples = simulate(circuit, &ids)?;
    let reference = raw::parse(&fs::read(raw)?);
    let scale = Scale {
        from: from.parse::<f64>()? * 1e-9,
        to: to.parse::<f64>()? * 1e-9,
        rails: circuit.rails(),
    };
    let height = 2.0 * MARGIN + nets.len() as f64 * PANEL;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<title>Voltages of nets over time: lines by \
         Warpline, dots by ngspice</title>\n<rect width=\"{WIDTH}\" height=\"{height}\" \
         fill=\"#fff\"/>\n"
    );
    axis(&mut svg, &scale, nets.len())?;
    for (panel, (name, id)) in nets.iter().zip(&ids).enumerate() {
        frame(&mut svg, &scale, panel, name)?;
        let of_net: Vec<Sample> = samples.iter().filter(|s| s.net == *id).copied().collect();
        line(&mut svg, &scale, panel, &of_net)?;
        dots(&mut svg, &scale, panel, |time| reference.at(name, time))?;
    }
    legend(&mut svg)?;
    svg += "</svg>\n";
    fs::write(out, svg)?;
    Ok(())
}

/// The samples of these nets, in the order of their times.
fn simulate(circuit: &Circuit, nets: &[NetId]) -> Result<Vec<Sample>, Box<dyn Error>> {
    let samples: Arc<Mutex<Vec<Sample>>> = Arc::default();
    let sink = samples.clone();
    let model = CircuitModel::new(circuit, Options::default())?;
    let model = model.watch(
        nets.iter().copied(),
        Box::new(move |sample| sink.lock().expect("no panic").push(sample)),
    );
    Simulation::new(model.into_any()).end(circuit.end).run()?;
    let samples = std::mem::take(&mut *samples.lock().expect("no panic"));
    Ok(samples)
}

/// Nanoseconds below all nets.
fn axis(svg: &mut String, scale: &Scale, panels: usize) -> std::fmt::Result {
    let (top, bottom) = (MARGIN, MARGIN + panels as f64 * PANEL);
    let every = if scale.to - scale.from <= 1e-9 { 1 } else { 5 };
    let mut tenths = (scale.from * 1e10).round() as i64;
    while tenths as f64 * 1e-10 <= scale.to * (1.0 + 1e-12) {
        let x = scale.x(tenths as f64 * 1e-10);
        if tenths % every == 0 {
            writeln!(
                svg,
                "<path d=\"M{x:.1} {top}V{bottom}\" stroke=\"#ddd\"/><text x=\"{x:.1}\" \
                 y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + 14.0,
                tenths as f64 / 10.0
            )?;
        }
        tenths += 1;
    }
    writeln!(svg, "<text x=\"8\" y=\"{:.1}\">ns</text>", bottom + 14.0)
}

/// The name of a net, and its rails.
fn frame(svg: &mut String, scale: &Scale, panel: usize, name: &str) -> std::fmt::Result {
    let right = WIDTH - MARGIN;
    for rail in scale.rails {
        let y = scale.y(panel, rail);
        writeln!(
            svg,
            "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#bbb\"/><text x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"end\" fill=\"#777\">{rail} V</text>",
            LEFT - 4.0,
            y + 4.0
        )?;
    }
    let y = f64::midpoint(scale.y(panel, scale.rails[0]), scale.y(panel, scale.rails[1])) + 4.0;
    writeln!(svg, "<text x=\"8\" y=\"{y:.1}\" font-weight=\"bold\">{name}</text>")
}

/// The cubics between the samples as curves.
fn line(svg: &mut String, scale: &Scale, panel: usize, samples: &[Sample]) -> std::fmt::Result {
    let mut path = String::new();
    for pair in samples.windows(2) {
        let [a, b] = [pair[0], pair[1]];
        if b.time < scale.from || b.time > scale.to {
            continue;
        }
        if path.is_empty() {
            write!(path, "M{:.1} {:.1}", scale.x(a.time), scale.y(panel, a.value))?;
        }
        let third = (b.time - a.time) / 3.0;
        let points = [
            (a.time + third, a.value + third * a.slope),
            (b.time - third, b.value - third * b.slope),
            (b.time, b.value),
        ];
        path += "C";
        for (time, voltage) in points {
            write!(path, "{:.1} {:.1} ", scale.x(time), scale.y(panel, voltage))?;
        }
    }
    let last = samples.iter().rfind(|sample| sample.time <= scale.to);
    if let Some(last) = last.filter(|_| !path.is_empty()) {
        write!(path, "L{:.1} {:.1}", scale.x(scale.to), scale.y(panel, last.value))?;
    }
    let clip = scale.x(scale.from);
    writeln!(
        svg,
        "<svg x=\"{clip:.1}\" width=\"{:.1}\" viewBox=\"{clip:.1} 0 {:.1} 4000\" height=\"4000\" \
         overflow=\"hidden\"><path d=\"{}\" fill=\"none\" stroke=\"#0b62a4\" \
         stroke-width=\"1.6\"/></svg>",
        WIDTH - MARGIN - clip,
        WIDTH - MARGIN - clip,
        path.trim_end()
    )
}

/// What the other simulator says, as dots.
fn dots(
    svg: &mut String,
    scale: &Scale,
    panel: usize,
    voltage: impl Fn(f64) -> f64,
) -> std::fmt::Result {
    write!(svg, "<g fill=\"#d1495b\">")?;
    let (mut x, right) = (LEFT, WIDTH - MARGIN);
    while x <= right {
        let time = scale.from + (x - LEFT) / (right - LEFT) * (scale.to - scale.from);
        let y = scale.y(panel, voltage(time));
        write!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2\"/>")?;
        x += DOTS_APART;
    }
    writeln!(svg, "</g>")
}

fn legend(svg: &mut String) -> std::fmt::Result {
    let y = MARGIN - 10.0;
    writeln!(
        svg,
        "<path d=\"M{LEFT} {y}h24\" stroke=\"#0b62a4\" stroke-width=\"1.6\"/><text x=\"{}\" \
         y=\"{}\">Warpline</text><circle cx=\"{}\" cy=\"{y}\" r=\"2\" fill=\"#d1495b\"/><text \
         x=\"{}\" y=\"{}\">ngspice</text>",
        LEFT + 30.0,
        y + 4.0,
        LEFT + 100.0,
        LEFT + 108.0,
        y + 4.0
    )
}
