//! What to do next, as flags and commands.

use opm_core::identity::Identity;
use opm_core::plan::Guard;
use opm_engine::Remedy;

/// What to do next, in the words of the command line: one hint for each kind of reason.
pub(crate) fn hints(remedies: &[Remedy]) -> Vec<String> {
    let adoptable = |remedy: &Remedy| match remedy {
        Remedy::AdoptNamed(identity) => Some(named(identity)),
        _ => None,
    };
    let names: Vec<String> = remedies.iter().filter_map(adoptable).collect();
    let mut hints: Vec<String> = Vec::new();
    for remedy in remedies {
        let hint = match remedy {
            Remedy::AdoptNamed(_) if names.len() > 1 => {
                format!("Use --adopt={} to take them from Helm", names.join(","))
            }
            remedy => words(remedy),
        };
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    hints
}

/// A remedy in the words of the command line.
pub(super) fn words(remedy: &Remedy) -> String {
    match remedy {
        Remedy::Adopt => "Delete it manually or use --adopt to take ownership".to_owned(),
        Remedy::AdoptNamed(identity) => {
            format!(
                "Use --adopt={} to take it from Helm, or --adopt=helm/RELEASE for all that a Helm \
                 release has",
                named(identity)
            )
        }
        Remedy::AdoptFieldsOf(identity) => {
            format!("--adopt={} does so for this one alone", named(identity))
        }
        Remedy::NoHooks => "--no-hooks goes on without them".to_owned(),
        Remedy::TakeOwnership => "Use --take-ownership to transfer it to this release".to_owned(),
        Remedy::ForceConflicts => {
            "--force-conflicts makes these objects what is rendered".to_owned()
        }
        Remedy::WaitForDeletion => {
            "Wait for deletion to complete before applying, or use --wait-for-deletion".to_owned()
        }
        Remedy::AllowEmpty => {
            "Use --allow-empty if that is meant, or `opm mod delete` to remove the release"
                .to_owned()
        }
        Remedy::ReplaceAll => {
            "Use --replace-all if that is meant; a path in module.yaml, or --name, tells the two apart"
                .to_owned()
        }
        Remedy::ReuseValues => "--reuse-values keeps them".to_owned(),
        Remedy::Recreate => "--recreate deletes and recreates it".to_owned(),
        Remedy::CreateNamespace(namespace) => {
            format!("--create-namespace creates namespace {namespace}")
        }
        Remedy::LiftGuard(guard) => format!("Use {} as well", guard_flag(*guard)),
        Remedy::EmptyOrKeepGuard(guard) => {
            format!("Remove them first, or go on without {}", guard_flag(*guard))
        }
        Remedy::ListOrKeepGuard(guard) => format!(
            "Ask for the right to list it, or go on without {}",
            guard_flag(*guard)
        ),
        Remedy::RepairServerOrKeepGuard { server, guard } => format!(
            "Repair or delete {server}, or go on without {}",
            guard_flag(*guard)
        ),
        Remedy::PruneAtOnce => {
            "go on without --prune-after-ready: the old workload is then removed at once".to_owned()
        }
        Remedy::NotAtomicOrKeepGuard => {
            "leave out --atomic, or the flag that lets it be removed".to_owned()
        }
        Remedy::ApplyOnceNotAtomic => {
            "apply once without --atomic: that keeps its manifests".to_owned()
        }
        Remedy::KeepRecords => "with records (no --no-record, and the feature change-records), \
             what does not fit moves into Secrets of its own"
            .to_owned(),
        Remedy::WaitForLock => "--lock-timeout waits for it".to_owned(),
        Remedy::Confirm => "--yes confirms it".to_owned(),
        Remedy::ConfirmOrDryRun => {
            "--yes confirms it; --dry-run shows what it would write".to_owned()
        }
        Remedy::ListReleases => "`opm mod list -A` shows all releases".to_owned(),
        Remedy::ListReleasesOrNamespace => {
            "`opm mod list -A` shows all releases; -n names another namespace".to_owned()
        }
        Remedy::NameNamespace => {
            "the right to list Secrets in a namespace shows the releases there; name it with -n"
                .to_owned()
        }
        Remedy::ShowStatus => "`opm mod status` shows what it tracks".to_owned(),
        Remedy::ShowPending => "the next apply tries again; `opm mod status` shows them".to_owned(),
        Remedy::ShowHistory => "`opm mod history` shows the changes".to_owned(),
        Remedy::ShowHistoryToName => {
            "`opm mod history` shows the changes; the beginning of a change's digits is enough"
                .to_owned()
        }
        Remedy::ShowReadableHistory => {
            "`opm mod history` shows the changes that can be read".to_owned()
        }
        Remedy::ShowWaysBack => {
            "`opm mod history` shows which changes one can go back to".to_owned()
        }
        Remedy::ShowDeployments => "`opm mod history --log` shows what was tried".to_owned(),
        Remedy::NameRevision => {
            "--revision names a change; `opm mod history` shows them".to_owned()
        }
        Remedy::CompareTwo => "`--diff A..B` compares any two changes that are".to_owned(),
        Remedy::Repair => {
            "`opm mod repair` shows what is left of the record and rebuilds it".to_owned()
        }
        Remedy::RollbackOrApply => {
            "what was applied is tracked: `opm mod rollback`, or another apply, ends clean"
                .to_owned()
        }
        Remedy::ReviewAgain => {
            "`opm mod diff --save FILE` saves a new plan, to be reviewed again".to_owned()
        }
        Remedy::WaitLonger => "`opm mod status --watch` shows how it goes on; --timeout gives it \
             more time, and `opm mod rollback` goes back"
            .to_owned(),
        Remedy::FixOrGoBack => {
            "fix the cause and apply again; `opm mod rollback` goes back to what was before"
                .to_owned()
        }
        Remedy::SuspendManager {
            resource,
            namespace,
        } => format!(
            "Change {resource} instead, or suspend it first: `kubectl patch {} -n {namespace} \
             --type merge -p '{{\"spec\":{{\"suspend\":true}}}}'`",
            resource.to_lowercase()
        ),
        Remedy::NameDirectoryToRender => {
            "if the module's directory is at hand, name that instead of the release, with --name \
             if the release is not called like the module"
                .to_owned()
        }
        Remedy::GrantRight { .. } => "Ask for this right, or act as somebody who has it".to_owned(),
        Remedy::NameById | Remedy::NameByDirectory | Remedy::Text(_) => remedy.to_string(),
    }
}

/// The flag that lifts a guard.
pub(super) fn guard_flag(guard: Guard) -> &'static str {
    match guard {
        Guard::Namespace => "--prune-namespaces",
        Guard::VolumeClaim => "--force-prune-pvcs",
        Guard::Volume => "--force-prune-pvs",
        Guard::Crd => "--prune-crds",
    }
}

fn named(identity: &Identity) -> String {
    format!("{}/{}", identity.kind(), identity.name)
}
