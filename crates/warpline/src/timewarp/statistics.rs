//! The counters of a worker.

/// The counters of one worker.
#[derive(Clone, Debug, Default)]
pub(super) struct Statistics {
    /// Events whose handler was called.
    pub(super) processed: u64,
    pub(super) committed: u64,
    pub(super) rolled_back: u64,
    /// Rollbacks because of a straggler.
    pub(super) primary_rollbacks: u64,
    /// Rollbacks because an event was canceled that had been handled.
    pub(super) secondary_rollbacks: u64,
    pub(super) annihilated: u64,
    pub(super) anti_messages: u64,
    /// Events and anti-messages taken from the inbox.
    pub(super) received: u64,
    /// Non-blocking I/O events handled here, or by another worker before their LP came.
    pub(super) outputs: u64,
    /// Turns without an event to handle.
    pub(super) idle_turns: u64,
    /// Of these, those with as many uncommitted events as the worker may keep.
    pub(super) full_turns: u64,
    /// States that were copied, where not every event has a copy.
    pub(super) copied: u64,
    /// Events handled again to come from a copy to the state that was needed.
    pub(super) coasted: u64,
    pub(super) turns: u64,
    pub(super) cancelbacks: u64,
    /// LPs handed over to other workers.
    pub(super) moved_lps: u64,
    /// Events and anti-messages passed on because their LP had moved.
    pub(super) passed_on: u64,
    pub(super) history_peak: usize,
    /// The greatest time of a committed event.
    pub(super) last_time: f64,
    pub(super) marked: (u64, u64, u64),
    /// Only of the sum of all workers: events that were sent and not undone, and events and
    /// anti-messages that nobody has received.
    pub(super) sent: u64,
    pub(super) in_mail: u64,
}

impl Statistics {
    pub(super) const fn rollbacks(&self) -> u64 {
        self.primary_rollbacks + self.secondary_rollbacks
    }

    /// Counts a turn, in which events were handled or none.
    pub(super) fn count_turn(&mut self, worked: bool, is_full: bool) {
        self.turns += 1;
        self.idle_turns += u64::from(!worked);
        self.full_turns += u64::from(!worked && is_full);
    }

    /// Events processed, events rolled back, and rollbacks, since this was last asked.
    pub(super) const fn since_last_gvt(&mut self) -> (u64, u64, u64) {
        let now = (self.processed, self.rolled_back, self.rollbacks());
        let marked = self.marked;
        let since = (now.0 - marked.0, now.1 - marked.1, now.2 - marked.2);
        self.marked = now;
        since
    }

    /// The part of all events that stay with the worker that sends them: the others go by mail. Of
    /// the sum of all workers, at the end of the run.
    pub(super) fn local_share(&self) -> f64 {
        // What is pending when the run ends was sent as well, and may have come by mail.
        let sent = self.sent + self.annihilated;
        // Mail for an LP that had moved was received twice.
        let by_mail = (self.received + self.in_mail)
            .saturating_sub(self.passed_on)
            .saturating_sub(self.anti_messages);
        (1.0 - by_mail as f64 / sent.max(1) as f64).max(0.0)
    }

    /// The counters that a report tells beside its own.
    pub(super) fn counters(&self) -> Vec<(&'static str, u64)> {
        debug_assert!(self.idle_turns <= self.turns, "a turn was idle and none: {self:?}");
        debug_assert!(self.cancelbacks <= self.rolled_back, "taken back and not undone: {self:?}");
        vec![
            ("primary_rollbacks", self.primary_rollbacks),
            ("secondary_rollbacks", self.secondary_rollbacks),
            ("annihilated_events", self.annihilated),
            ("anti_messages", self.anti_messages),
            ("mail", self.received),
            ("cancelbacks", self.cancelbacks),
            ("moved_lps", self.moved_lps),
            ("mail_passed_on", self.passed_on),
            ("states_copied", self.copied),
            ("coasted_events", self.coasted),
            ("turns", self.turns),
            ("idle_turns", self.idle_turns),
            ("processed_list_peak", self.history_peak as u64),
        ]
    }

    /// Adds another worker's counters.
    pub(super) fn add(&mut self, other: &Self) {
        self.processed += other.processed;
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.primary_rollbacks += other.primary_rollbacks;
        self.secondary_rollbacks += other.secondary_rollbacks;
        self.annihilated += other.annihilated;
        self.anti_messages += other.anti_messages;
        self.received += other.received;
        self.outputs += other.outputs;
        self.idle_turns += other.idle_turns;
        self.full_turns += other.full_turns;
        self.copied += other.copied;
        self.coasted += other.coasted;
        self.turns += other.turns;
        self.cancelbacks += other.cancelbacks;
        self.moved_lps += other.moved_lps;
        self.passed_on += other.passed_on;
        self.last_time = self.last_time.max(other.last_time);
        self.history_peak = self.history_peak.max(other.history_peak);
    }
}
