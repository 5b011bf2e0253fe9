//! What a run does with other ranks around the main loop: all run the same, all end together, and
//! there is one report.
//!
//! A run without other ranks has a single rank, and sends nothing. Ranks talk about these things at
//! a port of their own ([`Ranks::control_port`]), one above those of the workers, so that engines
//! never see it.
//!
//! # Invariants
//!
//! - **RANK-A.** Every rank connects once, and then, unless that failed, concludes once
//!   ([`Run::carry_out`](super::Run::carry_out)); so a rank waits only for what the others do send.
//!   Checked by `tests/random_models/`, where ranks fail in every phase.
//! - **RANK-B.** Either all ranks succeed or all fail, with the failure that is first in the order
//!   of events. Checked by `tests/random_models/`. The exception: if the network damages the
//!   very last message of rank 0, that all went well, its receiver fails alone.
//! - **RANK-C.** A run leaves nothing in the network. Every message at the control port is waited
//!   for, every alert, and every parcel of I/O events. A rank that hears an alert leaves without
//!   reading what else was sent to its workers. So ranks tell each other at the end how much that
//!   was, and take it out of the network. Checked by `tests/random_models/`, which uses networks
//!   again.

use std::{
    any::type_name,
    collections::{BTreeMap, VecDeque},
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};
use warpline_core::{LogicalProcess, Model, Wires};
use warpline_net::{Address, Malformed, NetError, Parcel, Received, Transport};

use super::{
    counted::{Counted, SPINS, YIELDS},
    parameters::Parameters,
    threads,
};
use crate::{ConfigError, RunError, settings::Parallel, timeline::Timeline};

/// Kinds of parcels at the control port. Those of engines begin at 16.
const GATHER: u16 = 1;
const SHARE: u16 = 2;
const ALERT: u16 = 3;
const DISMISSAL: u16 = 4;
/// I/O events for rank 0: see `collection`.
const OUTPUT: u16 = 5;
/// A question for the time of a rank, and the answer: see `clocks`.
pub(super) const CLOCK: u16 = 6;

/// What rank 0 lets the others do next in a session, and parts of a cut: see `orders`.
pub(super) const ORDER: u16 = 7;
pub(super) const PART: u16 = 8;

/// The kinds that engines may use begin here.
pub(crate) const ENGINE_KINDS: u16 = 16;

/// One rank's view of all.
#[derive(Debug)]
pub(crate) struct Ranks<'t> {
    /// The network, if there are other ranks.
    network: Option<Counted<'t>>,
    control: Mutex<Control>,
    /// If ranks are processes: this one's part of the timeline.
    timeline: Option<Timeline>,
    /// How many ranks are threads of this process, and share its cores.
    pub(super) in_process: usize,
}

/// What has arrived at the control port, and whether an alert has left it.
#[derive(Debug, Default)]
struct Control {
    /// What other ranks have sent before this rank waited for it.
    early: VecDeque<Received>,
    /// The ranks that have alerted this one.
    alerts: Vec<usize>,
    has_alerted: bool,
    /// Parcels of I/O events that have arrived and are not read, and how many came from each rank.
    outputs: VecDeque<Received>,
    outputs_received: BTreeMap<usize, u64>,
    /// How many parcels of I/O events this rank has sent.
    outputs_sent: u64,
    /// Why a message could not be read. What it said is lost, and might be waited for for ever, so
    /// nothing is waited for any more.
    unreadable: Option<NetError>,
}

impl<'t> Ranks<'t> {
    /// A run of one rank.
    pub(crate) fn alone() -> Self {
        Self { network: None, control: Mutex::default(), timeline: None, in_process: 1 }
    }

    pub(crate) fn of(transport: &'t dyn Transport) -> Self {
        let (me, ranks) = (transport.rank(), transport.ranks());
        assert!(me < ranks, "a network of {ranks} ranks has no rank {me}");
        let network = (ranks > 1).then(|| Counted::new(transport));
        Self { network, control: Mutex::default(), timeline: None, in_process: 1 }
    }

    /// The same where each rank has a part of the timeline, if there is one.
    pub(crate) fn recorded(self, timeline: Option<&Timeline>) -> Self {
        Self { timeline: timeline.filter(|_| self.count() > 1).cloned(), ..self }
    }

    pub(super) const fn timeline(&self) -> Option<&Timeline> {
        self.timeline.as_ref()
    }

    fn control(&self) -> MutexGuard<'_, Control> {
        // No code that holds the lock panics, so the value is whole.
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What carries the parcels of engines to other ranks, if there are any.
    pub(crate) fn transport(&self) -> Option<&dyn Transport> {
        self.network.as_ref().map(|network| network as &dyn Transport)
    }

