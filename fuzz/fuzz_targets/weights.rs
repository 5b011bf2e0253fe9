//! Files with the weight of each LP: see `warpline_fuzz::weights`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| warpline_fuzz::weights(data));
