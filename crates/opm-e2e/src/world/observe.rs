//! Looking at the cluster and at the record past `opm`, and changing them behind its back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::World;
use crate::api;
use crate::record::DecodedRecord;

impl World {
    /// The release's record, which must exist.
    #[track_caller]
    pub fn record(&self, release: &str) -> impl Future<Output = DecodedRecord> {
        let place = std::panic::Location::caller();
        let release = release.to_owned();
        async move {
            let found = self.find_record(&release).await;
            found.unwrap_or_else(|| panic!("{place}: there is no record of {release}"))
        }
    }

    /// The release's record, if there is one.
    pub async fn find_record(&self, release: &str) -> Option<DecodedRecord> {
        let label = "opmodel.dev%2Fcomponent%3Dinventory";
        let path = format!(
            "{}?labelSelector={label}",
            api::collection("Secret", Some(&self.ns))
        );
        let list = self.api.get(&path).await.unwrap();
        let mut items = list["items"].as_array().unwrap().clone();
        items.retain(|s| {
            s["metadata"]["name"]
                .as_str()
                .unwrap()
                .starts_with(&format!("opm.{release}."))
        });
        assert!(items.len() < 2, "one record per release");
        let record = items.pop().map(DecodedRecord::decode)?;
        Some(self.whole(record).await)
    }

    /// The same record with what lives in record Secrets in it.
    async fn whole(&self, mut record: DecodedRecord) -> DecodedRecord {
        let secrets = api::collection("Secret", Some(&self.ns));
        let name = record.secret["metadata"]["name"]
            .as_str()
            .unwrap()
            .to_owned();
        for (key, part, places) in record.moved() {
            let mut packed = Vec::new();
            for place in places {
                let path = format!("{secrets}/{name}.{place}");
                let secret = self.api.get(&path).await;
                let secret = secret.unwrap_or_else(|| panic!("{path}, named by {key}"));
                let piece = secret["data"][part].as_str().expect("a piece of it");
                packed.extend(STANDARD.decode(piece).unwrap());
            }
            let payload = zstd::decode_all(packed.as_slice()).unwrap();
            record.put_back(&key, part, serde_json::from_slice(&payload).unwrap());
        }
        record
    }

    /// The sizes of all Secrets of a release's record, as the API server counts them.
    pub async fn record_sizes(&self, release: &str) -> BTreeMap<String, usize> {
        let path = api::collection("Secret", Some(&self.ns));
        let list = self.api.get(&path).await.unwrap();
        let stem = format!("opm.{release}.");
        let secrets = list["items"].as_array().unwrap().iter();
        secrets
            .map(|secret| (secret["metadata"]["name"].as_str().unwrap(), secret))
            .filter(|(name, _)| name.starts_with(&stem))
            .map(|(name, secret)| {
                (
                    name.to_owned(),
                    DecodedRecord::decode(secret.clone()).bytes(),
                )
            })
            .collect()
    }

    /// Removes the record behind the release's back.
    pub async fn delete_record(&self, release: &str) {
        let record = self.record(release).await;
        let name = record.secret["metadata"]["name"].as_str().unwrap();
        self.api
            .delete(&format!(
                "{}/{name}",
                api::collection("Secret", Some(&self.ns))
            ))
            .await;
    }

    /// The bytes of the record, key by key.
    pub async fn raw_record(&self, release: &str) -> BTreeMap<String, Vec<u8>> {
        self.record(release).await.raw()
    }

    /// Everything in the record but the log, which tells of refusals too.
    pub async fn record_without_log(&self, release: &str) -> BTreeMap<String, Vec<u8>> {
        let mut data = self.raw_record(release).await;
        data.remove("log");
        data
    }

    /// Replaces the data of the record, behind the release's back.
    pub async fn write_raw_record(&self, release: &str, data: &BTreeMap<String, Vec<u8>>) {
        let mut secret = self.record(release).await.secret;
        secret["data"] = data
            .iter()
            .map(|(k, v)| (k.clone(), json!(STANDARD.encode(v))))
            .collect();
        let name = secret["metadata"]["name"].as_str().unwrap();
        let path = format!("{}/{name}", api::collection("Secret", Some(&self.ns)));
        let (status, body) = self
            .api
            .send(http::Method::PUT, &path, "application/json", Some(&secret))
            .await;
        assert_eq!(status, 200, "PUT {path}: {body}");
    }

    /// Edits the record as JSON, behind the release's back.
    pub async fn edit_record(
        &self,
        release: &str,
        edit: impl FnOnce(&mut BTreeMap<String, Value>),
    ) {
        let mut data = self.record(release).await.data;
        edit(&mut data);
        let bytes = data
            .into_iter()
            .map(|(key, value)| (key, value.to_string().into_bytes()));
        self.write_raw_record(release, &bytes.collect()).await;
    }

    /// Waits until something has happened.
    pub async fn until<F: Future<Output = bool>>(&self, what: &str, happened: impl Fn() -> F) {
        opm_testkit::until(what, async || happened().await).await;
    }

    /// Waits until a release's lock has expired for whoever believes in this time to live.
    pub async fn until_lock_expires(&self, release: &str, ttl: &str) {
        let variables = [("OPM_LOCK_TTL", ttl)];
        let arguments = ["mod", "status", release, "-o", "json"];
        self.until("the lock has expired", || async {
            let ran = self.opm_with(&variables, &arguments).await;
            ran.ok().json()["lock"]["expired"] == true
        })
        .await;
    }

