//! Models in another language, on all engines, against their twins in Rust: one program, so that
//! the engines are compiled once for it.

#![expect(unsafe_code, reason = "handlers and processes are functions of another language")]

mod phold;
mod processes;
mod queues;
