//! A tracked value of any type.

use super::field::{Change, Field, tracked};
use crate::Context;

/// A field whose old value is saved before an event changes it.
///
/// ```
/// use warpline_core::{Context, Tracked};
///
/// fn handle(table: &mut Tracked<[u64; 64]>, place: usize, cx: &impl Context<()>) {
///     if table[place] > 0 {
///         table.write(cx)[place] -= 1;
///     }
/// }
/// ```
pub struct Tracked<T>(pub(super) Field<T, Whole<T>>);

/// The value from before.
pub(super) struct Whole<T>(T);

impl<T> Change<T> for Whole<T> {
    fn revert(self, value: &mut T) {
        *value = self.0;
    }
}

impl<T: Clone> Tracked<T> {
    /// A field with this value.
    pub fn new(value: T) -> Self {
        Self(Field::new(value))
    }

    /// The value, to change it. The first call in an event saves a copy of the whole old value.
    #[inline]
    pub fn write<M>(&mut self, cx: &impl Context<M>) -> &mut T {
        let logged = self.0.logged_mut();
        if let Some(event) = logged.must_save(cx)
            && logged.log.back().is_none_or(|(at, _)| *at != event)
        {
            logged.log.push_back((event, Whole(logged.contents.clone())));
        }
        &mut logged.contents
    }
}

tracked!(Tracked<T>, T, T);
