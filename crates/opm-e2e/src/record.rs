//! The release's Secret as any reader of RFC-0001 sees it: plain JSON under plain keys, read
//! without the codec that wrote it.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// A decoded inventory Secret.
#[derive(Debug, Clone)]
pub struct DecodedRecord {
    /// The whole Secret.
    pub secret: Value,
    /// Its data, each key parsed as JSON.
    pub data: BTreeMap<String, Value>,
}

impl DecodedRecord {
    /// Decodes a Secret as the API server returns it.
    pub fn decode(secret: Value) -> Self {
        let data = secret["data"].as_object().cloned().unwrap_or_default();
        let data = data.into_iter().map(|(key, value)| {
            let bytes = STANDARD.decode(value.as_str().unwrap()).unwrap();
            let parsed = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
            (key, parsed)
        });
        Self {
            data: data.collect(),
            secret,
        }
    }

    /// The bytes, key by key.
    pub fn raw(&self) -> BTreeMap<String, Vec<u8>> {
        let data = self.secret["data"].as_object().cloned().unwrap_or_default();
        data.into_iter()
            .map(|(key, v)| (key, STANDARD.decode(v.as_str().unwrap()).unwrap()))
            .collect()
    }

    /// The change ids, newest first.
    pub fn index(&self) -> Vec<String> {
        let index = self.data["index"].as_array().expect("index is a list");
        index
            .iter()
            .map(|id| id.as_str().unwrap().to_owned())
            .collect()
    }

    /// The current change.
    pub fn current(&self) -> &Value {
        &self.data[&self.index()[0]]
    }

    /// `Kind/name` of the current inventory.
    pub fn inventory(&self) -> BTreeSet<String> {
        match self.index().first() {
            Some(id) => names(&self.data[id]["inventory"]["entries"]),
            None => BTreeSet::new(),
        }
    }

    /// `Kind/name` of what is pending. Late objects do not count.
    pub fn pending(&self) -> BTreeSet<String> {
        let all = self
            .data
            .get("pending")
            .map(|p| p["objects"].clone())
            .unwrap_or_default();
        let open: Vec<Value> = all.as_array().cloned().unwrap_or_default();
        names(&open.into_iter().filter(|o| o["late"] != true).collect())
    }

    /// `Kind/name` of what is kept.
    pub fn kept(&self) -> BTreeSet<String> {
        self.data
            .get("kept")
            .map(|k| names(&k["objects"]))
            .unwrap_or_default()
    }

    /// Why an object is pending, if it is.
    pub fn pending_why(&self, spelled: &str) -> Option<String> {
        why(self.data.get("pending")?, spelled)
    }

    /// Why an object is kept, if it is.
    pub fn kept_why(&self, spelled: &str) -> Option<String> {
        why(self.data.get("kept")?, spelled)
    }

    /// The places of the ring that the record names.
    pub fn places(&self) -> BTreeSet<String> {
        let changes = self.index().into_iter().flat_map(|id| {
            let record = self.data[&id]["record"].clone();
            ["manifests", "values", "inventory", "applied"].map(|part| record[part].clone())
        });
        let past = self.key("past").as_array().cloned().unwrap_or_default();
        let past = past.into_iter().map(|id| {
            let id = id.as_str().unwrap().to_owned();
            self.data[&id]["record"]["manifests"].clone()
        });
        let log = self.key("log").as_array().cloned().unwrap_or_default();
        let failed = log.into_iter().map(|e| e["record"]["manifests"].clone());
        let beside = ["pending", "kept"].map(|key| self.key(key)["record"].clone());
        let held = changes.chain(past).chain(failed).chain(beside);
        held.flat_map(|held| places(&held)).collect()
    }

    /// What lives in record Secrets of what a plan needs: the key it belongs to, the part, and
    /// its places.
    pub fn moved(&self) -> Vec<(String, &'static str, Vec<String>)> {
        // A damaged record has to be seen, too.
        let current = self.key("index")[0].as_str().map(str::to_owned);
        let inventory = current.map(|id| (self.key(&id)["record"]["inventory"].clone(), id));
        let inventory = inventory.map(|(held, id)| (id, "inventory", places(&held)));
        let beside =
            ["pending", "kept"].map(|key| (key.to_owned(), key, places(&self.key(key)["record"])));
        let all = inventory.into_iter().chain(beside);
        all.filter(|(_, _, places)| !places.is_empty()).collect()
    }

    /// Puts back what was fetched from record Secrets.
    pub fn put_back(&mut self, key: &str, part: &str, payload: Value) {
        let whole = self.data.get_mut(key).expect("the record has this key");
        match part {
            "inventory" => whole["inventory"] = payload,
            _ => whole["objects"] = payload["objects"].clone(),
        }
    }

    fn key(&self, key: &str) -> Value {
        self.data.get(key).cloned().unwrap_or_default()
    }

    /// Its size, as the API server counts it.
    pub fn bytes(&self) -> usize {
        self.raw().iter().map(|(k, v)| k.len() + v.len()).sum()
    }

    /// Whether somebody holds the lock.
    pub fn locked(&self) -> bool {
        self.data.get("lock").is_some_and(|lock| !lock.is_null())
    }

    /// The results of the log, newest first.
    pub fn results(&self) -> Vec<String> {
        let log = self
            .data
            .get("log")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        log.iter()
            .map(|entry| entry["result"].as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

fn places(held: &Value) -> Vec<String> {
    let places = held["places"].as_array().cloned().unwrap_or_default();
    let text = |place: &Value| place.as_str().unwrap().to_owned();
    places.iter().map(text).collect()
}

fn names(entries: &Value) -> BTreeSet<String> {
    let entries = entries.as_array().cloned().unwrap_or_default();
    entries.iter().map(name).collect()
}

fn name(entry: &Value) -> String {
    let text = |key: &str| entry[key].as_str().unwrap();
    format!("{}/{}", text("kind"), text("name"))
}

fn why(set: &Value, spelled: &str) -> Option<String> {
    let mut objects = set["objects"].as_array()?.iter();
    let object = objects.find(|object| name(object) == spelled)?;
    Some(object["why"].as_str()?.to_owned())
}
