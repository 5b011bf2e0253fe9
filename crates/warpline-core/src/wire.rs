//! How messages and summaries become bytes and are read back, for runs on several ranks.
//!
//! A model that runs on several ranks has a [`Wire`] for its messages and one for its summaries
//! ([`Model::wires`](crate::Model::wires)); other models need neither. Plain old data is copied as
//! it lies in memory, and anything else goes through serde. Only engines call [`Wire::write`] and
//! [`Wire::read`].
//!
//! # Invariants
//!
//! - **WIRE-A.** `read` does not trust its input: it never reads past the end of the bytes, and
//!   returns an error instead.
//! - **WIRE-B.** All ranks run the same program on the same kind of machine, so the layout of plain
//!   old data is not part of the format. When ranks connect, engines compare the version, the
//!   model, the size of its messages and the settings; they cannot compare the machines.

use std::fmt;

use bytemuck::Pod;
use serde::{Serialize, de::DeserializeOwned};

/// An error: the bytes do not represent a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WireError(String);

impl WireError {
    /// An error that says what is wrong with the bytes.
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

/// How values of one type are written and read.
pub struct Wire<T> {
    functions: Functions<T>,
}

enum Functions<T> {
    Fixed { write: Write<T>, read: Read<T> },
    Sized { size: usize, write: WriteSized<T>, read: ReadSized<T> },
}

type Write<T> = fn(&T, &mut Vec<u8>);
type Read<T> = fn(&mut &[u8]) -> Result<T, WireError>;
type WriteSized<T> = fn(&T, usize, &mut Vec<u8>);
type ReadSized<T> = fn(&mut &[u8], usize) -> Result<T, WireError>;

impl<T> Wire<T> {
    /// Uses these functions. `read` must take exactly the bytes that `write` appended from the
    /// front of the slice.
    #[must_use]
    pub const fn new(write: Write<T>, read: Read<T>) -> Self {
        Self { functions: Functions::Fixed { write, read } }
    }

    /// Uses these functions, and passes them a size that is known only when the model is made: for
    /// messages of which only a part is used.
    #[must_use]
    pub const fn sized(size: usize, write: WriteSized<T>, read: ReadSized<T>) -> Self {
        Self { functions: Functions::Sized { size, write, read } }
    }

    /// Copies plain old data as it lies in memory.
    #[must_use]
    pub const fn plain() -> Self
    where
        T: Pod,
    {
        Self::new(
            |value, bytes| bytes.extend_from_slice(bytemuck::bytes_of(value)),
            |bytes| {
                let whole = take_bytes(bytes, size_of::<T>())?;
                Ok(bytemuck::pod_read_unaligned(whole))
            },
        )
    }

    /// Uses serde, in the format of the `postcard` crate.
    #[must_use]
    pub const fn serde() -> Self
    where
        T: Serialize + DeserializeOwned,
    {
        Self::new(
            |value, bytes| {
                // Only the `Serialize` of the type itself can fail.
                let written = postcard::to_extend(value, std::mem::take(bytes));
                *bytes =
                    written.unwrap_or_else(|error| panic!("a value cannot be serialized: {error}"));
            },
            |bytes| {
                let (value, rest) = postcard::take_from_bytes(bytes)
                    .map_err(|error| WireError::new(format!("not a serialized value ({error})")))?;
                *bytes = rest;
                Ok(value)
            },
        )
    }

    /// Appends the bytes of the value.
    #[inline]
    pub fn write(&self, value: &T, bytes: &mut Vec<u8>) {
        match self.functions {
            Functions::Fixed { write, .. } => write(value, bytes),
            Functions::Sized { size, write, .. } => write(value, size, bytes),
        }
    }

    /// Takes a value from the front of the bytes.
    ///
    /// # Errors
    ///
    /// If they are too few, or do not represent a value.
    #[inline]
    pub fn read(&self, bytes: &mut &[u8]) -> Result<T, WireError> {
        match self.functions {
            Functions::Fixed { read, .. } => read(bytes),
            Functions::Sized { size, read, .. } => read(bytes, size),
        }
    }
}

/// Takes `count` bytes from the front.
///
/// # Errors
///
/// If there are fewer.
#[inline]
pub fn take_bytes<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8], WireError> {
    let (front, rest) = bytes.split_at_checked(count).ok_or_else(|| {
        WireError::new(format!("{count} bytes expected, but only {} are left", bytes.len()))
    })?;
    *bytes = rest;
    Ok(front)
}

/// Appends words, each with its lowest byte first.
#[inline]
pub fn append_words<const N: usize>(bytes: &mut Vec<u8>, words: [u64; N]) {
    append(bytes, &words);
}

/// Does so with any number of words: compiled once.
fn append(bytes: &mut Vec<u8>, words: &[u64]) {
    bytes.reserve(size_of_val(words));
    for word in words {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
}

/// Takes words that [`append_words`] has written from the front.
///
/// # Errors
///
/// If there are fewer bytes.
#[inline]
pub fn take_words<const N: usize>(bytes: &mut &[u8]) -> Result<[u64; N], WireError> {
    let mut words = [0; N];
    for (word, bytes) in words.iter_mut().zip(take_bytes(bytes, 8 * N)?.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    Ok(words)
}

impl<T> Clone for Wire<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Wire<T> {}

impl<T> Clone for Functions<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Functions<T> {}

impl<T> fmt::Debug for Wire<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};
    use serde::Deserialize;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    enum Message {
        Empty,
        Text(String),
        Numbers { a: u64, b: Vec<f64> },
    }

    fn message() -> impl Strategy<Value = Message> {
        let numbers = (any::<u64>(), vec(-1e9..1e9f64, 0..9));
        prop_oneof![
            Just(Message::Empty),
            "[a-z]{0,9}".prop_map(Message::Text),
            numbers.prop_map(|(a, b)| Message::Numbers { a, b }),
        ]
    }

    proptest! {
        /// Values are read back in the order in which they were written, and no bytes are left.
        #[test]
        fn reads_what_it_wrote(values in vec((message(), any::<[u32; 3]>()), 0..5)) {
            let (rich, plain) = (Wire::serde(), Wire::plain());
            let mut bytes = Vec::new();
            for (a, b) in &values {
                rich.write(a, &mut bytes);
                plain.write(b, &mut bytes);
            }
            let mut rest = &bytes[..];
            for (a, b) in &values {
                prop_assert_eq!(&rich.read(&mut rest).unwrap(), a);
                prop_assert_eq!(&plain.read(&mut rest).unwrap(), b);
            }
            prop_assert!(rest.is_empty());
        }

        /// WIRE-A: any bytes are a value or an error, never a panic.
        #[test]
        fn any_bytes_are_a_value_or_an_error(bytes in vec(any::<u8>(), 0..40)) {
            let mut rest = &bytes[..];
            while Wire::<Message>::serde().read(&mut rest).is_ok() && !rest.is_empty() {}
            let mut rest = &bytes[..];
            prop_assert_eq!(Wire::<[u64; 2]>::plain().read(&mut rest).is_ok(), bytes.len() >= 16);
        }
    }
}
