//! Finding a release's record: by name with one GET, else by label.
//!
//! A GET that answers 404 is enough for "no release"; the LIST behind it is a fallback, and not
//! being allowed to list is a warning. Everything else that fails is a failure, never absence.

use std::collections::BTreeSet;

use opm_core::failure::Remedy;
use opm_core::identity::GroupKind;
use opm_core::ids::ReleaseId;
use opm_core::labels;
use opm_core::name::{NamespaceName, ReleaseName};
use opm_core::nearest::{did_you_mean, nearest};
use opm_core::record::Record;
use opm_core::record::ring::named;
use serde_json::{Map, Value};

use super::secret;
use super::spill::unreadable;
use crate::failure::{Failure, FailureKind};
use crate::observe::metadata;
use crate::ports::{ApiErrorKind, Detail, StoredSecret};
use crate::report::Release;
use crate::request::ReleaseRef;
use crate::run::Run;

const INVENTORY: (&str, &str) = (labels::COMPONENT, labels::COMPONENT_INVENTORY);

/// How often a record is read again that somebody writes meanwhile.
const ATTEMPTS: usize = 5;

/// How many entries that cannot be objects are named one by one.
const TOLD_SET_ASIDE: usize = 20;

/// A release's record as it was found, with everything in it that plans need.
#[derive(Debug, Clone)]
pub(crate) struct LoadedRecord {
    pub(crate) stored: StoredSecret,
    pub(crate) record: Record,
    /// The places of the ring that it names, or has given up.
    pub(crate) places: BTreeSet<u8>,
    pub(crate) warnings: Vec<String>,
}

/// A release that was found by its record.
struct FoundRelease {
    release: Release,
    /// The name of its module.
    module: String,
    secret: StoredSecret,
}

