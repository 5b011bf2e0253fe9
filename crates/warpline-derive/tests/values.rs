//! Values that derive `Value` come back from the log as they were.
//!
//! Mutations of the macro that turn these tests red: fields are read in another order than they are
//! written in; the number of the variant is not written, or has no word; the words of the smallest
//! variant count; a value that owns memory says that it does not.

use std::marker::PhantomData;

use proptest::{collection::vec, prelude::*};
use warpline::{LpId, Value, state::UndoLog};

#[derive(Clone, Copy, Debug, PartialEq, Value)]
enum Color {
    Red,
    Green,
    Blue,
}

#[derive(Clone, Debug, PartialEq, Value)]
struct Packet {
    from: LpId,
    size: u32,
    color: Color,
    sent: Option<f64>,
    hops: [u16; 3],
}

#[derive(Clone, Debug, PartialEq, Value)]
enum Job {
    None,
    One(Packet),
    Named { name: String, number: u8, rest: Box<Job> },
    Many(Vec<Packet>, (u8, bool)),
}

#[derive(Clone, Debug, PartialEq, Value)]
struct Pair<T, const N: usize>([T; N], Option<T>)
where
    T: PartialEq;

#[derive(Clone, Debug, PartialEq, Value)]
enum List<T> {
    End,
    Item(T, Box<List<T>>),
}

#[derive(Clone, Debug, PartialEq, Value)]
struct Tagged<T>(u8, PhantomData<T>);

#[derive(Clone, Debug, PartialEq, Value)]
struct Unit;

/// The words that a value takes, and whether it owns memory, are known to the compiler.
const _: () = {
    assert!(Color::WORDS == 1 && !Color::OWNS);
    assert!(Packet::WORDS == 8 && !Packet::OWNS);
    // The number of the variant, and the largest one.
    assert!(Job::WORDS == 9 && Job::OWNS);
    assert!(Pair::<u8, 4>::WORDS == 6 && !Pair::<u8, 4>::OWNS && Pair::<String, 1>::OWNS);
    assert!(List::<u8>::WORDS == 3 && List::<u8>::OWNS);
    assert!(Tagged::<String>::WORDS == 1 && !Tagged::<String>::OWNS);
    assert!(Unit::WORDS == 0 && !Unit::OWNS);
};

fn color() -> impl Strategy<Value = Color> {
    prop_oneof![Just(Color::Red), Just(Color::Green), Just(Color::Blue)]
}

fn packet() -> impl Strategy<Value = Packet> {
    let fields =
        (any::<u32>(), any::<u32>(), color(), proptest::option::of(0.0..1e9), any::<[u16; 3]>());
    fields.prop_map(|(from, size, color, sent, hops)| Packet {
        from: LpId::new(from),
        size,
        color,
        sent,
        hops,
    })
}

fn job() -> impl Strategy<Value = Job> {
    let leaf = prop_oneof![
        Just(Job::None),
        packet().prop_map(Job::One),
        (vec(packet(), 0..3), any::<(u8, bool)>()).prop_map(|(list, rest)| Job::Many(list, rest)),
    ];
    leaf.prop_recursive(3, 8, 1, |inner| {
        ("[a-z]{0,5}", any::<u8>(), inner).prop_map(|(name, number, rest)| Job::Named {
            name,
            number,
            rest: Box::new(rest),
        })
    })
}

fn list() -> impl Strategy<Value = List<u16>> {
    vec(any::<u16>(), 0..4).prop_map(|items| {
        items.into_iter().fold(List::End, |rest, item| List::Item(item, Box::new(rest)))
    })
}

/// Writes values one after the other, and reads them back from the last one to the first.
fn come_back<T: Value + PartialEq + std::fmt::Debug>(values: &[T]) {
    let mut log = UndoLog::default();
    let entries: Vec<_> = values.iter().map(|value| log.push(UndoLog::NONE, 0, 0, value)).collect();
    for (value, entry) in values.iter().zip(entries).rev() {
        assert_eq!(log.entry(entry).value::<T>(), *value);
    }
}

proptest! {
    #[test]
    fn values_come_back(
        packets in vec(packet(), 1..5),
        jobs in vec(job(), 1..5),
        pair in any::<([u64; 2], Option<u64>)>(),
        names in any::<(String, Option<String>)>(),
        lists in vec(list(), 1..5),
    ) {
        come_back(&packets);
        come_back(&jobs);
        come_back(&[Pair(pair.0, pair.1)]);
        come_back(&[Pair([names.0], names.1)]);
        come_back(&lists);
        come_back(&[Tagged(3, PhantomData::<String>)]);
        come_back(&[Unit]);
    }

    /// The memory of a value is that of the fields of its variant.
    #[test]
    fn memory_is_counted(packet in packet(), name in "[a-z]{1,20}") {
        let of_name = name.heap_bytes();
        prop_assert_eq!(packet.heap_bytes(), 0);
        prop_assert_eq!(Job::One(packet.clone()).heap_bytes(), 0);
        let named = Job::Named { name, number: 1, rest: Box::new(Job::None) };
        prop_assert_eq!(named.heap_bytes(), of_name + Box::new(Job::None).heap_bytes());
        let list = vec![packet];
        let bytes = list.heap_bytes();
        prop_assert_eq!(Job::Many(list, (0, true)).heap_bytes(), bytes);
    }
}
