//! The same objects by Flux's kustomize-controller: a Kustomization for each release, a source for each
//! namespace, whose archive is served from here in place of Flux's source-controller.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use http::Method;
use kube::Client;
use opm_testkit::programs::{self, CONTROLLERS, Program};
use opm_testkit::{ApiServer, until};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::cluster::{self, TOGETHER, namespace};
use super::process::Controller;
use super::{Failed, Shape, costs, in_time, mebibytes, row, seconds};
use crate::Outcome;

const KUSTOMIZATIONS: &str = "/apis/kustomize.toolkit.fluxcd.io/v1";
const SOURCES: &str = "/apis/source.toolkit.fluxcd.io/v1";
const REVISION: &str = "main@sha1:0000000000000000000000000000000000000000";

/// Kustomizations, and the way to their cluster.
pub(super) struct Kustomizations<'a> {
    pub(super) program: PathBuf,
    pub(super) home: &'a Path,
    pub(super) kubeconfig: PathBuf,
    count: usize,
    client: Client,
}

pub(super) async fn run(count: usize) -> Outcome {
    programs::ensure(CONTROLLERS)?;
    let program = Program::KustomizeController;
    let server = ApiServer::start().await?;
    let home = tempfile::tempdir()?;
    let plane = server.plane();
    let all = Kustomizations {
        program: program.find().ok_or("kustomize-controller was not built")?,
        home: home.path(),
        kubeconfig: plane.kubeconfig().to_owned(),
        count,
        client: plane.client().await?,
    };
    all.put().await?;
    let objects = Shape::Flux.objects();
    println!(
        "{count} Kustomizations of {objects} objects, kustomize-controller {}",
        program.version()
    );
    let began = Instant::now();
    let controller = Controller::start_flux(&all)?;
    all.until_ready(began).await?;
    row("all ready after", &seconds(began.elapsed()));
    row("peak memory", &mebibytes(controller.peak()?));
    costs(&controller, count).await?;
    controller.stop()
}

impl Kustomizations<'_> {
    /// Defines the kinds, and creates so many Kustomizations with their sources.
    async fn put(&self) -> Result<(), Failed> {
        let artifact = serve(self.home)?;
        for (kind, plural, group) in [
            ("Kustomization", "kustomizations", "kustomize"),
            ("GitRepository", "gitrepositories", "source"),
            ("OCIRepository", "ocirepositories", "source"),
            ("Bucket", "buckets", "source"),
        ] {
            self.define(kind, plural, group).await?;
        }
        for first in (0..self.count).step_by(TOGETHER) {
            let namespace = namespace(first);
            cluster::put_namespace(&self.client, &namespace).await?;
            let path = format!("{SOURCES}/namespaces/{namespace}/gitrepositories/module");
            let source = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
                "metadata": {"name": "module"},
                "spec": {"interval": "1h", "url": "https://example.com/module"}});
            cluster::apply(&self.client, &path, &source).await?;
            let status = json!({"status": {"observedGeneration": 1, "artifact": artifact,
                "conditions": [{"type": "Ready", "status": "True", "reason": "Succeeded",
                    "message": "stored", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
            let kind = "application/merge-patch+json";
            let path = format!("{path}/status");
            cluster::send(&self.client, Method::PATCH, &path, kind, Some(&status)).await?;
        }
        let path = format!("{KUSTOMIZATIONS}/{{}}/kustomizations");
        cluster::put_all(&self.client, &path, self.count, |n| {
            json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
                "spec": {"interval": "1h", "prune": true, "path": "./",
                    "namePrefix": format!("{}-", cluster::name(n)),
                    "targetNamespace": namespace(n),
                    "sourceRef": {"kind": "GitRepository", "name": "module"}}})
        })
        .await
    }

    async fn define(&self, kind: &str, plural: &str, group: &str) -> Result<(), Failed> {
        let group = format!("{group}.toolkit.fluxcd.io");
        let name = format!("{plural}.{group}");
        let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition", "metadata": {"name": name},
            "spec": {"group": group, "scope": "Namespaced",
                "names": {"kind": kind, "plural": plural},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "subresources": {"status": {}}, "schema": {"openAPIV3Schema": anything}}]}});
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
        cluster::apply(&self.client, &path, &definition).await?;
        let served = format!("/apis/{group}/v1/{plural}");
        until("the kind is served", async || {
            cluster::get(&self.client, &served).await.is_ok()
        })
        .await;
        Ok(())
    }

    async fn until_ready(&self, began: Instant) -> Result<(), Failed> {
        let path = format!("{KUSTOMIZATIONS}/kustomizations");
        while cluster::are_ready(&self.client, &path, self.count)
            .await
            .is_err()
        {
            in_time(began)?;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        Ok(())
    }
}

/// Serves the archive for as long as this program runs; says what a source tells about it.
fn serve(home: &Path) -> Result<Value, Failed> {
    let source = home.join("source");
    fs::create_dir(&source)?;
    let objects = cluster::objects("app", "example.com/app:1", Shape::Flux);
    let texts: Vec<String> = objects.iter().map(ToString::to_string).collect();
    fs::write(source.join("app.yaml"), texts.join("\n---\n"))?;
    fs::write(source.join("kustomization.yaml"), "resources: [app.yaml]\n")?;
    let archive = home.join("source.tar.gz");
    let packed = Command::new("tar")
        .arg("-C")
        .arg(&source)
        .arg("-czf")
        .arg(&archive)
        .args(["app.yaml", "kustomization.yaml"])
        .status()?;
    if !packed.success() {
        return Err("tar failed".into());
    }
    let archive = fs::read(archive)?;
    let digest: String = Sha256::digest(&archive)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let size = archive.len();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let archive = archive.clone();
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                _ = stream.read(&mut request);
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    archive.len()
                );
                _ = stream.write_all(head.as_bytes());
                _ = stream.write_all(&archive);
            });
        }
    });
    Ok(
        json!({"url": format!("http://{address}/source.tar.gz"), "path": "source.tar.gz",
        "revision": REVISION, "digest": format!("sha256:{digest}"), "size": size,
        "lastUpdateTime": "2026-01-01T00:00:00Z"}),
    )
}
