//! A client: the engine as it is shipped, on a simulated machine, doing its steps.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use opm_cluster::{ClusterClient, KubeClient, SystemClock};
use opm_core::identity::ObjectSelector;
use opm_engine::ports::{
    Answer, Caller, Frontend, Prompt, Question, RenderFailure, RenderRequest, Renderer, Unattended,
};
use opm_engine::request::{
    Adopt, ApplyOptions, ApplyRequest, DeleteRequest, ForgetRequest, GuardFlags, HistoryRequest,
    ListRequest, ObjectSelection, PruneRequest, ReleaseRef, RepairRequest, RollbackRequest,
    StatusRequest, UnlockRequest,
};
use opm_engine::status::Status;
use opm_engine::{Actor as Person, Engine, Failure, Report, Settings};
use tokio_util::sync::CancellationToken;

use crate::ledger::Actor;
use crate::machine::{Machine, Process};
use crate::mistakes::{Mistake, Mistaken};
use crate::modules::{home, module_path, release_name};
use crate::network::Network;
use crate::plan::{Action, ApplyFlags, Fate, ReleaseIndex, Step};
use crate::rules::{self, Span};
use crate::server::Server;

/// Longer than any command may take, all its time-outs together.
const FOR_EVER: Duration = Duration::from_secs(6 * 3600);
/// How long a patient client waits for a lock.
const PATIENCE: Duration = Duration::from_secs(180);
/// How long waits take at most.
const TIMEOUT: Duration = Duration::from_secs(60);

/// One client.
pub(crate) struct Client {
    index: usize,
    server: Server,
    machine: Arc<Machine>,
    network: Network,
    engine: Engine<Mistaken>,
}

/// What a command came to.
pub(crate) enum Outcome {
    Report(Box<Report>),
    Status(Box<Status>),
    /// Something else that went well.
    Told,
}

impl Client {
    pub(crate) fn new(
        index: usize,
        server: &Server,
        clock_error: i64,
        seed: u64,
        mistake: Option<Mistake>,
    ) -> Self {
        let machine = Machine::new(server.time, clock_error, seed);
        let network = Network::new(server.clone(), machine.clone(), index);
        let cluster = ClusterClient::from_client(KubeClient::new(network.clone(), "default"))
            .with_clock(SystemClock::simulated(machine.clone()));
        let mut person = Person::named(format!("client-{index}"));
        person.pid = index as u64;
        Self {
            index,
            server: server.clone(),
            engine: Engine::new(Mistaken::new(cluster, mistake), Settings::of(person)),
            machine,
            network,
        }
    }

    /// Does all its steps, one after the other.
    pub(crate) async fn work(&self, steps: &[Step]) {
        for (number, step) in steps.iter().enumerate() {
            tokio::time::sleep(Duration::from_millis(step.rest)).await;
            self.step(number, step).await;
        }
    }

    /// Does one step. None if the client died of it.
    pub(crate) async fn step(
        &self,
        number: usize,
        step: &Step,
    ) -> Option<Result<Outcome, Failure>> {
        let actor = Actor::Client {
            client: self.index,
            step: number,
        };
        let time = self.server.time;
        let from = time.millis();
        self.server.ledger().begin_step(actor, &step.action, from);
        self.network.begin_step(actor, step.faults.clone());
        self.machine.restart();
        let cancel = CancellationToken::new();
        let dies_at = match step.fate {
            Some(Fate::DiesAtWake(wake)) => Some(wake),
            _ => None,
        };
        let work = Process::new(
            self.machine.clone(),
            dies_at,
            self.act(&step.action, cancel.clone()),
        );
        let disturb = async {
            match step.fate {
                Some(Fate::Interrupted(after)) => {
                    tokio::time::sleep(Duration::from_millis(after)).await;
                    cancel.cancel();
                }
                Some(Fate::ClockJumps(after, seconds)) => {
                    tokio::time::sleep(Duration::from_millis(after)).await;
                    self.machine.jump(seconds);
                }
                _ => {}
            }
            std::future::pending::<()>().await;
        };
        let ended = tokio::select! {
            biased;
            ended = tokio::time::timeout(FOR_EVER, work) => ended,
            () = disturb => return None,
        };
        let span = Span {
            actor,
            release: step.action.release(),
            from,
            until: time.millis(),
        };
        let mut ledger = self.server.ledger();
        let Ok(ended) = ended else {
            ledger.violate(rules::ENDS, span.until, format!("{actor} still waits"));
            return None;
        };
        let Some(result) = ended else {
            ledger.figures.deaths += 1;
            ledger.say(span.until, format!("{actor}: dies"));
            return None;
        };
        match &result {
            Ok(Outcome::Report(report)) => {
                let words: Vec<_> = report
                    .resources
                    .iter()
                    .map(|outcome| format!("{} {}", outcome.identity.name, outcome.action.word()))
                    .collect();
                ledger.say(
                    span.until,
                    format!("{actor}: ends well ({})", words.join(", ")),
                );
                rules::report_is_true(&mut ledger, span, report);
            }
            Ok(Outcome::Status(status)) => {
                ledger.say(span.until, format!("{actor}: says {:?}", status.health));
                rules::status_is_true(&mut ledger, span, status);
            }
            Ok(Outcome::Told) => ledger.say(span.until, format!("{actor}: ends well")),
            Err(failure) => {
                let (kind, message) = (failure.kind.word(), &failure.message);
                ledger.say(span.until, format!("{actor}: fails ({kind}): {message}"));
                rules::failure_is_true(&mut ledger, span, failure);
            }
        }
        Some(result)
    }

