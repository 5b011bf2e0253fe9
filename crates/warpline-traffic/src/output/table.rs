//! The table of all LPs, as CSV.

use std::io::{self, Write};

use warpline::files::cell;

use super::survey::{Segment, Survey};

const HEADER: [&str; 20] = [
    "lp",
    "kind",
    "name",
    "portion",
    "portions",
    "km",
    "capacity",
    "x",
    "y",
    "cars_passed",
    "travel_time_s",
    "speed_kmh",
    "cars_mean",
    "longest_queue",
    "cars_in",
    "cars_out",
    "accidents",
    "cars_held",
    "jams",
    "stops",
];

/// Writes it.
pub(super) fn write(writer: impl Write, survey: &Survey) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(writer);
    table.write_record(HEADER)?;
    for (lp, segment) in survey.segments.iter().enumerate() {
        table.write_record(row(lp, segment))?;
    }
    table.flush()
}

fn row(lp: usize, segment: &Segment) -> [String; HEADER.len()] {
    let Segment { name, portion, km, capacity, tally, .. } = segment;
    let (nth, of) = portion.unwrap_or((1, 1));
    let middle = segment.middle();
    let or_empty =
        |value: Option<f64>| value.map(|value| format!("{value:.3}")).unwrap_or_default();
    [
        lp.to_string(),
        if portion.is_some() { "route" } else { "junction" }.to_owned(),
        cell(name).into_owned(),
        nth.to_string(),
        of.to_string(),
        format!("{km:.3}"),
        format!("{capacity:.1}"),
        format!("{:.4}", middle.x),
        format!("{:.4}", middle.y),
        tally.passed.to_string(),
        or_empty(segment.travel_time()),
        or_empty(segment.speed()),
        format!("{:.3}", segment.cars()),
        tally.longest.to_string(),
        tally.joined.to_string(),
        tally.left.to_string(),
        tally.accidents.to_string(),
        tally.held.to_string(),
        tally.jams.to_string(),
        tally.stops.to_string(),
    ]
}
