//! Looking at many objects with few requests: a list where it is cheaper, GETs otherwise.
//!
//! A failed look is never "absent". Absent is what the server says of one object by name, or
//! what an unfiltered, consistent, complete list does not have; or of a kind that is not served
//! by a server that told all it serves.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use opm_core::identity::{GroupKind, Identity};
use opm_core::packed::PackedObject;
use opm_core::scope::Scope;
use opm_engine::ports::{
    ApiError, ApiErrorKind, Detail, Observation, ServedKind, ServedKinds, WantedObject,
};
use tokio::sync::Semaphore;

use crate::bounds::Allowance;
use crate::client::ClusterClient;
use crate::discovery::{ResolvedKind, not_reachable, resolve};
use crate::json::{self, Object};
use crate::list::{Kind, Paging};
use crate::request::ListPage;
use crate::send::Answer;

/// From this many objects of a kind in a namespace on, a list is tried first.
const LIST_FROM: usize = 4;

/// One page of a list costs about as much as this many GETs.
const PAGE_COST: usize = 25;

type Look = Observation<PackedObject>;
type Looks = BTreeMap<Identity, Look>;

/// Objects of one kind in one namespace.
struct Batch<'a> {
    kind: Kind<'a>,
    wanted: BTreeMap<&'a str, &'a Identity>,
}

/// What all requests of one look share.
struct Shared {
    permits: Semaphore,
    allowance: Allowance,
}

/// Whether a list is worth trying. Whole Secrets are never listed: that would read the data of
/// everybody's.
fn worth_a_list(kind: &GroupKind, count: usize, detail: Detail) -> bool {
    count >= LIST_FROM && !(detail == Detail::Whole && kind.is("", "Secret"))
}

/// Whether to read on after `read` pages, or to ask for the rest one by one.
fn worth_reading_on(missing: usize, remaining: Option<usize>, page: usize, read: usize) -> bool {
    // Where the server does not say how much is left: as much again as was read so far.
    let pages = remaining.map_or(read, |items| items.div_ceil(page.max(1)));
    missing > 0 && pages.saturating_mul(PAGE_COST) <= missing.max(PAGE_COST)
}

impl ClusterClient {
    pub(crate) async fn look_at(&self, wanted: &[WantedObject], detail: Detail) -> Looks {
        let kinds = wanted.iter().map(|one| &one.identity.group_kind);
        let kinds: BTreeSet<&GroupKind> = kinds.collect();
        if kinds.is_empty() {
            return Looks::new();
        }
        let served = match self.served_with(kinds).await {
            Ok(served) => served,
            Err(error) => return all_failed(wanted, &error),
        };
        let (batches, mut looks) = batches(wanted, &served, detail);
        let shared = Shared {
            permits: Semaphore::new(self.settings.concurrent_reads.max(1)),
            allowance: Allowance::about(wanted.len()),
        };
        let found = join_all(
            batches
                .iter()
                .map(|batch| self.look_at_batch(batch, detail, &shared)),
        );
        looks.extend(found.await.into_iter().flatten());
        Box::pin(self.settle_unserved(wanted, detail, &mut looks)).await;
        looks
    }

    async fn look_at_batch(&self, batch: &Batch<'_>, detail: Detail, shared: &Shared) -> Looks {
        let mut missing = batch.wanted.clone();
        let mut looks = Looks::new();
        if worth_a_list(batch.kind.group_kind, missing.len(), detail) {
            match self
                .look_through_list(batch, detail, shared, &mut missing)
                .await
            {
                Ok((found, complete)) => {
                    looks = found;
                    if complete {
                        let absent = missing
                            .values()
                            .map(|id| ((*id).clone(), Observation::Absent));
                        looks.extend(absent);
                        return looks;
                    }
                }
                Err(error) if may_be_read_one_by_one(&error) => {}
                Err(error) => {
                    let failed = missing.into_values().cloned();
                    return failed
                        .map(|id| (id, Observation::Failed(error.clone())))
                        .collect();
                }
            }
        }
        let singles = missing
            .values()
            .map(|id| self.look_at_one(batch.kind, id, detail, shared));
        looks.extend(join_all(singles).await);
        looks
    }

