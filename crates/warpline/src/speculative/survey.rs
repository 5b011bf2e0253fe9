//! What is pending at a resize: which events are valid, how many there are, and the first of them.
//!
//! Called by [`resize`](super::resize) between two of its barriers, when no worker executes
//! anything. The invariants are there.

use std::mem::needs_drop;

use warpline_core::{EventKey, Model};

use super::{
    event::{Event, annihilate, first_time},
    worker::SpeculativeWorker,
};
use crate::event::{Buffer, Message};

impl<M: Model, B: Buffer<Message<M>>> SpeculativeWorker<'_, M, B> {
    /// Counts the valid events, and finds the first time before the end, as bits.
    pub(super) fn survey(&self, pending: &[Event<B>]) -> (u64, u64) {
        let (shared, calendar) = (self.sender.shared, &self.sender.calendar);
        debug_assert!(pending.iter().all(|event| !event.is_anti()), "SPEC-C: one is left");
        if !self.has_given_up {
            let count = calendar.len() + pending.len() as u64;
            return (count, first_time(calendar.due().chain(pending), shared.end));
        }
        let is_valid = |event: &&Event<B>| shared.resize.is_valid(event);
        let count = calendar.iter().filter(is_valid).count() + pending.len();
        let first = first_time(calendar.due().filter(is_valid).chain(pending), shared.end);
        (count as u64, first)
    }

    /// What the messages of the valid events own, where it is counted.
    pub(super) fn owned_by(&self, pending: &[Event<B>]) -> u64 {
        let shared = self.sender.shared;
        if !const { needs_drop::<Message<M>>() } || shared.settings.memory.is_none() {
            return 0;
        }
        let is_valid = |event: &&Event<B>| !self.has_given_up || shared.resize.is_valid(event);
        let events = self.sender.calendar.iter().filter(is_valid).chain(pending);
        let messages = events.filter_map(|event| event.message.as_ref());
        messages.map(|message| shared.owned(message)).sum()
    }

    /// Keeps the events that were sent before the border and are not canceled (RESIZE-B). Returns
    /// an anti-message that has found no event, or none.
    pub(super) fn keep_valid(&self, pending: &mut Vec<Event<B>>) -> Option<EventKey> {
        let resize = &self.sender.shared.resize;
        pending.retain(|event| resize.is_valid(event));
        let mut antis = pending.extract_if(.., |event| event.is_anti()).collect();
        annihilate(pending, &mut antis);
        debug_assert!(pending.iter().all(|event| !event.is_anti()), "SPEC-C: one is left");
        antis.first().map(|anti| anti.key)
    }

    /// Moves the valid events of the calendar to `pending`. Returns an anti-message that has found
    /// no event, or none.
    pub(super) fn empty_calendar(&mut self, pending: &mut Vec<Event<B>>) -> Option<EventKey> {
        let mut events = Vec::new();
        self.sender.calendar.empty(&mut events);
        let stray = self.keep_valid(&mut events).or(self.sender.calendar.take_stray());
        debug_assert_eq!(self.sender.calendar.len(), 0, "the calendar is not empty");
        pending.append(&mut events);
        stray
    }
}
