//! Many releases of one module, a namespace for each hundred of them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use http::{Method, Request};
use kube::Client;
use opm_testkit::{ApiServer, until};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{Failed, Shape};

/// How many releases a namespace has.
pub(super) const TOGETHER: usize = 100;
/// How many requests go on at a time.
const AT_ONCE: usize = 16;
/// How often an object that was edited is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How long an edit may stand.
const LONGEST: Duration = Duration::from_secs(60);

const GROUP: &str = "/apis/core.opmodel.dev/v1alpha1";

/// Resources, and the way to their cluster.
pub(super) struct Releases<'a> {
    pub(super) opm: &'a Path,
    pub(super) home: &'a Path,
    pub(super) kubeconfig: PathBuf,
    pub(super) count: usize,
    client: Client,
}

/// One request; what is written is the answer if it was done.
pub(super) async fn send(
    client: &Client,
    method: Method,
    path: &str,
    kind: &str,
    body: Option<&Value>,
) -> Result<Value, Failed> {
    let body = body.map(ToString::to_string).unwrap_or_default();
    let request = Request::builder().method(method).uri(path);
    let request = request.header("Content-Type", kind);
    let answer = client.request_text(request.body(body.into_bytes())?).await;
    let answer = answer.map_err(|error| format!("{path}: {error}"))?;
    Ok(serde_json::from_str(&answer)?)
}

pub(super) async fn apply(client: &Client, path: &str, object: &Value) -> Result<Value, Failed> {
    let path = format!("{path}?fieldManager=bench&force=true");
    let kind = "application/apply-patch+yaml";
    send(client, Method::PATCH, &path, kind, Some(object)).await
}

pub(super) async fn get(client: &Client, path: &str) -> Result<Value, Failed> {
    send(client, Method::GET, path, "application/json", None).await
}

pub(super) fn namespace(n: usize) -> String {
    format!("bench-{:02}", n / TOGETHER)
}

pub(super) fn name(n: usize) -> String {
    format!("app-{n:04}")
}

pub(super) async fn put_namespace(client: &Client, name: &str) -> Result<(), Failed> {
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let done = apply(client, &format!("/api/v1/namespaces/{name}"), &object).await;
    done.map(drop)
}

/// Creates so many resources, each in its namespace, which stands for `{}` in the path.
pub(super) async fn put_all(
    client: &Client,
    path: &str,
    count: usize,
    resource: impl Fn(usize) -> Value,
) -> Result<(), Failed> {
    let mut sending = JoinSet::new();
    for n in 0..count {
        if sending.len() >= AT_ONCE {
            sending.join_next().await.transpose()?.transpose()?;
        }
        let client = client.clone();
        let mut resource = resource(n);
        resource["metadata"]["name"] = json!(name(n));
        let path = path.replace("{}", &format!("namespaces/{}", namespace(n)));
        let path = format!("{path}/{}", name(n));
        sending.spawn(async move {
            let done = apply(&client, &path, &resource).await;
            done.map(drop).map_err(|error| error.to_string())
        });
    }
    while let Some(done) = sending.join_next().await {
        done??;
    }
    Ok(())
}

