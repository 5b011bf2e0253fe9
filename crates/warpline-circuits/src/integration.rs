//! One step of a subcircuit without Newton's iteration, of second order.
//!
//! Called by [`subcircuit`](crate::subcircuit) and by the [operating
//! point](crate::operating_point). The voltages in the middle of the step are extrapolated; there,
//! each transistor becomes a conductance; the linear equations `C w' = -G w + J` that are left are
//! integrated from the voltages at the beginning, exactly for one node and by a method that is
//! L-stable and of second order (SDIRK2) for more. The extrapolation is off by O(h²), which changes
//! the conductances by as much and the result by O(h³).
//!
//! # Invariants
//!
//! - **STEP-A.** Slopes that are correct to O(h) lead to voltages that are correct to O(h³) and to
//!   slopes that are again correct to O(h).
//!
//! # References
//!
//! Lin, Kuh, Marek-Sadowska, IEEE TCAD 12(5), 1993: a local error of third order by one linear
//! solution. Alexander, *Diagonally Implicit Runge-Kutta Methods for Stiff O.D.E.'s*, SIAM J.
//! Numer. Anal. 14(6), 1977: SDIRK2.

use crate::network::{Edge, Node, Switch, Template};

/// The parameter of SDIRK2, 1 - 1/√2.
const GAMMA: f64 = 1.0 - std::f64::consts::FRAC_1_SQRT_2;
/// A magnitude below which a voltage is 0 (V): numbers that are nearly 0 make a processor slow.
const VOLTAGE_MIN: f64 = 1e-12;
/// The same for slopes (V/s).
const SLOPE_MIN: f64 = 1e-3;
/// The most that an extrapolated voltage may lie beyond the rails (V).
const BEYOND_RAILS: f64 = 0.3;

/// Space for one step; kept for its memory. One is enough for all subcircuits.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// By place: voltages in the middle of the step.
    places: Vec<f64>,
    /// By node or input: slopes.
    slopes: Vec<f64>,
    matrix: Vec<f64>,
    /// By node: the current into it, and first the one at the beginning of the step.
    currents: Vec<f64>,
    /// By node: the current that flows in per volt that the node falls, times the voltage of where
    /// it comes from.
    supply: Vec<f64>,
    stages: [Vec<f64>; 2],
    /// Voltages and slopes before a step that may be done again.
    kept: Vec<f64>,
}

/// What a step tells besides the new voltages and slopes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stepped {
    /// The greatest difference of a voltage from its linear extrapolation (V).
    pub(crate) error: f64,
    /// The energy that came from inputs and constants (J).
    pub(crate) energy: f64,
}

/// A node that is held at a voltage, and how strongly (S).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    pub(crate) node: u32,
    pub(crate) voltage: f64,
    pub(crate) conductance: f64,
}

impl Scratch {
    /// Makes room for a template, and returns the places for the voltages and slopes of inputs in
    /// the middle of the step.
    #[inline]
    pub(crate) fn open(&mut self, template: &Template) -> (&mut [f64], &mut [f64]) {
        let (nodes, inputs) = (template.nodes, template.inputs);
        let places = nodes + inputs + template.constants.len();
        if self.places.len() < places || self.matrix.len() < template.pattern.len() {
            self.grow(places, template.pattern.len());
        }
        self.places[nodes + inputs..places].copy_from_slice(&template.constants);
        (&mut self.places[nodes..nodes + inputs], &mut self.slopes[nodes..nodes + inputs])
    }

    #[cold]
    fn grow(&mut self, places: usize, matrix: usize) {
        let Self { places: old, slopes, currents, supply, stages: [first, second], .. } = self;
        let places = places.max(old.len());
        for numbers in [old, slopes, currents, supply, first, second] {
            numbers.resize(places, 0.0);
        }
        let matrix = matrix.max(self.matrix.len());
        self.matrix.resize(matrix, 0.0);
    }

    /// Keeps the voltages and slopes from before a step.
    #[inline]
    pub(crate) fn keep(&mut self, nodes: &[f64]) {
        self.kept.clear();
        self.kept.extend_from_slice(nodes);
    }

    /// Gives back what was kept.
    #[cold]
    pub(crate) fn restore(&self, nodes: &mut [f64]) {
        nodes.copy_from_slice(&self.kept);
    }

    /// The voltage of a node that was kept.
    #[inline]
    pub(crate) fn kept(&self, node: usize) -> f64 {
        self.kept[node]
    }

    /// Makes a step of length `h`, after [`open`](Self::open): replaces voltages and slopes.
    #[inline]
    pub(crate) fn step(
        &mut self,
        template: &Template,
        nodes: &[Node],
        [low, high]: [f64; 2],
        holds: &[Hold],
        h: f64,
        (voltages, slopes): (&mut [f64], &mut [f64]),
    ) -> Stepped {
        let n = template.nodes;
        let (low, high) = (low - BEYOND_RAILS, high + BEYOND_RAILS);
        for node in 0..n {
            self.places[node] = (voltages[node] + 0.5 * h * slopes[node]).clamp(low, high);
            self.slopes[node] = slopes[node];
        }
        let power = self.stamp(template, voltages);
        for hold in holds {
            let node = hold.node as usize;
            self.matrix[node] += hold.conductance;
            self.currents[node] += hold.conductance * (hold.voltage - voltages[node]);
        }
        let ends = &mut self.stages;
        if n == 1 {
            let (change, slope) = exact(nodes[0].capacitance, self.matrix[0], self.currents[0], h);
            ends[0][0] = change;
            ends[1][0] = slope;
        } else {
            sdirk2(template, nodes, &mut self.matrix, &self.currents, h, ends);
        }
        let mut stepped = Stepped { error: 0.0, energy: h * power };
        for node in 0..n {
            let change = self.stages[0][node];
            let error = (change - h * slopes[node]).abs();
            stepped.error = stepped.error.max(error);
            stepped.energy -= 0.5 * h * self.supply[node] * change;
            voltages[node] = snap(voltages[node] + change, VOLTAGE_MIN);
            slopes[node] = snap(self.stages[1][node], SLOPE_MIN);
        }
        stepped
    }

