//! PCS: a wireless network of cells with a fixed number of channels, and portables that call and
//! move.
//!
//! An LP is a cell, and a portable is a chain of events. An idle portable calls after a while: it
//! takes a channel of its cell; if none is free, the call is *blocked* and the portable is idle
//! again. A portable that moves in a call frees its channel and asks the next cell for one (a
//! *hand-off*); if none is free, the call is *dropped* and the portable is idle. All times are
//! minutes. Idle times, calls and stays in a cell are exponential.
//!
//! # Invariants
//!
//! - **PCS-A.** A cell has as many busy channels as it has portables in a call, and never more than
//!   there are channels.
//! - **PCS-B.** Every portable has exactly one pending event, [`PcsMessage::Leave`] not counted.
//! - **PCS-C.** A portable that moves in a call frees its channel before it asks for the next one,
//!   even where a cell is its own neighbor.
//!
//! # References
//!
//! Das, Fujimoto, Panesar, Allison and Hybinette, *GTW: A Time Warp System for Shared Memory
//! Multiprocessors*, 1994, section 4 (64 x 32 cells, mobility); Fujimoto and Panesar, *Buffer
//! Management in Shared-Memory Time Warp Systems*, 1995, section 7.2 (channels, mean times).

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};
use warpline::{
    Collected, ConfigError, Context, Figure, Link, LogicalProcess, LpId, Model, Results,
    VirtualTime,
    digest::mix,
    picture::Picture,
    wire::{Wire, Wires},
};

use crate::{branching, grain::keep_busy};

mod blocking;
mod grid;
mod params;

pub use blocking::Blocking;
pub use grid::{Grid, Topology};
pub use params::{Mobility, PcsParams};

/// The wireless network with its parameters checked.
#[derive(Clone, Debug)]
pub struct Pcs {
    params: PcsParams,
    /// The mean stay of a portable; none if portables never move.
    stay: Option<f64>,
}

impl Pcs {
    /// The model with these parameters.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range.
    pub fn new(params: PcsParams) -> Result<Self, ConfigError> {
        params.validate()?;
        let somewhere_to_go = params.grid == Topology::Torus || params.cells.cells() > 1;
        let stay = Some(params.mean_stay()).filter(|stay| somewhere_to_go && stay.is_finite());
        Ok(Self { params, stay })
    }

    /// When a portable that has just arrived will move; infinite if it never does.
    #[inline]
    fn draw_move(&self, cx: &mut impl Context<PcsMessage>) -> f64 {
        let Some(stay) = self.stay else { return f64::INFINITY };
        cx.now().get() + cx.rng().exponential(stay)
    }

    /// When a portable that becomes idle now will call.
    #[inline]
    fn draw_call(&self, cx: &mut impl Context<PcsMessage>) -> f64 {
        cx.now().get() + cx.rng().exponential(self.params.idle)
    }

    /// Sends the next event of a portable: its call starts or ends, or it moves before that.
    #[inline]
    fn schedule(&self, portable: Portable, cx: &mut impl Context<PcsMessage>) {
        let Portable { in_call, call_at, move_at } = portable;
        let me = cx.me();
        if call_at <= move_at {
            let message = if in_call {
                PcsMessage::CallEnd { move_at }
            } else {
                PcsMessage::CallStart { move_at }
            };
            return cx.send_at(me, call_at, message);
        }
        let neighbors = self.params.cells.neighbors(me, self.params.grid);
        let neighbors = neighbors.as_slice();
        let to = neighbors[cx.rng().below(neighbors.len() as u64) as usize];
        if in_call {
            // It is sent first, so that it has the lower sequence number (PCS-C).
            cx.send_at(me, move_at, PcsMessage::Leave);
        }
        cx.send_at(to, move_at, PcsMessage::Arrive { in_call, call_at });
    }
}

/// A portable that is in a cell.
#[derive(Clone, Copy, Debug)]
struct Portable {
    in_call: bool,
    /// When its call ends, or its next call starts.
    call_at: f64,
    /// When it moves to another cell.
    move_at: f64,
}

/// What happens in a cell. Times are virtual times, in minutes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PcsMessage {
    /// A portable calls.
    CallStart {
        /// When it will move; infinite if never.
        move_at: f64,
    },
    /// The call of a portable ends.
    CallEnd {
        /// When it will move; infinite if never.
        move_at: f64,
    },
    /// A portable leaves in a call, and frees its channel.
    Leave,
    /// A portable arrives from another cell.
    Arrive {
        /// Whether it is in a call.
        in_call: bool,
        /// When that call ends, or when its next call starts.
        call_at: f64,
    },
}

/// A cell: the number of busy channels, and its counts since the warm-up.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Cell {
    busy: u32,
    /// When `busy` last changed.
    since: f64,
    counts: Counts,
}

