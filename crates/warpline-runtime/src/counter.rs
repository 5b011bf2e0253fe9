//! Counters, and split-phase operations in progress: the means by which threads synchronize.
//!
//! # Invariants
//!
//! - **COUNT-A.** A counter never decreases. A thread that waits for a value is woken by the
//!   increment that reaches it, and not before.
//! - **COUNT-B.** An operation completes once, with a value or an error, and then increments its
//!   counter.
//! - **COUNT-C.** The [`Split`] of an operation returns its error. If it was dropped, the error
//!   ends the run.

use std::{
    any::Any,
    cell::RefCell,
    future::{Future, poll_fn},
    marker::PhantomData,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
};

use super::RuntimeError;

/// The first error of a worker, which ends the run.
pub(super) type Failure = Rc<RefCell<Option<RuntimeError>>>;

/// Keeps an error, unless there is an earlier one.
pub(super) fn fail(failure: &Failure, error: RuntimeError) {
    failure.borrow_mut().get_or_insert(error);
}

/// Counts completions; clones are the same counter.
#[derive(Clone, Debug, Default)]
pub struct Counter(Rc<RefCell<Count>>);

#[derive(Debug, Default)]
struct Count {
    value: u64,
    waiting: Vec<(u64, Waker)>,
}

impl Counter {
    /// A counter at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The value so far.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.0.borrow().value
    }

    /// Adds one, and makes the threads eligible that waited for the new value.
    pub fn increment(&self) {
        let mut count = self.0.borrow_mut();
        count.value += 1;
        let value = count.value;
        let ready: Vec<_> = count.waiting.extract_if(.., |waiting| waiting.0 <= value).collect();
        drop(count);
        ready.into_iter().for_each(|(_, waker)| waker.wake());
    }

    /// Waits until the value is at least `n`.
    pub fn reaches(&self, n: u64) -> impl Future<Output = ()> + use<> {
        let counter = self.clone();
        poll_fn(move |context| {
            let mut count = counter.0.borrow_mut();
            if count.value >= n {
                return Poll::Ready(());
            }
            let waker = context.waker();
            if !count.waiting.iter().any(|waiting| waiting.0 == n && waiting.1.will_wake(waker)) {
                count.waiting.push((n, waker.clone()));
            }
            Poll::Pending
        })
    }
}

/// A split-phase operation: a future of its answer that need not be awaited.
///
/// Dropping it does not stop the operation.
#[derive(Debug)]
pub struct Split<T> {
    slot: Rc<RefCell<Slot>>,
    answer: PhantomData<fn() -> T>,
}

/// An answer, of the type that the operation has.
pub(super) type Answer = Box<dyn Any>;

/// The place for the answer to an operation.
#[derive(Debug)]
pub(super) struct Slot {
    answer: Option<Result<Answer, RuntimeError>>,
    waker: Option<Waker>,
    counter: Option<Counter>,
    failure: Failure,
}

impl<T: 'static> Split<T> {
    /// An operation that is starting; [`complete`] will put its answer, a `T`, into the slot.
    pub(super) fn new(failure: &Failure) -> (Self, Rc<RefCell<Slot>>) {
        let failure = Rc::clone(failure);
        let slot = Slot { answer: None, waker: None, counter: None, failure };
        let slot = Rc::new(RefCell::new(slot));
        (Self { slot: Rc::clone(&slot), answer: PhantomData }, slot)
    }

    /// Makes the operation increment `counter` when it completes.
    pub fn counted(self, counter: &Counter) -> Self {
        let completed = self.slot.borrow().answer.is_some();
        if completed {
            counter.increment();
        } else {
            self.slot.borrow_mut().counter = Some(counter.clone());
        }
        self
    }

    /// The answer, if it has arrived. It can be taken once.
    pub fn take(&self) -> Option<Result<T, RuntimeError>> {
        let answer = self.slot.borrow_mut().answer.take()?;
        let own = |answer: Answer| answer.downcast().expect("an answer of another operation");
        Some(answer.map(|answer| *own(answer)))
    }
}

impl<T: 'static> Future for Split<T> {
    type Output = Result<T, RuntimeError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(answer) = self.take() {
            return Poll::Ready(answer);
        }
        self.slot.borrow_mut().waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl<T> Drop for Split<T> {
    fn drop(&mut self) {
        let mut slot = self.slot.borrow_mut();
        if let Some(Err(error)) = slot.answer.take() {
            fail(&slot.failure, error);
        }
    }
}

/// Completes an operation with its answer.
pub(super) fn complete(slot: &Rc<RefCell<Slot>>, answer: Result<Answer, RuntimeError>) {
    // If the operation was dropped, the caller has the only reference.
    let dropped = Rc::strong_count(slot) == 1;
    let mut place = slot.borrow_mut();
    match answer {
        Err(error) if dropped => fail(&place.failure, error),
        answer => place.answer = Some(answer),
    }
    let (waker, counter) = (place.waker.take(), place.counter.take());
    drop(place);
    waker.into_iter().for_each(Waker::wake);
    counter.into_iter().for_each(|counter| counter.increment());
}
