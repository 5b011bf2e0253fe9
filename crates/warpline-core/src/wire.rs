//! How values become bytes, and bytes values, where a run spans several machines.
//!
//! A model that runs on several ranks gives a [`Wire`] for its messages and one for its summaries
//! ([`Model::wires`]); one that does not needs neither. Plain old data is copied as it lies in
//! memory; anything else goes through serde. Engines call [`Wire::write`] and [`Wire::read`],
//! nobody else does.
//!
//! # Invariants
//!
//! - **WIRE-A.** What `read` gets is not trusted: it never reads past the end of the bytes, and
//!   says so instead.
//! - **WIRE-B.** All ranks are the same build on the same kind of machine; the engines see to it
//!   when they connect. So the layout of plain old data is not part of the format.

use std::fmt;

use bytemuck::Pod;
use serde::{Serialize, de::DeserializeOwned};

use crate::{LogicalProcess, Model};

/// Bytes that do not mean a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WireError(String);

impl WireError {
    /// Says what is wrong with the bytes.
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

/// How values of one type travel.
pub struct Wire<T> {
    write: fn(&T, &mut Vec<u8>),
    read: fn(&mut &[u8]) -> Result<T, WireError>,
}

impl<T> Wire<T> {
    /// With functions of one's own. `read` takes from the front of the slice exactly what `write`
    /// has appended.
    #[must_use]
    pub const fn new(
        write: fn(&T, &mut Vec<u8>),
        read: fn(&mut &[u8]) -> Result<T, WireError>,
    ) -> Self {
        Self { write, read }
    }

    /// Plain old data: the bytes that it has in memory.
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

    /// Anything that serde can serialise (in the format of the `postcard` crate).
    #[must_use]
    pub const fn serde() -> Self
    where
        T: Serialize + DeserializeOwned,
    {
        Self::new(
            |value, bytes| {
                // The only errors are those of the type's own `Serialize`.
                let written = postcard::to_extend(value, std::mem::take(bytes));
                *bytes = written
                    .unwrap_or_else(|error| panic!("a message cannot be serialised: {error}"));
            },
            |bytes| {
                let (value, rest) = postcard::take_from_bytes(bytes)
                    .map_err(|error| WireError::new(format!("not a serialised value ({error})")))?;
                *bytes = rest;
                Ok(value)
            },
        )
    }

    /// Appends the value's bytes.
    #[inline]
    pub fn write(&self, value: &T, bytes: &mut Vec<u8>) {
        (self.write)(value, bytes);
    }

    /// Takes a value from the front of the bytes.
    ///
    /// # Errors
    ///
    /// When they are too short, or do not mean a value.
    #[inline]
    pub fn read(&self, bytes: &mut &[u8]) -> Result<T, WireError> {
        (self.read)(bytes)
    }
}

/// Takes so many bytes from the front.
///
/// # Errors
///
/// When there are fewer.
#[inline]
pub fn take_bytes<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8], WireError> {
    let (front, rest) = bytes.split_at_checked(count).ok_or_else(|| {
        WireError::new(format!("{count} bytes expected, but only {} are left", bytes.len()))
    })?;
    *bytes = rest;
    Ok(front)
}

impl<T> Clone for Wire<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Wire<T> {}

impl<T> fmt::Debug for Wire<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").finish_non_exhaustive()
    }
}

/// How everything of a model's travels between ranks.
pub struct Wires<M: Model> {
    /// What events carry.
    pub message: Wire<<M::Lp as LogicalProcess>::Message>,
    /// What is left of a process at the end: rank 0 folds it.
    pub summary: Wire<<M::Lp as LogicalProcess>::Summary>,
}

impl<M: Model> Wires<M> {
    /// Everything through serde.
    #[must_use]
    pub const fn serde() -> Self
    where
        <M::Lp as LogicalProcess>::Message: Serialize + DeserializeOwned,
        <M::Lp as LogicalProcess>::Summary: Serialize + DeserializeOwned,
    {
        Self { message: Wire::serde(), summary: Wire::serde() }
    }
}

impl<M: Model> Clone for Wires<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Model> Copy for Wires<M> {}

impl<M: Model> fmt::Debug for Wires<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wires").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    enum Message {
        Empty,
        Text(String),
        Numbers { a: u64, b: Vec<f64> },
    }

    fn message() -> impl Strategy<Value = Message> {
        let numbers = (any::<u64>(), proptest::collection::vec(-1e9..1e9f64, 0..9));
        prop_oneof![
            Just(Message::Empty),
            "[a-z]{0,9}".prop_map(Message::Text),
            numbers.prop_map(|(a, b)| Message::Numbers { a, b }),
        ]
    }

    proptest! {
        /// What is written one after the other is read back so, and nothing is left.
        #[test]
        fn gives_back_what_it_got(values in proptest::collection::vec((message(), any::<[u32; 3]>()), 0..5)) {
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

        /// Any bytes are a value or an error, never a panic.
        #[test]
        fn refuses_what_is_cut_off(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut rest = &bytes[..];
            while Wire::<Message>::serde().read(&mut rest).is_ok() && !rest.is_empty() {}
            let mut rest = &bytes[..];
            prop_assert_eq!(Wire::<[u64; 2]>::plain().read(&mut rest).is_ok(), bytes.len() >= 16);
        }
    }
}
