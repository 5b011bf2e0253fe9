//! The results of runs, as the matrices of engines and policies compare them.

use std::fmt::Write;

use warpline::Results;

/// The results of a run as text, with every bit of the numbers.
pub(crate) fn exactly(results: &impl Results) -> String {
    results.figures().iter().fold(String::new(), |mut text, figure| {
        write!(text, "{}={:x} ", figure.name, figure.value.to_bits()).expect("a string");
        text
    })
}
