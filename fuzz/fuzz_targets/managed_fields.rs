//! Feeds all that reads managed fields with whatever comes.
#![no_main]

#[path = "../entries/managed_fields.rs"]
mod managed_fields;

libfuzzer_sys::fuzz_target!(|data: &[u8]| managed_fields::run(data));
