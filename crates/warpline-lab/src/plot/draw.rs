//! Draws a plot as SVG: axes with a grid, curves with markers and whiskers, a legend beside them.

use std::{io, sync::Once};

use plotters::{
    chart::ChartBuilder,
    coord::Shift,
    element::{Circle, DashedPathElement, PathElement, Polygon, Text},
    prelude::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea, SVGBackend},
    style::{
        Color, FontStyle, IntoFont, RGBColor, ShapeStyle, TextStyle, WHITE, register_font,
        text_anchor::{HPos, Pos, VPos},
    },
};
use warpline::picture::label;

use super::{Curve, Dot, Plot, ticks::Ruler};

/// The size of the picture, in SVG units.
const SIZE: (u32, u32) = (960, 540);
/// The part of it to the right that the legend takes.
const STAGEEND: u32 = 240;
/// Half the size of a marker.
const MARKER: i32 = 5;
/// The font of all texts: the viewer's own in the SVG, Noto Sans in the PNG.
const FONT: &str = "sans-serif";
const TEXT: RGBColor = RGBColor(40, 40, 40);
/// Colors that people with any kind of color blindness can tell apart (Okabe and Ito 2008).
const COLORS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn<T> = Result<T, DrawingAreaErrorKind<io::Error>>;
/// A place in the picture.
type Place = (i32, i32);

/// The plot as an SVG document.
pub(super) fn svg(plot: &Plot) -> Drawn<String> {
    // The library measures texts with this font, so that each gets the width it needs.
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        let registered = register_font(FONT, FontStyle::Normal, notosans::REGULAR_TTF);
        assert!(registered.is_ok(), "the embedded font cannot be read");
    });
    let mut svg = String::new();
    {
        let picture = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        picture.fill(&WHITE)?;
        for (n, places) in axes(plot, &picture)?.into_iter().enumerate() {
            curve(&picture, n, &plot.curves[n], &places)?;
        }
        legend(plot, &picture)?;
        picture.present()?;
    }
    Ok(svg)
}

/// The places of a point in the picture: its median, its least and its greatest sample.
#[derive(Clone, Copy, Debug)]
struct Whisker {
    dot: Place,
    low: Place,
    high: Place,
}

/// Draws title and axes, and returns the places of each curve's points.
fn axes(plot: &Plot, picture: &Area<'_>) -> Drawn<Vec<Vec<Whisker>>> {
    let dots = || plot.curves.iter().flat_map(|curve| &curve.dots);
    let x = Ruler::new(&plot.x, dots().map(|dot| dot.x));
    let y = Ruler::new(&plot.y, dots().flat_map(|dot| [dot.y, dot.high]));
    let (area, _) = picture.split_horizontally(SIZE.0 - STAGEEND);
    let mut chart = ChartBuilder::on(&area)
        .caption(&plot.title, text(18))
        .margin(12)
        .x_label_area_size(52)
        .y_label_area_size(72)
        .build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .x_desc(plot.x.label.as_str())
        .y_desc(plot.y.label.as_str())
        .x_label_formatter(&|&number| label(number))
        .y_label_formatter(&|&number| label(number))
        .label_style(text(14))
        .axis_desc_style(text(15))
        .bold_line_style(TEXT.mix(0.15))
        .light_line_style(TEXT.mix(0.0))
        .axis_style(TEXT)
        .draw()?;
    let place = |x: f64, y: f64| chart.backend_coord(&(x, y));
    let places = |curve: &Curve| {
        let dots = curve.dots.iter();
        dots.map(|dot| Whisker {
            dot: place(dot.x, dot.y),
            low: place(dot.x, dot.low),
            high: place(dot.x, dot.high),
        })
        .collect()
    };
    Ok(plot.curves.iter().map(places).collect())
}

/// Draws the line, the whiskers and the markers of curve `n`.
fn curve(picture: &Area<'_>, n: usize, curve: &Curve, whiskers: &[Whisker]) -> Drawn<()> {
    line(picture, n, curve, whiskers.iter().map(|whisker| whisker.dot).collect())?;
    if curve.baseline_of.is_some() {
        return Ok(());
    }
    for (&Whisker { dot, low, high }, Dot { hollow, .. }) in whiskers.iter().zip(&curve.dots) {
        // Beside the whiskers of other curves, and still within the width of the marker.
        let beside = |(x, y): Place| (x + 2 * (n % 5) as i32 - MARKER + 1, y);
        picture.draw(&PathElement::new([beside(low), beside(high)], color(n).stroke_width(1)))?;
        marker(picture, n, dot, *hollow)?;
    }
    Ok(())
}

/// Draws the names of the curves, below each other, and what hollow markers mean.
fn legend(plot: &Plot, picture: &Area<'_>) -> Drawn<()> {
    let left = (SIZE.0 - STAGEEND) as i32 + 8;
    let style = text(14).pos(Pos::new(HPos::Left, VPos::Center));
    let mut y = 60;
    for (n, curve) in plot.curves.iter().enumerate() {
        line(picture, n, curve, vec![(left, y), (left + 34, y)])?;
        if curve.baseline_of.is_none() {
            marker(picture, n, (left + 17, y), false)?;
        }
        picture.draw(&Text::new(curve.name.as_str(), (left + 42, y), style.clone()))?;
        y += 24;
    }
    let mut notes = vec!["lines: medians", "bars: least to greatest"];
    if plot.curves.iter().flat_map(|curve| &curve.dots).any(|dot| dot.hollow) {
        notes.extend(["hollow: more workers", "than cores"]);
    }
    for note in notes {
        y += 20;
        picture.draw(&Text::new(note, (left, y), text(13).pos(style.pos)))?;
    }
    Ok(())
}

/// Draws a line in the style of curve `n`.
fn line(picture: &Area<'_>, n: usize, curve: &Curve, places: Vec<Place>) -> Drawn<()> {
    match curve.baseline_of {
        Some(other) => {
            let style = color(other).stroke_width(2);
            picture.draw(&DashedPathElement::new(places, 6, 4, style))
        }
        None => picture.draw(&PathElement::new(places, color(n).stroke_width(2))),
    }
}

/// Draws the marker of curve `n`: every curve has a shape and a color.
fn marker(picture: &Area<'_>, n: usize, (x, y): Place, hollow: bool) -> Drawn<()> {
    const M: i32 = MARKER;
    let corners: Vec<Place> = match n % 4 {
        0 => {
            let circle = |style: ShapeStyle| Circle::new((x, y), M, style);
            picture.draw(&circle(if hollow { WHITE.filled() } else { color(n).filled() }))?;
            return picture.draw(&circle(color(n).stroke_width(2)));
        }
        1 => vec![(x - M, y - M), (x + M, y - M), (x + M, y + M), (x - M, y + M)],
        2 => vec![(x, y - M - 1), (x + M + 1, y + M), (x - M - 1, y + M)],
        _ => vec![(x, y - M - 2), (x + M + 2, y), (x, y + M + 2), (x - M - 2, y)],
    };
    let inside = if hollow { WHITE } else { color(n) };
    picture.draw(&Polygon::new(corners.clone(), inside.filled()))?;
    let outline = corners.iter().chain(&corners[..1]).copied().collect::<Vec<_>>();
    picture.draw(&PathElement::new(outline, color(n).stroke_width(2)))
}

fn color(n: usize) -> RGBColor {
    COLORS[n % COLORS.len()]
}

fn text(size: i32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&TEXT)
}
