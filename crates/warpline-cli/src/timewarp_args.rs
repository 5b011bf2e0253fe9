//! The flags of the parallel engines: nearly all of them are Time Warp's.

use std::time::Duration;

use clap::{Args, FromArgMatches};
use warpline::{
    TimeWarp, VirtualTime,
    settings::{
        CheckpointInterval, FossilCollection, MailQueue, MemoryPlacement, Pool, PoolKind, Quota,
        StateSaving, StateSavingKind,
    },
};

use crate::{
    system,
    values::{PairFile, fraction, named, on_or_off, one_to, seconds, state_saving, window},
};

/// What can be said about a run with a parallel engine; others ignore it, and the conservative one
/// all but `--workers`, `--pin` and `--memory-placement`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Time Warp")]
pub(crate) struct TimeWarpArgs {
    /// Workers (threads) that share the processes [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = one_to::<1024>)]
    pub(crate) workers: Option<usize>,
    #[command(flatten)]
    pub(crate) policies: Policies,
    /// With --memory: a worker waits while less than this fraction of its buffers is free
    #[arg(long, value_name = "F", default_value_t = 0.1, value_parser = fraction)]
    pub(crate) free1: f64,
    /// With --memory: and until it expects to reclaim more than this fraction
    #[arg(long, value_name = "F", default_value_t = 0.2, value_parser = fraction)]
    pub(crate) free2: f64,
    /// With --memory: a worker with fewer free buffers than this asks for global virtual time
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) few_buffers: usize,
    /// All workers take turns on one thread: slow, but the run repeats itself, rollbacks and all
    #[arg(long, hide = true)]
    pub(crate) in_turn: bool,
    /// Measure where the time goes, by part of the engine
    #[arg(long)]
    pub(crate) costs: bool,
}

