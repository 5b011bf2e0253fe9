//! One call of a foreign handler: what it sees of the engine, and its outbox.
//!
//! Called by [`model`](super::model) for each event, and for each that is undone by a reverse
//! handler.
//!
//! # Invariants
//!
//! - **CALL-A.** `out` points to room for `capacity` events of `2 + message_words` words each, of
//!   which the handler has written the first `len`; `grow` makes more room when `len` is
//!   `capacity`.
//! - **CALL-B.** A thread makes one call at a time: no engine handles an event while it sends those
//!   of another one. So it has one room for an outbox that has grown.

#![expect(unsafe_code, reason = "handlers are functions of another language")]

use std::{cell::RefCell, mem::MaybeUninit, panic, ptr, slice};

use warpline::{Context, EventKey, LpId, Reversal, Stream};

use super::{
    base::{Base, Constants, check_streams, offsets, words_of},
    failures::{Failure, Failures, Role},
    words::Words,
};

/// A handler: it gets the LP's state, the message and the context, and returns 0, or another number
/// if it failed.
///
/// State and message have at least as many words as the [`Description`](super::Description) says;
/// in `start` the message is null. A handler that undoes events has the words of the stream
/// before the event, and what it sends has no effect.
pub type Handler =
    unsafe extern "C" fn(state: *mut u64, message: *const u64, context: *mut HandlerContext) -> i32;

/// What a handler sees of the engine. It writes `note`, `len`, `oversize`, and what `stream` and
/// `out` point to, and reads the rest.
#[derive(Debug)]
#[repr(C)]
pub struct HandlerContext {
    base: Base,
    out: *mut u64,
    len: u64,
    capacity: u64,
    note: u64,
    oversize: u64,
}

/// What is the same in all calls of a model's handlers.
#[derive(Debug)]
#[repr(C)]
struct HandlerConstants {
    base: Constants,
    grow: unsafe extern "C" fn(*mut HandlerContext),
    stride: u64,
}

/// Where the fields are that a handler uses, in bytes, beside those of [`BASE`](super::BASE).
///
/// | field | |
/// |---|---|
/// | `out`, `len`, `capacity` | the outbox: of each event the receiver, the delay and the message |
/// | `note` | a word that a handler leaves for the one that undoes the event |
/// | `oversize` | 0, or the bytes of a message that has no room in an event: the event fails |
pub const LAYOUT: &[(&str, usize)] = offsets!(HandlerContext: out, len, capacity, note, oversize);

/// Where the fields of a handler's constants are, in bytes, beside those of
/// [`CONSTANTS`](super::CONSTANTS).
///
/// | field | |
/// |---|---|
/// | `grow` | a function that makes room for more events in the outbox |
/// | `stride` | the words of an event in the outbox: two more than a message has |
pub const HANDLER_CONSTANTS: &[(&str, usize)] = offsets!(HandlerConstants: grow, stride);

/// Words of the outbox that need no allocation.
const OUTBOX: usize = 64;
/// Words of an event beside its message: receiver and delay.
const HEAD: usize = 2;

/// What every call of a model needs. Computed once: two divisions take as long as a small handler.
#[derive(Debug)]
pub(super) struct Calls {
    constants: HandlerConstants,
    /// What the constants point to.
    _parameters: Vec<u64>,
    /// How many events an outbox has room for at first.
    capacity: usize,
    /// The failures, if they are kept: then each call begins with a copy of the state.
    pub(super) failures: Option<Failures>,
}

/// An outbox on the stack.
type Outbox = [MaybeUninit<u64>; OUTBOX];

/// What is before a handler.
#[derive(Clone, Copy)]
struct Situation {
    me: LpId,
    now: f64,
    note: u64,
}

/// What repeats a call beside its situation: the words of the stream, and the state.
type Before<S> = ([u64; 2], <S as Words>::Kept);

impl Calls {
    pub(super) fn new(
        parameters: Vec<u64>,
        (lps, message_words): (usize, usize),
        is_repeatable: bool,
    ) -> Self {
        check_streams();
        let stride = HEAD + message_words;
        let failures = is_repeatable.then(Failures::default);
        let base = Constants::new(lps, &parameters);
        let constants = HandlerConstants { base, grow, stride: stride as u64 };
        let capacity = OUTBOX / stride;
        Self { constants, _parameters: parameters, capacity, failures }
    }

    #[inline]
    fn context(
        &self,
        Situation { me, now, note }: Situation,
        stream: *mut [u64; 2],
        outbox: &mut Outbox,
    ) -> HandlerContext {
        HandlerContext {
            base: Base::new(stream, (me, now), (&raw const self.constants).cast()),
            out: outbox.as_mut_ptr().cast(),
            len: 0,
            capacity: self.capacity as u64,
            note,
            oversize: 0,
        }
    }

    /// What repeats a call that is about to be made, if failures are kept.
    #[inline]
    fn before<S: Words>(&self, rng: &Stream, state: &S) -> Option<Before<S>> {
        self.failures.is_some().then(|| (rng.words(), state.keep()))
    }

