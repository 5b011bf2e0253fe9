//! One sample of one variant, and whether it committed what the others did.

use warpline::digest::CommitDigest;

use super::{Variant, Workload, busy::Spinner, process};
use crate::{failure::Failure, interrupt, timewarp_args::Policies};

/// The result of the first run of a workload; the others must commit the same.
#[derive(Clone, Copy, Debug)]
struct Known {
    workload: Workload,
    variant: Variant,
    events: u64,
    digest: CommitDigest,
}

/// Takes samples.
#[derive(Debug)]
pub(super) struct Sampler<'a> {
    /// The share of a workload's full length.
    length: f64,
    policies: &'a Policies,
    known: Vec<Known>,
}

impl<'a> Sampler<'a> {
    pub(super) const fn new(length: f64, policies: &'a Policies) -> Self {
        Self { length, policies, known: Vec::new() }
    }

    /// A sample, in million events per second, while `busy` other processes keep cores busy; `None`
    /// if it was interrupted.
    pub(super) fn sample(
        &mut self,
        workload: Workload,
        variant: Variant,
        busy: usize,
    ) -> Result<Option<f64>, Failure> {
        let known = self.known.iter().find(|known| known.workload == workload).copied();
        let (end, policies) = (workload.end() * self.length, self.policies);
        if let Variant::Bare(yardstick) = variant {
            let events = known.map_or(1_000_000, |known| known.events);
            let time = yardstick.nanoseconds_per_event(workload.bare(), events, end);
            return Ok(Some(1e3 / time));
        }
        let spinners = (0..busy).map(Spinner::start).collect::<Result<Vec<_>, _>>()?;
        let outcome = match variant {
            Variant::Ranks { mpi: true, .. } => apart(workload, variant, end, policies)?,
            _ => here(workload, variant, end, policies)?,
        };
        drop(spinners);
        let Some((events, digest, rate)) = outcome else { return Ok(None) };
        match known {
            None => self.known.push(Known { workload, variant, events, digest }),
            Some(known) if known.digest == digest => {}
            Some(known) => {
                return Err(Failure::Run(format!(
                    "{}: {} committed other events (digest {digest}) than {} (digest {})",
                    workload.name(),
                    variant.name(),
                    known.variant.name(),
                    known.digest
                )));
            }
        }
        Ok(Some(rate / 1e6))
    }
}

/// Events, digest and events per second of a run by other processes.
fn apart(
    workload: Workload,
    variant: Variant,
    end: f64,
    policies: &Policies,
) -> Result<Option<(u64, CommitDigest, f64)>, Failure> {
    let report = process::report(workload, variant, end, policies)?;
    let digest = report["digest"].as_str().and_then(|digest| digest.parse().ok());
    let outcome =
        report["committed_events"].as_u64().zip(digest).zip(report["events_per_second"].as_f64());
    Ok(outcome.map(|((events, digest), rate)| (events, digest, rate)))
}

/// The same of a run by this process; `None` if it was interrupted.
fn here(
    workload: Workload,
    variant: Variant,
    end: f64,
    policies: &Policies,
) -> Result<Option<(u64, CommitDigest, f64)>, Failure> {
    let Some(run) = variant.run(policies)? else { return Ok(None) };
    let mut simulation = run.simulation(workload.params().model()?, end, interrupt::flag());
    let report = match run.ranks.ranks {
        1 => simulation.run()?,
        ranks => simulation.run_on_ranks(ranks)?,
    };
    let outcome = (report.committed_events, report.digest, report.events_per_second());
    Ok((!report.interrupted).then_some(outcome))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use warpline::{pending::PendingKind, settings::EngineKind};
    use warpline_lab::yardstick::Yardstick;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        policies: Policies,
    }

    /// Every variant of every small workload runs; two runs that differ are a failure.
    #[test]
    fn samples_are_taken_and_compared() {
        let Line { policies } = Line::parse_from(["test"]);
        for workload in ["W1", "W2", "W4"].map(|name| Workload::named(name).expect("a workload")) {
            let mut sampler = Sampler::new(0.002, &policies);
            let mut good = |variant| {
                let sample = sampler.sample(workload, variant, 0);
                assert!(
                    sample.is_ok_and(|rate| rate.is_some_and(|rate| rate > 0.0)),
                    "{variant:?}"
                );
            };
            PendingKind::ALL.iter().for_each(|&kind| good(Variant::Sequential(kind)));
            for engine in [EngineKind::TimeWarp, EngineKind::Speculative, EngineKind::Auto] {
                (1..4).for_each(|workers| good(Variant::Parallel { engine, workers }));
            }
            if workload.has_lookahead() {
                let engine = EngineKind::Conservative;
                (1..4).for_each(|workers| good(Variant::Parallel { engine, workers }));
            }
            Yardstick::all(workload.bare()).into_iter().for_each(|bare| good(Variant::Bare(bare)));
            sampler.length = 0.003;
            for other in [
                Variant::Sequential(PendingKind::Heap),
                Variant::Parallel { engine: EngineKind::TimeWarp, workers: 2 },
            ] {
                let text = match sampler.sample(workload, other, 0) {
                    Err(Failure::Run(text)) => text,
                    other => panic!("a longer run has another digest: {other:?}"),
                };
                assert!(text.contains("than sequential ladder"), "{text}");
            }
        }
    }
}
