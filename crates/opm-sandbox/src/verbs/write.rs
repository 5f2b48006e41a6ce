//! What every change goes through before it is stored: checks, what the server fills in, the
//! revision, the event, and what the small life is to do about it.

use serde_json::{Value, json};

use super::{Scope, stamp};
use crate::apply::encode::ValueForm;
use crate::apply::managed::{self, Managers};
use crate::apply::updater::Write;
use crate::kinds::{
    Resource, custom, custom_validate, defaults, generate, immutable, metadata, strategy, validate,
};
use crate::life;
use crate::limits::{self, REQUEST_BYTES};
use crate::status::{ApiError, Cause};
use crate::store::Key;
use crate::verbs::decode;

/// One change of one object.
pub(crate) struct Writing<'a> {
    pub(crate) scope: &'a Scope<'a>,
    pub(crate) resource: &'a Resource,
    pub(crate) namespace: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) dry_run: bool,
}

impl Writing<'_> {
    pub(crate) fn key(&self, name: &str) -> Key {
        self.resource.key(self.namespace, name)
    }

    /// Who owns what after a write that is not an apply.
    pub(crate) fn update_managers(&self, old: &Value, new: &mut Value, manager: &str) {
        let given = new["metadata"].get("managedFields").cloned();
        let from_old = || managed::decode(&old["metadata"]["managedFields"]).unwrap_or_default();
        let managers = match &given {
            _ if !self.subresource.is_empty() => from_old(),
            // An explicit empty list, or one empty entry, wipes the tracking.
            Some(Value::Array(entries)) if entries.is_empty() || *entries == [json!({})] => {
                Managers::new()
            }
            Some(given) => managed::decode(given)
                .filter(|m| !m.is_empty())
                .unwrap_or_else(from_old),
            None => from_old(),
        };
        let existing = old["metadata"]["uid"].as_str().is_some();
        let (old, mut bare) = (without_managers(old), without_managers(new));
        if managers.is_empty() && existing {
            set_managers(new, &managers);
            return;
        }
        if let Ok(owned) = decode::encode(self.resource, &bare, ValueForm::Owned) {
            bare = owned;
        }
        bare["apiVersion"] = json!(self.resource.api_version());
        let reset = strategy::reset_fields(self.resource, self.subresource);
        let (version, now) = (self.resource.api_version(), stamp(self.scope.now));
        let write = self.write(&version, &reset, &now);
        let managers = write.update(&old, &bare, managers, manager, self.subresource);
        set_managers(new, &managers);
    }

    pub(crate) fn write<'w>(
        &'w self,
        version: &'w str,
        reset: &'w crate::apply::fieldset::FieldSet,
        now: &'w str,
    ) -> Write<'w> {
        Write {
            schema: &self.resource.schema,
            ty: self.resource.ty,
            api_version: version,
            served: &self.resource.served,
            reset,
            now,
        }
    }

    pub(crate) fn set_defaults(&self, object: &mut Value) -> Result<(), ApiError> {
        let Some(version) = &self.resource.custom else {
            defaults::set(self.resource, object);
            return Ok(());
        };
        let mut room = REQUEST_BYTES;
        match &version.open_api {
            Some(schema) if !custom::set_defaults(schema, object, &mut room) => {
                Err(ApiError::too_large_to_store())
            }
            _ => Ok(()),
        }
    }

    /// Stores an object that does not exist yet.
    pub(crate) fn create(&self, mut object: Value) -> Result<Value, ApiError> {
        let resource = self.resource;
        metadata::generate_name(&mut object["metadata"], self.scope.tx.chance());
        let name = text(&object["metadata"]["name"]);
        self.check_namespace(&name)?;
        if resource.namespaced {
            object["metadata"]["namespace"] = json!(self.namespace);
        }
        self.fill_in_new(&mut object)?;
        let mut causes = metadata::check_name(resource, &name);
        causes.extend(metadata::check_maps(&object["metadata"]));
        causes.extend(validate::check(resource, &object));
        causes.extend(self.check_custom(&object));
        self.refuse(&name, &causes)?;
        let object = decode::encode(resource, &object, ValueForm::Stored).unwrap_or(object);
        self.check_size(&object)?;
        let key = self.key(&name);
        if self.scope.tx.get(&key)?.is_some() {
            return Err(ApiError::already_exists(
                &resource.group,
                &resource.plural,
                &name,
            ));
        }
        if self.dry_run {
            return Ok(object);
        }
        self.store(&key, object, None)
    }

    /// What the server itself puts into a new object.
    fn fill_in_new(&self, object: &mut Value) -> Result<(), ApiError> {
        let meta = &mut object["metadata"];
        if let Value::Object(map) = meta {
            for key in [
                "deletionTimestamp",
                "deletionGracePeriodSeconds",
                "resourceVersion",
                "selfLink",
            ] {
                map.remove(key);
            }
        }
        meta["uid"] = json!(self.scope.tx.chance().uuid().to_string());
        meta["creationTimestamp"] = json!(stamp(self.scope.now));
        if strategy::has_generation(self.resource) {
            meta["generation"] = json!(1);
        }
        let keeps_status = self.resource.custom.as_ref().is_some_and(|c| !c.has_status);
        if self.resource.subresource("status").is_some() && !keeps_status {
            match self.resource.custom {
                Some(_) => {
                    if let Value::Object(map) = object {
                        map.remove("status");
                    }
                }
                None => object["status"] = decode::empty(self.resource)["status"].clone(),
            }
        }
        generate::fill_in_new(self.scope.tx, self.resource, object)
    }

    /// Replaces an object by its new state, or leaves it when that is no change.
    pub(crate) fn update(&self, old: &Value, mut new: Value) -> Result<Value, ApiError> {
        let resource = self.resource;
        let name = text(&old["metadata"]["name"]);
        let version = text(&new["metadata"]["resourceVersion"]);
        if !version.is_empty() && old["metadata"]["resourceVersion"] != json!(version) {
            return Err(ApiError::modified(&resource.group, &resource.plural, &name));
        }
        self.keep_what_is_not_for_this_endpoint(old, &mut new);
        let mut causes = metadata::carry_over(old, &mut new);
        if self.subresource != "finalize" {
            generate::fill_in_changed(self.scope.tx, resource, old, &mut new)?;
        }
        causes.extend(metadata::check_maps(&new["metadata"]));
        if self.subresource.is_empty() {
            // The name was checked when it was given; what it has to match may be what changes.
            let named_by_spec = resource.is("apiregistration.k8s.io", "APIService");
            let counts = |c: &Cause| named_by_spec || c.field != "metadata.name";
            causes.extend(validate::check(resource, &new).into_iter().filter(counts));
            causes.extend(immutable::check(resource, old, &plain_form(resource, &new)));
        }
        causes.extend(self.check_custom(&new));
        self.refuse(&name, &causes)?;
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
        let counts = self.subresource.is_empty() && strategy::has_generation(resource);
        // Network policies alone tell an empty list from none.
        let exact = resource.is("networking.k8s.io", "NetworkPolicy");
        let changed = match (counts, exact) {
            (false, _) => false,
            (true, true) => strategy::desired_changed(resource, old, &new),
            (true, false) => strategy::desired_changed(resource, old, &plain_form(resource, &new)),
        };
        if changed {
            let generation = old["metadata"]["generation"].as_i64().unwrap_or(0);
            new["metadata"]["generation"] = json!(generation + 1);
        }
        if same_but_for_times(old, &new) {
            new["metadata"]["managedFields"] = old["metadata"]["managedFields"].clone();
            if new["metadata"]["managedFields"].is_null()
                && let Value::Object(map) = &mut new["metadata"]
            {
                map.remove("managedFields");
            }
        }
        let stored = plain_form(resource, &new);
        if self.gone_at_last(&stored) {
            return self.finish_deletion(&name, stored);
        }
        if stored == *old {
            return Ok(stored);
        }
        self.check_size(&stored)?;
        if self.dry_run {
            return Ok(stored);
        }
        self.store(&self.key(&name), stored, Some(old))
    }

    /// An endpoint changes its own part: the main one not the status, a subresource only that.
    fn keep_what_is_not_for_this_endpoint(&self, old: &Value, new: &mut Value) {
        let has_status = self.resource.subresource("status").is_some();
        let Value::Object(map) = new else { return };
        let mut keep = |key: &str| match old.get(key) {
            Some(value) => {
                map.insert(key.to_string(), value.clone());
            }
            None => {
                map.remove(key);
            }
        };
        match self.subresource {
            "" if has_status => keep("status"),
            "status" if self.resource.custom.is_some() => {
                let keys: Vec<_> = old
                    .as_object()
                    .into_iter()
                    .flatten()
                    .map(|(k, _)| k)
                    .collect();
                keys.into_iter()
                    .filter(|k| *k != "status" && *k != "metadata")
                    .for_each(|k| keep(k));
                let managers = map["metadata"].get("managedFields").cloned();
                let version = map["metadata"].get("resourceVersion").cloned();
                map.insert("metadata".into(), old["metadata"].clone());
                if let Some(managers) = managers {
                    map["metadata"]["managedFields"] = managers;
                }
                if let Some(version) = version {
                    map["metadata"]["resourceVersion"] = version;
                }
            }
            "status" => keep("spec"),
            _ => {}
        }
    }

    fn check_custom(&self, object: &Value) -> Vec<Cause> {
        let schema = self
            .resource
            .custom
            .as_ref()
            .and_then(|c| c.open_api.as_ref());
        schema
            .map(|s| custom_validate::check(s, object))
            .unwrap_or_default()
    }

    /// What cannot be stored, or not be read back, is not taken.
    fn check_size(&self, object: &Value) -> Result<(), ApiError> {
        if limits::too_deep(object, 0) {
            return Err(ApiError::bad_request("exceeded max depth"));
        }
        match limits::too_large(object, self.resource.custom.is_some()) {
            true => Err(ApiError::too_large_to_store()),
            false => Ok(()),
        }
    }

    fn refuse(&self, name: &str, causes: &[Cause]) -> Result<(), ApiError> {
        match causes {
            [] => Ok(()),
            _ => Err(ApiError::invalid(
                &self.resource.group,
                &self.resource.kind,
                name,
                causes,
            )),
        }
    }

    fn check_namespace(&self, name: &str) -> Result<(), ApiError> {
        if !self.resource.namespaced {
            return Ok(());
        }
        let key = Key {
            group: String::new(),
            resource: "namespaces".into(),
            namespace: String::new(),
            name: self.namespace.to_string(),
        };
        let Some(namespace) = self.scope.tx.get(&key)? else {
            return Err(ApiError::not_found("", "namespaces", self.namespace));
        };
        if namespace["metadata"].get("deletionTimestamp").is_some() {
            let (group, plural) = (&self.resource.group, &self.resource.plural);
            return Err(ApiError::namespace_terminating(
                group,
                plural,
                name,
                self.namespace,
            ));
        }
        if let Some(error) = life::definition_terminating(self.scope.tx, self.resource, name)? {
            return Err(error);
        }
        Ok(())
    }

    /// Terminating, and nothing holds it any more.
    fn gone_at_last(&self, object: &Value) -> bool {
        let meta = &object["metadata"];
        let held = |list: &Value| list.as_array().is_some_and(|f| !f.is_empty());
        meta.get("deletionTimestamp").is_some()
            && !held(&meta["finalizers"])
            && !(self.resource.is("", "Namespace") && held(&object["spec"]["finalizers"]))
    }

    fn store(&self, key: &Key, mut object: Value, old: Option<&Value>) -> Result<Value, ApiError> {
        let tx = self.scope.tx;
        let revision = tx.next_revision()?;
        object["metadata"]["resourceVersion"] = json!(revision.to_string());
        tx.put(key, revision, &object, old)?;
        life::noticed(self.scope, self.resource, key, &object, old)?;
        Ok(object)
    }

    /// Stores an object that a DELETE has marked; nothing else about it changes.
    pub(crate) fn store_marked(
        &self,
        name: &str,
        marked: Value,
        old: &Value,
    ) -> Result<Value, ApiError> {
        self.store(&self.key(name), marked, Some(old))
    }

    /// Takes the object out of the store; what it owned follows a little later.
    pub(crate) fn finish_deletion(&self, name: &str, mut last: Value) -> Result<Value, ApiError> {
        if self.dry_run {
            return Ok(last);
        }
        let tx = self.scope.tx;
        let key = self.key(name);
        let revision = tx.next_revision()?;
        last["metadata"]["resourceVersion"] = json!(revision.to_string());
        tx.delete(&key, revision, &last)?;
        life::gone(self.scope, self.resource, &key, &last)?;
        Ok(last)
    }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

