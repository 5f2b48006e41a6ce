//! The `opm` command. Everything it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    opm_cli::run(std::env::args_os())
}
