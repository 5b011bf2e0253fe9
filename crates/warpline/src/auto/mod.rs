//! The engine that chooses engines: it runs the model in legs, each on the engine that commits the
//! most events per second, as far as trials have shown.
//!
//! A leg begins with the [`Cut`] that the leg before it has left, and ends at the end of the run or
//! when [`Choice`] wants another engine. [`Choice`] looks at the rate of the leg that goes on; it
//! is the only part that decides, and it knows nothing of models and engines. All engines commit
//! the same events, so the legs' order never changes what is committed.
//!
//! Called by [`engines`](crate::engines).
//!
//! # Invariants
//!
//! - CUT-A, in [`cut`](crate::cut): between two legs nothing is speculative.

mod candidate;
mod choice;
#[cfg(test)]
mod simulated;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use warpline_core::{LpId, Model, VirtualTime};
use warpline_net::Aggregation;

use crate::{
    Auto, ConfigError, Conservative, Details, EngineKind, Report, RunError, Sequential,
    Speculative, TimeWarp, Totals, conservative,
    cut::{Cut, Leg},
    event::{Boxed, Buffer, Event, INLINE_BYTES_MAX, Inline, Message},
    placement::LpDirectory,
    run::{self, Failure, Outcome, Ranks, Run},
    sequential,
    settings::{Placement, Settings, Synchronization},
    speculative::{self, Beginning, FoundWidth},
    timewarp,
    watch::{Progress, Watch},
};
use candidate::Candidate;
use choice::Choice;

/// Runs `model` from its start to its end.
pub(crate) fn run<M: Model>(
    model: &M,
    settings: &Settings<Auto>,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
) -> Result<Option<Report<M::Output>>, RunError> {
    if ranks.count() > 1 {
        let Auto { workers, placement, pin } = settings.engine.clone();
        let engine = TimeWarp { workers, placement, pin, ..TimeWarp::default() };
        return timewarp::run(model, &settings.with(engine), watch, ranks);
    }
    if const { size_of::<Message<M>>() <= INLINE_BYTES_MAX } {
        execute::<M, Inline<_>>(model, settings, watch, ranks)
    } else {
        execute::<M, Boxed<_>>(model, settings, watch, ranks)
    }
}

fn execute<M: Model, B: Buffer<Message<M>> + Send>(
    model: &M,
    settings: &Settings<Auto>,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
) -> Result<Option<Report<M::Output>>, RunError> {
    let started = Instant::now();
    let parallel = settings.parallel();
    let run = Run { model, settings: parallel, ranks, started };
    let make = |_| {
        parallel.validate()?;
        let (lookahead, lps) = (model.lookahead(), model.lp_count());
        Ok(Candidate::all(settings.engine.workers, lps, lookahead, settings.end))
    };
    run.carry_out(make, |candidates| {
        let choice = Arc::new(Mutex::new(Choice::new(candidates.len())));
        let looks = Arc::clone(&choice);
        watch.leg_end = Some(Box::new(move |progress| lock(&looks).look(progress)));
        let begin_leg = || lock(&choice).begin_leg();
        let legs = Legs::new(model, settings, ranks, started, candidates);
        let outcome = legs.run::<B>(watch, &begin_leg);
        watch.leg_end = None;
        let (mut leg, sums) = match outcome {
            Ok(done) => done,
            Err(failure) => return Outcome::failed(failure),
        };
        leg.details.remarks = vec![sums.remark(candidates, &lock(&choice))];
        let ids = (0..leg.cut.lps.len()).map(LpId::from_index);
        Outcome::at_end(leg, ids, &parallel)
    })
}

fn lock(choice: &Mutex<Choice>) -> MutexGuard<'_, Choice> {
    choice.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run in legs.
struct Legs<'r, M> {
    model: &'r M,
    settings: &'r Settings<Auto>,
    ranks: &'r Ranks<'r>,
    started: Instant,
    candidates: &'r [Candidate],
    /// By candidate: what its last leg has found out about the width of windows.
    widths: Vec<Option<FoundWidth>>,
    /// Placements that took long to find, by the number of workers.
    placements: Vec<(usize, Placement)>,
}

impl<'r, M: Model> Legs<'r, M> {
    fn new(
        model: &'r M,
        settings: &'r Settings<Auto>,
        ranks: &'r Ranks<'r>,
        started: Instant,
        candidates: &'r [Candidate],
    ) -> Self {
        let widths = vec![None; candidates.len()];
        Self { model, settings, ranks, started, candidates, widths, placements: Vec::new() }
    }

    /// The placement for this number of workers, which may be fewer than the settings say.
    fn placement(&mut self, workers: usize) -> Result<Placement, ConfigError> {
        let Auto { workers: most, placement, .. } = &self.settings.engine;
        if let Some((_, known)) = self.placements.iter().find(|(count, _)| *count == workers) {
            return Ok(known.clone());
        }
        let table: Vec<u32> = match placement {
            Placement::Table(table) => {
                let share = |&worker: &u32| (worker as usize * workers / most) as u32;
                table.iter().map(share).collect()
            }
            Placement::Graph => {
                let (lps, here) = (self.model.lp_count(), 0..workers);
                let directory = LpDirectory::new(self.model, lps, placement, workers, here)?;
                directory.partition().into_iter().map(|worker| worker as u32).collect()
            }
            simple => return Ok(simple.clone()),
        };
        let placement = Placement::Table(table.into());
        self.placements.push((workers, placement.clone()));
        Ok(placement)
    }

