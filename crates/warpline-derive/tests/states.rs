//! States that `#[derive(State)]` saves come back as they were before an event, whatever their
//! fields are, and in whatever order events are undone and committed.
//!
//! Mutations of the macro that turn these tests red: fields are restored in another order than they
//! are saved in; the second field is written to the words of the first one; the number of the
//! variant is not written, or not compared; the plain fields of the first variant only are saved;
//! nested fields are not undone; `clone_from` clones; a fixed field counts as plain; the memory of
//! tracked fields is not counted.

use std::{fmt::Debug, sync::Arc};

use common::{Logging, Step, check};
use proptest::{collection::vec, prelude::*};
use warpline::{
    State, Tracked, TrackedDeque, TrackedMap, TrackedVec, Value,
    state::{Undo, UndoLog},
};

mod common;

/// A plain field that is an enum of its own.
#[derive(Clone, Debug, Default, Value)]
enum Mode {
    #[default]
    Idle,
    Busy {
        until: f64,
        jobs: Vec<u8>,
    },
    Down(u8, String),
}

type Queue = TrackedDeque<u8>;

/// A part of a state.
#[derive(Debug, Default, State)]
struct Port {
    #[state(tracked)]
    queue: Queue,
    dropped: Tracked<u64>,
    #[state(fixed)]
    rate: f64,
}

/// A part that is an enum.
#[derive(Debug, State)]
enum Gate {
    Open(Tracked<u8>),
    #[allow(dead_code, reason = "a variant without fields")]
    Absent,
    Guarded {
        by: TrackedMap<u8, String>,
    },
}

/// A state with fields of all kinds.
#[derive(Debug, State)]
struct Machine {
    mode: Mode,
    handled: u64,
    sums: [f64; 3],
    name: String,
    r#type: (u8, bool),
    ended: TrackedVec<(u8, f64)>,
    whole: Tracked<Mode>,
    #[state(nested)]
    ports: [Port; 2],
    #[state(nested)]
    more: Vec<Port>,
    #[state(nested)]
    spare: Option<Box<Port>>,
    #[state(nested)]
    gates: [Gate; 2],
    #[state(fixed)]
    table: Arc<[u8]>,
}

/// A state that is a tuple, for any kind of job, all of it tracked but for the fixed place.
#[derive(Debug, State)]
struct Buffer<K: Kind, const N: usize>(
    [TrackedVec<K::Job>; N],
    #[state(fixed)] usize,
    Tracked<Option<K::Job>>,
)
where
    K::Job: Debug;

trait Kind {
    type Job: Value;
}

#[derive(Debug)]
struct Bytes;

impl Kind for Bytes {
    type Job = (u8, String);
}

/// A state of which there are several kinds.
#[derive(Debug, State)]
enum Station {
    Source {
        sent: u64,
        names: Vec<String>,
        last: Option<u8>,
    },
    Sink(Tracked<u64>, f32),
    #[allow(dead_code, reason = "a variant without fields")]
    Nothing,
    Port(#[state(nested)] Port),
}

#[derive(Debug, State)]
struct Empty;

impl Port {
    fn write(&mut self, number: u64, cx: &mut Logging<'_>) {
        let byte = (number >> 8) as u8;
        match number % 4 {
            0 => self.queue.push_back(byte, cx),
            1 => drop(self.queue.pop_front(cx)),
            2 => *self.dropped.write(cx) ^= number,
            _ if self.queue.is_empty() => {}
            _ => *self.queue.write(0, cx) = byte,
        }
    }
}

impl Gate {
    fn write(&mut self, number: u64, cx: &mut Logging<'_>) {
        match self {
            Self::Open(width) => drop(width.set(number as u8, cx)),
            Self::Absent => {}
            Self::Guarded { by } if number.is_multiple_of(3) => drop(by.remove(&1, cx)),
            Self::Guarded { by } => drop(by.insert(number as u8 % 4, number.to_string(), cx)),
        }
    }
}

fn mode(number: u64) -> Mode {
    let byte = number as u8;
    match number % 3 {
        0 => Mode::Idle,
        1 => Mode::Busy { until: number as f64, jobs: vec![byte; (number % 5) as usize] },
        _ => Mode::Down(byte, "down".repeat((number % 4) as usize)),
    }
}

impl Machine {
    fn new() -> Self {
        Self {
            mode: Mode::Idle,
            handled: 0,
            sums: [0.5; 3],
            name: "m".to_owned(),
            r#type: (1, false),
            ended: TrackedVec::default(),
            whole: Tracked::default(),
            ports: [Port { rate: 1.5, ..Port::default() }, Port::default()],
            more: vec![Port::default(), Port::default()],
            spare: Some(Box::default()),
            gates: [Gate::Open(Tracked::new(1)), Gate::Guarded { by: TrackedMap::default() }],
            table: Arc::from([1, 2, 3]),
        }
    }

