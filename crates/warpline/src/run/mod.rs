//! The frame of a parallel run, around the main loop of its engine: from the agreement between
//! ranks before it to the one report after it.
//!
//! Both parallel engines call [`Run::carry_out`], on one rank too. They start their workers with
//! [`threads`], note what goes wrong in a [`FirstFailure`], and warn the other workers of a panic
//! by an [`Alarm`].

mod alarm;
mod barrier;
mod clocks;
mod collection;
mod counted;
mod failure;
mod orders;
mod parameters;
mod progress;
mod ranks;
mod steps;
mod summaries;
pub(crate) mod thread_resources;
pub(crate) mod threads;

use std::time::Instant;

use serde::{Deserialize, Serialize};
use warpline_core::{
    Fault, LpId, Model, VirtualTime, WireError, Wires, append_words, take_bytes, take_words,
};
use warpline_memory::Topology;
use warpline_net::{Malformed, NetError};

use crate::{
    ConfigError, Details, Report, RunError, Totals,
    cut::{Cut, Ended, Rest, Stage, Whole},
    event::{Buffer, Event, Message},
    handling::Lp,
    panics,
    settings::Parallel,
    sorting,
};
pub(crate) use alarm::Alarm;
pub(crate) use barrier::{Barrier, Broken, Reduction};
pub(crate) use collection::{Arrival, Collection, KeyBound, NEVER};
pub(crate) use failure::{Failure, FailureOrder, FirstFailure, at_start, failed_at_start};
pub(crate) use orders::Order;
pub(crate) use progress::{ProgressMonitor, Stop};
pub(crate) use ranks::{ENGINE_KINDS, Ranks};
use ranks::{from_bytes, to_bytes};
use steps::{EngineSteps, Steps};
use summaries::Summary;
pub(crate) use summaries::{model_error, reduce};

/// A run on this rank.
pub(crate) struct Run<'r, M: Model> {
    pub(crate) model: &'r M,
    pub(crate) settings: Parallel<'r>,
    pub(crate) ranks: &'r Ranks<'r>,
    pub(crate) started: Instant,
}

/// How the workers of a rank have ended.
pub(crate) enum Outcome<M: Model> {
    Done(Conclusion<M>),
    /// With the first failure of this rank.
    Failed(FailureOrder, RunError),
    /// Because another rank fails.
    Stopped,
}

impl<M: Model> Outcome<M> {
    /// The outcome where a stage has come to the end of the run; `ids` are the LPs of this rank.
    pub(crate) fn at_end<B: Buffer<Message<M>>>(
        stage: Stage<M, Event<B>>,
        ids: impl Iterator<Item = LpId>,
        settings: &Parallel<'_>,
    ) -> Self {
        let Stage { interrupted, last_time, totals, details, cut, .. } = stage;
        let ids: Vec<_> = ids.take(cut.lps.len()).collect();
        let digest = cut.digest(&ids);
        let totals = Totals { digest, ..totals };
        let done = |left| Self::Done(Conclusion { interrupted, last_time, totals, details, left });
        if settings.leaves_cut {
            return done(Left::Cut(Whole::of(cut), ids));
        }
        let Cut { lps, pending, .. } = cut;
        // Messages that are still pending are values of the model, whose drop may panic.
        if let Err(fault) = panics::catch(move || drop(pending)) {
            return Self::Failed(FailureOrder::End, model_error(fault, None, settings));
        }
        done(Left::Lps(NumberedLps::new(ids, lps)))
    }

    /// The outcome where workers could not go on: with the failure that is known on this rank, if
    /// any.
    pub(crate) fn failed(failure: Failure) -> Self {
        failure.map_or(Self::Stopped, |failure| {
            let (order, error) = *failure;
            Self::Failed(order, error)
        })
    }
}

/// What a rank contributes to the report when it has ended well.
pub(crate) struct Conclusion<M: Model> {
    pub(crate) interrupted: bool,
    pub(crate) last_time: VirtualTime,
    pub(crate) totals: Totals,
    pub(crate) details: Details,
    pub(crate) left: Left<M>,
}

/// What the workers of a rank leave.
pub(crate) enum Left<M: Model> {
    Lps(NumberedLps<M::Lp>),
    /// If the run leaves a cut; and the numbers of the LPs.
    Cut(Whole<M>, Vec<LpId>),
}

/// The LPs of a rank in their order, with their numbers. They stay where they were: a list of pairs
/// would take new memory for a million of them, and a list of states copies them.
#[derive(Debug)]
pub(crate) struct NumberedLps<L> {
    ids: Vec<LpId>,
    lps: Vec<Lp<L>>,
}

