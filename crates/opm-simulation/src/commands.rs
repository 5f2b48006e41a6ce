//! The commands: what a step asks of the engine.

use std::time::Duration;

use futures::future::BoxFuture;
use opm_core::check::{AdoptSelector, HelmRelease};
use opm_core::event::{Event, Wait};
use opm_core::identity::ObjectSelector;
use opm_core::managed::Manager;
use opm_engine::Failure;
use opm_engine::ports::{
    Answer, Caller, Events, Frontend, Prompt, Question, RenderFailure, RenderRequest, Renderer,
    Unattended,
};
use opm_engine::request::{
    Adopt, ApplyOptions, ApplyRequest, Concurrency, DeleteRequest, ForgetRequest, GuardFlags,
    HistoryRequest, ListRequest, ObjectSelection, PruneRequest, ReleaseRef, RepairRequest,
    RollbackRequest, StatusRequest, TestRequest, UnlockRequest,
};
use tokio_util::sync::CancellationToken;

use crate::client::{Client, Outcome};
use crate::coverage::Visit;
use crate::modules::{HELM_RELEASE, HOME, home, module_path, release_name, second_component};
use crate::plan::{Action, ApplyFlags, DeleteFlags, ModulePlan, ObjectPlan, ReleaseIndex};
use crate::server::Server;

/// How long a patient client waits for a lock.
const PATIENCE: Duration = Duration::from_secs(180);
/// How long waits take at most.
const TIMEOUT: Duration = Duration::from_secs(60);

impl Client {
    /// The change that somebody has picked from the history, so many before the current one.
    fn change(&self, release: ReleaseIndex, back: u8) -> Option<String> {
        let ledger = self.server.ledger();
        let index = ledger.last_moment(release)?.index();
        index.into_iter().nth(usize::from(back))
    }

    /// Does what an action says.
    pub(crate) async fn act(
        &self,
        action: &Action,
        cancel: CancellationToken,
    ) -> Result<Outcome, Failure> {
        let manager = match action {
            Action::Apply(release, _, flags) if flags.managed => Some(Manager {
                name: release.name().to_owned(),
                uid: "the-resource".to_owned(),
            }),
            _ => None,
        };
        let caller = Caller {
            frontend: Frontend {
                events: &Listener(&self.server),
                prompt: match manager {
                    Some(_) => &Unattended,
                    None => &Agree,
                },
            },
            cancel,
            act_as: None,
            manager,
        };
        let engine = &self.engine;
        let namespace = home();
        match action {
            Action::Apply(release, module, flags) => {
                let request = apply_request(*release, module, *flags);
                let report = engine.apply(&request, &caller).await;
                report.map(|report| Outcome::Report(Box::new(report)))
            }
            Action::Diff(release, module, flags) => {
                let request = apply_request(*release, module, *flags);
                let diff = engine.diff(&request, &caller).await;
                diff.map(|diff| Outcome::Diff(Box::new(diff)))
            }
            Action::Rollback(release, flags) => {
                let request = RollbackRequest {
                    release: reference(*release),
                    namespace,
                    revision: flags.back.and_then(|back| self.change(*release, back)),
                    options: options(*flags),
                };
                let report = engine.rollback(&request, &NoModules, &caller).await;
                report.map(|report| Outcome::Report(Box::new(report)))
            }
            Action::Delete(release, flags) => {
                let request = delete_request(*release, *flags);
                let report = engine.delete(&request, &caller).await;
                report.map(|report| Outcome::Report(Box::new(report)))
            }
            Action::Prune(release, object) => {
                let request = PruneRequest {
                    release: reference(*release),
                    namespace,
                    objects: selection(object.as_ref()),
                    dry_run: false,
                    lock_timeout: PATIENCE,
                    concurrency: Concurrency::Fixed(4),
                };
                let report = engine.prune(&request, &caller).await;
                report.map(|report| Outcome::Report(Box::new(report)))
            }
            Action::Forget(release, object) => {
                let request = ForgetRequest {
                    release: reference(*release),
                    namespace,
                    objects: selection(object.as_ref()),
                    lock_timeout: PATIENCE,
                };
                let report = engine.forget(&request, &caller).await;
                report.map(|report| Outcome::Report(Box::new(report)))
            }
            Action::Repair(release) => {
                let request = RepairRequest {
                    release: reference(*release),
                    namespace,
                    dry_run: false,
                    lock_timeout: PATIENCE,
                };
                let repaired = engine.repair(&request, &caller).await;
                repaired.map(|repaired| Outcome::Repair(Box::new(repaired)))
            }
            Action::Unlock(release) => {
                let request = UnlockRequest {
                    release: reference(*release),
                    namespace,
                };
                let report = engine.unlock(&request, &caller).await;
                report.map(|report| Outcome::Report(Box::new(report)))
            }
            Action::Test(release) => {
                let request = TestRequest {
                    release: reference(*release),
                    namespace,
                    timeout: TIMEOUT,
                    lock_timeout: PATIENCE,
                };
                let report = engine.test(&request, &caller).await;
                report.map(|report| Outcome::Report(Box::new(report)))
            }
            Action::Status(release) => {
                let request = StatusRequest {
                    release: reference(*release),
                    namespace,
                    scan: false,
                };
                let status = engine.status(&request, &caller).await;
                status.map(|status| Outcome::Status(Box::new(status)))
            }
            Action::List => {
                let request = ListRequest {
                    namespace: Some(namespace.clone()),
                    home: namespace,
                    health: true,
                    deleted: false,
                };
                let listing = engine.list(&request, &caller).await;
                listing.map(|listing| Outcome::List(Box::new(listing)))
            }
            Action::History(release) => {
                let request = HistoryRequest {
                    release: reference(*release),
                    namespace,
                };
                let history = engine.history(&request, &caller).await;
                history.map(|history| Outcome::History(Box::new(history)))
            }
        }
    }
}

