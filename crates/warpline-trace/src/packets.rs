//! The parts of Perfetto's trace format that `writer` writes, as messages of protocol buffers.
//!
//! Numbers and types are those of `trace_packet.proto`, `track_event.proto`,
//! `track_descriptor.proto`, `counter_descriptor.proto`, `process_descriptor.proto`,
//! `thread_descriptor.proto`, `debug_annotation.proto` and `interned_data.proto` in
//! <https://github.com/google/perfetto/tree/main/protos/perfetto/trace>. Fields that are not
//! written are left out. An `Option` is a field that a message may be made without, by `Default`.

use crate::fields::{Fields, Message};

/// A whole file; files that are put one behind the other are one again.
pub(crate) struct Trace {
    pub(crate) packet: Vec<TracePacket>,
}

impl Message for Trace {
    fn write(&self, fields: &mut Fields<'_>) {
        fields.message(1, &self.packet);
    }
}

#[derive(Default)]
pub(crate) struct TracePacket {
    pub(crate) timestamp: Option<u64>,
    pub(crate) trusted_packet_sequence_id: Option<u32>,
    pub(crate) track_event: Option<TrackEvent>,
    pub(crate) interned_data: Option<InternedData>,
    pub(crate) sequence_flags: Option<u32>,
    pub(crate) track_descriptor: Option<TrackDescriptor>,
}

impl Message for TracePacket {
    fn write(&self, fields: &mut Fields<'_>) {
        fields.uint(8, self.timestamp);
        fields.uint(10, self.trusted_packet_sequence_id);
        fields.message(11, &self.track_event);
        fields.message(12, &self.interned_data);
        fields.uint(13, self.sequence_flags);
        fields.message(60, &self.track_descriptor);
    }
}

/// Of `sequence_flags`: names are told anew from here on; names that were told are used.
pub(crate) const NAMES_ANEW: u32 = 1;
pub(crate) const NAMES_USED: u32 = 2;

#[derive(Default)]
pub(crate) struct TrackDescriptor {
    pub(crate) uuid: Option<u64>,
    pub(crate) name: Option<String>,
    pub(crate) process: Option<ProcessDescriptor>,
    pub(crate) thread: Option<ThreadDescriptor>,
    pub(crate) parent_uuid: Option<u64>,
    pub(crate) counter: Option<CounterDescriptor>,
}

impl Message for TrackDescriptor {
    fn write(&self, fields: &mut Fields<'_>) {
        fields.uint(1, self.uuid);
        fields.string(2, &self.name);
        fields.message(3, &self.process);
        fields.message(4, &self.thread);
        fields.uint(5, self.parent_uuid);
        fields.message(8, &self.counter);
    }
}

pub(crate) struct ProcessDescriptor {
    pub(crate) pid: i32,
    pub(crate) process_name: String,
}

impl Message for ProcessDescriptor {
    fn write(&self, fields: &mut Fields<'_>) {
        fields.int(1, [self.pid]);
        fields.string(6, [&self.process_name]);
    }
}

pub(crate) struct ThreadDescriptor {
    pub(crate) pid: i32,
    pub(crate) tid: i64,
    pub(crate) thread_name: String,
}

impl Message for ThreadDescriptor {
    fn write(&self, fields: &mut Fields<'_>) {
        fields.int(1, [self.pid]);
        fields.int(2, [self.tid]);
        fields.string(5, [&self.thread_name]);
    }
}

/// Says that a track is a counter. None of its fields is written.
pub(crate) struct CounterDescriptor;

