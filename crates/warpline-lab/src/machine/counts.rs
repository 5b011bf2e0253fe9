//! The counts of a replay, and an estimate of the time that it would have taken.
//!
//! [`Machine`](super::Machine) keeps one [`Counts`] per worker; experiments read and add them.
//!
//! # Invariants
//!
//! These hold for every worker at any time, and after a reset:
//!
//! - **COUNTS-A.** `remote_misses` is at most [`Counts::misses`], and `far_misses` at most that;
//!   `far_announcements` is at most `announcements`, and `cold_page_misses` at most `page_misses`.
//! - **COUNTS-B.** `needless_updates` is at most `updates_received`.
//! - **COUNTS-C.** Over all workers, as many invalidations were sent as received, and as many
//!   updates.

use std::{
    iter::Sum,
    ops::{AddAssign, Sub},
};

use super::Costs;

/// Counts of one worker, or of all.
///
/// An access that spans several lines counts once in `accesses`, once per part of a line in
/// `sub_hits` and `sub_misses`, and once per line in all other counts. A copy is a line in a
/// worker's cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Accesses of the trace.
    pub accesses: u64,
    /// Parts of lines that were in the worker's sub-cache; 0 without one.
    pub sub_hits: u64,
    /// Parts of lines that were not, but that were in the worker's cache; without a sub-cache, as
    /// many as [`hits`](Self::hits).
    pub sub_misses: u64,
    /// Lines that were in the worker's cache.
    pub hits: u64,
    /// Lines that never were in the worker's cache before.
    pub cold_misses: u64,
    /// Lines that had been there until they were evicted, alone or with their page.
    pub capacity_misses: u64,
    /// Lines that had been there until another worker's write invalidated them.
    pub coherence_misses: u64,
    /// Those misses that another worker's cache could serve.
    pub remote_misses: u64,
    /// Those of them that no cache on the worker's ring could serve.
    pub far_misses: u64,
    /// Writes that hit a line of which others had a copy, so that the write had to be announced to
    /// them. A write that misses is announced by its miss.
    pub announcements: u64,
    /// Those of them that concern a copy on another ring.
    pub far_announcements: u64,
    /// Copies of others that this worker's writes invalidated.
    pub invalidations_sent: u64,
    /// Copies in this worker's cache that the writes of others invalidated.
    pub invalidations_received: u64,
    /// Copies of others that this worker's writes brought up to date.
    pub updates_sent: u64,
    /// Updates of copies in this worker's cache by the writes of others.
    pub updates_received: u64,
    /// Those of `updates_received` whose copy this worker neither read nor wrote before the next
    /// update, or before the copy was evicted. An update counts only when that has happened, and
    /// only if it came after the last reset.
    ///
    /// # References
    ///
    /// Buffer paper, 3.3.
    pub needless_updates: u64,
    /// Modified lines that were written back to memory from this worker's cache: because the last
    /// copy was evicted, or, when writes invalidate, because another worker read them.
    pub write_backs: u64,
    /// Lines whose page was not mapped at this worker. The miss maps it, so the next lines of the
    /// page find it mapped.
    pub page_misses: u64,
    /// Those of `page_misses` whose page had never been mapped here before.
    pub cold_page_misses: u64,
}

impl Counts {
    /// Lines that were not in the worker's cache.
    #[must_use]
    pub const fn misses(&self) -> u64 {
        self.cold_misses + self.capacity_misses + self.coherence_misses
    }

    /// Lines that were read or written.
    #[must_use]
    pub const fn line_accesses(&self) -> u64 {
        self.hits + self.misses()
    }

    /// An estimate of the time spent on memory, in nanoseconds: the sum of the costs of all
    /// accesses.
    ///
    /// It has no queues (on the ring, or at a cache that many write to) and no overlap. A needless
    /// update costs its writer time, once per write, but not the cache that receives it. Locks are
    /// left out: see [`Costs::lock`].
    #[must_use]
    pub fn time_ns(&self, costs: &Costs) -> f64 {
        let far = self.far_misses + self.far_announcements;
        [
            (self.sub_hits, costs.sub_hit_ns),
            (self.sub_misses, costs.hit_ns),
            (self.remote_misses - self.far_misses, costs.remote_miss_ns),
            (self.misses() - self.remote_misses, costs.memory_miss_ns),
            (self.announcements - self.far_announcements, costs.announcement_ns),
            (far, costs.far_miss_ns),
            (self.page_misses, costs.page_miss_ns),
        ]
        .into_iter()
        .map(|(count, ns)| count as f64 * ns)
        .sum()
    }
}

impl Sub for Counts {
    type Output = Self;

    /// The counts since the `earlier` state of the same counts.
    fn sub(self, earlier: Self) -> Self {
        Self {
            accesses: self.accesses - earlier.accesses,
            sub_hits: self.sub_hits - earlier.sub_hits,
            sub_misses: self.sub_misses - earlier.sub_misses,
            hits: self.hits - earlier.hits,
            cold_misses: self.cold_misses - earlier.cold_misses,
            capacity_misses: self.capacity_misses - earlier.capacity_misses,
            coherence_misses: self.coherence_misses - earlier.coherence_misses,
            remote_misses: self.remote_misses - earlier.remote_misses,
            far_misses: self.far_misses - earlier.far_misses,
            announcements: self.announcements - earlier.announcements,
            far_announcements: self.far_announcements - earlier.far_announcements,
            invalidations_sent: self.invalidations_sent - earlier.invalidations_sent,
            invalidations_received: self.invalidations_received - earlier.invalidations_received,
            updates_sent: self.updates_sent - earlier.updates_sent,
            updates_received: self.updates_received - earlier.updates_received,
            needless_updates: self.needless_updates - earlier.needless_updates,
            write_backs: self.write_backs - earlier.write_backs,
            page_misses: self.page_misses - earlier.page_misses,
            cold_page_misses: self.cold_page_misses - earlier.cold_page_misses,
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.accesses += other.accesses;
        self.sub_hits += other.sub_hits;
        self.sub_misses += other.sub_misses;
        self.hits += other.hits;
        self.cold_misses += other.cold_misses;
        self.capacity_misses += other.capacity_misses;
        self.coherence_misses += other.coherence_misses;
        self.remote_misses += other.remote_misses;
        self.far_misses += other.far_misses;
        self.announcements += other.announcements;
        self.far_announcements += other.far_announcements;
        self.invalidations_sent += other.invalidations_sent;
        self.invalidations_received += other.invalidations_received;
        self.updates_sent += other.updates_sent;
        self.updates_received += other.updates_received;
        self.needless_updates += other.needless_updates;
        self.write_backs += other.write_backs;
        self.page_misses += other.page_misses;
        self.cold_page_misses += other.cold_page_misses;
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        let mut sum = Self::default();
        for one in counts {
            sum += one;
        }
        sum
    }
}
