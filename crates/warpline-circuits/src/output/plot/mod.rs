//! Plots of a few nets, one above the other, as SVG and PNG; the recorder makes them.
//!
//! With the feature `plots`, `sketch` keeps what a picture can show while the run goes on, `draw`
//! draws it, and `png` renders that. Without it, `none` refuses to.

#[cfg(feature = "plots")]
mod draw;
#[cfg(not(feature = "plots"))]
mod none;
#[cfg(feature = "plots")]
mod png;
#[cfg(feature = "plots")]
mod sketch;
#[cfg(feature = "plots")]
mod trace;

use std::path::PathBuf;

#[cfg(not(feature = "plots"))]
pub(super) use none::Sketch;
use serde::{Deserialize, Serialize};
#[cfg(feature = "plots")]
pub(super) use sketch::Sketch;

use crate::{circuit::NetId, waveform::Column};

/// What a picture shows until now: its end (s), and the columns of each net.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SketchMark {
    end: f64,
    traces: Vec<(String, Vec<Option<Column>>)>,
}

/// A plot: the waveforms of nets, one above the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// The nets, from the top; 16 at most.
    pub nets: Vec<NetId>,
    /// The files that it is written to: `.svg` or `.png`.
    pub files: Vec<PathBuf>,
}
