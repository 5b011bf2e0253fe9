//! tuning
#![allow(warnings)]
#[path = "../src/bench/yardstick.rs"]
mod yardstick;
use warpline::*;
use warpline_models::phold::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let only = args.get(1).cloned();
    let all = args.get(2).is_some();
    for (n, p, end) in [
        ("W1", PholdParams::default(), 3000.0),
        (
            "W2",
            PholdParams {
                lps: 1024,
                population: 16384,
                remote: 0.1,
                lookahead: 0.1,
                ..Default::default()
            },
            250.0,
        ),
        (
            "W3",
            PholdParams {
                lps: 65536,
                population: 1048576,
                remote: 0.5,
                lookahead: 0.1,
                ..Default::default()
            },
            5.0,
        ),
    ] {
        if let Some(o) = &only {
            if !n.contains(o.as_str()) {
                continue;
            }
        }
        if !all && std::env::var("NOYARD").is_ok() {
        } else {
            for y in yardstick::Yardstick::all(&p) {
                if !all
                    && !matches!(
                        y,
                        yardstick::Yardstick::Windows
                            | yardstick::Yardstick::Hold(PendingKind::Ladder)
                    )
                {
                    continue;
                }
                let mut best = f64::MAX;
                for _ in 0..5 {
                    best = best.min(y.nanoseconds_per_event(&p, 4_000_000));
                    if n == "W3" && all {
                        break;
                    }
                }
                println!("{n} yard {} {:.1} M/s", y.name(), 1e3 / best);
            }
        }
        for k in [PendingKind::Ladder] {
            let mut best: f64 = 0.;
            let mut d = String::new();
            for _ in 0..5 {
                let r = Simulation::new(Phold::<0>::new(p.clone()).unwrap())
                    .end(end)
                    .pending(k)
                    .run()
                    .unwrap();
                best = best.max(r.events_per_second());
                d = r.digest.to_string();
            }
            println!("{n} {k} {:.1} M/s {d}", best / 1e6);
        }
    }
}
