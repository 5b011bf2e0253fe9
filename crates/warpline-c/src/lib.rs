//! The C interface of Warpline: `include/warpline.h` declares it, and says what each function does.
//!
//! C programs call it. A model in C is one of [`warpline_foreign`]: states and messages are bytes,
//! and handlers are functions; the settings of a run are those of configuration files. What a
//! handler calls is in the header itself, so that a C compiler puts it into the handler.
//!
//! # Invariants
//!
//! - **C-A.** The types with `repr(C)` here are those of the header with the same names, field by
//!   field; `INTERFACE` is another number wherever they change.
//! - **C-B.** No mistake of a caller that can be seen is undefined: a null pointer, a text that is
//!   not UTF-8 or a number out of its range is an error with words.

mod end;
mod given;
mod model;
mod program;
mod run;

use warpline::nodes::NodeAllocator;

/// What a worker allocates lies on its NUMA node, with `memory-placement`.
#[global_allocator]
static ALLOCATOR: NodeAllocator = NodeAllocator;

/// The version of the header that this library is for.
pub(crate) const INTERFACE: u32 = 2;
