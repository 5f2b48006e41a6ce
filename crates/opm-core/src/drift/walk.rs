//! The walk through what was applied, beside what is live and what is still owned.

use serde_json::{Map, Value};

use super::FieldDrift;
use super::managers::{FieldOwner, Managers, OwnedFields, item_label};
use crate::canonical::value_bytes;
use crate::diff::{PathStep, holds_quantity, path, same_value};
use crate::identity::GroupKind;
use crate::scope;

/// The parts of the metadata that can be applied.
const APPLIED_METADATA: [&str; 4] = ["annotations", "finalizers", "labels", "ownerReferences"];

/// Whether something that was applied is not owned any more.
pub(super) fn has_unowned(desired: &Map<String, Value>, managers: &Managers<'_>) -> bool {
    let mut walk = DriftWalk::new(desired, None, managers);
    walk.top();
    walk.unowned
}

/// The fields that differ.
pub(super) fn drifted(
    desired: &Map<String, Value>,
    live: &Map<String, Value>,
    managers: &Managers<'_>,
) -> Vec<FieldDrift> {
    let mut walk = DriftWalk::new(desired, Some(live), managers);
    walk.top();
    walk.drift
}

/// The first field that differs, whoever owns it.
pub(super) fn first_unlike(
    desired: &Map<String, Value>,
    live: &Map<String, Value>,
    managers: &Managers<'_>,
) -> Option<String> {
    let version = text(desired, "apiVersion");
    if managers.applied_in.is_some_and(|in_| in_ != version) {
        return Some("apiVersion".to_owned());
    }
    let mut walk = DriftWalk::new(desired, Some(live), managers);
    // Fields may have other names in another version, so there is nothing to compare.
    if !walk.comparable {
        return None;
    }
    walk.trusts_owner = false;
    walk.top();
    let differs = walk.drift.into_iter().next().map(|drift| drift.field);
    let value = Value::Object(desired.clone());
    let mut trees = managers.own_trees().iter();
    differs.or_else(|| trees.find_map(|own| first_beyond(own, &value, &mut Vec::new())))
}

/// The first field that `opm` owns and that this value does not have.
fn first_beyond<'a>(
    own: &'a Map<String, Value>,
    desired: &Value,
    trail: &mut Vec<PathStep<'a>>,
) -> Option<String> {
    for (key, below) in own {
        let (kind, name) = key.split_at_checked(2).unwrap_or((key, ""));
        let (step, value) = match kind {
            // An autoscaled object is sent with the replicas that it has.
            "f:" if name == "replicas" && path(trail) == "spec" => continue,
            "f:" => (PathStep::Field(name), desired.get(name)),
            "k:" | "v:" => {
                let mut items = desired.as_array().into_iter().flatten();
                let same = |item: &&Value| match kind {
                    "k:" => is_item(item, name),
                    _ => value_bytes(item) == name.as_bytes(),
                };
                (PathStep::Item(item_label(name)), items.find(same))
            }
            _ => continue,
        };
        trail.push(step);
        let beyond = match (value.filter(|value| !value.is_null()), below) {
            (None, _) => Some(path(trail)),
            (Some(value), Value::Object(below)) => first_beyond(below, value, trail),
            (Some(_), _) => None,
        };
        if beyond.is_some() {
            return beyond;
        }
        trail.pop();
    }
    None
}

struct DriftWalk<'a> {
    desired: &'a Map<String, Value>,
    /// None to only find out whether there is anything to compare.
    live: Option<&'a Map<String, Value>>,
    managers: &'a Managers<'a>,
    /// The API version that the object was applied in.
    version: &'a str,
    /// Whether the live object can be compared: it was read in the same version.
    comparable: bool,
    /// Whether the server reads quantities where this kind has them.
    quantities: bool,
    /// Whether what `opm` owns is as it was applied: it is, for what was applied last.
    trusts_owner: bool,
    trail: Vec<PathStep<'a>>,
    /// The same place, as the trees of owned fields write it.
    keys: Vec<String>,
    unowned: bool,
    drift: Vec<FieldDrift>,
}

