//! Networks of roads of SUMO: see `warpline_fuzz::sumo`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| warpline_fuzz::sumo(data));
