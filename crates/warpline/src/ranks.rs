//! What engines need of the other ranks of a run, around their main loops: that all run the same, that all end
//! together, and one report.
//!
//! A run without ranks is one with a single rank, and says nothing to anybody. Ranks talk about these things at a
//! port of their own ([`Ranks::control_port`]), one above those of the workers, so that engines never see it.
//!
//! # Invariants
//!
//! - **RANK-A.** Every rank calls [`Ranks::connect`], then, unless that failed, exactly one of
//!   [`Ranks::conclude`]; so each waits only for what the others do say.
//! - **RANK-B.** Either all ranks succeed or all fail, with the failure that is first in the order of events.

use std::{
    any::type_name,
    collections::VecDeque,
    ops::Range,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use warpline_core::{CommitDigest, LogicalProcess, LpId, Model, VirtualTime, Wires, take_bytes};
use warpline_net::{Address, Malformed, NetError, Parcel, Received, Transport};

use crate::{
    ConfigError, Details, Engine, Report, RunError, failure::FailureOrder, simulation::Settings,
    workers,
};

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

/// One rank's share of a report: sums, unless said otherwise.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Share {
    pub(crate) committed: u64,
    pub(crate) processed: u64,
    pub(crate) rolled_back: u64,
    pub(crate) rollbacks: u64,
    /// The greatest counts.
    pub(crate) rounds: u64,
    pub(crate) peak_bytes: u64,
    /// Filled in from the conclusion, as are the counters.
    pub(crate) digest: u64,
    pub(crate) counters: Vec<u64>,
}

/// How a rank came to its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Ending {
    Done {
        interrupted: bool,
        last_time: f64,
    },
    Failed {
        order: [u64; 4],
        error: String,
    },
    /// Another rank has said why.
    Stopped,
}

