//! Makes the API server trust the Services, as the controllers of applications do: some time after
//! a Service has a ready pod, the authority's certificate is written into the webhooks, conversions
//! and aggregated APIs that name it. Until then, calls to it fail.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use kube::Client;
use serde_json::{Value, json};

/// How long a Service with a ready pod is not trusted yet.
const DELAY: Duration = Duration::from_secs(2);

const INTERVAL: Duration = Duration::from_millis(300);

/// The collections whose objects name Services, and where in an object they do.
const COLLECTIONS: &[(&str, Place)] = &[
    (
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        Place::Webhooks,
    ),
    (
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
        Place::Webhooks,
    ),
    (
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        Place::Conversion,
    ),
    ("/apis/apiregistration.k8s.io/v1/apiservices", Place::Spec),
];

#[derive(Debug, Clone, Copy)]
enum Place {
    Webhooks,
    Conversion,
    Spec,
}

/// A Service that an object names, and where its certificate authority stands.
#[derive(Debug, PartialEq, Eq)]
struct Reference {
    namespace: String,
    service: String,
    pointer: String,
    trusted: Option<String>,
}

/// Does so until this process ends.
pub(super) async fn keep(client: Client, certificate: String) {
    let mut keeper = Keeper {
        client,
        bundle: STANDARD.encode(certificate),
        done: HashMap::new(),
        ready: HashMap::new(),
    };
    loop {
        for (collection, place) in COLLECTIONS {
            // What cannot be read or written now is looked at again the next time.
            let _ = keeper.look(collection, *place).await;
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

struct Keeper {
    client: Client,
    bundle: String,
    /// The version of each object about which there is nothing left to do.
    done: HashMap<String, String>,
    /// Since when each Service has a ready pod.
    ready: HashMap<(String, String), Instant>,
}

impl Keeper {
    /// Definitions are large and seldom change: all are listed by their metadata, and only those
    /// with a new version are read.
    async fn look(&mut self, collection: &str, place: Place) -> kube::Result<()> {
        let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
        let list = self.get(collection, accept).await?;
        for item in list["items"].as_array().into_iter().flatten() {
            let text = |field: &str| item["metadata"][field].as_str().unwrap_or_default();
            let path = format!("{collection}/{}", text("name"));
            let version = text("resourceVersion").to_owned();
            if self.done.get(&path) == Some(&version) {
                continue;
            }
            let object = self.get(&path, "application/json").await?;
            if self.all_trusted(&path, &object, place).await? {
                self.done.insert(path, version);
            }
        }
        Ok(())
    }

    /// Whether nothing is left to do for an object.
    async fn all_trusted(
        &mut self,
        path: &str,
        object: &Value,
        place: Place,
    ) -> kube::Result<bool> {
        let mut patch = Vec::new();
        let mut all = true;
        for one in references(object, place) {
            if one.trusted.as_ref() == Some(&self.bundle) {
                continue;
            }
            if self.is_due(&one.namespace, &one.service).await? {
                patch.push(json!({"op": "add", "path": one.pointer, "value": self.bundle}));
            } else {
                all = false;
            }
        }
        if !patch.is_empty() {
            self.patch(path, &json!(patch)).await?;
        }
        Ok(all)
    }

    async fn is_due(&mut self, namespace: &str, service: &str) -> kube::Result<bool> {
        let slices = format!(
            "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices\
             ?labelSelector=kubernetes.io%2Fservice-name%3D{service}"
        );
        let slices = self.get(&slices, "application/json").await?;
        let slices = slices["items"].as_array().into_iter().flatten();
        let mut endpoints =
            slices.flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten());
        let key = (namespace.to_owned(), service.to_owned());
        if !endpoints.any(|one| one["conditions"]["ready"] == true) {
            self.ready.remove(&key);
            return Ok(false);
        }
        let since = *self.ready.entry(key).or_insert_with(Instant::now);
        Ok(since.elapsed() >= DELAY)
    }

    async fn get(&self, path: &str, accept: &str) -> kube::Result<Value> {
        let request = Request::get(path).header("accept", accept);
        let request = request.body(Vec::new()).expect("a valid request");
        self.client.request(request).await
    }

    async fn patch(&self, path: &str, patch: &Value) -> kube::Result<()> {
        let request = Request::patch(format!("{path}?fieldManager=ca-injector"))
            .header("content-type", "application/json-patch+json")
            .body(patch.to_string().into_bytes())
            .expect("a valid request");
        self.client.request::<Value>(request).await.map(drop)
    }
}

fn references(object: &Value, place: Place) -> Vec<Reference> {
    match place {
        Place::Webhooks => {
            let webhooks = object["webhooks"].as_array().into_iter().flatten();
            webhooks
                .enumerate()
                .filter_map(|(n, one)| {
                    reference(&one["clientConfig"], &format!("/webhooks/{n}/clientConfig"))
                })
                .collect()
        }
        Place::Conversion => {
            let config = &object["spec"]["conversion"]["webhook"]["clientConfig"];
            let at = "/spec/conversion/webhook/clientConfig";
            reference(config, at).into_iter().collect()
        }
        Place::Spec if object["spec"]["insecureSkipTLSVerify"] == true => Vec::new(),
        Place::Spec => reference(&object["spec"], "/spec").into_iter().collect(),
    }
}

fn reference(config: &Value, at: &str) -> Option<Reference> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Some(Reference {
        namespace: text(&config["service"]["namespace"])?,
        service: text(&config["service"]["name"])?,
        pointer: format!("{at}/caBundle"),
        trusted: text(&config["caBundle"]),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Place, references};

    #[test]
    fn services_are_found_where_objects_name_them() {
        let config = json!({"service": {"namespace": "n", "name": "s"}});
        let webhooks = json!({"webhooks": [{"clientConfig": {"url": "https://x"}},
            {"clientConfig": config}]});
        let conversion = json!({"spec": {"conversion": {"webhook": {"clientConfig": config}}}});
        let mut api = json!({"spec": config});
        let pointers = |object: &Value, place| -> Vec<String> {
            let found = references(object, place).into_iter();
            found.map(|one| one.pointer).collect()
        };
        assert_eq!(
            pointers(&webhooks, Place::Webhooks),
            ["/webhooks/1/clientConfig/caBundle"]
        );
        assert_eq!(
            pointers(&conversion, Place::Conversion),
            ["/spec/conversion/webhook/clientConfig/caBundle"]
        );
        assert_eq!(pointers(&api, Place::Spec), ["/spec/caBundle"]);
        // The server takes no authority beside this.
        api["spec"]["insecureSkipTLSVerify"] = json!(true);
        assert_eq!(pointers(&api, Place::Spec), [""; 0]);
        assert_eq!(pointers(&json!({"spec": {}}), Place::Conversion), [""; 0]);
    }
}
