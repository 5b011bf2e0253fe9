//! A tracked vector.

use super::field::{Change, Field, tracked};
use crate::Context;

/// A vector in which an event saves only the elements that it changes.
///
/// ```
/// use warpline_core::{Context, TrackedVec};
///
/// fn handle(seen: &mut TrackedVec<u64>, number: u64, cx: &impl Context<()>) {
///     match seen.binary_search(&number) {
///         Ok(place) => *seen.write(place, cx) += 1,
///         Err(_) => seen.push(number, cx),
///     }
/// }
/// ```
pub struct TrackedVec<T>(pub(super) Field<Vec<T>, Changed<T>>);

/// What undoes a change.
pub(super) enum Changed<T> {
    /// The element was this one.
    Element(usize, T),
    Pushed,
    Popped(T),
}

impl<T> Change<Vec<T>> for Changed<T> {
    fn revert(self, elements: &mut Vec<T>) {
        match self {
            Self::Element(index, old) => elements[index] = old,
            Self::Pushed => drop(elements.pop()),
            Self::Popped(old) => elements.push(old),
        }
    }
}

impl<T: Clone> TrackedVec<T> {
    /// A field with these elements.
    pub fn new(elements: Vec<T>) -> Self {
        Self(Field::new(elements))
    }

    /// An element, to change it. The old one is saved, unless the event has changed this one last.
    ///
    /// # Panics
    ///
    /// If there is no such element.
    #[inline]
    pub fn write<M>(&mut self, index: usize, cx: &impl Context<M>) -> &mut T {
        let logged = self.0.logged_mut();
        let is_of_it = |last: &Changed<T>| matches!(last, Changed::Element(of, _) if *of == index);
        logged.save_once(cx, is_of_it, |elements| Changed::Element(index, elements[index].clone()));
        &mut logged.contents[index]
    }

    /// Adds an element at the end.
    #[inline]
    pub fn push<M>(&mut self, element: T, cx: &impl Context<M>) {
        let logged = self.0.logged_mut();
        logged.save(cx, |_| Changed::Pushed);
        logged.contents.push(element);
    }

    /// Removes the last element.
    #[inline]
    pub fn pop<M>(&mut self, cx: &impl Context<M>) -> Option<T> {
        let logged = self.0.logged_mut();
        let last = logged.contents.pop()?;
        logged.save(cx, |_| Changed::Popped(last.clone()));
        Some(last)
    }

    /// Removes elements from the end, or adds copies of `element` there, until there are `len`.
    pub fn resize<M>(&mut self, len: usize, element: &T, cx: &impl Context<M>) {
        while self.len() > len {
            self.pop(cx);
        }
        while self.len() < len {
            self.push(element.clone(), cx);
        }
    }
}

tracked!(TrackedVec<T>, Vec<T>, [T]);