/// What an engine has at its end, to make a report of.
pub(crate) struct Conclusion<'r, M: Model, L> {
    pub(crate) model: &'r M,
    pub(crate) name: &'static str,
    pub(crate) engine: Engine,
    pub(crate) settings: &'r Settings,
    pub(crate) started: Instant,
    /// All workers of this rank.
    pub(crate) workers: usize,
    pub(crate) interrupted: bool,
    pub(crate) last_time: VirtualTime,
    pub(crate) digest: CommitDigest,
    pub(crate) share: Share,
    pub(crate) details: Details,
    /// The processes of this rank, in their order.
    pub(crate) lps: L,
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
    pub(crate) fn connect<M: Model>(
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

    /// Ends the run of this rank, with all others: makes the report (at rank 0), or says why there is none.
    pub(crate) fn conclude<M: Model, L: Iterator<Item = (LpId, M::Lp)>>(
        &self,
        outcome: Result<Conclusion<'_, M, L>, Option<(FailureOrder, RunError)>>,
    ) -> Result<Option<Report<M::Output>>, RunError> {
        self.dismissing(self.end(outcome))
    }

    fn end<M: Model, L: Iterator<Item = (LpId, M::Lp)>>(
        &self,
        outcome: Result<Conclusion<'_, M, L>, Option<(FailureOrder, RunError)>>,
    ) -> Result<Option<Report<M::Output>>, RunError> {
        let ending = match &outcome {
            Ok(done) => {
                let (interrupted, last_time) = (done.interrupted, done.last_time.get());
                Ending::Done { interrupted, last_time }
            }
            Err(Some((order, error))) => Ending::Failed {
                order: FailureOrder::to_words(Some(*order)),
                error: error.to_string(),
            },
            Err(None) => Ending::Stopped,
        };
        let endings = self.endings(&ending)?;
        let failures = endings.iter().enumerate().filter_map(|(rank, ending)| match ending {
            Ending::Failed { order, error } => Some((order, rank, error)),
            _ => None,
        });
        if let Some((_, rank, error)) = failures.min() {
            return Err(match outcome {
                Err(Some((_, own))) if rank == self.me() => own,
                _ => RunError::Rank { rank, error: error.clone() },
            });
        }
        let Ok(done) = outcome else {
            let error = "it ended early, and nobody says why (a bug of Warpline)".to_owned();
            return Err(RunError::Rank { rank: self.me(), error });
        };
        let interrupted =
            endings.iter().any(|ending| matches!(ending, Ending::Done { interrupted: true, .. }));
        let last = endings.iter().fold(done.last_time, |last, ending| match ending {
            Ending::Done { last_time, .. } => {
                VirtualTime::new(*last_time).map_or(last, |time| last.max(time))
            }
            _ => last,
        });
        let asked_for = if interrupted { None } else { VirtualTime::new(done.settings.end).ok() };
        self.report(done, asked_for.unwrap_or(last), interrupted)
    }

    fn endings(&self, ending: &Ending) -> Result<Vec<Ending>, RunError> {
        if self.transport.is_none() {
            return Ok(vec![ending.clone()]);
        }
        let endings = self.gather_all(&to_bytes(ending))?;
        let read = |(rank, bytes): (usize, &Vec<u8>)| from_bytes(bytes, rank);
        Ok(endings.iter().enumerate().map(read).collect::<Result<_, _>>()?)
    }

    /// Takes the processes apart, and makes a report of what all ranks have.
    fn report<M: Model, L: Iterator<Item = (LpId, M::Lp)>>(
        &self,
        mut done: Conclusion<'_, M, L>,
        end_time: VirtualTime,
        interrupted: bool,
    ) -> Result<Option<Report<M::Output>>, RunError> {
        let (model, engine, settings) = (done.model, done.engine, done.settings);
        let Some(transport) = self.transport else {
            let output = workers::reduce(model, done.lps, end_time, engine, settings)?;
            let share = std::mem::take(&mut done.share);
            let (workers, digest) = (done.workers, done.digest);
            let head = Head { name: done.name, engine, settings, started: done.started };
            return Ok(Some(head.report(
                share,
                workers,
                digest,
                done.details,
                interrupted,
                end_time,
                output,
            )));
        };
        let workers = done.workers * transport.ranks();
        let summaries = workers::summaries(model, done.lps, end_time, engine, settings);
        done.share.counters = done.details.counters.iter().map(|&(_, count)| count).collect();
        done.share.digest = done.digest.to_bits();
        let Some(wires) = model.wires() else {
            return Err(
                ConfigError::new("ranks", self.count(), "1 for a model without `wires`").into()
            );
        };
        let mine = summaries.map(|summaries| share_bytes::<M>(&wires, &done.share, summaries));
        let (own, bytes) = match mine {
            Ok(bytes) => (None, Ok(bytes)),
            Err(error) => {
                let text = error.to_string();
                (Some(error), Err(text))
            }
        };
        let all = self.gather_at_first(&to_bytes(&bytes))?;
        let output = all.map(|all| {
            let mut total = Share::default();
            let mut summaries = Vec::new();
            for (rank, bytes) in all.iter().enumerate() {
                let bytes: Result<Vec<u8>, String> = from_bytes(bytes, rank)?;
                let bytes = bytes.map_err(|error| RunError::Rank { rank, error })?;
                read_share::<M>(&wires, &bytes, rank, &mut total, &mut summaries)?;
            }
            summaries.sort_unstable_by_key(|(id, _)| *id);
            let summaries = summaries.into_iter().map(|(_, summary)| summary);
            let output = workers::fold(model, summaries, engine, settings)?;
            Ok::<_, RunError>((total, output))
        });
        // All hear whether that went well.
        let verdict = match &output {
            Some(Err(error)) => error.to_string(),
            _ => String::new(),
        };
        let verdicts = self.gather_all(verdict.as_bytes())?;
        let verdict = String::from_utf8_lossy(&verdicts[0]).into_owned();
        match output {
            Some(output) => {
                // The failure of this rank's own processes is told as it is.
                let (total, output) = output.map_err(|error| own.unwrap_or(error))?;
                let names = done.details.counters.iter().map(|&(name, _)| name);
                let counters = names.zip(total.counters.iter().copied()).collect();
                let details = Details { counters, ..done.details };
                let digest = CommitDigest::from_bits(total.digest);
                let head = Head { name: done.name, engine, settings, started: done.started };
                Ok(Some(head.report(
                    total,
                    workers,
                    digest,
                    details,
                    interrupted,
                    end_time,
                    output,
                )))
            }
            None if verdict.is_empty() => Ok(None),
            None => Err(own.unwrap_or(RunError::Rank { rank: 0, error: verdict })),
        }
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

/// What a report begins with.
struct Head<'r> {
    name: &'static str,
    engine: Engine,
    settings: &'r Settings,
    started: Instant,
}

impl Head<'_> {
    #[expect(clippy::too_many_arguments, reason = "each is one field of the report")]
    fn report<O>(
        &self,
        share: Share,
        workers: usize,
        digest: CommitDigest,
        details: Details,
        interrupted: bool,
        end_time: VirtualTime,
        output: O,
    ) -> Report<O> {
        let wall: Duration = self.started.elapsed();
        Report {
            model: self.name,
            engine: self.engine,
            workers,
            seed: self.settings.seed,
            end_time,
            interrupted,
            committed_events: share.committed,
            processed_events: share.processed,
            rolled_back_events: share.rolled_back,
            rollbacks: share.rollbacks,
            gvt_rounds: share.rounds,
            peak_buffer_bytes: share.peak_bytes,
            wall,
            digest,
            details,
            output,
        }
    }
}

