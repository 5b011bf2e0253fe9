//! Catches the panics of a model's code, so that they are reported like other faults.
//!
//! Every engine runs code of a model through [`catch`]. Meanwhile the panic hook prints nothing for
//! that thread and keeps the place of the panic, because Time Warp may undo the event later. The
//! first run installs the hook in front of the one that was there. If a program sets another hook
//! after that, the other hook prints the panics of models, too.

use std::{
    cell::{Cell, RefCell},
    panic::{self, AssertUnwindSafe, PanicHookInfo},
    sync::Once,
};

use warpline_core::Fault;

static INSTALLED: Once = Once::new();

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    static LOCATION: RefCell<Option<String>> = const { RefCell::new(None) };
    /// Whether there is a place in `LOCATION`, which takes longer to reach.
    static HAS_LOCATION: Cell<bool> = const { Cell::new(false) };
}

/// Runs `code`, and turns a panic in it into a fault.
///
/// After a panic, the values that `code` was changing are in an unknown state: the caller may only
/// drop them, and read the place of the error.
pub(crate) fn catch<T>(code: impl FnOnce() -> T) -> Result<T, Fault> {
    let (mut code, mut value) = (Some(code), None);
    protect(&mut || value = code.take().map(|code| code()))?;
    Ok(value.unwrap_or_else(|| unreachable!("the code has run to its end")))
}

/// Does so without the type of the code: compiled once, for there are hundreds of kinds of code.
fn protect(code: &mut dyn FnMut()) -> Result<(), Fault> {
    let outer = begin();
    let result = panic::catch_unwind(AssertUnwindSafe(code));
    debug_assert!(CATCHING.get(), "who has called code within this has not put things back");
    CATCHING.set(outer);
    result.map_err(|payload| fault(payload.as_ref()))
}

/// Begins to catch; returns whether panics were caught before.
#[inline]
fn begin() -> bool {
    if !INSTALLED.is_completed() {
        install();
    }
    if HAS_LOCATION.replace(false) {
        LOCATION.set(None);
    }
    CATCHING.replace(true)
}

#[cold]
fn install() {
    INSTALLED.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !keep(info) {
                previous(info)
            }
        }));
    });
}

#[cold]
fn fault(payload: &(dyn std::any::Any + Send)) -> Fault {
    let message = message(payload);
    #[cfg(test)]
    OBSERVER.get().inspect(|observer| observer(&message));
    Fault::Panicked { message, location: LOCATION.take() }
}

/// Runs code that is not the model's, such as an observer, within code that [`catch`] runs. Its
/// panics are printed as usual.
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

/// Unwinds out of the code that [`catch`] runs. Nothing is printed, and the fault that `catch`
/// returns has no meaning: the caller has noted the reason before.
pub(crate) fn cut_off() -> ! {
    panic::resume_unwind(Box::new("the handler was cut off"))
}

#[cfg(test)]
thread_local! {
    static OBSERVER: Cell<Option<fn(&str)>> = const { Cell::new(None) };
}

/// Lets `observer` see the messages of all panics that this thread catches.
#[cfg(test)]
pub(crate) fn observe(observer: Option<fn(&str)>) {
    OBSERVER.set(observer);
}

/// Says whether panics of this thread are caught; returns whether they were. Simulated workers
/// share a thread.
#[cfg(test)]
pub(crate) fn set_catching(is_catching: bool) -> bool {
    CATCHING.replace(is_catching)
}

/// Keeps the place of a panic that will be caught; false if it will not be caught here.
fn keep(info: &PanicHookInfo<'_>) -> bool {
    if CATCHING.get() {
        LOCATION.set(info.location().map(ToString::to_string));
        HAS_LOCATION.set(true);
    }
    CATCHING.get()
}

fn message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
