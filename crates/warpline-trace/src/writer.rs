//! Packets of a trace, made of what was recorded. Called by [`write`](crate::write).
//!
//! Nothing here depends on the type of what is written to, so that all of it is compiled in this
//! crate, and as fast as this crate is.
//!
//! # Invariants
//!
//! - **PERFETTO-A.** On each track every slice that begins ends, in the order of a stack.
//! - **PERFETTO-B.** Each flow has one slice where it begins and one where it ends, and a number of
//!   its own.

use std::{
    io::{self, Write},
    iter,
    ops::Range,
};

use warpline::timeline::{Arrow, Cause, Gauge, Phase, Recording, Span, Track};

use crate::{
    fields::{Fields, Message},
    packets::{
        CounterDescriptor, DebugAnnotation, InternedData, NAMES_ANEW, NAMES_USED, Name,
        ProcessDescriptor, ThreadDescriptor, Trace, TracePacket, TrackDescriptor, TrackEvent, Type,
    },
};

/// Packets that are written at once.
const CHUNK: usize = 4096;
/// All packets are of one sequence, which has names of its own.
const SEQUENCE: u32 = 1;
/// Names of arguments, with their numbers.
const EVENTS: (u64, &str) = (1, "events");
const VIRTUAL_TIME: (u64, &str) = (2, "virtual_time");
const LP: (u64, &str) = (3, "lp");
const LEFT_OUT: (u64, &str) = (4, "spans_left_out");
const ONE_OF: (u64, &str) = (5, "one_slice_of");
const REMOTE_EVENTS: (u64, &str) = (6, "remote_events");
const NULL_MESSAGES: (u64, &str) = (7, "null_messages");
const DEADLOCKS: (u64, &str) = (8, "deadlocks");
const ROLLBACKS: (u64, &str) = (9, "rollbacks");

/// Writes the bytes of a trace of this recording, part by part.
pub(crate) fn write(recording: &Recording, run: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut writer =
        Writer { out, packets: Vec::new(), bytes: Vec::new(), names: Vec::new(), tracks: 0 };
    writer.begin()?;
    let flows = Flows::of(recording);
    let mut process = None;
    for (number, track) in recording.tracks.iter().enumerate() {
        let of_process = match process {
            Some((rank, uuid)) if rank == track.rank => uuid,
            _ => writer.process(recording, track, run)?,
        };
        process = Some((track.rank, of_process));
        writer.worker(track, flows.of_track(number))?;
    }
    writer.write_packets()?;
    writer.out.flush()
}

/// Where arrows begin and end, in the order of tracks and spans.
struct Flows {
    begins: Vec<((usize, usize), u64)>,
    ends: Vec<((usize, usize), u64)>,
}

impl Flows {
    fn of(recording: &Recording) -> Self {
        // Perfetto takes 0 for no flow.
        let numbered = || recording.arrows.iter().zip(1..);
        let sorted = |mut all: Vec<_>| {
            all.sort_unstable();
            all
        };
        Self {
            begins: sorted(numbered().map(|(&Arrow { from, .. }, id)| (from, id)).collect()),
            ends: sorted(numbered().map(|(&Arrow { to, .. }, id)| (to, id)).collect()),
        }
    }

    fn of_track(&self, track: usize) -> [&[((usize, usize), u64)]; 2] {
        [&self.begins, &self.ends].map(|all| {
            let from = all.partition_point(|(place, _)| place.0 < track);
            let to = all.partition_point(|(place, _)| place.0 <= track);
            &all[from..to]
        })
    }
}

/// Takes the flows of a span off the front of those of its track.
fn take_flows(flows: &mut &[((usize, usize), u64)], span: usize) -> Vec<u64> {
    let count = flows.iter().take_while(|((_, place), _)| *place <= span).count();
    let (of_span, rest) = flows.split_at(count);
    *flows = rest;
    of_span.iter().map(|(_, id)| *id).collect()
}

struct Writer<'o> {
    out: &'o mut dyn Write,
    packets: Vec<TracePacket>,
    bytes: Vec<u8>,
    /// Names of slices; the number of a name is its place, plus one.
    names: Vec<String>,
    tracks: u64,
}