    /// Waits until a release's lock has been renewed so many times from now on.
    pub async fn until_lock_is_renewed(&self, release: &str, times: u64) {
        let beat = || async { self.record(release).await.data["lock"]["beat"].as_u64() };
        let first = beat().await.expect("it is locked");
        self.until("the lock is renewed", || async {
            beat().await.expect("it stays locked") >= first + times
        })
        .await;
    }

    /// `Kind/name` of every live object that carries the labels of this release.
    pub async fn live(&self, release: &str) -> Vec<String> {
        let all = self
            .api
            .labelled("module.opmodel.dev%2Fnamespace", &self.ns, &self.ns)
            .await;
        let named = self
            .api
            .labelled("module-release.opmodel.dev%2Fname", release, &self.ns)
            .await;
        all.into_iter().filter(|o| named.contains(o)).collect()
    }

    /// The cluster has exactly these objects of the release, the record has exactly these, and
    /// nothing is left to do.
    pub async fn holds_exactly(&self, release: &str, expected: &[&str]) {
        let expected: BTreeSet<String> = expected.iter().map(|o| (*o).to_owned()).collect();
        let live = self.settled(release, &expected).await;
        assert_eq!(live, expected, "what is live");
        let record = self.record(release).await;
        let without_namespace = |o: &String| o.rsplit(':').next().unwrap_or(o).to_owned();
        assert_eq!(
            record.inventory(),
            expected.iter().map(without_namespace).collect(),
            "what is recorded"
        );
        assert_eq!(record.pending(), BTreeSet::new(), "what is pending");
        assert!(!record.locked(), "the lock is released");
        self.has_no_stray_records(release).await;
    }

    /// Every record Secret of a release is named by its index.
    pub async fn has_no_stray_records(&self, release: &str) {
        let label = "opmodel.dev%2Fcomponent%3Drecord";
        let path = format!(
            "{}?labelSelector={label}",
            api::collection("Secret", Some(&self.ns))
        );
        let list = self.api.get(&path).await.unwrap();
        let names = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["metadata"]["name"].as_str().unwrap());
        let stem = format!("opm.{release}.");
        let found: BTreeSet<String> = names
            .filter_map(|name| {
                name.strip_prefix(&stem)?
                    .split_once('.')
                    .map(|(_, place)| place.to_owned())
            })
            .collect();
        let named = match self.find_record(release).await {
            Some(record) => record.places(),
            None => BTreeSet::new(),
        };
        assert_eq!(found, named, "record Secrets of {release}");
    }

    /// What is live of a release that should be gone, once the cluster has finished deleting.
    pub async fn settled_live(&self, release: &str) -> Vec<String> {
        self.settled(release, &BTreeSet::new())
            .await
            .into_iter()
            .collect()
    }

    /// What is live once the cluster has finished deleting: nothing that should not be there is
    /// on its way out.
    async fn settled(&self, release: &str, expected: &BTreeSet<String>) -> BTreeSet<String> {
        opm_testkit::eventually("the cluster has finished deleting", async || {
            let live: BTreeSet<String> = self.live(release).await.into_iter().collect();
            for surplus in live.difference(expected) {
                if self.is_going(surplus).await {
                    return None;
                }
            }
            Some(live)
        })
        .await
    }

    /// Whether an object is gone or about to go, by itself or with its namespace.
    async fn is_going(&self, spelled: &str) -> bool {
        let going = |object: Option<Value>| {
            object.is_none_or(|object| !object["metadata"]["deletionTimestamp"].is_null())
        };
        let namespace = spelled.split_once(':').map_or(&*self.ns, |(ns, _)| ns);
        going(self.get(spelled).await) || going(self.get(&format!("Namespace/{namespace}")).await)
    }

    /// Reads an object, given as `Kind/name`, with `namespace:` in front if it lives elsewhere.
    pub async fn get(&self, spelled: &str) -> Option<Value> {
        self.api.get(&api::object(spelled, &self.ns)).await
    }

    /// Whether an object exists.
    pub async fn exists(&self, spelled: &str) -> bool {
        self.get(spelled).await.is_some()
    }

    /// Whether an object is gone, or at least on its way.
    pub async fn gone(&self, spelled: &str) -> bool {
        let found = self.get(spelled).await;
        found.is_none_or(|object| !object["metadata"]["deletionTimestamp"].is_null())
    }

    /// The uid of an object, which must exist.
    pub async fn uid(&self, spelled: &str) -> String {
        let object = self
            .get(spelled)
            .await
            .unwrap_or_else(|| panic!("{spelled} does not exist"));
        object["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    /// Creates an object that a finalizer holds, and deletes it: it is terminating now.
    pub async fn terminating(&self, object: &Value) {
        let mut object = object.clone();
        object["metadata"]["finalizers"] = json!(["example.com/hold"]);
        let made = self.api.create(&self.ns, &object).await;
        let (kind, name) = (
            object["kind"].as_str().unwrap(),
            made["metadata"]["name"].as_str().unwrap(),
        );
        self.api
            .delete(&api::object(&format!("{kind}/{name}"), &self.ns))
            .await;
    }

    /// Takes the finalizers off.
    pub async fn let_go(&self, spelled: &str) {
        let path = api::object(spelled, &self.ns);
        self.api
            .merge(&path, json!({"metadata": {"finalizers": null}}))
            .await;
    }

    /// Where the scenario may write files.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }
}
