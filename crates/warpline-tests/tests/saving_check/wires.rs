//! What a model's wires leave out, or read otherwise than they write it, is named.

use serde::{Deserialize, Serialize};
use warpline::{
    Context, LogicalProcess, LpId, Model, ModelError, Only, RunError, Saving, SavingCheck,
    Sequential, Simulation, State, Tracked, TrackedDeque, TrackedHashMap, VirtualTime,
    error::Fault,
    wire::{Wire, WireError, Wires, take_bytes},
};

/// What is wrong.
#[derive(Clone, Copy, PartialEq)]
enum Bug {
    None,
    SkipsState,
    SkipsMessage,
    SkipsFingerprint,
    WritesMore,
    ReadsMore,
    RefusesState,
    RefusesMessage,
}

/// Shops that hand on parcels.
struct Street(Bug);

#[derive(Debug, Default, State, Serialize, Deserialize)]
struct Shop {
    seen: TrackedDeque<u64>,
    counts: TrackedHashMap<u64, u64>,
    last: Tracked<u64>,
    #[state(fixed)]
    name: String,
    handled: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Parcel {
    number: u64,
    weight: u64,
}

/// The bytes of a value by serde.
fn write<T: Serialize + for<'d> Deserialize<'d>>(value: &T, bytes: &mut Vec<u8>) {
    Wire::serde().write(value, bytes);
}

fn read<T: Serialize + for<'d> Deserialize<'d>>(bytes: &mut &[u8]) -> Result<T, WireError> {
    Wire::serde().read(bytes)
}

/// With a byte more.
fn write_more(shop: &Shop, bytes: &mut Vec<u8>) {
    write(shop, bytes);
    bytes.push(7);
}

/// With a byte more, which may be another LP's.
fn read_more(bytes: &mut &[u8]) -> Result<Shop, WireError> {
    let shop = read(bytes)?;
    take_bytes(bytes, 1).map(|_| shop)
}

impl Model for Street {
    type Lp = Shop;
    type Output = u64;

    fn name(&self) -> &'static str {
        "street"
    }

    fn lp_count(&self) -> usize {
        4
    }

    fn make_lp(&self, id: LpId) -> Shop {
        let name = if id.get() == 2 { "bakery" } else { "" };
        Shop { name: name.to_owned(), ..Shop::default() }
    }

    fn reduce(&self, all: impl Iterator<Item = u64>) -> u64 {
        all.sum()
    }

    fn wires(&self) -> Option<Wires<Self>> {
        let message = match self.0 {
            Bug::SkipsMessage => Wire::new(write, |bytes| {
                let parcel: Parcel = read(bytes)?;
                Ok(Parcel { weight: 0, ..parcel })
            }),
            Bug::SkipsFingerprint => Wire::new(write, |bytes| {
                let parcel: Parcel = read(bytes)?;
                Ok(Parcel { number: 0, ..parcel })
            }),
            Bug::RefusesMessage => Wire::new(write, |_| Err(WireError::new("cannot read"))),
            _ => Wire::serde(),
        };
        Some(Wires { message, summary: Wire::plain() })
    }

    fn state_wire(&self) -> Option<Wire<Shop>> {
        Some(match self.0 {
            Bug::SkipsState => Wire::new(write, |bytes| {
                let shop: Shop = read(bytes)?;
                Ok(Shop { name: String::new(), ..shop })
            }),
            Bug::WritesMore => Wire::new(write_more, read),
            Bug::ReadsMore => Wire::new(write, read_more),
            Bug::RefusesState => Wire::new(write, |_| Err(WireError::new("cannot read"))),
            _ => Wire::serde(),
        })
    }
}

impl LogicalProcess for Shop {
    type Model = Street;
    type Message = Parcel;
    type Summary = u64;
    const SAVING: Saving<Self> = Saving::BY_FIELD;

    fn start(&mut self, _: &Street, cx: &mut impl Context<Parcel>) {
        let delay = cx.rng().exponential(1.0);
        cx.send(cx.me(), delay, Parcel { number: 1, weight: 3 });
    }

    fn handle(&mut self, _: &Street, parcel: &Parcel, cx: &mut impl Context<Parcel>) {
        self.seen.push_back(parcel.number, cx);
        self.counts.insert(parcel.number, parcel.weight, cx);
        *self.last.write(cx) = parcel.weight;
        self.handled += 1;
        let delay = cx.rng().exponential(1.0);
        let parcel = Parcel { number: parcel.number + 1, weight: parcel.weight + 1 };
        cx.send(cx.rng().lp(4), delay, parcel);
    }

    fn finish(self, _: &Street, _: VirtualTime) -> u64 {
        self.handled
    }

    fn fingerprint(_: &Street, parcel: &Parcel) -> u64 {
        parcel.number
    }
}

fn run(bug: Bug) -> Result<u64, RunError> {
    let street = Only::<(Sequential, SavingCheck), _>::new(Street(bug));
    Ok(Simulation::new(street).engine(SavingCheck).end(40.0).run()?.output)
}

#[test]
fn what_wires_leave_out_is_named() {
    assert!(run(Bug::None).expect("sound") > 50);
    let expected = [
        (
            Bug::SkipsState,
            "`Model::state_wire` does not write and read as it is: `name` was \
                           \"bakery\" before, and is \"\" after",
        ),
        (Bug::SkipsMessage, "as it is read from its bytes"),
        (Bug::SkipsFingerprint, "has a message that `Model::wires` does not write and read as"),
        (Bug::WritesMore, "has a state that `Model::state_wire` cannot write and read: it reads"),
        (Bug::ReadsMore, "has a state that `Model::state_wire` cannot write and read: it reads"),
        (Bug::RefusesState, "`Model::state_wire` cannot write and read: cannot read"),
        (Bug::RefusesMessage, "has a message that `Model::wires` cannot write and read: cannot"),
    ];
    for (bug, text) in expected {
        let error = run(bug).expect_err("the bug is found");
        assert!(error.to_string().contains(text), "{text:?} is not in: {error}");
        let RunError::Model(ModelError { fault, place }) = error else { panic!("{error}") };
        assert!(place.event.is_some() && place.lp.is_some(), "{fault}: {place}");
        assert!(bug != Bug::SkipsState || place.lp == Some(LpId::new(2)), "{fault}: {place}");
        assert!(!matches!(fault, Fault::NotRepeated(_)) || bug == Bug::SkipsMessage, "{fault}");
    }
}
