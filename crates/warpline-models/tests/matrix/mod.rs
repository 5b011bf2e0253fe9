//! What the matrices of engines and policies compare runs by.

use std::fmt::Write;

use warpline::Results;

/// The results of a run as text, every bit of them.
pub(crate) fn exactly(results: &impl Results) -> String {
    results.figures().iter().fold(String::new(), |mut text, figure| {
        write!(text, "{}={:x} ", figure.name, figure.value.to_bits()).expect("a string");
        text
    })
}
