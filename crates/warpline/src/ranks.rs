//! What engines need of the other ranks of a run, around their main loops: that all run the same, that all end
//! together, and one report.
//!
//! A run without ranks is one with a single rank, and says nothing to anybody. Ranks talk about these things at a
//! port of their own ([`Ranks::control_port`]), one above those of the workers, so that engines never see it.
//!
//! # Invariants
//!
//! - **RANK-A.** Every rank connects, then, unless that failed, concludes, once ([`Run::carry_out`]); so each waits
//!   only for what the others do say.
//! - **RANK-B.** Either all ranks succeed or all fail, with the failure that is first in the order of events.

mod conclusion;

use std::{
    any::type_name,
    collections::VecDeque,
    ops::Range,
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};
use warpline_core::{LogicalProcess, Model, Wires};
use warpline_net::{Address, Malformed, NetError, Parcel, Received, Transport};

use crate::{ConfigError, Engine, RunError, simulation::Settings, workers};
pub(crate) use conclusion::{Conclusion, Outcome, Run, Share};

/// Kinds of parcels at the control port. Those of engines begin at 16.
const GATHER: u16 = 1;
const SHARE: u16 = 2;
const ALERT: u16 = 3;
const DISMISSAL: u16 = 4;

/// The kinds that engines may use begin here.
pub(crate) const ENGINE_KINDS: u16 = 16;

/// How often a rank that waits looks again before it lets other threads have the core, and before it sleeps.
const SPINS: u32 = 200;
const YIELDS: u32 = 2_000;

/// One rank's view of all.
#[derive(Debug)]
pub(crate) struct Ranks<'t> {
    transport: Option<&'t dyn Transport>,
    /// What others have said about their conclusion while this rank was still in its main loop.
    early: Mutex<VecDeque<Received>>,
}

impl<'t> Ranks<'t> {
    /// A run of one rank.
    pub(crate) fn alone() -> Self {
        Self { transport: None, early: Mutex::default() }
    }

    pub(crate) fn of(transport: &'t dyn Transport) -> Self {
        let transport = Some(transport).filter(|transport| transport.ranks() > 1);
        Self { transport, early: Mutex::default() }
    }

