//! What a worker knows of other ranks.
//!
//! The event graph carries events, null messages and control messages between the workers of all
//! ranks alike. What is left is here and in [`ranks`](super::ranks): memory that a remote event
//! reserves where it arrives, whether all ranks are quiescent, I/O events on their way to rank
//! 0, and alerts of ranks that fail.

use warpline_core::{LogicalProcess, LpId, Model};
use warpline_graph::{Control, Remote as Connection};

use super::{channel_event::ChannelEvent, shared::NullMessageShared};
use crate::{
    event::{Buffer, Message},
    run::{Collection, ENGINE_KINDS},
};

/// A quiescent rank's report: the number of freezes so far, and the numbers of items that
/// it has sent to other ranks and received from them.
pub(super) type Quiescence = [u64; 3];

/// One worker's view of other ranks.
pub(super) struct Remote<T> {
    /// The I/O events of all ranks; used by the first worker of each rank.
    pub(super) collection: Collection<T>,
    /// The last report of this rank; used by its first worker.
    pub(super) sent: Option<Quiescence>,
    /// The last report of each rank; used by the first worker of all.
    pub(super) received: Vec<Option<Quiescence>>,
}

impl<T> Remote<T> {
    /// Nothing if there is only one rank.
    pub(super) fn new<M: Model, B: Buffer<Message<M>>>(
        shared: &NullMessageShared<'_, M, B>,
    ) -> Option<Box<Self>>
    where
        M::Lp: LogicalProcess<Message = T>,
    {
        let ranks = shared.common.ranks;
        let collection = Collection::new(ranks, shared.codec.0.as_ref()?.message)?;
        let received = vec![None; ranks.count()];
        Some(Box::new(Self { collection, sent: None, received }))
    }

    /// The first worker of all takes the report of a quiescent rank.
    pub(super) fn hear_quiescence(&mut self, words: &Control) {
        let rank = usize::try_from(words[1]).ok().and_then(|rank| self.received.get_mut(rank));
        rank.into_iter().for_each(|rank| *rank = Some([words[2], words[3], words[4]]));
    }

    /// Whether all ranks are quiescent after this number of freezes, and nothing is on its way
    /// between them.
    pub(super) fn are_all_quiescent(&self, freezes: u64) -> bool {
        let sums = self.received.iter().try_fold([0u64; 2], |sums, rank| {
            let [epoch, sent, received] = (*rank)?;
            (epoch == freezes).then(|| [sums[0] + sent, sums[1] + received])
        });
        sums.is_some_and(|[sent, received]| sent == received)
    }
}

impl<M: Model, B: Buffer<Message<M>>> NullMessageShared<'_, M, B> {
    /// What connects the event graph of a worker with other ranks, if there are any.
    pub(super) fn connection(&self) -> Option<Connection<'_, ChannelEvent<B>>> {
        let transport = self.common.ranks.transport()?;
        Some(Connection { transport, codec: &self.codec, kind: ENGINE_KINDS })
    }

    /// Whether an LP lives at this rank. An event for it reserves memory when it is sent; a remote
    /// event reserves memory when it arrives.
    pub(super) fn is_here(&self, lp: LpId) -> bool {
        let directory = &self.common.directory;
        directory.local(directory.place(lp).worker).is_some()
    }
}
