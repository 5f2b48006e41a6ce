//! The control plane as a test asks for it: with it, or skipped.

use super::{ControlPlane, PlaneError};
use crate::programs::BuildError;
use crate::skip::{cluster_required, skip, skip_without};

impl ControlPlane {
    /// The shared control plane, or nothing where Go is missing and the test is to be skipped.
    ///
    /// The skip is noted. Every other reason for not having a control plane fails the test.
    pub async fn for_test() -> Option<&'static Self> {
        match Self::shared().await {
            Ok(plane) => Some(plane),
            Err(PlaneError::Build(BuildError::NoGo)) if !cluster_required() => {
                skip_without("Go to build a control plane with");
                None
            }
            Err(error) => panic!("no control plane: {error}"),
        }
    }

    /// As [`Self::for_test`], for a test that needs what only a control plane of this kit has: an
    /// audit log, certificates of its own, all features. The test is skipped on a given cluster.
    pub async fn own_for_test() -> Option<&'static Self> {
        let plane = Self::for_test().await?;
        if plane.directory().is_none() {
            skip("the cluster of OPM_TEST_KUBECONFIG was not started by opm-testkit");
            return None;
        }
        Some(plane)
    }
}
