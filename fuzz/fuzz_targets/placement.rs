//! Files with the worker of each LP: see `warpline_fuzz::placement`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| warpline_fuzz::placement(data));