    /// Keeps what a handler had before it that has failed.
    #[cold]
    fn note_failure<S: Words>(
        &self,
        (role, event): (Role, Option<&EventKey>),
        Situation { me, now, note }: Situation,
        before: Option<Before<S>>,
        message: Option<&[u64]>,
    ) {
        let Some((failures, (stream, state))) = self.failures.as_ref().zip(before) else { return };
        let (state, message) = (S::kept(&state).to_vec(), message.map(<[u64]>::to_vec));
        let event = event.copied();
        failures.note(Failure { role, event, lp: me.get(), now, stream, note, state, message });
    }
}

/// Lets a handler handle a message, or start an LP.
#[inline]
pub(super) fn call<S: Words, M: Words>(
    handler: Handler,
    state: &mut S,
    message: Option<&M>,
    calls: &Calls,
    cx: &mut impl Context<M>,
) {
    let mut outbox = [const { MaybeUninit::uninit() }; OUTBOX];
    let situation = Situation { me: cx.me(), now: cx.now().get(), note: 0 };
    let before = calls.before(cx.rng(), state);
    let mut context = calls.context(situation, words_of(cx.rng()), &mut outbox);
    let contents = message.map_or(ptr::null(), |message| message.get().as_ptr());
    let words = state.get_mut().as_mut_ptr();
    // SAFETY: whoever made the model has promised that the handler keeps to its arguments. State
    // and stream are borrowed by this call alone; message and context outlive it (CALL-A).
    let status = unsafe { handler(words, contents, &raw mut context) };
    if status != 0 {
        let role = if message.is_some() { Role::Handle } else { Role::Start };
        let message = message.map(Words::get);
        calls.note_failure::<S>((role, cx.event_key()), situation, before, message);
        cx.fail(format_args!("its handler failed: it returned {status}"));
        return;
    }
    if context.oversize != 0 {
        let (size, room) = (context.oversize, 8 * (calls.constants.stride as usize - HEAD));
        cx.fail(format_args!("it sends a message of {size} bytes; those of the model have {room}"));
        return;
    }
    cx.note(context.note);
    let stride = calls.constants.stride as usize;
    for number in 0..context.len as usize {
        let event = context.out.wrapping_add(number * stride);
        // SAFETY: the handler has written so many events, each of `stride` words (CALL-A).
        let event = unsafe { slice::from_raw_parts(event, stride) };
        let &[to, delay, ref contents @ ..] = event else { unreachable!("an event has a head") };
        let Ok(receiver) = u32::try_from(to as i64) else {
            let to = to as i64;
            cx.fail(format_args!("it sends to LP {to}, but LPs are numbered from 0 on"));
            return;
        };
        // With a closure the send is compiled into the engine's loop; `send` would be called.
        let (receiver, delay) = (LpId::new(receiver), f64::from_bits(delay));
        cx.send_with(receiver, delay, |message| *message = M::of(contents));
    }
}

/// Lets a handler undo an event.
pub(super) fn call_reverse<S: Words, M: Words>(
    handler: Handler,
    state: &mut S,
    message: &M,
    calls: &Calls,
    event: &mut Reversal,
) {
    let mut outbox = [const { MaybeUninit::uninit() }; OUTBOX];
    let situation = Situation { me: event.me(), now: event.now().get(), note: event.note() };
    let before = calls.before(event.rng(), state);
    let mut context = calls.context(situation, words_of(event.rng()), &mut outbox);
    let words = state.get_mut().as_mut_ptr();
    // SAFETY: as in `call`.
    let status = unsafe { handler(words, message.get().as_ptr(), &raw mut context) };
    if status != 0 {
        let called = (Role::Reverse, Some(event.event_key()));
        calls.note_failure::<S>(called, situation, before, Some(message.get()));
        // The engine catches it. No panic, because the place of one would be here.
        let failed = format!("its reverse handler failed: it returned {status}");
        panic::resume_unwind(Box::new(failed));
    }
}

thread_local! {
    /// The outbox of a handler that sends more than others, one after the other.
    static GROWN: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for twice as many events, at least one more.
unsafe extern "C" fn grow(context: *mut HandlerContext) {
    // SAFETY: a handler calls this with its own context, which nobody else uses meanwhile.
    let context = unsafe { &mut *context };
    // SAFETY: the constants of such a context are those of a model's handlers (`Calls::context`).
    let constants = unsafe { &*context.base.constants().cast::<HandlerConstants>() };
    let stride = constants.stride as usize;
    context.capacity = (2 * context.capacity).max(1);
    GROWN.with_borrow_mut(|room| {
        if context.out != room.as_mut_ptr() {
            // SAFETY: the handler has written so many events on the stack (CALL-A, CALL-B).
            let sent = unsafe { slice::from_raw_parts(context.out, context.len as usize * stride) };
            room.clear();
            room.extend_from_slice(sent);
        }
        room.resize(context.capacity as usize * stride, 0);
        context.out = room.as_mut_ptr();
    });
}
