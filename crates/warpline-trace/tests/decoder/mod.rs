//! A trace, read back: the wire format by the decoder of `micropb`, and the fields by the numbers
//! in Perfetto's `.proto` files. Nothing here comes from the code that writes traces, which uses
//! the encoder of the same library.

use std::collections::BTreeMap;

use micropb::{PbDecoder, Presence, WIRE_TYPE_I64, WIRE_TYPE_LEN, WIRE_TYPE_VARINT};

/// A field of a message.
#[derive(Clone, Debug)]
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

/// The fields of a message, by number, in the order in which they came.
struct Fields(Vec<(u32, Field)>);

impl Fields {
    fn read(bytes: &[u8]) -> Self {
        let (mut input, mut fields) = (PbDecoder::new(bytes), Vec::new());
        while input.bytes_read() < bytes.len() {
            let tag = input.decode_tag().expect("a tag");
            let field = match tag.wire_type() {
                WIRE_TYPE_VARINT => Field::Number(input.decode_varint64().expect("a number")),
                WIRE_TYPE_I64 => Field::Number(input.decode_fixed64().expect("8 bytes")),
                WIRE_TYPE_LEN => {
                    let mut bytes = Vec::new();
                    input.decode_bytes(&mut bytes, Presence::Explicit).expect("bytes");
                    Field::Bytes(bytes)
                }
                other => panic!("no field of a trace is of type {other}"),
            };
            fields.push((tag.field_num(), field));
        }
        Self(fields)
    }

    fn numbers(&self, number: u32) -> Vec<u64> {
        let of = |field: &(u32, Field)| match field {
            (found, Field::Number(value)) if *found == number => Some(*value),
            _ => None,
        };
        self.0.iter().filter_map(of).collect()
    }

    fn number(&self, number: u32) -> Option<u64> {
        self.numbers(number).last().copied()
    }

    fn messages(&self, number: u32) -> Vec<Self> {
        let of = |field: &(u32, Field)| match field {
            (found, Field::Bytes(bytes)) if *found == number => Some(Self::read(bytes)),
            _ => None,
        };
        self.0.iter().filter_map(of).collect()
    }

    fn message(&self, number: u32) -> Option<Self> {
        self.messages(number).pop()
    }

    fn text(&self, number: u32) -> Option<String> {
        self.0.iter().rev().find_map(|field| match field {
            (found, Field::Bytes(bytes)) if *found == number => {
                Some(String::from_utf8(bytes.clone()).expect("text"))
            }
            _ => None,
        })
    }
}

/// A slice, or an instant, which ends where it begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slice {
    pub(crate) track: u64,
    pub(crate) name: String,
    pub(crate) is_instant: bool,
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// The slice around it.
    pub(crate) parent: Option<usize>,
    /// By name; numbers as they are, and bits of floating-point ones.
    pub(crate) arguments: BTreeMap<String, u64>,
}

impl Slice {
    pub(crate) fn events(&self) -> u64 {
        self.argument("events")
    }

    /// An argument that is a number, or 0.
    pub(crate) fn argument(&self, name: &str) -> u64 {
        self.arguments.get(name).copied().unwrap_or(0)
    }
}

/// A trace.
#[derive(Default)]
pub(crate) struct Decoded {
    /// The names of tracks; those of processes and threads, too.
    pub(crate) tracks: BTreeMap<u64, String>,
    pub(crate) parents: BTreeMap<u64, u64>,
    pub(crate) slices: Vec<Slice>,
    /// By number: the slices in which each flow begins, and those in which it ends.
    pub(crate) flows: BTreeMap<u64, (Vec<usize>, Vec<usize>)>,
    /// By track.
    pub(crate) values: BTreeMap<u64, Vec<f64>>,
    names: BTreeMap<u64, String>,
    argument_names: BTreeMap<u64, String>,
    open: BTreeMap<u64, Vec<usize>>,
}

