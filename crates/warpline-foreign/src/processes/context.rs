//! What the functions of a process see of the engine, and how they ask for something.
//!
//! # Invariants
//!
//! - **RESUME-A.** A context lives while one function runs, on the stack of [`resume`](super), and
//!   what it points to is that function's alone meanwhile: the words of the site, those of the
//!   stream, and, for the functions of the context, the environment of the process.
//! - **RESUME-B.** No unwinding passes through foreign frames: a function of the context that
//!   panics keeps the panic for when the process waits, and those after it do nothing.

use std::{any::Any, ffi::c_void};

use crate::base::{Base, offsets};

/// Lets a process go on: it gets the words of the process, which it changes in place, and returns
/// what the process asks for, `HOLD` and so on, whose details it has written into the context.
/// `END` is the end of the process, and `RAISED` an exception.
///
/// Of the first word, only the lower half is the function's own: where the process goes on, 0 at
/// its beginning, when the words behind it are the arguments of the process.
pub type Resumption = unsafe extern "C" fn(process: *mut u64, context: *mut ProcessContext) -> i64;

/// Spawns the first processes of a site; returns 0, or `RAISED`.
pub type Starter = unsafe extern "C" fn(context: *mut ProcessContext) -> i64;

/// An exception.
pub(super) const RAISED: i64 = -1;
/// The process has ended.
pub(super) const END: i64 = 0;
/// It holds for `time`.
pub(super) const HOLD: i64 = 1;
/// It wants a unit of the resource `number`.
pub(super) const ACQUIRE: i64 = 2;
/// It wants an item of the store `number`.
pub(super) const GET: i64 = 3;
/// It wants to put `value` into the store `number`.
pub(super) const PUT: i64 = 4;
/// It wants `value` of the container `number`.
pub(super) const TAKE: i64 = 5;
/// It wants to add `value` to the container `number`.
pub(super) const FILL: i64 = 6;
/// It waits for the condition `number`.
pub(super) const WAIT: i64 = 7;
/// It waits until it is activated.
pub(super) const PASSIVATE: i64 = 8;
/// It travels to the site `number` in `time`.
pub(super) const TRAVEL: i64 = 9;
/// What it asked for was done at once: it goes on.
pub(super) const READY: i64 = 10;

/// What a process sees of the engine. Its functions write the request, what `stream` and `site`
/// point to, and `exception`; they read the rest.
#[derive(Debug)]
#[repr(C)]
pub struct ProcessContext {
    pub(super) base: Base,
    pub(super) site: *mut u64,
    // What it asks for.
    pub(super) time: f64,
    pub(super) value: f64,
    pub(super) number: i64,
    pub(super) priority: i64,
    pub(super) preempt: i64,
    // How its last wait ended.
    pub(super) woken: i64,
    pub(super) cause: i64,
    pub(super) item: f64,
    pub(super) exception: u64,
    pub(super) release: unsafe extern "C" fn(*mut ProcessContext, i64),
    pub(super) spawn: Spawn,
    pub(super) act: unsafe extern "C" fn(*mut ProcessContext, i64, i64, f64) -> i64,
    // Below this, for this crate only.
    pub(super) env: *mut c_void,
    /// What a function of the context has panicked with.
    pub(super) panic: Option<Box<dyn Any + Send>>,
}

/// Spawns a process of a kind with these words, and so many of them; at this site after this delay,
/// or here and now, if the site is negative. Returns a number by which others know it.
pub(super) type Spawn =
    unsafe extern "C" fn(*mut ProcessContext, i64, *const u64, i64, i64, f64) -> i64;

/// Where the fields are that a process uses, in bytes, beside those of [`BASE`](crate::BASE).
///
/// | field | |
/// |---|---|
/// | `site` | the words of the site |
/// | `time`, `value`, `number`, `priority`, `preempt` | what the process asks for |
/// | `woken` | how its last wait ended: 0 well, 1 at its timeout, 2 interrupted, 3 preempted |
/// | `cause` | what the interrupt gave |
/// | `item` | what it got from a store |
/// | `exception` | a word for the exception that it raised |
/// | `release` | a function that gives a unit back |
/// | `spawn` | a function that spawns a process |
/// | `act` | a function that does something else at once, by a number |
pub const PROCESS_LAYOUT: &[(&str, usize)] = offsets!(
    ProcessContext: site, time, value, number, priority, preempt, woken, cause, item, exception,
    release, spawn, act,
);