/// What a cell counts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    calls: u64,
    blocked: u64,
    handoffs: u64,
    dropped: u64,
    /// Minutes that channels were busy, added up over the channels.
    busy_minutes: f64,
    /// Minutes from the warm-up to the end.
    minutes: f64,
}

/// The result of the wireless network, from the warm-up to the end. A number for which there was
/// nothing to measure is NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PcsOutput {
    /// The fraction of the calls that found no free channel.
    pub blocking_probability: f64,
    /// The fraction of the hand-offs that found no free channel.
    pub handoff_drop_probability: f64,
    /// The number of attempts to call.
    pub calls: u64,
    /// The number of moves of a portable in a call.
    pub handoffs: u64,
    /// The fraction of the channels that is busy, on average over time.
    pub channel_use: f64,
    /// The number of busy channels of a cell, on average over time and cells, in Erlang.
    pub carried_traffic: f64,
    /// Where calls are blocked.
    pub blocking: Blocking,
}

impl Results for PcsOutput {
    fn figures(&self) -> Vec<Figure> {
        let (figure, count) = (Figure::new, Figure::of_count);
        vec![
            figure(
                "blocking_probability",
                self.blocking_probability,
                "",
                "calls that found no free channel, by calls",
            ),
            figure(
                "handoff_drop_probability",
                self.handoff_drop_probability,
                "",
                "hand-offs that found no free channel, by hand-offs",
            ),
            count("calls", self.calls, "calls", "attempts to call"),
            count("handoffs", self.handoffs, "hand-offs", "moves of a portable in a call"),
            figure("channel_use", self.channel_use, "", "part of the channels that is busy"),
            figure("carried_traffic", self.carried_traffic, "Erlang", "busy channels per cell"),
        ]
    }

    fn pictures(&self) -> Vec<Picture> {
        vec![self.blocking.picture()]
    }
}

impl Model for Pcs {
    type Lp = Cell;
    type Output = PcsOutput;

    fn name(&self) -> &'static str {
        "pcs"
    }

    fn parameters(&self) -> &dyn fmt::Debug {
        &self.params
    }

    fn wires(&self) -> Option<Wires<Self>> {
        Some(Wires::serde())
    }

    fn state_wire(&self) -> Option<Wire<Self::Lp>> {
        Some(Wire::serde())
    }

    fn adapt(&self, before: &Self, _: LpId, _: &mut Self::Lp) -> Result<(), String> {
        let &PcsParams { channels, stay, call, idle, mobility, grain, .. } = &self.params;
        let other =
            PcsParams { channels, stay, call, idle, mobility, grain, ..before.params.clone() };
        let may_differ = "--channels, --stay, --call, --idle, --mobility, --grain";
        branching::check(self.params == other, may_differ)
    }

    fn lp_count(&self) -> usize {
        self.params.cells.cells()
    }

    fn make_lp(&self, _: LpId) -> Cell {
        Cell::default()
    }

    fn reduce(&self, cells: impl Iterator<Item = Counts>) -> PcsOutput {
        let mut sum = Counts::default();
        let mut blocking = Blocking::new(self.params.cells);
        for (cell, counts) in cells.enumerate() {
            blocking.add(cell, counts.calls, counts.blocked);
            sum.calls += counts.calls;
            sum.blocked += counts.blocked;
            sum.handoffs += counts.handoffs;
            sum.dropped += counts.dropped;
            sum.busy_minutes += counts.busy_minutes;
            sum.minutes += counts.minutes;
        }
        let carried_traffic = sum.busy_minutes / sum.minutes;
        PcsOutput {
            blocking_probability: sum.blocked as f64 / sum.calls as f64,
            handoff_drop_probability: sum.dropped as f64 / sum.handoffs as f64,
            calls: sum.calls,
            handoffs: sum.handoffs,
            channel_use: carried_traffic / f64::from(self.params.channels),
            carried_traffic,
            blocking,
        }
    }

    fn links(&self, from: LpId) -> Option<Vec<Link>> {
        let mut others = self.params.cells.neighbors(from, self.params.grid).as_slice().to_vec();
        others.retain(|other| *other != from);
        others.sort_unstable();
        others.dedup();
        Some(others.into_iter().map(|to| Link { to, lookahead: 0.0 }).collect())
    }
}

impl Cell {
    /// Takes a channel, if one is free.
    #[inline]
    fn take_channel(&mut self, pcs: &Pcs, now: f64) -> bool {
        let free = self.busy < pcs.params.channels;
        if free {
            self.note_use(now);
            self.busy += 1;
        }
        free
    }