    /// What carries the messages of this module.
    fn control_transport(&self) -> Option<&'t dyn Transport> {
        self.network.as_ref().map(|network| network.inner)
    }

    /// How many ranks there are.
    pub(crate) fn count(&self) -> usize {
        self.control_transport().map_or(1, Transport::ranks)
    }

    /// This rank.
    pub(crate) fn me(&self) -> usize {
        self.control_transport().map_or(0, Transport::rank)
    }

    /// All workers of all ranks.
    pub(crate) fn workers(&self, settings: &Parallel<'_>) -> usize {
        self.count() * settings.workers
    }

    /// The numbers of this rank's workers among them.
    pub(crate) fn here(&self, settings: &Parallel<'_>) -> Range<usize> {
        let workers = settings.workers;
        self.me() * workers..(self.me() + 1) * workers
    }

    fn control_port(transport: &dyn Transport) -> usize {
        debug_assert!(transport.ports() > 0, "ranks have no port to talk at");
        transport.ports() - 1
    }

    /// Makes sure that all ranks run the same build of the same model with the same settings. Does
    /// nothing for one rank.
    pub(super) fn connect<M: Model>(
        &self,
        model: &M,
        settings: &Parallel<'_>,
    ) -> Result<Option<Wires<M>>, RunError> {
        let Some(transport) = self.control_transport() else { return Ok(None) };
        let workers = settings.workers;
        let refusal = if model.wires().is_none() {
            let allowed = "1 for a model that does not say how its messages become bytes (to run \
                           it on several ranks, give its Model `wires`)";
            Some(ConfigError::new("ranks", transport.ranks(), allowed))
        } else if transport.ports() <= workers {
            let allowed = format!("above {workers}, the number of workers of a rank");
            Some(ConfigError::new("ports", transport.ports(), allowed))
        } else {
            None
        };
        if let Some(refusal) = refusal {
            return Err(refusal.into());
        }
        self.compare(model, settings)?;
        self.dismissing(self.begin_timeline().map_err(RunError::from))?;
        Ok(model.wires())
    }

    /// The same without what the network has to have.
    pub(crate) fn compare<M: Model>(
        &self,
        model: &M,
        settings: &Parallel<'_>,
    ) -> Result<(), RunError> {
        let &Parallel { engine, workers, .. } = settings;
        let me = format!(
            "Warpline {}, model {} ({} LPs, messages of {} bytes: {}, lookahead {:?}), \
             --engine {engine} --workers {workers} --seed {} --end {} --placement {:?}{}{}{}",
            env!("CARGO_PKG_VERSION"),
            model.name(),
            model.lp_count(),
            size_of::<<M::Lp as LogicalProcess>::Message>(),
            type_name::<M>(),
            model.lookahead(),
            settings.seed,
            settings.end,
            settings.placement,
            settings
                .synchronization
                .map_or(String::new(), |kind| format!(" --synchronization {kind}")),
            if self.timeline.is_some() { ", with a timeline" } else { "" },
            Parameters::of(model.parameters()),
        );
        let all = self.dismissing(self.gather_all(me.as_bytes()).map_err(RunError::from))?;
        let differs = all.iter().position(|other| *other != all[0]);
        if let Some(rank) = differs {
            let [first, other] =
                [0, rank].map(|rank| String::from_utf8_lossy(&all[rank]).into_owned());
            let allowed = format!("the same as that of rank 0 ({first}): all ranks run the same");
            return Err(ConfigError::new(format!("rank {rank}"), other, allowed).into());
        }
        Ok(())
    }

    /// Tells all other ranks that this one fails, so that they end, too. They learn the reason at
    /// the conclusion.
    pub(crate) fn alert(&self) {
        let Some(transport) = self.control_transport() else { return };
        if std::mem::replace(&mut self.control().has_alerted, true) {
            return;
        }
        for rank in (0..transport.ranks()).filter(|&rank| rank != transport.rank()) {
            // A rank that is lost need not be told.
            let _ = self.send_control(rank, ALERT, &[]);
        }
    }

    pub(super) fn has_alerted(&self) -> bool {
        self.control().has_alerted
    }

    /// Whether another rank fails: one worker of each rank asks now and then. A rank that has ended
    /// well sends no alert.
    ///
    /// # Errors
    ///
    /// When ranks cannot talk any more.
    pub(crate) fn is_alerted(&self) -> Result<bool, NetError> {
        let Some(transport) = self.control_transport() else { return Ok(false) };
        let mut control = self.control();
        control.take_in(transport)?;
        Ok(!control.alerts.is_empty())
    }

    /// The ranks that have alerted this one.
    pub(super) fn alerting(&self) -> Result<Vec<usize>, NetError> {
        self.is_alerted()?;
        Ok(self.control().alerts.clone())
    }

    /// Waits for the alerts of the ranks that say they have sent one: the next run must not find
    /// them (RANK-C).
    pub(super) fn await_alerts(&self, ranks: impl Iterator<Item = usize>) -> Result<(), NetError> {
        let Some(transport) = self.control_transport() else { return Ok(()) };
        let mut control = self.control();
        for rank in ranks.filter(|&rank| rank != transport.rank()) {
            control.wait(transport, |control| control.alerts.contains(&rank).then_some(Ok(())))?;
        }
        Ok(())
    }

    /// Sends I/O events to rank 0, in this form: see `collection`.
    pub(super) fn send_output(&self, body: &[u8]) -> Result<(), NetError> {
        debug_assert!(self.me() > 0, "COLLECT-A: rank 0 ships I/O events to itself");
        self.control().outputs_sent += 1;
        self.send_control(0, OUTPUT, body)
    }

    /// The I/O events that have arrived, each with the rank that has sent them.
    pub(super) fn take_outputs(&self) -> Result<Vec<(usize, Vec<u8>)>, NetError> {
        let Some(transport) = self.control_transport() else { return Ok(Vec::new()) };
        let mut control = self.control();
        while control.take_in(transport)? {}
        let body =
            |Received { from, bytes }| Ok((from, expect(&bytes, from, &[OUTPUT])?.1.to_vec()));
        control.outputs.drain(..).map(body).collect()
    }

    /// How many parcels of I/O events this rank has sent.
    pub(super) fn outputs_sent(&self) -> u64 {
        self.control().outputs_sent
    }

    /// Waits for the parcels of I/O events that a rank says it has sent here, and that nobody reads
    /// any more (RANK-C).
    pub(super) fn await_outputs(&self, from: usize, sent: u64) -> Result<(), NetError> {
        let Some(transport) = self.control_transport() else { return Ok(()) };
        self.control().wait(transport, |control| {
            let received = control.outputs_received.get(&from).copied().unwrap_or_default();
            debug_assert!(received <= sent, "RANK-C: {received} of {sent} parcels of rank {from}");
            (received >= sent).then_some(Ok(()))
        })
    }

    /// How many parcels the workers of this rank, which have ended, have sent to each rank.
    pub(super) fn parcels_sent(&self) -> Vec<u64> {
        self.network.as_ref().map_or_else(Vec::new, Counted::sent)
    }

    /// Takes out of the network what the workers of this rank have not read of the parcels that
    /// were sent to them (RANK-C).
    pub(super) fn discard_unread(&self, sent_here: u64) -> Result<(), NetError> {
        self.network.as_ref().map_or(Ok(()), |network| network.discard_unread(sent_here))
    }

    /// Every rank contributes bytes, and gets those of all ranks, by rank: through rank 0.
    pub(crate) fn gather_all(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, NetError> {
        let Some(transport) = self.control_transport() else { return Ok(vec![mine.to_vec()]) };
        if let Some(all) = self.gather(GATHER, mine)? {
            let body = to_bytes(&all);
            for rank in 1..transport.ranks() {
                self.send_control(rank, GATHER, &body)?;
            }
            return Ok(all);
        }
        let bytes = self.next_of(0, GATHER)?;
        let all: Vec<Vec<u8>> = from_bytes(&bytes, 0)?;
        if all.len() == transport.ranks() {
            Ok(all)
        } else {
            let what = Malformed::Body(format!(
                "reports of {} ranks, which is not their number",
                all.len()
            ));
            Err(NetError::Malformed { from: 0, what })
        }
    }

    /// Every rank contributes bytes, and rank 0 gets those of all ranks.
    pub(crate) fn gather_at_first(&self, mine: &[u8]) -> Result<Option<Vec<Vec<u8>>>, NetError> {
        self.gather(SHARE, mine)
    }

    fn gather(&self, kind: u16, mine: &[u8]) -> Result<Option<Vec<Vec<u8>>>, NetError> {
        let Some(transport) = self.control_transport() else {
            return Ok(Some(vec![mine.to_vec()]));
        };
        if transport.rank() > 0 {
            self.send_control(0, kind, mine)?;
            return Ok(None);
        }
        let others = (1..transport.ranks()).map(|rank| self.next_of(rank, kind));
        std::iter::once(Ok(mine.to_vec())).chain(others).collect::<Result<_, _>>().map(Some)
    }

    /// Sends a message of this module to a rank.
    pub(super) fn send_control(&self, rank: usize, kind: u16, body: &[u8]) -> Result<(), NetError> {
        let Some(transport) = self.control_transport() else { return Ok(()) };
        debug_assert!(
            rank < transport.ranks() && rank != transport.rank(),
            "RANK-A: a message of kind {kind} for rank {rank}"
        );
        let port = Self::control_port(transport);
        transport.send(Address { rank, port }, Parcel::with_body(kind, port, body))
    }

    /// Waits for the next message of a rank, which must be of this kind.
    pub(super) fn next_of(&self, rank: usize, kind: u16) -> Result<Vec<u8>, NetError> {
        let Some(transport) = self.control_transport() else { return Ok(Vec::new()) };
        debug_assert!(rank != transport.rank(), "RANK-A: rank {rank} would wait for itself");
        self.control().wait(transport, |control| {
            let place = control.early.iter().position(|received| received.from == rank)?;
            let received = control.early.remove(place)?;
            Some(match expect(&received.bytes, rank, &[kind, DISMISSAL]) {
                Ok((DISMISSAL, body)) => {
                    let error = String::from_utf8_lossy(body).into_owned();
                    Err(NetError::Ended { rank, error })
                }
                said => said.map(|(_, body)| body.to_vec()),
            })
        })
    }

    /// RANK-B: if rank 0 cannot go on, the others must not wait for it.
    pub(crate) fn dismissing<T>(&self, outcome: Result<T, RunError>) -> Result<T, RunError> {
        if let (Err(RunError::Net(error)), Some(transport), 0) =
            (&outcome, self.control_transport(), self.me())
        {
            for rank in 1..transport.ranks() {
                // A rank that is lost need not be told.
                let _ = self.send_control(rank, DISMISSAL, error.to_string().as_bytes());
            }
        }
        outcome
    }
}

