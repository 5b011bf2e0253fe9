//! How short of buffers the workers are, and for how long.
//!
//! Called at every new GVT, by [`flow`](super::flow); [`cancelback`](super::cancelback) answers.

/// Each round of a shortage takes back more; after this many, all uncommitted events are undone.
pub(super) const SQUEEZES: u32 = 8;
/// Rounds that the event which GVT has reached gets to find a buffer when all else is undone. Where
/// the others begin to undo only when GVT does not advance, it takes them [`SQUEEZES`] of these.
pub(super) const PATIENCE: u32 = 8 + SQUEEZES + STUCK;
/// Where a pool keeps the buffers of workers apart, it does so for this many rounds in which GVT
/// does not advance for lack of buffers. Meanwhile the buffers of the worker that lacks them
/// return.
pub(super) const STUCK: u32 = 3;
/// Rounds without a shortage after which the squeeze is eased by one step.
pub(super) const EASE_AFTER: u32 = 4;

/// How short of buffers the workers are.
#[derive(Debug, Default)]
pub(super) struct Shortage {
    /// Rounds with a shortage in which GVT did not advance.
    pub(super) stuck: u32,
    /// How often the time ahead of GVT was halved because of a shortage.
    pub(super) squeezes: u32,
    /// Rounds with a shortage and without progress, since the squeeze is tightest.
    pub(super) hopeless: u32,
    /// The same, with events in the backlog.
    pub(super) hopeless_backlog: u32,
    pub(super) calm: u32,
    /// The time ahead of GVT that was in use when the shortage began.
    pub(super) unsqueezed: f64,
}

impl Shortage {
    /// The time ahead of GVT that the squeeze leaves, if there is one.
    pub(super) fn squeezed(&self) -> Option<f64> {
        (self.squeezes > 0).then(|| {
            let rest = f64::from(1_u32 << self.squeezes);
            if self.is_tightest() { 0.0 } else { self.unsqueezed / rest }
        })
    }

    /// Whether the squeeze leaves nothing but the event that GVT has reached.
    pub(super) const fn is_tightest(&self) -> bool {
        self.squeezes >= SQUEEZES
    }

    /// A round without a shortage. A worker that has just tried again is not short yet: that alone
    /// is no reason for hope.
    pub(super) fn ease(&mut self, advanced: bool) {
        self.calm += 1;
        if self.calm >= EASE_AFTER {
            self.squeezes = self.squeezes.saturating_sub(1);
            self.calm = 0;
        }
        if advanced {
            self.hopeless = 0;
        }
    }
}
