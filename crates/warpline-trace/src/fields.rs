//! Fields of messages of protocol buffers, as they are written: a tag, and the value.
//!
//! A field may be there once, not at all, or several times, so each method takes whatever gives
//! its values one by one: an `Option`, or a list.

use std::convert::Infallible;

use micropb::{PbEncoder, PbWrite, Tag, WIRE_TYPE_I64, WIRE_TYPE_LEN, WIRE_TYPE_VARINT};

pub(crate) trait Message {
    /// Writes the fields, in the order of their numbers.
    fn write(&self, fields: &mut Fields<'_>);
}

/// Appends fields to the bytes of a message.
pub(crate) struct Fields<'b>(pub(crate) &'b mut Vec<u8>);

impl Fields<'_> {
    /// `uint32` and `uint64`.
    pub(crate) fn uint(&mut self, number: u32, values: impl IntoIterator<Item: Into<u64>>) {
        for value in values {
            let Ok(()) = self.tag(number, WIRE_TYPE_VARINT).encode_varint64(value.into());
        }
    }

    /// `int32`, `int64`, and enumerations.
    pub(crate) fn int(&mut self, number: u32, values: impl IntoIterator<Item: Into<i64>>) {
        for value in values {
            let Ok(()) = self.tag(number, WIRE_TYPE_VARINT).encode_int64(value.into());
        }
    }

    pub(crate) fn fixed64(&mut self, number: u32, values: impl IntoIterator<Item = u64>) {
        for value in values {
            let Ok(()) = self.tag(number, WIRE_TYPE_I64).encode_fixed64(value);
        }
    }

    pub(crate) fn double(&mut self, number: u32, values: impl IntoIterator<Item = f64>) {
        for value in values {
            let Ok(()) = self.tag(number, WIRE_TYPE_I64).encode_double(value);
        }
    }

    pub(crate) fn string(&mut self, number: u32, values: impl IntoIterator<Item: AsRef<str>>) {
        for value in values {
            let Ok(()) = self.tag(number, WIRE_TYPE_LEN).encode_string(value.as_ref());
        }
    }

    pub(crate) fn message<'m, M: Message + 'm>(
        &mut self,
        number: u32,
        values: impl IntoIterator<Item = &'m M>,
    ) {
        for value in values {
            self.tag(number, WIRE_TYPE_LEN);
            let begin = self.0.len();
            value.write(self);
            // The length comes first, and is known last: it is written behind the message, and the
            // two change places. So nothing is counted or allocated for it.
            let length = self.0.len() - begin;
            let Ok(()) = PbEncoder::new(&mut *self.0).encode_varint64(length as u64);
            let prefix = self.0.len() - begin - length;
            self.0[begin..].rotate_right(prefix);
        }
    }

    /// Begins a field; its value is to follow.
    fn tag(&mut self, number: u32, wire_type: u8) -> PbEncoder<impl PbWrite<Error = Infallible>> {
        let mut encoder = PbEncoder::new(&mut *self.0);
        let Ok(()) = encoder.encode_tag(Tag::from_parts(number, wire_type));
        encoder
    }
}
