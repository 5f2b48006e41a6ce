//! Removes what tests leave in a cluster, from a thread that outlives their runtimes: `drop`
//! cannot wait for a future, and a test that panics has no runtime to lend.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Mutex, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams, DynamicObject};
use kube::core::discovery::ApiResource;
use kube::{Client, Resource};

use crate::plane::client_of;

/// An object that is to be removed after a test.
#[derive(Debug, Clone)]
pub struct Leftover {
    resource: ApiResource,
    namespace: Option<String>,
    name: String,
}

impl Leftover {
    /// An object of any kind; `namespace` is left out for a cluster-scoped one.
    pub fn object<K: Resource<DynamicType = ()>>(namespace: Option<&str>, name: &str) -> Self {
        let resource = ApiResource::erase::<K>(&());
        Self {
            resource,
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }
    }

    pub(crate) fn namespace(name: &str) -> Self {
        Self::object::<Namespace>(None, name)
    }
}

type CleanupRequest = (PathBuf, Vec<Leftover>, SyncSender<()>);

/// Asks for the removal and waits until the server has accepted it (not until it is done).
pub(crate) fn remove(kubeconfig: &Path, list: Vec<Leftover>, patience: Duration) {
    static REAPER: OnceLock<Mutex<mpsc::Sender<CleanupRequest>>> = OnceLock::new();
    let reaper = REAPER.get_or_init(|| {
        let (send, receive) = channel();
        thread::spawn(move || work(&receive));
        Mutex::new(send)
    });
    let (done, wait) = sync_channel(1);
    let sent = match reaper.lock() {
        Ok(reaper) => reaper.send((kubeconfig.to_owned(), list, done)).is_ok(),
        Err(_) => false,
    };
    if !sent || wait.recv_timeout(patience).is_err() {
        eprintln!("objects of a test were not removed in time");
    }
}

fn work(orders: &Receiver<CleanupRequest>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let mut known: Option<(PathBuf, Client)> = None;
    while let Ok((kubeconfig, list, done)) = orders.recv() {
        runtime.block_on(async {
            if known.as_ref().is_none_or(|(path, _)| *path != kubeconfig) {
                let client = client_of(&kubeconfig).await;
                known = client.ok().map(|client| (kubeconfig.clone(), client));
            }
            for leftover in list {
                if let Some((_, client)) = &known {
                    delete(client, leftover).await;
                }
            }
        });
        let _ = done.send(());
    }
}

async fn delete(client: &Client, leftover: Leftover) {
    let api: Api<DynamicObject> = match &leftover.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &leftover.resource),
        None => Api::all_with(client.clone(), &leftover.resource),
    };
    match api
        .delete(&leftover.name, &DeleteParams::background())
        .await
    {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 404 => {}
        Err(error) => {
            eprintln!(
                "failed to remove {} {}: {error}",
                leftover.resource.kind, leftover.name
            );
        }
    }
}
