//! Networks of roads as GraphML: see `warpline_fuzz::graphml`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| warpline_fuzz::graphml(data));
