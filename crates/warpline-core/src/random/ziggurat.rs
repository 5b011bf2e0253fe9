//! The tables of a ziggurat, and the arithmetic that makes them at compile time.

pub(super) const LAYERS: usize = 256;

/// Layer `i` spans `0..x[i]` in abscissa and `f[i]..f[i + 1]` in density; `x[0]` is the width of a
/// rectangle with the area of the base layer, tail included.
pub(super) struct Ziggurat {
    pub(super) x: [f64; LAYERS + 1],
    pub(super) f: [f64; LAYERS + 1],
}

/// e^-x for 0 <= x < 16, by its series for x / 1024 and ten squarings.
pub(super) const fn exp_of_minus(x: f64) -> f64 {
    let small = x / 1024.0;
    let (mut sum, mut term, mut n) = (1.0, 1.0, 1.0);
    while n < 12.0 {
        term *= small / n;
        sum += term;
        n += 1.0;
    }
    let mut squarings = 0;
    while squarings < 10 {
        sum *= sum;
        squarings += 1;
    }
    1.0 / sum
}

/// -ln y for 0 < y <= 1, by Newton's iteration on `exp_of_minus`.
pub(super) const fn minus_ln(y: f64) -> f64 {
    let mut x = 0.0;
    let mut iterations = 0;
    while iterations < 40 {
        x += 1.0 - y / exp_of_minus(x);
        iterations += 1;
    }
    x
}

/// The square root of x > 0, by Newton's iteration.
pub(super) const fn square_root(x: f64) -> f64 {
    let mut root = if x > 1.0 { x } else { 1.0 };
    let mut iterations = 0;
    while iterations < 40 {
        root = 0.5 * (root + x / root);
        iterations += 1;
    }
    root
}
