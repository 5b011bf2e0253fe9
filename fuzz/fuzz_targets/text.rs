//! Networks of roads as `[INTERSECTIONS]` and `[ROUTES]`: see `warpline_fuzz::text_network`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| warpline_fuzz::text_network(data));
