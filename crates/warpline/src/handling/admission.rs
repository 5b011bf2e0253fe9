//! Whether an event may be sent, and the key it gets: the same rules in every engine.

use warpline_core::{EventKey, Fault, LpId, Model, STEP_MAX, VirtualTime};

use crate::ConfigError;

/// What the model has declared, in the form that a send is checked against.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    lp_count: usize,
    /// Zero for a model that declares no lookahead: the check always passes then.
    lookahead: f64,
}

/// The event being handled, as the cause of what it sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cause<'k> {
    /// Its key; `None` for the call of `start`.
    pub(crate) key: Option<&'k EventKey>,
    pub(crate) now: VirtualTime,
    /// The step that a zero-delay effect gets.
    pub(crate) next_step: u32,
    pub(crate) me: LpId,
}

impl<'k> Cause<'k> {
    /// The call of `start`: a cause at time zero, before every event.
    pub(crate) const fn start(me: LpId) -> Self {
        Self { key: None, now: VirtualTime::ZERO, next_step: 0, me }
    }

    #[inline]
    pub(crate) fn event(key: &'k EventKey, me: LpId) -> Self {
        Self { key: Some(key), now: key.time(), next_step: key.step() + 1, me }
    }
}

impl Admission {
    pub(crate) fn new<M: Model>(model: &M) -> Result<Self, ConfigError> {
        let lp_count = model.lp_count();
        if u32::try_from(lp_count).is_err() {
            return Err(ConfigError::new("lp_count", lp_count, "below 2^32"));
        }
        let lookahead = model.lookahead().unwrap_or(0.0);
        if VirtualTime::new(lookahead).is_err() {
            return Err(ConfigError::new("lookahead", lookahead, "finite and not negative"));
        }
        Ok(Self { lp_count, lookahead })
    }

    /// The lookahead of the model, 0 if it declares none.
    pub(crate) const fn lookahead(&self) -> f64 {
        self.lookahead
    }

    pub(crate) const fn lp_count(&self) -> usize {
        self.lp_count
    }

    /// The receive time of an event sent with `delay`, unless it is negative.
    #[inline]
    pub(crate) fn after(cause: &Cause<'_>, to: LpId, delay: f64) -> Result<f64, Fault> {
        // A negative delay may be too small to change the time, so `admit` may not see it.
        if delay < 0.0 { Err(Fault::Past { to, delay }) } else { Ok(cause.now.get() + delay) }
    }

    /// The key of the `sequence`-th event that the cause's LP sends, due at `time`.
    #[inline]
    pub(crate) fn admit(
        &self,
        cause: &Cause<'_>,
        to: LpId,
        time: f64,
        sequence: u64,
    ) -> Result<EventKey, Fault> {
        debug_assert!(cause.me.index() < self.lp_count, "{} is no LP of the model", cause.me);
        let now = cause.now;
        let Some(recv_time) = now.not_before(time) else {
            return Err(self.refuse(cause, to, time));
        };
        let step = if recv_time > now { 0 } else { cause.next_step };
        // Computed as the windows of the conservative engine are, so that both round alike.
        let too_soon = to != cause.me && time < now.get() + self.lookahead;
        if step > STEP_MAX || to.index() >= self.lp_count || too_soon {
            return Err(self.refuse(cause, to, time));
        }
        let key = EventKey::new(recv_time, step, cause.me, sequence);
        debug_assert!(
            cause.key.is_none_or(|cause| cause.time() < recv_time || cause.step() < step),
            "an effect is not after its cause"
        );
        Ok(key)
    }

    /// Says which rule an event breaks.
    #[cold]
    fn refuse(&self, cause: &Cause<'_>, to: LpId, time: f64) -> Fault {
        let delay = time - cause.now.get();
        if !time.is_finite() {
            Fault::NotFinite { to, value: time }
        } else if delay < 0.0 {
            Fault::Past { to, delay }
        } else if to.index() >= self.lp_count {
            Fault::NoSuchLp { to, lp_count: self.lp_count }
        } else if to != cause.me && time < cause.now.get() + self.lookahead {
            Fault::BrokenLookahead { to, delay, lookahead: self.lookahead }
        } else {
            Fault::ZeroDelayChain { to, limit: STEP_MAX }
        }
    }
}
