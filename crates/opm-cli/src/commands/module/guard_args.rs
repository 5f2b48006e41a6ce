//! The flags that let guarded kinds go, each its own kind and nothing else.

use opm_engine::request::GuardFlags;

/// Namespaces, volume claims, volumes and resource definitions are never pruned, deleted or
/// recreated without their flag.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct GuardArgs {
    /// Namespaces that became stale may go, if nothing of others lives in them
    #[arg(long, help_heading = "Guards")]
    prune_namespaces: bool,

    /// PersistentVolumeClaims that became stale may go, and their data with them
    #[arg(long, help_heading = "Guards")]
    force_prune_pvcs: bool,

    /// PersistentVolumes that became stale may go
    #[arg(long, help_heading = "Guards")]
    force_prune_pvs: bool,

    /// CustomResourceDefinitions that became stale may go, if no objects of others are left
    #[arg(long, help_heading = "Guards")]
    prune_crds: bool,
}

impl GuardArgs {
    pub(crate) fn flags(self) -> GuardFlags {
        GuardFlags {
            namespaces: self.prune_namespaces,
            volume_claims: self.force_prune_pvcs,
            volumes: self.force_prune_pvs,
            crds: self.prune_crds,
        }
    }
}