    #[inline]
    fn free_channel(&mut self, now: f64) {
        debug_assert!(self.busy > 0, "PCS-A: a channel was freed that no portable had");
        self.note_use(now);
        self.busy -= 1;
    }

    /// Adds the use of the channels since it last changed.
    #[inline]
    fn note_use(&mut self, until: f64) {
        self.counts.busy_minutes += f64::from(self.busy) * (until - self.since);
        self.since = until;
    }

    /// A portable calls; returns whether it gets a channel.
    #[inline]
    fn call(&mut self, pcs: &Pcs, now: f64) -> bool {
        let accepted = self.take_channel(pcs, now);
        self.counts.calls += 1;
        self.counts.blocked += u64::from(!accepted);
        accepted
    }

    /// A portable arrives in a call; returns whether the call goes on.
    #[inline]
    fn hand_off(&mut self, pcs: &Pcs, now: f64) -> bool {
        let accepted = self.take_channel(pcs, now);
        self.counts.handoffs += 1;
        self.counts.dropped += u64::from(!accepted);
        accepted
    }
}

impl Cell {
    /// Begins to count anew.
    fn reset(_: &Pcs, cell: &mut Self, now: VirtualTime) {
        let now = now.get();
        cell.note_use(now);
        cell.counts = Counts { minutes: -now, ..Counts::default() };
    }
}

impl Counts {
    /// What was counted since these counts.
    const fn since(&self, earlier: &Self) -> Self {
        Self {
            calls: self.calls - earlier.calls,
            blocked: self.blocked - earlier.blocked,
            handoffs: self.handoffs - earlier.handoffs,
            dropped: self.dropped - earlier.dropped,
            busy_minutes: self.busy_minutes - earlier.busy_minutes,
            minutes: self.minutes - earlier.minutes,
        }
    }
}

impl LogicalProcess for Cell {
    type Model = Pcs;
    type Message = PcsMessage;
    type Summary = Counts;
    const STATISTICS: Collected<Self> = Collected::by(Self::reset, Counts::since);

    fn start(&mut self, pcs: &Pcs, cx: &mut impl Context<PcsMessage>) {
        let (portables, cells) = (pcs.params.portables, pcs.params.cells.cells());
        let mine = portables / cells + usize::from(cx.me().index() < portables % cells);
        for _ in 0..mine {
            let (call_at, move_at) = (pcs.draw_call(cx), pcs.draw_move(cx));
            pcs.schedule(Portable { in_call: false, call_at, move_at }, cx);
        }
    }

    #[inline]
    fn handle(&mut self, pcs: &Pcs, message: &PcsMessage, cx: &mut impl Context<PcsMessage>) {
        if pcs.params.grain > 0 {
            keep_busy(Duration::from_nanos(pcs.params.grain));
        }
        let now = cx.now().get();
        let portable = match *message {
            PcsMessage::CallStart { move_at } => {
                let in_call = self.call(pcs, now);
                let call_at = if in_call {
                    now + cx.rng().exponential(pcs.params.call)
                } else {
                    pcs.draw_call(cx)
                };
                Portable { in_call, call_at, move_at }
            }
            PcsMessage::CallEnd { move_at } => {
                self.free_channel(now);
                Portable { in_call: false, call_at: pcs.draw_call(cx), move_at }
            }
            PcsMessage::Leave => return self.free_channel(now),
            PcsMessage::Arrive { in_call, call_at } => {
                let goes_on = in_call && self.hand_off(pcs, now);
                let dropped = in_call && !goes_on;
                let call_at = if dropped { pcs.draw_call(cx) } else { call_at };
                Portable { in_call: goes_on, call_at, move_at: pcs.draw_move(cx) }
            }
        };
        pcs.schedule(portable, cx);
    }

    // There is no `reverse`: an event adds to `busy_minutes`, a sum of floating-point numbers, and
    // overwrites `since`. The sum cannot be restored exactly, and a handler can note one word only,
    // not both values.

    #[inline]
    fn identity(model: &Pcs, message: &PcsMessage) -> Option<u64> {
        // The fingerprint covers the whole message.
        Some(Self::fingerprint(model, message))
    }

    fn finish(mut self, _: &Pcs, end: VirtualTime) -> Counts {
        self.note_use(end.get());
        self.counts.minutes += end.get();
        self.counts
    }

    #[inline]
    fn fingerprint(_: &Pcs, message: &PcsMessage) -> u64 {
        match *message {
            PcsMessage::CallStart { move_at } => mix(1, move_at.to_bits()),
            PcsMessage::CallEnd { move_at } => mix(2, move_at.to_bits()),
            PcsMessage::Leave => 3,
            PcsMessage::Arrive { in_call, call_at } => {
                mix(4 + u64::from(in_call), call_at.to_bits())
            }
        }
    }
}