    fn write(&mut self, number: u64, cx: &mut Logging<'_>) {
        let rest = number / 13;
        let place = rest as usize % 2;
        match number % 13 {
            0 => self.mode = mode(rest),
            1 => self.handled ^= rest,
            2 => self.sums[rest as usize % 3] += 1.0,
            3 => self.name.push('x'),
            4 => self.r#type = (rest as u8, true),
            5 => self.ended.push((rest as u8, 2.5), cx),
            6 => drop(self.ended.pop(cx)),
            7 => *self.whole.write(cx) = mode(rest),
            8 => self.ports[place].write(rest, cx),
            9 => self.more[place].write(rest, cx),
            10 => self.spare.iter_mut().for_each(|port| port.write(rest, cx)),
            _ => self.gates[place].write(rest, cx),
        }
    }
}

impl<const N: usize> Buffer<Bytes, N> {
    fn new() -> Self {
        Self(std::array::from_fn(|_| TrackedVec::default()), 7, Tracked::default())
    }

    fn write(&mut self, number: u64, cx: &mut Logging<'_>) {
        let job = (number as u8, number.to_string());
        match number % 3 {
            0 => self.0[(number >> 8) as usize % N].push(job, cx),
            1 => drop(self.0[(number >> 8) as usize % N].pop(cx)),
            _ => *self.2.write(cx) = (number & 256 == 0).then_some(job),
        }
    }
}

impl Station {
    fn write(&mut self, number: u64, cx: &mut Logging<'_>) {
        match self {
            Self::Source { sent, names, last } => {
                *sent += 1;
                *last = (*last == Some(3)).then_some(number as u8 % 5);
                names.truncate((number % 4) as usize);
                names.push(number.to_string());
            }
            Self::Sink(received, sum) if number.is_multiple_of(2) => {
                *received.write(cx) += 1;
                *sum += 0.5;
            }
            Self::Sink(received, _) => *received.write(cx) ^= number,
            Self::Nothing => {}
            Self::Port(port) => port.write(number, cx),
        }
    }

    fn all() -> Vec<Self> {
        let source = Self::Source { sent: 0, names: Vec::new(), last: None };
        vec![source, Self::Sink(Tracked::new(3), 1.0), Self::Nothing, Self::Port(Port::default())]
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..4_usize, vec(any::<u64>(), 0..6)).prop_map(|(lp, w)| Step::Handle(lp, w)),
        2 => (0..4_usize, any::<usize>()).prop_map(|(lp, back)| Step::Undo(lp, back)),
        1 => (0..8_usize).prop_map(Step::Commit),
        1 => (0..4_usize, any::<bool>()).prop_map(|(lp, reuses)| Step::Copy(lp, reuses)),
    ];
    vec(step, 0..80)
}

proptest! {
    #[test]
    fn structs_come_back(steps in steps()) {
        check(&mut [Machine::new(), Machine::new(), Machine::new()], steps, Machine::write);
    }

    #[test]
    fn tuples_come_back(steps in steps()) {
        check(&mut [Buffer::<Bytes, 2>::new(), Buffer::new()], steps, Buffer::write);
    }

    #[test]
    fn enums_come_back(steps in steps()) {
        check(&mut Station::all(), steps, Station::write);
    }
}

#[test]
fn an_empty_state_is_a_state() {
    let undo = |number| vec![Step::Handle(0, vec![number]), Step::Undo(0, 0)];
    check(&mut [Empty], undo(1), |_, _, _| ());
}

