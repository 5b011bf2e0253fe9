//! The bits of a stream, and the draws that are made of them directly.

mod continuous;
mod discrete;
mod known;
mod laws;
mod tables;

use super::*;
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

fn stream() -> Stream {
    Stream::for_lp(42, LpId::new(7))
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