impl Message for CounterDescriptor {
    fn write(&self, _: &mut Fields<'_>) {}
}

#[derive(Default)]
pub(crate) struct TrackEvent {
    pub(crate) debug_annotations: Vec<DebugAnnotation>,
    pub(crate) r#type: Option<Type>,
    pub(crate) name_iid: Option<u64>,
    pub(crate) track_uuid: Option<u64>,
    pub(crate) double_counter_value: Option<f64>,
    pub(crate) flow_ids: Vec<u64>,
    pub(crate) terminating_flow_ids: Vec<u64>,
}

impl Message for TrackEvent {
    fn write(&self, fields: &mut Fields<'_>) {
        fields.message(4, &self.debug_annotations);
        fields.int(9, self.r#type.map(|kind| kind as i32));
        fields.uint(10, self.name_iid);
        fields.uint(11, self.track_uuid);
        fields.double(44, self.double_counter_value);
        fields.fixed64(47, self.flow_ids.iter().copied());
        fields.fixed64(48, self.terminating_flow_ids.iter().copied());
    }
}

/// What an event says about its track.
#[derive(Clone, Copy)]
pub(crate) enum Type {
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
    Counter = 4,
}

#[derive(Clone)]
pub(crate) struct DebugAnnotation {
    pub(crate) name_iid: u64,
    pub(crate) uint_value: Option<u64>,
    pub(crate) double_value: Option<f64>,
}

impl Message for DebugAnnotation {
    fn write(&self, fields: &mut Fields<'_>) {
        fields.uint(1, [self.name_iid]);
        fields.uint(3, self.uint_value);
        fields.double(5, self.double_value);
    }
}

#[derive(Default)]
pub(crate) struct InternedData {
    pub(crate) event_names: Vec<Name>,
    pub(crate) debug_annotation_names: Vec<Name>,
}

impl Message for InternedData {
    fn write(&self, fields: &mut Fields<'_>) {
        fields.message(2, &self.event_names);
        fields.message(3, &self.debug_annotation_names);
    }
}

/// A name that other packets refer to by its number.
pub(crate) struct Name {
    pub(crate) iid: u64,
    pub(crate) name: String,
}

impl Message for Name {
    fn write(&self, fields: &mut Fields<'_>) {
        fields.uint(1, [self.iid]);
        fields.string(2, [&self.name]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet with every field, whose lengths have one byte or two, and one with none.
    fn packets() -> Vec<TracePacket> {
        let event = TrackEvent {
            debug_annotations: vec![
                DebugAnnotation { name_iid: 1, uint_value: Some(300), double_value: None },
                DebugAnnotation { name_iid: 2, uint_value: None, double_value: Some(1.5) },
            ],
            r#type: Some(Type::Counter),
            name_iid: Some(5),
            track_uuid: Some(6),
            double_counter_value: Some(-0.25),
            flow_ids: vec![7, 1 << 56],
            terminating_flow_ids: vec![8],
        };
        let names = InternedData {
            event_names: vec![Name { iid: 9, name: "é".to_owned() }],
            debug_annotation_names: vec![Name { iid: 10, name: String::new() }],
        };
        let track = TrackDescriptor {
            uuid: Some(u64::MAX),
            name: Some("n".repeat(200)),
            process: Some(ProcessDescriptor { pid: -1, process_name: "p".to_owned() }),
            thread: Some(ThreadDescriptor { pid: 1, tid: 1 << 20, thread_name: "t".to_owned() }),
            parent_uuid: Some(0),
            counter: Some(CounterDescriptor),
        };
        let packet = TracePacket {
            timestamp: Some(1000),
            trusted_packet_sequence_id: Some(1),
            track_event: Some(event),
            interned_data: Some(names),
            sequence_flags: Some(NAMES_USED),
            track_descriptor: Some(track),
        };
        vec![packet, TracePacket::default()]
    }

    /// The bytes are those that another library wrote for these packets.
    #[test]
    fn every_field_is_written() {
        let event: [&[u8]; 8] = [
            b"\x5a\x42",                                 // track_event, of 66 bytes
            b"\x22\x05\x08\x01\x18\xac\x02",             // debug_annotations: 1, 300
            b"\x22\x0b\x08\x02\x29\0\0\0\0\0\0\xf8\x3f", // debug_annotations: 2, 1.5
            b"\x48\x04\x50\x05\x58\x06",                 // type, name_iid, track_uuid
            b"\xe1\x02\0\0\0\0\0\0\xd0\xbf",             // double_counter_value
            b"\xf9\x02\x07\0\0\0\0\0\0\0",               // flow_ids
            b"\xf9\x02\0\0\0\0\0\0\0\x01",               // flow_ids
            b"\x81\x03\x08\0\0\0\0\0\0\0",               // terminating_flow_ids
        ];
        let names: [&[u8]; 3] = [
            b"\x62\x0e",                         // interned_data, of 14 bytes
            b"\x12\x06\x08\x09\x12\x02\xc3\xa9", // event_names
            b"\x1a\x04\x08\x0a\x12\x00",         // debug_annotation_names
        ];
        let name = "n".repeat(200);
        let track: [&[u8]; 8] = [
            b"\xe2\x03\xf5\x01",                             // track_descriptor, of 245 bytes
            b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", // uuid
            b"\x12\xc8\x01",                                 // name, of 200 bytes
            name.as_bytes(),
            b"\x1a\x0e\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x32\x01p", // process
            b"\x22\x09\x08\x01\x10\x80\x80\x40\x2a\x01t",                     // thread
            b"\x28\x00",                                                      // parent_uuid
            b"\x42\x00",                                                      // counter
        ];
        let expected: [&[u8]; 7] = [
            b"\x0a\xd4\x02",         // packet, of 340 bytes
            b"\x40\xe8\x07\x50\x01", // timestamp, trusted_packet_sequence_id
            &event.concat(),
            &names.concat(),
            b"\x68\x02", // sequence_flags
            &track.concat(),
            b"\x0a\x00", // packet
        ];
        let mut bytes = Vec::new();
        Trace { packet: packets() }.write(&mut Fields(&mut bytes));
        assert_eq!(bytes, expected.concat());
    }
}