    /// Reads a list as far as that is worth it; takes what it finds out of `missing`, and says
    /// whether it has read everything.
    async fn look_through_list(
        &self,
        batch: &Batch<'_>,
        detail: Detail,
        shared: &Shared,
        missing: &mut BTreeMap<&str, &Identity>,
    ) -> Result<(Looks, bool), ApiError> {
        let mut looks = Looks::new();
        let mut paging = Paging::start(detail);
        for read in 1.. {
            let ask = ListPage {
                detail,
                limit: paging.limit,
                labels: None,
                fields: None,
                token: paging.token.as_deref(),
            };
            let wanted = &*missing;
            let take = |mut object: Object| {
                let name = json::metadata(&object, "name").unwrap_or_default();
                let name = wanted.contains_key(name).then(|| name.to_owned())?;
                let packed = shared.allowance.take(&object).map(|()| {
                    batch.kind.name_kind(&mut object);
                    PackedObject::new(&object)
                });
                Some((name, packed))
            };
            let page = {
                let _permit = shared.permits.acquire().await;
                self.page_of(batch.kind.place(), &ask, take).await
            };
            let mut page = match page {
                Ok(page) => page,
                // Something was found already; the rest is asked for one by one.
                Err(error) if paging.token.is_some() && may_be_read_one_by_one(&error) => {
                    return Ok((looks, false));
                }
                Err(error) => return Err(error),
            };
            let more = paging.advance(&page, &batch.kind.served.plural)?;
            let remaining = page.metadata.remaining_item_count;
            for (name, packed) in std::mem::take(&mut page.items) {
                let packed = packed?;
                if let Some(id) = missing.remove(name.as_str()) {
                    looks.insert(id.clone(), Observation::Present(packed));
                }
            }
            if !more {
                return Ok((looks, true));
            }
            if !worth_reading_on(missing.len(), remaining, paging.limit, read) {
                break;
            }
        }
        Ok((looks, false))
    }

    async fn look_at_one(
        &self,
        kind: Kind<'_>,
        id: &Identity,
        detail: Detail,
        shared: &Shared,
    ) -> (Identity, Look) {
        let _permit = shared.permits.acquire().await;
        let answer = match kind.place().get(&id.name, detail) {
            Ok(call) => self.read(&call).await,
            Err(error) => Err(error),
        };
        let found = answer.and_then(|answer| present(&answer, kind, id));
        let found = found.and_then(|object| shared.allowance.take(&object).map(|()| object));
        let found = match found {
            Ok(object) => Observation::Present(PackedObject::new(&object)),
            Err(error) => match error.kind {
                ApiErrorKind::NotFound | ApiErrorKind::NamespaceMissing => Observation::Absent,
                _ => Observation::Failed(error),
            },
        };
        (id.clone(), found)
    }

    /// A kind that discovery knew and the server then did not: asked once more, so that the
    /// objects of a definition that was just removed are absent, and others are looked for where
    /// they are now.
    async fn settle_unserved(&self, wanted: &[WantedObject], detail: Detail, looks: &mut Looks) {
        let unserved = |found: &Look| matches!(found, Observation::Failed(error) if error.kind == ApiErrorKind::KindNotServed);
        if !looks.values().any(unserved) {
            return;
        }
        let before = self.served_cache().clone();
        let Ok(served) = self.discover().await else {
            return;
        };
        let mut moved = Vec::new();
        for (id, found) in looks.iter_mut().filter(|(_, found)| unserved(found)) {
            match resolve(&served, &id.group_kind) {
                ResolvedKind::NotServed => *found = Observation::Absent,
                ResolvedKind::Served(now) => {
                    let was = before
                        .as_ref()
                        .and_then(|before| before.kinds.get(&id.group_kind));
                    if was != Some(&now) {
                        moved.extend(wanted.iter().filter(|one| one.identity == *id).cloned());
                    }
                }
                ResolvedKind::Silent(_) => {}
            }
        }
        if !moved.is_empty() {
            looks.extend(Box::pin(self.look_at(&moved, detail)).await);
        }
    }
}

/// A list that may not be made, or not in full, says nothing about single objects.
fn may_be_read_one_by_one(error: &ApiError) -> bool {
    matches!(error.kind, ApiErrorKind::Forbidden | ApiErrorKind::TooLarge)
        || matches!(error.status, Some(405 | 410))
}

fn present(answer: &Answer, kind: Kind<'_>, id: &Identity) -> Result<Object, ApiError> {
    let mut object: Object = json::read(&answer.body, &id.to_string())?;
    kind.place().expect(&object, &id.name, None)?;
    kind.name_kind(&mut object);
    Ok(object)
}

fn all_failed(wanted: &[WantedObject], error: &ApiError) -> Looks {
    let failed = wanted.iter().map(|one| one.identity.clone());
    failed
        .map(|id| (id, Observation::Failed(error.clone())))
        .collect()
}