/// A state with plain fields saves them; one without can be nested.
#[test]
fn what_is_plain_is_known_to_the_compiler() {
    fn can_be_nested<T: Undo>() {}
    const {
        assert!(Machine::HAS_PLAIN && Station::HAS_PLAIN);
        assert!(!Port::HAS_PLAIN && !Gate::HAS_PLAIN && !Empty::HAS_PLAIN);
        assert!(!Buffer::<Bytes, 3>::HAS_PLAIN);
    }
    can_be_nested::<Port>();
    can_be_nested::<Gate>();
    can_be_nested::<Buffer<Bytes, 1>>();
    can_be_nested::<Empty>();
}

fn names(state: &impl State) -> Vec<String> {
    let mut names = Vec::new();
    state.fields(&mut |name, field| names.push(format!("{name} {field:?}")));
    names
}

#[test]
fn fields_have_their_names() {
    let machine = names(&Machine::new());
    let words: Vec<_> = machine.iter().filter_map(|text| text.split(' ').next()).collect();
    let all = "mode handled sums name type ended whole ports more spare gates table";
    assert_eq!(words.join(" "), all);
    assert_eq!(machine[4], "type (1, false)");
    let stations = Station::all();
    assert_eq!(
        names(&stations[0]),
        ["variant \"Source\"", "Source.sent 0", "Source.names []", "Source.last None"]
    );
    assert_eq!(names(&stations[1]), ["variant \"Sink\"", "Sink.0 3", "Sink.1 1.0"]);
    assert_eq!(names(&stations[2]), ["variant \"Nothing\""]);
}

/// The memory of plain and of tracked fields, and of parts; not that of fixed ones.
#[test]
fn memory_is_counted() {
    let mut machine = Machine::new();
    machine.spare = None;
    machine.more = Vec::new();
    let own = |text: &str| Value::heap_bytes(&text.to_owned());
    assert_eq!(machine.heap_bytes(), own("m"));
    machine.mode = Mode::Down(1, "ten letters".to_owned());
    assert_eq!(machine.heap_bytes(), own("m") + own("ten letters"));
    let mut log = UndoLog::default();
    let queue = &mut machine.ports[1].queue;
    queue.push_back(1, &mut Logging(&mut log));
    let of_queue = Undo::heap_bytes(queue);
    assert!(of_queue > 0);
    assert_eq!(machine.heap_bytes(), own("m") + own("ten letters") + of_queue);
}

/// `clone_from` copies into the memory that is there.
#[test]
fn a_copy_into_a_state_allocates_nothing() {
    let mut machine = Machine::new();
    let mut from = Machine::new();
    machine.name = "a long name".to_owned();
    from.name = "short".to_owned();
    let (name, more) = (machine.name.as_ptr(), machine.more.as_ptr());
    machine.clone_from(&from);
    assert_eq!(machine.name, "short");
    assert_eq!((machine.name.as_ptr(), machine.more.as_ptr()), (name, more));
    let names = vec!["one".to_owned()];
    let mut station = Station::Source { sent: 1, names: names.clone(), last: None };
    let Station::Source { names: before, .. } = &station else { unreachable!() };
    let (list, text) = (before.as_ptr(), before[0].as_ptr());
    station.clone_from(&Station::Source { sent: 2, names, last: Some(1) });
    let Station::Source { names: after, sent: 2, last: Some(1) } = &station else {
        panic!("{station:?}")
    };
    assert_eq!((after.as_ptr(), after[0].as_ptr()), (list, text));
    station.clone_from(&Station::Sink(Tracked::new(4), 0.5));
    assert_eq!(format!("{station:?}"), "Sink(4, 0.5)");
}

/// A handler may not make another variant of a state; one that does is told what to do.
#[test]
#[should_panic(expected = "`Station` derives `State`, and a handler made another variant of it")]
fn another_variant_is_a_mistake() {
    let steps = vec![Step::Handle(0, vec![1]), Step::Undo(0, 0)];
    check(&mut Station::all(), steps, |station, _, _| *station = Station::Nothing);
}
