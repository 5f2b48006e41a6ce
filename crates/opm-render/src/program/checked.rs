//! Which programs are known to do: each is asked for its version once per process.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A program as it was when it was asked: another file in its place is asked again.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct CheckedProgram {
    path: PathBuf,
    /// What was asked for, such as a version.
    need: String,
    file: (u64, u64, u64),
    changed: (i64, i64),
}

static CHECKED: Mutex<BTreeSet<CheckedProgram>> = Mutex::new(BTreeSet::new());

/// Runs a check of a program, unless it has passed it before. A check that failed is made again.
pub(crate) fn once<E>(
    program: &Path,
    need: &str,
    check: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    let Ok(meta) = program.metadata() else {
        return check();
    };
    let checked = CheckedProgram {
        path: program.to_owned(),
        need: need.to_owned(),
        file: (meta.dev(), meta.ino(), meta.size()),
        changed: (meta.ctime(), meta.ctime_nsec()),
    };
    let all = || CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    if all().contains(&checked) {
        return Ok(());
    }
    check()?;
    all().insert(checked);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_program_is_asked_once_until_it_is_another() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("tool");
        std::fs::write(&program, "1").unwrap();
        let asked = Cell::new(0);
        let ask = |need: &str, answer: Result<(), ()>| {
            let check = || {
                asked.set(asked.get() + 1);
                answer
            };
            once(&program, need, check)
        };
        assert_eq!(ask("1.0", Err(())), Err(()));
        assert_eq!(ask("1.0", Ok(())), Ok(()));
        assert_eq!(ask("1.0", Err(())), Ok(()), "it was asked before");
        assert_eq!(asked.get(), 2);
        assert_eq!(ask("2.0", Err(())), Err(()), "another need");
        std::fs::write(&program, "another").unwrap();
        assert_eq!(ask("1.0", Err(())), Err(()), "another program");
        std::fs::remove_file(&program).unwrap();
        assert_eq!(ask("1.0", Err(())), Err(()), "none at all");
    }
}
