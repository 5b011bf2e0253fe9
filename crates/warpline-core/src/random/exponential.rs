//! The exponential distribution.

use super::{
    Stream, to_unit,
    ziggurat::{LAYERS, Ziggurat, exp_of_minus, minus_ln},
};

/// The abscissa where the tail begins, for 256 layers of equal area (Marsaglia and Tsang 2000,
/// section 2).
const R: f64 = 7.697_117_470_131_05;

static ZIGGURAT: Ziggurat = ziggurat();

impl Stream {
    /// Exponential with mean `mean`.
    ///
    /// # References
    ///
    /// Marsaglia and Tsang, *The Ziggurat Method for Generating Random Variables*, Journal of
    /// Statistical Software 5(8), 2000; with 256 layers, and with the layer and the abscissa from
    /// different bits.
    #[inline]
    pub fn exponential(&self, mean: f64) -> f64 {
        let bits = self.bits();
        let layer = (bits & 0xff) as usize;
        let x = to_unit(bits) * ZIGGURAT.x[layer];
        // In 98.9 % of the draws the point lies inside the layer's rectangle.
        if x < ZIGGURAT.x[layer + 1] { x * mean } else { self.exponential_edge(layer, x) * mean }
    }

    /// The abscissas of the 256 layers that [`exponential`](Self::exponential) draws from. With the
    /// lowest 8 bits of a draw as the `layer`, and its [`uniform`](Self::uniform) number times
    /// `abscissas[layer]` as `x`, the result is `x` if that is below `abscissas[layer + 1]`, and
    /// [`exponential_edge`](Self::exponential_edge) otherwise, times the mean.
    #[must_use]
    pub fn exponential_abscissas() -> &'static [f64; LAYERS + 1] {
        &ZIGGURAT.x
    }

    /// Accepts or rejects a draw near the edge of its layer, and draws again after a rejection: the
    /// rest of [`exponential`](Self::exponential), with mean 1.
    ///
    /// # Panics
    ///
    /// If `layer` is above 255.
    #[cold]
    pub fn exponential_edge(&self, mut layer: usize, mut x: f64) -> f64 {
        loop {
            if layer == 0 {
                // The tail beyond R is an exponential distribution too. 1 - u is never zero.
                return R - libm::log(1.0 - self.uniform());
            }
            let (top, bottom) = (ZIGGURAT.f[layer + 1], ZIGGURAT.f[layer]);
            if bottom + (top - bottom) * self.uniform() < libm::exp(-x) {
                return x;
            }
            let bits = self.bits();
            layer = (bits & 0xff) as usize;
            x = to_unit(bits) * ZIGGURAT.x[layer];
            if x < ZIGGURAT.x[layer + 1] {
                return x;
            }
        }
    }
}

/// Computes the tables at compile time, with the same arithmetic on every platform.
const fn ziggurat() -> Ziggurat {
    let mut tables = Ziggurat { x: [0.0; LAYERS + 1], f: [1.0; LAYERS + 1] };
    let area = (R + 1.0) * exp_of_minus(R);
    tables.x[0] = area / exp_of_minus(R);
    tables.f[0] = exp_of_minus(tables.x[0]);
    tables.x[1] = R;
    tables.f[1] = exp_of_minus(R);
    let mut layer = 2;
    while layer < LAYERS {
        let density = area / tables.x[layer - 1] + tables.f[layer - 1];
        tables.x[layer] = minus_ln(density);
        tables.f[layer] = density;
        layer += 1;
    }
    tables
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{ContinuousCDF, Exp};

    use super::*;
    use crate::LpId;

    /// The layers tile the density: equal areas, and the last one ends at x = 0, f = 1.
    #[test]
    fn ziggurat_layers_have_equal_areas() {
        let Ziggurat { x, f } = &ZIGGURAT;
        let base = R * libm::exp(-R) + libm::exp(-R);
        for layer in 1..LAYERS {
            let area = x[layer] * (f[layer + 1] - f[layer]);
            assert!((area / base - 1.0).abs() < 1e-9, "layer {layer}: {area} and not {base}");
            assert!((f[layer] / libm::exp(-x[layer]) - 1.0).abs() < 1e-12, "layer {layer}");
        }
    }

    /// Kolmogorov-Smirnov over 200 000 draws; the threshold is passed by chance once in 10^5 seeds.
    #[test]
    fn exponential_has_its_distribution() {
        const N: usize = 200_000;
        let rng = Stream::for_lp(42, LpId::new(7));
        let mut draws: Vec<f64> = (0..N).map(|_| rng.exponential(2.0)).collect();
        draws.sort_by(f64::total_cmp);
        let law = Exp::new(0.5).expect("a rate of one half");
        let distance = draws
            .iter()
            .enumerate()
            .map(|(i, &x)| (law.cdf(x) - (i as f64 + 0.5) / N as f64).abs())
            .fold(0.0, f64::max);
        assert!(distance < 2.47 / (N as f64).sqrt(), "distance {distance}");
        assert!(draws[N - 1] > 2.0 * R, "the tail was never drawn");
    }
}
