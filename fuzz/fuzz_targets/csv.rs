//! Networks of roads as CSV: see `warpline_fuzz::csv`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| warpline_fuzz::csv(data));
