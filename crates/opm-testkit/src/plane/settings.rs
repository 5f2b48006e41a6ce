//! The registry of environment variables and fixed places of the shared control plane.

use std::env;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::Purpose;
use crate::programs::cache_root;

/// How long a control plane that nobody uses waits for its next user: test binaries of one
/// `cargo test` follow each other with a gap.
pub(super) fn linger() -> Duration {
    let seconds = env::var("OPM_TEST_LINGER")
        .ok()
        .and_then(|text| text.parse().ok());
    Duration::from_secs_f64(seconds.unwrap_or(2.0))
}

/// A directory that receives the logs of a control plane when it stops.
pub(super) fn keep_logs() -> Option<PathBuf> {
    env::var_os("OPM_TEST_LOGS")
        .filter(|dir| !dir.is_empty())
        .map(PathBuf::from)
}

/// The supervisor program, if somebody built it already.
pub(super) fn supervisor() -> Option<PathBuf> {
    env::var_os("OPM_TEST_SUPERVISOR")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
}

/// The socket of this work tree's control plane for a purpose. Two work trees never share one, as
/// their pins may differ. `OPM_TEST_PLANE` names another plane beside it.
pub(super) fn socket(purpose: Purpose) -> PathBuf {
    let mut hash = Sha256::new();
    hash.update(purpose.argument());
    hash.update(env!("CARGO_MANIFEST_DIR"));
    hash.update(cache_root().as_os_str().as_encoded_bytes());
    hash.update(
        env::var_os("OPM_TEST_PLANE")
            .unwrap_or_default()
            .as_encoded_bytes(),
    );
    let mut name = "opm-testkit-".to_owned();
    for byte in hash.finalize().iter().take(6) {
        let _ = write!(name, "{byte:02x}");
    }
    env::temp_dir().join(name + ".sock")
}

/// Held while a supervisor is started, or takes its socket away.
pub(super) fn start_lock() -> PathBuf {
    cache_root().join("start.lock")
}