    async fn act(&self, action: &Action, cancel: CancellationToken) -> Result<Outcome, Failure> {
        let caller = Caller {
            frontend: Frontend {
                events: &Unattended,
                prompt: &Agree,
            },
            cancel,
            act_as: None,
        };
        let engine = &self.engine;
        let namespace = home();
        match action {
            Action::Apply(release, module, flags) => {
                let request = ApplyRequest {
                    atomic: flags.atomic,
                    record: !flags.no_record,
                    options: options(*flags),
                    ..ApplyRequest::new(
                        module.rendered(*release),
                        release_name(*release),
                        namespace,
                    )
                };
                engine.apply(&request, &caller).await.map(told)
            }
            Action::Diff(release, module) => {
                let request =
                    ApplyRequest::new(module.rendered(*release), release_name(*release), namespace);
                engine.diff(&request, &caller).await.map(|_| Outcome::Told)
            }
            Action::Rollback(release, flags) => {
                let request = RollbackRequest {
                    release: reference(*release),
                    namespace,
                    revision: None,
                    options: options(*flags),
                };
                let report = engine.rollback(&request, &NoModules, &caller).await;
                report.map(told)
            }
            Action::Delete(release, flags) => {
                let request = DeleteRequest {
                    keep_history: flags.keep_history,
                    guards: guards(flags.lift_guards),
                    lock_timeout: patience(flags.patient),
                    timeout: TIMEOUT,
                    ..DeleteRequest::new(reference(*release), namespace)
                };
                engine.delete(&request, &caller).await.map(told)
            }
            Action::Prune(release) => {
                let request = PruneRequest {
                    release: reference(*release),
                    namespace,
                    objects: ObjectSelection::All,
                    dry_run: false,
                    lock_timeout: PATIENCE,
                    concurrency: 4,
                };
                engine.prune(&request, &caller).await.map(told)
            }
            Action::Forget(release, object) => {
                let name = format!("{}/{}", object.kind.word(), object.object_name());
                let request = ForgetRequest {
                    release: reference(*release),
                    namespace,
                    objects: ObjectSelection::Named(
                        name.parse::<ObjectSelector>().into_iter().collect(),
                    ),
                    lock_timeout: PATIENCE,
                };
                engine.forget(&request, &caller).await.map(told)
            }
            Action::Repair(release) => {
                let request = RepairRequest {
                    release: reference(*release),
                    namespace,
                    dry_run: false,
                    lock_timeout: PATIENCE,
                };
                let repaired = engine.repair(&request, &caller).await;
                self.server.ledger().figures.repairs += u64::from(repaired.is_ok());
                repaired.map(|_| Outcome::Told)
            }
            Action::Unlock(release) => {
                let request = UnlockRequest {
                    release: reference(*release),
                    namespace,
                };
                engine.unlock(&request, &caller).await.map(told)
            }
            Action::Status(release) => {
                let request = StatusRequest {
                    release: reference(*release),
                    namespace,
                    scan: false,
                };
                let status = engine.status(&request, &caller).await?;
                Ok(Outcome::Status(Box::new(status)))
            }
            Action::List => {
                let request = ListRequest {
                    namespace: None,
                    home: namespace,
                    health: true,
                    deleted: false,
                };
                engine.list(&request, &caller).await.map(|_| Outcome::Told)
            }
            Action::History(release) => {
                let request = HistoryRequest {
                    release: reference(*release),
                    namespace,
                };
                engine
                    .history(&request, &caller)
                    .await
                    .map(|_| Outcome::Told)
            }
        }
    }
}

fn told(report: Report) -> Outcome {
    Outcome::Report(Box::new(report))
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
        timeout: TIMEOUT,
        lock_timeout: patience(flags.patient),
        concurrency: 4,
        ..ApplyOptions::default()
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
