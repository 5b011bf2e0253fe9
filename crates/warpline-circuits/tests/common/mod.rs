//! Small circuits that tests build by hand.

use warpline_circuits::circuit::{
    Capacitor, Channel, Circuit, MosCard, NetId, Source, Transistor, Waveform,
};

/// The supply voltage of these circuits.
pub(crate) const VDD: f64 = 3.3;

/// A circuit under construction: ground, a supply, and both cards.
pub(crate) struct Builder(pub(crate) Circuit);

fn card(channel: Channel, vto: f64, kp: f64, gamma: f64, phi: f64, lambda: f64) -> MosCard {
    MosCard {
        name: format!("{channel:?}").to_lowercase(),
        channel,
        vto,
        kp,
        gamma,
        phi,
        lambda,
        oxide: 0.0,
        lateral_diffusion: 0.0,
        cgso: 0.0,
        cgdo: 0.0,
        cgbo: 0.0,
        cj: 0.0,
        mj: 0.5,
        cjsw: 0.0,
        mjsw: 0.33,
        pb: 0.8,
    }
}

impl Builder {
    pub(crate) fn new() -> Self {
        let mut builder = Self(Circuit { end: 10e-9, ..Circuit::default() });
        builder.net("0");
        builder.0.cards = vec![
            card(Channel::N, 0.7, 1.343e-4, 0.45, 0.9, 0.1),
            card(Channel::P, -0.8, 3.84e-5, 0.4, 0.8, 0.2),
        ];
        let vdd = builder.net("vdd");
        builder.source(vdd, Waveform::Constant(VDD));
        builder
    }

    pub(crate) fn net(&mut self, name: &str) -> NetId {
        if let Some(known) = self.0.nets.iter().position(|net| net == name) {
            return NetId(known as u32);
        }
        self.0.nets.push(name.to_owned());
        NetId(self.0.nets.len() as u32 - 1)
    }

    pub(crate) fn source(&mut self, net: NetId, waveform: Waveform) {
        let name = format!("v{}", self.0.nets[net.index()]);
        self.0.sources.push(Source { name, net, waveform });
    }

    pub(crate) fn capacitor(&mut self, net: NetId, capacitance: f64) {
        let name = format!("c{}", self.0.capacitors.len());
        let reference = NetId::GROUND;
        self.0.capacitors.push(Capacitor { name, net, reference, capacitance });
    }

    /// A transistor, with explicit capacitances at its terminals.
    pub(crate) fn mos(&mut self, channel: Channel, [d, g, s]: [NetId; 3], width: f64) {
        let vdd = self.net("vdd");
        self.0.transistors.push(Transistor {
            name: format!("m{}", self.0.transistors.len()),
            drain: d,
            gate: g,
            source: s,
            bulk: if channel == Channel::N { NetId::GROUND } else { vdd },
            card: usize::from(channel == Channel::P),
            width,
            length: 0.5e-6,
            junction_areas: [0.0; 2],
            junction_perimeters: [0.0; 2],
        });
        let fixed: Vec<NetId> = self.0.sources.iter().map(|source| source.net).collect();
        let loads = [(g, 3.84e-3 * width * 0.5e-6), (d, 0.8e-9 * width), (s, 0.8e-9 * width)];
        for (net, load) in loads {
            if net != NetId::GROUND && !fixed.contains(&net) {
                self.capacitor(net, load);
            }
        }
    }

    pub(crate) fn inverter(&mut self, from: NetId, to: NetId) {
        let vdd = self.net("vdd");
        self.mos(Channel::N, [to, from, NetId::GROUND], 1.5e-6);
        self.mos(Channel::P, [to, from, vdd], 3e-6);
        self.capacitor(to, 5e-15);
    }

    /// Inverters one after the other; returns their nets, from the input on.
    pub(crate) fn chain(&mut self, stages: usize, input: Waveform) -> Vec<NetId> {
        let nets: Vec<NetId> = (0..=stages).map(|at| self.net(&format!("n{at}"))).collect();
        self.source(nets[0], input);
        for pair in nets.windows(2) {
            self.inverter(pair[0], pair[1]);
        }
        nets
    }
}

/// A voltage that changes at these times, within 0.2 ns, from 0 up and down again.
pub(crate) fn edges(times: &[f64]) -> Waveform {
    let mut points = vec![(0.0, 0.0)];
    for (number, &time) in times.iter().enumerate() {
        let (from, to) = if number % 2 == 0 { (0.0, VDD) } else { (VDD, 0.0) };
        points.extend([(time, from), (time + 0.2e-9, to)]);
    }
    Waveform::PiecewiseLinear(points)
}