/// Fails unless so many resources are there and ready.
pub(super) async fn are_ready(client: &Client, path: &str, count: usize) -> Result<(), Failed> {
    let list = get(client, path).await?;
    let items = list["items"].as_array().ok_or("no list")?;
    let is_ready = |one: &&Value| {
        let conditions = one["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|one| one["type"] == "Ready" && one["status"] == "True")
    };
    let ready = items.iter().filter(is_ready).count();
    match ready == count {
        true => Ok(()),
        false => Err(format!("{ready} of {count} are ready").into()),
    }
}

impl<'a> Releases<'a> {
    /// Defines the resource, and creates so many of them.
    pub(super) async fn put(
        server: &ApiServer,
        opm: &'a Path,
        home: &'a Path,
        count: usize,
        shape: Shape,
    ) -> Result<Self, Failed> {
        let plane = server.plane();
        let client = plane.client().await?;
        let printed = Command::new(opm)
            .args(["controller", "install", "--print", "-o", "json"])
            .env_clear()
            .env("HOME", home)
            .output()?;
        let printed: Value = serde_json::from_slice(&printed.stdout)?;
        let items = printed["items"].as_array().ok_or("nothing to install")?;
        let mut definition = items
            .iter()
            .find(|one| one["kind"] == "CustomResourceDefinition")
            .ok_or("no definition of the resource")?
            .clone();
        definition["metadata"] = json!({"name": definition["metadata"]["name"]});
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let path = format!("{path}/modulereleases.core.opmodel.dev");
        apply(&client, &path, &definition).await?;
        until("the resource is served", async || {
            get(&client, &format!("{GROUP}/modulereleases"))
                .await
                .is_ok()
        })
        .await;
        let releases = Self {
            opm,
            home,
            kubeconfig: plane.kubeconfig().to_owned(),
            count,
            client,
        };
        for first in (0..count).step_by(TOGETHER) {
            let namespace = namespace(first);
            let client = &releases.client;
            put_namespace(client, &namespace).await?;
            let module = module(shape);
            let path = format!("/api/v1/namespaces/{namespace}/configmaps/module");
            apply(client, &path, &module).await?;
        }
        let resource = json!({"apiVersion": "core.opmodel.dev/v1alpha1", "kind": "ModuleRelease",
            "spec": {"module": {"configMap": {"name": "module"}}}});
        put_all(
            &releases.client,
            &format!("{GROUP}/{{}}/modulereleases"),
            count,
            |_| resource.clone(),
        )
        .await?;
        Ok(releases)
    }

    /// Fails unless all of them are ready.
    pub(super) async fn are_ready(&self) -> Result<(), Failed> {
        let path = format!("{GROUP}/modulereleases");
        are_ready(&self.client, &path, self.count).await
    }

    /// Fails unless each has its record and its Service.
    pub(super) async fn are_recorded(&self) -> Result<(), Failed> {
        let label = "labelSelector=app.kubernetes.io%2Fmanaged-by%3Dopen-platform-model";
        for what in ["secrets", "services"] {
            let list = get(&self.client, &format!("/api/v1/{what}?{label}")).await?;
            let names = list["items"].as_array().ok_or("no list")?.iter();
            // A record may have parts.
            let names = names.filter(|one| {
                let name = one["metadata"]["name"].as_str().unwrap_or_default();
                what == "services" || name.split('.').count() == 3
            });
            let found = names.count();
            if found != self.count {
                return Err(format!("{found} {what} of {}", self.count).into());
            }
        }
        Ok(())
    }

    /// Edits the Service of a release; says how long it took until that was taken back.
    pub(super) async fn edited(&self, n: usize) -> Result<Duration, Failed> {
        let path = format!("/api/v1/namespaces/{}/services/{}", namespace(n), name(n));
        let edit = json!({"spec": {"selector": {"app": "edited"}}});
        let kind = "application/merge-patch+json";
        let began = Instant::now();
        send(&self.client, Method::PATCH, &path, kind, Some(&edit)).await?;
        while get(&self.client, &path).await?["spec"]["selector"]["app"] == "edited" {
            if began.elapsed() > LONGEST {
                return Err(format!("{path} was not put right").into());
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(began.elapsed())
    }
}

/// What a release of this name has.
pub(super) fn objects(app: &str, image: &str, shape: Shape) -> Vec<Value> {
    let metadata = json!({"name": app});
    let mut objects = vec![
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata,
            "spec": {"selector": {"app": app}, "ports": [{"name": "http", "port": 9898}]}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": app}},
                "template": {"metadata": {"labels": {"app": app}},
                    "spec": {"serviceAccountName": app, "containers": [{"name": "app",
                        "image": image, "ports": [{"containerPort": 9898}]}]}}}}),
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata,
            "spec": {"rules": [{"host": format!("{app}.example.com"), "http": {"paths": [{
                "path": "/", "pathType": "Prefix",
                "backend": {"service": {"name": app, "port": {"number": 9898}}}}]}}]}}),
    ];
    for more in objects.len()..shape.objects() {
        objects.push(json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": format!("{app}-{more}")}, "data": {"key": "value"}}));
    }
    objects
}

/// A ConfigMap with the module of all releases in a namespace.
fn module(shape: Shape) -> Value {
    let objects = objects("${release.name}", "${values.image}", shape);
    let texts: Vec<String> = objects.iter().map(ToString::to_string).collect();
    let module = json!({"apiVersion": "core.opmodel.dev/v1alpha1", "kind": "Module",
        "metadata": {"name": "app"}, "values": {"image": "example.com/app:1"},
        "components": [{"name": "app", "manifests": ["app.yaml"]}]});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "module"},
        "data": {"module.yaml": module.to_string(), "app.yaml": texts.join("\n---\n")}})
}
