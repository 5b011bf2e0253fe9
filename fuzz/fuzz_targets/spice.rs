//! SPICE decks: see `warpline_fuzz::spice`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| warpline_fuzz::spice(data));
