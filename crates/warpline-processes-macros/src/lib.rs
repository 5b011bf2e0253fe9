//! `#[process]`: a function that waits becomes a state machine, whose state is a plain value.
//!
//! Model authors use it through `warpline-processes`, which has the traits and the documentation. A
//! macro has to be in a crate of its own.
//!
//! | module | what it does |
//! |---|---|
//! | `process` | reads the function, and puts the parts together |
//! | `waits` | writes `hold!(…)` and the other waits as calls and suspensions |
//! | `hoist` | puts a wait that lies in an expression before its statement |
//! | `machine` | has `diapause` make a state machine, and gives it the environment |

#![forbid(unsafe_code)]

mod hoist;
mod machine;
mod process;
mod waits;

#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Makes a process of a function: a state machine whose state is a value, which can be copied,
/// compared, sent to another site and written to a file.
///
/// The first parameter is `env: &mut Env<World>`, with the world that the process belongs to. The
/// other parameters are those of the function that makes a process: `customer(3.0)` is a
/// process that has not begun, for `env.spawn`, `env.spawn_at` and `call!`.
///
/// In the body, waits are macros: `hold!`, `acquire!`, `get!`, `put!`, `take!`, `fill!`, `wait!`,
/// `passivate!`, `travel!`, and `call!`. The crate's first page has the list, and what they
/// return.
///
/// # Rules
///
/// - A variable that is still used after a wait has a type: `let arrived: f64 = env.now();`. It is
///   a field of the state then. Others need none.
/// - What is held across a wait owns its contents: no reference, and nothing of `env`.
/// - A wait is a statement, or the first thing that a statement evaluates: `if acquire!(TELLER) {`,
///   `let part = get!(PARTS);`, `while hold!(1.0) {`. Elsewhere it is bound first.
/// - Not in a closure, an `async` block, a guard of a `match`, or another macro.
#[proc_macro_attribute]
pub fn process(arguments: TokenStream, item: TokenStream) -> TokenStream {
    process::expand(arguments.into(), item.into())
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}
