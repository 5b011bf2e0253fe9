//! The engine that chooses engines: it runs the model in [`stages`], each on the engine
//! that commits the most events per second, as far as trials have shown.
//!
//! Called by [`engines`](crate::engines).

mod forecast;
#[cfg(test)]
mod giving_up;
#[cfg(test)]
mod simulated;

use std::time::{Duration, Instant};

use warpline_core::Model;
use warpline_net::Aggregation;

use crate::{
    Auto, Conservative, EngineKind, Sequential, Speculative, TimeWarp,
    conservative::{self, Limits},
    cut::{Ended, Stage, Whole},
    event::{Boxed, Buffer, Event, INLINE_BYTES_MAX, Inline, Message},
    run::{self, Failure, Ranks, Run},
    sequential,
    settings::{Balance, Numa, Settings, Synchronization},
    speculative::{self, Beginning, FoundWidths},
    stages::{self, Candidate, Candidates, Carrier, Chooser, Task, Traits},
    timewarp,
    watch::Watch,
};
use forecast::forecast;

/// Runs `model` from its start to its end.
pub(crate) fn run<M: Model>(
    model: &M,
    settings: &Settings<Auto>,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
    from: Option<Whole<M>>,
) -> Ended<M> {
    if ranks.count() > 1 {
        let engine = on_ranks(&settings.engine);
        return timewarp::run(model, &settings.with(engine), watch, ranks, from);
    }
    let step = watch.session.and_then(|session| session.step);
    if from.as_ref().zip(step).is_some_and(|(from, step)| is_short(from, step)) {
        settings.parallel().validate()?;
        let settings = &settings.with(Sequential::default());
        let mut report = sequential::run_as(EngineKind::Auto, model, settings, watch, from)?;
        report.details.remarks.push(SHORT.to_owned());
        return Ok(Some(report));
    }
    if const { size_of::<Message<M>>() <= INLINE_BYTES_MAX } {
        execute::<M, Inline<_>>(model, settings, watch, ranks, from)
    } else {
        execute::<M, Boxed<_>>(model, settings, watch, ranks, from)
    }
}

/// What the report of such a step says.
const SHORT: &str = "the step was too short for several workers: it would have been over before \
                     they had gained what their start takes";

/// Whether a step of a session is over before workers have gained what their start takes: the
/// threads, and the way of each LP and of each pending event to its worker and back. (65 536 events
/// and 16 384 LPs take two workers 2.5 ms more than the sequential engine.)
fn is_short<M: Model>(from: &Whole<M>, step: Duration) -> bool {
    const THREADS: Duration = Duration::from_millis(1);
    const ITEM: Duration = Duration::from_nanos(100);
    let items = from.0.lps.len() + from.0.pending.len();
    step < THREADS + ITEM.saturating_mul(u32::try_from(items).unwrap_or(u32::MAX))
}

/// What it chooses on several ranks.
pub(crate) fn on_ranks(engine: &Auto) -> TimeWarp {
    let Auto { workers, placement, pin, memory_placement, .. } = engine.clone();
    let numa = Numa::new(memory_placement);
    TimeWarp { workers, placement, pin, numa, ..TimeWarp::default() }
}

fn execute<M: Model, B: Buffer<Message<M>> + Send>(
    model: &M,
    settings: &Settings<Auto>,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
    from: Option<Whole<M>>,
) -> Ended<M> {
    let run = Run { model, settings: settings.parallel(), ranks, started: Instant::now() };
    let (workers, begins) = (settings.engine.workers, from.is_none());
    let candidates = || {
        let traits = Traits::of(model);
        let foresees = begins && workers > 1;
        let forecast = foresees.then(|| forecast(model, settings.seed, settings.end)).flatten();
        // A run that is soon over is not worth a long look who else runs.
        let is_short = forecast.is_some_and(|forecast| forecast.is_short(traits.lps));
        let idle = ranks.idle_cores(workers, if is_short { 0 } else { traits.lps });
        let all = Candidate::all(workers, (ranks.cores(), idle), traits, settings.end);
        Candidates { forecast, ..all }
    };
    let mut engines = EveryEngine { run: &run, settings, widths: FoundWidths::default() };
    let deciding = (Chooser::Trials, settings.engine.balance);
    stages::carry_out::<M, B>(&run, from, deciding, &candidates, &mut engines, watch)
}

/// Carries out stages on the sequential, the conservative and the speculative engine.
struct EveryEngine<'r, M: Model> {
    run: &'r Run<'r, M>,
    settings: &'r Settings<Auto>,
    widths: FoundWidths,
}

impl<M: Model, B: Buffer<Message<M>> + Send> Carrier<M, B> for EveryEngine<'_, M> {
    fn carry(
        &mut self,
        task: Task<M, B>,
        watch: &mut Watch<'_>,
    ) -> Result<Stage<M, Event<B>>, Failure> {
        let Task { candidate: Candidate { engine, workers }, number, .. } = task;
        let Task { placement, pin, cut, loads, .. } = task;
        let &Run { model, ranks, started, .. } = self.run;
        let (settings, balance) = (self.settings, Balance::Off);
        let memory_placement = settings.engine.memory_placement;
        match engine {
            EngineKind::Conservative => {
                let synchronization = Synchronization::Windows;
                let aggregation = Aggregation::default();
                let engine = Conservative {
                    workers,
                    synchronization,
                    placement,
                    aggregation,
                    pin,
                    memory_placement,
                    balance,
                };
                let settings = &settings.with(engine);
                let beginning = ((cut, loads), Limits::EndStage);
                conservative::stage(model, settings, ranks, watch, started, beginning)
            }
            EngineKind::Speculative => {
                let engine = Speculative {
                    workers,
                    placement,
                    pin,
                    memory_placement,
                    balance,
                    ..Speculative::default()
                };
                let beginning = Beginning { cut, width: self.widths.take(number), loads };
                let settings = &settings.with(engine);
                let (stage, width) =
                    speculative::stage(model, settings, ranks, watch, started, beginning)?;
                self.widths.keep(number, width);
                Ok(stage)
            }
            _ => {
                debug_assert_eq!(engine, EngineKind::Sequential, "A16: a candidate is named so");
                let settings = &settings.with(Sequential::default());
                sequential::stage(EngineKind::Sequential, model, settings, watch, started, cut)
                    .map_err(run::failed_at_start)
            }
        }
    }
}