impl Decoded {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let mut trace = Self::default();
        // Trace.packet
        let packets = Fields::read(bytes).messages(1);
        for (number, packet) in packets.iter().enumerate() {
            // TracePacket.sequence_flags: names are told anew in the first packet.
            let flags = packet.number(13).unwrap_or(0);
            assert_eq!(flags & 1 == 1, number == 0, "packet {number}");
            // TracePacket.interned_data
            if let Some(names) = packet.message(12) {
                trace.take_names(&names);
            }
            // TracePacket.track_descriptor
            if let Some(descriptor) = packet.message(60) {
                trace.take_track(&descriptor);
            }
            // TracePacket.track_event, timestamp
            if let Some(event) = packet.message(11) {
                trace.take_event(&event, packet.number(8).expect("a time"));
            }
        }
        assert!(trace.open.values().all(Vec::is_empty), "PERFETTO-A: a slice does not end");
        trace
    }

    fn take_names(&mut self, names: &Fields) {
        let read =
            |name: Fields| (name.number(1).expect("a number"), name.text(2).expect("a name"));
        self.names.extend(names.messages(2).into_iter().map(read));
        self.argument_names.extend(names.messages(3).into_iter().map(read));
    }

    fn take_track(&mut self, descriptor: &Fields) {
        let uuid = descriptor.number(1).expect("a number");
        let process = descriptor.message(3).and_then(|process| process.text(6));
        let thread = descriptor.message(4).and_then(|thread| thread.text(5));
        let name = descriptor.text(2).or(process).or(thread).expect("a name");
        assert_eq!(self.tracks.insert(uuid, name), None, "a track is made once");
        self.parents.extend(descriptor.number(5).map(|parent| (uuid, parent)));
    }

    fn take_event(&mut self, event: &Fields, at: u64) {
        let track = event.number(11).expect("a track");
        assert!(self.tracks.contains_key(&track), "a track is made before it is used");
        let (name, kind) = (event.number(10), event.number(9).expect("a type"));
        let open = self.open.entry(track).or_default();
        let place = match kind {
            // TYPE_SLICE_BEGIN, TYPE_INSTANT
            1 | 3 => {
                let parent = open.last().copied();
                let name = self.names[&name.expect("a name")].clone();
                let slice = Slice {
                    track,
                    name,
                    is_instant: kind == 3,
                    begin: at,
                    end: at,
                    parent,
                    ..Slice::default()
                };
                if kind == 1 {
                    open.push(self.slices.len());
                }
                self.slices.push(slice);
                self.slices.len() - 1
            }
            // TYPE_SLICE_END
            2 => {
                let place = open.pop().expect("PERFETTO-A: an end has its beginning");
                self.slices[place].end = at;
                place
            }
            // TYPE_COUNTER
            4 => {
                let value = f64::from_bits(event.number(44).expect("a value"));
                return self.values.entry(track).or_default().push(value);
            }
            other => panic!("an event of type {other}"),
        };
        for argument in event.messages(4) {
            let name = &self.argument_names[&argument.number(1).expect("a name")];
            let value = argument.number(3).or(argument.number(5)).expect("a value");
            self.slices[place].arguments.insert(name.clone(), value);
        }
        for flow in event.numbers(47) {
            self.flows.entry(flow).or_default().0.push(place);
        }
        for flow in event.numbers(48) {
            self.flows.entry(flow).or_default().1.push(place);
        }
    }

    /// Slices whose name begins so.
    pub(crate) fn named(&self, name: &str) -> impl Iterator<Item = &Slice> {
        self.slices.iter().filter(move |slice| slice.name.starts_with(name))
    }

    /// How many events they had, all in all.
    pub(crate) fn events(&self, name: &str) -> u64 {
        self.named(name).map(Slice::events).sum()
    }

    /// All values of the counters of that name.
    pub(crate) fn values_of(&self, name: &str) -> Vec<f64> {
        let of = |(track, values): (&u64, &Vec<f64>)| {
            (self.tracks[track] == name).then(|| values.clone())
        };
        self.values.iter().filter_map(of).flatten().collect()
    }
}
