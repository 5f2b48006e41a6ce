//! Records as a mistaken client reads and writes them.

use opm_engine::ports::{SecretContent, StoredSecret};
use serde_json::{Value, json};

use super::Mistake;
use super::backend::Mistaken;

impl Mistaken {
    /// A record as a mistaken writer writes it.
    pub(super) fn spoilt(&self, content: &SecretContent) -> SecretContent {
        let mut content = content.clone();
        let locked = content.data.contains_key("lock");
        let failed = self.remembered(|seen| seen.failed);
        if (self.makes(Mistake::NoIntent) && locked)
            || (self.makes(Mistake::PendingDropped) && !locked)
        {
            content.data.remove("pending");
        }
        if self.makes(Mistake::NoLockAfterFailure) && failed {
            content.data.remove("lock");
        }
        if self.makes(Mistake::LateForgotten) {
            edit(&mut content, "pending", |pending| {
                if let Some(pending) = pending.as_object_mut() {
                    pending.remove("until");
                }
                let objects = pending["objects"].as_array_mut();
                if let Some(objects) = objects {
                    objects.retain(|object| object["late"] != json!(true));
                }
            });
        }
        if self.makes(Mistake::RepairTrustsTime) {
            trust_time(&mut content);
        }
        if self.makes(Mistake::AdoptionIsCreation) {
            edit(&mut content, "pending", |pending| {
                let objects = pending["objects"].as_array_mut();
                for object in objects.into_iter().flatten() {
                    if object["why"] == "adopt" || object["why"] == "take" {
                        object["why"] = json!("create");
                    }
                }
            });
        }
        content
    }

    /// A record as a mistaken reader reads it.
    pub(super) fn misread(&self, mut stored: StoredSecret) -> StoredSecret {
        if self.makes(Mistake::KeptIsStale) {
            let kept = stored.content.data.remove("kept");
            let kept: Option<Value> = kept.and_then(|bytes| serde_json::from_slice(&bytes).ok());
            let Some(Value::Array(mut kept)) = kept.map(|mut kept| kept["objects"].take()) else {
                return stored;
            };
            for object in &mut kept {
                object["why"] = json!("prune-failed");
            }
            let data = &mut stored.content.data;
            let pending = data.entry("pending".to_owned());
            pending.or_insert_with(|| br#"{"objects":[]}"#.to_vec());
            edit(&mut stored.content, "pending", |pending| {
                if let Some(objects) = pending["objects"].as_array_mut() {
                    objects.append(&mut kept);
                }
            });
        }
        stored
    }
}

/// Where nobody can tell which change is current, the newest is.
fn trust_time(content: &mut SecretContent) {
    let past = content.data.get("past");
    let past = past.and_then(|bytes| serde_json::from_slice::<Vec<String>>(bytes).ok());
    let (Some([newest, rest @ ..]), Some(b"[]")) = (
        past.as_deref(),
        content.data.get("index").map(Vec::as_slice),
    ) else {
        return;
    };
    let (index, past) = (json!([newest]).to_string(), json!(rest).to_string());
    content.data.insert("index".to_owned(), index.into_bytes());
    content.data.insert("past".to_owned(), past.into_bytes());
}

fn edit(content: &mut SecretContent, key: &str, change: impl FnOnce(&mut Value)) {
    let Some(bytes) = content.data.get_mut(key) else {
        return;
    };
    let Ok(mut value) = serde_json::from_slice::<Value>(bytes) else {
        return;
    };
    change(&mut value);
    *bytes = value.to_string().into_bytes();
}
