//! What the examples share: formulas, and pictures as text.

#![allow(clippy::print_stdout, reason = "an example prints its result")]
#![allow(dead_code, reason = "each example uses a part")]

use warpline::{
    Figure, Results,
    picture::{Picture, Shape},
};

/// A figure by its name.
pub(crate) fn figure(results: &impl Results, name: &str) -> f64 {
    let figures = results.figures();
    let found = figures.iter().find(|figure| figure.name == name);
    found.unwrap_or_else(|| panic!("no figure {name}")).value
}

/// Prints all figures, and all pictures.
pub(crate) fn print(results: &impl Results) {
    for Figure { name, value, unit, meaning, .. } in results.figures() {
        println!("{name:<26} {value:>10.4} {unit:<12} {meaning}");
    }
    results.pictures().iter().for_each(draw);
}

/// Prints what a run has beside what theory says.
pub(crate) fn compare(what: &str, run: f64, theory: f64) {
    println!("{what}: {run:.4}, and by theory {theory:.4}");
}

/// Draws a picture with bars of text.
fn draw(picture: &Picture) {
    const WIDTH: f64 = 50.0;
    let (labels, values): (Vec<String>, &[f64]) = match &picture.shape {
        Shape::Bars { labels, values, .. } => (labels.clone(), values),
        Shape::Steps { start, width, values, .. } => {
            let at = |step: usize| format!("{:.0}", start + width * step as f64);
            ((0..values.len()).map(at).collect(), values)
        }
        _ => return,
    };
    match &*picture.unit {
        "" => println!("\n{}", picture.title),
        unit => println!("\n{} ({unit})", picture.title),
    }
    let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    for (label, value) in labels.iter().zip(values) {
        let bar = "#".repeat((WIDTH * value / most).round() as usize);
        println!("{label:>14} {bar} {value:.4}");
    }
}

/// Erlang's second formula: the probability that somebody who comes to `servers` has to wait, at an
/// offered load below their number.
pub(crate) fn erlang_c(servers: u32, load: f64) -> f64 {
    let c = f64::from(servers);
    // The first formula, by its recurrence.
    let lost = (1..=servers).fold(1.0, |lost, n| load * lost / (f64::from(n) + load * lost));
    c * lost / (c - load * (1.0 - lost))
}

/// The mean time in the queue of an M/M/c.
pub(crate) fn wait_in_mmc(servers: u32, interarrival: f64, service: f64) -> f64 {
    let load = service / interarrival;
    erlang_c(servers, load) * service / (f64::from(servers) - load)
}

/// Customers per unit of time that go through a closed network of like stations, with a constant
/// delay on the way: mean value analysis.
pub(crate) fn throughput_of_closed(
    stations: usize,
    customers: usize,
    service: f64,
    way: f64,
) -> f64 {
    let stations = stations as f64;
    let (mut queue, mut throughput) = (0.0, 0.0);
    for there in 1..=customers {
        let visit = service * (1.0 + queue);
        throughput = there as f64 / (visit + way);
        queue = throughput / stations * visit;
    }
    throughput
}