    /// What carries parcels to other ranks, if there are any.
    pub(crate) const fn transport(&self) -> Option<&'t dyn Transport> {
        self.transport
    }

    /// How many ranks there are.
    pub(crate) fn count(&self) -> usize {
        self.transport.map_or(1, Transport::ranks)
    }

    /// This rank.
    pub(crate) fn me(&self) -> usize {
        self.transport.map_or(0, Transport::rank)
    }

    /// All workers of all ranks.
    pub(crate) fn workers(&self, settings: &Settings) -> usize {
        self.count() * settings.timewarp.workers
    }

    /// The numbers of this rank's workers among them.
    pub(crate) fn here(&self, settings: &Settings) -> Range<usize> {
        let workers = settings.timewarp.workers;
        self.me() * workers..(self.me() + 1) * workers
    }

    fn control_port(transport: &dyn Transport) -> usize {
        transport.ports() - 1
    }

    /// Sees to it that all ranks run the same build of the same model with the same settings. Does nothing for one
    /// rank.
    fn connect<M: Model>(
        &self,
        model: &M,
        engine: Engine,
        settings: &Settings,
    ) -> Result<Option<Wires<M>>, RunError> {
        let Some(transport) = self.transport else { return Ok(None) };
        let workers = settings.timewarp.workers;
        let refusal = if model.wires().is_none() {
            let allowed = "1 for a model that does not say how its messages travel (to run it on several \
                           ranks, give its Model `wires`)";
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
        let me = format!(
            "Warpline {}, model {} ({} LPs, messages of {} bytes: {}), --engine {engine} --workers {workers} \
             --seed {} --end {} --placement {:?}",
            env!("CARGO_PKG_VERSION"),
            model.name(),
            model.lp_count(),
            size_of::<<M::Lp as LogicalProcess>::Message>(),
            type_name::<M>(),
            settings.seed,
            settings.end,
            settings.placement,
        );
        let all = self.dismissing(self.gather_all(me.as_bytes()).map_err(RunError::from))?;
        let differs = all.iter().position(|other| *other != all[0]);
        if let Some(rank) = differs {
            let [first, other] =
                [0, rank].map(|rank| String::from_utf8_lossy(&all[rank]).into_owned());
            let allowed = format!("the same as that of rank 0 ({first}): all ranks run the same");
            return Err(ConfigError::new(format!("rank {rank}"), other, allowed).into());
        }
        Ok(model.wires())
    }

    /// Tells all other ranks that this one fails, so that they end, too. They hear why at the conclusion.
    pub(crate) fn alert(&self) {
        let Some(transport) = self.transport else { return };
        let port = Self::control_port(transport);
        for rank in (0..transport.ranks()).filter(|&rank| rank != transport.rank()) {
            // A rank that is lost need not be told.
            let _ = transport.send(Address { rank, port }, Parcel::with_body(ALERT, port, &[]));
        }
    }

    /// Whether another rank fails, or has ended: one worker of a rank asks now and then.
    ///
    /// # Errors
    ///
    /// When ranks cannot talk any more.
    pub(crate) fn is_alerted(&self) -> Result<bool, NetError> {
        let Some(transport) = self.transport else { return Ok(false) };
        let Some(received) = transport.receive(Self::control_port(transport))? else {
            return Ok(false);
        };
        let (kind, _) = expect(&received.bytes, received.from, &[ALERT, GATHER])?;
        if kind != ALERT {
            // A rank that was alerted sooner is at its conclusion already.
            self.early.lock().unwrap_or_else(PoisonError::into_inner).push_back(received);
        }
        Ok(true)
    }

    /// Every rank says something and hears what all have said, by rank: through rank 0.
    fn gather_all(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, NetError> {
        let Some(transport) = self.transport else { return Ok(vec![mine.to_vec()]) };
        let port = Self::control_port(transport);
        if let Some(all) = self.gather(GATHER, mine)? {
            let body = to_bytes(&all);
            for rank in 1..transport.ranks() {
                transport.send(Address { rank, port }, Parcel::with_body(GATHER, port, &body))?;
            }
            return Ok(all);
        }
        let bytes = self.next_of(0, GATHER)?;
        let all: Vec<Vec<u8>> = from_bytes(&bytes, 0)?;
        if all.len() == transport.ranks() {
            Ok(all)
        } else {
            let what =
                Malformed::Body(format!("word of {} ranks, but there are others", all.len()));
            Err(NetError::Malformed { from: 0, what })
        }
    }

    /// Every rank says something, and rank 0 hears it.
    fn gather_at_first(&self, mine: &[u8]) -> Result<Option<Vec<Vec<u8>>>, NetError> {
        self.gather(SHARE, mine)
    }

    fn gather(&self, kind: u16, mine: &[u8]) -> Result<Option<Vec<Vec<u8>>>, NetError> {
        let Some(transport) = self.transport else { return Ok(Some(vec![mine.to_vec()])) };
        let port = Self::control_port(transport);
        if transport.rank() > 0 {
            transport.send(Address { rank: 0, port }, Parcel::with_body(kind, port, mine))?;
            return Ok(None);
        }
        let others = (1..transport.ranks()).map(|rank| self.next_of(rank, kind));
        std::iter::once(Ok(mine.to_vec())).chain(others).collect::<Result<_, _>>().map(Some)
    }

    /// Waits for what a rank says next, which must be of this kind. Alerts are passed over: the conclusion has
    /// begun.
    fn next_of(&self, rank: usize, kind: u16) -> Result<Vec<u8>, NetError> {
        let Some(transport) = self.transport else { return Ok(Vec::new()) };
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        let mut waited = 0;
        loop {
            let known = early.iter().position(|received| received.from == rank);
            if let Some(received) = known.and_then(|place| early.remove(place)) {
                match expect(&received.bytes, rank, &[kind, ALERT, DISMISSAL])? {
                    (ALERT, _) => continue,
                    (DISMISSAL, body) => {
                        let error = String::from_utf8_lossy(body).into_owned();
                        return Err(NetError::Ended { rank, error });
                    }
                    (_, body) => return Ok(body.to_vec()),
                }
            }
            match transport.receive(Self::control_port(transport))? {
                Some(received) => early.push_back(received),
                None => {
                    workers::wait(waited, SPINS, YIELDS);
                    waited = waited.saturating_add(1);
                }
            }
        }
    }

    /// RANK-B: if rank 0 cannot go on, the others must not wait for it.
    fn dismissing<T>(&self, outcome: Result<T, RunError>) -> Result<T, RunError> {
        if let (Err(RunError::Net(error)), Some(transport), 0) =
            (&outcome, self.transport, self.me())
        {
            let port = Self::control_port(transport);
            for rank in 1..transport.ranks() {
                let parcel = Parcel::with_body(DISMISSAL, port, error.to_string().as_bytes());
                // A rank that is lost need not be told.
                let _ = transport.send(Address { rank, port }, parcel);
            }
        }
        outcome
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

fn to_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    // Plain structures of numbers and strings: nothing in them can fail to be serialised.
    postcard::to_stdvec(value).unwrap_or_default()
}

fn from_bytes<T: for<'de> Deserialize<'de>>(bytes: &[u8], from: usize) -> Result<T, NetError> {
    postcard::from_bytes(bytes).map_err(|error| {
        let what = Malformed::Body(format!("what it says about its end means nothing ({error})"));
        NetError::Malformed { from, what }
    })
}
