//! A process as a value: what `#[process]` and [`processes!`](crate::processes!) implement.

use std::fmt::Debug;

use serde::{Serialize, de::DeserializeOwned};
use warpline::Value;

use crate::{
    ContextOf, Env, World,
    rt::{CoroutineState, Pause},
};

/// A suspended process of a world, which can go on.
///
/// `#[process]` implements it for the state of a process. By hand it is an enum and a `match`: what
/// a process has reached, and what it does next.
pub trait Resume<W: World> {
    /// Lets the process run until it waits again, or ends.
    fn resume<C: ContextOf<W>>(&mut self, env: &mut Env<'_, W, C>) -> CoroutineState<Pause, ()>;
}

/// All kinds of processes of a world, as one type. [`processes!`](crate::processes!) writes it.
pub trait ProcessKind<W: World>:
    Resume<W> + Value + Debug + Send + Sync + Serialize + DeserializeOwned
{
    /// What is sent when a process travels: the process, or a box with it if it is large.
    type Carried: From<Self> + Debug + Clone + Send + Sync + Serialize + DeserializeOwned + 'static;

    /// What tells the code of these processes from other code, for checkpoints.
    const SOURCE: u64;

    /// The process that was sent.
    fn arrived(carried: &Self::Carried) -> Self;

    /// The bytes on the heap of what is sent.
    fn carried_bytes(carried: &Self::Carried) -> usize;

    /// Which kind of process it is, from 0 on.
    fn kind(&self) -> u16;

    /// The name of a kind of processes, for errors and event logs.
    fn name(world: &W, kind: u16) -> &str;
}

/// Lists the processes of a world, each with the name of its variant: their common type, for
/// [`World::Process`].
///
/// ```
/// use warpline_processes::{Env, process, processes};
/// # struct Bank;
///
/// #[process]
/// fn arrivals(env: &mut Env<Bank>) {
///     loop {
///         hold!(env.rng().exponential(1.0));
///         env.spawn(customer(3.0));
///     }
/// }
///
/// #[process]
/// fn customer(env: &mut Env<Bank>, patience: f64) {
///     hold!(patience);
/// }
///
/// processes! {
///     enum Kind for Bank { Arrivals(arrivals), Customer(customer) }
/// }
/// # fn main() {}
/// # use warpline_processes::{Empty, LpId, World};
/// # impl World for Bank {
/// #     type Process = Kind;
/// #     type Site = Empty;
/// #     type Item = ();
/// #     type Observed = Empty;
/// #     fn name(&self) -> &str { "bank" }
/// #     fn sites(&self) -> usize { 1 }
/// #     fn site(&self, _: LpId) -> Empty { Empty }
/// #     fn observed(site: &mut Empty) -> &mut Empty { site }
/// #     fn start(&self, env: &mut Env<'_, Self, impl warpline_processes::ContextOf<Self>>) {
/// #         env.spawn(arrivals());
/// #     }
/// # }
/// ```
#[macro_export]
macro_rules! processes {
    ($(#[$meta:meta])* $visibility:vis enum $name:ident for $world:ty {
        $($(#[$of:meta])* $kind:ident($process:ident)),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(
            Clone, Debug, PartialEq, $crate::rt::Value, $crate::rt::Serialize,
            $crate::rt::Deserialize,
        )]
        #[serde(crate = "::warpline_processes::rt::serde")]
        #[state(crate = ::warpline_processes::rt::warpline)]
        $visibility enum $name {
            $($(#[$of])* #[allow(missing_docs, reason = "the process has them")] $kind($process::State)),+
        }

        $(
            impl From<$process::State> for $name {
                fn from(state: $process::State) -> Self {
                    Self::$kind(state)
                }
            }
        )+

        impl $crate::rt::Resume<$world> for $name {
            #[inline]
            fn resume<C: $crate::ContextOf<$world>>(
                &mut self,
                env: &mut $crate::Env<'_, $world, C>,
            ) -> $crate::rt::CoroutineState<$crate::rt::Pause, ()> {
                match self {
                    $(Self::$kind(process) => $crate::rt::Resume::<$world>::resume(process, env)),+
                }
            }
        }

        impl $crate::rt::ProcessKind<$world> for $name {
            type Carried = <$crate::rt::Size<{ $crate::rt::is_large::<$name>() }>
                as $crate::rt::Carry<$name>>::Carried;

            const SOURCE: u64 = $crate::rt::mixed(&[
                $(<$process::State as $crate::rt::Source>::SOURCE),+
            ]);

            #[inline]
            fn arrived(carried: &Self::Carried) -> Self {
                $crate::rt::AsProcess::<$name>::process(carried)
            }

            fn carried_bytes(carried: &Self::Carried) -> usize {
                $crate::rt::AsProcess::<$name>::bytes(carried)
            }

            #[inline]
            fn kind(&self) -> u16 {
                enum Number {
                    $($kind),+
                }
                match self {
                    $(Self::$kind(_) => Number::$kind as u16),+
                }
            }

            fn name(_: &$world, kind: u16) -> &str {
                [$(stringify!($process)),+].get(usize::from(kind)).copied().unwrap_or("process")
            }
        }
    };
}
