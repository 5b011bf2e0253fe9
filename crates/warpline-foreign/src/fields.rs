//! The fields of a state, for texts: the reverse check names the one that is not restored.
//!
//! Called by [`model`](super::model).

use std::fmt;

/// A field of a state.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// What kind of number it is.
    pub kind: Number,
    /// Where it begins in the state, in bytes.
    pub offset: usize,
    /// How many numbers it has, if it is an array.
    pub length: Option<usize>,
}

/// A kind of numbers, in the byte order of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are the types of Rust")]
pub enum Number {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

impl Number {
    const fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// The number that these bytes begin with.
    fn read(self, bytes: &[u8]) -> Option<Box<dyn fmt::Debug>> {
        macro_rules! read {
            ($($kind:ident $number:ty,)*) => {
                match self {
                    $(Self::$kind => Box::new(<$number>::from_ne_bytes(*bytes.first_chunk()?)),)*
                }
            };
        }
        Some(read! {
            I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64,
        })
    }
}

/// A state, with its fields, as derived `Debug` shows a struct.
pub(crate) struct Shown<'a> {
    pub(crate) fields: &'a [Field],
    pub(crate) words: &'a [u64],
}

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut shown = f.debug_struct("State");
        for field in self.fields {
            let numbers = bytes.get(field.offset..).unwrap_or_default();
            let mut numbers = numbers.chunks(field.kind.size()).map_while(|n| field.kind.read(n));
            match (field.length, numbers.next()) {
                (None, Some(number)) => shown.field(&field.name, &number),
                (length, first) => {
                    let length = length.unwrap_or(1);
                    let numbers: Vec<_> = first.into_iter().chain(numbers).take(length).collect();
                    shown.field(&field.name, &numbers)
                }
            };
        }
        shown.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mutation: `read` takes the size of another kind.
    #[test]
    fn fields_are_shown_by_name() {
        let field = |name: &str, kind, offset, length| Field {
            name: name.to_owned(),
            kind,
            offset,
            length,
        };
        let fields = [
            field("level", Number::F64, 0, None),
            field("small", Number::I16, 8, Some(2)),
            field("last", Number::U32, 12, None),
            field("none", Number::U64, 16, Some(0)),
        ];
        let words = [1.5_f64.to_bits(), u64::from_le(0x0000_0007_0002_ffff)];
        let shown = format!("{:?}", Shown { fields: &fields, words: &words });
        assert_eq!(shown, "State { level: 1.5, small: [-1, 2], last: 7, none: [] }");
    }
}
