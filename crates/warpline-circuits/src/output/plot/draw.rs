//! Draws a sketch as SVG: a lane for each net, and the time below.

use std::{io, iter::once, sync::Once};

use plotters::{
    coord::Shift,
    element::{PathElement, Text},
    prelude::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea, SVGBackend},
    style::{
        Color, FontStyle, IntoFont, RGBColor, TextStyle, WHITE, register_font,
        text_anchor::{HPos, Pos, VPos},
    },
};

use super::trace::{COLUMNS, Trace};
use crate::waveform::Columns;

/// The place of the lanes in the picture, in SVG units.
const LEFT: i32 = 190;
const TOP: i32 = 46;
const RIGHT: i32 = LEFT + COLUMNS as i32;
/// The height of a lane, and of the part of it that the waveform uses.
const LANE: i32 = 64;
const USED: i32 = 48;
/// The font of all texts: the viewer's own in the SVG, Noto Sans in the PNG.
const FONT: &str = "sans-serif";
const TEXT: RGBColor = RGBColor(40, 40, 40);
/// Colors that people with any kind of color blindness can tell apart (Okabe and Ito 2008).
const COLORS: [RGBColor; 4] =
    [RGBColor(0, 114, 178), RGBColor(213, 94, 0), RGBColor(0, 158, 115), RGBColor(204, 121, 167)];
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn<T> = Result<T, DrawingAreaErrorKind<io::Error>>;

/// The picture as an SVG document; `end` is the time at the right border (s).
pub(super) fn svg(title: &str, traces: &[Trace], end: f64) -> Drawn<String> {
    // The library measures texts with this font, so that each gets the width it needs.
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        let registered = register_font(FONT, FontStyle::Normal, notosans::REGULAR_TTF);
        assert!(registered.is_ok(), "the embedded font cannot be read");
    });
    let bottom = TOP + LANE * traces.len() as i32;
    let mut svg = String::new();
    {
        let size = ((RIGHT + 30) as u32, (bottom + 56) as u32);
        let picture = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        picture.fill(&WHITE)?;
        write(&picture, title, ((LEFT + RIGHT) / 2, TOP / 2), 18, HPos::Center)?;
        times(&picture, end, bottom)?;
        let range = range(traces);
        for (n, trace) in traces.iter().enumerate() {
            let floor = TOP + LANE * (n as i32 + 1) - (LANE - USED) / 2;
            lane(&picture, trace, floor, range, COLORS[n % COLORS.len()])?;
        }
        picture.present()?;
    }
    Ok(svg)
}

/// Draws the axis of time, and a line for each number at it.
fn times(picture: &Area<'_>, end: f64, bottom: i32) -> Drawn<()> {
    let (unit, scale) = Columns { end, count: COLUMNS }.unit();
    let end = end * scale;
    let power = 10.0_f64.powi((end / 5.0).log10().floor() as i32);
    let steps = [1.0, 2.0, 5.0, 10.0].map(|n| n * power);
    let step = steps.into_iter().find(|step| end / step <= 10.0).unwrap_or(end);
    for n in 0..=(end / step * (1.0 + 1e-9)) as u32 {
        let time = f64::from(n) * step;
        let x = LEFT + (time / end * COLUMNS as f64).round() as i32;
        let line = [(x, TOP), (x, bottom + 4)];
        picture.draw(&PathElement::new(line, TEXT.mix(0.15).stroke_width(1)))?;
        // Numbers have the digits of the step.
        let digits = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        write(picture, &format!("{time:.digits$}"), (x, bottom + 16), 14, HPos::Center)?;
    }
    let axis = [(LEFT, bottom), (RIGHT, bottom)];
    picture.draw(&PathElement::new(axis, TEXT.stroke_width(1)))?;
    let place = ((LEFT + RIGHT) / 2, bottom + 38);
    write(picture, &format!("time ({unit})"), place, 15, HPos::Center)
}

/// Draws one net: its name, its range of voltages, and its waveform.
fn lane(
    picture: &Area<'_>,
    trace: &Trace,
    floor: i32,
    (low, high): (f64, f64),
    color: RGBColor,
) -> Drawn<()> {
    let y = |volts: f64| floor - ((volts - low) / (high - low) * f64::from(USED)).round() as i32;
    for volts in [low, high] {
        let line = [(LEFT, y(volts)), (RIGHT, y(volts))];
        picture.draw(&PathElement::new(line, TEXT.mix(0.15).stroke_width(1)))?;
        write(picture, &format!("{volts:.1} V"), (LEFT - 6, y(volts)), 11, HPos::Right)?;
    }
    let name = shortened(&trace.name);
    write(picture, &name, (LEFT - 48, floor - USED / 2), 14, HPos::Right)?;
    let mut points: Vec<(i32, i32)> = Vec::new();
    for (n, column) in trace.columns.iter().enumerate() {
        let Some(column) = *column else { continue };
        let x = LEFT + n as i32;
        let beyond = column.beyond().map(|volts| (x, volts));
        for (x, volts) in once((x, column.first)).chain(beyond).chain([(x + 1, column.last)]) {
            let point = (x, y(volts));
            let is_straight = |[a, b]: [(i32, i32); 2]| a.1 == b.1 && b.1 == point.1;
            if points.last_chunk().copied().is_some_and(is_straight) {
                points.pop();
            }
            if points.last() != Some(&point) {
                points.push(point);
            }
        }
    }
    picture.draw(&PathElement::new(points, color.stroke_width(2)))
}

/// The range of all voltages, with 0 in it (V).
fn range(traces: &[Trace]) -> (f64, f64) {
    let columns = traces.iter().flat_map(|trace| trace.columns.iter().flatten());
    let (low, high) =
        columns.fold((0.0_f64, 0.0_f64), |(low, high), c| (low.min(c.low), high.max(c.high)));
    // Overshoot by less than a tenth does not move the line at 0.
    let low = if low > -0.1 * (high - low) { 0.0 } else { low };
    if high > low { (low, high) } else { (low, low + 1.0) }
}

/// A name, cut to what fits beside the lanes.
fn shortened(name: &str) -> String {
    const CHARACTERS_MAX: usize = 16;
    let count = name.chars().count();
    if count <= CHARACTERS_MAX {
        return name.to_owned();
    }
    // The end of a name tells more than its beginning.
    once('…').chain(name.chars().skip(count - CHARACTERS_MAX + 1)).collect()
}

fn write(picture: &Area<'_>, text: &str, place: (i32, i32), size: i32, at: HPos) -> Drawn<()> {
    let style: TextStyle<'_> = (FONT, size).into_font().color(&TEXT);
    picture.draw(&Text::new(text, place, style.pos(Pos::new(at, VPos::Center))))
}
