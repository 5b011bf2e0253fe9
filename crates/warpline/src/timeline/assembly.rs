//! Spans, arrows and samples, made of what the workers wrote, after the run.
//!
//! Called by [`Timeline::recording`](super::Timeline::recording). All workers keep the slices of
//! the one that had to leave out the most, so that arrows between them are there or not as a whole.

use std::collections::BTreeMap;

use warpline_memory::BUFFERS_MAX;

use super::{
    Arrow, Gauge, Link, Phase, Recording, Sample, Span, Stage, Track,
    recorder::{Kind, NO_LP, Record, Recorder, SLICE_BITS, Stamp},
};

/// A time by the clock of another rank that is a process, and by that of rank 0, in their ticks;
/// and by how much that may be wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meeting {
    pub(crate) theirs: u64,
    pub(crate) ours: u64,
    pub(crate) error: u64,
}

/// Times of another rank, by the clock of rank 0.
#[derive(Clone, Copy)]
struct Alignment {
    first: Meeting,
    /// Ticks of rank 0 for each tick of the other.
    pace: f64,
}

impl Alignment {
    /// That of a rank, from the meetings of all.
    fn of(rank: usize, meetings: &[Vec<Meeting>]) -> Option<Self> {
        let at = |all: &Vec<Meeting>| all.get(rank.checked_sub(1)?).copied();
        let (first, last) = (at(meetings.first()?)?, at(meetings.last()?)?);
        let ticks = last.theirs.saturating_sub(first.theirs);
        debug_assert!(first.theirs <= last.theirs, "the clock of rank {rank} went back");
        let pace = last.ours.saturating_sub(first.ours) as f64 / ticks as f64;
        Some(Self { first, pace: if ticks > 0 { pace } else { 1.0 } })
    }

    /// That time by the clock of rank 0. The order of times stays.
    fn time(&self, theirs: u64) -> u64 {
        let since = (theirs as f64 - self.first.theirs as f64) * self.pace;
        (self.first.ours as f64 + since) as u64
    }
}

/// Makes a recording of what these workers wrote, who are in the order of their places.
pub(super) fn assemble<'r>(
    recorders: impl Iterator<Item = &'r mut Recorder>,
    stages: Vec<Stage>,
    meetings: &[Vec<Meeting>],
    nanoseconds_per_tick: f64,
) -> Recording {
    let recorders: Vec<_> = recorders.collect();
    let level = recorders.iter().map(|recorder| recorder.level()).max().unwrap_or(0);
    let mut recording =
        Recording { stages, one_of: 1 << level, slice: 1 << SLICE_BITS, ..Recording::default() };
    // Of two ranks, each may be wrong by as much.
    let error = meetings.iter().flatten().map(|meeting| 2 * meeting.error).max();
    recording.clock_error = error.unwrap_or(0);
    let mut ends = Ends { clock_error: recording.clock_error, ..Ends::default() };
    for recorder in recorders {
        recorder.thin_to(level);
        recording.left_out += recorder.left_out();
        let alignment = Alignment::of(recorder.place().0, meetings);
        let time = |at| alignment.map_or(at, |alignment| alignment.time(at));
        recording.end = recording.end.max(time(recorder.now()));
        let track = recording.tracks.len();
        recording.tracks.push(track_of(recorder, track, time, &mut ends));
    }
    recording.arrows = ends.arrows(&recording.tracks);
    debug_assert!(
        recording.arrows.iter().all(|arrow| {
            [arrow.from, arrow.to]
                .into_iter()
                .all(|(track, span)| span < recording.tracks[track].spans.len())
        }),
        "SPAN-B: an arrow without an end"
    );
    recording.times(|ticks| *ticks = (*ticks as f64 * nanoseconds_per_tick) as u64);
    recording
}

impl Recording {
    /// Changes all times, which keep their order.
    fn times(&mut self, change: impl Fn(&mut u64)) {
        for track in &mut self.tracks {
            for Span { begin, end, .. } in &mut track.spans {
                change(begin);
                change(end);
            }
            track.samples.iter_mut().for_each(|sample| change(&mut sample.at));
        }
        self.stages.iter_mut().for_each(|stage| change(&mut stage.begin));
        change(&mut self.end);
        change(&mut self.slice);
        change(&mut self.clock_error);
    }
}

/// A track, and a span in it.
type Place = (usize, usize);

/// The ends of arrows that were found.
#[derive(Default)]
struct Ends {
    /// By identity of the event, time, and whether the arrow ends there.
    of_canceled: Vec<(u64, u64, bool, Place)>,
    /// The worker of the same rank that sent an event, when the batch began, and the span that it
    /// led to.
    of_stragglers: Vec<(usize, u64, Place)>,
    /// The rank and the worker that sent an event, its serial number, and the span that it led to.
    of_remote_stragglers: Vec<((usize, usize), u32, Place)>,
    /// For each track, the spans in which events were sent, and [`Recorder::count`] before.
    sending: Vec<Vec<(u64, usize)>>,
    /// By how much the times of two ranks may be wrong.
    clock_error: u64,
}

