//! The distributions that handlers draw from by a number: one list, of which the language of the
//! handlers makes its functions.
//!
//! Called by [`call`](super::call) for compiled handlers, and by `warpline-python` for those in the
//! interpreter.

use warpline::Stream;

/// The parameters of a distribution; those beyond its own are not read.
pub type Parameters = [f64; 4];

/// A distribution of [`Stream`], with its name there.
#[derive(Debug)]
pub struct Law {
    /// The name.
    pub name: &'static str,
    /// The names of its parameters.
    pub parameters: &'static [&'static str],
    /// Whether it draws whole numbers.
    pub is_whole: bool,
    bits: fn(&Stream, Parameters) -> u64,
}

impl Law {
    /// Draws from a stream: the bits of a float, or a whole number that is not above the largest
    /// `i64`. A parameter that is a number of things is rounded down.
    #[inline]
    pub fn draw(&self, stream: &Stream, parameters: Parameters) -> u64 {
        (self.bits)(stream, parameters)
    }
}

/// Names a draw, with its parameters in the order in which it takes them.
macro_rules! law {
    ($name:ident($($parameter:ident),*) -> f64) => {
        law!($name, [$($parameter),*], false, |stream, [$($parameter,)* ..]| {
            stream.$name($($parameter),*).to_bits()
        })
    };
    ($name:ident($($parameter:ident),*) -> u64) => {
        law!($name, [$($parameter),*], true, |stream, [$($parameter,)* ..]| {
            at_most(stream.$name($($parameter),*))
        })
    };
    ($name:ident, [$($parameter:ident),*], $is_whole:expr, $bits:expr) => {
        Law {
            name: stringify!($name),
            parameters: &[$(stringify!($parameter)),*],
            is_whole: $is_whole,
            bits: $bits,
        }
    };
}

/// All of them. A handler knows one by its place here.
pub const LAWS: &[Law] = &[
    law!(normal(mean, sd) -> f64),
    law!(lognormal(mu, sigma) -> f64),
    law!(lognormal_with_mean(mean, sd) -> f64),
    law!(truncated_normal(mean, sd, low, high) -> f64),
    law!(gamma(shape, scale) -> f64),
    law!(erlang, [stages, mean], false, |stream, [stages, mean, ..]| {
        stream.erlang(stages as u32, mean).to_bits()
    }),
    law!(weibull(shape, scale) -> f64),
    law!(triangular(low, mode, high) -> f64),
    law!(beta(a, b) -> f64),
    law!(poisson(mean) -> u64),
    law!(binomial, [n, p], true, |stream, [n, p, ..]| at_most(stream.binomial(n as u64, p))),
    law!(geometric(p) -> u64),
];

/// A whole number for languages whose integers have a sign.
fn at_most(drawn: u64) -> u64 {
    drawn.min(i64::MAX as u64)
}
