//! Where built programs live. Keys name everything that decides what gets built, so a changed pin
//! never meets an old program, and an old checkout still finds its own.

use std::env;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::{CONTROL_PLANE, CONTROLLERS, PEERS, Program, build};

/// The root of the cache: `OPM_TEST_CACHE`, else `opm-testkit` in the user's cache directory.
#[must_use]
pub fn cache_root() -> PathBuf {
    if let Some(dir) = env::var_os("OPM_TEST_CACHE").filter(|dir| !dir.is_empty()) {
        return PathBuf::from(dir);
    }
    let base = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|dir| dir.is_absolute());
    base.or_else(|| env::home_dir().map(|home| home.join(".cache")))
        .unwrap_or_else(env::temp_dir)
        .join("opm-testkit")
}

/// The path of a program in the cache, built or not.
pub(super) fn path(program: Program) -> PathBuf {
    let (title, set) = if PEERS.contains(&program) {
        ("peers".to_owned(), PEERS)
    } else if CONTROLLERS.contains(&program) {
        ("controllers".to_owned(), CONTROLLERS)
    } else {
        (
            format!("kubernetes-{}", Program::KubeApiserver.version()),
            CONTROL_PLANE,
        )
    };
    cache_root()
        .join(format!("{title}-{}", key(set)))
        .join("bin")
        .join(program.name())
}

/// The program out of `KUBEBUILDER_ASSETS`, which may hold only some of them.
pub(super) fn supplied(program: Program) -> Option<PathBuf> {
    let dir = env::var_os("KUBEBUILDER_ASSETS").filter(|dir| !dir.is_empty())?;
    Some(Path::new(&dir).join(program.name())).filter(|path| path.is_file())
}

fn key(set: &[Program]) -> String {
    let mut hash = Sha256::new();
    for program in set {
        let family = program.family();
        let flags = build::ldflags(family);
        let decisive = family.pins.iter().copied();
        for part in decisive.chain([program.name(), flags.as_str()]) {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
    }
    hash.update(env::consts::ARCH);
    hash.update(env::consts::OS);
    hash.finalize()
        .iter()
        .take(6)
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}
