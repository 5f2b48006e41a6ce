//! A sandbox with an engine over it, and callers that own what they lend to a use case.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opm_cluster::{ClusterClient, KubeClient};
use opm_core::event::Event;
use opm_core::identity::Identity;
use opm_engine::diff::DiffReport;
use opm_engine::list::Listing;
use opm_engine::ports::{
    Answer, Caller, Detail, Events, Frontend, Prompt, Question, Renderer, Unattended,
};
use opm_engine::repair::RepairReport;
use opm_engine::request::{
    ApplyRequest, CompareRequest, DeleteRequest, ForgetRequest, HistoryRequest, ListRequest,
    PruneRequest, RepairRequest, RollbackRequest, ShowRequest, StatusRequest, UnlockRequest,
};
use opm_engine::status::{Status, StatusObserver};
use opm_engine::{
    Actor, Comparison, Engine, Failure, History, Report, Settings, ShownManifests, ShownValues,
    Timing,
};
use opm_sandbox::Sandbox;
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::modules::{namespace, release};
use crate::wire::Wire;

/// Nothing here takes this long, on the slowest machine.
const HANG: Duration = Duration::from_secs(600);

/// Waits for something that must come.
pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANG, work).await.expect("it hangs")
}

/// What a use case in a task of its own came to.
pub(crate) async fn done<T>(task: JoinHandle<T>) -> T {
    within(task).await.expect("the task panicked")
}

/// One engine over a sandbox of its own.
#[derive(Clone)]
pub(crate) struct Lab {
    pub(crate) engine: Arc<Engine>,
    /// To look and to meddle with, beside the engine.
    pub(crate) cluster: ClusterClient,
    pub(crate) wire: Wire,
    _dir: Arc<TempDir>,
}

macro_rules! in_tasks {
    ($($name:ident($request:ty) -> $output:ty;)*) => {$(
        pub(crate) fn $name(
            &self,
            request: $request,
            visitor: &Visitor,
        ) -> JoinHandle<Result<$output, Failure>> {
            let (engine, visitor) = (self.engine.clone(), visitor.clone());
            tokio::spawn(async move { engine.$name(&request, &visitor.caller()).await })
        }
    )*};
}

impl Lab {
    pub(crate) fn open() -> Self {
        Self::with(settings())
    }

    /// Locks are renewed so often that a lost one is noticed at once.
    pub(crate) fn with_eager_renewal() -> Self {
        let timing = Timing {
            renew: Duration::from_millis(20),
            ..Timing::default()
        };
        Self::with(Settings {
            timing,
            ..settings()
        })
    }

    pub(crate) fn with(settings: Settings) -> Self {
        let dir = TempDir::new().unwrap();
        let sandbox = Sandbox::open(dir.path()).unwrap();
        let wire = Wire::new(sandbox.clone());
        let engine = ClusterClient::from_client(KubeClient::new(wire.clone(), "default"));
        Self {
            engine: Arc::new(Engine::new(engine, settings)),
            cluster: ClusterClient::from_client(KubeClient::new(sandbox, "default")),
            wire,
            _dir: Arc::new(dir),
        }
    }

    /// Another engine over the same sandbox.
    pub(crate) fn beside(&self, settings: Settings) -> Self {
        let engine = ClusterClient::from_client(KubeClient::new(self.wire.clone(), "default"));
        Self {
            engine: Arc::new(Engine::new(engine, settings)),
            ..self.clone()
        }
    }

    in_tasks! {
        apply(ApplyRequest) -> Report;
        diff(ApplyRequest) -> DiffReport;
        delete(DeleteRequest) -> Report;
        prune(PruneRequest) -> Report;
        forget(ForgetRequest) -> Report;
        unlock(UnlockRequest) -> Report;
        repair(RepairRequest) -> RepairReport;
        status(StatusRequest) -> Status;
        list(ListRequest) -> Listing;
        history(HistoryRequest) -> History;
        compare(CompareRequest) -> Comparison;
        show_values(ShowRequest) -> ShownValues;
        show_manifests(ShowRequest) -> ShownManifests;
    }

    pub(crate) fn rollback(
        &self,
        request: RollbackRequest,
        renderer: impl Renderer + 'static,
        visitor: &Visitor,
    ) -> JoinHandle<Result<Report, Failure>> {
        let (engine, visitor) = (self.engine.clone(), visitor.clone());
        tokio::spawn(async move {
            let caller = visitor.caller();
            engine.rollback(&request, &renderer, &caller).await
        })
    }

    pub(crate) fn watch_status(
        &self,
        request: StatusRequest,
        timeout: Option<Duration>,
        mut observer: impl StatusObserver + 'static,
        visitor: &Visitor,
    ) -> JoinHandle<Result<Status, Failure>> {
        let (engine, visitor) = (self.engine.clone(), visitor.clone());
        tokio::spawn(async move {
            let caller = visitor.caller();
            engine
                .watch_status(&request, timeout, &mut observer, &caller)
                .await
        })
    }

