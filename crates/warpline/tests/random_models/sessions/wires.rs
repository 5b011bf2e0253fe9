//! A wire that does not read what it has written: the error names it, and the LP, wherever bytes
//! are read, and blames no rank and no handler.

use warpline::{
    Conservative, Context, Engine, LogicalProcess, LpId, Model, Session, Simulation, TimeWarp,
    VirtualTime,
    wire::{Wire, WireError, Wires, take_bytes},
};

/// The LP that shows it.
const WRONG: u64 = 5;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Bug {
    None,
    StateWritesMore,
    StateReadsMore,
    StateRefuses,
    StatePanics,
    StateIsNotWritten,
    MessageReadsLess,
    MessagePanics,
    /// In messages to other ranks during a step, too.
    MessageRefuses,
}

#[derive(Debug)]
struct Ring(Bug);

#[derive(Clone, Debug)]
struct Place {
    me: u64,
    seen: u64,
}

fn number(bytes: &mut &[u8]) -> Result<u64, WireError> {
    let mut number = [0; 8];
    number.copy_from_slice(take_bytes(bytes, 8)?);
    Ok(u64::from_le_bytes(number))
}

fn read(bytes: &mut &[u8]) -> Result<Place, WireError> {
    Ok(Place { me: number(bytes)?, seen: number(bytes)? })
}

fn write(place: &Place, bytes: &mut Vec<u8>) {
    [place.me, place.seen].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
}

/// What is wrong at one LP only.
fn at<T>(place: Place, wrong: impl FnOnce(Place) -> T, right: impl FnOnce(Place) -> T) -> T {
    if place.me == WRONG { wrong(place) } else { right(place) }
}

impl Model for Ring {
    type Lp = Place;
    type Output = u64;

    fn name(&self) -> &'static str {
        "ring"
    }

    fn lp_count(&self) -> usize {
        8
    }

    fn make_lp(&self, id: LpId) -> Place {
        Place { me: id.get().into(), seen: 0 }
    }

    fn reduce(&self, all: impl Iterator<Item = u64>) -> u64 {
        all.sum()
    }

    fn lookahead(&self) -> Option<f64> {
        Some(0.5)
    }

    fn wires(&self) -> Option<Wires<Self>> {
        let message = match self.0 {
            Bug::MessageReadsLess => {
                Wire::new(|_, bytes| bytes.extend([0; 8]), |bytes| take_bytes(bytes, 4).map(|_| 0))
            }
            Bug::MessageRefuses => {
                Wire::new(|_, bytes| bytes.push(1), |_| Err(WireError::new("no number")))
            }
            Bug::MessagePanics => Wire::new(|_, _| panic!("not written"), number),
            _ => Wire::plain(),
        };
        Some(Wires { message, summary: Wire::plain() })
    }

    fn state_wire(&self) -> Option<Wire<Place>> {
        Some(match self.0 {
            Bug::StateWritesMore => Wire::new(
                |place, bytes| {
                    write(place, bytes);
                    bytes.extend(if place.me == WRONG { &[7][..] } else { &[] });
                },
                read,
            ),
            Bug::StateReadsMore => Wire::new(write, |bytes| {
                at(read(bytes)?, |place| take_bytes(bytes, 1).map(|_| place), Ok)
            }),
            Bug::StateRefuses => Wire::new(write, |bytes| {
                at(read(bytes)?, |_| Err(WireError::new("no such place")), Ok)
            }),
            Bug::StatePanics => {
                Wire::new(write, |bytes| at(read(bytes)?, |_| panic!("not read"), Ok))
            }
            Bug::StateIsNotWritten => Wire::new(
                |place, bytes| {
                    assert!(place.me != WRONG, "not written");
                    write(place, bytes);
                },
                read,
            ),
            _ => Wire::new(write, read),
        })
    }
}

impl LogicalProcess for Place {
    type Model = Ring;
    type Message = u64;
    type Summary = u64;

    fn start(&mut self, _: &Ring, cx: &mut impl Context<u64>) {
        cx.send(cx.me(), 0.5, 1);
    }

