//! What all contexts of foreign functions begin with: where and when the function is called, its
//! parameters, and the random stream that it draws from.
//!
//! Called by [`call`](super::call), for handlers, and by [`processes`](super::processes)
//! for processes.

#![expect(unsafe_code, reason = "functions of another language draw from a stream by its words")]

use warpline::{LpId, Stream};

use super::laws::LAWS;

/// Fields of a structure that another language sees, each with its place in bytes.
macro_rules! offsets {
    ($of:ty: $($field:ident),+ $(,)?) => {
        &[$((stringify!($field), std::mem::offset_of!($of, $field))),+]
    };
}
pub(crate) use offsets;

/// The beginning of a context. Foreign functions write what `stream` points to, and read the rest.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Base {
    stream: *mut [u64; 2],
    now: f64,
    me: i64,
    constants: *const Constants,
}

/// What is the same in all calls of a model. It has a place of its own, because an event is short:
/// to write all of this into its context takes a tenth of the time of a small handler.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Constants {
    lp_count: i64,
    parameters: *const u64,
    edge: unsafe extern "C" fn(*mut Base, u64, f64) -> f64,
    draw: unsafe extern "C" fn(*mut Base, u64, f64, f64, f64, f64) -> u64,
    abscissas: *const f64,
}

// SAFETY: nobody writes the constants, nor what they point to: a table of the program, and the
// parameters, which those who make them keep as long and as they are.
unsafe impl Send for Constants {}
// SAFETY: as for `Send`.
unsafe impl Sync for Constants {}

/// Where the fields are that all contexts begin with, in bytes.
///
/// | field | |
/// |---|---|
/// | `stream` | a pointer to the two words of the LP's random stream ([`Stream::from_words`]) |
/// | `now`, `me` | the virtual time, the LP |
/// | `constants` | a pointer to what is the same in all calls ([`CONSTANTS`]) |
pub const BASE: &[(&str, usize)] = offsets!(Base: stream, now, me, constants);

/// Where the fields of the constants are, in bytes.
///
/// | field | |
/// |---|---|
/// | `lp_count` | the number of LPs |
/// | `parameters` | the parameters of the model |
/// | `abscissas`, `edge` | a table and a function for [`Stream::exponential`] |
/// | `draw` | a function that draws from a distribution, by its place among [`LAWS`] |
pub const CONSTANTS: &[(&str, usize)] = offsets!(
    Constants: lp_count, parameters, edge, draw, abscissas,
);

impl Constants {
    /// Those of a model with so many LPs. Whoever has them keeps the parameters.
    pub(crate) fn new(lps: usize, parameters: &[u64]) -> Self {
        Self {
            lp_count: lps as i64,
            parameters: parameters.as_ptr(),
            edge,
            draw,
            abscissas: Stream::exponential_abscissas().as_ptr(),
        }
    }
}

impl Base {
    #[inline]
    pub(crate) fn new(
        stream: *mut [u64; 2],
        (me, now): (LpId, f64),
        constants: *const Constants,
    ) -> Self {
        Self { stream, now, me: me.get().into(), constants }
    }

    #[inline]
    pub(crate) fn constants(&self) -> *const Constants {
        self.constants
    }

    /// Lets the stream draw that the function draws from.
    #[inline]
    fn drawing<T>(&mut self, draw: impl FnOnce(&Stream) -> T) -> T {
        // SAFETY: the words are those of the stream that the function draws from, and of nobody
        // else.
        let words = unsafe { &mut *self.stream };
        let stream = Stream::from_words(*words);
        let drawn = draw(&stream);
        *words = stream.words();
        drawn
    }
}

/// The words of a stream, where they are: it is its 128 bits of state in a `Cell`, which may be
/// written through a shared reference, and nothing else ([`check_streams`]).
#[inline]
pub(crate) fn words_of(stream: &Stream) -> *mut [u64; 2] {
    const { assert!(size_of::<Stream>() == 16 && align_of::<Stream>() >= align_of::<u64>()) };
    (&raw const *stream).cast_mut().cast()
}

/// The words of a stream lie in memory as [`Stream::words`] gives them.
pub(crate) fn check_streams() {
    let stream = Stream::from_words([5, 7]);
    // SAFETY: they are 16 initialized bytes, aligned as words are, of a stream that is borrowed
    // here alone.
    let is_as_expected = unsafe { words_of(&stream).read() == [5, 7] };
    assert!(is_as_expected, "a stream is not its two words in this build");
}

/// The rare branch of [`Stream::exponential`]. `layer` is below 256.
unsafe extern "C" fn edge(base: *mut Base, layer: u64, x: f64) -> f64 {
    // SAFETY: a function calls this with its own context, which nobody else uses meanwhile.
    let base = unsafe { &mut *base };
    base.drawing(|stream| stream.exponential_edge((layer & 0xff) as usize, x))
}

/// Draws from the distribution with this place among [`LAWS`]; zeros, if there is none.
unsafe extern "C" fn draw(base: *mut Base, law: u64, a: f64, b: f64, c: f64, d: f64) -> u64 {
    // SAFETY: a function calls this with its own context, which nobody else uses meanwhile.
    let base = unsafe { &mut *base };
    let law = LAWS.get(law as usize);
    base.drawing(|stream| law.map_or(0, |law| law.draw(stream, [a, b, c, d])))
}
