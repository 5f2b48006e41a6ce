//! The `opm` command: what was typed becomes settings, settings become a request, and one
//! module prints the answer.

fn main() {}
