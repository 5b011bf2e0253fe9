//! The wireless network against theory (Engset, independent portables), and its rules one by one.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use common::Sends;
use warpline::{
    EventKey, LogicalProcess, LpId, Model, TimeWarp, VirtualTime,
    replication::{Estimate, Replications},
    settings::Instrumentation,
};
use warpline_models::pcs::{Cell, Grid, Mobility, Pcs, PcsMessage, PcsOutput, PcsParams, Topology};

mod common;
mod typed;

fn grid(size: &str) -> Grid {
    size.parse().expect("a grid")
}

fn replicate(
    params: PcsParams,
    seed: u64,
    time: Range<f64>,
    count: usize,
) -> Replications<PcsOutput> {
    typed::replicate(params, seed, time, count)
}

fn estimate(runs: &Replications<PcsOutput>, figure: impl Fn(&PcsOutput) -> f64) -> Estimate {
    Estimate::of(runs.reports.iter().map(|report| figure(&report.output)))
}

/// Asserts that the confidence interval covers the theory and is narrow; a wide one would show
/// little.
#[track_caller]
fn assert_estimates(name: &str, found: Estimate, theory: f64, relative_half_width: f64) {
    assert!(found.covers(theory), "{name}: {found:?}, but theory says {theory}");
    let limit = relative_half_width * theory;
    assert!(found.half_width < limit, "{name}: {found:?} is not narrower than {limit}");
}

/// The terms `C(n, k) a^k` for k = 0 to c: Engset's distribution, up to a factor.
fn engset_terms(n: u32, c: u32, a: f64) -> Vec<f64> {
    let mut terms = vec![1.0];
    for k in 0..c {
        let last = terms[k as usize];
        terms.push(last * a * f64::from(n.saturating_sub(k)) / f64::from(k + 1));
    }
    terms
}

/// The fraction of calls that are blocked: with n sources, a caller sees n - 1 others.
fn engset_blocking(n: u32, c: u32, a: f64) -> f64 {
    let terms = engset_terms(n - 1, c, a);
    terms[c as usize] / terms.iter().sum::<f64>()
}

/// The mean number of busy channels, over time.
fn engset_busy(n: u32, c: u32, a: f64) -> f64 {
    let terms = engset_terms(n, c, a);
    let weighted = terms.iter().zip(0_u32..).map(|(term, k)| term * f64::from(k));
    weighted.sum::<f64>() / terms.iter().sum::<f64>()
}

#[test]
fn engset_by_hand() {
    // Two sources, one channel, a = 1: the other source is in a call half of the time it could be.
    assert!((engset_blocking(2, 1, 1.0) - 0.5).abs() < 1e-12);
    assert!((engset_busy(2, 1, 1.0) - 2.0 / 3.0).abs() < 1e-12);
    assert!(engset_blocking(4, 4, 1.0) == 0.0);
}

/// Without mobility every cell is an independent system, whose sources are its portables.
#[test]
fn engset_without_mobility() {
    // portables per cell, channels, mean call, mean idle, end
    let cases = [
        (24, 10, 3.0, 6.0, 1500.0),
        (20, 8, 2.0, 8.0, 2500.0),
        (5, 2, 1.0, 1.0, 800.0),
        (2, 1, 1.0, 4.0, 2500.0),
    ];
    for (seed, (n, c, call, idle, end)) in (11..).zip(cases) {
        let params = PcsParams {
            cells: grid("6x6"),
            portables: 36 * n as usize,
            channels: c,
            stay: f64::INFINITY,
            call,
            idle,
            ..PcsParams::default()
        };
        let runs = replicate(params, seed, 100.0..end, 16);
        let (blocking, busy) = (engset_blocking(n, c, call / idle), engset_busy(n, c, call / idle));
        let found = estimate(&runs, |output| output.blocking_probability);
        assert_estimates(&format!("blocking, n {n}, c {c}"), found, blocking, 0.02);
        let found = estimate(&runs, |output| output.carried_traffic);
        assert_estimates(&format!("traffic, n {n}, c {c}"), found, busy, 0.01);
        let found = estimate(&runs, |output| output.channel_use);
        assert_estimates(&format!("use, n {n}, c {c}"), found, busy / f64::from(c), 0.01);
        assert!(runs.reports.iter().all(|report| report.output.handoffs == 0));
    }
}

