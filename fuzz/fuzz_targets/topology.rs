//! Topologies of packet networks: see `warpline_fuzz::topology`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| warpline_fuzz::topology(data));
