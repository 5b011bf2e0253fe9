//! Configuration files: see `warpline_fuzz::config`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| warpline_fuzz::config(data));