/// With a channel for each portable, the portables are independent: each is in a call for
/// `call / (call + idle)` of the time, and then moves at the rate `1 / stay`.
#[test]
fn nobody_is_refused_where_there_are_channels_for_all() {
    for (seed, mobility) in [(1, Mobility::High), (2, Mobility::Medium), (3, Mobility::Low)] {
        let params = PcsParams {
            cells: grid("5x4"),
            portables: 100,
            channels: 100,
            mobility: Some(mobility),
            ..PcsParams::default()
        };
        let (end, stay) = (2_050.0, params.mean_stay());
        assert_eq!(stay, 3.0 * mobility.calls_per_stay());
        let runs = replicate(params, seed, 50.0..end, 16);
        for report in &runs.reports {
            assert_eq!(report.output.blocking_probability, 0.0);
            assert_eq!(report.output.handoff_drop_probability, 0.0);
        }
        let traffic = estimate(&runs, |output| output.carried_traffic);
        assert_estimates("traffic", traffic, 100.0 / 20.0 * 3.0 / 9.0, 0.01);
        let calls = estimate(&runs, |output| output.calls as f64 / 2_000.0);
        assert_estimates("calls per minute", calls, 100.0 / 9.0, 0.01);
        let handoffs = estimate(&runs, |output| output.handoffs as f64 / 2_000.0);
        assert_estimates("hand-offs per minute", handoffs, 100.0 / 3.0 / stay, 0.03);
    }
}

/// The more often portables move, the more calls are dropped.
#[test]
fn faster_moves_drop_more_calls() {
    let drops = [Mobility::Low, Mobility::Medium, Mobility::High].map(|mobility| {
        let params = PcsParams {
            cells: grid("8x8"),
            portables: 1562,
            mobility: Some(mobility),
            ..PcsParams::default()
        };
        let runs = replicate(params, 1, 0.0..500.0, 4);
        let dropped = estimate(&runs, |output| {
            output.handoffs as f64 * output.handoff_drop_probability / output.calls as f64
        });
        assert!(dropped.mean > 0.0, "{mobility:?} drops no call");
        dropped
    });
    for pair in drops.windows(2) {
        assert!(pair[0].mean + pair[0].half_width < pair[1].mean - pair[1].half_width, "{drops:?}");
    }
}

#[test]
fn statistics_start_after_the_warm_up() {
    let params = PcsParams { cells: grid("4x4"), portables: 400, ..PcsParams::default() };
    let run = |warmup| {
        let simulation = typed::simulation(params.clone()).warm_up(warmup).end(100.0);
        typed::typed::<PcsOutput>({ simulation }.run().expect("a run"))
    };
    let (whole, half) = (run(0.0), run(50.0));
    assert_eq!(whole.digest, half.digest);
    assert!(half.output.calls < whole.output.calls * 6 / 10);
    // All portables are idle at the start, so the second half has more traffic.
    assert!(half.output.carried_traffic > 1.01 * whole.output.carried_traffic);
}

/// One cell with one channel, by hand: which portables get it, and what the others do.
#[test]
fn rules_of_a_cell_one_by_one() {
    const NEVER: f64 = f64::INFINITY;
    let params =
        PcsParams { cells: grid("2x1"), portables: 0, channels: 1, ..PcsParams::default() };
    let pcs = Pcs::new(PcsParams { grid: Topology::Bounded, ..params }).expect("valid parameters");
    let mut cell = pcs.make_lp(LpId::new(0));
    let mut cx = Sends::new(&pcs, 0);

    // The first call gets the channel, and will end here, as the portable does not move.
    cell.handle(&pcs, &PcsMessage::CallStart { move_at: NEVER }, cx.at(10.0));
    let (to, time, message) = cx.only();
    assert!(to == 0 && time > 10.0 && *message == PcsMessage::CallEnd { move_at: NEVER });
    // The second call is blocked: its portable is idle, and calls again later.
    cell.handle(&pcs, &PcsMessage::CallStart { move_at: NEVER }, cx.at(11.0));
    let (to, time, message) = cx.only();
    assert!(to == 0 && time > 11.0 && *message == PcsMessage::CallStart { move_at: NEVER });
    // A call that is handed off to this cell is dropped, and its portable is idle.
    cell.handle(&pcs, &PcsMessage::Arrive { in_call: true, call_at: 900.0 }, cx.at(12.0));
    let (_, time, message) = cx.only();
    match *message {
        PcsMessage::CallStart { move_at } => assert!(time > 12.0 && move_at > time),
        PcsMessage::Arrive { in_call, call_at } => assert!(!in_call && call_at > 12.0),
        ref other => panic!("{other:?}"),
    }
    // The channel's portable leaves; the next hand-off finds it free and keeps the end of its call.
    cell.handle(&pcs, &PcsMessage::Leave, cx.at(13.0));
    assert!(cx.sent.is_empty());
    cell.handle(&pcs, &PcsMessage::Arrive { in_call: true, call_at: 13.5 }, cx.at(13.25));
    let (to, time, message) = cx.only();
    assert!(
        to == 0
            && time == 13.5
            && matches!(message, PcsMessage::CallEnd { move_at } if *move_at > 13.5)
    );
    // A call that ends makes its portable idle; it moves at the time that was drawn when it came.
    cell.handle(&pcs, &PcsMessage::CallEnd { move_at: 13.5 }, cx.at(13.5));
    let (to, time, message) = cx.only();
    assert!(to == 1 && time == 13.5);
    assert!(matches!(message, PcsMessage::Arrive { in_call: false, call_at } if *call_at > 13.5));
    // A move in a call sends an event to both cells, first to this one.
    cell.handle(&pcs, &PcsMessage::CallStart { move_at: 14.0 }, cx.at(14.0));
    let [(first, time, PcsMessage::Leave), (second, also, PcsMessage::Arrive { in_call, .. })] =
        cx.sent[..]
    else {
        panic!("{:?}", cx.sent)
    };
    assert_eq!((first.get(), time, second.get(), also, in_call), (0, 14.0, 1, 14.0, true));

    let counts = cell.finish(&pcs, VirtualTime::new(20.0).expect("a time"));
    let output = pcs.reduce([counts].into_iter());
    assert_eq!((output.calls, output.blocking_probability), (3, 1.0 / 3.0));
    assert_eq!((output.handoffs, output.handoff_drop_probability), (2, 0.5));
    // Busy from 10 to 13, from 13.25 to 13.5, and from 14 on.
    assert_eq!(output.carried_traffic, (3.0 + 0.25 + 6.0) / 20.0);
}

