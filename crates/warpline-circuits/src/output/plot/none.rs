//! In place of plots, in a build without them; the recorder is told so.

use super::{Plot, SketchMark};
use crate::{
    circuit::Circuit,
    output::{OutputError, slots::Slots},
    waveform::Cubic,
};

/// There is none.
#[derive(Debug)]
pub(in crate::output) enum Sketch {}

impl Sketch {
    pub(in crate::output) fn create(_: &Circuit, _: &Slots, _: &Plot) -> Result<Self, OutputError> {
        Err(OutputError::NoPlots)
    }

    pub(in crate::output) fn follow(&mut self, _: usize, _: &Cubic) {
        match *self {}
    }

    pub(in crate::output) fn mark(&self) -> SketchMark {
        match *self {}
    }

    pub(in crate::output) fn go_on(&mut self, _: &SketchMark) -> Result<(), OutputError> {
        match *self {}
    }

    pub(in crate::output) fn finish(&mut self) -> Result<(), OutputError> {
        match *self {}
    }
}