    /// The pairs of places, a node first, between which more than this conducts (S); after
    /// [`open`](Self::open).
    pub(crate) fn conducting(
        &mut self,
        template: &Template,
        voltages: &[f64],
        least: f64,
    ) -> Vec<(u32, u32)> {
        self.places[..template.nodes].copy_from_slice(voltages);
        let at = |place: u32| self.places[place as usize];
        let switches = template.inner_switches.iter().chain(&template.outer_switches);
        let switches = switches.filter(|Switch { mos, edge, gate }| {
            mos.conductance(at(*gate), at(edge.a), at(edge.b)) > least
        });
        let resistors = template.inner_resistors.iter().chain(&template.outer_resistors);
        let edges = switches.map(|switch| &switch.edge).chain(resistors.map(|(edge, _)| edge));
        edges.map(|edge| (edge.a, edge.b)).collect()
    }

    /// Sums up conductances in the middle of the step, and the currents that flow through them at
    /// its beginning. Returns the power from inputs and constants then.
    #[inline]
    fn stamp(&mut self, template: &Template, voltages: &[f64]) -> f64 {
        let n = template.nodes;
        let Self { places, slopes, matrix, currents, supply, .. } = self;
        matrix[..template.pattern.len()].fill(0.0);
        currents[..n].fill(0.0);
        supply[..n].fill(0.0);
        let mut power = 0.0;
        let inner = |edge: &Edge, g: f64, matrix: &mut [f64], currents: &mut [f64]| {
            let (a, b) = (edge.a as usize, edge.b as usize);
            let current = g * (voltages[b] - voltages[a]);
            matrix[a] += g;
            matrix[b] += g;
            matrix[edge.position as usize] -= g;
            currents[a] += current;
            currents[b] -= current;
        };
        for switch in &template.inner_switches {
            let Edge { a, b, .. } = switch.edge;
            let at = |place: u32| places[place as usize];
            let g = switch.mos.conductance(at(switch.gate), at(a), at(b));
            inner(&switch.edge, g, matrix, currents);
        }
        for (edge, g) in &template.inner_resistors {
            inner(edge, *g, matrix, currents);
        }
        let mut outer = |edge: &Edge, g: f64| {
            let (a, from) = (edge.a as usize, places[edge.b as usize]);
            let current = g * (from - voltages[a]);
            matrix[a] += g;
            currents[a] += current;
            supply[a] += g * from;
            power += current * from;
        };
        for switch in &template.outer_switches {
            let Edge { a, b, .. } = switch.edge;
            let at = |place: u32| places[place as usize];
            outer(&switch.edge, switch.mos.conductance(at(switch.gate), at(a), at(b)));
        }
        for (edge, g) in &template.outer_resistors {
            outer(edge, *g);
        }
        for coupling in &template.couplings {
            currents[coupling.node as usize] +=
                coupling.capacitance * slopes[coupling.from as usize];
        }
        power
    }
}

#[inline]
fn snap(x: f64, least: f64) -> f64 {
    if x.abs() < least { 0.0 } else { x }
}

/// The change and the last slope of one node into which `current` flows at the beginning.
#[inline]
fn exact(capacitance: f64, conductance: f64, current: f64, h: f64) -> (f64, f64) {
    let slope = current / capacitance;
    let ratio = h * conductance / capacitance;
    if ratio < 1e-3 {
        // (1 - exp(-x)) / x, to a relative error of 1e-10.
        return (slope * h * (1.0 - ratio * (0.5 - ratio / 6.0)), slope * libm::exp(-ratio));
    }
    let left = libm::exp(-ratio);
    (current / conductance * (1.0 - left), slope * left)
}

/// Changes into the first of `ends`, last slopes into the second.
#[inline]
fn sdirk2(
    template: &Template,
    nodes: &[Node],
    matrix: &mut [f64],
    currents: &[f64],
    h: f64,
    [first, second]: &mut [Vec<f64>; 2],
) {
    let n = template.nodes;
    let matrix = &mut matrix[..template.pattern.len()];
    let (first, second) = (&mut first[..n], &mut second[..n]);
    for entry in matrix.iter_mut() {
        *entry *= GAMMA * h;
    }
    for node in 0..n {
        matrix[node] += nodes[node].capacitance;
    }
    first.copy_from_slice(&currents[..n]);
    template.pattern.factor(matrix);
    template.pattern.solve(matrix, first);
    // The currents of the second stage are those of the first, less G times its change; and G times
    // the first slopes follows from the equations that these fulfill.
    for node in 0..n {
        let carried = currents[node] - nodes[node].capacitance * first[node];
        second[node] = currents[node] - (1.0 - GAMMA) / GAMMA * carried;
    }
    template.pattern.solve(matrix, second);
    for node in 0..n {
        first[node] = h * ((1.0 - GAMMA) * first[node] + GAMMA * second[node]);
    }
}
