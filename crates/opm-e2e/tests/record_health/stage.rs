//! Staging one case and recording what the server says of it.

use http::Method;
use k8s_openapi::api::core::v1::PersistentVolume;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use opm_e2e::api::Api;
use opm_testkit::{ControlPlane, Leftover, TestNamespace, eventually};
use serde_json::{Value, json};

/// When an object is as it should be.
pub(crate) type Predicate = fn(&Value) -> bool;

/// Something done to the cluster after the objects were made.
pub(crate) enum Step {
    /// Wait until an object is as it should be.
    Await(String, Predicate),
    /// Write a status, as a controller would.
    Status(String, Value),
    /// Change an object.
    Merge(String, Value),
    /// Delete an object.
    Delete(String),
    /// Make one more object.
    Create(String, Value),
    /// Make one pod of this `app` not ready.
    Unready(&'static str),
}

/// Which object is recorded.
pub(crate) enum Subject {
    /// The one at this path.
    Path(String),
    /// A pod of this `app`.
    PodOf(&'static str),
    /// What the server answered when the last object was made or changed.
    Answered,
}

/// One object to record, and what it should be judged to be. In the message, `…` stands for
/// anything and `{pod}` for the name of the first pod.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) make: Vec<(String, Value)>,
    pub(crate) then: Vec<Step>,
    pub(crate) subject: Subject,
    pub(crate) until: Predicate,
    /// The `app` whose pods are recorded beside it, and how they should look.
    pub(crate) pods: Option<(&'static str, Predicate)>,
    pub(crate) state: &'static str,
    pub(crate) message: &'static str,
}

/// The namespaces to record in.
pub(crate) struct Stage {
    pub(crate) ns: String,
    /// One in which a quota allows no pods.
    pub(crate) full: String,
    api: Api,
    home: TestNamespace,
    _full: TestNamespace,
}

impl Stage {
    pub(crate) async fn new(plane: &'static ControlPlane) -> Self {
        let (home, full) = (
            plane.namespace("health").await,
            plane.namespace("full").await,
        );
        let api = Api::new(home.client());
        let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota",
            "metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}});
        let path = format!("/api/v1/namespaces/{}/resourcequotas", full.name());
        let (status, body) = api
            .send(Method::POST, &path, "application/json", Some(&quota))
            .await;
        assert_eq!(status, 201, "{body}");
        let (ns, full_name) = (home.name().to_owned(), full.name().to_owned());
        let stage = Self {
            ns,
            full: full_name,
            api,
            home,
            _full: full,
        };
        let in_force = |quota: &Value| quota["status"]["hard"]["pods"] == "0";
        stage.wait(&format!("{path}/none"), in_force).await;
        stage.clean_up_after();
        stage
    }

    /// Objects outside of the namespaces go when the recorder is done.
    fn clean_up_after(&self) {
        for name in ["available", "released", "lost", "bound"] {
            let name = format!("{}-{name}", self.ns);
            self.home
                .remove_after(Leftover::object::<PersistentVolume>(None, &name));
        }
        for plural in ["widgets", "gadgets", "doodahs", "doodads"] {
            let name = format!("{plural}.{}.example.com", self.ns);
            let leftover = Leftover::object::<CustomResourceDefinition>(None, &name);
            self.home.remove_after(leftover);
        }
        let name = format!("v1.{}.example.org", self.ns);
        self.home
            .remove_after(Leftover::object::<APIService>(None, &name));
    }

    /// Lets go of what finalizers hold, so that the namespaces can go.
    pub(crate) async fn let_go(&self) {
        for ns in [self.ns.clone(), format!("{}-going", self.ns)] {
            let path = format!("/api/v1/namespaces/{ns}/configmaps/held");
            self.api
                .merge(&path, json!({"metadata": {"finalizers": null}}))
                .await;
        }
    }

    /// Plays a case, and writes down what there is to see.
    pub(crate) async fn record(&self, case: &Case) -> Value {
        let mut answered = Value::Null;
        for (collection, object) in &case.make {
            answered = self.create(case.name, collection, object).await;
        }
        for then in &case.then {
            if let Some(answer) = self.play(case.name, then).await {
                answered = answer;
            }
        }
        let object = match &case.subject {
            Subject::Answered => answered,
            Subject::Path(path) => self.wait(path, case.until).await,
            Subject::PodOf(app) => {
                let pods = self.pods(app, case.until).await;
                pods[0].clone()
            }
        };
        let mut message = case.message.to_owned();
        let mut recording = json!({"object": object});
        if let Some((app, until)) = case.pods {
            let pods = self.pods(app, until).await;
            // The workload once more: its status may have moved while its pods did.
            if let Subject::Path(path) = &case.subject {
                recording["object"] = self.wait(path, case.until).await;
            }
            message = message.replace("{pod}", pods[0]["metadata"]["name"].as_str().unwrap());
            recording["pods"] = json!(pods);
        }
        recording["expected"] = json!({"state": case.state, "message": message});
        recording
    }

    async fn create(&self, case: &str, collection: &str, object: &Value) -> Value {
        eventually("the kind is served", async || {
            let json = "application/json";
            let sending = self.api.send(Method::POST, collection, json, Some(object));
            match sending.await {
                (201, body) => Some(body),
                // A kind that was just defined is not served yet.
                (404, _) => None,
                (status, body) => panic!("{case}: POST {collection}: {status} {body}"),
            }
        })
        .await
    }

    /// Does one more thing, and says what the server answered to a change.
    async fn play(&self, case: &str, then: &Step) -> Option<Value> {
        match then {
            Step::Await(path, until) => {
                self.wait(path, *until).await;
            }
            Step::Status(path, status) => {
                let path = format!("{path}/status");
                self.api.merge(&path, json!({"status": status})).await;
            }
            Step::Merge(path, patch) => return Some(self.api.merge(path, patch.clone()).await),
            Step::Delete(path) => self.api.delete(path).await,
            Step::Create(collection, object) => {
                return Some(self.create(case, collection, object).await);
            }
            Step::Unready(app) => {
                let pods = self.pods(app, |_| true).await;
                let name = pods[0]["metadata"]["name"].as_str().unwrap();
                let path = format!("/api/v1/namespaces/{}/pods/{name}/status", self.ns);
                let unready = json!({"type": "Ready", "status": "False", "reason": "ContainersNotReady",
                    "message": "containers with unready status: [main]"});
                let strategic = "application/strategic-merge-patch+json";
                let patch = json!({"status": {"conditions": [unready]}});
                let (status, body) = self
                    .api
                    .send(Method::PATCH, &path, strategic, Some(&patch))
                    .await;
                assert_eq!(status, 200, "{case}: {body}");
            }
        }
        None
    }

    /// The pods of an `app`, once there are some and all are as they should be.
    async fn pods(&self, app: &str, until: Predicate) -> Vec<Value> {
        let path = format!(
            "/api/v1/namespaces/{}/pods?labelSelector=app%3D{app}",
            self.ns
        );
        eventually(
            &format!("the pods of {app} are as they should"),
            async || {
                let list = self.api.get(&path).await.unwrap();
                let mut pods = list["items"].as_array().cloned().unwrap_or_default();
                for pod in &mut pods {
                    pod["apiVersion"] = json!("v1");
                    pod["kind"] = json!("Pod");
                }
                (!pods.is_empty() && pods.iter().all(until)).then_some(pods)
            },
        )
        .await
    }

    async fn wait(&self, path: &str, until: Predicate) -> Value {
        eventually(&format!("{path} is as it should"), async || {
            self.api.get(path).await.filter(until)
        })
        .await
    }
}