impl Writer<'_> {
    /// Writes the packets that there are.
    fn write_packets(&mut self) -> io::Result<()> {
        let packet = std::mem::take(&mut self.packets);
        self.bytes.clear();
        Trace { packet }.write(&mut Fields(&mut self.bytes));
        self.out.write_all(&self.bytes)
    }

    fn push(&mut self, packet: TracePacket) -> io::Result<()> {
        let trusted_packet_sequence_id = Some(SEQUENCE);
        self.packets.push(TracePacket { trusted_packet_sequence_id, ..packet });
        if self.packets.len() >= CHUNK { self.write_packets() } else { Ok(()) }
    }

    /// The first packet, with the names of arguments.
    fn begin(&mut self) -> io::Result<()> {
        let names = [
            EVENTS,
            VIRTUAL_TIME,
            LP,
            LEFT_OUT,
            ONE_OF,
            REMOTE_EVENTS,
            NULL_MESSAGES,
            DEADLOCKS,
            ROLLBACKS,
        ];
        let debug_annotation_names = names.into_iter().map(|(iid, text)| name(iid, text)).collect();
        let interned_data =
            Some(InternedData { debug_annotation_names, ..InternedData::default() });
        self.push(TracePacket {
            sequence_flags: Some(NAMES_ANEW),
            interned_data,
            ..TracePacket::default()
        })
    }

    fn event(&mut self, at: u64, event: TrackEvent) -> io::Result<()> {
        let (timestamp, sequence_flags) = (Some(at), Some(NAMES_USED));
        let track_event = Some(event);
        self.push(TracePacket { timestamp, sequence_flags, track_event, ..TracePacket::default() })
    }

    /// The number of a name. The first time, a packet tells it.
    fn name(&mut self, text: &str) -> io::Result<u64> {
        if let Some(place) = self.names.iter().position(|known| known == text) {
            return Ok(place as u64 + 1);
        }
        self.names.push(text.to_owned());
        let iid = self.names.len() as u64;
        let event_names = vec![name(iid, text)];
        let interned_data = Some(InternedData { event_names, ..InternedData::default() });
        let sequence_flags = Some(NAMES_USED);
        self.push(TracePacket { interned_data, sequence_flags, ..TracePacket::default() })?;
        Ok(iid)
    }

    /// Makes a track, and returns its number.
    fn track(&mut self, descriptor: TrackDescriptor) -> io::Result<u64> {
        self.tracks += 1;
        let track_descriptor = Some(TrackDescriptor { uuid: Some(self.tracks), ..descriptor });
        self.push(TracePacket { track_descriptor, ..TracePacket::default() })?;
        Ok(self.tracks)
    }

    fn track_of(&mut self, parent: u64, name: &str) -> io::Result<u64> {
        let (name, parent_uuid) = (Some(name.to_owned()), Some(parent));
        self.track(TrackDescriptor { name, parent_uuid, ..TrackDescriptor::default() })
    }

    /// A rank: GVT, the engines that the run changed between, and what is there.
    fn process(&mut self, recording: &Recording, first: &Track, run: &str) -> io::Result<u64> {
        let process_name = format!("rank {}: {run}", first.rank);
        let process = ProcessDescriptor { pid: pid(first), process_name };
        let process =
            self.track(TrackDescriptor { process: Some(process), ..TrackDescriptor::default() })?;
        self.gvt(process, first)?;
        if first.rank == 0 {
            self.stages(process, recording)?;
        }
        self.left_out(process, recording)?;
        Ok(process)
    }

    fn counter(&mut self, parent: u64, name: &str) -> io::Result<u64> {
        let (name, parent_uuid) = (Some(name.to_owned()), Some(parent));
        let counter = Some(CounterDescriptor);
        self.track(TrackDescriptor { name, parent_uuid, counter, ..TrackDescriptor::default() })
    }

    fn value(&mut self, track: u64, at: u64, value: f64) -> io::Result<()> {
        let (track_uuid, double_counter_value) = (Some(track), Some(value));
        let r#type = Some(Type::Counter);
        self.event(
            at,
            TrackEvent { r#type, track_uuid, double_counter_value, ..TrackEvent::default() },
        )
    }

    /// Global virtual time, as the first worker learns it.
    fn gvt(&mut self, process: u64, first: &Track) -> io::Result<()> {
        let steps = |span: &Span| match (span.phase, span.virtual_time) {
            (Some(Phase::Gvt), Some(time)) if time.is_finite() => Some((span.begin, time)),
            _ => None,
        };
        let steps: Vec<_> = first.spans.iter().filter_map(steps).collect();
        if steps.is_empty() {
            return Ok(());
        }
        let track = self.counter(process, "GVT")?;
        steps.into_iter().try_for_each(|(at, time)| self.value(track, at, time))
    }

    /// A slice that has nothing in it.
    fn slice(
        &mut self,
        track: u64,
        name: &str,
        time: Range<u64>,
        debug_annotations: Vec<DebugAnnotation>,
    ) -> io::Result<()> {
        let event = TrackEvent {
            r#type: Some(Type::SliceBegin),
            name_iid: Some(self.name(name)?),
            track_uuid: Some(track),
            debug_annotations,
            ..TrackEvent::default()
        };
        self.event(time.start, event)?;
        self.end(track, time.end, Vec::new())
    }

    fn end(&mut self, track: u64, at: u64, arguments: Vec<DebugAnnotation>) -> io::Result<()> {
        let (track_uuid, r#type) = (Some(track), Some(Type::SliceEnd));
        let debug_annotations = arguments;
        self.event(
            at,
            TrackEvent { r#type, track_uuid, debug_annotations, ..TrackEvent::default() },
        )
    }

    fn stages(&mut self, process: u64, recording: &Recording) -> io::Result<()> {
        if recording.stages.is_empty() {
            return Ok(());
        }
        let track = self.track_of(process, "engine")?;
        let ends = recording.stages.iter().skip(1).map(|stage| stage.begin).chain([recording.end]);
        recording.stages.iter().zip(ends).try_for_each(|(stage, end)| {
            self.slice(track, &stage.name, stage.begin..end.max(stage.begin), Vec::new())
        })
    }

    /// Shows which slices of time are there, if not all are.
    fn left_out(&mut self, process: u64, recording: &Recording) -> io::Result<()> {
        let &Recording { one_of, slice, left_out, end, .. } = recording;
        // A recording that was made by hand may not say which.
        let period = one_of.saturating_mul(slice);
        if left_out == 0 || period == 0 {
            return Ok(());
        }
        let track = self.track_of(process, "recorded")?;
        let arguments = vec![number(LEFT_OUT, left_out), number(ONE_OF, one_of)];
        let begins = iter::successors(Some(0_u64), |at| at.checked_add(period));
        begins.take_while(|at| *at < end).try_for_each(|begin| {
            let time = begin..begin.saturating_add(slice).min(end);
            self.slice(track, "recorded", time, arguments.clone())
        })
    }

    /// A worker: what it did, and its numbers.
    fn worker(
        &mut self,
        track: &Track,
        [mut begins, mut ends]: [&[((usize, usize), u64)]; 2],
    ) -> io::Result<()> {
        let thread_name = format!("worker {}", track.worker);
        let tid = (i64::from(pid(track)) << 20) + track.worker as i64 + 1;
        let thread = Some(ThreadDescriptor { pid: pid(track), tid, thread_name });
        let own = self.track(TrackDescriptor { thread, ..TrackDescriptor::default() })?;
        // PERFETTO-A.
        let mut open: Vec<usize> = Vec::new();
        for (place, span) in track.spans.iter().enumerate() {
            while open.last() != span.parent.as_ref()
                && let Some(before) = open.pop()
            {
                self.end_of(own, &track.spans[before])?;
            }
            let (flow_ids, terminating_flow_ids) =
                (take_flows(&mut begins, place), take_flows(&mut ends, place));
            let kind = if span.phase.is_some() { Type::SliceBegin } else { Type::Instant };
            let event = TrackEvent {
                r#type: Some(kind),
                name_iid: Some(self.name(&name_of(span.phase))?),
                track_uuid: Some(own),
                debug_annotations: arguments_at_begin(span),
                flow_ids,
                terminating_flow_ids,
                double_counter_value: None,
            };
            self.event(span.begin, event)?;
            if span.phase.is_some() {
                open.push(place);
            }
        }
        while let Some(before) = open.pop() {
            self.end_of(own, &track.spans[before])?;
        }
        self.gauges(own, track)
    }

    /// How many events it was, and up to when, is known at the end.
    fn end_of(&mut self, track: u64, span: &Span) -> io::Result<()> {
        let events = match span.phase {
            Some(Phase::Waiting(_) | Phase::Gvt | Phase::Start | Phase::NullMessages) => None,
            Some(Phase::DeadlockDetection) => Some(DEADLOCKS),
            _ => Some(EVENTS),
        };
        let count = match span.phase {
            Some(Phase::Settling) => Some(ROLLBACKS),
            Some(Phase::Turns | Phase::NullMessages | Phase::DeadlockDetection) => {
                Some(NULL_MESSAGES)
            }
            Some(Phase::Batch | Phase::Start | Phase::BlockingIo) if span.count > 0 => {
                Some(REMOTE_EVENTS)
            }
            _ => None,
        };
        let events = events.map(|name| number(name, span.events));
        let count = count.map(|name| number(name, span.count));
        let rolls_back = matches!(span.phase, Some(Phase::Rollback(_)));
        let time = span.virtual_time.filter(|_| !rolls_back).map(time_argument);
        self.end(track, span.end, events.into_iter().chain(count).chain(time).collect())
    }

    fn gauges(&mut self, parent: u64, track: &Track) -> io::Result<()> {
        let all = [
            (Gauge::VirtualTime, "virtual time"),
            (Gauge::Efficiency, "efficiency"),
            (Gauge::Uncommitted, "uncommitted events"),
            (Gauge::FreeBuffers, "free buffers"),
        ];
        for (gauge, name) in all {
            let mut samples =
                track.samples.iter().filter(|sample| sample.gauge == gauge).peekable();
            if samples.peek().is_none() {
                continue;
            }
            let counter = self.counter(parent, name)?;
            samples.try_for_each(|sample| self.value(counter, sample.at, sample.value))?;
        }
        Ok(())
    }
}

/// The process that stands for the worker's rank.
fn pid(track: &Track) -> i32 {
    track.rank as i32 + 1
}

fn name(iid: u64, text: &str) -> Name {
    Name { iid, name: text.to_owned() }
}

fn number((iid, _): (u64, &str), value: u64) -> DebugAnnotation {
    DebugAnnotation { name_iid: iid, uint_value: Some(value), double_value: None }
}

fn time_argument(time: f64) -> DebugAnnotation {
    DebugAnnotation { name_iid: VIRTUAL_TIME.0, uint_value: None, double_value: Some(time) }
}

fn arguments_at_begin(span: &Span) -> Vec<DebugAnnotation> {
    let is_early = matches!(span.phase, None | Some(Phase::Rollback(_)));
    let lp = span.lp.map(|lp| number(LP, lp.into()));
    let time = span.virtual_time.filter(|_| is_early).map(time_argument);
    lp.into_iter().chain(time).collect()
}

fn name_of(phase: Option<Phase>) -> String {
    let name = match phase {
        None => "annihilated",
        Some(Phase::Start) => "start",
        Some(Phase::Batch) => "batch",
        Some(Phase::BlockingIo) => "blocking I/O event",
        Some(Phase::Rollback(Cause::Straggler)) => "rollback: straggler",
        Some(Phase::Rollback(Cause::AntiMessage)) => "rollback: anti-message",
        Some(Phase::Rollback(Cause::Horizon)) => "rollback: all beyond a time",
        Some(Phase::Rollback(Cause::CutOff)) => "undo: handler cut off",
        Some(Phase::Gvt) => "GVT",
        Some(Phase::FossilCollection) => "fossil collection",
        Some(Phase::Cancelback) => "cancelback",
        Some(Phase::Window) => "window",
        Some(Phase::Settling) => "settling",
        Some(Phase::Commit) => "commit",
        Some(Phase::Resize) => "resize",
        Some(Phase::Turns) => "turns",
        Some(Phase::NullMessages) => "null messages",
        Some(Phase::DeadlockDetection) => "deadlock detection",
        Some(Phase::Waiting(why)) => return format!("waiting: {why}"),
        Some(_) => "other",
    };
    name.to_owned()
}
