//! The flags of the parallel engines: nearly all of them are Time Warp's.

use clap::{Args, FromArgMatches};
use warpline::{
    TimeWarp, VirtualTime,
    settings::{
        CheckpointInterval, FlowControl, Instrumentation, MailQueue, MemoryPlacement, Numa, Pool,
        PoolKind, StateSaving, StateSavingKind,
    },
};

use crate::{
    policy_values::{Typed, policy},
    system,
    values::{named, on_or_off, one_to, window},
};

/// What can be said about a run with a parallel engine; others ignore it, and the conservative one
/// all but `--workers`, `--pin` and `--memory-placement`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Parallel engines")]
pub(crate) struct TimeWarpArgs {
    /// Workers (threads) that share the processes [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = one_to::<1024>)]
    pub(crate) workers: Option<usize>,
    /// Measure where the time goes, by part of the engine
    #[arg(long)]
    pub(crate) costs: bool,
    #[command(flatten)]
    pub(crate) policies: Policies,
    /// With --memory, how a worker keeps GVT from thrashing: it waits while less than the fraction
    /// free1 (0.1) of its buffers is free, until it expects to reclaim more than free2 (0.2); and
    /// with fewer free ones than few-buffers (0) it asks for GVT: free1=0.3,free2=0.5
    #[arg(
        long,
        value_name = "KEY=VALUE…",
        value_parser = policy::<FlowControl>(),
        help_heading = "Time Warp"
    )]
    pub(crate) flow: Option<Typed<FlowControl>>,
    /// All workers take turns on one thread: slow, but the run repeats itself, rollbacks and all
    #[arg(long, hide = true)]
    pub(crate) in_turn: bool,
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
    /// How the states of processes are saved; `auto` copies, and changes to sparse copies where
    /// those are measured to be much cheaper; of copies, every how many events of a process, or
    /// `auto`: copy:interval=8; `incremental` is another name of `copy`, where tracked fields save
    /// what is changed
    #[arg(
        long,
        value_name = "NAME[:interval=N]",
        default_value = StateSavingKind::Auto.name(),
        value_parser = policy::<StateSaving>()
    )]
    pub(crate) saving: Typed<StateSaving>,
    /// The interval of copies, by itself: events of a process from one copy of its state to the
    /// next, or `auto` [default: as --saving says]
    #[arg(long, value_name = "N|auto")]
    pub(crate) checkpoint_interval: Option<CheckpointInterval>,
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
    /// Where free buffers are kept, and when they return there: sender:quota=N,delta=N (N_buf and Δ
    /// of GTW) and global-share=F; receiver:local-pool; partitioned:local-share=F or sizes=FILE (a
    /// line for each sending worker with a number for each receiving one), on-the-fly, gain=F and
    /// sharing
    #[arg(
        long,
        value_name = "NAME[:KEY=VALUE,…]",
        default_value = PoolKind::Adaptive.name(),
        value_parser = policy::<Pool>()
    )]
    pub(crate) pool: Typed<Pool>,
    /// A single worker does all that one of many does, records, saved states and GVT, instead of
    /// working as the sequential engine does
    #[arg(long, hide = true)]
    pub(crate) as_if_many: bool,
    /// Whether each worker is bound to a core of its own, where there are enough
    #[arg(
        long,
        help_heading = "Parallel engines",
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
    /// Warp has memory of its own, whose pages follow it if there are threads for that, with the
    /// seconds between two of their looks (lp:daemons=2,period=0.5); auto, worker if there are
    /// several nodes
    #[arg(
        long,
        value_name = "WHERE[:daemons=N,period=S]",
        default_value = MemoryPlacement::Off.name(),
        value_parser = policy::<Numa>(),
        help_heading = "Parallel engines"
    )]
    pub(crate) memory_placement: Typed<Numa>,
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
            flow_control: self.flow_control(),
            instrumentation: Instrumentation {
                in_turn: self.in_turn,
                measure_costs: self.costs,
                as_if_many: self.policies.as_if_many,
                trace: None,
            },
            ..self.policies.time_warp()
        }
    }

    fn flow_control(&self) -> FlowControl {
        let typed = self.flow.as_ref().map(|flow| flow.value);
        let FlowControl { throttle, time_barrier, .. } = self.policies.flow_control();
        FlowControl { throttle, time_barrier, ..typed.unwrap_or_default() }
    }
}

impl Policies {
    /// Time Warp with these policies.
    pub(crate) fn time_warp(&self) -> TimeWarp {
        TimeWarp {
            batch: self.batch,
            window: self.window.unwrap_or(f64::INFINITY),
            saving: self.saving(),
            gvt_interval: self.gvt_interval,
            flow_control: self.flow_control(),
            pool: self.pool.value.clone(),
            numa: Numa { mail: self.mail, ..self.memory_placement.value },
            pin: self.pin,
            instrumentation: Instrumentation {
                as_if_many: self.as_if_many,
                ..Instrumentation::default()
            },
            ..TimeWarp::default()
        }
    }

    /// How states are saved; `--checkpoint-interval` is a parameter of copies, by itself.
    fn saving(&self) -> StateSaving {
        match (self.saving.value, self.checkpoint_interval) {
            (StateSaving::Auto | StateSaving::Copy { .. }, Some(interval)) => {
                StateSaving::Copy { interval }
            }
            (typed, _) => typed,
        }
    }

    fn flow_control(&self) -> FlowControl {
        let time_barrier = self.time_barrier.and_then(|time| VirtualTime::new(time).ok());
        FlowControl { throttle: self.throttle, time_barrier, ..FlowControl::default() }
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
        let word = |on| if on { "on" } else { "off" };
        let mut flags = vec![
            format!("--batch={}", self.batch),
            format!("--saving={}", self.saving),
            format!("--gvt-interval={}", self.gvt_interval),
            format!("--throttle={}", word(self.throttle)),
            format!("--pool={}", self.pool),
            format!("--pin={}", word(self.pin)),
            format!("--mail={}", self.mail),
            format!("--memory-placement={}", self.memory_placement),
        ];
        let interval = self.checkpoint_interval;
        flags.extend(interval.map(|interval| format!("--checkpoint-interval={interval}")));
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
        let every = "--batch=7 --saving=copy:interval=4 --checkpoint-interval=auto \
                     --gvt-interval=99 --throttle=off --pin=off --window=2.5 --time-barrier=3 \
                     --pool=sender:quota=9,delta=2 --as-if-many --mail=bottom-half \
                     --memory-placement=lp:daemons=3,period=0.5";
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
        assert_eq!(parsed(["--saving=incremental"]).saving(), StateSaving::COPY);
        assert_eq!(parsed(["--saving=incremental"]).flags(), ["--saving=incremental"]);
    }
}