impl Control {
    /// Takes in the next message that has arrived; says whether there was one.
    fn take_in(&mut self, transport: &dyn Transport) -> Result<bool, NetError> {
        if let Some(error) = &self.unreadable {
            return Err(error.clone());
        }
        let Some(received) = transport.receive(Ranks::control_port(transport))? else {
            return Ok(false);
        };
        let kinds = [GATHER, SHARE, ALERT, DISMISSAL, OUTPUT, CLOCK, ORDER, PART];
        let read = expect(&received.bytes, received.from, &kinds);
        match read.inspect_err(|error| self.unreadable = Some(error.clone()))? {
            (ALERT, _) => {
                let is_new = !self.alerts.contains(&received.from);
                debug_assert!(is_new, "RANK-C: an alert of an earlier run");
                self.alerts.push(received.from);
            }
            (OUTPUT, _) => {
                *self.outputs_received.entry(received.from).or_default() += 1;
                self.outputs.push_back(received);
            }
            _ => self.early.push_back(received),
        }
        Ok(true)
    }

    /// Takes in what arrives until `answer` has one.
    fn wait<T>(
        &mut self,
        transport: &dyn Transport,
        mut answer: impl FnMut(&mut Self) -> Option<Result<T, NetError>>,
    ) -> Result<T, NetError> {
        let mut waited = 0;
        loop {
            if let Some(answer) = answer(self) {
                return answer;
            }
            if !self.take_in(transport)? {
                threads::wait(waited, SPINS, YIELDS);
                waited = waited.saturating_add(1);
            }
        }
    }
}

