//! PHOLD: its rate against theory, the receivers of its events, and its errors for broken payloads.

mod common;
mod typed;

use std::{collections::BTreeSet, ops::ControlFlow};

use common::Sends;
use typed::{replicate, simulation, typed};
use warpline::{
    LogicalProcess, Model, Report, ReverseCheck,
    replication::{Estimate, Replications},
};
use warpline_models::phold::{Node, Phold, PholdOutput, PholdParams};

fn phold(change: impl FnOnce(&mut PholdParams)) -> PholdParams {
    let mut params = PholdParams { lps: 64, population: 256, ..PholdParams::default() };
    change(&mut params);
    params
}

fn run(params: PholdParams, end: f64) -> Report<PholdOutput> {
    typed(simulation(params).end(end).run().expect("PHOLD makes no mistake"))
}

/// Each of the events is a renewal process with mean `lookahead + mean` between its steps, so the
/// rate is known: `population / (lookahead + mean)`, after the first step.
#[test]
fn rate_is_that_of_a_renewal_process() {
    let params = phold(|params| (params.mean, params.lookahead) = (0.75, 0.25));
    let end = 500.0;
    let runs: Replications<PholdOutput> = replicate(params, 1, 0.0..end, 10);
    let rates = runs.reports.iter().map(|report| report.committed_events as f64 / end);
    let rate = Estimate::of(rates);
    // Renewal theory: m(t) = t/mu + (sigma^2 - mu^2) / (2 mu^2), with sigma = 0.75 and mu = 1.
    let theory = 256.0 * (1.0 + (0.75 * 0.75 - 1.0) / 2.0 / end);
    assert!(rate.covers(theory), "{rate:?} and not {theory}");
    assert!(rate.half_width < 0.01 * theory, "{rate:?}");
}

#[test]
fn remote_events_are_as_many_as_asked_for() {
    for remote in [0.0, 0.1, 0.5, 1.0] {
        let output = run(phold(|params| params.remote = remote), 200.0).output;
        let fraction = output.remote as f64 / output.handled as f64;
        // Four standard deviations of a binomial.
        let slack = 4.0 * (remote * (1.0 - remote) / output.handled as f64).sqrt();
        assert!((fraction - remote).abs() <= slack, "{fraction} and not {remote}");
    }
}

/// An LP sends to all of the next `neighborhood` blocks, and to no other block.
///
/// Method: handle the initial event of an LP by hand, often, and note the receivers.
#[test]
fn neighborhoods_are_the_next_blocks() {
    for (blocks, neighborhood) in [(4, 1), (8, 1), (8, 2), (8, 4), (7, 3)] {
        let params = phold(|params| (params.blocks, params.neighborhood) = (blocks, neighborhood));
        let model = Phold::<64>::new(params).expect("valid parameters");
        for me in [0, 1, 17, 63] {
            let mut cx = Sends::new(&model, me);
            let mut node = model.make_lp(cx.me);
            node.start(&model, &mut cx);
            let (_, _, initial) = cx.sent.swap_remove(0);
            let mut seen = BTreeSet::new();
            for _ in 0..400 {
                node.handle(&model, &initial, cx.at(1.0));
                let block = |lp: usize| lp * blocks / 64;
                seen.insert((block(cx.only().0) + blocks - block(me)) % blocks);
            }
            assert!(seen.iter().copied().eq(1..=neighborhood), "{blocks} {neighborhood}: {seen:?}");
        }
    }
    let refused = |blocks, neighborhood| {
        let params = PholdParams { blocks, neighborhood, ..PholdParams::default() };
        Phold::<0>::new(params).expect_err("refused").key
    };
    assert_eq!(refused(8, 8), "neighborhood");
    assert_eq!(refused(300, 2), "neighborhood");
}

/// The digest depends on the payload of the events, and results do not.
#[test]
fn payloads_travel_and_are_part_of_the_digest() {
    let report = |payload| run(phold(|params| params.payload = payload), 20.0);
    assert_eq!(report(0).output, report(64).output);
    assert_ne!(report(0).digest, report(64).digest);
    assert!(Phold::<64>::new(PholdParams { payload: 65, ..PholdParams::default() }).is_err());
}

/// Slow handlers must not keep a run from being observed: each event takes about twelve times as
/// long as the interval between two looks at the clock.
#[test]
fn slow_events_can_be_interrupted() {
    let params = phold(|params| params.grain = 12_000_000);
    let stop_at_once = |_: &warpline::Progress| ControlFlow::Break(());
    let report = simulation(params).end(1e9).observe(stop_at_once).run().expect("sound");
    assert!(report.interrupted);
    assert!(report.committed_events < 50, "{} events", report.committed_events);
}

/// The reverse handler restores every LP, with and without a draw for the receiver.
#[test]
fn events_are_reversible() {
    for (remote, neighborhood) in [(1.0, 0), (0.5, 2), (0.0, 0)] {
        let params = phold(|params| {
            (params.remote, params.neighborhood, params.payload) = (remote, neighborhood, 9)
        });
        let mut simulation = simulation(params).end(20.0);
        let plain: Report<PholdOutput> = typed(simulation.run().expect("sound"));
        let checked = simulation.engine(ReverseCheck).run().expect("reversible");
        let checked: Report<PholdOutput> = typed(checked);
        assert_eq!((checked.digest, checked.output), (plain.digest, plain.output));
    }
}

/// The identity of a message depends on the byte it is filled with, and on how much of it is
/// filled.
#[test]
fn messages_have_an_identity() {
    fn identity(payload: usize, me: usize) -> Option<u64> {
        // Not a multiple of 8, so that the last bytes are not a whole word.
        let params = PholdParams { lps: 64, population: 256, payload, ..PholdParams::default() };
        let model = Phold::<60>::new(params).expect("valid parameters");
        let mut cx = Sends::new(&model, me);
        model.make_lp(cx.me).start(&model, &mut cx);
        let mut identities = cx.sent.iter().map(|(.., message)| Node::identity(&model, message));
        let first = identities.next().expect("it sends");
        assert!(identities.all(|identity| identity == first), "equal messages");
        first
    }
    assert!(identity(9, 1).is_some());
    let all = [identity(9, 1), identity(9, 2), identity(8, 1), identity(59, 1), identity(60, 1)];
    assert_eq!(BTreeSet::from(all).len(), all.len());
}

/// A payload that does not fit into the message travels as a whole, between ranks too.
#[test]
fn what_is_beyond_the_message_travels_with_it() {
    let sizes = [0, 15, 16, 17, 3000];
    let identities = sizes.map(|payload| {
        let model = Phold::<16, _>::large(phold(|params| params.payload = payload));
        let model = model.expect("valid parameters");
        let mut cx = Sends::new(&model, 1);
        model.make_lp(cx.me).start(&model, &mut cx);
        let (_, _, message) = cx.sent.swap_remove(0);
        let wire = model.wires().expect("it runs on several ranks").message;
        let mut bytes = Vec::new();
        wire.write(&message, &mut bytes);
        assert!(bytes.len() >= payload, "{payload} bytes in {}", bytes.len());
        let read = wire.read(&mut &bytes[..]).expect("all bytes are there");
        assert_eq!(Node::identity(&model, &read), Node::identity(&model, &message), "{payload}");
        assert!(wire.read(&mut &bytes[..bytes.len() - 1]).is_err(), "{payload}");
        Node::identity(&model, &read)
    });
    assert_eq!(BTreeSet::from(identities).len(), sizes.len());
}