impl Run<'_> {
    /// The record of a release whose id is known, and warnings.
    pub(crate) async fn load(
        &self,
        release: &Release,
    ) -> Result<(Option<LoadedRecord>, Vec<String>), Failure> {
        let (stored, warnings) = self.stored(release).await?;
        let loaded = match stored {
            Some(stored) => self.whole(release, stored).await?,
            None => None,
        };
        Ok((loaded, warnings))
    }

    /// The same, for who is about to write it.
    pub(super) async fn load_to_write(
        &self,
        release: &Release,
    ) -> Result<(Option<LoadedRecord>, Vec<String>), Failure> {
        let (loaded, warnings) = self.load(release).await?;
        if let Some(loaded) = &loaded {
            secret::check_writable(&loaded.stored)?;
        }
        Ok((loaded, warnings))
    }

    /// The lock of a record that may be damaged otherwise, and warnings.
    pub(super) async fn load_lock(
        &self,
        release: &Release,
    ) -> Result<(Option<LoadedRecord>, Vec<String>), Failure> {
        let (stored, warnings) = self.stored(release).await?;
        let loaded = stored.map(|stored| LoadedRecord {
            record: Record {
                lock: secret::lock(&stored),
                ..release.empty_record()
            },
            stored,
            places: BTreeSet::new(),
            warnings: Vec::new(),
        });
        Ok((loaded, warnings))
    }

    /// The Secret of a release whose id is known, unread, and warnings.
    pub(crate) async fn stored(
        &self,
        release: &Release,
    ) -> Result<(Option<StoredSecret>, Vec<String>), Failure> {
        let namespace = release.namespace.as_str();
        let name = release.id.inventory_secret(&release.name);
        if let Some(found) = self.found_as(namespace, &name).await {
            return Ok((Some(found), Vec::new()));
        }
        let direct = self.backend.get_secret(namespace, &name).await;
        let direct = direct.map_err(|error| {
            let what = format!("cannot read the release's record, Secret/{name} in {namespace}");
            Failure::before_writing(&what, &error)
        })?;
        let absent = self.absent.lock().await.take();
        if direct.is_some() {
            return Ok((direct, Vec::new()));
        }
        if let Some(absent) = absent {
            // Perhaps nobody waits for it.
            let _ = absent.send(());
        }
        let id = release.id.to_string();
        let labelled = [(labels::RELEASE_ID, id.as_str()), INVENTORY];
        match self.backend.list_secrets(Some(namespace), &labelled).await {
            Ok(found) => Ok((only(release, found)?, Vec::new())),
            Err(error) if error.kind == ApiErrorKind::Forbidden => {
                let warning = format!(
                    "not permitted to list Secrets in namespace {namespace}: a record under \
                     another name than {name} would not be found"
                );
                Ok((None, vec![warning]))
            }
            Err(error) => {
                let what = format!("cannot look for the release's record in {namespace}");
                Err(Failure::before_writing(&what, &error))
            }
        }
    }

    /// The Secret by which the release was just found, once: whoever looks again reads it anew.
    async fn found_as(&self, namespace: &str, name: &str) -> Option<StoredSecret> {
        let found = self.found.lock().await.take()?;
        let content = &found.content;
        (content.namespace == namespace && content.name == name).then_some(found)
    }

    /// The record in a Secret, with everything in it that plans need. Whoever writes the record
    /// meanwhile may have removed what this reader is after, so a part that is not there counts
    /// only if the record still names it.
    async fn whole(
        &self,
        release: &Release,
        mut stored: StoredSecret,
    ) -> Result<Option<LoadedRecord>, Failure> {
        for _ in 0..ATTEMPTS {
            let (record, warnings) = secret::read(&stored)?;
            let places = &named(&record) | &record.given_up();
            let error = match self.bodies(release, record).await {
                Ok(record) => {
                    let warnings = [warnings, set_aside(&stored, &record)].concat();
                    return Ok(Some(LoadedRecord {
                        stored,
                        record,
                        places,
                        warnings,
                    }));
                }
                Err(error) => unreadable(release, &error),
            };
            let (namespace, name) = (&stored.content.namespace, &stored.content.name);
            let now = self.backend.get_secret(namespace, name).await;
            match now {
                Ok(Some(now)) if now.resource_version != stored.resource_version => stored = now,
                Ok(None) => return Ok(None),
                _ => return Err(error),
            }
        }
        Err(Failure::overtaken(&release.name))
    }

    /// Which release a command means. With a module, that follows from the names alone; else
    /// the records say.
    pub(crate) async fn find(
        &self,
        reference: &ReleaseRef,
        namespace: &NamespaceName,
    ) -> Result<Option<Release>, Failure> {
        let (first, second) = match reference {
            ReleaseRef::Module {
                path,
                name,
                namespace,
            } => {
                return Ok(Some(Release {
                    id: ReleaseId::of(path, name, namespace),
                    name: name.clone(),
                    namespace: namespace.clone(),
                }));
            }
            ReleaseRef::Id(id) => (vec![(labels::RELEASE_ID, id.to_string())], None),
            // A record in RFC-0001's own form has no label for the release's name.
            ReleaseRef::Name(name) => (
                vec![(labels::RELEASE_NAME, name.to_string())],
                Some(Vec::new()),
            ),
        };
        let mut releases = self.listed(first, reference, namespace).await?;
        if let (true, Some(second)) = (releases.is_empty(), second) {
            releases = self.listed(second, reference, namespace).await?;
        }
        if releases.len() > 1 {
            return Err(ambiguous(reference, namespace, &releases));
        }
        let Some(found) = releases.pop() else {
            return Ok(None);
        };
        *self.found.lock().await = Some(found.secret);
        Ok(Some(found.release))
    }

    /// The release that a command names. It must have a record.
    pub(crate) async fn existing(
        &self,
        reference: &ReleaseRef,
        namespace: &NamespaceName,
    ) -> Result<Release, Failure> {
        match self.find(reference, namespace).await? {
            Some(found) => Ok(found),
            None => Err(self.no_such_release(reference, namespace).await),
        }
    }

    /// There is none: which may have been meant instead, as far as that can be seen.
    pub(crate) async fn no_such_release(
        &self,
        reference: &ReleaseRef,
        namespace: &NamespaceName,
    ) -> Failure {
        let failure = Failure::no_release(reference, namespace);
        let ReleaseRef::Name(given) = reference else {
            return failure;
        };
        let here = self.release_names(Some(namespace.as_str())).await;
        let near = nearest(given.as_str(), here.iter().map(|(_, name)| name.as_str()));
        let elsewhere = self.release_names(None).await;
        let elsewhere = elsewhere.iter().filter(|(_, name)| name == given.as_str());
        let elsewhere: Vec<&str> = elsewhere.map(|(there, _)| there.as_str()).collect();
        let failure = match did_you_mean(&near) {
            Some(words) => failure.remedy(words),
            None => failure,
        };
        match elsewhere.is_empty() {
            true => failure,
            false => failure.remedy(format!(
                "there is a release {given} in namespace {}",
                elsewhere.join(", ")
            )),
        }
    }

    /// Namespaces and names of the releases there, or everywhere; none where that may not be seen.
    async fn release_names(&self, namespace: Option<&str>) -> Vec<(String, String)> {
        let secret = GroupKind::new("", "Secret");
        let label = Some(INVENTORY);
        let listed = self
            .backend
            .list(&secret, namespace, label, Detail::Metadata);
        let named = |object: &Map<String, Value>| {
            let there = metadata(object, "namespace")?;
            let name = metadata(object, "name")?.strip_prefix("opm.")?;
            Some((there.to_owned(), name.split_once('.')?.0.to_owned()))
        };
        let mut names: Vec<_> = listed
            .await
            .unwrap_or_default()
            .iter()
            .filter_map(named)
            .collect();
        names.sort();
        names.dedup();
        names
    }

    async fn listed(
        &self,
        mut selector: Vec<(&str, String)>,
        reference: &ReleaseRef,
        namespace: &NamespaceName,
    ) -> Result<Vec<FoundRelease>, Failure> {
        selector.push((INVENTORY.0, INVENTORY.1.to_owned()));
        let selector: Vec<(&str, &str)> = selector.iter().map(|(k, v)| (*k, v.as_str())).collect();
        let found = self
            .backend
            .list_secrets(Some(namespace.as_str()), &selector)
            .await;
        let found = found.map_err(|error| {
            let what = format!("cannot look for releases in namespace {namespace}");
            Failure::before_writing(&what, &error).remedy(Remedy::NameByDirectory)
        })?;
        let named = found.into_iter().filter_map(|secret| {
            let (release, module) = named_by_secret(&secret)?;
            Some(FoundRelease {
                release,
                module,
                secret,
            })
        });
        Ok(named
            .filter(|FoundRelease { release, .. }| match reference {
                ReleaseRef::Name(name) => release.name == *name,
                ReleaseRef::Id(id) => release.id == *id,
                ReleaseRef::Module { .. } => true,
            })
            .collect())
    }
}