/// The body of a parcel of one of these kinds.
fn expect<'b>(bytes: &'b [u8], from: usize, kinds: &[u16]) -> Result<(u16, &'b [u8]), NetError> {
    let malformed = |what| NetError::Malformed { from, what };
    let opened = Parcel::open(bytes).map_err(malformed)?;
    if kinds.contains(&opened.kind) {
        Ok((opened.kind, opened.body))
    } else {
        Err(malformed(Malformed::Kind(opened.kind)))
    }
}

pub(super) fn to_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    // Plain structures of numbers and strings: nothing in them can fail to be serialized.
    postcard::to_stdvec(value).unwrap_or_default()
}

pub(super) fn from_bytes<T: for<'de> Deserialize<'de>>(
    bytes: &[u8],
    from: usize,
) -> Result<T, NetError> {
    postcard::from_bytes(bytes).map_err(|error| {
        let what = Malformed::Body(format!(
            "its message about the end of the run cannot be read ({error})"
        ));
        NetError::Malformed { from, what }
    })
}

#[cfg(test)]
mod tests {
    use warpline_net::{Faulty, Flip, network};

    use super::*;

    /// What an unreadable message said is lost: after it nothing is waited for, because it could be
    /// just that.
    #[test]
    fn an_unreadable_message_ends_all_waiting() {
        let mut ends = network(2, 2).into_iter();
        let there = ends.next().expect("two ranks");
        let flip = Flip { port: 1, after: 0, bit: 70 };
        let here = Faulty::new(ends.next().expect("two ranks"), 1).flipping(flip);
        let (first, second) = (Ranks::of(&there), Ranks::of(&here));
        first.alert();
        let error = loop {
            if let Err(error) = second.is_alerted() {
                break error;
            }
        };
        assert!(matches!(error, NetError::Malformed { from: 0, .. }), "{error}");
        assert_eq!(second.is_alerted(), Err(error.clone()));
        assert_eq!(second.await_alerts(std::iter::once(0)), Err(error));
    }
}
