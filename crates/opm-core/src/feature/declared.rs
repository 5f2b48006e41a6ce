//! Every feature that this version has. The one place to look, and the one place to edit.
//!
//! `docs/adding-a-feature.md` says how a feature comes, graduates, is deprecated and goes. A
//! test refuses one that says too little or has outlived its removal.

use super::{Feature, FeatureName, FeatureVersion, Stage};

/// Finding orphans by their labels, and pruning them during apply.
pub static LABEL_ORPHAN_PRUNING: FeatureName = FeatureName::literal("label-orphan-pruning");
/// Keeping each change's rendered manifests.
pub static CHANGE_RECORDS: FeatureName = FeatureName::literal("change-records");
/// The cluster that is built into the binary.
pub static SANDBOX: FeatureName = FeatureName::literal("sandbox");

const MAINTAINERS: &str = "opm maintainers";

/// The declarations.
pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature {
            name: LABEL_ORPHAN_PRUNING.clone(),
            description: "After an apply, looks for objects that carry the release's labels but \
                are in no record of it, and prunes them. It costs a list request for every kind \
                that the cluster serves and needs the right to list them. Guards, opt-outs and \
                the rules of ownership hold as for any other prune. Without it, a status with a scan \
                shows such objects and leaves them alone."
                .to_owned(),
            enabled: false,
            since: FeatureVersion::new(0, 1, 0),
            until: None,
            stage: Stage::Alpha,
            owner: MAINTAINERS.to_owned(),
            proposal: Some("RFC-0001, Deferred Work, Layer 2".to_owned()),
        },
        Feature {
            name: CHANGE_RECORDS.clone(),
            description: "Keeps the rendered manifests of each change, compressed, in Secrets \
                beside the inventory, so that a rollback needs neither the module's source nor \
                a registry. Without it, a rollback renders the module again, which is possible \
                only while the module can still be found."
                .to_owned(),
            enabled: true,
            since: FeatureVersion::new(0, 1, 0),
            until: None,
            stage: Stage::Beta,
            owner: MAINTAINERS.to_owned(),
            proposal: Some("package and component state".to_owned()),
        },
        Feature {
            name: SANDBOX.clone(),
            description: "Offers a Kubernetes API inside the binary, to try a module with no \
                cluster at hand. Without it, asking for the sandbox is refused, so that nobody \
                deploys to a cluster that is not there."
                .to_owned(),
            enabled: true,
            since: FeatureVersion::new(0, 1, 0),
            until: None,
            stage: Stage::Beta,
            owner: MAINTAINERS.to_owned(),
            proposal: None,
        },
    ]
}