impl<'a> DriftWalk<'a> {
    fn new(
        desired: &'a Map<String, Value>,
        live: Option<&'a Map<String, Value>>,
        managers: &'a Managers<'a>,
    ) -> Self {
        let version = text(desired, "apiVersion");
        let kind = GroupKind::of(version, text(desired, "kind"));
        Self {
            desired,
            live,
            managers,
            version,
            comparable: live.is_some_and(|live| text(live, "apiVersion") == version),
            quantities: scope::builtin(&kind).is_some(),
            trusts_owner: true,
            trail: Vec::new(),
            keys: Vec::new(),
            unowned: false,
            drift: Vec::new(),
        }
    }

    fn top(&mut self) {
        // Fields may have other names in another version, so there is nothing to compare.
        if self
            .managers
            .applied_in
            .is_some_and(|in_| in_ != self.version)
        {
            return;
        }
        let own = self.managers.own();
        for (key, value) in self.desired {
            let live = self.live.and_then(|live| live.get(key));
            match key.as_str() {
                "apiVersion" | "kind" | "status" => {}
                "metadata" => self.field(key, value, live, &own, Self::metadata),
                _ => self.field(key, value, live, &own, Self::value),
            }
        }
    }

    fn metadata(&mut self, value: &'a Value, live: Option<&'a Value>, own: &OwnedFields<'a>) {
        let Value::Object(metadata) = value else {
            return;
        };
        for key in APPLIED_METADATA {
            if let Some((key, value)) = metadata.get_key_value(key) {
                let live = live.and_then(|live| live.get(key));
                self.field(key, value, live, own, Self::value);
            }
        }
    }

