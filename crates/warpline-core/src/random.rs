//! Random numbers: each LP has a stream, which is saved and rolled back with it.
//!
//! The generator is the 128-bit multiplicative one of PCG: it has 16 bytes of state, so saving it
//! costs little. It draws what `Pcg64Mcg` of the `rand` family draws, which has no draws through a
//! shared reference. The distributions here use only integer and IEEE arithmetic and the `libm`
//! crate, so a seed gives the same numbers on every platform. Any other distribution of the `rand`
//! family works on a [`Stream`] too.

use std::{cell::Cell, convert::Infallible, fmt};

use rand_core::{TryRng, utils::fill_bytes_via_next_word};

use crate::{LpId, mix::mix};

/// What each draw multiplies the state by (M. E. O'Neill, *PCG: A Family of Simple Fast
/// Space-Efficient Statistically Good Algorithms for Random Number Generation*, 2014).
const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;

/// The stream of random numbers of one LP.
///
/// All draws take `&self`, so that one can stand in the call that uses it:
/// `cx.send(cx.rng().lp(lps), cx.rng().exponential(1.0), message)`. To the traits of the `rand`
/// family both a `Stream` and a `&Stream` are generators: `law.sample(&mut cx.rng())`.
#[derive(Clone, PartialEq, Eq)]
pub struct Stream(Cell<u128>);

impl Stream {
    /// The stream of LP `lp` in a run with seed `seed`.
    #[must_use]
    pub fn for_lp(seed: u64, lp: LpId) -> Self {
        let low = mix(seed, u64::from(lp.get()));
        let high = mix(low, seed.rotate_left(32) ^ u64::from(lp.get()));
        Self::from_words([low, high])
    }

    /// The seed of replication number `replication` of a run with seed `seed`.
    ///
    /// Replication 0 is the run itself.
    #[must_use]
    pub fn replication_seed(seed: u64, replication: u64) -> u64 {
        if replication == 0 { seed } else { mix(seed, mix(replication, replication)) }
    }

    /// The stream that [`words`](Self::words) was called on. Handlers in another language draw by
    /// themselves.
    ///
    /// Each draw multiplies the 128-bit state by 0x2360ed051fc65da44385df649fccf645, modulo
    /// 2<sup>128</sup>; its bits are then the exclusive or of the two halves, rotated to the right
    /// by the state's highest 6 bits (PCG, XSL-RR).
    #[inline]
    #[must_use]
    pub fn from_words([low, high]: [u64; 2]) -> Self {
        // The state is always odd.
        Self(Cell::new(u128::from(high) << 64 | u128::from(low) | 1))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&self) -> u64 {
        let state = self.0.get().wrapping_mul(MULTIPLIER);
        self.0.set(state);
        let folded = (state >> 64) as u64 ^ state as u64;
        folded.rotate_right((state >> 122) as u32)
    }

    /// Uniform in `0.0 <= x < 1.0`, a multiple of 2<sup>-53</sup>.
    #[inline]
    pub fn uniform(&self) -> f64 {
        to_unit(self.bits())
    }

    /// Uniform in `low <= x < high`; `low` if the two are equal.
    #[inline]
    pub fn uniform_in(&self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Uniform among the integers `0 <= n < bound`, and 0 for a bound of 0.
    ///
    /// It takes one multiplication and no rejection; the probability of each integer is right up to
    /// 2<sup>-64</sup>.
    #[inline]
    pub fn below(&self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// An LP: each of LP 0 to LP `lps - 1` with the same probability; LP 0 if `lps` is 0.
    ///
    /// It is the receiver of a message that may go to any LP of the model: `cx.rng().lp(lps)`. It
    /// draws what [`below`](Self::below) draws with the same bound.
    ///
    /// # Panics
    ///
    /// If the number of the LP does not fit into 32 bits; no engine holds that many LPs.
    #[inline]
    pub fn lp(&self, lps: usize) -> LpId {
        LpId::from_index(self.below(lps as u64) as usize)
    }

    /// True with probability `p`; never for 0, always for 1.
    #[inline]
    pub fn chance(&self, p: f64) -> bool {
        self.uniform() < p
    }

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

    /// The state of the generator, for a digest.
    #[inline]
    #[must_use]
    pub fn words(&self) -> [u64; 2] {
        let state = self.0.get();
        [state as u64, (state >> 64) as u64]
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({:#x})", self.0.get())
    }
}

impl TryRng for &Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.bits() as u32)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.bits())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        fill_bytes_via_next_word(bytes, || self.try_next_u64())
    }
}

impl TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        (&*self).try_next_u32()
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        (&*self).try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        (&*self).try_fill_bytes(bytes)
    }
}

/// The high 53 bits as a number in `0.0 <= x < 1.0`.
#[inline]
fn to_unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

const LAYERS: usize = 256;
/// The abscissa where the tail begins, for 256 layers of equal area (Marsaglia and Tsang 2000,
/// section 2).
const R: f64 = 7.697_117_470_131_05;

