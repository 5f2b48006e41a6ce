//! The controller: what it watches, how many reconciles go on at a time, and how it ends.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::Api;
use kube::core::DeserializeGuard;
use kube::core::error_boundary::InvalidObject;
use kube::runtime::controller::{self, Action as Next};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher::Event;
use kube::runtime::{Controller, WatchStreamExt as _, reflector, watcher};
use opm_cluster::ClusterClient;
use opm_engine::{Engine, Settings};
use opm_render::{ModuleRenderer, RenderSettings};
use serde::Serialize;
use thiserror::Error;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::backoff;
use crate::context::{Context, Memory};
use crate::leases::{OwnShards, Replica, Sharding};
use crate::metrics::{Gauges, Metrics};
use crate::notices::Notices;
use crate::reconcile::{chance, reconcile};
use crate::request::ReleaseKey;
use crate::resource::ModuleRelease;
use crate::serve::{ProbeSource, listen, serve};
use crate::watches::{Watches, is_expired};

/// How long it is believed what the cluster serves.
const BELIEVE_SERVED: Duration = Duration::from_secs(60);

/// How long reconciles have to end when the controller does. Within the 30 seconds that Kubernetes
/// gives a pod.
const LONGEST_END: Duration = Duration::from_secs(20);

/// How long a replica takes at most to give back its leases.
const LONGEST_LEAVE: Duration = Duration::from_secs(5);

/// How the controller goes about it.
#[derive(Debug, Clone)]
pub struct ControllerSettings {
    /// Only resources of this namespace.
    pub namespace: Option<String>,
    /// The service account of a resource that names none; without it, the controller itself acts.
    pub default_service_account: Option<String>,
    /// Whether a resource may refer to other namespaces.
    pub cross_namespace: bool,
    /// How many reconciles go on at a time.
    pub concurrency: u16,
    /// How many of them in one namespace.
    pub concurrency_per_namespace: usize,
    /// How many modules are rendered at a time.
    pub renders: usize,
    /// Where counters and probes are served, if they are.
    pub listen: Option<SocketAddr>,
    /// How replicas share the work; none if there is but one.
    pub sharding: Option<Sharding>,
    /// Only tell what would be done.
    pub dry_run: bool,
    /// How modules are rendered.
    pub render: RenderSettings,
    /// What holds for every use case of the engine.
    pub engine: Settings,
}

/// A line of the log.
#[derive(Debug, Clone, Serialize)]
pub struct LogLine {
    /// When.
    pub time: String,
    /// `info` or `error`.
    pub level: &'static str,
    /// What happened.
    pub message: String,
    /// Why, in one word out of the list of reasons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// The namespace of the resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// Its generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// The attempt: all lines of one have the same, and no others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// Takes the log. Must not block.
pub trait ControllerLog: Send + Sync {
    /// One line more.
    fn write(&self, line: &LogLine);
}

/// Why the controller cannot run.
#[derive(Debug, Error)]
pub enum ControllerError {
    /// The resource is not defined, or may not be listed.
    #[error("cannot list ModuleReleases: {0}")]
    Resources(String),
    /// The address for counters and probes is not to be had.
    #[error("cannot listen on {address}: {why}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What is wrong.
        why: std::io::Error,
    },
}

/// What counters and probes tell.
struct Probes {
    metrics: Arc<Metrics>,
    watches: Arc<Watches>,
    store: Store<ModuleRelease>,
    context: Arc<Context>,
}

impl ProbeSource for Probes {
    fn metrics(&self) -> String {
        let (objects, watches) = self.watches.counts();
        self.metrics.text(Gauges {
            resources: self.store.len(),
            objects,
            watches,
            queued: self.context.waiting(),
        })
    }

    fn is_ready(&self) -> bool {
        use futures::FutureExt as _;
        matches!(self.store.wait_until_ready().now_or_never(), Some(Ok(())))
    }
}

