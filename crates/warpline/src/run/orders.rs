//! What the ranks of a session tell each other between two runs: rank 0 says what comes next
//! ([`Order`]), and parts of a cut travel from there to the others and back.
//!
//! Called by [`session::ranks`](crate::session). A part may be larger than a message of the network
//! can be, so it travels in pieces.
//!
//! # Invariants
//!
//! - **ORDER-A.** The last message of a run, and of all that is said here, is one of rank 0, and
//!   each other rank waits for it. So no rank takes in what belongs to the next run (NET-A), and
//!   each run has a [`Ranks`] of its own.

use serde::{Deserialize, Serialize};
use warpline_core::append_words;
use warpline_net::{Malformed, NetError};

use super::ranks::{ORDER, PART, Ranks, from_bytes, to_bytes};
use crate::RunError;

/// Bytes of a part in one message. (One of MPI has less than 2 GiB.)
const PIECE_BYTES: usize = 1 << 26;

/// What the other ranks of a session do next.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// They take part in a run up to this time, with these bytes for events, from their part of a
    /// cut on or from the start.
    Run { until: f64, memory: Option<u64>, has_cut: bool },
    /// The session is over.
    End,
}

impl Ranks<'_> {
    /// Rank 0 gives all others an order. A rank that is lost is found out later.
    pub(crate) fn give(&self, order: &Order) -> Result<(), NetError> {
        debug_assert_eq!(self.me(), 0, "ORDER-A: rank {} gives an order", self.me());
        let body = to_bytes(order);
        (1..self.count()).try_for_each(|rank| self.send_control(rank, ORDER, &body))
    }

    /// Waits for the next order of rank 0.
    pub(crate) fn next_order(&self) -> Result<Order, NetError> {
        debug_assert!(self.me() > 0, "ORDER-A: rank 0 waits for an order");
        from_bytes(&self.next_of(0, ORDER)?, 0)
    }

    /// Sends a part to a rank.
    pub(crate) fn send_part(&self, rank: usize, part: &[u8]) -> Result<(), NetError> {
        debug_assert!(rank == 0 || self.me() == 0, "ORDER-A: a part for rank {rank}");
        let mut length = Vec::new();
        append_words(&mut length, [part.len() as u64]);
        self.send_control(rank, PART, &length)?;
        part.chunks(PIECE_BYTES).try_for_each(|piece| self.send_control(rank, PART, piece))
    }

    /// Waits for a part of a rank.
    pub(crate) fn next_part(&self, rank: usize) -> Result<Vec<u8>, NetError> {
        debug_assert!(rank == 0 || self.me() == 0, "ORDER-A: a part of rank {rank}");
        let malformed = |what: &str| NetError::Malformed {
            from: rank,
            what: Malformed::Body(format!("a part of a cut {what}")),
        };
        let length = self.next_of(rank, PART)?;
        let length = <[u8; 8]>::try_from(length).map_err(|_| malformed("has no length"))?;
        let length = usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX);
        let mut part = Vec::new();
        while part.len() < length {
            let piece = self.next_of(rank, PART)?;
            if piece.is_empty() || piece.len() > length - part.len() {
                return Err(malformed("is not as long as it says"));
            }
            part.extend(piece);
        }
        Ok(part)
    }

    /// All ranks learn whether something went well at each of them. If not, that is the error of
    /// all: its own one, where there is one.
    pub(crate) fn agree<T>(&self, mine: Result<T, RunError>) -> Result<T, RunError> {
        if let Err(error @ RunError::Net(_)) = mine {
            return Err(error);
        }
        let reported = mine.as_ref().err().map(ToString::to_string);
        let all = self.gather_all(&to_bytes(&reported))?;
        debug_assert_eq!(all.len(), self.count(), "RANK-A: a rank has not taken part");
        let done = mine?;
        for (rank, bytes) in all.iter().enumerate() {
            if let Some(error) = from_bytes::<Option<String>>(bytes, rank)? {
                return Err(RunError::Rank { rank, error });
            }
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use warpline_net::network;

    use super::*;
    use crate::ConfigError;

    /// Runs this on each of three ranks.
    fn on_ranks<T: Send>(work: impl Fn(&Ranks<'_>) -> T + Sync) -> Vec<T> {
        let work = &work;
        let ends = network(3, 1);
        thread::scope(|scope| {
            let start = |end| scope.spawn(move || work(&Ranks::of(end)));
            let all: Vec<_> = ends.iter().map(|end| start(end)).collect();
            all.into_iter().map(|rank| rank.join().expect("no panic")).collect()
        })
    }

    /// What one rank cannot do, none goes on from.
    #[test]
    fn all_learn_what_failed() {
        let ended = on_ranks(|ranks| {
            let why = || ConfigError::new("rank", 1, "another one").into();
            ranks.agree(if ranks.me() == 1 { Err(why()) } else { Ok(()) })
        });
        for (rank, ended) in ended.into_iter().enumerate() {
            match ended.expect_err("rank 1 fails") {
                RunError::Config(own) => assert_eq!((rank, &*own.allowed), (1, "another one")),
                RunError::Rank { rank: 1, error } => assert!(error.contains("another one")),
                other => panic!("rank {rank}: {other}"),
            }
        }
    }

    /// A part arrives whole, whatever its length, and an order before it.
    #[test]
    fn parts_arrive_whole() {
        let lengths = [0, 1, PIECE_BYTES, PIECE_BYTES + 1];
        let part = |len| (0..len).map(|place| place as u8).collect::<Vec<_>>();
        on_ranks(|ranks| {
            for len in lengths {
                if ranks.me() == 0 {
                    ranks.give(&Order::End).expect("there");
                    ranks.send_part(2, &part(len)).expect("there");
                    continue;
                }
                assert!(matches!(ranks.next_order(), Ok(Order::End)));
                if ranks.me() == 2 {
                    assert!(ranks.next_part(0).expect("a part") == part(len), "{len} bytes");
                }
            }
        });
    }
}
