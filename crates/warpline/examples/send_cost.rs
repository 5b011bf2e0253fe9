//! What a send costs by the size of the message: `send`, which makes a message and copies it into
//! its buffer, and `send_with`, which writes it there.
//!
//! `cargo run --release -p warpline --features measurements --example send_cost` prints nanoseconds
//! per event, the median of interleaved rounds, for messages that are written in full and in their
//! first sixteenth. With the arguments `BYTES send|send_with full|part` it runs one case of Time
//! Warp with one worker, in turn, for callgrind.

#![expect(clippy::print_stdout, reason = "the table is the result")]

use std::process::ExitCode;

use warpline::{
    Conservative, Context, Engine, LogicalProcess, LpId, Model, Only, Sequential, Simulation,
    TimeWarp, VirtualTime, settings::Instrumentation,
};

const LPS: usize = 64;
const ROUNDS: usize = 9;
/// The bytes that are sent in one run.
const BYTES: usize = 512 << 20;
/// The most events of one run.
const EVENTS: usize = 200_000;

/// Events that go round, with a message of `SIZE` bytes each.
#[derive(Clone, Copy, Debug)]
struct Ring<const SIZE: usize> {
    in_place: bool,
    /// How many bytes of a message are written.
    written: usize,
}

#[derive(Clone, Debug)]
struct Node<const SIZE: usize>(u64);

struct Large<const SIZE: usize> {
    written: usize,
    bytes: [u8; SIZE],
}

impl<const SIZE: usize> Default for Large<SIZE> {
    #[inline]
    fn default() -> Self {
        Self { written: 0, bytes: [0; SIZE] }
    }
}

impl<const SIZE: usize> Large<SIZE> {
    #[inline]
    fn write(&mut self, bytes: usize, fill: u8) {
        self.written = bytes;
        self.bytes[..bytes].fill(fill);
    }
}

impl<const SIZE: usize> Model for Ring<SIZE> {
    type Lp = Node<SIZE>;
    type Output = u64;

    fn name(&self) -> &'static str {
        "ring"
    }

    fn lp_count(&self) -> usize {
        LPS
    }

    fn make_lp(&self, _: LpId) -> Node<SIZE> {
        Node(0)
    }

    fn lookahead(&self) -> Option<f64> {
        Some(1.0)
    }

    fn reduce(&self, sums: impl Iterator<Item = u64>) -> u64 {
        sums.sum()
    }
}

impl<const SIZE: usize> Node<SIZE> {
    #[inline]
    fn send(&self, ring: &Ring<SIZE>, cx: &mut impl Context<Large<SIZE>>) {
        let to = LpId::from_index((cx.me().index() + 1) % LPS);
        let (bytes, fill) = (ring.written, self.0 as u8);
        if ring.in_place {
            cx.send_with(to, 1.0, |message| message.write(bytes, fill));
        } else {
            let mut message = Large::default();
            message.write(bytes, fill);
            cx.send(to, 1.0, message);
        }
    }
}

impl<const SIZE: usize> LogicalProcess for Node<SIZE> {
    type Model = Ring<SIZE>;
    type Message = Large<SIZE>;
    type Summary = u64;

    fn start(&mut self, ring: &Ring<SIZE>, cx: &mut impl Context<Large<SIZE>>) {
        self.send(ring, cx);
    }

    fn handle(
        &mut self,
        ring: &Ring<SIZE>,
        message: &Large<SIZE>,
        cx: &mut impl Context<Large<SIZE>>,
    ) {
        let read = &message.bytes[..message.written];
        let ends = read.first().zip(read.last());
        self.0 += ends.map_or(0, |(first, last)| u64::from(first ^ last) + 1);
        self.send(ring, cx);
    }

    fn finish(self, _: &Ring<SIZE>, _: VirtualTime) -> u64 {
        self.0
    }
}

type Engines = (Sequential, (TimeWarp, Conservative));

/// Nanoseconds per event of one run.
fn run<const SIZE: usize>(engine: Engine, in_place: bool, written: usize) -> f64 {
    let events = (BYTES / SIZE).min(EVENTS);
    let end = (events / LPS).max(2) as f64 + 0.5;
    let model: Only<Engines, _> = Only::new(Ring::<SIZE> { in_place, written });
    let report = Simulation::new(model).engine(engine).end(end).run().expect("the model is sound");
    1e9 / report.events_per_second()
}

/// Time Warp that computes GVT so often that the buffers in use stay in the cache.
fn time_warp(workers: usize) -> TimeWarp {
    let instrumentation = Instrumentation::AS_IF_MANY;
    TimeWarp { workers, instrumentation, batch: 8, gvt_interval: 32, ..TimeWarp::default() }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn rows<const SIZE: usize>() {
    let engines: [(&str, Engine); 4] = [
        ("timewarp, 1", time_warp(1).into()),
        ("timewarp, 2", time_warp(2).into()),
        ("sequential", Sequential::default().into()),
        ("conservative, 1", Conservative { workers: 1, ..Conservative::default() }.into()),
    ];
    for (name, engine) in engines {
        let mut row = format!("| {SIZE:6} | {name:15} |");
        for written in [SIZE, SIZE / 16] {
            let (mut sent, mut in_place) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                sent.push(run::<SIZE>(engine.clone(), false, written));
                in_place.push(run::<SIZE>(engine.clone(), true, written));
            }
            let (sent, in_place) = (median(sent), median(in_place));
            row += &format!(" {sent:8.0} | {in_place:8.0} | {:5.2} |", in_place / sent);
        }
        println!("{row}");
    }
}

fn one<const SIZE: usize>(in_place: bool, part: bool) {
    // On this thread: callgrind does not know what binds another one to its core.
    let engine = TimeWarp { instrumentation: Instrumentation::IN_TURN, ..time_warp(1) };
    let ns = run::<SIZE>(engine.into(), in_place, if part { SIZE / 16 } else { SIZE });
    println!("{ns:.0} ns per event");
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => {
            println!("| bytes  | engine          | send, full | send_with | ratio | part | | |");
            rows::<64>();
            rows::<1024>();
            rows::<8192>();
            rows::<65536>();
        }
        [bytes, how, much] => {
            let (in_place, part) = (how == "send_with", much == "part");
            match bytes {
                "64" => one::<64>(in_place, part),
                "1024" => one::<1024>(in_place, part),
                "8192" => one::<8192>(in_place, part),
                _ => one::<65536>(in_place, part),
            }
        }
        _ => {
            eprintln!("usage: send_cost [64|1024|8192|65536 send|send_with full|part]");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