    /// Runs leg after leg, each on the candidate that `begin_leg` names. Returns the last one, with
    /// what all of them have counted.
    fn run<B: Buffer<Message<M>> + Send>(
        mut self,
        watch: &mut Watch<'_>,
        begin_leg: &dyn Fn() -> usize,
    ) -> Result<(Leg<M, Event<B>>, Sums), Failure> {
        let mut sums = Sums { committed: vec![0; self.candidates.len()], ..Sums::default() };
        let mut cut = None;
        loop {
            let number = begin_leg();
            let mut leg = self.run_leg::<B>(number, cut.take(), watch)?;
            sums.add(number, &leg.totals, &leg.details);
            let is_stopped = watch.stopped();
            let is_left = |event: &Event<B>| event.key.time_value() < self.settings.end;
            leg.interrupted &= is_stopped || leg.cut.pending.iter().any(is_left);
            if leg.interrupted {
                sums.reached = sums.reached.max(leg.last_time);
                leg.last_time = sums.reached;
            }
            if leg.interrupted && !is_stopped {
                let committed = leg.cut.committed();
                assert_eq!(committed, sums.totals.committed_events, "CUT-A: lost or doubled");
                cut = Some(leg.cut);
                continue;
            }
            self.observe_end(&leg, &sums.totals, watch);
            leg.totals = sums.totals.clone();
            leg.details = Details { counters: sums.counters.clone(), ..Details::default() };
            return Ok((leg, sums));
        }
    }

    /// Lets the observer look for the last time; it comes too late to interrupt anything.
    fn observe_end<E>(&self, last: &Leg<M, E>, totals: &Totals, watch: &mut Watch<'_>) {
        let end = VirtualTime::new(self.settings.end).ok();
        let _ = watch.observe(&Progress {
            virtual_time: end.filter(|_| !last.interrupted).unwrap_or(last.last_time),
            end: end.unwrap_or(VirtualTime::MAX),
            committed_events: totals.committed_events,
            processed_events: totals.processed_events,
            wall: self.started.elapsed(),
        });
    }

    /// Runs a leg on one of the candidates.
    fn run_leg<B: Buffer<Message<M>> + Send>(
        &mut self,
        number: usize,
        cut: Option<Cut<M::Lp, Event<B>>>,
        watch: &mut Watch<'_>,
    ) -> Result<Leg<M, Event<B>>, Failure> {
        let Candidate { engine, workers } = self.candidates[number];
        let placement =
            self.placement(workers).map_err(|error| run::failed_at_start(error.into()))?;
        let Self { model, settings, ranks, started, .. } = *self;
        // Fewer workers than cores are better off where the system puts them.
        let pin = settings.engine.pin && workers == settings.engine.workers;
        match engine {
            EngineKind::Conservative => {
                let synchronization = Synchronization::Windows;
                let aggregation = Aggregation::default();
                let engine = Conservative { workers, synchronization, placement, aggregation, pin };
                conservative::leg(model, &settings.with(engine), ranks, watch, started, cut)
            }
            EngineKind::Speculative => {
                let engine = Speculative { workers, placement, pin, ..Speculative::default() };
                let width = self.widths[number].take();
                let any = || self.widths.iter().flatten().next().cloned();
                let beginning = Beginning { cut, width: width.or_else(any) };
                let settings = &settings.with(engine);
                let (leg, width) =
                    speculative::leg(model, settings, ranks, watch, started, beginning)?;
                self.widths[number] = width;
                Ok(leg)
            }
            _ => {
                let settings = &settings.with(Sequential::default());
                sequential::leg(model, settings, watch, started, cut).map_err(run::failed_at_start)
            }
        }
    }
}

/// What all legs have counted.
#[derive(Default)]
struct Sums {
    totals: Totals,
    counters: Vec<(&'static str, u64)>,
    /// Committed events by candidate.
    committed: Vec<u64>,
    /// All events up to this time are committed.
    reached: VirtualTime,
}

impl Sums {
    fn add(&mut self, candidate: usize, totals: &Totals, details: &Details) {
        let peak = self.totals.peak_buffer_bytes.max(totals.peak_buffer_bytes);
        self.totals.add(totals);
        self.totals.peak_buffer_bytes = peak;
        for &(name, count) in &details.counters {
            match self.counters.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += count,
                None => self.counters.push((name, count)),
            }
        }
        self.committed[candidate] += totals.committed_events;
    }

    /// Says what was chosen, why, and what the trials cost.
    fn remark(&self, candidates: &[Candidate], choice: &Choice) -> String {
        let share = |events: u64| events as f64 / self.totals.committed_events.max(1) as f64;
        let most = self.committed.iter().copied().enumerate().max_by_key(|&(_, events)| events);
        let (most, events) = most.unwrap_or_default();
        let mut text =
            format!("{} ran {:.0} % of the events", candidates[most], 100.0 * share(events));
        let rates = (0..candidates.len()).filter_map(|number| Some((number, choice.rate(number)?)));
        for (place, (number, rate)) in rates.enumerate() {
            let before = if place == 0 { "; million events/s: " } else { ", " };
            text += &format!("{before}{} {:.1}", candidates[number], rate / 1e6);
        }
        let (trials, cost) = (choice.trials(), 100.0 * choice.share_of_trials());
        let plural = if trials == 1 { "" } else { "s" };
        text + &format!("; {trials} trial{plural} took {cost:.1} % of the time")
    }
}
