//! Reading a deck takes time in proportion to its length, and to what its subcircuits expand to.
//!
//! Red if a parameter is searched for the blank behind its line, if a net is looked at once for
//! each of its sources, or if what each instance evaluates is not charged to the budget.

use std::fmt::Write;

use warpline_circuits::spice::{self, Deck};

fn read(deck: &str, budget: usize) -> Result<Deck, String> {
    let mut include = |_: &str, name: &str| Err(std::io::Error::other(name.to_owned()));
    spice::read_within("a.cir", deck, &mut include, budget).map_err(|error| error.to_string())
}

/// The processor time of this thread (s): other programs make no difference to it.
#[cfg(target_os = "linux")]
fn seconds() -> f64 {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[cfg(not(target_os = "linux"))]
fn seconds() -> f64 {
    0.0
}

/// Each takes a fraction of a second; a step for each pair of parts takes a minute.
#[test]
fn long_decks_are_read_at_once() {
    let begin = seconds();
    let mut parameters = "t\nr1 a 0 {p7}\nv1 a 0 1\n.tran 1p 1n\n.param ".to_owned();
    (0..50_000).for_each(|number| write!(parameters, "p{number}=1,").unwrap());
    read(&parameters, 1 << 30).unwrap();
    let mut sources = "t\nr1 a 0 1\n.tran 1p 1n\n".to_owned();
    (0..50_000).for_each(|number| writeln!(sources, "v{number} a 0 1").unwrap());
    assert!(read(&sources, 1 << 30).unwrap_err().contains("is fixed already"));
    assert!(seconds() - begin < 10.0, "{} s", seconds() - begin);
}

/// DECK-B: what is short in the deck, and evaluated once more by each instance, is paid for.
#[test]
fn what_instances_evaluate_is_charged() {
    let sum = format!("{{1u{}}}", "+1u".repeat(10_000));
    let instances: String = (0..1000).map(|number| format!("x{number} a s\n")).collect();
    let deck = |body: &str| {
        format!("t\n.subckt s a\n{body}.ends\n{instances}v1 a 0 1\nvdd vdd 0 1\n.tran 1p 1n\n")
    };
    let bodies = [
        format!(".param w={sum}\nr1 a 0 {{w}}\n"),
        format!(".model n nmos kp={sum}\nm1 a a 0 0 n\n"),
        format!("r1 a b 1\n.ic v(b)={sum}\n"),
        // A parameter that fails is tried again.
        format!(".param w={sum} v={{w+unknown}}\nr1 a 0 {{v}}\n"),
    ];
    for body in &bodies {
        let deck = deck(body);
        let error = read(&deck, 4 << 20).unwrap_err();
        assert!(error.contains("expand to more than fits"), "{body:.40}: {error}");
        if !body.contains("unknown") {
            read(&deck, 1 << 30).unwrap();
        }
    }
}
