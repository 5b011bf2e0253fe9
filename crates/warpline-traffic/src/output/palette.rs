//! The colors of the load, on all maps the same.

/// From few cars to many: green, yellow, red.
const COLORS: [[f64; 3]; 3] = [[46.0, 160.0, 67.0], [242.0, 201.0, 76.0], [203.0, 36.0, 49.0]];

/// The color of a part of the greatest load, from 0 to 1, as `#rrggbb`.
pub(super) fn color(part: f64) -> String {
    let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 } * 2.0;
    let index = (part as usize).min(1);
    let [from, to] = [COLORS[index], COLORS[index + 1]];
    let mix = |n: usize| (from[n] + (to[n] - from[n]) * (part - index as f64)).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}
