//! The colors of the load, on all maps the same, whatever the other roads have.

/// From an empty road to a full one: green, yellow, red.
const COLORS: [[f64; 3]; 3] = [[46.0, 160.0, 67.0], [242.0, 201.0, 76.0], [203.0, 36.0, 49.0]];

/// The color of a load, the part of the road that is taken, as `#rrggbb`.
pub(super) fn color(load: f64) -> String {
    let part = if load.is_finite() { load.clamp(0.0, 1.0) } else { 0.0 } * 2.0;
    let index = (part as usize).min(1);
    let [from, to] = [COLORS[index], COLORS[index + 1]];
    let mix = |n: usize| (from[n] + (to[n] - from[n]) * (part - index as f64)).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}