pub(crate) fn without_managers(object: &Value) -> Value {
    let mut bare = object.clone();
    if let Some(Value::Object(map)) = bare.get_mut("metadata") {
        map.remove("managedFields");
    }
    bare
}

pub(crate) fn set_managers(object: &mut Value, managers: &Managers) {
    match managers.is_empty() {
        false => object["metadata"]["managedFields"] = managed::encode(managers),
        true => {
            if let Some(Value::Object(map)) = object.get_mut("metadata") {
                map.remove("managedFields");
            }
        }
    }
}

/// Equal apart from the times of managers: then the old times stay.
fn same_but_for_times(old: &Value, new: &Value) -> bool {
    let timeless = |object: &Value| {
        let mut object = object.clone();
        for entry in object["metadata"]["managedFields"]
            .as_array_mut()
            .into_iter()
            .flatten()
        {
            if let Value::Object(map) = entry {
                map.remove("time");
            }
        }
        let entries = object["metadata"]["managedFields"].as_array_mut();
        if let Some(entries) = entries {
            entries.sort_by_key(|e| {
                let key = |k: &str| e[k].as_str().unwrap_or_default().to_string();
                (
                    key("operation"),
                    key("manager"),
                    key("apiVersion"),
                    key("subresource"),
                )
            });
        }
        object
    };
    timeless(old) == timeless(new)
}

/// Deletes as controllers do: dependents follow later.
pub(crate) fn delete_in_background(
    writing: &Writing<'_>,
    name: &str,
    object: Value,
) -> Result<(), ApiError> {
    use super::delete::remove;
    use super::delete_options::Propagation;
    remove(writing, name, object, Some(Propagation::Background)).map(drop)
}

/// An object as it would be stored, for comparisons with what is.
fn plain_form(resource: &Resource, object: &Value) -> Value {
    decode::encode(resource, object, ValueForm::Stored).unwrap_or_else(|_| object.clone())
}