impl<L> NumberedLps<L> {
    pub(crate) fn new(ids: Vec<LpId>, lps: Vec<Lp<L>>) -> Self {
        assert_eq!(ids.len(), lps.len(), "CUT-A: an LP has no number");
        debug_assert!(ids.is_sorted_by(|one, next| one < next), "CUT-A: LPs lost their order");
        Self { ids, lps }
    }

    /// The states, each with its LP's number.
    pub(crate) fn into_iter(self) -> impl Iterator<Item = (LpId, L)> {
        self.ids.into_iter().zip(self.lps.into_iter().map(|lp| lp.state))
    }

    #[cfg(test)]
    pub(crate) fn states(&self) -> impl Iterator<Item = &L> {
        self.lps.iter().map(|lp| &lp.state)
    }
}

/// What a rank sends for the report, before the summaries of its LPs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Share {
    totals: Totals,
    /// Those of [`Details`], without their names.
    counters: Vec<u64>,
}

/// What a rank tells the others when it has ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Ending {
    how: How,
    has_alerted: bool,
    /// By rank: how many parcels its workers have sent there.
    parcels_sent: Vec<u64>,
    /// How many parcels of I/O events it has sent to rank 0.
    outputs_sent: u64,
}

/// How a rank came to its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum How {
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

impl<M: Model> Run<'_, M> {
    /// Makes what the workers of this rank share, lets them `work` on it, and ends the run together
    /// with all other ranks: rank 0 gets the report. Keeps RANK-A whatever happens. The workers are
    /// told when the run began.
    pub(crate) fn carry_out<S>(
        &self,
        make: impl FnOnce(Option<Wires<M>>) -> Result<S, RunError>,
        work: impl FnOnce(&mut S, Instant) -> Outcome<M>,
    ) -> Ended<M> {
        self.carry_out_all(&mut EngineSteps::new(make, work))
    }

    /// Does so without the type of what is shared: compiled once, and not for each engine.
    fn carry_out_all(&self, steps: &mut dyn Steps<Option<Wires<M>>, Outcome<M>>) -> Ended<M> {
        let connect = || self.ranks.connect(self.model, &self.settings);
        let wires = panics::catch(connect).map_err(|fault| self.model_error(fault))??;
        // Ranks that make their models at different speeds have waited for each other.
        let started = if self.ranks.count() > 1 { Instant::now() } else { self.started };
        let made = || steps.make(wires).map(|()| self.model.name().to_owned());
        let made = panics::catch(made);
        let name = match made.unwrap_or_else(|fault| Err(self.model_error(fault))) {
            Ok(name) => name,
            Err(error) => {
                // The others may be in their main loops already.
                self.ranks.alert();
                let order = FailureOrder::Start(LpId::new(0));
                return self.conclude(String::new(), Outcome::Failed(order, error), started);
            }
        };
        let outcome = steps.work(started).unwrap_or(Outcome::Stopped);
        // What is left belongs to the model, too, and may panic when it is dropped.
        let dropped = panics::catch(|| steps.drop_shared());
        let outcome = match (dropped, outcome) {
            (Err(fault), Outcome::Done(_)) => {
                Outcome::Failed(FailureOrder::End, self.model_error(fault))
            }
            (_, outcome) => outcome,
        };
        let report = self.conclude(name, outcome, started)?;
        Ok(report.map(|report| Report { wall: started.elapsed(), ..report }))
    }

    fn model_error(&self, fault: Fault) -> RunError {
        summaries::model_error(fault, None, &self.settings)
    }

    fn conclude(&self, name: String, outcome: Outcome<M>, started: Instant) -> Ended<M> {
        let ended = self.ranks.dismissing(self.end(name, outcome, started));
        if !matches!(ended, Err(RunError::Net(_))) {
            self.ranks.dismissing(self.ranks.end_timeline().map_err(RunError::from))?;
        }
        ended
    }

    fn end(&self, name: String, outcome: Outcome<M>, started: Instant) -> Ended<M> {
        let how = match &outcome {
            Outcome::Done(done) => {
                How::Done { interrupted: done.interrupted, last_time: done.last_time.get() }
            }
            Outcome::Failed(order, error) => How::Failed {
                order: FailureOrder::to_words(Some(*order)),
                error: error.to_string(),
            },
            Outcome::Stopped => How::Stopped,
        };
        let endings = endings(self.ranks, how)?;
        if let Some((rank, error)) = first_failure(&endings) {
            return Err(match outcome {
                Outcome::Failed(_, own) if rank == self.ranks.me() => own,
                _ => RunError::Rank { rank, error: error.to_owned() },
            });
        }
        let stopped = endings.iter().position(|how| matches!(how, How::Stopped));
        let (Outcome::Done(done), None) = (outcome, stopped) else {
            let error = "it ended early, and no rank says why (a bug of Warpline)".to_owned();
            return Err(RunError::Rank { rank: stopped.unwrap_or_default(), error });
        };
        let (interrupted, last) = progress(&endings, done.last_time);
        let end_time = self.settings.ended_at(last, interrupted);
        self.report(name, done, (started, end_time), interrupted)
    }

    fn report(
        &self,
        name: String,
        done: Conclusion<M>,
        (started, end_time): (Instant, VirtualTime),
        interrupted: bool,
    ) -> Ended<M> {
        let Conclusion { totals, mut details, left, .. } = done;
        let left = match left {
            Left::Cut(whole, ids) if interrupted && self.settings.reports_if_stopped => {
                let Cut { lps, pending, .. } = whole.0;
                // The ranks are about to agree on other things than a message that cannot be
                // dropped.
                let _ = panics::catch(move || drop(pending));
                Left::Lps(NumberedLps::new(ids, lps))
            }
            left => left,
        };
        let counters = details.counters.iter().map(|&(_, count)| count).collect();
        let share = Share { totals, counters };
        let is_alone = self.ranks.count() == 1;
        let all = match left {
            Left::Cut(cut, _) => Some((self.sum_at_first(share)?, Rest::Cut(cut))),
            Left::Lps(lps) if is_alone => {
                let lps = lps.into_iter();
                let output = summaries::reduce(self.model, lps, end_time, &self.settings)?;
                Some((share, Rest::Output(output)))
            }
            Left::Lps(lps) => {
                let all = self.reduce_across(&share, lps, end_time)?;
                all.map(|(total, output)| (total, Rest::Output(output)))
            }
        };
        let Some((total, output)) = all else { return Ok(None) };
        let &Totals { committed_events, processed_events, rolled_back_events, .. } = &total.totals;
        assert_eq!(
            processed_events,
            committed_events + rolled_back_events,
            "A8: an event that was handled is neither committed nor undone, or both"
        );
        details.counters.iter_mut().zip(total.counters).for_each(|(mine, all)| mine.1 = all);
        let topology = Topology::of_process();
        details.remarks.extend(thread_resources::remark(
            &self.settings,
            &details.counters,
            &topology,
        ));
        Ok(Some(Report {
            model: name,
            engine: self.settings.engine,
            ranks: self.ranks.count(),
            workers: self.ranks.workers(&self.settings),
            seed: self.settings.seed,
            end_time,
            interrupted,
            wall: started.elapsed(),
            totals: total.totals,
            details,
            output,
            intervals: Vec::new(),
        }))
    }

    /// At rank 0, what all ranks have counted; at the others, what they have.
    fn sum_at_first(&self, share: Share) -> Result<Share, NetError> {
        if self.ranks.count() == 1 {
            return Ok(share);
        }
        let Some(all) = self.ranks.gather_at_first(&to_bytes(&share))? else { return Ok(share) };
        debug_assert_eq!(all.len(), self.ranks.count(), "RANK-A: a rank has not taken part");
        let mut total = Share::default();
        for (rank, bytes) in all.iter().enumerate() {
            total.add(&from_bytes(bytes, rank)?);
        }
        Ok(total)
    }

    /// Takes the LPs of all ranks apart; rank 0 gets the output that their summaries fold to.
    fn reduce_across(
        &self,
        share: &Share,
        lps: NumberedLps<M::Lp>,
        end_time: VirtualTime,
    ) -> Result<Option<(Share, M::Output)>, RunError> {
        let Some(wires) = self.model.wires() else {
            let allowed = "1 for a model without `wires`";
            return Err(ConfigError::new("ranks", self.ranks.count(), allowed).into());
        };
        let lps = lps.into_iter();
        let summaries = summaries::summaries(self.model, lps, end_time, &self.settings);
        let mine = summaries.and_then(|summaries| {
            panics::catch(|| share_bytes::<M>(&wires, share, summaries))
                .map_err(|fault| self.model_error(fault))
        });
        let reported = to_bytes(&mine.as_ref().map_err(ToString::to_string));
        let all = self.ranks.gather_at_first(&reported)?;
        let output = all.map(|all| self.fold_shares(&wires, &all));
        // All ranks have to know whether that went well.
        let verdict = match &output {
            Some(Err(error)) => error.to_string(),
            _ => String::new(),
        };
        let verdicts = self.ranks.gather_all(verdict.as_bytes())?;
        // A failure of this rank's own LPs is reported as it is.
        let or_own = |error| mine.err().unwrap_or(error);
        match output {
            Some(output) => output.map(Some).map_err(or_own),
            None if verdicts[0].is_empty() => Ok(None),
            None => {
                let error = String::from_utf8_lossy(&verdicts[0]).into_owned();
                Err(or_own(RunError::Rank { rank: 0, error }))
            }
        }
    }

    fn fold_shares(
        &self,
        wires: &Wires<M>,
        all: &[Vec<u8>],
    ) -> Result<(Share, M::Output), RunError> {
        debug_assert_eq!(all.len(), self.ranks.count(), "RANK-A: a rank has not taken part");
        let mut total = Share::default();
        let mut summaries = Vec::new();
        for (rank, bytes) in all.iter().enumerate() {
            let bytes: Result<Vec<u8>, String> = from_bytes(bytes, rank)?;
            let bytes = bytes.map_err(|error| RunError::Rank { rank, error })?;
            let read = || read_share::<M>(wires, &bytes, rank, &mut total, &mut summaries);
            panics::catch(read).map_err(|fault| self.model_error(fault))??;
        }
        let lps: Vec<_> = summaries.iter().map(|(id, _)| *id).collect();
        let order = sorting::order_of_lps(&lps);
        let mut summaries: Vec<_> = summaries.into_iter().map(|(_, it)| Some(it)).collect();
        let summaries = order.into_iter().filter_map(|place| summaries[place].take());
        let output = summaries::fold(self.model, summaries, &self.settings)?;
        Ok((total, output))
    }
}