impl Ends {
    /// An event is canceled and annihilated in turn, perhaps several times under one identity: an
    /// end belongs to the beginning just before it. SPAN-B.
    fn arrows(mut self, tracks: &[Track]) -> Vec<Arrow> {
        self.of_canceled.sort_unstable();
        let mut arrows = Vec::new();
        let arrow = |from, to| Arrow { link: Link::Cancellation, from, to };
        for of_event in self.of_canceled.chunk_by(|one, other| one.0 == other.0) {
            // The clock of one rank may be late. An event between ranks has a name of its own.
            if let &[(_, end, true, to), (_, begin, false, from)] = of_event
                && begin - end <= self.clock_error
            {
                arrows.push(arrow(from, to));
            }
            for pair in of_event.windows(2) {
                if let [(_, _, false, from), (_, _, true, to)] = *pair {
                    arrows.push(arrow(from, to));
                }
            }
        }
        let place_of = |(place, track): (usize, &Track)| ((track.rank, track.worker), place);
        let places: BTreeMap<_, _> = tracks.iter().enumerate().map(place_of).collect();
        for (worker, begin, to) in self.of_stragglers {
            let Some(&sender) = places.get(&(tracks[to.0].rank, worker)) else { continue };
            let spans = &tracks[sender].spans;
            let after = spans.partition_point(|span| span.begin < begin);
            let begins = spans[after..].iter().take_while(|span| span.begin == begin);
            let sent = begins.zip(after..).find(|(span, _)| span.is_sending());
            let arrow = |(_, span)| Arrow { link: Link::Straggler, from: (sender, span), to };
            arrows.extend(sent.map(arrow));
        }
        for (place, serial, to) in self.of_remote_stragglers {
            let Some(&sender) = places.get(&place) else { continue };
            let before = tracks[to.0].spans[to.1].begin + self.clock_error;
            let sent = span_of(&self.sending[sender], &tracks[sender], serial, before);
            let arrow = |span| Arrow { link: Link::Straggler, from: (sender, span), to };
            arrows.extend(sent.map(arrow));
        }
        arrows
    }
}

/// The span in which a worker sent the remote event with that serial number, before that time. A
/// worker numbers its remote events in their order, and begins again at 0 after a long while.
fn span_of(sending: &[(u64, usize)], track: &Track, serial: u32, before: u64) -> Option<usize> {
    const NUMBERS: u64 = BUFFERS_MAX as u64;
    let until = sending.partition_point(|(_, span)| track.spans[*span].begin <= before);
    let &(from, span) = sending[..until].last()?;
    let last = from + track.spans[span].count;
    let number = last.checked_sub((last + NUMBERS - u64::from(serial)) % NUMBERS)?;
    let place = sending[..until].partition_point(|(from, _)| *from < number).checked_sub(1)?;
    let (from, span) = sending[place];
    (number <= from + track.spans[span].count).then_some(span)
}

impl Span {
    /// Whether events are handled in it, which send others.
    const fn is_sending(&self) -> bool {
        matches!(self.phase, Some(Phase::Start | Phase::Batch | Phase::BlockingIo))
    }
}

/// The track of one worker. `time_of` makes times of what its clock showed.
fn track_of(
    recorder: &Recorder,
    track: usize,
    time_of: impl Fn(u64) -> u64,
    ends: &mut Ends,
) -> Track {
    let (rank, worker) = recorder.place();
    let (mut spans, mut samples) = (Vec::<Span>::new(), Vec::new());
    let mut open: Vec<usize> = Vec::new();
    ends.sending.push(Vec::new());
    for record in recorder.records() {
        let record = &Record { at: time_of(record.at), ..*record };
        let &Record { at, number, time, lp, .. } = record;
        let around = open.last().copied();
        // What is outside of spans, or in a wait, belongs to what was before.
        let is_wait = |place: &usize| matches!(spans[*place].phase, Some(Phase::Waiting(_)));
        let last = spans.len().saturating_sub(1);
        let here = (track, around.filter(|place| !is_wait(place)).unwrap_or(last));
        match record.kind {
            Kind::Begin(phase) => {
                open.push(spans.len());
                spans.push(Span { count: number, ..span(record, Some(phase), around) });
            }
            Kind::End => {
                let Some(place) = open.pop() else { continue };
                let span = &mut spans[place];
                debug_assert!(span.begin <= at, "SPAN-A: a span ends before it begins");
                if span.is_sending() {
                    ends.sending[track].push((span.count, place));
                }
                (span.end, span.events) = (at, number);
                span.count = u64::from(lp.wrapping_sub(span.count as u32));
                span.virtual_time = span.virtual_time.or(known(time));
                if matches!(span.phase, Some(Phase::Batch | Phase::Turns))
                    && let Some(value) = span.virtual_time
                {
                    samples.push(Sample { at, gauge: Gauge::VirtualTime, value });
                }
            }
            Kind::Annihilated => {
                ends.of_canceled.push((number, at, true, (track, spans.len())));
                spans.push(span(record, None, around));
            }
            Kind::Canceled => ends.of_canceled.push((number, at, true, here)),
            Kind::Cancels if !spans.is_empty() => {
                ends.of_canceled.push((number, at, false, here));
            }
            Kind::Cancels => {}
            Kind::SentIn => {
                let stamp = Stamp(number);
                ends.of_stragglers.push((stamp.worker(), time_of(stamp.begin()), here));
            }
            Kind::SentRemotely => {
                let place = ((number >> 32) as usize, number as u32 as usize);
                ends.of_remote_stragglers.push((place, lp, here));
            }
            Kind::Sample(gauge) => samples.push(Sample { at, gauge, value: time }),
        }
    }
    debug_assert!(open.is_empty(), "SPAN-D: a span of worker {worker} has no end");
    debug_assert!(samples.is_sorted_by_key(|sample| sample.at), "SPAN-D: samples go back");
    Track { rank, worker, spans, samples }
}

fn span(record: &Record, phase: Option<Phase>, parent: Option<usize>) -> Span {
    let (begin, end) = (record.at, record.at);
    let (virtual_time, lp) = (known(record.time), Some(record.lp).filter(|&lp| lp != NO_LP));
    Span { phase, begin, end, parent, events: 0, count: 0, virtual_time, lp }
}

fn known(time: f64) -> Option<f64> {
    (!time.is_nan()).then_some(time)
}