/// What is told of entries that cannot be objects.
pub(super) fn set_aside(stored: &StoredSecret, record: &Record) -> Vec<String> {
    let name = &stored.content.name;
    let told = record.set_aside.iter().take(TOLD_SET_ASIDE);
    let mut warnings: Vec<String> = told.map(|one| format!("Secret/{name}: {one}")).collect();
    let more = record.set_aside.len().saturating_sub(TOLD_SET_ASIDE);
    if more > 0 {
        let more = format!("Secret/{name}: {more} more like these, set aside as well");
        warnings.push(more);
    }
    warnings
}

/// The release, and its module's name, that a record's Secret belongs to, by its own name:
/// readable whatever has become of its data.
pub(crate) fn named_by_secret(stored: &StoredSecret) -> Option<(Release, String)> {
    let content = &stored.content;
    let labelled = content.labels.get(labels::MODULE_NAME);
    let release = release_of_secret(&content.name, &content.namespace)?;
    Some((release, labelled.cloned().unwrap_or_default()))
}

/// The release whose record a Secret of this name is.
pub(crate) fn release_of_secret(name: &str, namespace: &str) -> Option<Release> {
    let (name, id) = name.strip_prefix("opm.")?.split_once('.')?;
    Some(Release {
        name: ReleaseName::new(name).ok()?,
        namespace: NamespaceName::new(namespace).ok()?,
        id: id.parse().ok()?,
    })
}

fn only(release: &Release, mut found: Vec<StoredSecret>) -> Result<Option<StoredSecret>, Failure> {
    if found.len() < 2 {
        return Ok(found.pop());
    }
    let names: Vec<&str> = found.iter().map(|s| s.content.name.as_str()).collect();
    Err(Failure::new(
        FailureKind::Refused,
        format!(
            "release {} has more than one record in namespace {}: {}",
            release.name,
            release.namespace,
            names.join(", ")
        ),
    )
    .remedy("delete the Secret that is not the release's record"))
}

fn ambiguous(
    reference: &ReleaseRef,
    namespace: &NamespaceName,
    releases: &[FoundRelease],
) -> Failure {
    let candidates: Vec<String> = releases
        .iter()
        .map(|found| {
            let FoundRelease {
                release, module, ..
            } = found;
            format!("{} (module {module}, id {})", release.name, release.id)
        })
        .collect();
    Failure::new(
        FailureKind::Refused,
        format!(
            "{reference} names more than one release in namespace {namespace}: {}",
            candidates.join(", ")
        ),
    )
    .remedy(Remedy::NameById)
}
