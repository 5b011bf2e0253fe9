//! Processes for Warpline: they hold, queue for resources, wait for items and travel, and run on
//! every engine, in parallel, with the same answer.
//!
//! A *process* is written as a function that waits: a customer who queues, is served and leaves.
//! Processes live at *sites*; each site is a logical process of Warpline. A process that waits is a
//! plain value of some bytes, so that an engine can copy it, undo what it did, send it to another
//! rank and write it to a checkpoint.
//!
//! ```
//! use warpline::{Counter, RunError, Simulation, State, Statistics, Tally};
//! use warpline_processes::{
//!     ContextOf, Env, Facilities, LpId, Processes, World, facilities, process, processes,
//! };
//!
//! facilities! { TELLER: Resource }
//!
//! struct Bank {
//!     tellers: u32,
//! }
//!
//! #[derive(Debug, Default, State, Statistics, serde::Serialize, serde::Deserialize)]
//! struct Branch {
//!     /// Time in the queue
//!     wait: Tally,
//!     /// Customers who left before they were served
//!     reneged: Counter,
//! }
//!
//! #[process]
//! fn arrivals(env: &mut Env<Bank>) {
//!     loop {
//!         hold!(env.rng().exponential(1.0));
//!         env.spawn(customer(5.0));
//!     }
//! }
//!
//! #[process]
//! fn customer(env: &mut Env<Bank>, patience: f64) {
//!     let arrived: f64 = env.now(); // it is used after a wait: its type is written
//!     if acquire!(TELLER, timeout = patience) {
//!         let wait = env.now() - arrived;
//!         env.site.wait.add(wait);
//!         hold!(env.rng().exponential(1.8));
//!         env.release(TELLER);
//!     } else {
//!         env.site.reneged.increment();
//!     }
//! }
//!
//! processes! { enum Kind for Bank { Arrivals(arrivals), Customer(customer) } }
//!
//! impl World for Bank {
//!     type Process = Kind;
//!     type Site = Branch;
//!     type Item = ();
//!     type Observed = Branch;
//!
//!     fn name(&self) -> &str {
//!         "bank"
//!     }
//!
//!     fn sites(&self) -> usize {
//!         8
//!     }
//!
//!     fn site(&self, _: LpId) -> Branch {
//!         Branch::default()
//!     }
//!
//!     fn observed(site: &mut Branch) -> &mut Branch {
//!         site
//!     }
//!
//!     fn facilities(&self, _: LpId, to: &mut Facilities) {
//!         to.resource(TELLER, self.tellers);
//!     }
//!
//!     fn start(&self, env: &mut Env<'_, Self, impl ContextOf<Self>>) {
//!         env.spawn(arrivals());
//!     }
//! }
//!
//! fn main() -> Result<(), RunError> {
//!     let report = Simulation::new(Processes::new(Bank { tellers: 2 })).end(480.0).run()?;
//!     let tellers = report.output.usage("teller").expect("the bank has tellers");
//!     assert!(tellers.in_use.mean() > 1.0);
//!     Ok(())
//! }
//! ```
//!
//! # Waits
//!
//! They are macros, and stand in a function with [`#[process]`](macro@process) only. What each
//! returns says whether what it waited for has happened; where that is false,
//! [`Env::woken`] says why.
//!
//! | wait | until | returns |
//! |---|---|---|
//! | `hold!(time)` | the time is over | `bool` |
//! | `acquire!(resource, timeout = t, priority = p, preempt = b)` | a unit is free | `bool` |
//! | `get!(store, timeout = t, priority = p)` | there is an item | `Option<Item>` |
//! | `put!(store, item, timeout = t, priority = p)` | there is room for it | `bool` |
//! | `take!(container, amount, timeout = t, priority = p)` | there is as much | `bool` |
//! | `fill!(container, amount, timeout = t, priority = p)` | there is room for as much | `bool` |
//! | `wait!(condition, timeout = t, priority = p)` | it is signaled | `bool` |
//! | `passivate!(timeout = t)` | another process activates this one | `bool` |
//! | `travel!(site, delay)` | the process has arrived there | nothing |
//! | `call!(other(…))` | the other process, which runs inside this one, ends | its value |
//!
//! All that is `name = value` can be left out, and is evaluated in the order of the table. A higher
//! priority goes first; the default is 0. An `item` or `amount` is evaluated when the wait begins.
//!
//! What does not wait is a method of [`Env`]: [`release`](Env::release), [`spawn`](Env::spawn),
//! [`spawn_at`](Env::spawn_at), [`put`](Env::put), [`signal`](Env::signal),
//! [`activate`](Env::activate), [`interrupt`](Env::interrupt), [`set_units`](Env::set_units), and
//! what tells how things are.
//!
//! # In what order
//!
//! Virtual time, site by site, is that of the events of Warpline. Within an event, a process runs
//! until it waits; then those go on that got something by it or were spawned, first come first. So
//! nothing happens between a process's two waits, and acquiring what is free takes no event.
//!
//! # Interrupts
//!
//! [`Env::interrupt`] ends a wait before its time, and so does a process that takes a unit away
//! (`preempt = true`). A process shows that it expects that by looking at how its wait ends: `if
//! !hold!(left) { … }`. One that does not, and is interrupted, ends the run with an error. A
//! process that is about to run at that very moment runs first, and is interrupted in its next
//! wait.
//!
//! After a preemption the unit is gone; after an interrupt the process still has what it had.
//!
//! # References
//!
//! Process-oriented views on top of an event-oriented Time Warp are named by GTW (Das, Fujimoto,
//! Panesar, Allison and Hybinette 1994, sections 2 and 5). The waits are those of SimPy and of
//! Simula before it; the queue by priority with constant time is our own.

#![forbid(unsafe_code)]

extern crate self as warpline_processes;

/// The page about processes, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/processes.md")]
struct ProcessesPage;

mod chain;
mod empty;
mod env;
mod event_log;
mod facility;
mod host;
mod message;
mod model;
mod observations;
mod process;
mod queue;
#[doc(hidden)]
pub mod rt;
mod saved_at;
mod slot;
mod world;

pub use empty::Empty;
pub use env::Handle;
pub use event_log::{EventLog, Row};
pub use facility::{Condition, Container, Facilities, Resource, Store};
pub use host::Host;
pub use message::Message;
pub use model::Processes;
pub use observations::{Observations, Summary, Usage};
pub use warpline::LpId;
pub use warpline_processes_macros::process;
pub use world::{Carried, ContextOf, Env, ProcessKind, Resume, Woken, World};