    fn field(
        &mut self,
        key: &'a str,
        value: &'a Value,
        live: Option<&'a Value>,
        own: &OwnedFields<'a>,
        visit: fn(&mut Self, &'a Value, Option<&'a Value>, &OwnedFields<'a>),
    ) {
        let owned_as = format!("f:{key}");
        let below = own.child(&owned_as);
        self.trail.push(PathStep::Field(key));
        self.keys.push(owned_as);
        visit(self, value, live, &below);
        self.keys.pop();
        self.trail.pop();
    }

    fn value(&mut self, desired: &'a Value, live: Option<&'a Value>, own: &OwnedFields<'a>) {
        if (own.is_leaf() && self.trusts_owner) || desired.is_null() {
            return;
        }
        if is_empty(desired) && live.is_none_or(is_empty) {
            // Without the live object there is no telling whether it was filled since.
            self.unowned |= self.live.is_none();
            return;
        }
        match desired {
            Value::Object(fields) => {
                // A mapping that is gone is reported as one field.
                if own.is_nothing() && self.live.is_some() && live.is_none() {
                    return self.differs();
                }
                for (key, value) in fields {
                    let live = live.and_then(|live| live.get(key));
                    self.field(key, value, live, own, Self::value);
                }
            }
            Value::Array(items) => self.list(items, live, own),
            _ => self.compare(desired, live),
        }
    }

    fn list(&mut self, items: &'a [Value], live: Option<&'a Value>, own: &OwnedFields<'a>) {
        let (keyed, set) = (own.items("k:"), own.items("v:"));
        if keyed.is_empty() && set.is_empty() {
            return self.whole_list(items, live);
        }
        let mut known = keyed;
        known.extend(self.managers.others_at(&self.keys).items("k:"));
        for item in items {
            let written = value_bytes(item);
            if set.iter().any(|owned| owned.as_bytes()[2..] == written) {
                continue;
            }
            match known.iter().find(|key| is_item(item, &key[2..])) {
                Some(key) => self.item(key, item, live, own),
                None => self.compare_in_set(item, live),
            }
        }
    }

    fn item(
        &mut self,
        key: &'a str,
        item: &'a Value,
        live: Option<&'a Value>,
        own: &OwnedFields<'a>,
    ) {
        let live = live.and_then(Value::as_array).into_iter().flatten();
        let live = live.into_iter().find(|live| is_item(live, &key[2..]));
        self.trail.push(PathStep::Item(item_label(&key[2..])));
        self.keys.push(key.to_owned());
        self.value(item, live, &own.child(key));
        self.keys.pop();
        self.trail.pop();
    }

    /// An item without a known owner: it is there, or the list has drifted.
    fn compare_in_set(&mut self, item: &'a Value, live: Option<&'a Value>) {
        let mut live = live.and_then(Value::as_array).into_iter().flatten();
        let there = live.any(|live| self.holds(live, item));
        self.unowned(there);
    }

    fn whole_list(&mut self, items: &'a [Value], live: Option<&'a Value>) {
        let live = live.and_then(Value::as_array);
        let same = live.is_some_and(|live| self.holds_all(live, items));
        self.unowned(same);
    }

    fn compare(&mut self, desired: &Value, live: Option<&Value>) {
        let same = live.is_some_and(|live| self.same(live, desired));
        self.unowned(same);
    }

    /// `opm` does not own this place, which is as it was applied or not.
    fn unowned(&mut self, same: bool) {
        self.unowned = true;
        if self.live.is_some() && !same {
            self.differs();
        }
    }

    /// This place is not as it was applied.
    fn differs(&mut self) {
        self.unowned = true;
        let field = path(&self.trail);
        if self.drift.iter().any(|known| known.field == field) {
            return;
        }
        let (by, at) = match self.managers.owner(&self.keys, self.version) {
            FieldOwner::Autoscaler => return,
            FieldOwner::Nobody if !self.comparable => return,
            FieldOwner::Nobody => (None, None),
            FieldOwner::Manager { name, time } => (Some(name.to_owned()), time.map(str::to_owned)),
        };
        self.drift.push(FieldDrift { field, by, at });
    }

    /// Whether a live value holds everything that was applied; defaults beside it are fine.
    fn holds(&mut self, live: &'a Value, desired: &'a Value) -> bool {
        match (live, desired) {
            (Value::Object(live), Value::Object(desired)) => {
                let mut wanted = desired.iter().filter(|(_, value)| !is_empty(value));
                wanted.all(|(key, value)| {
                    self.trail.push(PathStep::Field(key));
                    let holds = live.get(key).is_some_and(|live| self.holds(live, value));
                    self.trail.pop();
                    holds
                })
            }
            (Value::Array(live), Value::Array(desired)) => self.holds_all(live, desired),
            _ => self.same(live, desired),
        }
    }

    fn holds_all(&mut self, live: &'a [Value], desired: &'a [Value]) -> bool {
        let mut pairs = live.iter().zip(desired);
        live.len() == desired.len() && pairs.all(|(live, desired)| self.holds(live, desired))
    }

    fn same(&self, live: &Value, desired: &Value) -> bool {
        same_value(
            live,
            desired,
            self.quantities && holds_quantity(&self.trail),
        )
    }
}

/// Whether the item of a list has these keys. What it leaves out, the server has filled in.
pub(crate) fn is_item(item: &Value, keys: &str) -> bool {
    let keys: Option<Map<String, Value>> = serde_json::from_str(keys).ok();
    let Some(keys) = keys else {
        return false;
    };
    let mut given = keys
        .iter()
        .filter_map(|(key, value)| Some((item.get(key)?, value)));
    given.clone().next().is_some() && given.all(|(has, value)| has == value)
}

/// What the server may leave out: null, zero, and anything that holds nothing else.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
    }
}

fn text<'a>(object: &'a Map<String, Value>, field: &str) -> &'a str {
    object
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