/// How all ranks have ended. No rank alerts another one after that, and nothing that workers have
/// sent is left in the network (RANK-C).
fn endings(ranks: &Ranks<'_>, how: How) -> Result<Vec<How>, RunError> {
    if ranks.count() == 1 {
        return Ok(vec![how]);
    }
    let (has_alerted, parcels_sent) = (ranks.has_alerted(), ranks.parcels_sent());
    let outputs_sent = ranks.outputs_sent();
    let ending = Ending { how, has_alerted, parcels_sent, outputs_sent };
    let endings = ranks.gather_all(&to_bytes(&ending))?;
    let read = |(rank, bytes): (usize, &Vec<u8>)| from_bytes(bytes, rank);
    let endings: Vec<Ending> = endings.iter().enumerate().map(read).collect::<Result<_, _>>()?;
    debug_assert_eq!(endings.len(), ranks.count(), "RANK-A: a rank has not concluded");
    let alerted = endings.iter().enumerate().filter(|(_, ending)| ending.has_alerted);
    ranks.await_alerts(alerted.map(|(rank, _)| rank))?;
    let me = ranks.me();
    for (rank, ending) in endings.iter().enumerate().filter(|_| me == 0) {
        ranks.await_outputs(rank, ending.outputs_sent)?;
    }
    let sent_here = endings.iter().filter_map(|ending| ending.parcels_sent.get(me));
    ranks.discard_unread(sent_here.fold(0, |sum, sent| sum.saturating_add(*sent)))?;
    if endings.iter().any(|ending| !matches!(ending.how, How::Done { .. })) {
        // The last message of this run: what a rank has sent may need it to arrive (NET-C).
        ranks.gather_all(&[])?;
    }
    Ok(endings.into_iter().map(|ending| ending.how).collect())
}

