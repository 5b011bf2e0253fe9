//! A tracked value of any type.

use super::field::tracked;
use crate::{
    Context,
    undo::{Entry, Value},
};

/// A field whose old value is saved before an event changes it.
///
/// ```
/// use warpline_core::{Context, Tracked};
///
/// fn handle(table: &mut Tracked<[u64; 64]>, place: usize, cx: &mut impl Context<()>) {
///     if table[place] > 0 {
///         table.write(cx)[place] -= 1;
///     }
/// }
/// ```
pub struct Tracked<T> {
    last: u64,
    contents: T,
}

impl<T: Value> Tracked<T> {
    /// The value, to change it. The first call in an event saves the whole old value.
    #[inline]
    pub fn write<M>(&mut self, cx: &mut impl Context<M>) -> &mut T {
        if let Some(log) = cx.undo()
            && !log.is_new(self.last)
        {
            self.last = log.push(self.last, 0, 0, &self.contents);
        }
        &mut self.contents
    }

    /// Changes the value, and returns the old one.
    #[inline]
    pub fn set<M>(&mut self, value: T, cx: &mut impl Context<M>) -> T {
        std::mem::replace(self.write(cx), value)
    }

    #[inline]
    fn revert(contents: &mut T, entry: &mut Entry<'_>) {
        *contents = entry.value();
    }
}

impl<T> Tracked<T> {
    /// The value, to change it where no event can be undone any more.
    pub(crate) const fn outside_of_events(&mut self) -> &mut T {
        &mut self.contents
    }
}

tracked!(Tracked<T>, T, T);
