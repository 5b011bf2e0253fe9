//! Where the message of a send comes from: it was made before, or it is written where it lies.

/// Gives a message once, in one of two ways.
pub(crate) trait Source<T> {
    /// Whether to [`overwrite`](Self::overwrite) an old message costs less than to [`make`] one and
    /// to copy it.
    ///
    /// [`make`]: Self::make
    const IN_PLACE: bool;

    /// Makes the message.
    fn make(self) -> T;

    /// Puts the message in the place of an old one.
    fn overwrite(self, old: &mut T);
}

/// A message that was made.
pub(crate) struct Value<T>(pub(crate) T);

impl<T> Source<T> for Value<T> {
    const IN_PLACE: bool = false;

    #[inline(always)]
    fn make(self) -> T {
        self.0
    }

    #[inline(always)]
    fn overwrite(self, old: &mut T) {
        *old = self.0;
    }
}

/// What writes a message over an old one, or over a default one.
pub(crate) struct Fill<F>(pub(crate) F);

impl<T: Default, F: FnOnce(&mut T)> Source<T> for Fill<F> {
    const IN_PLACE: bool = true;

    #[inline(always)]
    fn make(self) -> T {
        let mut message = T::default();
        (self.0)(&mut message);
        message
    }

    #[inline(always)]
    fn overwrite(self, old: &mut T) {
        (self.0)(old);
    }
}