/// PCS-A and PCS-B at every event, observed from outside: one chain of events per portable, and in
/// no cell more calls than channels. Small tori have cells that are their own neighbors.
#[test]
fn every_portable_stays_and_no_channel_is_used_twice() {
    for (size, topology) in [
        ("3x2", Topology::Torus),
        ("3x2", Topology::Bounded),
        ("5x1", Topology::Torus),
        ("5x1", Topology::Bounded),
        ("1x1", Topology::Torus),
        ("1x1", Topology::Bounded),
    ] {
        check_chains(PcsParams {
            cells: grid(size),
            portables: 31,
            channels: 3,
            stay: 4.0,
            grid: topology,
            ..PcsParams::default()
        });
    }
}

fn check_chains(params: PcsParams) {
    let pcs = Pcs::new(params.clone()).expect("valid parameters");
    let mut cells: Vec<_> = (0..pcs.lp_count())
        .map(|i| (pcs.make_lp(LpId::from_index(i)), Sends::new(&pcs, i)))
        .collect();
    let mut pending = BTreeMap::new();
    let mut sequence = 0;
    let mut put = |pending: &mut BTreeMap<_, _>, cx: &mut Sends<PcsMessage>| {
        for (to, time, message) in cx.sent.drain(..) {
            let time = VirtualTime::new(time).expect("a finite time");
            assert!(
                to == cx.me
                    || pcs.links(cx.me).is_some_and(|links| links.iter().any(|link| link.to == to)),
                "{to:?}"
            );
            pending.insert(EventKey::new(time, 0, cx.me, sequence), (to, message));
            sequence += 1;
        }
    };
    for (cell, cx) in &mut cells {
        cell.start(&pcs, cx);
        put(&mut pending, cx);
    }
    let mut moves = 0;
    for _ in 0..4_000 {
        let leaves = pending.values().filter(|(_, message)| *message == PcsMessage::Leave).count();
        assert_eq!(pending.len() - leaves, params.portables, "{params:?}");
        let mut busy = vec![0; cells.len()];
        for (to, message) in pending.values() {
            let in_call = matches!(message, PcsMessage::CallEnd { .. } | PcsMessage::Leave);
            busy[to.index()] += u32::from(in_call);
        }
        assert!(busy.iter().all(|&busy| busy <= params.channels), "{busy:?} in {params:?}");
        let (key, (to, message)) = pending.pop_first().expect("chains without end");
        moves += u32::from(matches!(message, PcsMessage::Arrive { .. }));
        let (cell, cx) = &mut cells[to.index()];
        cell.handle(&pcs, &message, cx.at(key.time_value()));
        put(&mut pending, cx);
    }
    let may_move = params.grid == Topology::Torus || cells.len() > 1;
    assert_eq!(moves > 100, may_move, "{moves} moves in {params:?}");
}

