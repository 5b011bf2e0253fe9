//! Where Time Warp keeps free buffers, by name.

use warpline_memory::Pool;

use crate::names::names;

names! {
    /// Where Time Warp keeps free buffers (Fujimoto and Panesar 1995).
    pub enum PoolKind as "pool", default Adaptive;
    /// With the sender; a global pool evens out differences.
    Sender = "sender";
    /// With the receiver, under a lock.
    Receiver = "receiver";
    /// With each pair of workers, an equal part for each.
    Partitioned = "partitioned";
    /// With each pair of workers, as many as the messages between them need.
    Adaptive = "adaptive";
}

/// The pool of that name, with default values for what it reads.
impl From<PoolKind> for Pool {
    fn from(kind: PoolKind) -> Self {
        match kind {
            PoolKind::Sender => Self::SENDER,
            PoolKind::Receiver => Self::RECEIVER,
            PoolKind::Partitioned => Self::PARTITIONED,
            PoolKind::Adaptive => Self::Adaptive,
        }
    }
}

impl From<Pool> for PoolKind {
    fn from(pool: Pool) -> Self {
        match pool {
            Pool::Sender { .. } => Self::Sender,
            Pool::Receiver { .. } => Self::Receiver,
            Pool::Partitioned { .. } => Self::Partitioned,
            Pool::Adaptive => Self::Adaptive,
        }
    }
}