/// The policies, which `bench` has as flags, too.
#[derive(Clone, Debug, PartialEq, Args)]
#[command(next_help_heading = "Time Warp")]
pub(crate) struct Policies {
    /// Events that a worker handles between two looks at its inbox
    #[arg(long, value_name = "B", default_value_t = 64, value_parser = one_to::<65_536>)]
    pub(crate) batch: usize,
    /// Handle no event further than this ahead of global virtual time [default: no limit]
    #[arg(long, value_name = "W", value_parser = |text: &str| window(text, None))]
    pub(crate) window: Option<f64>,
    /// How the states of processes are saved; `incremental` is another name of `copy`, where
    /// tracked fields save what is changed
    #[arg(long, value_name = "NAME", default_value_t, value_parser = state_saving())]
    pub(crate) saving: StateSavingKind,
    /// Events of a process from one copy of its state to the next, or `auto`
    #[arg(long, value_name = "N|auto", default_value_t)]
    pub(crate) checkpoint_interval: CheckpointInterval,
    /// When the buffers of committed events are reclaimed
    #[arg(
        long,
        value_name = "NAME",
        default_value_t,
        value_parser = named(FossilCollection::ALL, FossilCollection::name)
    )]
    pub(crate) fossil: FossilCollection,
    /// Events that a worker processes before it asks for global virtual time
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = one_to::<1_073_741_824>)]
    pub(crate) gvt_interval: usize,
    /// Time barrier at the start: nothing at or after it is handled ahead of global virtual time
    #[arg(long, value_name = "T", value_parser = |text: &str| window(text, None))]
    pub(crate) time_barrier: Option<f64>,
    /// Whether workers that roll back much are held back
    #[arg(
        long,
        hide = true,
        value_name = "on|off",
        default_value = "on",
        action = clap::ArgAction::Set,
        value_parser = on_or_off()
    )]
    pub(crate) throttle: bool,
    /// Where free buffers are kept
    #[arg(
        long,
        value_name = "NAME",
        default_value_t,
        value_parser = named(PoolKind::ALL, PoolKind::name)
    )]
    pub(crate) pool: PoolKind,
    /// With --memory and a sender pool: the part of all buffers in the global pool at the start
    #[arg(long, value_name = "F", default_value_t = 0.3, value_parser = fraction)]
    pub(crate) global_share: f64,
    /// With a sender pool: the free buffers that a worker tries to have after fossil collection
    /// (N_buf of GTW), and how many fewer make it fill up (Δ) [default: a quarter]
    #[arg(long, value_name = "N[:N]")]
    pub(crate) buffer_quota: Option<Quota>,
    /// With --memory and a partitioned pool: the part of its buffers that a worker keeps for sends
    /// to itself [default: as for each other worker]
    #[arg(long, value_name = "F", value_parser = fraction)]
    pub(crate) local_share: Option<f64>,
    /// With --memory and a partitioned pool: a file with the sizes of the pools relative to each
    /// other, a line for each sending worker with a number for each receiving one [default: equal]
    #[arg(long, value_name = "FILE", conflicts_with = "local_share")]
    pub(crate) pair_sizes: Option<PairFile>,
    /// With a receiver pool: whether each worker has another one, without a lock, for sends to
    /// itself
    #[arg(
        long,
        value_name = "on|off",
        default_value = "off",
        action = clap::ArgAction::Set,
        value_parser = on_or_off()
    )]
    pub(crate) local_pool: bool,
    /// A single worker does all that one of many does, records, saved states and GVT, instead of
    /// working as the sequential engine does
    #[arg(long, hide = true)]
    pub(crate) as_if_many: bool,
    /// Whether each worker is bound to a core of its own, where there are enough
    #[arg(
        long,
        value_name = "on|off",
        default_value = "on",
        action = clap::ArgAction::Set,
        value_parser = on_or_off()
    )]
    pub(crate) pin: bool,
    /// Where events for LPs of other workers wait: worker, in the worker's inbox; bottom-half, with
    /// the LP, in its memory
    #[arg(
        long,
        value_name = "WHERE",
        default_value_t,
        value_parser = named(MailQueue::ALL, MailQueue::name)
    )]
    pub(crate) mail: MailQueue,
    /// Where the memory of workers is, on a machine with several NUMA nodes: off, wherever the
    /// system puts it; worker, on the node of each worker's core; lp, the same, and each LP of Time
    /// Warp has memory of its own, which follows it; auto, worker if there are several nodes
    #[arg(
        long,
        value_name = "WHERE",
        default_value_t,
        value_parser = named(MemoryPlacement::ALL, MemoryPlacement::name)
    )]
    pub(crate) memory_placement: MemoryPlacement,
    /// With --memory-placement lp: how many threads move the pages of LPs that come to another node
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) migration_daemons: usize,
    /// With --migration-daemons: the seconds between two looks of such a thread
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    pub(crate) migration_period: f64,
}

impl TimeWarpArgs {
    /// The number of workers: as given, or one for each core.
    pub(crate) fn workers(&self) -> usize {
        self.workers.unwrap_or_else(system::cores)
    }

    /// Time Warp with these settings.
    pub(crate) fn time_warp(&self) -> TimeWarp {
        TimeWarp {
            workers: self.workers(),
            free_fractions: [self.free1, self.free2],
            few_buffers: self.few_buffers,
            in_turn: self.in_turn,
            measure_costs: self.costs,
            ..self.policies.time_warp()
        }
    }
}

impl Policies {
    /// Time Warp with these policies.
    pub(crate) fn time_warp(&self) -> TimeWarp {
        TimeWarp {
            batch: self.batch,
            window: self.window.unwrap_or(f64::INFINITY),
            saving: match self.saving {
                StateSavingKind::Copy => StateSaving::Copy { interval: self.checkpoint_interval },
                other => other.into(),
            },
            fossil_collection: self.fossil,
            gvt_interval: self.gvt_interval,
            throttle: self.throttle,
            time_barrier: self.time_barrier.and_then(|time| VirtualTime::new(time).ok()),
            pool: match self.pool.into() {
                Pool::Sender { .. } => {
                    Pool::Sender { global_share: self.global_share, quota: self.buffer_quota }
                }
                Pool::Receiver { .. } => Pool::Receiver { local_pool: self.local_pool },
                Pool::Partitioned { .. } => Pool::Partitioned { local_share: self.local_share },
                other => other,
            },
            pair_sizes: self.pair_sizes.as_ref().map(|file| file.sizes.clone()),
            as_if_many: self.as_if_many,
            mail: self.mail,
            pin: self.pin,
            memory_placement: self.memory_placement,
            migration_daemons: self.migration_daemons,
            migration_period: Duration::from_secs_f64(self.migration_period),
            ..TimeWarp::default()
        }
    }

