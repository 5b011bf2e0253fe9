//! An event, or the anti-message of one, as the speculative engine holds it: by value.

use warpline_core::{EventKey, Io, LpId};

use crate::{event, sorting};

/// An event, or its anti-message.
#[derive(Debug)]
pub(super) struct Event<B> {
    pub(super) key: EventKey,
    pub(super) to: LpId,
    /// `None` for an ordinary event.
    pub(super) io: Option<Io>,
    /// The parity of the window whose execution sent it.
    pub(super) sent_in: Parity,
    /// `None` for an anti-message.
    pub(super) message: Option<B>,
}

const _: () = assert!(size_of::<Event<()>>() == 32);

/// An event that another engine has sent, and whose sender has committed that.
impl<B> From<event::Event<B>> for Event<B> {
    fn from(event: event::Event<B>) -> Self {
        let event::Event { key, to, io, message } = event;
        Self { key, to, io: io.get(), sent_in: Parity::of(0), message: Some(message) }
    }
}

impl<B> Event<B> {
    /// The event as other engines have it; nothing for an anti-message.
    pub(super) fn into_plain(self) -> Option<event::Event<B>> {
        let Self { key, to, io, message, .. } = self;
        message.map(|message| event::Event { key, to, io: io.into(), message })
    }

    pub(super) const fn is_anti(&self) -> bool {
        self.message.is_none()
    }

    /// Whether it is the event of this key at this LP. An LP that was rolled back may send the same
    /// key to another LP.
    #[inline]
    pub(super) fn is(&self, key: &EventKey, to: LpId) -> bool {
        self.key == *key && self.to == to
    }
}

/// A window's number modulo two. At most two windows are open, so it tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parity(bool);

impl Parity {
    #[inline]
    pub(super) const fn of(window: u64) -> Self {
        Self(window % 2 == 1)
    }

    #[inline]
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }

    #[inline]
    pub(super) const fn other(self) -> Self {
        Self(!self.0)
    }

    /// Of what each window has: that of this one, and that of the other one.
    #[inline]
    pub(super) const fn split<T>(self, [even, odd]: &mut [T; 2]) -> (&mut T, &mut T) {
        if self.0 { (odd, even) } else { (even, odd) }
    }
}

/// Lets each anti-message take away the first event of its key and receiver (SPEC-C). Returns the
/// number of events that are gone; anti-messages without an event are left.
pub(super) fn annihilate<B>(events: &mut Vec<Event<B>>, antis: &mut Vec<Event<B>>) -> usize {
    annihilate_in(|keep| events.retain(keep), antis)
}

/// Does so with the events that `retain` passes on; it keeps those for which the answer is true.
pub(super) fn annihilate_in<B>(
    retain: impl FnOnce(&mut dyn FnMut(&Event<B>) -> bool),
    antis: &mut Vec<Event<B>>,
) -> usize {
    let key = |event: &Event<B>| (event.to, event.key);
    sorting::by_lp(antis, key);
    let mut is_used = vec![false; antis.len()];
    retain(&mut |event| {
        let first = antis.partition_point(|anti| key(anti) < key(event));
        let place = (first..antis.len())
            .take_while(|&place| key(&antis[place]) == key(event))
            .find(|&place| !is_used[place]);
        place.inspect(|&place| is_used[place] = true).is_none()
    });
    debug_assert_eq!(antis.len(), is_used.len(), "an anti-message was lost");
    let (before, mut places) = (antis.len(), is_used.into_iter());
    antis.retain(|_| places.next() != Some(true));
    before - antis.len()
}

/// The time of the first event before the end, as bits that compare as times do; all ones for none.
pub(super) fn first_time<'e, B: 'e>(events: impl Iterator<Item = &'e Event<B>>, end: f64) -> u64 {
    debug_assert!(!end.is_sign_negative(), "bits compare as times do above zero only");
    let times = events.map(|event| event.key.time_value());
    times.filter(|&time| time < end).map(f64::to_bits).min().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use warpline_core::VirtualTime;

    use super::*;

    /// Two events of a key, and an anti-message between them: the first one is gone.
    #[test]
    fn the_first_event_of_a_key_goes() {
        let event = |sequence, message| Event {
            key: EventKey::new(VirtualTime::ZERO, 0, LpId::new(0), sequence),
            to: LpId::new(1),
            io: None,
            sent_in: Parity::of(0),
            message,
        };
        let mut events = vec![event(1, Some(10)), event(0, Some(0)), event(1, Some(11))];
        let mut antis = vec![event(1, None), event(2, None)];
        assert_eq!(annihilate(&mut events, &mut antis), 1);
        let left: Vec<_> = events.iter().map(|event| event.message).collect();
        assert_eq!(left, [Some(0), Some(11)]);
        assert_eq!(antis[0].key.sequence(), 2);
        events[1].to = LpId::new(2);
        antis[0].key = events[1].key;
        assert_eq!(annihilate(&mut events, &mut antis), 0, "another LP got that key");
    }
}
