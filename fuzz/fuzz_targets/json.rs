//! Networks of roads as JSON (node-link): see `warpline_fuzz::json`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| warpline_fuzz::json(data));
