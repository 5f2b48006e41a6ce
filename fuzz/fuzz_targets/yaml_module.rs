//! Feeds the reader of YAML and of modules with whatever comes.
#![no_main]

#[path = "../entries/yaml_module.rs"]
mod yaml_module;

libfuzzer_sys::fuzz_target!(|data: &[u8]| yaml_module::run(data));
