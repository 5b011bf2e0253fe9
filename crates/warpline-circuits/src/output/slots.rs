//! Which nets are recorded, in the order in which all writers have them.

use std::collections::BTreeSet;

use crate::circuit::{Circuit, NetId, Waveform};

/// The nets that are recorded, and the place of each.
///
/// First come the nets that are written, in the order of their names (part by part, between dots),
/// and then those that are only measured or drawn. So no output depends on the order of the
/// netlist.
#[derive(Debug)]
pub(super) struct Slots {
    /// The places of all nets of the circuit.
    of_net: Vec<Option<u32>>,
    pub(super) recorded: Vec<Recorded>,
    /// How many of them are written.
    pub(super) written: usize,
}

/// A net that is recorded.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    pub(super) net: NetId,
    pub(super) name: String,
    /// For a net that is fixed: its voltage.
    pub(super) fixed: Option<Waveform>,
}

impl Slots {
    /// The saved nets of a circuit, its measured ones, and others.
    pub(super) fn new(circuit: &Circuit, others: &[NetId]) -> Self {
        let exists = |net: &NetId| net.index() < circuit.nets.len();
        let all = || (1..circuit.nets.len()).map(|net| NetId(net as u32));
        let written: BTreeSet<NetId> = if circuit.saved.is_empty() {
            all().collect()
        } else {
            circuit.saved.iter().copied().filter(exists).collect()
        };
        let measured = circuit.measures.iter().flat_map(|m| [m.trigger.net, m.target.net]);
        let rest: BTreeSet<NetId> = measured.chain(others.iter().copied()).filter(exists).collect();
        let sorted = |nets: &mut dyn Iterator<Item = &NetId>| {
            let mut nets: Vec<NetId> = nets.copied().collect();
            nets.sort_by(|a, b| {
                let parts = |net: &NetId| circuit.nets[net.index()].split('.');
                parts(a).cmp(parts(b)).then(a.cmp(b))
            });
            nets
        };
        let mut nets = sorted(&mut written.iter());
        nets.extend(sorted(&mut rest.difference(&written)));
        Self::at(circuit, &nets, written.len())
    }

    fn at(circuit: &Circuit, nets: &[NetId], written: usize) -> Self {
        let mut fixed = vec![None; circuit.nets.len()];
        if let Some(ground) = fixed.first_mut() {
            *ground = Some(&Waveform::Constant(0.0));
        }
        for source in &circuit.sources {
            if let Some(place) = fixed.get_mut(source.net.index()) {
                *place = Some(&source.waveform);
            }
        }
        let mut of_net = vec![None; circuit.nets.len()];
        for (slot, net) in nets.iter().enumerate() {
            of_net[net.index()] = Some(slot as u32);
        }
        let record = |&net: &NetId| Recorded {
            net,
            name: circuit.nets[net.index()].clone(),
            fixed: fixed[net.index()].cloned(),
        };
        Self { of_net, recorded: nets.iter().map(record).collect(), written }
    }

    /// The nets whose samples are wanted: the others are fixed.
    pub(super) fn free(&self) -> impl Iterator<Item = NetId> {
        self.recorded.iter().filter(|recorded| recorded.fixed.is_none()).map(|free| free.net)
    }

    /// The place of a net, if it is recorded.
    pub(super) fn of(&self, net: NetId) -> Option<usize> {
        self.of_net.get(net.index()).copied().flatten().map(|slot| slot as usize)
    }

    /// The names of the nets that are written.
    pub(super) fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.recorded[..self.written].iter().map(|recorded| recorded.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::Source;

    fn circuit() -> Circuit {
        let nets = ["0", "x.b", "vdd", "x-b", "a", "x"].map(str::to_owned).to_vec();
        let source =
            Source { name: "v".to_owned(), net: NetId(2), waveform: Waveform::Constant(3.3) };
        Circuit { nets, sources: vec![source], ..Circuit::default() }
    }

    /// All nets but ground, if no list says otherwise; part by part, `x.b` belongs to `x`.
    #[test]
    fn nets_are_in_the_order_of_their_names() {
        let slots = Slots::new(&circuit(), &[]);
        assert_eq!(slots.names().collect::<Vec<_>>(), ["a", "vdd", "x", "x.b", "x-b"]);
        assert_eq!((slots.of(NetId(5)), slots.of(NetId::GROUND)), (Some(2), None));
        assert_eq!(slots.recorded[1].fixed, Some(Waveform::Constant(3.3)));
    }

    /// What is only drawn is recorded and not written; nets that do not exist are left out.
    #[test]
    fn saved_nets_are_written() {
        let saved = vec![NetId(4), NetId::GROUND, NetId(4), NetId(99)];
        let slots = Slots::new(&Circuit { saved, ..circuit() }, &[NetId(1), NetId(4)]);
        assert_eq!(slots.names().collect::<Vec<_>>(), ["0", "a"]);
        assert_eq!(slots.recorded.len(), 3);
        assert_eq!((slots.of(NetId(1)), slots.of(NetId(99))), (Some(2), None));
        assert_eq!(slots.recorded[0].fixed, Some(Waveform::Constant(0.0)));
    }
}
