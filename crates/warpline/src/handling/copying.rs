//! What a copy of a state takes, measured by those who may choose how states are saved, or how
//! often: the sequential engine between two stages, windows that speculate where they begin, and
//! Time Warp at a new GVT.

use std::{hint::black_box, time::Instant};

use arrayvec::ArrayVec;

use crate::panics;

/// So many states are copied, or fewer if that takes longer than this, in seconds.
const COPIES: usize = 8;
const COPIES_TIME: f64 = 10e-6;

/// Copies states as an engine saves them, over another one, whose memory is used again. Returns how
/// many, and the seconds that took: for ever, if a copy panics.
///
/// They are copied twice, and the second time counts: an engine's copies wait neither for their
/// code nor for memory. (On traffic, `clone` took ten times as long as the copies before events.)
pub(crate) fn time_copies<'s, L: Clone + 's>(
    states: impl IntoIterator<Item = &'s L>,
) -> (u32, f64) {
    let timed = panics::catch(|| {
        let mut states = states.into_iter().take(COPIES);
        let Some(first) = states.next() else { return (0, 0.0) };
        let mut place = first.clone();
        let mut copied = ArrayVec::<_, COPIES>::from_iter([first]);
        let mut began = Instant::now();
        for state in states {
            if began.elapsed().as_secs_f64() > COPIES_TIME {
                break;
            }
            place.clone_from(black_box(state));
            copied.push(state);
        }
        began = Instant::now();
        for &state in &copied {
            place.clone_from(black_box(state));
            black_box(&mut place);
        }
        (copied.len() as u32, began.elapsed().as_secs_f64())
    });
    let (made, seconds) = timed.unwrap_or((1, f64::INFINITY));
    debug_assert!(seconds >= 0.0, "{made} copies take {seconds} s");
    (made, seconds)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A state that counts what is done to it.
    struct Counted<'a> {
        clones: &'a Cell<u32>,
        overwritten: &'a Cell<u32>,
        /// So many copies over another one, and the next panics.
        most: u32,
    }

    impl Clone for Counted<'_> {
        fn clone(&self) -> Self {
            self.clones.set(self.clones.get() + 1);
            Self { ..*self }
        }

        fn clone_from(&mut self, _: &Self) {
            assert!(self.overwritten.get() < self.most, "no more copies");
            self.overwritten.set(self.overwritten.get() + 1);
        }
    }

    /// Copies lie where another one was, but for the first, and they are few. (Seen red: with
    /// `clone` in place of `clone_from`; without the limit.)
    #[test]
    fn copies_are_made_as_engines_make_them() {
        let (clones, overwritten) = (Cell::new(0), Cell::new(0));
        let state = Counted { clones: &clones, overwritten: &overwritten, most: u32::MAX };
        let (made, seconds) = time_copies(std::iter::repeat(&state));
        assert!((1..=COPIES as u32).contains(&made) && seconds < 1.0, "{made} took {seconds} s");
        assert_eq!((clones.get(), overwritten.get()), (1, 2 * made - 1));
        assert_eq!(time_copies::<Counted<'_>>([]), (0, 0.0));
    }

    #[test]
    fn a_copy_that_panics_takes_for_ever() {
        let (clones, overwritten) = (Cell::new(0), Cell::new(0));
        let state = Counted { clones: &clones, overwritten: &overwritten, most: 1 };
        assert_eq!(time_copies(std::iter::repeat(&state)), (1, f64::INFINITY));
    }
}
