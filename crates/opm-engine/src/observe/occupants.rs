//! What a Namespace or a CustomResourceDefinition holds, before it is deleted with everything
//! in it.

use std::collections::BTreeMap;

use futures::TryStreamExt as _;
use opm_core::identity::{GroupKind, Identity};
use opm_core::plan::{Occupant, Occupants, SilentGroup};
use opm_core::scope::Scope;
use serde_json::{Map, Value};

use super::{AllKinds, CONCURRENT_LISTS, identity_of};
use crate::concurrently::concurrently;
use crate::ports::{ApiError, Detail, ServedKind, ServedKinds};
use crate::run::Run;

impl Run<'_> {
    /// Everything that an object of a holding kind holds.
    pub(crate) async fn occupants(&self, holder: &Identity, served: &AllKinds) -> Occupants {
        if holder.group_kind.is("", "Namespace") {
            return self.in_namespace(&holder.name, served).await;
        }
        match self.of_definition(&holder.name, served).await {
            Ok(occupants) => Occupants::Known(occupants),
            Err(reason) => Occupants::Unknown(reason),
        }
    }

    async fn in_namespace(&self, namespace: &str, served: &ServedKinds) -> Occupants {
        let silent = &served.silent_groups;
        let held =
            |kind: &ServedKind| kind.scope == Scope::Namespaced && kind.listable && kind.deletable;
        let kinds = served.kinds.iter().filter(|(_, kind)| held(kind));
        let kinds = kinds.map(|(kind, _)| kind);
        let kinds: Vec<&GroupKind> = kinds
            .filter(|kind| !silent.contains_key(&kind.group))
            .collect();
        let lists = concurrently(CONCURRENT_LISTS, kinds.len(), |at| {
            self.listed_occupants(kinds[at], Some(namespace))
        });
        let lists: Result<Vec<Vec<Occupant>>, String> = lists.try_collect().await;
        let occupants = match lists {
            Ok(lists) => lists.into_iter().flatten().collect(),
            Err(reason) => return Occupants::Unknown(reason),
        };
        if silent.is_empty() {
            return Occupants::Known(occupants);
        }
        Occupants::Partly {
            occupants,
            silent: self.silent_groups(silent).await,
        }
    }

    /// Who does not answer, with what says that they should.
    async fn silent_groups(&self, silent: &BTreeMap<String, String>) -> Vec<SilentGroup> {
        let kind = GroupKind::new("apiregistration.k8s.io", "APIService");
        let listed = self.backend.list(&kind, None, None, Detail::Metadata).await;
        let services: Vec<Identity> = listed
            .unwrap_or_default()
            .iter()
            .filter_map(identity_of)
            .collect();
        let group = |(group, cause): (&String, &String)| {
            let mut silent = SilentGroup {
                group: group.clone(),
                api_services: Vec::new(),
                cause: cause.clone(),
            };
            let serving = services.iter().filter(|one| silent.is_served_by(one));
            silent.api_services = serving.cloned().collect();
            silent
        };
        silent.iter().map(group).collect()
    }

    /// A CustomResourceDefinition is named `<plural>.<group>`.
    async fn of_definition(
        &self,
        name: &str,
        served: &ServedKinds,
    ) -> Result<Vec<Occupant>, String> {
        let defines = |(kind, served): &(&GroupKind, &ServedKind)| {
            name.strip_suffix(kind.group.as_str())
                .and_then(|rest| rest.strip_suffix('.'))
                .is_some_and(|plural| plural == served.plural)
        };
        match served.kinds.iter().find(defines) {
            Some((kind, _)) => self.listed_occupants(kind, None).await,
            // What is not served cannot hold anything that could be asked for.
            None => Ok(Vec::new()),
        }
    }

    async fn listed_occupants(
        &self,
        kind: &GroupKind,
        namespace: Option<&str>,
    ) -> Result<Vec<Occupant>, String> {
        let listed = self
            .backend
            .list(kind, namespace, None, Detail::Metadata)
            .await;
        let objects = listed.map_err(|error: ApiError| format!("cannot list {kind}: {error}"))?;
        Ok(objects.iter().filter_map(occupant).collect())
    }
}

fn occupant(object: &Map<String, Value>) -> Option<Occupant> {
    let owners = object.get("metadata")?.get("ownerReferences");
    Some(Occupant {
        identity: identity_of(object)?,
        owned: owners
            .and_then(Value::as_array)
            .is_some_and(|owners| !owners.is_empty()),
    })
}
