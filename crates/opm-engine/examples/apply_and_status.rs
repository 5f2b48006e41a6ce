//! Applies a module and prints how its release stands, as JSON: in a sandbox in a temporary
//! directory, or in the cluster of a kubeconfig that is named behind the module.

use std::error::Error;

use opm_cluster::{ClusterClient, ConnectOptions, KubeClient, connect};
use opm_engine::ports::Caller;
use opm_engine::request::{ApplyRequest, ReleaseRef, StatusRequest};
use opm_engine::{Actor, Engine, Settings};
use opm_render::{Inputs, ModuleRef, ModuleRenderer, RenderSettings};
use opm_sandbox::Sandbox;
use serde_json::Value;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

pub(crate) async fn apply_and_status(cluster: ClusterClient, module: String) -> Result<Value> {
    let caller = Caller::default();
    let renderer = ModuleRenderer::new(RenderSettings::default());
    let module = ModuleRef::parse(&module);
    let loaded = renderer
        .load(&module, Inputs::default(), &caller.cancel)
        .await?;

    let engine = Engine::new(cluster, Settings::of(Actor::named("example")));
    let mut request = ApplyRequest::new(loaded.rendered, loaded.name, loaded.namespace);
    request.create_namespace = true;
    request.options.wait = true;
    engine.apply(&request, &caller).await?;

    let status = StatusRequest {
        release: ReleaseRef::Name(request.name),
        namespace: request.namespace,
        scan: false,
    };
    let status = engine.status(&status, &caller).await?;
    Ok(serde_json::to_value(&status)?)
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let module = arguments.next().ok_or("name a module's directory")?;
    let directory = tempfile::tempdir()?;
    let sandbox = Sandbox::open(directory.path())?;
    let cluster = match arguments.next() {
        None => ClusterClient::from_client(KubeClient::new(sandbox, "default")),
        Some(kubeconfig) => {
            let options = ConnectOptions {
                kubeconfig: Some(kubeconfig.into()),
                ..ConnectOptions::default()
            };
            connect(options).await?.client
        }
    };
    let status = apply_and_status(cluster, module).await?;
    Ok(serde_json::to_writer_pretty(std::io::stdout(), &status)?)
}
