//! Spans, arrows and samples, made of what the workers wrote, after the run.
//!
//! Called by [`Timeline::recording`](super::Timeline::recording). All workers keep the slices of
//! the one that had to leave out the most, so that arrows between them are there or not as a whole.

use std::collections::BTreeMap;

use super::{
    Arrow, Gauge, Leg, Link, Phase, Recording, Sample, Span, Track,
    recorder::{Kind, NO_LP, Record, Recorder, SLICE_BITS, Stamp},
};

/// Makes a recording of what these workers wrote, who are in the order of their places.
pub(super) fn assemble<'r>(
    recorders: impl Iterator<Item = &'r mut Recorder>,
    legs: Vec<Leg>,
    nanoseconds_per_tick: f64,
) -> Recording {
    let recorders: Vec<_> = recorders.collect();
    let level = recorders.iter().map(|recorder| recorder.level()).max().unwrap_or(0);
    let mut recording =
        Recording { legs, one_of: 1 << level, slice: 1 << SLICE_BITS, ..Recording::default() };
    let mut ends = Ends::default();
    for recorder in recorders {
        recorder.thin_to(level);
        recording.left_out += recorder.left_out();
        recording.end = recording.end.max(recorder.now());
        let track = recording.tracks.len();
        recording.tracks.push(track_of(recorder, track, &mut ends));
    }
    recording.arrows = ends.arrows(&recording.tracks);
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
        self.legs.iter_mut().for_each(|leg| change(&mut leg.begin));
        change(&mut self.end);
        change(&mut self.slice);
    }
}

/// The ends of arrows that were found.
#[derive(Default)]
struct Ends {
    /// By identity of the event, time, and whether the arrow ends there.
    of_canceled: Vec<(u64, u64, bool, (usize, usize))>,
    /// The batch, and the span that it led to.
    of_stragglers: Vec<(Stamp, (usize, usize))>,
}

impl Ends {
    /// An event is canceled and annihilated in turn, perhaps several times under one identity: an
    /// end belongs to the beginning just before it. SPAN-B.
    fn arrows(mut self, tracks: &[Track]) -> Vec<Arrow> {
        self.of_canceled.sort_unstable();
        let mut arrows = Vec::new();
        for pair in self.of_canceled.windows(2) {
            let [(from_identity, _, false, from), (identity, _, true, to)] = *pair else {
                continue;
            };
            if from_identity == identity {
                arrows.push(Arrow { link: Link::Cancellation, from, to });
            }
        }
        let place_of = |(place, track): (usize, &Track)| ((track.rank, track.worker), place);
        let places: BTreeMap<_, _> = tracks.iter().enumerate().map(place_of).collect();
        for (stamp, to) in self.of_stragglers {
            let Some(&sender) = places.get(&(tracks[to.0].rank, stamp.worker())) else { continue };
            let spans = &tracks[sender].spans;
            let after = spans.partition_point(|span| span.begin < stamp.begin());
            let begins = spans[after..].iter().take_while(|span| span.begin == stamp.begin());
            let sent = begins.zip(after..).find(|(span, _)| span.is_sending());
            arrows.extend(sent.map(|(_, span)| Arrow {
                link: Link::Straggler,
                from: (sender, span),
                to,
            }));
        }
        arrows
    }
}

impl Span {
    /// Whether events are handled in it, which send others.
    const fn is_sending(&self) -> bool {
        matches!(self.phase, Some(Phase::Start | Phase::Batch | Phase::BlockingIo))
    }
}

/// The track of one worker.
fn track_of(recorder: &Recorder, track: usize, ends: &mut Ends) -> Track {
    let (rank, worker) = recorder.place();
    let (mut spans, mut samples) = (Vec::<Span>::new(), Vec::new());
    let mut open: Vec<usize> = Vec::new();
    for record in recorder.records() {
        let &Record { at, number, time, .. } = record;
        let around = open.last().copied();
        // What is outside of spans, or in a wait, belongs to what was before.
        let is_wait = |place: &usize| matches!(spans[*place].phase, Some(Phase::Waiting(_)));
        let last = spans.len().saturating_sub(1);
        let here = (track, around.filter(|place| !is_wait(place)).unwrap_or(last));
        match record.kind {
            Kind::Begin(phase) => {
                open.push(spans.len());
                spans.push(span(record, Some(phase), around));
            }
            Kind::End => {
                let Some(place) = open.pop() else { continue };
                let span = &mut spans[place];
                (span.end, span.events) = (at, number);
                span.virtual_time = span.virtual_time.or(known(time));
                if span.phase == Some(Phase::Batch)
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
            Kind::SentIn => ends.of_stragglers.push((Stamp(number), here)),
            Kind::Sample(gauge) => samples.push(Sample { at, gauge, value: time }),
        }
    }
    Track { rank, worker, spans, samples }
}

fn span(record: &Record, phase: Option<Phase>, parent: Option<usize>) -> Span {
    let (begin, end) = (record.at, record.at);
    let (virtual_time, lp) = (known(record.time), Some(record.lp).filter(|&lp| lp != NO_LP));
    Span { phase, begin, end, parent, events: 0, virtual_time, lp }
}

fn known(time: f64) -> Option<f64> {
    (!time.is_nan()).then_some(time)
}