    /// How a release stands, for whoever only wants to know.
    pub(crate) async fn status_of(&self, name: &str, within: &str) -> Status {
        let request = StatusRequest {
            release: release(name),
            namespace: namespace(within),
            scan: false,
        };
        done(self.status(request, &Visitor::default()))
            .await
            .unwrap()
    }

    /// Deletes a release, with everything that no guard keeps.
    pub(crate) async fn delete_release(&self, name: &str, within: &str) -> Report {
        let request = DeleteRequest::new(release(name), namespace(within));
        done(self.delete(request, &Visitor::agreeing()))
            .await
            .unwrap()
    }

    /// The object of this kind and name, if it exists.
    pub(crate) async fn object(
        &self,
        identity: &Identity,
    ) -> Option<serde_json::Map<String, serde_json::Value>> {
        use opm_engine::ports::Cluster as _;
        let wanted = std::slice::from_ref(identity);
        let mut seen = self.cluster.look(wanted, Detail::Whole).await;
        seen.remove(identity).unwrap().found().unwrap()
    }
}

/// The settings of an actor whose name is in every lock.
pub(crate) fn settings() -> Settings {
    Settings::of(Actor::named("tester"))
}

/// A caller that owns its frontend, so that a task can own it.
#[derive(Clone)]
pub(crate) struct Visitor {
    events: Arc<dyn Events>,
    prompt: Arc<dyn Prompt>,
    pub(crate) cancel: CancellationToken,
    act_as: Option<String>,
}

impl Default for Visitor {
    fn default() -> Self {
        Self {
            events: Arc::new(Unattended),
            prompt: Arc::new(Unattended),
            cancel: CancellationToken::new(),
            act_as: None,
        }
    }
}

impl Visitor {
    /// One who says yes to everything.
    pub(crate) fn agreeing() -> Self {
        Self::asked(Always(Answer::Yes))
    }

    pub(crate) fn asked(prompt: impl Prompt + 'static) -> Self {
        Self {
            prompt: Arc::new(prompt),
            ..Self::default()
        }
    }

    pub(crate) fn acting_as(user: &str) -> Self {
        Self {
            act_as: Some(user.to_owned()),
            ..Self::default()
        }
    }

    /// One who watches, and the events that come.
    pub(crate) fn watching() -> (Self, EventStream) {
        let (sender, receiver) = unbounded_channel();
        let visitor = Self {
            events: Arc::new(Passing(sender)),
            ..Self::default()
        };
        (visitor, EventStream(receiver))
    }

    pub(crate) fn caller(&self) -> Caller<'_> {
        Caller {
            frontend: Frontend {
                events: &*self.events,
                prompt: &*self.prompt,
            },
            cancel: self.cancel.clone(),
            act_as: self.act_as.clone(),
            manager: None,
        }
    }
}

/// Gives the same answer to everything.
pub(crate) struct Always(pub(crate) Answer);

impl Prompt for Always {
    fn ask<'a>(&'a self, _: &'a Question) -> futures::future::BoxFuture<'a, Answer> {
        let answer = self.0;
        Box::pin(async move { answer })
    }
}

/// Keeps every question waiting until it is let go, and then says yes.
#[derive(Clone)]
pub(crate) struct Held {
    asked: Arc<watch::Sender<usize>>,
    questions: Arc<Mutex<Vec<Question>>>,
    go: Arc<Semaphore>,
}

impl Held {
    pub(crate) fn new() -> Self {
        Self {
            asked: Arc::new(watch::channel(0).0),
            questions: Arc::default(),
            go: Arc::new(Semaphore::new(0)),
        }
    }

    /// Waits until so many questions stand or have stood, and answers with all of them.
    pub(crate) async fn asked(&self, count: usize) -> Vec<Question> {
        let mut asked = self.asked.subscribe();
        within(asked.wait_for(|asked| *asked >= count))
            .await
            .unwrap();
        self.questions.lock().unwrap().clone()
    }

    /// Says yes to everything, now and from now on.
    pub(crate) fn let_go(&self) {
        self.go.close();
    }
}

impl Prompt for Held {
    fn ask<'a>(&'a self, question: &'a Question) -> futures::future::BoxFuture<'a, Answer> {
        self.questions.lock().unwrap().push(question.clone());
        self.asked.send_modify(|asked| *asked += 1);
        Box::pin(async {
            // Nobody hands out permits: it ends when it is closed.
            let _ = self.go.acquire().await;
            Answer::Yes
        })
    }
}

struct Passing(UnboundedSender<Event>);

impl Events for Passing {
    fn emit(&self, event: Event) {
        let _ = self.0.send(event);
    }
}

/// What a use case tells while it works.
pub(crate) struct EventStream(UnboundedReceiver<Event>);

impl EventStream {
    /// Waits for an event.
    pub(crate) async fn until(&mut self, is_meant: impl Fn(&Event) -> bool) -> Event {
        loop {
            let event = within(self.0.recv()).await.expect("it ended without");
            if is_meant(&event) {
                return event;
            }
        }
    }
}
