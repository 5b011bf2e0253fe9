//! `processes!`: all kinds of processes of a world as one type.

/// Lists the processes of a world, each with the name of its variant: their common type, for
/// [`World::Process`](crate::World::Process).
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
            $(
                $(#[$of])*
                #[allow(missing_docs, reason = "the process has them")]
                $kind($process::State)
            ),+
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

            fn source(_: &$world) -> u64 {
                $crate::rt::mixed(&[$(<$process::State as $crate::rt::Source>::SOURCE),+])
            }

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
