//! Who owns what after a write: the rules of server-side apply, and those for all other writes.
//!
//! Pure. Objects are given without `managedFields`; encoding, defaults and storage come later.

use serde_json::Value;

use super::compare::{Comparison, compare};
use super::fieldset::FieldSet;
use super::managed::{Managed, Manager, Managers, unmanaged};
use super::merge::merge;
use super::remove::remove;
use super::schema::{Schema, TypeId};
use super::to_set::to_set;
use super::value::equal;

const MAX_UPDATERS: usize = 10;

/// What a write is about, beside the objects.
pub(crate) struct Write<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) ty: TypeId,
    pub(crate) api_version: &'a str,
    /// All versions that the resource is served in; entries of others are forgotten.
    pub(crate) served: &'a [String],
    /// Fields that this endpoint resets, and so never manages.
    pub(crate) reset: &'a FieldSet,
    pub(crate) now: &'a str,
}

/// Another manager owns a field that the apply would change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Conflict {
    pub(crate) manager: Manager,
    pub(crate) path: String,
}

pub(crate) struct Applied {
    /// `None` when the object stays as it is.
    pub(crate) object: Option<Value>,
    pub(crate) managers: Managers,
}

impl Write<'_> {
    pub(crate) fn apply(
        &self,
        live: &Value,
        config: &Value,
        mut managers: Managers,
        name: &str,
        subresource: &str,
        force: bool,
    ) -> Result<Applied, Vec<Conflict>> {
        managers.retain(|_, m| self.served.contains(&m.api_version));
        let workflow = Manager::applier(name, subresource);
        let merged = merge(self.schema, self.ty, Some(live), Some(config)).unwrap_or(Value::Null);
        let last = managers.get(&workflow).cloned();
        let set = to_set(self.schema, self.ty, config).recursive_difference(self.reset);
        let entry = Managed {
            set,
            api_version: self.api_version.to_string(),
            time: last.as_ref().and_then(|l| l.time.clone()),
        };
        managers.insert(workflow.clone(), entry);
        let object = match last.filter(|l| !l.set.is_empty()) {
            Some(last) => self.prune(&merged, &managers, &last.set),
            None => merged,
        };
        self.settle(live, &object, &mut managers, Some(&workflow), force)?;
        strip(&mut managers, &workflow);
        let changed = !equal(live, &object);
        if changed && let Some(entry) = managers.get_mut(&workflow) {
            entry.time = Some(self.now.to_string());
        }
        Ok(Applied {
            object: changed.then_some(object),
            managers,
        })
    }

    /// Removes what the manager applied last time, not this time, and nobody else owns.
    fn prune(&self, merged: &Value, managers: &Managers, last: &FieldSet) -> Value {
        let named = |set: &FieldSet| set.with_named_fields(self.schema, Some(self.ty));
        let set_of = |value: &Value| named(&to_set(self.schema, self.ty, value));
        let take = |unwanted: &FieldSet| remove(self.schema, self.ty, merged, unwanted);
        let merged_set = set_of(merged);
        let last = named(last);

        let pruned = take(&last);
        let mut owned = FieldSet::default();
        for managed in managers.values() {
            owned.extend(&managed.set);
        }
        let kept = set_of(&pruned).union(&named(&owned));
        let pruned = take(&merged_set.difference(&kept));
        take(&merged_set.difference(&set_of(&pruned)).intersection(&last))
    }

    /// Takes changed and removed fields away from everyone but `workflow`.
    fn settle(
        &self,
        old: &Value,
        new: &Value,
        managers: &mut Managers,
        workflow: Option<&Manager>,
        force: bool,
    ) -> Result<Comparison, Vec<Conflict>> {
        let comparison = compare(self.schema, self.ty, old, new).without(self.reset);
        let touched = comparison.modified.union(&comparison.added);
        let mut conflicts = Vec::new();
        let mut lost = Vec::new();
        for (manager, managed) in managers.iter() {
            if Some(manager) == workflow {
                continue;
            }
            let taken = managed.set.intersection(&touched);
            let paths = taken.paths().into_iter();
            conflicts.extend(paths.map(|path| Conflict {
                manager: manager.clone(),
                path,
            }));
            lost.push((manager.clone(), taken));
        }
        if !force && !conflicts.is_empty() {
            return Err(conflicts);
        }
        for (manager, taken) in lost {
            if let Some(managed) = managers.get_mut(&manager) {
                managed.set = managed
                    .set
                    .difference(&taken)
                    .difference(&comparison.removed);
            }
        }
        managers.retain(|_, m| !m.set.is_empty());
        Ok(comparison)
    }

    /// Ownership after anything but an apply: changed fields go to the updater.
    pub(crate) fn update(
        &self,
        live: &Value,
        new: &Value,
        mut managers: Managers,
        name: &str,
        subresource: &str,
    ) -> Managers {
        managers.retain(|_, m| self.served.contains(&m.api_version));
        let Ok(comparison) = self.settle(live, new, &mut managers, None, true) else {
            return managers;
        };
        let set = comparison
            .modified
            .union(&comparison.added)
            .recursive_difference(self.reset);
        let set = set.difference(&unmanaged());
        if !set.is_empty() {
            let updater = Manager::updater(name, self.api_version, subresource);
            let entry = managers.entry(updater).or_insert_with(|| Managed {
                set: FieldSet::default(),
                api_version: self.api_version.to_string(),
                time: None,
            });
            entry.set = entry.set.union(&set);
            entry.time = Some(self.now.to_string());
        }
        cap(managers)
    }
}

fn strip(managers: &mut Managers, workflow: &Manager) {
    if let Some(entry) = managers.get_mut(workflow) {
        entry.set = entry.set.difference(&unmanaged());
        if entry.set.is_empty() {
            managers.remove(workflow);
        }
    }
}

/// Folds the oldest updaters into one per version when there are too many.
fn cap(mut managers: Managers) -> Managers {
    let mut updaters: Vec<_> = managers.iter().filter(|(m, _)| !m.applied()).collect();
    let mut count = updaters.len();
    if count <= MAX_UPDATERS {
        return managers;
    }
    updaters.sort_by_key(|(manager, managed)| (managed.time.clone(), (*manager).clone()));
    let order: Vec<Manager> = updaters.into_iter().map(|(m, _)| m.clone()).collect();
    let mut first_of: std::collections::BTreeMap<String, Manager> = Default::default();
    for manager in order {
        if count <= MAX_UPDATERS {
            break;
        }
        let Some(managed) = managers.get(&manager).cloned() else {
            continue;
        };
        let version = managed.api_version.clone();
        let Some(first) = first_of.get(&version) else {
            first_of.insert(version, manager);
            continue;
        };
        let bucket = Manager::updater("ancient-changes", &version, "");
        if !managers.contains_key(&bucket)
            && let Some(entry) = managers.remove(&first.clone())
        {
            managers.insert(bucket.clone(), entry);
        }
        if let Some(entry) = managers.get_mut(&bucket) {
            entry.set = entry.set.union(&managed.set);
            entry.time = managed.time;
        }
        managers.remove(&manager);
        count -= 1;
    }
    managers
}
