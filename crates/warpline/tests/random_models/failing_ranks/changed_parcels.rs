//! Parcels that are changed in transit end all ranks with an error, and none panics or hangs.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

/// A rank whose parcels are changed in transit.
#[derive(Debug)]
struct Garbled {
    /// The number of the parcel, among those of the engine that it sends or receives, and the
    /// change.
    nth: u64,
    what: Garbling,
    sent: AtomicU64,
    received: AtomicU64,
}

impl Garbled {
    fn new(nth: u64, what: Garbling) -> Self {
        Self { nth, what, sent: AtomicU64::new(0), received: AtomicU64::new(0) }
    }
}

#[derive(Clone, Copy, Debug)]
enum Garbling {
    /// This many bytes are missing, but not a whole remote event, which no check could notice.
    Cut(usize),
    /// A bit is inverted, but not in the counts of GVT rounds, for the same reason.
    Flip(usize, u8),
    Twice,
    Kind(u16),
    /// This many bytes of the parcel itself are missing when it arrives.
    Short(usize),
    Nothing,
}

impl Interceptor for Garbled {
    fn send(&self, inner: &ThreadTransport, to: Address, parcel: Parcel) -> Result<(), NetError> {
        let bytes = parcel.seal();
        let opened = Parcel::open(&bytes).expect("whole");
        let (mut kind, mut body) = (opened.kind, opened.body.to_vec());
        // Ordering: Relaxed; a count.
        let is_engines = kind >= EVENTS && to.port < inner.ports() - 1;
        if is_engines && self.sent.fetch_add(1, Ordering::Relaxed) == self.nth {
            match self.what {
                Garbling::Cut(missing) => body.truncate(body.len().saturating_sub(missing)),
                Garbling::Flip(at, bit) => {
                    let at = if kind == EVENTS { at } else { at % 8 };
                    let bit = if (kind, at) == (EVENTS, 0) { 2 + bit % 6 } else { bit };
                    body.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << bit);
                }
                Garbling::Twice => {
                    inner.send(to, Parcel::with_body(kind, opened.port, &body))?;
                }
                Garbling::Kind(other) => kind = other,
                Garbling::Short(_) | Garbling::Nothing => {}
            }
        }
        inner.send(to, Parcel::with_body(kind, opened.port, &body))
    }

    fn receive(&self, inner: &ThreadTransport, port: usize) -> Result<Option<Received>, NetError> {
        let mut received = inner.receive(port)?;
        if let (Garbling::Short(missing), Some(Received { bytes, .. })) = (self.what, &mut received)
            && port < inner.ports() - 1
            // Ordering: Relaxed; a count.
            && self.received.fetch_add(1, Ordering::Relaxed) == self.nth
        {
            bytes.truncate(bytes.len().saturating_sub(missing));
        }
        Ok(received)
    }
}

fn garbling() -> impl Strategy<Value = Garbling> {
    prop_oneof![
        3 => (1..37_usize).prop_map(Garbling::Cut),
        6 => (0..37_usize, 0..8_u8).prop_map(|(at, bit)| Garbling::Flip(at, bit)),
        1 => Just(Garbling::Twice),
        1 => (16..24_u16).prop_map(Garbling::Kind),
        1 => Just(Garbling::Nothing),
    ]
}

/// CONS-D: a parcel of windows that arrives twice is an error, because it is not of the next round.
/// The second one may be looked at while its events are still those of the round: then they are
/// refused.
#[test]
fn a_doubled_parcel_of_windows_is_an_error() {
    let ends = network(2, 2).into_iter().enumerate().map(|(rank, inner)| {
        let what = if rank == 1 { Garbling::Twice } else { Garbling::Nothing };
        Between { inner, who: Garbled::new(3, what) }
    });
    let algorithm = Algorithm::Conservative(SynchronizationKind::Windows);
    let all = (0..2).map(|_| simulation(algorithm, &spec(None), 1, 20.0)).collect();
    let outcomes = rankwise::run_on(ends.collect(), all);
    let text = format!("{outcomes:?}");
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Some(Err(_)))), "{text}");
    assert!(text.contains("CONS-D") || text.contains("not due here"), "{text}");
}