    fn handle(&mut self, ring: &Ring, message: &u64, cx: &mut impl Context<u64>) {
        self.seen += message;
        // To itself, so that messages become bytes between two steps only.
        let across = if ring.0 == Bug::MessageRefuses { 4 } else { 0 };
        cx.send(LpId::new((cx.me().get() + across) % 8), 1.0, *message);
    }

    fn finish(self, _: &Ring, _: VirtualTime) -> u64 {
        self.seen
    }
}

fn engines() -> [Engine; 2] {
    let pin = false;
    [
        TimeWarp { workers: 1, pin, ..TimeWarp::default() }.into(),
        Conservative { workers: 1, pin, ..Conservative::default() }.into(),
    ]
}

/// What the error says of a bug, but for the place.
fn expected(bug: Bug) -> &'static str {
    match bug {
        Bug::StateWritesMore => {
            "`Model::state_wire` cannot write and read: it reads 16 of 17 bytes"
        }
        Bug::StateReadsMore => "`Model::state_wire` cannot write and read: 1 bytes expected",
        Bug::StateRefuses => "`Model::state_wire` cannot write and read: no such place",
        Bug::StatePanics => "`Model::state_wire` cannot write and read: panicked at",
        Bug::StateIsNotWritten => "`Model::state_wire` cannot write and read: panicked at",
        Bug::MessageReadsLess => "`Model::wires` cannot write and read: it reads 4 of 8 bytes",
        Bug::MessagePanics => "`Model::wires` cannot write and read: panicked at",
        Bug::None | Bug::MessageRefuses => unreachable!("no step begins, or fails, with it"),
    }
}

const BUGS: [Bug; 7] = [
    Bug::StateWritesMore,
    Bug::StateReadsMore,
    Bug::StateRefuses,
    Bug::StatePanics,
    Bug::StateIsNotWritten,
    Bug::MessageReadsLess,
    Bug::MessagePanics,
];

fn check(bug: Bug, error: &str) {
    let has = |text: &str| assert!(error.contains(text), "{bug:?}: {text:?} is not in: {error}");
    has(expected(bug));
    has(if expected(bug).contains("state_wire") { "LP 5 " } else { "LP " });
    has("let `read` of the wire take exactly");
    for wrong in ["printed", "handler", "damaged", "bytes that cannot be read"] {
        assert!(!error.contains(wrong), "{bug:?}: {wrong:?} is in: {error}");
    }
}

fn session(bug: Bug, engine: Engine) -> Session<'static, Ring> {
    let simulation = Simulation::new(Ring(bug)).end(10.0).engine(engine);
    simulation.session().expect("on one rank nothing becomes bytes")
}

#[test]
fn wires_that_break_on_ranks_are_named() {
    for engine in engines() {
        let mut sound = session(Bug::None, engine.clone());
        sound.set_ranks(2).expect("it has wires");
        sound.run_to_end().expect("sound");
        for bug in BUGS {
            let mut session = session(bug, engine.clone());
            session.set_ranks(2).expect("it has wires");
            check(bug, &session.run_until(5.0).expect_err("it breaks").to_string());
            // Where rank 0 only reads.
            let begun = Simulation::new(Ring(bug)).end(10.0).engine(engine.clone()).ranks(2);
            check(bug, &begun.session().map(drop).expect_err("it breaks").to_string());
        }
    }
}

/// What comes during a step is named as a mistake of the model, too.
#[test]
fn messages_that_no_rank_can_read_are_named() {
    for engine in engines() {
        let simulation = Simulation::new(Ring(Bug::MessageRefuses)).end(10.0).engine(engine);
        let error = simulation.ranks(2).run().map(drop).expect_err("it breaks").to_string();
        for text in ["`Model::wires` cannot read a message for LP ", "no number", "saving-check"] {
            assert!(error.contains(text), "{text:?} is not in: {error}");
        }
        assert!(!error.contains("printed"), "{error}");
    }
}

#[test]
fn wires_that_break_in_files_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ckpt");
    for bug in BUGS {
        let session = session(bug, Engine::default());
        let saved = session.save(&path).map_err(|error| error.to_string());
        let resumed = |()| Simulation::new(Ring(bug)).end(10.0).resume(&path).map(drop);
        let resumed = saved.and_then(|()| resumed(()).map_err(|error| error.to_string()));
        check(bug, &resumed.expect_err("it breaks"));
    }
}
