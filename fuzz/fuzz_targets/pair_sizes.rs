//! Files with the sizes of partitioned pools: see `warpline_fuzz::pair_sizes`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| warpline_fuzz::pair_sizes(data));
