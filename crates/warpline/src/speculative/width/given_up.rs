//! How wide windows are after some were given up: narrower, and for how long not as wide again; or,
//! where that does not help, none for a while.
//!
//! Called at each resize.

use super::{Mode, WidthControl};
use crate::{scheduling, speculative::resize::Reason};

/// The most events of a stretch that are handled one by one.
const ONE_BY_ONE_MAX: u64 = 1 << 20;
/// After this number of storms in a row, events are handled one by one for a while.
const STORMS_MAX: u32 = 6;

impl WidthControl {
    /// The open windows were given up, and `lost` executions with them; the newest one would have
    /// had `size` events. Returns how many events are to be handled one by one before the next
    /// window.
    pub(in crate::speculative) fn given_up(
        &mut self,
        reason: Reason,
        lost: u64,
        standing: i64,
        size: u64,
    ) -> u64 {
        let is_size = reason.has(Reason::SIZE);
        if !is_size && !reason.has(Reason::STORM) {
            return 0;
        }
        self.growing = None;
        let (wide, is_soon) = (self.level, self.since_storm < 64);
        // Where nothing is known yet, the number of events tells more than that much was wasted.
        let is_new = self.base_cost == 0.0;
        let by_size = if is_size || is_new { -self.levels_to_first(size as f64) } else { 0 };
        let drop = by_size.max(if is_soon && !is_size { 4 } else { 2 });
        self.cap = wide - 1;
        self.cap_credit = 16 * lost as i64 + 4096;
        if is_size {
            // Half of what is too many is what windows may have, for a good while.
            let octaves = (2.0 * size as f64 / self.events_max as f64).log2();
            self.cap -= (2.0 * octaves).ceil().max(0.0) as i32;
            self.cap_credit = self.cap_credit.max(64 * self.events_max);
        }
        self.cap_until = standing + self.cap_credit;
        self.paid_at = self.cap_until;
        if self.since_storm < 8 {
            self.storms += 1;
        } else {
            (self.storms, self.first_storm_level) = (1, wide);
        }
        self.since_storm = 0;
        self.direction = -1;
        let is_probe = self.mode == Mode::Candidate && self.base < wide && !is_soon;
        self.mode = Mode::Base;
        if self.storms >= STORMS_MAX {
            // Narrower windows do not help. The next stretch is longer.
            self.one_by_one =
                (4 * lost + scheduling::limit(1024)).max(self.one_by_one * 2).min(ONE_BY_ONE_MAX);
            (self.storms, self.since_storm) = (0, 1000);
            (self.cap, self.base) = (self.first_storm_level, self.first_storm_level - 2);
            self.settled_cost = 0.0;
            self.go_to(self.base);
            return self.one_by_one;
        }
        if is_probe {
            self.failed_steps += 1;
        } else {
            self.step = if is_size { 4 } else { 2 };
            (self.failed_steps, self.settled_cost) = (0, 0.0);
            self.base = wide - drop;
        }
        self.go_to(self.base);
        0
    }
}
