//! A logical process as engines hold it.

use std::mem::needs_drop;

use warpline_core::{LogicalProcess, LpDigest, LpId, Model, Stream};

/// What an engine keeps of an LP beside its state: 32 bytes. A rollback restores it.
#[derive(Clone, Debug)]
pub(crate) struct Core {
    pub(crate) rng: Stream,
    /// How many events the LP has sent.
    pub(crate) sent: u64,
    pub(crate) digest: LpDigest,
}

/// To copy a state of more bytes than this takes longer than to handle an event.
const COPY_BYTES: usize = 512;
/// To copy a state of no more bytes than this takes hardly any time: what engines keep beside it is
/// as large, and is copied with it.
const COPY_BYTES_FEW: usize = 128;

/// Whether who handles events early copies much: states that own memory, or large ones, whose
/// fields do not save what changes.
pub(crate) const fn copies_much<M: Model>() -> bool {
    is_above::<M::Lp>(COPY_BYTES) && !M::Lp::SAVING.is_by_field()
}

/// Whether who handles events early hardly copies anything, and no field writes a log.
pub(crate) const fn copies_little<M: Model>() -> bool {
    !is_above::<M::Lp>(COPY_BYTES_FEW) && !M::Lp::SAVING.is_by_field()
}

/// Whether to copy a state takes more than to copy this number of bytes.
const fn is_above<L>(bytes: usize) -> bool {
    needs_drop::<L>() || size_of::<L>() > bytes
}

impl Core {
    /// Whether an LP that has handled its events again has come where it was, as far as this tells.
    pub(crate) fn has_come_to(&self, before: &Self) -> bool {
        (&self.rng, self.sent) == (&before.rng, before.sent)
    }
}

/// An LP: its state, and what engines keep beside it.
#[derive(Debug)]
pub(crate) struct Lp<L> {
    pub(crate) state: L,
    pub(crate) core: Core,
}

/// A state that goes into an old copy may use its memory again, if the model cares for that.
impl<L: Clone> Clone for Lp<L> {
    #[inline]
    fn clone(&self) -> Self {
        Self { state: self.state.clone(), core: self.core.clone() }
    }

    #[inline]
    fn clone_from(&mut self, source: &Self) {
        let Self { state, core } = source;
        self.state.clone_from(state);
        self.core.clone_from(core);
    }
}

impl<L> Lp<L> {
    /// Makes an LP, which has sent nothing yet.
    pub(crate) fn new<M: Model<Lp = L>>(model: &M, me: LpId, seed: u64) -> Self {
        let core = Core { rng: Stream::for_lp(seed, me), sent: 0, digest: LpDigest::new() };
        Self { state: model.make_lp(me), core }
    }
}
