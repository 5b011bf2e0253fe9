//! A network on which every parcel takes as long as the scheduler likes.
//!
//! Parcels of one sender to one address stay in order (NET-A); nothing else does.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{Mutex, MutexGuard},
};

use warpline_core::{Stream, Wire};
use warpline_net::{Address, NetError, Parcel, Received, Transport};

use super::super::remote::message::{EVENTS, RemoteMessage};
use crate::simulated::model::Note;

/// A receiver and a sender, each with rank and port.
type Channel = ((usize, usize), (usize, usize));

struct State {
    dice: Stream,
    /// How many parcels each receiver still gets before it finds none.
    open: BTreeMap<(usize, usize), usize>,
    channels: BTreeMap<Channel, VecDeque<Vec<u8>>>,
}

/// The network between the ranks of a run.
pub(super) struct Net {
    ranks: usize,
    ports: usize,
    /// A receiver finds a parcel only in one of this many looks; then it finds up to all of them.
    patience: u64,
    state: Mutex<State>,
}

impl fmt::Debug for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        let lens: Vec<_> =
            state.channels.iter().map(|(channel, all)| (channel, all.len())).collect();
        f.debug_struct("Net").field("parcels", &lens).finish_non_exhaustive()
    }
}

/// One rank's end.
#[derive(Debug)]
pub(super) struct End<'n> {
    rank: usize,
    net: &'n Net,
}

impl Net {
    pub(super) fn new(ranks: usize, ports: usize, patience: u64, dice: Stream) -> Self {
        let state = Mutex::new(State { dice, open: BTreeMap::new(), channels: BTreeMap::new() });
        Self { ranks, ports, patience, state }
    }

    pub(super) fn ends(&self) -> Vec<End<'_>> {
        (0..self.ranks).map(|rank| End { rank, net: self }).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic in here")
    }

    /// The remote events and anti-messages on their way.
    pub(super) fn messages(&self, wire: &Wire<Note>) -> Vec<RemoteMessage<Note>> {
        let state = self.state();
        let mut messages = Vec::new();
        for bytes in state.channels.values().flatten() {
            let parcel = Parcel::open(bytes).expect("whole");
            let mut rest = if parcel.kind == EVENTS { parcel.body } else { &[] };
            while !rest.is_empty() {
                messages.push(RemoteMessage::read(&mut rest, wire).expect("a message"));
            }
        }
        messages
    }
}

impl Transport for End<'_> {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.net.ranks
    }

    fn ports(&self) -> usize {
        self.net.ports
    }

    fn send(&self, to: Address, parcel: Parcel) -> Result<(), NetError> {
        let bytes = parcel.seal();
        let from = Parcel::open(&bytes).expect("just sealed").port;
        let channel = ((to.rank, to.port), (self.rank, from));
        self.net.state().channels.entry(channel).or_default().push_back(bytes);
        Ok(())
    }

    fn abandon(&self) {}

    fn receive(&self, port: usize) -> Result<Option<Received>, NetError> {
        let State { dice, open, channels } = &mut *self.net.state();
        let here = (self.rank, port);
        let mut filled: Vec<_> = channels
            .iter_mut()
            .filter(|((to, _), parcels)| *to == here && !parcels.is_empty())
            .collect();
        if filled.is_empty() {
            return Ok(None);
        }
        let left = open.entry(here).or_default();
        if *left == 0 {
            if dice.below(self.net.patience) > 0 {
                return Ok(None);
            }
            let all = filled.iter().map(|(_, parcels)| parcels.len()).sum::<usize>();
            *left = 1 + dice.below(all as u64) as usize;
        }
        *left -= 1;
        let pick = dice.below(filled.len() as u64) as usize;
        let ((_, (from, _)), parcels) = &mut filled[pick];
        let from = *from;
        Ok(parcels.pop_front().map(|bytes| Received { from, bytes }))
    }
}
