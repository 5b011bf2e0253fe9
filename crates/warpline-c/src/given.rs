//! What C gives, texts and arrays, read with the checks that can be made; and texts for C.
//!
//! Called by the rest of this crate, for each pointer of a structure of the header.

#![expect(unsafe_code, reason = "C gives pointers")]

use std::{
    ffi::{CStr, CString, c_char},
    slice,
};

use super::INTERFACE;

/// What is wrong with something that C gave, in words.
pub(crate) type Wrong = String;

/// The text at a pointer; `what` is its name in messages.
///
/// # Safety
///
/// The pointer is null, or a text that ends with a zero and does not change for as long as `'a`.
pub(crate) unsafe fn text<'a>(what: &str, text: *const c_char) -> Result<&'a str, Wrong> {
    if text.is_null() {
        return Err(format!("{what} is NULL"));
    }
    // SAFETY: it is not null, so it is a text, by the contract of this function.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| format!("{what} is not UTF-8: {}", text.to_string_lossy()))
}

/// The text at a pointer, which is empty if there is none.
///
/// # Safety
///
/// That of [`text`].
pub(crate) unsafe fn text_or_empty<'a>(what: &str, given: *const c_char) -> Result<&'a str, Wrong> {
    if given.is_null() {
        return Ok("");
    }
    // SAFETY: the contract is the same.
    unsafe { text(what, given) }
}

/// The array at a pointer.
///
/// # Safety
///
/// The pointer is null, or points to so many of them, which do not change for as long as `'a`.
pub(crate) unsafe fn array<'a, T>(
    what: &str,
    first: *const T,
    count: usize,
) -> Result<&'a [T], Wrong> {
    if count == 0 {
        return Ok(&[]);
    }
    if first.is_null() {
        return Err(format!("{what} is NULL, and should have {count} elements"));
    }
    // SAFETY: it is not null, so it points to so many of them, by the contract of this function.
    Ok(unsafe { slice::from_raw_parts(first, count) })
}

/// Whether the caller was compiled for this library.
pub(crate) fn check_interface(caller: u32) -> Result<(), Wrong> {
    if caller == INTERFACE {
        return Ok(());
    }
    Err(format!(
        "the program was compiled with version {caller} of warpline.h, and the library is of \
         version {INTERFACE}; what to do: compile the program with the library's own header"
    ))
}

/// Bytes as words, with zeros at the end.
pub(crate) fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_ne_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}

/// A text for C. A zero inside cannot be shown there.
pub(crate) fn for_c(text: impl Into<String>) -> CString {
    CString::new(text.into().replace('\0', "\u{fffd}")).unwrap_or_default()
}
