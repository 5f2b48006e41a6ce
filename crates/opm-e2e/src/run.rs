//! Runs a scenario on one kind of cluster or the other.

use opm_testkit::ControlPlane;

use crate::world::World;

/// Tells each scenario once and runs it on every kind of cluster.
#[macro_export]
macro_rules! scenarios {
    ($($name:ident),* $(,)?) => {
        mod on_a_real_control_plane {
            $(#[tokio::test]
            async fn $name() {
                opm_e2e::on_real(super::$name).await;
            })*
        }

        mod on_the_sandbox {
            $(#[tokio::test]
            async fn $name() {
                opm_e2e::on_sandbox(super::$name).await;
            })*
        }
    };
}

/// Runs a scenario on the control plane that the whole test run shares. Without one it is
/// skipped loudly, or fails where skipping is not allowed.
pub async fn on_real<Told: Future<Output = ()>>(scenario: impl FnOnce(World) -> Told) {
    let Some(plane) = ControlPlane::for_test().await else {
        return;
    };
    scenario(World::real(plane).await).await;
}

/// Runs a scenario on an embedded cluster of its own.
pub async fn on_sandbox<Told: Future<Output = ()>>(scenario: impl FnOnce(World) -> Told) {
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
