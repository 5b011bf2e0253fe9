//! Which kind of I/O event an event is, as a small number: in the bytes of a remote event, and in
//! the spare bits of Time Warp's events.

use warpline_core::Io;

/// The code of a kind; 0 for an ordinary event.
#[inline]
pub(crate) const fn io_to_code(io: Option<Io>) -> u32 {
    match io {
        None => 0,
        Some(Io::Blocking) => 1,
        Some(Io::NonBlocking) => 2,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_go_both_ways() {
        for io in [None, Some(Io::Blocking), Some(Io::NonBlocking)] {
            assert_eq!(io_from_code(io_to_code(io)), Some(io));
        }
        assert_eq!(io_from_code(3), None);
    }
}
