//! What the code names that macros write. It is no interface for anybody else, and may change at
//! any time.

pub use serde::{self, Deserialize, Serialize};
pub use warpline::{self, Value};

pub use crate::world::{CoroutineState, Pause, ProcessKind, Resume};

/// What tells the code of one process from that of another: a state that was written to a file is
/// read by a program with the same code only.
pub trait Source {
    /// A hash of the code, with that of the processes that it calls.
    const SOURCE: u64;
}

/// A hash of hashes.
#[must_use]
pub const fn mixed(all: &[u64]) -> u64 {
    let (mut hash, mut next) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while next < all.len() {
        hash = (hash ^ all[next]).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
        next += 1;
    }
    hash
}

/// The types of a state machine.
pub trait Coroutine<R> {
    /// Why it suspends itself.
    type Yield;
    /// What it returns in the end.
    type Return;
}

/// A process that is larger than this travels in a box: every event has the size of the largest
/// message.
const CARRIED_MAX: usize = 64;

/// Whether a process travels in a box.
#[must_use]
pub const fn is_large<P>() -> bool {
    size_of::<P>() > CARRIED_MAX
}

/// Whether a process is large.
#[derive(Debug)]
pub struct Size<const IS_LARGE: bool>;

/// How a process of a size travels.
pub trait Carry<P> {
    /// What is sent.
    type Carried;
}

impl<P> Carry<P> for Size<false> {
    type Carried = P;
}

impl<P> Carry<P> for Size<true> {
    type Carried = Box<P>;
}

/// The process that is sent.
pub trait AsProcess<P> {
    /// A copy of it.
    fn process(&self) -> P;

    /// The bytes that are on the heap.
    fn bytes(&self) -> usize;
}

impl<P: Value> AsProcess<P> for P {
    #[inline]
    fn process(&self) -> P {
        self.clone()
    }

    #[inline]
    fn bytes(&self) -> usize {
        self.heap_bytes()
    }
}

impl<P: Value> AsProcess<P> for Box<P> {
    #[inline]
    fn process(&self) -> P {
        (**self).clone()
    }

    fn bytes(&self) -> usize {
        warpline::state::heap_block(size_of::<P>()) + (**self).heap_bytes()
    }
}

/// A name in lower case.
#[must_use]
pub const fn lower_case<const N: usize>(name: &[u8]) -> [u8; N] {
    let mut lower = [0; N];
    let mut next = 0;
    while next < N {
        lower[next] = name[next].to_ascii_lowercase();
        next += 1;
    }
    lower
}
