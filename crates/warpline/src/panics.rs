//! Catches the panics of a model's code, so that they are reported like any other fault.
//!
//! While a thread runs a model's code, the process's panic hook keeps what it would have printed
//! for that thread: an engine decides later whether the panic really happened. The hook is put in
//! place by the first run, in front of the one that was there; a program that sets a hook of its
//! own later than that will see the panics of models printed by it, too.

use std::{
    cell::{Cell, RefCell},
    panic::{self, AssertUnwindSafe, PanicHookInfo},
    sync::Once,
};

use warpline_core::Fault;

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    static LOCATION: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `code`, and turns a panic in it into a fault.
///
/// After a panic, whatever `code` was changing is in an unknown state: the caller may only read
/// from it where the run was, and drop it.
pub(crate) fn catch<T>(code: impl FnOnce() -> T) -> Result<T, Fault> {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !keep(info) {
                previous(info)
            }
        }));
    });
    LOCATION.set(None);
    let outer = CATCHING.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(code));
    CATCHING.set(outer);
    result.map_err(|payload| Fault::Panicked {
        message: message(payload.as_ref()),
        location: LOCATION.take(),
    })
}

/// Runs code that is not the model's within code that [`catch`] runs: its panics are printed as
/// usual.
pub(crate) fn outside<T>(code: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            CATCHING.set(self.0);
        }
    }
    let _restore = Restore(CATCHING.replace(false));
    code()
}

/// Ends the code that [`catch`] runs, from within it: nothing is printed, and `catch` gives a fault
/// that says nothing. The caller has noted the reason before.
pub(crate) fn cut_off() -> ! {
    panic::resume_unwind(Box::new("the handler was cut off"))
}

/// Keeps the place of a panic that is being caught; false if it is none of ours.
fn keep(info: &PanicHookInfo<'_>) -> bool {
    if CATCHING.get() {
        LOCATION.set(info.location().map(ToString::to_string));
    }
    CATCHING.get()
}

fn message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
