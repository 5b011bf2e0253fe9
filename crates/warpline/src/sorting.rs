//! Sorting without the type of what is sorted.
//!
//! A sort is a lot of code, and the engines sort what depends on the type of a model. So the keys
//! are sorted here, which is compiled once, and what has them is put in their order. Called by the
//! engines and by the frame of a run.

use warpline_core::{EventKey, LpId};

/// Up to this number of items, each is put into its place among those before it.
pub(crate) const FEW: usize = 20;

/// Sorts a few items, such as one for each worker. Equal ones keep their order.
pub(crate) fn few<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    for end in 1..items.len() {
        let mut place = end;
        while place > 0 && key(&items[place]) < key(&items[place - 1]) {
            items.swap(place, place - 1);
            place -= 1;
        }
    }
}

/// Sorts small items, such as the places of events.
#[inline]
pub(crate) fn by_key<T: Copy>(items: &mut [T], key: impl Fn(T) -> EventKey) {
    if items.len() <= FEW {
        insert_each(items, &key);
    } else {
        let keys: Vec<_> = items.iter().map(|&item| key(item)).collect();
        arrange(items, order_of_keys(&keys));
    }
    debug_assert!(items.is_sorted_by_key(|&item| key(item)), "an item was left where it was");
}

#[inline]
fn insert_each<T: Copy>(items: &mut [T], key: &impl Fn(T) -> EventKey) {
    for end in 1..items.len() {
        let (item, mut place) = (items[end], end);
        let own = key(item);
        while place > 0 && own < key(items[place - 1]) {
            items[place] = items[place - 1];
            place -= 1;
        }
        items[place] = item;
    }
}

fn order_of_keys(keys: &[EventKey]) -> Vec<usize> {
    order(keys)
}

/// Sorts events by LP, and those of an LP by key. Equal ones keep their order.
pub(crate) fn by_lp<T>(events: &mut [T], key: impl Fn(&T) -> (LpId, EventKey)) {
    if events.len() <= FEW {
        few(events, &key);
    } else {
        let keys: Vec<_> = events.iter().map(&key).collect();
        arrange(events, order_by_lp(&keys));
    }
    debug_assert!(events.is_sorted_by_key(key), "an event is behind its group");
}

fn order_by_lp(keys: &[(LpId, EventKey)]) -> Vec<usize> {
    order(keys)
}

/// The places of these keys of events, in the order of the keys.
pub(crate) fn order_of_events(keys: &[EventKey]) -> Vec<usize> {
    distinct(keys, "two events have one key")
}

/// The places of these LPs, in their order.
pub(crate) fn order_of_lps(lps: &[LpId]) -> Vec<usize> {
    distinct(lps, "CUT-A: an LP is there twice")
}

/// The places of these keys, in their order; the first of equal ones stays the first.
fn order<K: Ord + Copy>(keys: &[K]) -> Vec<usize> {
    let mut places: Vec<_> = (0..keys.len()).collect();
    places.sort_by_key(|&place| keys[place]);
    places
}

/// The same, where it is a mistake if two are equal.
fn distinct<K: Ord + Copy>(keys: &[K], mistake: &str) -> Vec<usize> {
    let places = order(keys);
    debug_assert!(places.is_sorted_by(|&one, &next| keys[one] < keys[next]), "{mistake}");
    places
}

/// Puts items in an order: at each place the one that is at that place of `order`.
pub(crate) fn arrange<T>(items: &mut [T], mut order: Vec<usize>) {
    debug_assert_eq!(items.len(), order.len(), "an item has no place");
    for start in 0..items.len() {
        let mut at = start;
        // Once around the circle of those that change places.
        loop {
            let from = std::mem::replace(&mut order[at], at);
            if from == start || from == at {
                break;
            }
            items.swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use warpline_core::VirtualTime;

    fn key(number: u64) -> EventKey {
        EventKey::new(VirtualTime::ZERO, 0, LpId::new(0), number)
    }

    fn shuffled() -> impl Strategy<Value = Vec<u64>> {
        Just((0..60).collect::<Vec<_>>()).prop_shuffle()
    }

    proptest! {
        /// Mutations, each seen red: `few` or `insert_each` does not go back further than one
        /// place; `arrange` swaps with the start of the circle; `by_lp` has another order of many.
        #[test]
        fn all_sort(all in shuffled(), len in 0..60_usize) {
            let mut numbers = all[..len].to_vec();
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            let keys: Vec<_> = numbers.iter().map(|&number| key(number)).collect();
            let mut by = numbers.clone();
            arrange(&mut by, order_of_events(&keys));
            prop_assert_eq!(&by, &sorted);
            let mut little = numbers.clone();
            few(&mut little, |&number| number as usize);
            prop_assert_eq!(&little, &sorted);
            let mut small = numbers.clone();
            by_key(&mut small, key);
            prop_assert_eq!(&small, &sorted);
            // With ties, of which the first stays the first.
            let of = |&number: &u64| (LpId::new(number as u32 % 3), key(number / 8));
            let (mut events, mut stable) = (numbers.clone(), numbers.clone());
            by_lp(&mut events, of);
            stable.sort_by_key(of);
            prop_assert_eq!(&events, &stable);
            let lps: Vec<_> = numbers.iter().map(|&number| LpId::new(number as u32)).collect();
            arrange(&mut numbers, order_of_lps(&lps));
            prop_assert_eq!(&numbers, &sorted);
        }
    }
}
