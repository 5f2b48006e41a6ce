//! Real applications, in two published versions each, through their whole life: on a control plane
//! where something answers for their Services, and on the sandbox.
//!
//! Six in the ordinary tier, all of them with `cargo xtask test --real` and in the full tier. Where
//! they come from is in `applications`, what is expected of every one in `cycle`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect by failing loudly"
)]

mod applications;
mod cluster;
mod cycle;
mod rendering;

/// A test for each application and cluster. Whatever is not in the ordinary tier is ignored there.
macro_rules! applications {
    ($($(#[$long:meta])? $name:ident: $application:ident,)*) => {
        mod on_a_real_control_plane {
            $(
                #[tokio::test]
                $(#[$long])?
                async fn $name() {
                    crate::cycle::on_a_real_control_plane(&crate::applications::$application).await;
                }
            )*
        }

        mod on_the_sandbox {
            $(
                #[tokio::test]
                $(#[$long])?
                async fn $name() {
                    crate::cycle::on_the_sandbox(&crate::applications::$application).await;
                }
            )*
        }
    };
}

/// Nothing that is published is refused before a server has seen it.
#[tokio::test]
async fn vet_has_nothing_against_any_of_them() {
    for application in applications::ALL {
        cycle::vet(application).await;
    }
}

/// A chart that is published without the charts that it depends on: they are named, and the
/// command that gets them.
#[tokio::test]
async fn what_a_published_chart_misses_is_named() {
    cycle::misses(
        &applications::KYVERNO.from,
        "charts/kyverno",
        &[
            "are missing: ",
            "kyverno-api",
            "openreports",
            "helm dependency build",
        ],
    )
    .await;
}

applications! {
    descheduler: DESCHEDULER,
    gatekeeper: GATEKEEPER,
    gateway_api: GATEWAY_API,
    keda: KEDA,
    metrics_server: METRICS_SERVER,
    metrics_server_chart: METRICS_SERVER_CHART,
    #[ignore = "runs with `cargo xtask test --real`"]
    argo_cd: ARGO_CD,
    #[ignore = "runs with `cargo xtask test --real`"]
    argo_rollouts: ARGO_ROLLOUTS,
    #[ignore = "runs with `cargo xtask test --real`"]
    cert_manager: CERT_MANAGER,
    #[ignore = "runs with `cargo xtask test --real`"]
    cilium: CILIUM,
    #[ignore = "runs with `cargo xtask test --real`"]
    cluster_api: CLUSTER_API,
    #[ignore = "runs with `cargo xtask test --real`"]
    knative_serving: KNATIVE_SERVING,
    #[ignore = "runs with `cargo xtask test --real`"]
    kyverno: KYVERNO,
    #[ignore = "runs with `cargo xtask test --real`"]
    prometheus_operator: PROMETHEUS_OPERATOR,
}
