//! Models whose handlers are functions of another language.
//!
//! The state of an LP and a message are *words* of 64 bits whose meaning only the handlers know;
//! how many there are is said when the model is made. So saving a state is a copy, a message
//! travels between ranks as it is, and nothing has to be compiled here for a new model. The engines
//! are compiled for a few size classes ([`model`](ForeignModel::into_any)).
//!
//! A [`Handler`] has the signature of a C function. It sees the engine through a
//! [`HandlerContext`], whose layout is part of the interface ([`LAYOUT`]): it draws random numbers
//! itself, from the words of the LP's stream, and puts what it sends into an *outbox*. The engine
//! takes the events from there when the handler has returned, so no panic and no unwinding passes
//! through foreign frames.
//!
//! Called by `warpline-python`, for models written in Python, and by `warpline-c`, for models in C.
//! Unsafe are a call and the constructor of a model.
//!
//! # Invariants
//!
//! - **FOREIGN-A.** What a handler changes, it changes in its own state, in the words of its stream
//!   and in its outbox; all three are rolled back by the engine.
//! - **FOREIGN-B.** A handler that fails has no effect: its outbox is dropped, and the run ends
//!   once the event can no longer be undone. A reverse handler that fails ends the run at once.

mod base;
mod call;
mod failures;
mod fields;
mod laws;
mod model;
mod processes;
mod statistics;
mod words;

pub use base::{BASE, CONSTANTS};
pub use call::{HANDLER_CONSTANTS, Handler, HandlerContext, LAYOUT};
pub use failures::{Failure, Failures, Role};
pub use fields::{Field, Number};
pub use laws::{LAWS, Law, Parameters};
pub use model::{Description, Finish, ForeignModel, States};
pub use processes::{
    Facility, FacilityKind, ForeignWorld, PROCESS_LAYOUT, ProcessContext, ProcessDescription,
    Resumption, Starter, WorldDescription,
};
pub use statistics::{Statistic, StatisticKind};
pub use warpline_processes::EventLog;
