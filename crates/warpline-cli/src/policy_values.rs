//! Policies with parameters, as values of flags: `--pool sender:quota=64,delta=8`.
//!
//! A value is the name of a policy, and after a colon its parameters, separated by commas. A
//! parameter belongs to its policy: one that the policy does not have is refused, and so is one
//! that is given twice. The parser calls this; `timewarp_args` has the flags.

use std::{fmt, marker::PhantomData, path::PathBuf, str::FromStr, time::Duration};

use clap::{
    Arg, Command,
    builder::{PossibleValue, TypedValueParser},
};
use warpline::{
    files,
    settings::{
        CheckpointInterval, FlowControl, MemoryPlacement, Numa, Parts, Pool, PoolKind, Quota,
        StateSaving, StateSavingKind,
    },
};

use crate::values::{fraction, seconds};

/// A policy that has been read, and how it was typed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Typed<T> {
    text: String,
    pub(crate) value: T,
    /// The file that a parameter was read from, if there is one.
    pub(crate) file: Option<PathBuf>,
}

impl<T> fmt::Display for Typed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// What a policy of these flags is: how it is read, and what its names are.
pub(crate) trait Policy: Clone + Send + Sync + Sized + 'static {
    /// The names that policies may have; none for a list of parameters alone.
    fn names() -> Vec<&'static str>;

    /// The policy with this name and these parameters.
    fn read(name: &str, parameters: &mut Parameters<'_>) -> Result<Self, String>;
}

impl<T: Policy> FromStr for Typed<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = T::names();
        let (name, rest) = match text.split_once(':') {
            _ if names.is_empty() => ("it", text),
            Some((name, rest)) => (name, rest),
            None => (text, ""),
        };
        if !names.is_empty() && !names.contains(&name) {
            return Err(format!("expected one of {}", names.join(", ")));
        }
        let mut parameters = Parameters::new(name, rest)?;
        let value = T::read(name, &mut parameters)?;
        let file = parameters.file.take();
        parameters.end()?;
        Ok(Self { text: text.to_owned(), value, file })
    }
}

/// The parser of a policy, which knows its names.
#[derive(Clone, Debug)]
pub(crate) struct PolicyParser<T>(PhantomData<T>);

/// The parser of a policy.
pub(crate) const fn policy<T: Policy>() -> PolicyParser<T> {
    PolicyParser(PhantomData)
}

impl<T: Policy> TypedValueParser for PolicyParser<T> {
    type Value = Typed<T>;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Typed<T>, clap::Error> {
        let parse = |text: &str| text.parse::<Typed<T>>();
        TypedValueParser::parse_ref(&parse, command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = T::names();
        (!names.is_empty()).then(|| Box::new(names.into_iter().map(PossibleValue::new)) as _)
    }
}

/// The parameters of a policy that have not been read yet.
pub(crate) struct Parameters<'t> {
    policy: &'t str,
    left: Vec<(&'t str, &'t str)>,
    /// What the policy has, as far as it has been asked for.
    known: Vec<&'static str>,
    /// The file that one of them was read from.
    file: Option<PathBuf>,
}

impl<'t> Parameters<'t> {
    fn new(policy: &'t str, text: &'t str) -> Result<Self, String> {
        let mut left: Vec<(&str, &str)> = Vec::new();
        for parameter in text.split(',').filter(|parameter| !parameter.is_empty()) {
            // A word alone switches something on.
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, "on"));
            if left.iter().any(|(other, _)| *other == key) {
                return Err(format!("`{key}` is given twice"));
            }
            left.push((key, value));
        }
        Ok(Self { policy, left, known: Vec::new(), file: None })
    }

    /// The value of a parameter, if it is given.
    fn take<V>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&str) -> Result<V, String>,
    ) -> Result<Option<V>, String> {
        self.known.push(key);
        let Some(place) = self.left.iter().position(|(name, _)| *name == key) else {
            return Ok(None);
        };
        let (_, value) = self.left.swap_remove(place);
        let says = |error| format!("`{key}` is `{value}`: {error}");
        read(value).map(Some).map_err(says)
    }

    /// Refuses what the policy does not have.
    fn end(self) -> Result<(), String> {
        let Self { policy, left, known, .. } = self;
        let Some((key, _)) = left.first() else { return Ok(()) };
        let has = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(format!("{policy} has no parameter `{key}`; what it has: {has}"))
    }
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("expected on or off".to_owned()),
    }
}

