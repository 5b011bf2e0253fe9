//! Recordings that are written and read back: what a slice is called and says, where flows lead,
//! and how a recording shows that it is not whole.
//!
//! `crates/warpline-cli/tests/trace.rs` does the same with runs.

use std::io::{self, Write};

use decoder::{Decoded, Slice};
use warpline::{
    monitor::Activity,
    timeline::{Arrow, Cause, Gauge, Link, Phase, Recording, Sample, Span, Stage, Track},
};
use warpline_trace::write;

mod decoder;

fn span(phase: Option<Phase>, [begin, end]: [u64; 2], parent: Option<usize>) -> Span {
    let (events, count, virtual_time, lp) = (3, 2, Some(1.5), Some(7));
    Span { phase, begin, end, parent, events, count, virtual_time, lp }
}

/// A worker that does each of these things, one after the other, for 10 ns each.
fn track(rank: usize, worker: usize, phases: &[Phase]) -> Track {
    let spans = (0..).step_by(20).zip(phases);
    let spans = spans.map(|(at, phase)| span(Some(*phase), [at, at + 10], None)).collect();
    Track { rank, worker, spans, samples: Vec::new() }
}

fn recording(tracks: Vec<Track>) -> Recording {
    Recording { tracks, end: 1000, one_of: 1, slice: 100, ..Recording::default() }
}

/// What is written of a recording, and how much of it is in the answer.
#[track_caller]
fn read_back(recording: &Recording) -> Decoded {
    let mut bytes = Vec::new();
    let written = write(recording, "a run", &mut bytes).expect("memory takes it");
    let trace = Decoded::read(&bytes);
    let of_tracks =
        |slice: &&Slice| !["recorded", "engine"].contains(&&*trace.tracks[&slice.track]);
    assert_eq!(written.spans, trace.slices.iter().filter(of_tracks).count());
    assert_eq!(written.flows, trace.flows.len());
    trace
}

/// The name of a slice in words, and of its arguments.
fn told(slice: &Slice) -> String {
    let arguments: Vec<_> = slice.arguments.keys().map(String::as_str).collect();
    format!("{} ({})", slice.name, arguments.join(", "))
}

#[test]
fn slices_say_what_a_worker_did() {
    let phases = [
        Phase::Start,
        Phase::Batch,
        Phase::BlockingIo,
        Phase::Rollback(Cause::Straggler),
        Phase::Rollback(Cause::AntiMessage),
        Phase::Rollback(Cause::Horizon),
        Phase::Rollback(Cause::CutOff),
        Phase::Gvt,
        Phase::FossilCollection,
        Phase::Cancelback,
        Phase::Window,
        Phase::Settling,
        Phase::Commit,
        Phase::Resize,
        Phase::Turns,
        Phase::NullMessages,
        Phase::DeadlockDetection,
        Phase::Waiting(Activity::NoEvents),
    ];
    let trace = read_back(&recording(vec![track(0, 0, &phases)]));
    let told: Vec<_> = trace.slices.iter().map(told).collect();
    let expected = [
        "start (lp, remote_events, virtual_time)",
        "batch (events, lp, remote_events, virtual_time)",
        "blocking I/O event (events, lp, remote_events, virtual_time)",
        "rollback: straggler (events, lp, virtual_time)",
        "rollback: anti-message (events, lp, virtual_time)",
        "rollback: all beyond a time (events, lp, virtual_time)",
        "undo: handler cut off (events, lp, virtual_time)",
        "GVT (lp, virtual_time)",
        "fossil collection (events, lp, virtual_time)",
        "cancelback (events, lp, virtual_time)",
        "window (events, lp, virtual_time)",
        "settling (events, lp, rollbacks, virtual_time)",
        "commit (events, lp, virtual_time)",
        "resize (events, lp, virtual_time)",
        "turns (events, lp, null_messages, virtual_time)",
        "null messages (lp, null_messages, virtual_time)",
        "deadlock detection (deadlocks, lp, null_messages, virtual_time)",
        "waiting: has no events (lp, virtual_time)",
    ];
    assert_eq!(told, expected);
    let batch = &trace.slices[1];
    assert_eq!([batch.begin, batch.end, trace.events("batch")], [20, 30, 3]);
    assert_eq!([batch.argument("remote_events"), batch.argument("lp")], [2, 7]);
    assert_eq!(f64::from_bits(batch.argument("virtual_time")), 1.5);
}

