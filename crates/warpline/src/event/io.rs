//! Which kind of I/O event an event is, as a number: a small one in the bytes of a remote event and
//! in the spare bits of Time Warp's events, and a word of its own in the events of other engines.

use warpline_core::Io;

/// The code of a kind; 0 for an ordinary event.
#[inline]
pub(crate) fn io_to_code(io: Option<Io>) -> u32 {
    IoWord::from(io) as u32
}

/// The kind that has this code; `None` if no kind has it.
#[inline]
pub(crate) const fn io_from_code(code: u32) -> Option<Option<Io>> {
    match code {
        0 => Some(None),
        1 => Some(Some(Io::Blocking)),
        2 => Some(Some(Io::NonBlocking)),
        _ => None,
    }
}

/// Which kind of I/O event an event is, if it is one, in a word of its own: as its code.
///
/// So `Option` of an event has its tag in this word. If it had it in a single byte, perhaps of the
/// message, then what follows that byte would be copied by itself, by loads that begin at an odd
/// address: each waits for two stores, and these for all before them. (The sequential engine took
/// 1.06 to 1.3 times as long for an event of W1 and W8, in whichever program the compiler did so.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum IoWord {
    Ordinary = 0,
    Blocking = 1,
    NonBlocking = 2,
}

impl IoWord {
    #[inline]
    pub(crate) const fn get(self) -> Option<Io> {
        match self {
            Self::Ordinary => None,
            Self::Blocking => Some(Io::Blocking),
            Self::NonBlocking => Some(Io::NonBlocking),
        }
    }
}

impl From<Option<Io>> for IoWord {
    #[inline]
    fn from(io: Option<Io>) -> Self {
        match io {
            None => Self::Ordinary,
            Some(Io::Blocking) => Self::Blocking,
            Some(Io::NonBlocking) => Self::NonBlocking,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_go_both_ways() {
        for io in [None, Some(Io::Blocking), Some(Io::NonBlocking)] {
            assert_eq!(io_from_code(io_to_code(io)), Some(io));
            assert_eq!(IoWord::from(io).get(), io);
        }
        assert_eq!(io_from_code(3), None);
    }
}
