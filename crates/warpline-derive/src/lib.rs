//! The macros that write how states are saved, `#[derive(State)]` and `#[derive(Value)]`, and how
//! what they observe is reported, `#[derive(Statistics)]`.
//!
//! Model authors use them through `warpline`, which has the traits of the same names. A macro has
//! to be in a crate of its own; this one knows nothing of engines, and writes calls of the hidden
//! module `derived` of `warpline-core`.

#![forbid(unsafe_code)]

mod implement;
mod input;
mod state;
mod statistics;
mod value;
mod words;

use proc_macro::TokenStream;
use syn::{DeriveInput, Error, Result, parse_macro_input};

/// Writes the trait `State`: the fields of an LP save what they change.
///
/// It writes `Clone`, too, whose `clone_from` reuses the memory that the fields own; so a type that
/// derives `State` does not derive `Clone`. All fields need `Debug`.
///
/// A field is
///
/// - **tracked**, if its type is written with a name that begins with `Tracked`, also inside:
///   `TrackedDeque<Job>`, `Vec<TrackedDeque<Job>>`, `[Tracked<u32>; 4]`. It saves what is written
///   to it, when that happens. `#[state(tracked)]` says it of another type that implements `Undo`,
///   such as an alias;
/// - **nested**, with `#[state(nested)]`: a part of the state, or a `Vec`, an array, an `Option` or
///   a `Box` of such parts. It derives `State` itself and has no plain fields;
/// - **fixed**, with `#[state(fixed)]`: nothing changes it after `make_lp`, so nothing saves it;
/// - **plain** otherwise: all plain fields are saved before each event (in the speculative engine:
///   before the first event of each window). So they are small, and most are numbers. Their types
///   implement `Value`, which [can be derived](derive@Value).
///
/// An LP says that this is how it is saved: `const SAVING: Saving<Self> = Saving::BY_FIELD`.
///
/// ```
/// use warpline::{
///     Context, LogicalProcess, LpId, Model, Saving, Simulation, State, TimeWarp, TrackedDeque,
///     Value, VirtualTime,
/// };
///
/// /// A station with a queue; customers go round.
/// #[derive(Debug, State)]
/// struct Station {
///     waiting: TrackedDeque<u32>, // tracked: saves what comes in or goes out
///     mode: Mode,                 // plain: saved before each event
///     served: u64,
///     #[state(fixed)]
///     name: String, // no event saves it
/// }
///
/// #[derive(Clone, Debug, Value)]
/// enum Mode {
///     Idle,
///     Busy { customer: u32 },
/// }
///
/// #[derive(Debug)]
/// enum Message {
///     Arrival(u32),
///     Departure,
/// }
///
/// impl LogicalProcess for Station {
///     type Model = Ring;
///     type Message = Message;
///     type Summary = u64;
///     const SAVING: Saving<Self> = Saving::BY_FIELD;
///
///     fn start(&mut self, _: &Ring, cx: &mut impl Context<Message>) {
///         for customer in 0..3 {
///             cx.send(cx.me(), 1.0, Message::Arrival(customer));
///         }
///     }
///
///     fn handle(&mut self, ring: &Ring, message: &Message, cx: &mut impl Context<Message>) {
///         match message {
///             Message::Arrival(customer) => self.waiting.push_back(*customer, cx),
///             Message::Departure => {
///                 if let Mode::Busy { customer } = std::mem::replace(&mut self.mode, Mode::Idle) {
///                     let next = LpId::new((cx.me().get() + 1) % ring.stations);
///                     cx.send(next, 0.5, Message::Arrival(customer));
///                     self.served += 1;
///                 }
///             }
///         }
///         if matches!(self.mode, Mode::Idle)
///             && let Some(customer) = self.waiting.pop_front(cx)
///         {
///             self.mode = Mode::Busy { customer };
///             let delay = cx.rng().exponential(1.0);
///             cx.send(cx.me(), delay, Message::Departure);
///         }
///     }
///
///     fn finish(self, _: &Ring, _: VirtualTime) -> u64 {
///         self.served
///     }
/// }
///
/// struct Ring {
///     stations: u32,
/// }
///
/// impl Model for Ring {
///     type Lp = Station;
///     type Output = u64;
///
///     fn name(&self) -> &str {
///         "ring"
///     }
///
///     fn lp_count(&self) -> usize {
///         self.stations as usize
///     }
///
///     fn make_lp(&self, id: LpId) -> Station {
///         let (waiting, mode) = (TrackedDeque::default(), Mode::Idle);
///         Station { waiting, mode, served: 0, name: format!("station {id}") }
///     }
///
///     fn reduce(&self, served: impl Iterator<Item = u64>) -> u64 {
///         served.sum()
///     }
/// }
///
/// # fn main() -> Result<(), warpline::RunError> {
/// let sequential = Simulation::new(Ring { stations: 4 }).end(50.0).run()?;
/// let mut time_warp = Simulation::new(Ring { stations: 4 }).end(50.0).engine(TimeWarp::default());
/// assert_eq!(time_warp.run()?.digest, sequential.digest);
/// # Ok(())
/// # }
/// ```
///
/// # Enums
///
/// Each variant has fields of all these kinds; that is how a model has several kinds of LPs. A
/// handler changes the fields of an LP, and never makes another variant of it: what was written to
/// the fields of the old one could not be undone. A field that changes its variant derives `Value`.
///
/// # Generic types
///
/// The types of fields that depend on a parameter get the bounds that they need: `TrackedVec<T>`
/// has to be `Undo + Clone + Debug`, and `T` itself nothing.
///
/// # Paths
///
/// The code that is written names `::warpline`. Where that crate has another name, or is not there,
/// `#[state(crate = warpline_core)]` on the type names another one.
#[proc_macro_derive(State, attributes(state))]
pub fn derive_state(input: TokenStream) -> TokenStream {
    expand(parse_macro_input!(input as DeriveInput), state::derive)
}