/// PERFETTO-A: what lies in something else ends before that does.
#[test]
fn slices_nest() {
    let spans = vec![
        span(Some(Phase::Gvt), [0, 100], None),
        span(Some(Phase::FossilCollection), [10, 30], Some(0)),
        span(Some(Phase::Cancelback), [30, 90], Some(0)),
        span(None, [50, 50], Some(2)),
        span(Some(Phase::Batch), [100, 120], None),
    ];
    let trace = read_back(&recording(vec![Track { spans, ..Track::default() }]));
    let ends: Vec<_> = trace.slices.iter().map(|slice| (slice.parent, slice.end)).collect();
    let expected = [(None, 100), (Some(0), 30), (Some(0), 90), (Some(2), 50), (None, 120)];
    assert_eq!(ends, expected);
    let instants: Vec<_> = trace.slices.iter().filter(|slice| slice.is_instant).collect();
    assert_eq!(instants.len(), 1);
    assert_eq!(told(instants[0]), "annihilated (lp, virtual_time)");
}

/// PERFETTO-B: a slice may have several flows, and each has its own number.
#[test]
fn flows_lead_from_slice_to_slice() {
    let undone = Phase::Rollback(Cause::AntiMessage);
    let tracks = vec![track(0, 0, &[Phase::Batch, Phase::Batch]), track(0, 1, &[undone, undone])];
    let arrow = |from, to| Arrow { link: Link::Cancellation, from, to };
    let arrows = vec![arrow((0, 1), (1, 1)), arrow((0, 1), (1, 0)), arrow((1, 0), (1, 1))];
    let trace = read_back(&Recording { arrows, ..recording(tracks) });
    let mut flows: Vec<_> = trace.flows.into_values().collect();
    flows.sort();
    assert_eq!(flows, [(vec![1], vec![2]), (vec![1], vec![3]), (vec![2], vec![3])]);
}

/// A rank is a process with its workers; the first one shows the stages of the run.
#[test]
fn ranks_have_their_workers_and_the_run_its_stages() {
    let tracks = (0..2).flat_map(|rank| (0..2).map(move |worker| track(rank, worker, &[])));
    let stage = |name: &str, begin| Stage { name: name.to_owned(), begin };
    let stages = vec![stage("sequential", 0), stage("timewarp", 400)];
    let trace = read_back(&Recording { stages, ..recording(tracks.collect()) });
    let names: Vec<_> = trace.tracks.values().map(String::as_str).collect();
    let expected = [
        "rank 0: a run",
        "engine",
        "worker 0",
        "worker 1",
        "rank 1: a run",
        "worker 0",
        "worker 1",
    ];
    assert_eq!(names, expected);
    let stages = trace.slices.iter().map(|slice| (&*slice.name, slice.begin, slice.end));
    assert_eq!(stages.collect::<Vec<_>>(), [("sequential", 0, 400), ("timewarp", 400, 1000)]);
}

#[test]
fn numbers_are_counters() {
    let gauges = [Gauge::VirtualTime, Gauge::Efficiency, Gauge::Uncommitted, Gauge::FreeBuffers];
    let samples = (1..).zip(gauges.into_iter().cycle().take(8));
    let samples = samples.map(|(at, gauge)| Sample { at, gauge, value: at as f64 }).collect();
    let tracks = vec![Track { samples, ..track(0, 0, &[Phase::Gvt, Phase::Gvt]) }];
    let trace = read_back(&recording(tracks));
    assert_eq!(trace.values_of("GVT"), [1.5, 1.5]);
    for (at, name) in
        (1..).zip(["virtual time", "efficiency", "uncommitted events", "free buffers"])
    {
        assert_eq!(trace.values_of(name), [f64::from(at), f64::from(at + 4)], "{name}");
    }
}

#[test]
fn what_is_left_out_shows() {
    let recording = Recording { left_out: 9, one_of: 4, ..recording(vec![track(0, 0, &[])]) };
    let trace = read_back(&recording);
    let kept: Vec<_> = trace.named("recorded").map(|slice| [slice.begin, slice.end]).collect();
    assert_eq!(kept, [[0, 100], [400, 500], [800, 900]]);
    assert_eq!(trace.slices[0].argument("spans_left_out"), 9);
    assert_eq!(trace.slices[0].argument("one_slice_of"), 4);
    let endless = Recording { slice: 0, ..recording };
    assert_eq!(read_back(&endless).named("recorded").count(), 0);
}

/// Takes this many bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.checked_sub(bytes.len()) {
            Some(left) => self.0 = left,
            None => return Err(io::ErrorKind::StorageFull.into()),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::BrokenPipe.into())
    }
}

/// What is written comes in parts, of which any may fail, and the last flush, too.
#[test]
fn what_cannot_be_written_is_an_error() {
    let recording = recording(vec![track(0, 0, &[Phase::Batch; 5000])]);
    let mut whole = Vec::new();
    write(&recording, "a run", &mut whole).expect("memory takes it");
    let kind = |room| write(&recording, "a run", Full(room)).expect_err("an error").kind();
    let full = io::ErrorKind::StorageFull;
    assert_eq!([0, whole.len() / 2, whole.len() - 1].map(kind), [full; 3]);
    assert_eq!(kind(whole.len()), io::ErrorKind::BrokenPipe);
}
