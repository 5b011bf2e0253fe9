//! Which engine and which policy reads a flag. A flag that is given and not read is an error.
//!
//! `run` and `sweep` check this after the command line is parsed; the keys of a configuration file
//! are flags by then. In a sweep it is enough that one of the runs reads the flag, and so it is in
//! `bench`, which makes a run of each engine that it measures.

use clap::{ArgMatches, parser::ValueSource};
use warpline::settings::{EngineKind, Placement, StateSavingKind, SynchronizationKind};

use crate::{
    args::CommonArgs, failure::Failure, policy_values::says_of_memory, ranks::is_one_of_many,
    timewarp_args::Policies, values::flag_of,
};

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

const SEQUENTIAL: &[EngineKind] = &[EngineKind::Sequential];
const ORDERED: &[EngineKind] = &[EngineKind::Sequential, EngineKind::TimeWarp];
pub(crate) const PARALLEL: &[EngineKind] =
    &[EngineKind::Auto, EngineKind::Conservative, EngineKind::TimeWarp, EngineKind::Speculative];
const MEASURED: &[EngineKind] = &[
    EngineKind::Auto,
    EngineKind::Sequential,
    EngineKind::Conservative,
    EngineKind::TimeWarp,
    EngineKind::Speculative,
];
const OF_RANKS: &[EngineKind] = &[EngineKind::Conservative, EngineKind::TimeWarp];
/// On several ranks, `auto` is Time Warp with its default policies.
const AUTO_OF_RANKS: &[EngineKind] =
    &[EngineKind::Auto, EngineKind::Conservative, EngineKind::TimeWarp];
const SPECULATIVE: &[EngineKind] = &[EngineKind::Speculative];
const OPTIMISTIC: &[EngineKind] = &[EngineKind::TimeWarp, EngineKind::Speculative];
const CONSERVATIVE: &[EngineKind] = &[EngineKind::Conservative];
const PROFILE: &[EngineKind] = &[EngineKind::Profile];
const INTERVALS: &[EngineKind] = &[EngineKind::Intervals];
const TIME_WARP: &[EngineKind] = &[EngineKind::TimeWarp];

const MEMORY: Need = Need { holds: |args| args.memory.is_some(), flags: "--memory BYTES" };
const RANKS: Need =
    Need { holds: |args| args.ranks.ranks > 1 || is_one_of_many(), flags: "--ranks N or mpirun" };
const NOT_WINDOWS: Need = Need {
    holds: |args| args.ranks.synchronization != SynchronizationKind::Windows,
    flags: "--synchronization null-messages",
};
const WEIGHED: Need = Need {
    holds: |args| matches!(args.ranks.placement.value, Placement::Blocks(_) | Placement::Graph(_)),
    flags: "--placement blocks or graph",
};
const COPIES: Need = Need {
    holds: |args| args.timewarp.policies.saving.value.kind() != StateSavingKind::Reverse,
    flags: "--saving copy",
};
const MEMORY_FOR_POOL: Need = Need {
    holds: |args| args.memory.is_some() || !says_of_memory(&args.timewarp.policies.pool.value),
    flags: "--memory BYTES",
};
const fn rule(flag: &'static str, engines: &'static [EngineKind], needs: &'static [Need]) -> Rule {
    Rule { flag, engines, needs }
}

/// Every flag of the engines; flags that are not here are read by every run.
const RULES: &[Rule] = &[
    rule("pending", ORDERED, &[]),
    rule("workers", PARALLEL, &[]),
    rule("placement", PARALLEL, &[]),
    rule("placement-weights", PARALLEL, &[WEIGHED]),
    rule("pin", PARALLEL, &[]),
    rule("memory-placement", PARALLEL, &[]),
    rule("balance", PARALLEL, &[]),
    rule("ranks", AUTO_OF_RANKS, &[]),
    rule("oversubscribe", PARALLEL, &[]),
    rule("aggregation", OF_RANKS, &[RANKS]),
    rule("synchronization", CONSERVATIVE, &[]),
    rule("edge-capacity", CONSERVATIVE, &[NOT_WINDOWS]),
    rule("scheduler", CONSERVATIVE, &[NOT_WINDOWS]),
    rule("width", SPECULATIVE, &[]),
    rule("batch", TIME_WARP, &[]),
    rule("window", TIME_WARP, &[]),
    rule("saving", TIME_WARP, &[]),
    rule("checkpoint-interval", TIME_WARP, &[COPIES]),
    rule("gvt-interval", TIME_WARP, &[]),
    rule("time-barrier", TIME_WARP, &[]),
    rule("throttle", TIME_WARP, &[]),
    rule("pool", TIME_WARP, &[MEMORY_FOR_POOL]),
    rule("flow", TIME_WARP, &[MEMORY]),
    rule("mail", TIME_WARP, &[]),
    rule("in-turn", TIME_WARP, &[]),
    rule("as-if-many", TIME_WARP, &[]),
    rule("costs", OPTIMISTIC, &[]),
    rule("critical-path", PROFILE, &[]),
    rule("message-latency", PROFILE, &[]),
    rule("find-warmup", INTERVALS, &[]),
    // Those that only `bench` has.
    rule("all-pending", SEQUENTIAL, &[]),
    rule("busy", MEASURED, &[]),
];

