//! Other programs, run within bounds: `cue`, `helm` and whatever else makes objects of files.
//!
//! `find` says which file a program is, `checked` whether it is known to do, `run` runs it bounded
//! in time, memory and output, `private_dir` is where it finds what is not the module's. What a
//! program is for is its caller's to know.

mod checked;
mod find;
mod private_dir;
mod run;

pub use find::{ProgramError, find_program};
pub use run::{CommandError, Limits};

pub(crate) use checked::once;
pub(crate) use find::find;
pub(crate) use private_dir::{LOCK, PrivateDir};
pub(crate) use run::{Environment, Invocation, ProgramOutput};
