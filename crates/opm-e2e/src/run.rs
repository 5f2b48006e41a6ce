//! Runs a scenario on one kind of cluster or the other.

use opm_testkit::ControlPlane;

use crate::world::World;

/// Tells each scenario once and runs it on every kind of cluster.
///
/// A scenario that only makes sense on one says so, with the reason, and is an ignored test on the
/// other, so that it is counted as what it is:
///
/// ```ignore
/// scenarios! {
///     scenario_a_normal_rename,
///     #[real_only("does not apply to the sandbox, which has no access control")]
///     scenario_m_prune_without_rights_stays_pending,
/// }
/// ```
#[macro_export]
macro_rules! scenarios {
    ($($(#[$only:ident($why:literal)])? $name:ident),* $(,)?) => {
        mod on_a_real_control_plane {
            $($crate::scenario! { on_real $([$only $why])? $name })*
        }

        mod on_the_sandbox {
            $($crate::scenario! { on_sandbox $([$only $why])? $name })*
        }
    };
}

/// One scenario on one cluster.
#[doc(hidden)]
#[macro_export]
macro_rules! scenario {
    (on_sandbox [real_only $why:literal] $name:ident) => {
        #[tokio::test]
        #[ignore = $why]
        async fn $name() {
            $crate::on_sandbox(super::$name).await;
        }
    };
    (on_real [real_only $why:literal] $name:ident) => {
        $crate::scenario! { on_real $name }
    };
    ($on:ident $name:ident) => {
        #[tokio::test]
        async fn $name() {
            $crate::$on(super::$name).await;
        }
    };
}

/// Runs a scenario on the control plane that the whole test run shares. Without one it is
/// skipped loudly, or fails where skipping is not allowed.
pub async fn on_real<F: Future<Output = ()>>(scenario: impl FnOnce(World) -> F) {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    scenario(World::real(plane).await).await;
}

/// Runs a scenario on an embedded cluster of its own.
pub async fn on_sandbox<F: Future<Output = ()>>(scenario: impl FnOnce(World) -> F) {
    scenario(World::sandbox().await).await;
}

/// Says what is being tried, so that a failure has a name.
pub fn trying(what: &str) {
    eprintln!("trying: {what}");
}

/// Says a figure that the scenario measured, where the test run shows it.
pub fn note(figure: &str) {
    eprintln!("measured: {figure}");
}