/// The version that an object is read in: the one that is wanted, if it is served and makes a
/// difference. Metadata are the same in all.
fn version<'a>(one: &'a WantedObject, served: &'a ServedKind, detail: Detail) -> &'a str {
    let wanted = one.version.as_ref().filter(|_| detail == Detail::Whole);
    let wanted = wanted.filter(|wanted| served.versions.contains(wanted));
    wanted.unwrap_or(&served.preferred)
}

/// What can be asked for, by kind, version and namespace, and what is clear without asking.
fn batches<'a>(
    wanted: &'a [WantedObject],
    served: &'a ServedKinds,
    detail: Detail,
) -> (Vec<Batch<'a>>, Looks) {
    let mut batches: BTreeMap<(&GroupKind, &str, Option<&str>), Batch<'a>> = BTreeMap::new();
    let mut looks = Looks::new();
    for one in wanted {
        let id = &one.identity;
        let kind = &id.group_kind;
        let Some(known) = served.kinds.get(kind) else {
            looks.insert(id.clone(), unserved(kind, &resolve(served, kind)));
            continue;
        };
        let namespace = id.namespace.as_deref();
        if (known.scope == Scope::Namespaced) != namespace.is_some() {
            looks.insert(
                id.clone(),
                Observation::Failed(wrong_scope(id, known.scope)),
            );
            continue;
        }
        let version = version(one, known, detail);
        let batch = batches
            .entry((kind, version, namespace))
            .or_insert_with(|| Batch {
                kind: Kind {
                    group_kind: kind,
                    served: known,
                    version,
                    namespace,
                },
                wanted: BTreeMap::new(),
            });
        batch.wanted.insert(&id.name, id);
    }
    (batches.into_values().collect(), looks)
}

fn unserved(kind: &GroupKind, resolved: &ResolvedKind) -> Look {
    match resolved {
        ResolvedKind::NotServed => Observation::Absent,
        other => Observation::Failed(not_reachable(kind, other)),
    }
}

/// Such an object cannot exist, but neither can "absent" be said of a question that makes no
/// sense.
fn wrong_scope(id: &Identity, scope: Scope) -> ApiError {
    let lives = match scope {
        Scope::Namespaced => "in namespaces, and none is given",
        Scope::Cluster => "outside of namespaces",
    };
    ApiError::local(
        ApiErrorKind::Rejected,
        format!("{id}: objects of this kind live {lives}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_a_list_is_worth_it() {
        let (map, secret) = (
            GroupKind::new("", "ConfigMap"),
            GroupKind::new("", "Secret"),
        );
        assert!(!worth_a_list(&map, 3, Detail::Metadata));
        assert!(worth_a_list(&map, 4, Detail::Metadata));
        assert!(worth_a_list(&map, 4, Detail::Whole));
        assert!(worth_a_list(&secret, 4, Detail::Metadata));
        assert!(!worth_a_list(&secret, 400, Detail::Whole));
    }

    #[test]
    fn objects_are_read_in_the_version_that_is_wanted_if_it_is_served() {
        let served = ServedKind {
            preferred: "v1".to_owned(),
            versions: vec!["v1".to_owned(), "v1beta1".to_owned()],
            plural: "widgets".to_owned(),
            short_names: Vec::new(),
            scope: Scope::Namespaced,
            listable: true,
            deletable: true,
        };
        for (wanted, detail, expected) in [
            (None, Detail::Whole, "v1"),
            (Some("v1"), Detail::Whole, "v1"),
            (Some("v1beta1"), Detail::Whole, "v1beta1"),
            (Some("v1beta1"), Detail::Metadata, "v1"),
            (Some("v1alpha1"), Detail::Whole, "v1"),
        ] {
            let one = WantedObject {
                identity: Identity::new(GroupKind::new("x.dev", "Widget"), Some("n"), "a"),
                version: wanted.map(str::to_owned),
            };
            assert_eq!(version(&one, &served, detail), expected, "{wanted:?}");
        }
    }

    #[test]
    fn a_crowded_namespace_is_not_read_whole_for_a_few_objects() {
        for (missing, remaining, read, expected) in [
            (5, Some(99_500), 1, false),
            (5, Some(500), 1, true),
            (5, Some(501), 1, false),
            (400, Some(2000), 1, true),
            (400, Some(99_500), 1, false),
            (5, None, 1, true),
            (5, None, 2, false),
            (0, Some(10), 1, false),
        ] {
            let decided = worth_reading_on(missing, remaining, 500, read);
            assert_eq!(decided, expected, "{missing} missing, {remaining:?} left");
        }
    }
}
