//! A tracked queue.

use std::collections::VecDeque;

use super::field::{Change, Field, tracked};
use crate::Context;

/// A queue with two ends, in which an event saves only the elements that it changes.
///
/// ```
/// use warpline_core::{Context, TrackedDeque};
///
/// fn arrive(waiting: &mut TrackedDeque<u32>, customer: u32, cx: &impl Context<()>) {
///     waiting.push_back(customer, cx);
/// }
///
/// fn serve(waiting: &mut TrackedDeque<u32>, cx: &impl Context<()>) -> Option<u32> {
///     waiting.pop_front(cx)
/// }
/// ```
pub struct TrackedDeque<T>(pub(super) Field<VecDeque<T>, Changed<T>>);

/// What undoes a change.
pub(super) enum Changed<T> {
    /// The element was this one.
    Element(usize, T),
    PushedBack,
    PushedFront,
    PoppedBack(T),
    PoppedFront(T),
}

impl<T> Change<VecDeque<T>> for Changed<T> {
    fn revert(self, elements: &mut VecDeque<T>) {
        match self {
            Self::Element(index, old) => elements[index] = old,
            Self::PushedBack => drop(elements.pop_back()),
            Self::PushedFront => drop(elements.pop_front()),
            Self::PoppedBack(old) => elements.push_back(old),
            Self::PoppedFront(old) => elements.push_front(old),
        }
    }
}

impl<T: Clone> TrackedDeque<T> {
    /// A field with these elements.
    pub fn new(elements: VecDeque<T>) -> Self {
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

    /// Adds an element at the back.
    #[inline]
    pub fn push_back<M>(&mut self, element: T, cx: &impl Context<M>) {
        let logged = self.0.logged_mut();
        logged.save(cx, |_| Changed::PushedBack);
        logged.contents.push_back(element);
    }

    /// Adds an element at the front.
    #[inline]
    pub fn push_front<M>(&mut self, element: T, cx: &impl Context<M>) {
        let logged = self.0.logged_mut();
        logged.save(cx, |_| Changed::PushedFront);
        logged.contents.push_front(element);
    }

    /// Removes the element at the back.
    #[inline]
    pub fn pop_back<M>(&mut self, cx: &impl Context<M>) -> Option<T> {
        let logged = self.0.logged_mut();
        let last = logged.contents.pop_back()?;
        logged.save(cx, |_| Changed::PoppedBack(last.clone()));
        Some(last)
    }

    /// Removes the element at the front.
    #[inline]
    pub fn pop_front<M>(&mut self, cx: &impl Context<M>) -> Option<T> {
        let logged = self.0.logged_mut();
        let first = logged.contents.pop_front()?;
        logged.save(cx, |_| Changed::PoppedFront(first.clone()));
        Some(first)
    }
}

tracked!(TrackedDeque<T>, VecDeque<T>, VecDeque<T>);