/// The flags that an engine reads and others do not all read.
pub(crate) fn read_by(engine: EngineKind) -> Vec<&'static str> {
    let read = RULES.iter().filter(|rule| rule.engines.contains(&engine));
    read.map(|rule| rule.flag).collect()
}

/// Whether a flag is a policy of one engine.
pub(crate) fn is_of_one_engine(flag: &str) -> bool {
    RULES.iter().any(|rule| rule.flag == flag && rule.engines.len() == 1)
}

/// A flag that was typed and that a run does not read: its name, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unread {
    pub(crate) flag: &'static str,
    why: String,
}

/// Why a run does not read a flag.
enum Why {
    OtherEngine,
    /// These flags are missing.
    Lacks(Vec<&'static str>),
}

/// The flags that were typed for a run and that it does not read.
pub(crate) fn unread(matches: &ArgMatches, args: &CommonArgs) -> Vec<Unread> {
    let of = |rule: &Rule| {
        let why = rule.unread_by(args)?;
        Some(Unread { flag: rule.flag, why: rule.text_for_run(&why, args) })
    };
    typed(matches).filter_map(of).collect()
}

/// The flags that were typed for a benchmark and that none of its runs reads; `measured` says in
/// words what it measures.
pub(crate) fn unread_by_all(
    matches: &ArgMatches,
    runs: &[CommonArgs],
    measured: &str,
) -> Vec<Unread> {
    let of = |rule: &Rule| {
        let reasons: Option<Vec<Why>> = runs.iter().map(|run| rule.unread_by(run)).collect();
        let lacks = reasons?.into_iter().find_map(|why| match why {
            Why::OtherEngine => None,
            Why::Lacks(flags) => Some(flags),
        });
        let why = lacks.map_or(Why::OtherEngine, Why::Lacks);
        Some(Unread { flag: rule.flag, why: rule.text_for_bench(&why, matches, measured) })
    };
    typed(matches).filter_map(of).collect()
}

/// Notes that a policy of Time Warp was typed, be it with its default value: a single worker then
/// does all that one of many does. Otherwise it works as the sequential engine does, which reads
/// no such policy, and a sweep over its values would compare one program with another.
pub(crate) fn note_policies(matches: &ArgMatches, policies: &mut Policies) {
    policies.as_if_many |= typed(matches).any(|rule| rule.engines == TIME_WARP);
}

/// The rules of the flags that were typed.
fn typed(matches: &ArgMatches) -> impl Iterator<Item = &'static Rule> {
    RULES.iter().filter(|rule| {
        let id = id_of(rule.flag);
        has_flag(matches, &id) && matches.value_source(&id) == Some(ValueSource::CommandLine)
    })
}

/// Whether the command has this flag at all.
fn has_flag(matches: &ArgMatches, id: &str) -> bool {
    matches.try_contains_id(id).is_ok()
}

/// The name that the parser gives a flag.
fn id_of(flag: &str) -> String {
    flag.trim_start_matches('-').replace('-', "_")
}

impl Rule {
    /// Why a run does not read the flag, if it does not.
    fn unread_by(&self, args: &CommonArgs) -> Option<Why> {
        if !self.engines.contains(&args.kind()) {
            return Some(Why::OtherEngine);
        }
        let missing: Vec<_> =
            self.needs.iter().filter(|need| !(need.holds)(args)).map(|need| need.flags).collect();
        (!missing.is_empty()).then_some(Why::Lacks(missing))
    }

    fn text_for_run(&self, why: &Why, args: &CommonArgs) -> String {
        let flag = self.flag;
        match why {
            Why::OtherEngine => {
                let names = self.engines.iter().copied().map(flag_of);
                let names = names.collect::<Vec<_>>().join(" or ");
                let this = args.engine_in_words();
                if names == format!("--{flag}") {
                    let other = this.split(' ').next().unwrap_or_default();
                    return format!(
                        "--{flag} runs on an engine of its own, and this is {this}\n  what to do: \
                         leave {other} out"
                    );
                }
                format!(
                    "--{flag} is read with {names} only, and this is {this}\n  what to do: leave \
                     --{flag} out, or choose that engine"
                )
            }
            Why::Lacks(flags) => self.text_for_lack(flags),
        }
    }

    fn text_for_bench(&self, why: &Why, matches: &ArgMatches, measured: &str) -> String {
        let flag = self.flag;
        match why {
            Why::OtherEngine => {
                let names: Vec<_> = self.engines.iter().map(|engine| engine.name()).collect();
                let names = names.join(" or ");
                format!(
                    "--{flag} is read by {names} only, and this measures {measured}\n  what to \
                     do: leave --{flag} out, or measure that engine, too"
                )
            }
            Why::Lacks(flags) => {
                let word = |flags: &&str| flags.split(' ').next().unwrap_or_default().to_owned();
                let unknown = flags.iter().map(word).find(|flag| !has_flag(matches, &id_of(flag)));
                unknown.map_or_else(
                    || self.text_for_lack(flags),
                    |unknown| {
                        format!(
                            "--{flag} is read only together with {unknown}, which this command \
                             does not have\n  what to do: leave --{flag} out"
                        )
                    },
                )
            }
        }
    }

    fn text_for_lack(&self, flags: &[&str]) -> String {
        let what = match self.flag {
            "pool" => "what --pool says of a limited memory".to_owned(),
            flag => format!("--{flag}"),
        };
        format!(
            "{what} is read only together with {}\n  what to do: leave {what} out, or add that",
            flags.join(" and "),
        )
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