fn apply_request(release: ReleaseIndex, module: &ModulePlan, flags: ApplyFlags) -> ApplyRequest {
    let mut options = options(flags);
    let first = module.objects.first().filter(|_| flags.adopt_named);
    let first = first.and_then(selector).map(AdoptSelector::Object);
    let helm = flags.adopt_helm.then(|| {
        AdoptSelector::Helm(HelmRelease {
            namespace: HOME.to_owned(),
            name: HELM_RELEASE.to_owned(),
        })
    });
    let named: Vec<AdoptSelector> = first.into_iter().chain(helm).collect();
    if !named.is_empty() {
        options.adopt = Adopt::Named(named);
    }
    ApplyRequest {
        selection: module.selection(),
        atomic: flags.atomic,
        record: !flags.no_record,
        options,
        ..ApplyRequest::new(module.rendered(release), release_name(release), home())
    }
}

fn delete_request(release: ReleaseIndex, flags: DeleteFlags) -> DeleteRequest {
    DeleteRequest {
        component: flags.component.then(second_component),
        keep_history: flags.keep_history,
        guards: guards(flags.lift_guards),
        lock_timeout: patience(flags.patient),
        wait: flags.wait,
        hooks: !flags.no_hooks,
        timeout: TIMEOUT,
        ..DeleteRequest::new(reference(release), home())
    }
}

fn selector(object: &ObjectPlan) -> Option<ObjectSelector> {
    let name = format!("{}/{}", object.kind.word(), object.object_name());
    name.parse().ok()
}

fn selection(object: Option<&ObjectPlan>) -> ObjectSelection {
    match object {
        Some(object) => ObjectSelection::Named(selector(object).into_iter().collect()),
        None => ObjectSelection::All,
    }
}

fn reference(release: ReleaseIndex) -> ReleaseRef {
    ReleaseRef::Module {
        path: module_path(release),
        name: release_name(release),
        namespace: home(),
    }
}

fn patience(patient: bool) -> Duration {
    match patient {
        true => PATIENCE,
        false => Duration::ZERO,
    }
}

fn guards(lifted: bool) -> GuardFlags {
    GuardFlags {
        namespaces: lifted,
        volume_claims: lifted,
        volumes: lifted,
        crds: lifted,
    }
}

fn options(flags: ApplyFlags) -> ApplyOptions {
    if flags.managed {
        // As the controller asks for it.
        return ApplyOptions {
            quiet: true,
            preflight: flags.atomic,
            wait: flags.atomic,
            timeout: TIMEOUT,
            ..ApplyOptions::default()
        };
    }
    ApplyOptions {
        no_prune: flags.no_prune,
        max_history: if flags.short_history { 2 } else { 10 },
        adopt: if flags.adopt { Adopt::All } else { Adopt::None },
        take_ownership: flags.take,
        recreate: flags.recreate,
        replace_all: true,
        guards: guards(flags.lift_guards),
        wait: flags.wait,
        prune_after_ready: flags.prune_after_ready,
        preflight: flags.preflight,
        wait_for_deletion: flags.wait_for_deletion,
        timeout: TIMEOUT,
        lock_timeout: patience(flags.patient),
        concurrency: Concurrency::Fixed(4),
        ..ApplyOptions::default()
    }
}

/// Notes what only the engine knows of its waits.
struct Listener<'a>(&'a Server);

impl Events for Listener<'_> {
    fn emit(&self, event: Event) {
        if let Event::Waiting(Wait::Rest(_)) = event {
            self.0.ledger().coverage.visit(Visit::Rested);
        }
    }
}

/// Says yes to everything, but not to losing data, which a flag says.
struct Agree;

impl Prompt for Agree {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        let answer = match question {
            Question::Recreate { .. } => Answer::No,
            _ => Answer::Yes,
        };
        Box::pin(async move { answer })
    }
}

/// Modules cannot be found again: only what was kept comes back.
struct NoModules;

impl Renderer for NoModules {
    fn render<'a>(
        &'a self,
        _: &'a RenderRequest,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<opm_core::rendered::Rendered, RenderFailure>> {
        Box::pin(async {
            Err(RenderFailure {
                message: "the module is not here".to_owned(),
                hints: Vec::new(),
            })
        })
    }
}
