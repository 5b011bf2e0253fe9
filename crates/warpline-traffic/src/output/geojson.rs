//! The map as GeoJSON (RFC 7946): a line for each portion of a route, a point for each junction.
//!
//! Positions are written as the network has them: for a network on a plane they are no degrees.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::{
    palette,
    survey::{Segment, Survey},
};

/// Writes it, one feature per line.
pub(super) fn write(mut writer: impl Write, survey: &Survey) -> io::Result<()> {
    writeln!(writer, "{{\"type\": \"FeatureCollection\", \"features\": [")?;
    for (lp, segment) in survey.segments.iter().enumerate() {
        let comma = if lp + 1 < survey.segments.len() { "," } else { "" };
        writeln!(writer, "{}{comma}", feature(lp, segment))?;
    }
    writeln!(writer, "]}}")
}

fn feature(lp: usize, segment: &Segment) -> Value {
    let [from, to] = segment.ends.map(|end| [end.x, end.y]);
    let geometry = match segment.portion {
        Some(_) => json!({"type": "LineString", "coordinates": [from, to]}),
        None => json!({"type": "Point", "coordinates": from}),
    };
    let tally = &segment.tally;
    json!({
        "type": "Feature",
        "geometry": geometry,
        "properties": {
            "lp": lp,
            "name": segment.title(),
            "km": segment.km,
            "cars_mean": segment.cars(),
            "cars_per_km": segment.density(),
            "load": segment.load(),
            "speed_kmh": segment.speed(),
            "travel_time_s": segment.travel_time(),
            "longest_queue": tally.longest,
            "accidents": tally.accidents,
            "cars_held": tally.held,
            "stroke": palette::color(segment.load()),
        },
    })
}