/// The first failure of a rank, with what it says.
fn first_failure(endings: &[How]) -> Option<(usize, &str)> {
    let failures = endings.iter().enumerate().filter_map(|(rank, how)| match how {
        How::Failed { order, error } => Some((order, rank, error)),
        _ => None,
    });
    failures.min().map(|(_, rank, error)| (rank, error.as_str()))
}

/// Whether a rank was interrupted, and the time up to which all of them have come, at least `last`.
fn progress(endings: &[How], mut last: VirtualTime) -> (bool, VirtualTime) {
    let mut is_interrupted = false;
    for how in endings {
        if let How::Done { interrupted, last_time } = how {
            is_interrupted |= *interrupted;
            last = VirtualTime::new(*last_time).map_or(last, |time| last.max(time));
        }
    }
    (is_interrupted, last)
}

fn share_bytes<M: Model>(
    wires: &Wires<M>,
    share: &Share,
    summaries: Vec<(LpId, Summary<M>)>,
) -> Vec<u8> {
    let head = to_bytes(share);
    let mut bytes = Vec::new();
    append_words(&mut bytes, [head.len() as u64]);
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
    let malformed = |error: WireError| NetError::Malformed {
        from: rank,
        what: Malformed::Body(error.to_string()),
    };
    let [len] = take_words(&mut bytes).map_err(malformed)?;
    let len = usize::try_from(len).unwrap_or(usize::MAX);
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
        debug_assert!(
            self.counters.is_empty() || self.counters.len() == other.counters.len(),
            "RANK-A: ranks count different things"
        );
        self.totals.add(&other.totals);
        self.counters.resize(other.counters.len(), 0);
        self.counters.iter_mut().zip(&other.counters).for_each(|(mine, more)| *mine += more);
    }
}