    /// The policies of a command line without any flag.
    fn defaults() -> Result<Self, clap::Error> {
        let command = Self::augment_args(clap::Command::new("policies"));
        Self::from_arg_matches(&command.try_get_matches_from(["policies"])?)
    }

    /// The flags for another process with the same policies. Flags with default values are left
    /// out, because a process refuses flags that its engine does not read.
    pub(crate) fn flags(&self) -> Vec<String> {
        let defaults =
            Self::defaults().map_or_else(|_| Vec::new(), |policies| policies.all_flags());
        let mut flags = self.all_flags();
        flags.retain(|flag| !defaults.contains(flag));
        flags
    }

    fn all_flags(&self) -> Vec<String> {
        let Self { batch, saving, checkpoint_interval, gvt_interval, .. } = self;
        let Self { fossil, pool, global_share, .. } = self;
        let word = |on| if on { "on" } else { "off" };
        let mut flags = vec![
            format!("--batch={batch}"),
            format!("--saving={saving}"),
            format!("--checkpoint-interval={checkpoint_interval}"),
            format!("--fossil={fossil}"),
            format!("--gvt-interval={gvt_interval}"),
            format!("--throttle={}", word(self.throttle)),
            format!("--pool={pool}"),
            format!("--global-share={global_share}"),
            format!("--local-pool={}", word(self.local_pool)),
            format!("--pin={}", word(self.pin)),
            format!("--mail={}", self.mail),
            format!("--memory-placement={}", self.memory_placement),
            format!("--migration-daemons={}", self.migration_daemons),
            format!("--migration-period={}", self.migration_period),
        ];
        flags.extend(self.buffer_quota.map(|quota| format!("--buffer-quota={quota}")));
        flags.extend(self.local_share.map(|share| format!("--local-share={share}")));
        let pair_sizes = self.pair_sizes.as_ref();
        flags.extend(pair_sizes.map(|file| format!("--pair-sizes={}", file.path)));
        flags.extend(self.as_if_many.then(|| "--as-if-many".to_owned()));
        flags.extend(self.window.map(|window| format!("--window={window}")));
        flags.extend(self.time_barrier.map(|time| format!("--time-barrier={time}")));
        flags
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        policies: Policies,
    }

    fn parsed<'w>(words: impl IntoIterator<Item = &'w str>) -> Policies {
        Line::parse_from(["test"].into_iter().chain(words)).policies
    }

    /// Another process that is given the flags has the same policies.
    #[test]
    fn flags_say_the_same() {
        let every = "--batch=7 --saving=reverse --checkpoint-interval=auto \
                     --fossil=on-the-fly --gvt-interval=99 --throttle=off --pin=off --window=2.5 \
                     --time-barrier=3 --pool=partitioned --global-share=0.5 --local-share=0.25 \
                     --local-pool=on --as-if-many --buffer-quota=9:2 --mail=bottom-half \
                     --memory-placement=lp --migration-daemons=3 --migration-period=0.5";
        let different = parsed(every.split_whitespace());
        assert_eq!(different.flags().len(), every.split_whitespace().count());
        for policies in [parsed([]), different] {
            let flags = policies.flags();
            assert_eq!(parsed(flags.iter().map(String::as_str)), policies);
        }
    }

    /// Red if `incremental` is refused, or becomes a policy of its own.
    #[test]
    fn incremental_is_another_name_of_copy() {
        assert_eq!(parsed(["--saving=incremental"]), parsed([]));
        assert!(parsed(["--saving=incremental"]).flags().contains(&"--saving=copy".to_owned()));
    }
}
