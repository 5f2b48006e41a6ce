//! Releases as resources: defining, creating and watching them past `opm`, and running the
//! controller.

use http::Method;
use opm_testkit::Target;
use opm_testkit::relay::{Fault, Moment, RequestFilter, RequestInfo};
use serde_json::{Value, json};

use super::World;
use super::commands::Route;
use super::{CuttableConnection, RelayedRun};
use crate::module::Module;
use crate::output::{OpmOutput, RunningOpm};

const API_VERSION: &str = "core.opmodel.dev/v1alpha1";

/// A controller behind a relay.
pub struct RelayedController {
    running: RunningOpm,
    route: Route,
}

impl RelayedController {
    /// The requests that it has sent so far.
    pub fn requests(&self) -> Vec<RequestInfo> {
        self.route.relay.requests()
    }

    /// The controller itself.
    pub fn running(&self) -> &RunningOpm {
        &self.running
    }

    /// From now on such requests meet this fault.
    pub fn on(&self, when: RequestFilter, fault: Fault) {
        self.route.relay.on(when, fault);
    }

    /// Requests that are held go on.
    pub fn release(&self) {
        self.route.relay.release();
    }

    /// How many requests of this kind it has sent so far.
    pub fn sent(&self, wanted: &RequestFilter) -> usize {
        let requests = self.requests();
        requests.iter().filter(|one| wanted.fits(one)).count()
    }

    /// Waits for its end: somebody kills it.
    pub async fn until_killed(self) {
        let ended = self.running.end().await;
        assert!(ended.0.was_killed(), "{ended}");
    }
}

impl World {
    /// Defines the resource in the cluster, as the binary prints it.
    pub async fn define_resource(&self) {
        let printed = self.opm(&["controller", "install", "--print", "-o", "json"]);
        let printed = printed.await.ok().json();
        let definition = printed["items"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["kind"] == "CustomResourceDefinition");
        let mut definition = definition.expect("the resource's definition").clone();
        // Nobody's: other scenarios define it too.
        definition["metadata"] = json!({"name": definition["metadata"]["name"]});
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let name = definition["metadata"]["name"].as_str().unwrap();
        let path = format!("{path}/{name}");
        self.api.apply_by("scenarios", &path, &definition).await;
        self.until("the resource is served", || async {
            let list = self.release_path("");
            let sent = self.api.send(Method::GET, &list, "application/json", None);
            sent.await.0 == 200
        })
        .await;
    }

    fn release_path(&self, name: &str) -> String {
        let all = format!("/apis/{API_VERSION}/namespaces/{}/modulereleases", self.ns);
        match name {
            "" => all,
            name => format!("{all}/{name}"),
        }
    }

    fn controller_arguments<'a>(&'a self, flags: &[&'a str]) -> Vec<&'a str> {
        let arguments = ["controller", "run", "--watch-namespace", self.ns.as_str()];
        [&arguments, flags].concat()
    }

    /// Starts a controller for this world's namespace.
    pub fn start_controller(&self, flags: &[&str]) -> RunningOpm {
        self.start(&self.controller_arguments(flags))
    }

    /// The same as somebody with other rights.
    pub fn start_controller_as(&self, kubeconfig: &std::path::Path, flags: &[&str]) -> RunningOpm {
        self.start_at(kubeconfig, &self.controller_arguments(flags))
    }

    /// Who may do everything in this world's namespace.
    ///
    /// # Panics
    /// On the sandbox, where everybody may.
    pub fn admin_kubeconfig(&self) -> &std::path::Path {
        match &self.cluster {
            super::TestCluster::Real(_, user) => user.kubeconfig(),
            super::TestCluster::Sandbox(_) => panic!("the sandbox has no users"),
        }
    }

    /// The same through a relay.
    pub async fn start_relayed_controller(&self, flags: &[&str]) -> RelayedController {
        let route = self.route().await;
        let running = self.start_at(&route.kubeconfig, &self.controller_arguments(flags));
        RelayedController { running, route }
    }

    /// The same, with a fault at requests of this kind from the beginning.
    pub async fn start_struck_controller(
        &self,
        at: &RequestFilter,
        fault: Fault,
        flags: &[&str],
    ) -> RelayedRun {
        let arguments = self.controller_arguments(flags);
        self.start_struck(at, fault, &arguments).await
    }

    /// The same over a connection that can be cut.
    pub fn start_controller_over(&self, line: &CuttableConnection, flags: &[&str]) -> RunningOpm {
        self.start_over(line, &self.controller_arguments(flags))
    }

    /// The same with additional variables in its environment.
    pub fn start_controller_with(&self, variables: &[(&str, &str)], flags: &[&str]) -> RunningOpm {
        self.start_with(variables, &self.controller_arguments(flags))
    }

    /// The same, with variables, killed right before or after its nth request of this kind.
    pub async fn start_controller_to_be_killed(
        &self,
        variables: &[(&str, &str)],
        at: RequestFilter,
        moment: Moment,
    ) -> RelayedController {
        let route = self.route().await;
        route.relay.on(at, Fault::Kill(moment));
        let target = Target::Kubeconfig(route.kubeconfig.clone());
        let arguments = self.controller_arguments(&[]);
        let opm = variables
            .iter()
            .fold(self.opm.clone(), |opm, (name, value)| opm.env(name, value));
        let process = opm.against(target).start(&arguments);
        let running = RunningOpm::new(process, &arguments, &self.canaries);
        route.relay.aim_at(running.pid());
        RelayedController { running, route }
    }

    /// Puts a module into a ConfigMap, in place of what is there.
    pub async fn put_module(&self, name: &str, module: &Module) {
        let directory = self.write(module);
        let mut data = json!({});
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap();
            data[file] = json!(std::fs::read_to_string(&path).unwrap());
        }
        self.put_files(name, data).await;
    }

