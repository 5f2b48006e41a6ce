//! Whether the server permits what the plan needs. A review that is not allowed, or fails, says
//! nothing: then the server decides when something is sent.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt as _;
use opm_core::check::{ApplyStep, HookStep, Refusal};
use opm_core::identity::{GroupKind, Identity};
use opm_core::reach::{self, OwnNamespace};
use opm_core::rights::{self, AccessRule, NeededRights, Plurals, ResourceRight};

use super::Apply;
use super::check::ApplyContext;
use crate::concurrently::concurrently_in_order;

/// How many reviews run at a time.
const CONCURRENT_REVIEWS: usize = 8;

impl Apply<'_> {
    /// The rights that are missing to send these objects, run these hooks and write the record.
    pub(super) async fn missing_rights(
        &self,
        applies: &[ApplyStep],
        hooks: &[HookStep],
        context: &ApplyContext,
        recorded: bool,
    ) -> Vec<Refusal> {
        if !self.tells_rights() {
            return Vec::new();
        }
        let needed = self.needed_rights(applies, hooks, context, recorded);
        let namespaces: BTreeSet<String> = needed
            .keys()
            .filter_map(|right| right.namespace.clone())
            .collect();
        let rules = self.rules(namespaces.into_iter().collect()).await;
        let doubtful = rights::unconfirmed(needed, &rules);
        rights::refusals(self.refused_rights(doubtful).await)
    }

    /// Asks what may be done in the release's namespace, which an apply that sends something needs
    /// to know later.
    pub(super) async fn ask_rights(&self) {
        if self.tells_rights() && !self.request.options.dry_run {
            let namespace = self.request.namespace.as_str();
            let _ = self.run.access_rules(namespace).await;
        }
    }

    /// Whether the server can be asked what may be done.
    fn tells_rights(&self) -> bool {
        let reviews = GroupKind::new("authorization.k8s.io", "SelfSubjectRulesReview");
        self.served.kinds.contains_key(&reviews)
    }

    fn needed_rights(
        &self,
        applies: &[ApplyStep],
        hooks: &[HookStep],
        context: &ApplyContext,
        recorded: bool,
    ) -> NeededRights {
        let mut plurals: Plurals = self
            .served
            .kinds
            .iter()
            .map(|(kind, served)| (kind.clone(), served.plural.clone()))
            .collect();
        let manifests = self.candidate.objects.iter().map(|object| &object.manifest);
        plurals.extend(manifests.filter_map(reach::plural_defined_by));
        let mut needed = rights::to_apply(applies, &context.recreate, &plurals);
        let release = self.release();
        let namespace = release.namespace.as_str();
        let secret = release.id.inventory_secret(&release.name);
        let secret = Identity::new(GroupKind::new("", "Secret"), Some(namespace), &secret);
        let mut more = vec![
            rights::to_record(&secret, recorded),
            rights::to_hook(hooks, &plurals),
        ];
        let own = context.namespaces.own == OwnNamespace::ToBeCreated;
        let homes = context.namespaces.homes.iter().map(String::as_str);
        for name in own.then_some(namespace).into_iter().chain(homes) {
            let created = Identity::new(GroupKind::new("", "Namespace"), None, name);
            more.push(rights::to_create(&created, &plurals));
        }
        for (right, objects) in more.into_iter().flatten() {
            needed.entry(right).or_default().extend(objects);
        }
        needed
    }

    /// What the server says may be done in these namespaces, where it says anything.
    async fn rules(&self, namespaces: Vec<String>) -> BTreeMap<String, Vec<AccessRule>> {
        let asked = &namespaces;
        let rules = concurrently_in_order(CONCURRENT_REVIEWS, asked.len(), |at| async move {
            self.run.access_rules(&asked[at]).await
        });
        let rules: Vec<_> = rules.collect().await;
        let known = namespaces.into_iter().zip(rules);
        known
            .filter_map(|(namespace, rules)| Some((namespace, rules?)))
            .collect()
    }

    /// What of this the server says no to: of all objects of a kind, or else of each.
    async fn refused_rights(&self, doubtful: NeededRights) -> NeededRights {
        let doubtful: &Vec<(ResourceRight, BTreeSet<Identity>)> = &doubtful.into_iter().collect();
        let answers = concurrently_in_order(CONCURRENT_REVIEWS, doubtful.len(), |at| async move {
            let (right, objects) = &doubtful[at];
            if self.allows(right, None).await {
                return BTreeSet::new();
            }
            let mut refused = BTreeSet::new();
            for object in objects {
                if !self.allows(right, Some(&object.name)).await {
                    refused.insert(object.clone());
                }
            }
            refused
        });
        let answers: Vec<BTreeSet<Identity>> = answers.collect().await;
        let rights = doubtful.iter().map(|(right, _)| right.clone());
        rights
            .zip(answers)
            .filter(|(_, objects)| !objects.is_empty())
            .collect()
    }

    /// Only a plain no is one.
    async fn allows(&self, right: &ResourceRight, name: Option<&str>) -> bool {
        let allowed = self.run.backend.is_allowed(right, name).await;
        allowed.unwrap_or(true)
    }
}
