//! Bytes that no runtime would send, given to one: MESSAGE-A and HAND-A.

use proptest::{collection::vec, prelude::*};
use warpline_net::{Address, Aggregation, NetError, Parcel, Transport, network};

use super::{
    Place, Refusal, Runtime, RuntimeError,
    message::{Message, PHASE},
    worker::KIND,
};

/// The parts of a message.
type Parts = (u8, [u64; 4], Vec<u8>, Vec<u8>);

fn parts() -> impl Strategy<Value = Parts> {
    let number = || prop_oneof![4 => 0u64..4, 1 => any::<u64>()];
    (
        0u8..14,
        [number(), number(), number(), number()],
        vec(any::<u8>(), 0..9),
        vec(any::<u8>(), 0..20),
    )
}

fn message((kind, numbers, args, block): &Parts) -> Message<'_> {
    let &[ticket, b, c, d] = numbers;
    let (region, thread) = (b as u32, d as u32);
    match kind {
        0 => Message::Put { ticket, region, offset: c, block },
        1 => Message::Get { ticket, region, offset: c, len: d },
        2 => Message::Invoke { ticket, thread, args },
        3 => Message::Store { ticket, region, offset: c, thread, args, block },
        4 => Message::Barrier { ticket, number: b },
        5 => Message::Answer { ticket, block },
        6 => Message::Refused { ticket, what: Refusal::Region(region) },
        7 => Message::Refused { ticket, what: Refusal::Range { region, bytes: c } },
        8 => Message::Refused { ticket, what: Refusal::Thread(thread) },
        9 => Message::Probe { wave: ticket },
        10 => Message::Report { wave: ticket, sent: b, received: c, waiting: d },
        11 => Message::Stop { waiting: ticket },
        12 => Message::Failed { what: args },
        _ => Message::Left,
    }
}

/// A few messages, perhaps with one byte changed or the end cut off.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let spoiled = (vec(parts(), 0..5), any::<(bool, u8, prop::sample::Index)>(), 0usize..3);
    let spoiled = spoiled.prop_map(|(messages, (later, flip, place), cut)| {
        let mut bytes = Vec::new();
        let phase = if later { PHASE } else { 0 };
        messages.iter().for_each(|parts| message(parts).write(phase, &mut bytes));
        bytes.truncate(bytes.len().saturating_sub(cut));
        if flip > 127 && !bytes.is_empty() {
            let place = place.index(bytes.len());
            bytes[place] ^= flip;
        }
        bytes
    });
    prop_oneof![4 => spoiled, 1 => vec(any::<u8>(), 0..40)]
}

proptest! {
    #[test]
    fn what_is_written_is_read(messages in vec(parts(), 1..5), later: bool) {
        let (mut bytes, phase) = (Vec::new(), if later { PHASE } else { 0 });
        let mut start = 0;
        for parts in &messages {
            start = bytes.len();
            message(parts).write(phase, &mut bytes);
        }
        let mut left = &bytes[..];
        for parts in &messages {
            prop_assert_eq!(Message::read(phase, &mut left), Ok(message(parts)));
        }
        prop_assert!(left.is_empty());
        for end in start..bytes.len() {
            prop_assert!(Message::read(phase, &mut &bytes[start..end]).is_err());
        }
    }

    #[test]
    fn any_bytes_are_messages_or_an_error(bytes in vec(any::<u8>(), 0..60)) {
        let mut left: &[u8] = &bytes;
        while !left.is_empty() && Message::read(0, &mut left).is_ok() {}
    }

    /// A number of more than 64 bits is refused.
    #[test]
    fn numbers_do_not_wrap(over in 2u8..) {
        let mut bytes = Vec::new();
        Message::Probe { wave: u64::MAX }.write(0, &mut bytes);
        prop_assert_eq!(bytes.pop(), Some(1));
        bytes.push(over);
        prop_assert!(Message::read(0, &mut &bytes[..]).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// HAND-A: a run ends, and never by a panic, when a worker gets such parcels; so does the next
    /// run. This holds for the root and for other workers, whatever they wait for.
    #[test]
    fn a_run_ends_whatever_arrives(
        rank in 0usize..2,
        bodies in vec((prop_oneof![9 => Just(KIND), 1 => any::<u16>()], 0usize..3, body()), 1..6),
    ) {
        let ends = network(2, 2);
        let here = Address { rank, port: 0 };
        let mut runtime = Runtime::new(&ends[rank], 0, Aggregation::Off);
        let region = runtime.register(0, vec![0u32; 2]);
        runtime.register_thread(0, |_, _, args| async { args });
        let there = Address { rank: 1 - rank, port: 0 };
        let get = runtime.get::<u32>(Place { worker: there, region: 0, offset: 0 }, 2);
        let waited = (runtime.invoke(there, 0, &[1]), runtime.barrier());
        for (kind, port, body) in &bodies {
            ends[1 - rank].send(here, Parcel::with_body(*kind, *port, body)).unwrap();
        }
        for phase in [0, PHASE] {
            let mut left = Vec::new();
            Message::Left.write(phase, &mut left);
            ends[1 - rank].send(here, Parcel::with_body(KIND, 0, &left)).unwrap();
        }
        let ended = [runtime.run(), runtime.run()];
        prop_assert!(ended[1].is_err(), "{ended:?}");
        prop_assert!(get.take().is_none_or(|got| got.is_err() || got.unwrap().len() == 2));
        drop(waited);
        region.with(|block| assert_eq!(block.len(), 2));
    }
}

/// A valid message is refused if its sender may not send it to this worker.
#[test]
fn roles_are_kept() {
    let answer = Message::Answer { ticket: 0, block: &[] };
    let stop = Message::Stop { waiting: 0 };
    let report = Message::Report { wave: 1, sent: 0, received: 0, waiting: 0 };
    let cases = [
        (0, 1, answer),
        (0, 1, stop),
        (0, 1, Message::Probe { wave: 1 }),
        (0, 1, Message::Report { wave: 9, sent: 0, received: 0, waiting: 0 }),
        (1, 2, stop),
        (1, 2, Message::Probe { wave: 1 }),
        (1, 0, report),
        (1, 0, Message::Barrier { ticket: 0, number: 0 }),
    ];
    for (rank, from, message) in cases {
        let ends = network(3, 1);
        let mut body = Vec::new();
        message.write(0, &mut body);
        let here = Address { rank, port: 0 };
        ends[from].send(here, Parcel::with_body(KIND, 0, &body)).unwrap();
        let ended = Runtime::new(&ends[rank], 0, Aggregation::Off).run();
        let Err(RuntimeError::Net(NetError::Malformed { from: sender, .. })) = ended else {
            panic!("{message:?} from {from} to {rank}: {ended:?}");
        };
        assert_eq!(sender, from);
    }
}