fn count(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "expected a whole number, 0 or more".to_owned())
}

impl Policy for Pool {
    fn names() -> Vec<&'static str> {
        PoolKind::ALL.iter().map(|kind| kind.name()).collect()
    }

    fn read(name: &str, parameters: &mut Parameters<'_>) -> Result<Self, String> {
        let kind = name.parse::<PoolKind>().map_err(|error| error.to_string())?;
        Ok(match kind.into() {
            Self::Sender { global_share, .. } => Self::Sender {
                global_share: parameters.take("global-share", fraction)?.unwrap_or(global_share),
                quota: quota(parameters)?,
            },
            Self::Receiver { .. } => Self::Receiver {
                local_pool: parameters.take("local-pool", switch)?.unwrap_or_default(),
            },
            Self::Partitioned { gain, .. } => {
                let local = parameters.take("local-share", fraction)?.map(Parts::LocalShare);
                let sizes = sizes(parameters)?;
                if local.is_some() && sizes.is_some() {
                    return Err("`local-share` and `sizes` exclude each other".to_owned());
                }
                Self::Partitioned {
                    parts: local.or(sizes).unwrap_or_default(),
                    on_the_fly: parameters.take("on-the-fly", switch)?.unwrap_or_default(),
                    gain: parameters.take("gain", fraction)?.unwrap_or(gain),
                    sharing: parameters.take("sharing", switch)?.unwrap_or_default(),
                }
            }
            Self::Adaptive => Self::Adaptive,
        })
    }
}

/// N_buf and Δ of GTW; without Δ it is a quarter of N_buf.
fn quota(parameters: &mut Parameters<'_>) -> Result<Option<Quota>, String> {
    let quota = parameters.take("quota", |text| text.parse::<Quota>())?;
    let margin = parameters.take("delta", count)?;
    match (quota, margin) {
        (Some(quota), Some(margin)) => format!("{}:{margin}", quota.buffers).parse().map(Some),
        (None, Some(_)) => Err("`delta` is read only together with `quota`".to_owned()),
        (quota, None) => Ok(quota),
    }
}

/// The sizes of pools in a file.
fn sizes(parameters: &mut Parameters<'_>) -> Result<Option<Parts>, String> {
    let Some(path) = parameters.take("sizes", |path| Ok(PathBuf::from(path)))? else {
        return Ok(None);
    };
    let says = |error| format!("`sizes` is `{}`: {error}", path.display());
    let text = files::read_text(&path, files::LIMIT)
        .map_err(|error| says(format!("the file cannot be read ({error})")))?;
    let parts = text.parse().map(Parts::Sizes).map_err(says)?;
    parameters.file = Some(path);
    Ok(Some(parts))
}

/// What a pool says that is read only if memory is limited.
pub(crate) const fn says_of_memory(pool: &Pool) -> bool {
    match pool {
        Pool::Sender { global_share, .. } => {
            let Pool::Sender { global_share: default, .. } = Pool::SENDER else { return false };
            *global_share != default
        }
        Pool::Partitioned { parts, sharing, .. } => *sharing || !matches!(parts, Parts::Equal),
        Pool::Receiver { .. } | Pool::Adaptive => false,
    }
}

/// Another name of copies: tracked fields save their changes by increments with them, which once
/// was a policy of its own.
const INCREMENTAL: &str = "incremental";

impl Policy for StateSaving {
    fn names() -> Vec<&'static str> {
        let [auto, copy, reverse] =
            [Self::Auto, Self::COPY, Self::Reverse].map(|one| one.kind().name());
        vec![auto, copy, INCREMENTAL, reverse]
    }

    fn read(name: &str, parameters: &mut Parameters<'_>) -> Result<Self, String> {
        let name = if name == INCREMENTAL { StateSavingKind::Copy.name() } else { name };
        let kind = name.parse::<StateSavingKind>().map_err(|error| error.to_string())?;
        Ok(match kind.into() {
            Self::Copy { interval } => {
                let read = |text: &str| text.parse().map_err(|_| "expected 1 or more, or `auto`");
                let read = |text: &str| read(text).map_err(str::to_owned);
                let typed = parameters.take::<CheckpointInterval>("interval", read)?;
                Self::Copy { interval: typed.unwrap_or(interval) }
            }
            other => other,
        })
    }
}

