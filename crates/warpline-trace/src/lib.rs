//! A trace of a run: what its workers did over wall time, as a file that Perfetto shows
//! (<https://ui.perfetto.dev>).
//!
//! A simulation that is given a [`Timeline`](warpline::timeline::Timeline) records there what its
//! workers do, and [`write()`] makes a file of what was recorded. Each rank is a process in it, and
//! each worker a thread. The command does so with `--trace`; `docs/trace.md` says what there is to
//! see.
//!
//! | module | what it has |
//! |---|---|
//! | `writer` | packets, made of a recording |
//! | `packets` | the parts of Perfetto's format that are written |
//! | `fields` | fields of messages, as protocol buffers have them |
//!
//! # Example
//!
//! A token goes around a ring of LPs.
//!
//! ```
//! use warpline::{
//!     Context, LogicalProcess, LpId, Model, Sequential, Simulation, VirtualTime,
//!     timeline::Timeline,
//! };
//!
//! struct Ring;
//!
//! #[derive(Clone, Debug)]
//! struct Node;
//!
//! impl Model for Ring {
//!     // ...
//! #   type Lp = Node;
//! #   type Output = ();
//! #   fn name(&self) -> &str { "ring" }
//! #   fn lp_count(&self) -> usize { 8 }
//! #   fn make_lp(&self, _: LpId) -> Node { Node }
//! #   fn reduce(&self, _: impl Iterator<Item = ()>) {}
//! }
//!
//! impl LogicalProcess for Node {
//!     // ...
//! #   type Model = Ring;
//! #   type Message = ();
//! #   type Summary = ();
//! #   fn start(&mut self, _: &Ring, cx: &mut impl Context<()>) {
//! #       if cx.me() == LpId::new(0) {
//! #           cx.send(cx.me(), 1.0, ());
//! #       }
//! #   }
//! #   fn handle(&mut self, _: &Ring, _: &(), cx: &mut impl Context<()>) {
//! #       cx.send(LpId::new((cx.me().get() + 1) % 8), 1.0, ());
//! #   }
//! #   fn finish(self, _: &Ring, _: VirtualTime) {}
//! }
//!
//! let timeline = Timeline::default();
//! Simulation::new(Ring).engine(Sequential::default()).timeline(&timeline).end(100.0).run()?;
//!
//! let mut file = Vec::new(); // or std::fs::File::create("ring.pftrace")?
//! let written = warpline_trace::write(&timeline.recording(), "a ring", &mut file)?;
//! assert!(written.spans > 0 && !file.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod fields;
mod packets;
mod writer;

use std::io;

use warpline::timeline::Recording;

/// What was written. What is not in the recording itself, for lack of room, is not counted here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Slices of time, and instants at which an event was annihilated.
    pub spans: usize,
    /// Arrows from one of them to another.
    pub flows: usize,
}

/// Writes this recording as a trace, in Perfetto's format of protocol buffers; `run` names the run
/// there, beside the number of each rank.
///
/// `out` gets large parts at a time, so it need not be buffered, and is flushed at the end. Files
/// usually have the extension `.pftrace`.
///
/// # Errors
///
/// Those of `out`; it has part of the trace then.
pub fn write(recording: &Recording, run: &str, mut out: impl io::Write) -> io::Result<Written> {
    writer::write(recording, run, &mut out)?;
    let spans = recording.tracks.iter().map(|track| track.spans.len()).sum();
    Ok(Written { spans, flows: recording.arrows.len() })
}
