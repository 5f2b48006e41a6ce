//! Objects that carry a release's labels and that its record does not know: ghosts of a failed
//! apply, and what a lost record left behind.

use std::collections::BTreeSet;

use futures::StreamExt as _;
use opm_core::entry::Entry;
use opm_core::identity::{GroupKind, Identity};
use opm_core::status;
use serde_json::{Map, Value};

use super::InventorySource;
use super::known::KnownRelease;
use crate::concurrently::concurrently;
use crate::failure::Failure;
use crate::observe::{CONCURRENT_LISTS, entry, was_applied};
use crate::ports::{ApiError, ApiErrorKind, Detail};
use crate::run::Run;

impl Run<'_> {
    /// Finds them everywhere and in all kinds, where that is asked for. Also says where it could
    /// not look.
    pub(super) async fn scan_orphans(
        &self,
        known: &KnownRelease,
        scan: bool,
    ) -> Result<(Vec<Entry>, Vec<String>), Failure> {
        // Without a record, everything with a label is already in the list.
        if !scan || known.source == InventorySource::Labels {
            return Ok((Vec::new(), Vec::new()));
        }
        let served = self.discover_all().await?;
        let found = self.labelled(&known.release, &served).await?;
        let tracked: BTreeSet<&Identity> = known.tracked.keys().collect();
        let entries = found.objects.iter().filter_map(entry).collect();
        Ok((status::orphans(entries, &tracked), found.warnings))
    }

    /// What carries a label in these kinds and namespaces. A place that may not be listed is left
    /// out without a word: nobody asked for it, as `--scan` does.
    pub(crate) async fn labelled_where(
        &self,
        places: &BTreeSet<(GroupKind, Option<String>)>,
        label: (&str, &str),
    ) -> (Vec<Map<String, Value>>, Vec<String>) {
        let places: Vec<_> = places.iter().collect();
        let lists = concurrently(CONCURRENT_LISTS, places.len(), |at| {
            let (kind, namespace) = places[at];
            self.backend
                .list(kind, namespace.as_deref(), Some(label), Detail::Metadata)
        });
        let lists: Vec<Result<_, ApiError>> = lists.collect().await;
        let (mut objects, mut warnings) = (Vec::new(), Vec::new());
        for listed in lists {
            match listed {
                Ok(found) => objects.extend(found.into_iter().filter(was_applied)),
                Err(error) if has_none(&error) => {}
                Err(error) => warnings.push(format!("failed to look for orphans: {error}")),
            }
        }
        (objects, warnings)
    }
}

/// Whether there can be no orphan that this user may see: such objects may not be listed, cannot be
/// listed, or do not exist.
pub(super) fn has_none(error: &ApiError) -> bool {
    let hidden = [ApiErrorKind::Forbidden, ApiErrorKind::KindNotServed];
    hidden.contains(&error.kind) || error.status == Some(405)
}