/// Layer `i` spans `0..x[i]` in abscissa and `f[i]..f[i + 1]` in density; `x[0]` is the width of a
/// rectangle with the area of the base layer, tail included.
struct Ziggurat {
    x: [f64; LAYERS + 1],
    f: [f64; LAYERS + 1],
}

static ZIGGURAT: Ziggurat = ziggurat();

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

/// e^-x for 0 <= x < 16, by its series for x / 1024 and ten squarings.
const fn exp_of_minus(x: f64) -> f64 {
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
const fn minus_ln(y: f64) -> f64 {
    let mut x = 0.0;
    let mut iterations = 0;
    while iterations < 40 {
        x += 1.0 - y / exp_of_minus(x);
        iterations += 1;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::Rng;
    use rand_pcg::Pcg64Mcg;
    use statrs::distribution::{ContinuousCDF, Exp};

    fn stream() -> Stream {
        Stream::for_lp(42, LpId::new(7))
    }

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
        let rng = stream();
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

    #[test]
    fn below_covers_its_range_evenly() {
        let rng = stream();
        let mut seen = [0_u32; 7];
        for _ in 0..70_000 {
            seen[rng.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (9_600..10_400).contains(&n)), "{seen:?}");
        assert_eq!(rng.below(0), 0);
    }

    /// An LP is drawn from the bits that `below` takes, so a model may use either.
    #[test]
    fn lp_draws_what_below_draws() {
        let (lps, numbers) = (stream(), stream());
        let mut seen = [0_u32; 5];
        for _ in 0..50_000 {
            let lp = lps.lp(5);
            assert_eq!(u64::from(lp.get()), numbers.below(5));
            seen[lp.index()] += 1;
        }
        assert_eq!(lps, numbers, "both are at the same place of the stream");
        assert!(seen.iter().all(|&n| (9_600..10_400).contains(&n)), "{seen:?}");
        assert_eq!(lps.lp(1), LpId::new(0));
        assert_eq!(lps.lp(0), LpId::new(0));
        assert!(lps.lp(1 << 32) < LpId::new(u32::MAX));
    }

    #[test]
    #[should_panic = "the number of an LP fits into 32 bits"]
    fn lp_refuses_more_lps_than_any_engine_holds() {
        stream().lp(usize::MAX);
    }

    /// A stream goes on where its words were taken, and draws what the generator of `rand` draws.
    #[test]
    fn a_stream_is_its_words() {
        let rng = stream();
        let [low, high] = rng.words();
        let mut peer = Pcg64Mcg::new(u128::from(high) << 64 | u128::from(low));
        let x = Stream::exponential_abscissas();
        for _ in 0..10_000 {
            let copy = Stream::from_words(rng.words());
            assert_eq!(copy, rng);
            let drawn = rng.exponential(1.0);
            let bits = copy.bits();
            assert_eq!(peer.next_u64(), bits);
            assert_eq!(u128::from(copy.words()[1]), peer.state() >> 64);
            let layer = (bits & 0xff) as usize;
            let inside = to_unit(bits) * x[layer];
            let same =
                if inside < x[layer + 1] { inside } else { copy.exponential_edge(layer, inside) };
            assert_eq!((same.to_bits(), &copy), (drawn.to_bits(), &rng));
            let [low, high] = rng.words();
            peer = Pcg64Mcg::new(u128::from(high) << 64 | u128::from(low));
        }
    }

    /// All ways to draw as a generator of `rand` are those of the peer.
    #[test]
    fn a_stream_is_a_generator_of_rand() {
        let mut rng = stream();
        let [low, high] = rng.words();
        let mut peer = Pcg64Mcg::new(u128::from(high) << 64 | u128::from(low));
        let (mut bytes, mut expected) = ([0; 13], [0; 13]);
        for _ in 0..100 {
            assert_eq!((&rng).next_u32(), peer.next_u32());
            assert_eq!(rng.next_u64(), peer.next_u64());
            (&rng).fill_bytes(&mut bytes);
            peer.fill_bytes(&mut expected);
            assert_eq!(bytes, expected);
        }
        assert_eq!(u128::from(rng.words()[0]), peer.state() & u128::from(u64::MAX));
    }

    #[test]
    fn chance_keeps_its_ends() {
        let rng = stream();
        assert!((0..1000).all(|_| !rng.chance(0.0) && rng.chance(1.0)));
    }

    /// Known values: a seed means the same numbers on every platform and in every version.
    #[test]
    fn known_values() {
        let rng = stream();
        let bits = rng.bits();
        let exponential = [(); 3].map(|()| rng.exponential(1.0).to_bits());
        assert_eq!(bits, 7_335_766_481_991_427_072);
        assert_eq!(
            exponential,
            [4_615_851_068_710_651_457, 4_608_756_857_086_232_042, 4_605_374_910_313_470_724]
        );
    }
}