type Summary<M> = <<M as Model>::Lp as LogicalProcess>::Summary;

fn share_bytes<M: Model>(
    wires: &Wires<M>,
    share: &Share,
    summaries: Vec<(LpId, Summary<M>)>,
) -> Vec<u8> {
    let head = to_bytes(share);
    let mut bytes = (head.len() as u64).to_le_bytes().to_vec();
    bytes.extend(head);
    for (id, summary) in summaries {
        bytes.extend(id.get().to_le_bytes());
        wires.summary.write(&summary, &mut bytes);
    }
    bytes
}

/// Adds one rank's share to that of all.
fn read_share<M: Model>(
    wires: &Wires<M>,
    mut bytes: &[u8],
    rank: usize,
    total: &mut Share,
    summaries: &mut Vec<(LpId, Summary<M>)>,
) -> Result<(), NetError> {
    let malformed = |error: warpline_core::WireError| NetError::Malformed {
        from: rank,
        what: Malformed::Body(error.to_string()),
    };
    let mut len = [0; 8];
    len.copy_from_slice(take_bytes(&mut bytes, 8).map_err(malformed)?);
    let len = usize::try_from(u64::from_le_bytes(len)).unwrap_or(usize::MAX);
    let share: Share = from_bytes(take_bytes(&mut bytes, len).map_err(malformed)?, rank)?;
    total.add(&share);
    while !bytes.is_empty() {
        let mut id = [0; 4];
        id.copy_from_slice(take_bytes(&mut bytes, 4).map_err(malformed)?);
        let summary = wires.summary.read(&mut bytes).map_err(malformed)?;
        summaries.push((LpId::new(u32::from_le_bytes(id)), summary));
    }
    Ok(())
}

impl Share {
    fn add(&mut self, other: &Self) {
        self.committed += other.committed;
        self.processed += other.processed;
        self.rolled_back += other.rolled_back;
        self.rollbacks += other.rollbacks;
        self.rounds = self.rounds.max(other.rounds);
        self.peak_bytes += other.peak_bytes;
        self.digest = self.digest.wrapping_add(other.digest);
        self.counters.resize(other.counters.len(), 0);
        self.counters.iter_mut().zip(&other.counters).for_each(|(mine, more)| *mine += more);
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
