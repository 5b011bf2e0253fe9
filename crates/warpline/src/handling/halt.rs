//! Why a handler was cut off.

use std::fmt;

use warpline_core::Fault;

use crate::panics;

/// Why a handler cannot go on.
#[derive(Debug)]
pub(crate) enum Halt {
    /// The model made a mistake.
    Fault(Fault),
    /// There is no buffer for an event that it sends.
    OutOfBuffers,
    /// The run is to stop, and an LP sends its first events.
    Stopped,
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => fault.fmt(f),
            Self::OutOfBuffers => f.write_str("out of event buffers"),
            Self::Stopped => f.write_str("the run is to stop"),
        }
    }
}

/// Cuts handlers off, and keeps the reason until the engine asks for it. The first reason counts.
#[derive(Debug, Default)]
pub(crate) struct CutOff(Option<Box<Halt>>);

impl CutOff {
    /// Cuts off the handler that runs. It might go on for ever otherwise.
    #[cold]
    pub(crate) fn halt(&mut self, halt: Halt) -> ! {
        self.0.get_or_insert_with(|| Box::new(halt));
        panics::cut_off()
    }

    /// Why a handler did not come to its end, which [`panics::catch`] reports as `fault`: a mistake
    /// that was made before the panic came first.
    pub(crate) fn reason(&mut self, fault: Fault) -> Halt {
        self.0.take().map_or(Halt::Fault(fault), |halt| *halt)
    }

    /// The outcome of code of the model that ran within [`panics::catch`], with the
    /// [`reason`](Self::reason) if it did not come to its end.
    pub(crate) fn settle<T>(&mut self, outcome: Result<T, Fault>) -> Result<T, Halt> {
        match outcome {
            Err(fault) => Err(self.reason(fault)),
            Ok(value) => self.0.take().map_or(Ok(value), |halt| Err(*halt)),
        }
    }
}
