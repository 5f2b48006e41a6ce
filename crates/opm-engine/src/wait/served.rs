//! Waiting until the server serves kinds whose definitions were just applied.

use std::time::Duration;

use opm_core::identity::GroupKind;

use crate::ports::{ApiError, Permit, ServedKinds};
use crate::run::Run;

/// How often discovery is asked.
const ASK_AGAIN: Duration = Duration::from_millis(100);

impl Run<'_> {
    /// Waits until the server serves these kinds in these versions, and answers with those that
    /// it still does not serve when the time is over.
    pub(crate) async fn wait_served(
        &self,
        wanted: &[(GroupKind, String)],
        timeout: Duration,
        permit: Permit<'_>,
    ) -> Result<Vec<(GroupKind, String)>, ApiError> {
        let started = self.backend.monotonic();
        loop {
            if wanted.is_empty() {
                return Ok(Vec::new());
            }
            let served = self.backend.served().await?;
            let missing: Vec<_> = wanted
                .iter()
                .filter(|(kind, version)| !serves(&served, kind, version))
                .cloned()
                .collect();
            let elapsed = self.backend.monotonic().0.saturating_sub(started.0);
            if missing.is_empty() || elapsed >= timeout {
                return Ok(missing);
            }
            self.unless_stopped(permit, self.backend.sleep(ASK_AGAIN))
                .await
                .map_err(ApiError::stopped)?;
        }
    }
}

fn serves(served: &ServedKinds, kind: &GroupKind, version: &str) -> bool {
    served
        .kinds
        .get(kind)
        .is_some_and(|kind| kind.versions.iter().any(|served| served == version))
}
