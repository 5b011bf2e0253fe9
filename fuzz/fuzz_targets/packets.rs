//! Files of packets: see `warpline_fuzz::packets`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| warpline_fuzz::packets(data));
