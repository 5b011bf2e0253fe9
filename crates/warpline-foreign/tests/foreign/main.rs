//! Models in another language, on all engines, against their twins in Rust: one program, so that
//! the engines are compiled once for it.

#![expect(unsafe_code, reason = "handlers and processes are functions of another language")]

mod phold;
mod processes;
mod queues;

use warpline_foreign::{BASE, CONSTANTS, HANDLER_CONSTANTS};

/// Where a field of a context or of its constants is, by its name, as another language finds it.
/// `own` says where the fields are that not all contexts have.
fn place(context: *mut u8, own: &[(&str, usize)], name: &str) -> *mut u8 {
    let named = |(field, _): &&(&str, usize)| *field == name;
    if let Some((_, offset)) = BASE.iter().chain(own).find(named) {
        return context.wrapping_add(*offset);
    }
    let (_, offset) = CONSTANTS.iter().chain(HANDLER_CONSTANTS).find(named).expect("a field");
    let constants: *mut *mut u8 = place(context, own, "constants").cast();
    // SAFETY: the layout says that this field is a pointer.
    unsafe { constants.read() }.wrapping_add(*offset)
}
