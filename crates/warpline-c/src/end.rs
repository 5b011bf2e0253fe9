//! The end of a run, as `finish` of a model in C sees it: states in, results out.
//!
//! Called by [`model`](super::model) when a run ends; the functions here by `finish`.

#![expect(unsafe_code, reason = "C calls these functions, with pointers")]

use std::{
    ffi::{c_char, c_void},
    ptr,
};

use warpline::Figure;

use super::given;

/// `warpline_end`.
#[derive(Debug)]
pub(crate) struct End<'a> {
    pub(crate) states: &'a [u64],
    pub(crate) state_words: usize,
    pub(crate) lps: usize,
    pub(crate) time: f64,
    pub(crate) parameters: *const u64,
    pub(crate) figures: Vec<Figure>,
}

/// The state of an LP among the states of all; null if there is none.
pub(crate) fn state_of(states: &[u64], state_words: usize, lp: i64) -> *const c_void {
    let place = usize::try_from(lp).ok().and_then(|lp| lp.checked_mul(state_words));
    let state = place.and_then(|place| states.get(place..place.checked_add(state_words)?));
    state.map_or(ptr::null(), |state| state.as_ptr().cast())
}

/// Declared in the header.
///
/// # Safety
///
/// `end` is what `finish` was called with, and the call has not returned.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn warpline_end_time(end: *const End<'_>) -> f64 {
    // SAFETY: `end` lives during the call of `finish`.
    unsafe { &*end }.time
}

/// Declared in the header.
///
/// # Safety
///
/// That of [`warpline_end_time`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn warpline_end_lps(end: *const End<'_>) -> i64 {
    // SAFETY: `end` lives during the call of `finish`.
    unsafe { &*end }.lps as i64
}

/// Declared in the header.
///
/// # Safety
///
/// That of [`warpline_end_time`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn warpline_end_state(end: *const End<'_>, lp: i64) -> *const c_void {
    // SAFETY: `end` lives during the call of `finish`.
    let end = unsafe { &*end };
    state_of(end.states, end.state_words, lp)
}

/// Declared in the header.
///
/// # Safety
///
/// That of [`warpline_end_time`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn warpline_end_parameters(end: *const End<'_>) -> *const c_void {
    // SAFETY: `end` lives during the call of `finish`.
    unsafe { &*end }.parameters.cast()
}

/// Declared in the header.
///
/// # Safety
///
/// That of [`warpline_end_time`], and nobody else uses `end` meanwhile. The texts are null or end
/// with a zero.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn warpline_end_result(
    end: *mut End<'_>,
    name: *const c_char,
    value: f64,
    unit: *const c_char,
    meaning: *const c_char,
) {
    // SAFETY: `end` lives during the call of `finish`, which has it for itself.
    let end = unsafe { &mut *end };
    let text = |given| {
        // SAFETY: the caller's texts end with a zero.
        unsafe { given::text_or_empty("a text", given) }.unwrap_or("?").to_owned()
    };
    let name = if name.is_null() { "?".to_owned() } else { text(name) };
    let meaning = Some(text(meaning)).filter(|meaning| !meaning.is_empty());
    let meaning = meaning.unwrap_or_else(|| "a result of the model".to_owned());
    end.figures.push(Figure::new(name, value, text(unit), meaning));
}
