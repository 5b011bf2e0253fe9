//! ISCAS `.bench` files: see `warpline_fuzz::bench`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| warpline_fuzz::bench(data));