/// Runs the controller until it is cancelled. Reconciles that go on then let go of their locks.
pub async fn run(
    cluster: ClusterClient,
    settings: ControllerSettings,
    log: Arc<dyn ControllerLog>,
    cancel: CancellationToken,
) -> Result<(), ControllerError> {
    let metrics = Arc::new(Metrics::default());
    let counted = Arc::clone(&metrics);
    let cluster = cluster
        .with_request_log(move |request| counted.sent(request))
        .believing_served_for(BELIEVE_SERVED);
    let kube = cluster.kube_client();
    let resources: Api<Readable> = match &settings.namespace {
        Some(namespace) => Api::namespaced(kube.clone(), namespace),
        None => Api::all(kube.clone()),
    };
    let one = kube::api::ListParams::default().limit(1);
    tokio::select! {
        listed = resources.list_metadata(&one) => {
            listed.map_err(|error| ControllerError::Resources(error.to_string()))?;
        }
        () = cancel.cancelled() => return Ok(()),
    }

    let (triggers, mut triggered) = mpsc::unbounded_channel();
    let namespace = settings.namespace.clone();
    let notices = Arc::new(Notices::new(Arc::clone(&log)));
    let told = Arc::clone(&notices);
    let watches = Watches::new(cluster.clone(), namespace, triggers.clone(), told);
    let watches = Arc::new(watches);
    let noted = Arc::clone(&watches);
    let written = cluster.with_write_log(move |identity, version| noted.wrote(identity, version));
    let (store, writer) = reflector::store::<ModuleRelease>();
    let shards = Arc::new(match &settings.sharding {
        Some(sharding) => OwnShards::none(sharding.shards),
        None => OwnShards::all(&cancel),
    });
    let leave = CancellationToken::new();
    let replica = settings.sharding.map(|sharding| {
        let own = Arc::clone(&shards);
        let (kube, told) = (kube.clone(), Arc::clone(&notices));
        let replica = Replica::new(sharding, kube, told, own, cancel.clone(), leave.clone());
        let (own, store, triggers) = (Arc::clone(&shards), store.clone(), triggers.clone());
        tokio::spawn(replica.take_part(move |gained| {
            for resource in store.state() {
                let uid = resource.metadata.uid.as_deref().unwrap_or_default();
                if own.is_in(uid, &gained) {
                    // Nobody listens any more only when the controller ends.
                    let _ = triggers.send(ObjectRef::from_obj(&*resource));
                }
            }
        }))
    });
    let context = Arc::new(Context {
        engine: Engine::new(written.clone(), settings.engine),
        cluster: written,
        kube,
        renderer: ModuleRenderer::new(settings.render.clone()),
        render_settings: settings.render,
        renders: Semaphore::new(settings.renders.max(1)),
        watches: Arc::clone(&watches),
        store: store.clone(),
        triggers,
        metrics: Arc::clone(&metrics),
        log: Arc::clone(&log),
        notices: Arc::clone(&notices),
        default_account: settings.default_service_account,
        cross_namespace: settings.cross_namespace,
        per_namespace: settings.concurrency_per_namespace.max(1),
        dry_run: settings.dry_run,
        shards: Arc::clone(&shards),
        cancel: cancel.clone(),
        memory: Mutex::new(Memory::default()),
    });
    let ending = Arc::clone(&context);
    let probes = Arc::new(Probes {
        metrics,
        watches,
        store: store.clone(),
        context: Arc::clone(&context),
    });
    let serving = match settings.listen {
        Some(address) => {
            let listening = listen(address).await;
            let (listener, address) =
                listening.map_err(|why| ControllerError::Listen { address, why })?;
            tell(
                &*log,
                &format!("serving /metrics, /healthz and /readyz on http://{address}"),
            );
            Some(tokio::spawn(serve(listener, Arc::clone(&probes))))
        }
        None => None,
    };
    let queue = Arc::clone(&context);
    let triggered = futures::stream::poll_fn(move |polled| triggered.poll_recv(polled));
    let triggered = triggered.inspect(move |resource| {
        let namespace = resource.namespace.clone().unwrap_or_default();
        let name = resource.name.clone();
        queue.waits(&ReleaseKey { namespace, name }, Duration::ZERO);
    });
    let queue = Arc::clone(&context);
    let (known, told) = (store.clone(), Arc::clone(&notices));
    let changes = watcher(resources, watcher::Config::default())
        .default_backoff()
        .filter_map(move |event| {
            let event = event.map(|event| readable(event, &known, &told));
            futures::future::ready(event.transpose())
        })
        .modify(|resource| resource.metadata.managed_fields = None)
        .reflect(writer)
        .applied_objects()
        .predicate_filter(what_counts, Default::default())
        .inspect_ok(move |resource| queue.waits(&ReleaseKey::of(resource), Duration::ZERO));
    let (stopped, first_list) = (cancel.clone(), Arc::clone(&probes));
    let config = controller::Config::default().concurrency(settings.concurrency);
    tell(&*log, "the controller runs");
    let running = Controller::for_stream(changes, store)
        .with_config(config)
        .reconcile_on(triggered)
        .graceful_shutdown_on(async move { stopped.cancelled().await })
        .run(
            reconcile,
            |resource, error, context| after_error(&resource, error, &context),
            context,
        )
        .for_each(|done| {
            // What a reconcile comes to is told where that happens.
            if let Err(controller::Error::QueueError(error)) = done
                && !is_expired(&error)
            {
                notices.failed("watching ModuleReleases failed", &error);
            }
            futures::future::ready(())
        });
    let overdue = async {
        cancel.cancelled().await;
        // kube's controller waits for the first list to be whole before it ends, and nobody reads
        // on any more: there is nothing that could go on yet.
        if first_list.is_ready() {
            tokio::time::sleep(LONGEST_END).await;
            let late = ending.running().join(", ");
            let late = format!("not all reconciles ended in time, and their locks expire: {late}");
            tell(&*log, &late);
        }
    };
    tokio::select! {
        () = running => {}
        () = overdue => {}
    }
    leave.cancel();
    if let Some(replica) = replica {
        // What it had is free for others, at once or when its leases expire.
        let _ = tokio::time::timeout(LONGEST_LEAVE, replica).await;
    }
    if let Some(serving) = serving {
        serving.abort();
    }
    tell(&*log, "the controller ends");
    Ok(())
}

