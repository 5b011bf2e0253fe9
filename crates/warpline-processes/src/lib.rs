//! Processes for Warpline: they hold, queue for resources and travel, on every engine.
#![forbid(unsafe_code)]

extern crate self as warpline_processes;

mod env;
mod event_log;
mod facility;
mod host;
mod message;
mod model;
mod observations;
mod process;
#[doc(hidden)]
pub mod rt;
mod world;

pub use env::{Env, Handle};
pub use event_log::{EventLog, Row};
pub use facility::{Condition, Container, Facilities, Resource, Store};
pub use host::{Host, Woken};
pub use message::Message;
pub use model::Processes;
pub use observations::{Empty, Observations, Summary, Usage};
pub use process::{ProcessKind, Resume};
pub use warpline::LpId;
pub use warpline_processes_macros::process;
pub use world::{ContextOf, World};
