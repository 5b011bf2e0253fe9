//! The events of an LP in a window, against a map: they come, are taken away, and come again.

use std::collections::BTreeMap;

use proptest::prelude::*;
use warpline_core::{LpId, Stream};

use super::*;
use crate::{
    simulated::{Dice, model::Cell, toy},
    speculative::event::Parity,
};

const LP: LocalLp = LocalLp::new(0);

fn event(sequence: u64, message: u32) -> Event<u32> {
    let key = EventKey::new(VirtualTime::ZERO, 0, LpId::new(0), sequence);
    let (sent_in, message) = (Parity::of(0), Some(message));
    Event { key, to: LpId::new(0), io: None, sent_in, message }
}

/// A window in which an LP has handled one event.
fn begun() -> Window<Cell<false>, u32> {
    let mut window = Window::new(1);
    let toy = toy(&mut Dice(Stream::for_lp(1, LpId::new(0))), false);
    let lp = Lp::new(&toy, LpId::new(0), 1);
    window.order.push(by_lp::item(LP, window.log.len()));
    window.log.push(event(0, 0));
    window.touch(LP, &lp, 0..1, &mut UndoLog::default(), false);
    window
}

/// How many added events are followed to gather those of the LP.
fn chain(window: &mut Window<Cell<false>, u32>) -> usize {
    let next = |added: &Added<u32>| added.before;
    let mut at = window.record(LP).added;
    std::iter::from_fn(|| window.added.get(at as usize).map(|added| at = next(added))).count()
}

proptest! {
    /// Events that come and go, each key more than once: those that are left are found in the order
    /// of their keys, and nothing else is looked at.
    #[test]
    fn events_that_were_taken_are_forgotten(steps in prop::collection::vec(0_u64..40, 0..200)) {
        let (mut window, mut places) = (begun(), Vec::new());
        let mut expected = BTreeMap::from([(0, 0)]);
        for (step, key) in (1..).zip(steps) {
            let message = expected.remove(&key);
            if message.is_none() {
                window.add(LP, event(key, step));
                expected.insert(key, step);
                continue;
            }
            window.gather(LP, &mut places);
            prop_assert_eq!(window.take(event(key, 0).key, &places), message);
            prop_assert_eq!(window.take(event(key, 0).key, &places), None, "it was taken");
            window.unlink_taken(LP);
        }
        window.gather(LP, &mut places);
        let left = places.iter().map(|&place| window.event(place));
        let left: Vec<_> = left.map(|event| (event.key.sequence(), event.message)).collect();
        let expected: Vec<_> = expected.into_iter().map(|(key, it)| (key, Some(it))).collect();
        let first = usize::from(!window.log[0].is_anti());
        prop_assert_eq!(chain(&mut window), expected.len() - first);
        prop_assert_eq!(left, expected);
    }
}
