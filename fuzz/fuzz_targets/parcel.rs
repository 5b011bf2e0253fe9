//! Parcels between ranks: see `warpline_fuzz::parcel`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| warpline_fuzz::parcel(data));