/// Writes the trait `Value`, for a struct or an enum whose fields implement it: then it can be a
/// plain field of a state, or lie in a `Tracked…`. The type has `Clone`.
///
/// In the undo log it is the words of its fields; an enum takes one more, and as many as its
/// largest variant.
///
/// ```
/// use warpline::{LpId, Value};
///
/// #[derive(Clone, Copy, Debug, Value)]
/// enum Packet {
///     Data { to: LpId, bytes: u32 },
///     Acknowledgment(u64),
/// }
///
/// #[derive(Clone, Debug, Value)]
/// struct Job<T> {
///     priority: u8,
///     parts: Vec<T>,
/// }
///
/// assert_eq!((Packet::WORDS, Packet::OWNS), (3, false));
/// // A vector is copied, beside the log, and the log has the place.
/// assert_eq!((Job::<Packet>::WORDS, Job::<Packet>::OWNS), (2, true));
/// ```
///
/// `#[state(crate = …)]` is that of [`State`](derive@State#paths).
#[proc_macro_derive(Value, attributes(state))]
pub fn derive_value(input: TokenStream) -> TokenStream {
    expand(parse_macro_input!(input as DeriveInput), value::derive)
}

/// Writes the trait `Statistics` for a struct whose fields are statistics, or structs of them. It
/// writes `Results`, too, so that the struct can be the output of a model, and `Sum`, so that
/// `reduce` is `summaries.sum()`.
///
/// A field is named once: its name is that of its figures (`waits_mean`), and the first paragraph
/// of its doc comment is their meaning in reports. `#[statistic(unit = "customers")]` says the unit
/// of what it observes, and `#[statistic(time = "minute")]` on the struct that of virtual time.
///
/// The struct has `Clone` and `Default` (or derives `State`, which writes `Clone`).
///
/// ```
/// use warpline::{
///     Collected, Context, Counter, LogicalProcess, LpId, Model, Results, Simulation, Statistics,
///     Tally, VirtualTime,
/// };
///
/// #[derive(Clone, Debug, Default, Statistics)]
/// #[statistic(time = "minute")]
/// struct Observed {
///     /// Customers who came.
///     #[statistic(unit = "customers")]
///     came: Counter,
///     /// How long they wait for a teller.
///     #[statistic(unit = "minutes")]
///     waits: Tally,
/// }
///
/// #[derive(Clone, Debug, Default)]
/// struct Branch {
///     free_at: f64,
///     observed: Observed,
/// }
///
/// struct Bank;
///
/// impl LogicalProcess for Branch {
///     type Model = Bank;
///     type Message = ();
///     type Summary = Observed;
///     const STATISTICS: Collected<Self> = Collected::in_field(|branch| &mut branch.observed);
///
///     fn start(&mut self, _: &Bank, cx: &mut impl Context<()>) {
///         cx.send(cx.me(), cx.rng().exponential(1.0), ());
///     }
///
///     fn handle(&mut self, _: &Bank, (): &(), cx: &mut impl Context<()>) {
///         let now = cx.now().get();
///         let begins = self.free_at.max(now);
///         self.free_at = begins + cx.rng().exponential(0.8);
///         self.observed.came.increment();
///         self.observed.waits.add(begins - now);
///         cx.send(cx.me(), cx.rng().exponential(1.0), ());
///     }
///
///     fn finish(self, _: &Bank, end: VirtualTime) -> Observed {
///         self.observed.until(end)
///     }
/// }
///
/// impl Model for Bank {
///     type Lp = Branch;
///     type Output = Observed;
///
///     fn name(&self) -> &str {
///         "bank"
///     }
///
///     fn lp_count(&self) -> usize {
///         4
///     }
///
///     fn make_lp(&self, _: LpId) -> Branch {
///         Branch::default()
///     }
///
///     fn reduce(&self, branches: impl Iterator<Item = Observed>) -> Observed {
///         branches.sum()
///     }
/// }
///
/// # fn main() -> Result<(), warpline::RunError> {
/// let report = Simulation::new(Bank).warm_up(100.0).end(1_000.0).run()?;
/// let figures = report.output.figures();
/// assert_eq!(figures[1].name, "came_rate");
/// assert_eq!(figures[1].unit, "customers/minute");
/// assert!((figures[1].value - 4.0).abs() < 0.2);
/// assert_eq!(figures[2].meaning, "How long they wait for a teller: mean");
/// # Ok(())
/// # }
/// ```
///
/// `#[statistic(crate = warpline_core)]` on the struct is that of [`State`](derive@State#paths).
#[proc_macro_derive(Statistics, attributes(statistic))]
pub fn derive_statistics(input: TokenStream) -> TokenStream {
    expand(parse_macro_input!(input as DeriveInput), statistics::derive)
}

type Derive = fn(DeriveInput) -> Result<proc_macro2::TokenStream>;

fn expand(input: DeriveInput, derive: Derive) -> TokenStream {
    derive(input).unwrap_or_else(Error::into_compile_error).into()
}

#[cfg(doctest)]
mod refused;
/// The example of the page for those who write models, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/state-saving.md")]
struct StateSaving;
#[cfg(doctest)]
#[doc = include_str!("../../../docs/statistics.md")]
struct Statistics;
#[cfg(test)]
mod tests;