/// PCS-C: a portable that comes back to its own cell finds the channel it has just freed.
#[test]
fn a_cell_that_is_its_own_neighbor_drops_nothing() {
    let params = PcsParams {
        cells: grid("1x1"),
        portables: 31,
        channels: 3,
        stay: 4.0,
        ..PcsParams::default()
    };
    let report = typed::simulation(params).end(500.0).run().expect("a run");
    let output = typed::typed::<PcsOutput>(report).output;
    assert!(output.handoffs > 100 && output.blocking_probability > 0.5, "{output:?}");
    assert_eq!(output.handoff_drop_probability, 0.0);
}

#[test]
fn refusals_name_the_parameter() {
    let with = |change: fn(&mut PcsParams)| {
        let mut params = PcsParams::default();
        change(&mut params);
        Pcs::new(params).expect_err("refused").key
    };
    assert_eq!(with(|params| params.channels = 0), "channels");
    assert_eq!(with(|params| params.stay = 0.0), "stay");
    assert_eq!(with(|params| params.stay = f64::NAN), "stay");
    assert_eq!(with(|params| params.call = f64::INFINITY), "call");
    assert_eq!(with(|params| params.idle = -1.0), "idle");
}

mod flags {
    use clap::{Parser, error::ErrorKind};

    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        params: PcsParams,
    }

    fn parse(flags: &str) -> Result<PcsParams, ErrorKind> {
        let words = std::iter::once("pcs").chain(flags.split_whitespace());
        Command::try_parse_from(words).map(|command| command.params).map_err(|error| error.kind())
    }

    #[test]
    fn flags_are_read() {
        assert_eq!(parse(""), Ok(PcsParams::default()));
        let params = parse("--cells 8x4 --stay inf --grid bounded").expect("valid flags");
        assert_eq!((params.cells, params.grid), (grid("8x4"), Topology::Bounded));
        assert_eq!(params.mean_stay(), f64::INFINITY);
        assert_eq!(parse("--mobility high --call 2").map(|params| params.mean_stay()), Ok(10.0));
        assert_eq!(parse("--mobility high --stay 2"), Err(ErrorKind::ArgumentConflict));
        assert_eq!(parse("--cells 8"), Err(ErrorKind::ValueValidation));
    }
}

/// The identity of a message depends on its kind and on every field.
#[test]
fn messages_have_an_identity() {
    let times = [0.0, 1.5, f64::INFINITY];
    let messages = times.into_iter().flat_map(|time| {
        let arrive = |in_call| PcsMessage::Arrive { in_call, call_at: time };
        let (start, end) =
            (PcsMessage::CallStart { move_at: time }, PcsMessage::CallEnd { move_at: time });
        [start, end, arrive(false), arrive(true)]
    });
    let pcs = Pcs::new(PcsParams::default()).expect("valid parameters");
    let all = messages.chain([PcsMessage::Leave]);
    let identities: BTreeSet<_> = all.map(|message| Cell::identity(&pcs, &message)).collect();
    assert_eq!(identities.len(), 13);
    assert!(!identities.contains(&None));
}

/// The paper's network, 64 x 32 cells: over 90 % of the messages stay on their processor (GTW,
/// section 4), where a worker has several rows of cells. Most are pending when a run is over as
/// early as here, and count all the same. Wall time per event changes nothing that is committed. In
/// turn, so that the counts repeat themselves.
#[test]
fn most_events_stay_with_their_worker() {
    let run = |grain, workers, end| {
        let mobility = Some(Mobility::High);
        let params = PcsParams { cells: grid("64x32"), mobility, grain, ..PcsParams::default() };
        let instrumentation = Instrumentation::IN_TURN;
        let engine = TimeWarp { workers, instrumentation, ..TimeWarp::default() };
        typed::simulation(params).engine(engine).end(end).run().expect("a run")
    };
    let (busy, idle) = (run(1_000, 8, 0.5), run(0, 8, 0.5));
    assert_eq!(busy.digest, idle.digest);
    let local = idle.details.local_share.expect("several workers");
    assert!(local > 0.9 && local < 1.0, "{local}");
    // With a row for each worker, more than a tenth of the moves lead to another one.
    let of_rows = run(0, 32, 0.5).details.local_share.expect("several workers");
    assert!(of_rows > 0.85 && of_rows < local, "{of_rows}");
    // As soon as the run has begun, too.
    let early = run(0, 32, 0.05).details.local_share.expect("several workers");
    assert!(early > 0.84, "{early}");
    assert_eq!(run(0, 1, 0.05).details.local_share, None);
}
