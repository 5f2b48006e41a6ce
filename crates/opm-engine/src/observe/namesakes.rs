//! Other releases of the same name in the same namespace: of another module, so another release.

use opm_core::identity::GroupKind;
use opm_core::labels::{self, OwnerLabels};
use serde_json::{Map, Value};

use crate::ports::Detail;
use crate::report::Release;
use crate::run::Run;

impl Run<'_> {
    /// What to say about other releases of a new release's name. Whoever may not look is not
    /// told.
    pub(crate) async fn namesakes(&self, release: &Release) -> Vec<String> {
        let name = release.name.as_str();
        let label = Some((labels::RELEASE_NAME, name));
        let namespace = Some(release.namespace.as_str());
        let secrets = GroupKind::new("", "Secret");
        let found = self
            .backend
            .list(&secrets, namespace, label, Detail::Metadata)
            .await;
        let found = found.unwrap_or_default();
        let records = found.iter().filter(|secret| is_inventory(secret));
        let others = records.filter_map(|secret| {
            let OwnerLabels { id, module, .. } = OwnerLabels::read(secret);
            let id = id.filter(|id| *id != release.id.to_string())?;
            let module = module.unwrap_or_else(|| "another".to_owned());
            Some(format!(
                "there is another release named {name} in namespace {}, of module {module} (id \
                 {id}); to go on in its place, apply and take ownership of its objects, then delete it",
                release.namespace
            ))
        });
        others.collect()
    }
}

fn is_inventory(secret: &Map<String, Value>) -> bool {
    let labels = secret
        .get("metadata")
        .and_then(|metadata| metadata.get("labels"));
    let component = labels.and_then(|labels| labels.get(labels::COMPONENT)?.as_str());
    component == Some(labels::COMPONENT_INVENTORY)
}
