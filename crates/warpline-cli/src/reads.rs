//! Which engine and which policy reads a flag. A flag that is given and not read is an error.
//!
//! `run` and `sweep` check this after the command line is parsed; the keys of a configuration file
//! are flags by then. In a sweep it is enough that one of the runs reads the flag.

use clap::{ArgMatches, parser::ValueSource};
use warpline::settings::{EngineKind, PoolKind, StateSavingKind, SynchronizationKind};

use crate::{args::CommonArgs, failure::Failure, ranks::is_one_of_many};

/// A flag that not every run reads.
struct Rule {
    flag: &'static str,
    /// The engines that read it.
    engines: &'static [EngineKind],
    /// What else it takes to be read: whether that is so, and what to type for it.
    needs: &'static [Need],
}

/// A condition on the other flags.
struct Need {
    holds: fn(&CommonArgs) -> bool,
    flags: &'static str,
}

const ORDERED: &[EngineKind] = &[EngineKind::Sequential, EngineKind::TimeWarp];
const PARALLEL: &[EngineKind] = &[EngineKind::Conservative, EngineKind::TimeWarp];
const CONSERVATIVE: &[EngineKind] = &[EngineKind::Conservative];
const TIME_WARP: &[EngineKind] = &[EngineKind::TimeWarp];

const MEMORY: Need = Need { holds: |args| args.memory.is_some(), flags: "--memory BYTES" };
const RANKS: Need =
    Need { holds: |args| args.ranks.ranks > 1 || is_one_of_many(), flags: "--ranks N or mpirun" };
const NOT_WINDOWS: Need = Need {
    holds: |args| args.ranks.synchronization != SynchronizationKind::Windows,
    flags: "--synchronization null-messages",
};
const COPIES: Need = Need {
    holds: |args| args.timewarp.policies.saving == StateSavingKind::Copy,
    flags: "--saving copy",
};
const SENDER: Need =
    Need { holds: |args| args.timewarp.policies.pool == PoolKind::Sender, flags: "--pool sender" };
const PARTITIONED: Need = Need {
    holds: |args| args.timewarp.policies.pool == PoolKind::Partitioned,
    flags: "--pool partitioned",
};
const RECEIVER: Need = Need {
    holds: |args| args.timewarp.policies.pool == PoolKind::Receiver,
    flags: "--pool receiver",
};

const fn rule(flag: &'static str, engines: &'static [EngineKind], needs: &'static [Need]) -> Rule {
    Rule { flag, engines, needs }
}

/// Every flag of the engines; flags that are not here are read by every run.
const RULES: &[Rule] = &[
    rule("pending", ORDERED, &[]),
    rule("workers", PARALLEL, &[]),
    rule("placement", PARALLEL, &[]),
    rule("pin", PARALLEL, &[]),
    rule("ranks", PARALLEL, &[]),
    rule("aggregation", PARALLEL, &[RANKS]),
    rule("synchronization", CONSERVATIVE, &[]),
    rule("edge-capacity", CONSERVATIVE, &[NOT_WINDOWS]),
    rule("batch", TIME_WARP, &[]),
    rule("window", TIME_WARP, &[]),
    rule("saving", TIME_WARP, &[]),
    rule("checkpoint-interval", TIME_WARP, &[COPIES]),
    rule("cancellation", TIME_WARP, &[]),
    rule("fossil", TIME_WARP, &[]),
    rule("gvt-interval", TIME_WARP, &[]),
    rule("time-barrier", TIME_WARP, &[]),
    rule("throttle", TIME_WARP, &[]),
    rule("pool", TIME_WARP, &[]),
    rule("global-share", TIME_WARP, &[MEMORY, SENDER]),
    rule("local-share", TIME_WARP, &[MEMORY, PARTITIONED]),
    rule("local-pool", TIME_WARP, &[RECEIVER]),
    rule("free1", TIME_WARP, &[MEMORY]),
    rule("free2", TIME_WARP, &[MEMORY]),
    rule("in-turn", TIME_WARP, &[]),
    rule("costs", TIME_WARP, &[]),
];

/// A flag that was typed and that a run does not read: its name, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unread {
    pub(crate) flag: &'static str,
    why: String,
}

/// The flags that were typed for a run and that it does not read.
pub(crate) fn unread(matches: &ArgMatches, args: &CommonArgs) -> Vec<Unread> {
    let is_typed = |rule: &&Rule| {
        let id = rule.flag.replace('-', "_");
        matches.value_source(&id) == Some(ValueSource::CommandLine)
    };
    let of = |rule: &Rule| rule.unread_by(args).map(|why| Unread { flag: rule.flag, why });
    RULES.iter().filter(is_typed).filter_map(of).collect()
}

impl Rule {
    /// Why a run does not read the flag, if it does not.
    fn unread_by(&self, args: &CommonArgs) -> Option<String> {
        let Self { flag, engines, needs } = self;
        if !engines.contains(&args.engine) {
            let names: Vec<_> = engines.iter().map(|engine| format!("--engine {engine}")).collect();
            let (names, engine) = (names.join(" or "), args.engine);
            return Some(format!(
                "--{flag} is read with {names} only, and this is --engine {engine}\n  what to do: \
                 leave --{flag} out, or choose that engine"
            ));
        }
        let missing: Vec<_> =
            needs.iter().filter(|need| !(need.holds)(args)).map(|need| need.flags).collect();
        (!missing.is_empty()).then(|| {
            format!(
                "--{flag} is read only together with {}\n  what to do: leave --{flag} out, or add \
                 that",
                missing.join(" and ")
            )
        })
    }
}

/// Refuses a run with flags that it does not read.
pub(crate) fn refuse(unread: Vec<Unread>) -> Result<(), Failure> {
    match unread.into_iter().next() {
        Some(unread) => Err(Failure::Configuration(unread.why)),
        None => Ok(()),
    }
}

/// Refuses runs with flags that none of them reads.
pub(crate) fn refuse_for_all<'u>(
    mut runs: impl Iterator<Item = &'u [Unread]>,
) -> Result<(), Failure> {
    let mut common = runs.next().unwrap_or_default().to_vec();
    for run in runs {
        common.retain(|unread| run.iter().any(|other| other.flag == unread.flag));
    }
    refuse(common)
}
