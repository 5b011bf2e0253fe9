//! The parameters of a model as ranks compare them before a run: all of them have to run the same.
//!
//! Called by [`Ranks::connect`](super::Ranks::connect).

use std::{
    fmt::{self, Write as _},
    hash::{DefaultHasher, Hasher as _},
};

/// The parameters of a model for comparison: the text, or, if that is long, a hash of it.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    text: String,
    /// Of the whole text.
    hash: DefaultHasher,
    len: usize,
}

impl Parameters {
    /// Longer text is not for people.
    const TEXT_MAX: usize = 1_000;

    pub(super) fn of(parameters: &dyn fmt::Debug) -> Self {
        let mut this = Self::default();
        // Only a `Debug` of the model could be what fails; what it has written is compared.
        let _ = write!(this, "{parameters:?}");
        this
    }
}

impl fmt::Write for Parameters {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.hash.write(text.as_bytes());
        self.len += text.len();
        if self.len <= Self::TEXT_MAX {
            self.text.push_str(text);
        }
        Ok(())
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug_assert!(
            self.len > Self::TEXT_MAX || self.text.len() == self.len,
            "RANK-A: ranks would compare a part of their parameters"
        );
        match (&self.text[..], self.len) {
            ("()", _) => Ok(()),
            (text, len) if len <= Self::TEXT_MAX => write!(f, ", {text}"),
            (_, len) => {
                write!(f, ", parameters of {len} bytes with the hash {:016x}", self.hash.finish())
            }
        }
    }
}