    /// Puts files into a ConfigMap, in place of what is there.
    pub async fn put_files(&self, name: &str, data: Value) {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
        let path = crate::api::object(&format!("ConfigMap/{name}"), &self.ns);
        self.api.apply_by("somebody", &path, &object).await;
    }

    /// Applies a resource, as somebody else would.
    pub async fn put_release(&self, name: &str, spec: Value) -> Value {
        let resource = json!({"apiVersion": API_VERSION, "kind": "ModuleRelease",
            "metadata": {"name": name}, "spec": spec});
        self.api
            .apply_by("somebody", &self.release_path(name), &resource)
            .await
    }

    /// Tries to apply a resource; says what the server answers.
    pub async fn try_release(&self, name: &str, spec: Value) -> (u16, Value) {
        let resource = json!({"apiVersion": API_VERSION, "kind": "ModuleRelease",
            "metadata": {"name": name}, "spec": spec});
        let path = format!(
            "{}?fieldManager=somebody&force=true",
            self.release_path(name)
        );
        let patch = "application/apply-patch+yaml";
        self.api
            .send(Method::PATCH, &path, patch, Some(&resource))
            .await
    }

    /// Changes fields of a resource's spec.
    pub async fn edit_release(&self, name: &str, spec: Value) {
        self.api
            .merge(&self.release_path(name), json!({ "spec": spec }))
            .await;
    }

    /// Changes fields of a resource's status, as nobody but the controller should.
    pub async fn edit_status(&self, name: &str, status: Value) {
        let path = format!("{}/status", self.release_path(name));
        self.api.merge(&path, json!({ "status": status })).await;
    }

    /// Runs the binary where it is asked to show what is secret.
    pub async fn opm_showing_secrets(&self, arguments: &[&str]) -> OpmOutput {
        OpmOutput(self.opm.run(arguments).await)
    }

    /// Deletes a resource, and does not wait.
    pub async fn remove_release(&self, name: &str) {
        self.api.delete(&self.release_path(name)).await;
    }

    /// Deletes a resource whatever holds it.
    pub async fn force_release_away(&self, name: &str) {
        self.remove_release(name).await;
        let free = json!({"metadata": {"finalizers": null}});
        self.api.merge(&self.release_path(name), free).await;
        self.until_release_is_gone(name).await;
    }

    /// Whether exactly these objects are recorded, and nothing is left to do.
    pub async fn is_recorded(&self, release: &str, objects: &[&str]) -> bool {
        let Some(record) = self.find_record(release).await else {
            return false;
        };
        let expected = objects.iter().map(|one| (*one).to_owned()).collect();
        record.inventory() == expected && record.pending().is_empty() && !record.locked()
    }

    /// A resource, if it is there.
    pub async fn get_release(&self, name: &str) -> Option<Value> {
        self.api.get(&self.release_path(name)).await
    }

    /// Waits until a resource is gone.
    pub async fn until_release_is_gone(&self, name: &str) {
        self.until("the resource is gone", || async {
            self.get_release(name).await.is_none()
        })
        .await;
    }

    /// Waits until a condition of a resource, as it is now, has this status, and returns it.
    pub async fn until_condition(&self, name: &str, kind: &str, status: &str) -> Value {
        opm_testkit::eventually("a condition", async || {
            let resource = self.get_release(name).await?;
            let current =
                resource["status"]["observedGeneration"] == resource["metadata"]["generation"];
            let conditions = resource["status"]["conditions"].as_array()?;
            let found = conditions.iter().find(|one| one["type"] == kind)?;
            (current && found["status"] == status).then(|| found.clone())
        })
        .await
    }

    /// Waits until a resource is ready, as it is now, and its module is in this place.
    pub async fn until_ready(&self, name: &str) -> Value {
        self.until_condition(name, "Ready", "True").await
    }

    /// Waits until an object has this value there.
    pub async fn until_value(&self, spelled: &str, pointer: &str, value: Value) {
        self.until("an object is as it should be", || async {
            let object = self.get(spelled).await;
            object.is_some_and(|object| object.pointer(pointer) == Some(&value))
        })
        .await;
    }

    /// The reasons and messages of the events about a resource.
    pub async fn events_of(&self, name: &str) -> Vec<(String, String)> {
        let list = self
            .api
            .get(&crate::api::collection("Event", Some(&self.ns)))
            .await;
        let list = list.unwrap()["items"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let about = |one: &&Value| {
            one["involvedObject"]["name"] == name
                && one["involvedObject"]["kind"] == "ModuleRelease"
        };
        let told = |one: &Value| (text(&one["reason"]), text(&one["message"]));
        list.iter().filter(about).map(told).collect()
    }
}
