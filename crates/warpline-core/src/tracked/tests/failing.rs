//! Handlers that panic while an old value is saved (UNDO-D).
//!
//! Mutations that turn these tests red: `pop_back` pops before it saves; so does `pop_first` of a
//! map or a set, or `remove` of a set.

use super::*;
use crate::undo::Owned;

/// A value that cannot be saved when it is 3.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fragile(u8);

impl Value for Fragile {
    const WORDS: usize = 1;
    const OWNS: bool = true;

    fn put(&self, to: &mut [u64], _: &mut Owned) {
        assert_ne!(self.0, 3, "fragile");
        to[0] = u64::from(self.0);
    }

    fn get(from: &[u64], _: &mut Owned) -> Self {
        Self(from[0] as u8)
    }
}

/// A handler panics while an old value is saved: nothing has changed then, and what it did before
/// is undone.
#[test]
fn a_write_that_fails_changes_nothing() {
    let values = [Fragile(1), Fragile(2), Fragile(3)];
    let mut log = UndoLog::default();
    let mut queue = TrackedDeque::new(VecDeque::from(values.clone()));
    let point = log.begin();
    let fails = |queue: &mut TrackedDeque<Fragile>, log: &mut UndoLog, pops: bool| {
        let cx = &mut Logging(Some(log));
        let write = || {
            if pops {
                queue.pop_back(cx);
            } else {
                queue.write(queue.len() - 1, cx).0 = 4;
            }
        };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(write)).is_err()
    };
    queue.pop_front(&mut Logging(Some(&mut log)));
    assert!(fails(&mut queue, &mut log, true) && fails(&mut queue, &mut log, false));
    assert!(queue.iter().eq(&values[1..]), "UNDO-D: saved before it changes");
    assert_eq!(
        (queue.undo_to(point, &mut log), queue == TrackedDeque::new(values.into())),
        (1, true)
    );
}

/// The same where the element that goes is found by its order.
#[test]
fn a_removal_that_fails_removes_nothing() {
    let mut log = UndoLog::default();
    let mut set = TrackedSet::new(BTreeSet::from([Fragile(3)]));
    let mut map = TrackedMap::new(BTreeMap::from([(1_u8, Fragile(3))]));
    log.begin();
    let mut fails = |remove: &mut dyn FnMut(&mut Logging<'_>)| {
        let cx = &mut Logging(Some(&mut log));
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| remove(cx))).is_err()
    };
    assert!(fails(&mut |cx| _ = set.pop_first(cx)) && fails(&mut |cx| _ = map.pop_first(cx)));
    assert!(fails(&mut |cx| _ = set.remove(&Fragile(3), cx)));
    assert_eq!((set.len(), map.len()), (1, 1), "UNDO-D: removed before it was saved");
}