/// A network that flips a bit, of a parcel of the engine or of the ranks themselves, while all goes
/// well or while a rank fails: all ranks end, and none with another result.
#[test]
fn a_flipped_bit_ends_all_ranks() {
    let expected = sequential(spec(None), 20.0).run().expect("sound");
    let failing = || spec(Some((Where::Event(1, 30), Mistake::Fail)));
    let cases = ALGORITHMS.into_iter().flat_map(|algorithm| {
        (0..2).flat_map(move |port| (0..16).map(move |after| (algorithm, port, after)))
    });
    for ((algorithm, port, after), fails) in cases.flat_map(|case| [(case, false), (case, true)]) {
        let ends = network(2, 2).into_iter().enumerate().map(|(rank, inner)| {
            let end = Faulty::new(inner, after);
            if rank == 1 { end.flipping(Flip { port, after, bit: 389 * after }) } else { end }
        });
        let spec = || if fails { failing() } else { spec(None) };
        let all = (0..2).map(|_| simulation(algorithm, &spec(), 1, 20.0)).collect();
        let outcomes = rankwise::run_on(ends.collect(), all);
        let text = format!("{algorithm:?}, port {port}, parcel {after}: {outcomes:?}");
        match &outcomes[..] {
            // The run was over before the parcel came. It may have been the last one of all: then
            // its receiver fails alone.
            [Some(Ok(Some(report))), Some(Ok(None) | Err(RunError::Net(_)))] if !fails => {
                assert_eq!(report.digest, expected.digest, "{text}");
            }
            [Some(Err(_)), Some(Err(_))] => {
                let seen = ["Malformed", "cannot be read"].iter().any(|said| text.contains(said));
                assert!(fails || seen, "{text}");
            }
            _ => panic!("{text}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Whatever is changed, all ranks end and none panics. If no error reports the change, it was
    /// in the message of the model.
    #[test]
    fn changed_parcels_of_time_warp_end_all_ranks(
        what in garbling(),
        nth in 0..60_u64,
        culprit in 0..2_usize,
    ) {
        let ends = network(2, 2).into_iter().enumerate().map(|(rank, inner)| {
            let what = if rank == culprit { what } else { Garbling::Nothing };
            Between { inner, who: Garbled::new(nth, what) }
        });
        let all = (0..2).map(|_| {
            simulation(Algorithm::TimeWarp, &spec(None), 1, 20.0).engine(time_warp(1))
        });
        let outcomes = rankwise::run_on(ends.collect(), all.collect());
        let [Some(first), Some(second)] = &outcomes[..] else {
            return Err(TestCaseError::fail(format!("a rank has panicked: {outcomes:?}")));
        };
        prop_assert_eq!(first.is_ok(), second.is_ok(), "{:?} and {:?}", first, second);
        if matches!(what, Garbling::Nothing) {
            prop_assert!(first.is_ok(), "{:?}", first);
        }
    }

    /// CONS-E: a parcel that is too short, or of another kind, is an error on all ranks, unless it
    /// arrived when the run was over.
    #[test]
    fn changed_parcels_of_the_conservative_engine_end_all_ranks(
        what in prop_oneof![
            (1..60_usize).prop_map(Garbling::Short),
            (17..40_u16).prop_map(Garbling::Kind),
        ],
        nth in 0..60_u64,
        culprit in 0..2_usize,
        algorithm in proptest::sample::select(&ALGORITHMS[1..]),
    ) {
        let expected = sequential(spec(None), 20.0).run().expect("sound");
        let ends = network(2, 2).into_iter().enumerate().map(|(rank, inner)| {
            let what = if rank == culprit { what } else { Garbling::Nothing };
            Between { inner, who: Garbled::new(nth, what) }
        });
        let all = (0..2).map(|_| simulation(algorithm, &spec(None), 1, 20.0)).collect();
        let outcomes = rankwise::run_on(ends.collect(), all);
        match &outcomes[..] {
            [Some(Ok(Some(report))), Some(Ok(None))] => {
                prop_assert_eq!(report.digest, expected.digest);
            }
            outcomes => for outcome in outcomes {
                let error = matches!(outcome, Some(Err(RunError::Net(_) | RunError::Rank { .. })));
                prop_assert!(error, "{:?}", outcomes);
            }
        }
    }
}
