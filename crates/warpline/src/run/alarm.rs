//! Tells the other workers that one of them has panicked: they would wait for it for ever.

/// Raises the alarm when it is dropped without having been disarmed, which a panic does.
pub(crate) struct Alarm<F: FnMut()>(F);

impl<F: FnMut()> Alarm<F> {
    /// An alarm that calls `raise` if the thread panics from here on.
    pub(crate) const fn new(raise: F) -> Self {
        Self(raise)
    }

    /// The worker has ended as it should.
    pub(crate) fn disarm(self) {
        std::mem::forget(self);
    }
}

impl<F: FnMut()> Drop for Alarm<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