impl Policy for Numa {
    fn names() -> Vec<&'static str> {
        MemoryPlacement::ALL.iter().map(|placement| placement.name()).collect()
    }

    fn read(name: &str, parameters: &mut Parameters<'_>) -> Result<Self, String> {
        let placement = name.parse::<MemoryPlacement>().map_err(|error| error.to_string())?;
        let mut numa = Self::new(placement);
        if placement == MemoryPlacement::Lp {
            numa.migration_daemons = parameters.take("daemons", count)?.unwrap_or_default();
            let period = parameters.take("period", seconds)?.map(Duration::from_secs_f64);
            if period.is_some() && numa.migration_daemons == 0 {
                return Err("`period` is read only together with `daemons`".to_owned());
            }
            numa.migration_period = period.unwrap_or(numa.migration_period);
        }
        Ok(numa)
    }
}

impl Policy for FlowControl {
    fn names() -> Vec<&'static str> {
        Vec::new()
    }

    fn read(_: &str, parameters: &mut Parameters<'_>) -> Result<Self, String> {
        let defaults = Self::default();
        Ok(Self {
            free1: parameters.take("free1", fraction)?.unwrap_or(defaults.free1),
            free2: parameters.take("free2", fraction)?.unwrap_or(defaults.free2),
            few_buffers: parameters.take("few-buffers", count)?.unwrap_or(defaults.few_buffers),
            ..defaults
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: Policy + fmt::Debug>(text: &str) -> Result<T, String> {
        text.parse::<Typed<T>>().map(|typed| {
            assert_eq!(typed.to_string(), text, "it is passed on as it was typed");
            typed.value
        })
    }

    #[test]
    fn parameters_belong_to_their_policy() {
        let quota = Some(Quota { buffers: 64, margin: 8 });
        let sender = Pool::Sender { global_share: 0.5, quota };
        assert_eq!(read("sender:quota=64,delta=8,global-share=0.5"), Ok(sender));
        assert_eq!(read("sender"), Ok(Pool::SENDER));
        assert_eq!(read("receiver:local-pool"), Ok(Pool::Receiver { local_pool: true }));
        assert_eq!(read("partitioned:on-the-fly"), Ok(Pool::ON_THE_FLY));
        let parts = Parts::LocalShare(0.25);
        assert_eq!(read("partitioned:local-share=0.25"), Ok(Pool::partitioned(parts, false)));
        let (parts, on_the_fly) = (Parts::Equal, false);
        let partitioned = Pool::Partitioned { parts, on_the_fly, gain: 0.5, sharing: true };
        assert_eq!(read("partitioned:gain=0.5,sharing"), Ok(partitioned));
        let interval = CheckpointInterval::Every(8);
        assert_eq!(read("copy:interval=8"), Ok(StateSaving::Copy { interval }));
        let numa: Numa = read("lp:daemons=2,period=0.5").expect("right");
        assert_eq!((numa.memory_placement, numa.migration_daemons), (MemoryPlacement::Lp, 2));
        assert_eq!(numa.migration_period, Duration::from_millis(500));
        let flow: FlowControl = read("free1=0.3,few-buffers=5").expect("right");
        assert_eq!((flow.free1, flow.free2, flow.few_buffers), (0.3, 0.2, 5));
    }

    /// What is refused, and what is said about it.
    #[test]
    fn mistakes_name_the_parameter() {
        for (text, says) in [
            ("plum", "expected one of sender"),
            ("adaptive:quota=3", "adaptive has no parameter `quota`; what it has: none"),
            ("receiver:quota=3", "what it has: local-pool"),
            ("sender:quota=64,quota=3", "`quota` is given twice"),
            ("sender:delta=3", "together with `quota`"),
            ("sender:quota=0", "`quota` is `0`"),
            ("sender:global-share=2", "`global-share` is `2`: expected a fraction"),
            ("partitioned:sizes=/no/such/file", "cannot be read"),
            ("receiver:local-pool=maybe", "expected on or off"),
        ] {
            let error = read::<Pool>(text).expect_err(text);
            assert!(error.contains(says), "{text}: {error}");
        }
        assert!(read::<Numa>("worker:daemons=1").is_err_and(|error| error.contains("daemons")));
        assert!(read::<Numa>("lp:period=1").is_err_and(|error| error.contains("`daemons`")));
        let error = read::<FlowControl>("free3=1").expect_err("there is none");
        assert_eq!(error, "it has no parameter `free3`; what it has: free1, free2, few-buffers");
        assert!(read::<StateSaving>("copy:interval=0").is_err());
    }
}