/// A resource, or why it cannot be read.
type Readable = DeserializeGuard<ModuleRelease>;

/// Leaves out what cannot be read, so that one such resource does not hold up all others. Nothing
/// is done about it any more, and the log says so.
fn readable(
    event: Event<Readable>,
    known: &Store<ModuleRelease>,
    notices: &Notices,
) -> Option<Event<ModuleRelease>> {
    let tell = |unreadable: &InvalidObject| {
        let metadata = &unreadable.metadata;
        let (name, namespace) = (metadata.name.as_deref(), metadata.namespace.as_deref());
        let place = format!(
            "ModuleRelease/{} in {} cannot be read, and nothing is done about it",
            name.unwrap_or_default(),
            namespace.unwrap_or_default()
        );
        notices.failed(&place, unreadable);
    };
    // A resource that was good before is forgotten.
    let forget = |unreadable: InvalidObject| {
        let key =
            ObjectRef::new(&unreadable.metadata.name?).within(&unreadable.metadata.namespace?);
        Some(Event::Delete((*known.get(&key)?).clone()))
    };
    match event {
        Event::Init => Some(Event::Init),
        Event::InitDone => Some(Event::InitDone),
        Event::InitApply(resource) => match resource.0 {
            Ok(resource) => Some(Event::InitApply(resource)),
            Err(unreadable) => {
                tell(&unreadable);
                None
            }
        },
        Event::Apply(resource) => match resource.0 {
            Ok(resource) => Some(Event::Apply(resource)),
            Err(unreadable) => {
                tell(&unreadable);
                forget(unreadable)
            }
        },
        Event::Delete(resource) => match resource.0 {
            Ok(resource) => Some(Event::Delete(resource)),
            Err(unreadable) => forget(unreadable),
        },
    }
}

/// What of a resource has to change for it to be reconciled: not its status, and not the
/// finalizer that a reconcile sets itself.
fn what_counts(resource: &ModuleRelease) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    let metadata = &resource.metadata;
    metadata.uid.hash(&mut hasher);
    metadata.generation.hash(&mut hasher);
    metadata.deletion_timestamp.is_some().hash(&mut hasher);
    metadata.annotations.hash(&mut hasher);
    Some(hasher.finish())
}

/// One of the controller's own requests failed: later with every failure.
fn after_error(resource: &ModuleRelease, error: &kube::Error, context: &Context) -> Next {
    let key = ReleaseKey::of(resource);
    let failures = context.failed(&key);
    context.log.write(&LogLine {
        time: jiff::Timestamp::now().to_string(),
        level: "error",
        message: error.to_string(),
        reason: None,
        run: context.run_of(&key),
        namespace: Some(key.namespace.clone()),
        release: Some(key.name.clone()),
        generation: resource.metadata.generation,
    });
    let most = Duration::from_secs(60);
    let wait = backoff::after_failures(failures, most, chance(&key));
    context.later(&key, wait)
}

fn tell(log: &dyn ControllerLog, message: &str) {
    log.write(&LogLine {
        time: jiff::Timestamp::now().to_string(),
        level: "info",
        message: message.to_owned(),
        reason: None,
        namespace: None,
        release: None,
        generation: None,
        run: None,
    });
}
