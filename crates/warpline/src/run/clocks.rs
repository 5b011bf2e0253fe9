//! The timeline of ranks that are processes: each records what its own workers do, by its own
//! clock, and rank 0 puts all of it together.
//!
//! At the beginning and at the end of a run rank 0 asks each other rank for its time, several
//! times, and takes the answer that came back first: the other clock showed that time in the middle
//! between question and answer, give or take half of what was in between. In between, times are
//! interpolated. Called by [`Ranks::connect`] and at the conclusion, on ranks that have a part of a
//! timeline.

use warpline_net::NetError;

use super::{
    Ranks,
    ranks::{CLOCK, from_bytes, to_bytes},
};
use crate::timeline::{Meeting, Timeline};

/// How many questions each rank answers.
const QUESTIONS: usize = 32;

impl Ranks<'_> {
    /// A run begins: all clocks start, at about the same time.
    pub(super) fn begin_timeline(&self) -> Result<(), NetError> {
        let Some(timeline) = self.timeline() else { return Ok(()) };
        timeline.restart();
        timeline.note_meetings(self.compare_clocks(timeline)?);
        Ok(())
    }

    /// All workers of all ranks have ended: rank 0 gets what they have recorded.
    pub(super) fn end_timeline(&self) -> Result<(), NetError> {
        let Some(timeline) = self.timeline() else { return Ok(()) };
        timeline.note_meetings(self.compare_clocks(timeline)?);
        let mine = if self.me() == 0 { Vec::new() } else { to_bytes(&timeline.take_tapes()) };
        for (rank, bytes) in self.gather_at_first(&mine)?.iter().flatten().enumerate().skip(1) {
            timeline.add_tapes(from_bytes(bytes, rank)?);
        }
        Ok(())
    }

    /// Compares the clocks of all other ranks, in their order, with that of rank 0, which gets the
    /// result.
    fn compare_clocks(&self, timeline: &Timeline) -> Result<Vec<Meeting>, NetError> {
        if self.me() > 0 {
            for _ in 0..QUESTIONS {
                self.next_of(0, CLOCK)?;
                self.send_control(0, CLOCK, &to_bytes(&timeline.ticks()))?;
            }
            return Ok(Vec::new());
        }
        let compare = |rank| {
            let ask = |_| {
                let before = timeline.ticks();
                self.send_control(rank, CLOCK, &[])?;
                let answer = self.next_of(rank, CLOCK)?;
                let after = timeline.ticks();
                let (ours, error) = (before.midpoint(after), (after - before).div_ceil(2));
                Ok(Meeting { theirs: from_bytes(&answer, rank)?, ours, error })
            };
            let answers = (0..QUESTIONS).map(ask).collect::<Result<Vec<_>, NetError>>()?;
            Ok(answers.into_iter().min_by_key(|answer| answer.error).unwrap_or_default())
        };
        (1..self.count()).map(compare).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use warpline_net::network;

    use super::*;
    use crate::timeline::Phase;

    /// Rank 0 gets the tracks of all ranks, at its own times. A clock that began a while later
    /// shows less, and what is between two meetings of two clocks stays there.
    #[test]
    fn rank_0_gets_all_tracks() {
        let ends = network(3, 2);
        let work = |end: &_| {
            let timeline = Timeline::default();
            let ranks = Ranks::of(end).recorded(Some(&timeline));
            let me = ranks.me();
            timeline.prepare(me..me + 1, 2);
            ranks.begin_timeline().expect("a network");
            timeline.lend(me, 1).expect("there").begin(Phase::Batch);
            ranks.end_timeline().expect("a network");
            (timeline.recording(), timeline.ticks())
        };
        let all: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = ends.iter().map(|end| scope.spawn(move || work(end))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let places = |at: usize| {
            let tracks = all[at].0.tracks.iter();
            tracks.map(|track| (track.rank, track.worker, track.spans.len())).collect::<Vec<_>>()
        };
        let expected = [(0, 0, 0), (0, 1, 1), (1, 0, 0), (1, 1, 1), (2, 0, 0), (2, 1, 1)];
        assert_eq!(places(0), expected);
        assert!(places(1).is_empty() && places(2).is_empty());
        let recording = &all[0].0;
        assert!(recording.clock_error > 0);
        for track in &recording.tracks {
            assert!(track.spans.iter().all(|span| span.begin <= span.end));
            assert!(track.spans.iter().all(|span| span.end <= recording.end), "{track:?}");
        }
    }
}
