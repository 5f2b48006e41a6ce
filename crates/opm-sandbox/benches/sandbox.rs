//! How fast the sandbox starts and applies. Fails when it is slower than promised.
//!
//! `cargo bench -p opm-sandbox`
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark talks to the person who runs it"
)]

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client};
use opm_sandbox::Sandbox;
use serde_json::json;

const START: Duration = Duration::from_millis(20);
const APPLIES: Duration = Duration::from_secs(1);

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(run());
}

async fn run() {
    let dir = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let client = Client::new(Sandbox::open(dir.path()).unwrap(), "default");
    client.apiserver_version().await.unwrap();
    let first_start = begun.elapsed();
    let begun = Instant::now();
    let client = Client::new(Sandbox::open(dir.path()).unwrap(), "default");
    client.apiserver_version().await.unwrap();
    let start = begun.elapsed();
    println!("start, new file {first_start:?}, existing file {start:?} (at most {START:?})");

    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let params = PatchParams::apply("bench").force();
    for (what, value) in [("create", "1"), ("change", "2"), ("no change", "2")] {
        let begun = Instant::now();
        for n in 0..1000 {
            let name = format!("m{n}");
            let object = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"a": "b"}},
                "data": {"x": value, "y": "z".repeat(900)}
            });
            api.patch(&name, &params, &Patch::Apply(object))
                .await
                .unwrap();
        }
        let took = begun.elapsed();
        println!("1,000 server-side applies of 1 KB, {what}: {took:?} (at most {APPLIES:?})");
        assert!(took < APPLIES, "{what} took {took:?}");
    }
    let begun = Instant::now();
    let all = api.list_metadata(&ListParams::default()).await.unwrap();
    println!(
        "list of {} as metadata: {:?}",
        all.items.len(),
        begun.elapsed()
    );
    assert!(
        first_start < START && start < START,
        "starting took {first_start:?}, {start:?}"
    );
}
