//! `rollback`: applies a recorded change again.
//!
//! From the manifests that are kept in the cluster, verified by their digest; else from the
//! module, rendered again with the recorded values, if that comes to the very same manifests;
//! else not at all. From there on it is an ordinary apply.

pub(crate) mod data;
pub(crate) mod request;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use opm_core::event::Event;
use opm_core::history::{TargetReason, default_target};
use opm_core::record::{Change, Record};
use opm_core::rendered::Rendered;

use self::data::VolumeData;
use crate::apply::{ApplyMode, ApplySource, ApplyTask, Orphans, Reapply};
use crate::diff::DiffReport;
use crate::failure::{Failure, Remedy};
use crate::history::{RestoredChange, RestoredChangeError, find_change, readable, values_of};
use crate::ports::{RenderRequest, Renderer};
use crate::record::ManifestsError;
use crate::report::{Release, Report};
use crate::request::RollbackRequest;
use crate::run::Run;

/// A rollback, and who can render a module again.
pub(crate) struct Rollback<'a> {
    request: &'a RollbackRequest,
    renderer: &'a dyn Renderer,
}

impl Rollback<'_> {
    /// What somebody had to say about it.
    pub(crate) fn message(&self) -> Option<String> {
        self.request.options.message.clone()
    }
}

impl Run<'_> {
    /// Applies a change of the history again.
    pub(crate) async fn rollback(
        &self,
        request: &RollbackRequest,
        renderer: &dyn Renderer,
    ) -> Result<Report, Failure> {
        let release = self.existing(&request.release, &request.namespace).await?;
        let rollback = Rollback { request, renderer };
        let source = ApplySource::History(&rollback);
        if request.options.dry_run {
            let rehearsed = self.rehearse(&release, &source, Orphans::LeftOut).await?;
            let mut report = rehearsed.into_report()?;
            report
                .warnings
                .extend(VolumeData::of_report(&report).warnings());
            return Ok(report);
        }
        let lock_timeout = request.options.lock_timeout;
        let ended = self.apply_from(&release, &source, lock_timeout).await?;
        ended.result
    }

    /// What going back would do, object by object and field by field.
    pub(crate) async fn diff_rollback(
        &self,
        request: &RollbackRequest,
        renderer: &dyn Renderer,
    ) -> Result<DiffReport, Failure> {
        let release = self.existing(&request.release, &request.namespace).await?;
        let rollback = Rollback { request, renderer };
        let source = ApplySource::History(&rollback);
        self.rehearse(&release, &source, Orphans::LeftOut).await
    }

    /// What to apply: decided from the record as it stands.
    pub(crate) async fn rollback_task(
        &self,
        rollback: &Rollback<'_>,
        release: &Release,
        record: Option<&Record>,
    ) -> Result<ApplyTask<'static>, Failure> {
        let Some(record) = record else {
            return Err(Failure::gone(release, &[]));
        };
        let (change, why) = target(record, rollback.request.revision.as_deref())?;
        self.emit(Event::GoingBack {
            change: Some(change.id.clone()),
            why,
        });
        let change = &self.whole_change(release, change).await?;
        let restored = self.recover(rollback, release, change).await?;
        Ok(ApplyTask {
            warnings: differing_features(change, &self.settings.features),
            mode: ApplyMode {
                reapply: Some(Reapply::of(change)),
                asks_about_data: true,
                ..ApplyMode::default()
            },
            request: Cow::Owned(rollback.request.applying(restored, release)),
        })
    }

    /// The change as it was applied: from what is kept, else rendered again.
    async fn recover(
        &self,
        rollback: &Rollback<'_>,
        release: &Release,
        change: &Change,
    ) -> Result<RestoredChange, Failure> {
        let error = match self.restored(release, change).await {
            Ok(restored) => return Ok(restored),
            Err(error) => error,
        };
        let mut failure = error.failure(&change.id);
        let unread = matches!(
            error,
            RestoredChangeError::Manifests(
                ManifestsError::Forbidden(_) | ManifestsError::Unread(_)
            )
        );
        let values = match values_of(change) {
            Some(values) if !unread => values,
            _ => return Err(failure),
        };
        let request = RenderRequest {
            module: change.module.clone(),
            values: values.0.clone(),
            release: release.name.clone(),
            namespace: release.namespace.clone(),
        };
        let rendered = rollback
            .renderer
            .render(&request, &self.caller.cancel)
            .await;
        match rendered {
            Ok(rendered) => Ok(RestoredChange {
                change: change.clone(),
                rendered: Rendered {
                    set: change.set.clone(),
                    ..rendered
                },
            }),
            Err(why) => {
                failure.message = format!(
                    "{}; and its module cannot be rendered again: {why}",
                    failure.message
                );
                let hints = why.hints.into_iter().map(Remedy::Text);
                failure.remedies.extend(hints);
                Err(failure.remedy(Remedy::NameDirectoryToRender))
            }
        }
    }
}

/// The change that is meant, and why it is that one.
fn target<'a>(record: &'a Record, revision: Option<&str>) -> Result<(&'a Change, String), Failure> {
    if let Some(given) = revision {
        return Ok((find_change(record, given)?, "as asked for".to_owned()));
    }
    let Some((id, reason)) = default_target(record) else {
        let message = match record.history.is_empty() {
            true if !record.past.is_empty() => {
                "which change is current is not known, so the one to go back to has to be named"
            }
            true => "the release has no recorded change that one could go back to",
            false => {
                "the current change is the only one in the history, and the last deployment succeeded"
            }
        };
        return Err(Failure::refused(message).remedy(Remedy::NameRevision));
    };
    let why = match reason {
        TargetReason::LastFailed { command, result } => format!(
            "the current change, because the last {command} did not succeed ({})",
            result.word()
        ),
        TargetReason::Deleted => {
            "the change that was current when the release was deleted".to_owned()
        }
        TargetReason::Before => "the change before the current one".to_owned(),
    };
    Ok((readable(record, id)?, why))
}

/// The feature flags that stood otherwise when the change was new.
fn differing_features(change: &Change, now: &BTreeMap<String, bool>) -> Vec<String> {
    let Some(then) = &change.features else {
        return Vec::new();
    };
    let names: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
    let state = |set: &BTreeMap<String, bool>, name: &String| match set.get(name) {
        Some(true) => "enabled",
        Some(false) => "disabled",
        None => "not known",
    };
    names
        .into_iter()
        .filter(|name| then.get(*name) != now.get(*name))
        .map(|name| {
            let (then, now) = (state(then, name), state(now, name));
            format!("feature {name} was {then} when this change was made, and is {now} now")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_features_that_differ_are_told() {
        let set = |pairs: &[(&str, bool)]| -> BTreeMap<String, bool> {
            pairs
                .iter()
                .map(|(name, on)| ((*name).to_owned(), *on))
                .collect()
        };
        let mut change = Change {
            id: String::new(),
            module: opm_core::record::ModuleRef {
                path: String::new(),
                version: None,
                origin: None,
                name: String::new(),
                charts: Default::default(),
                extra: Default::default(),
            },
            values: opm_core::record::Body::InRecord,
            manifest_digest: String::new(),
            timestamp: String::new(),
            inventory: opm_core::record::Body::InRecord,
            components: None,
            features: None,
            order: BTreeMap::new(),
            hooks: Vec::new(),
            set: Vec::new(),
            parent: None,
            record: None,
            extra: Default::default(),
        };
        let now = set(&[("a", true), ("b", false), ("new", true)]);
        assert!(
            differing_features(&change, &now).is_empty(),
            "nothing is known"
        );
        change.features = Some(set(&[("a", true), ("b", true), ("old", false)]));
        let told = differing_features(&change, &now).join("\n");
        assert_eq!(
            told,
            "feature b was enabled when this change was made, and is disabled now\n\
             feature new was not known when this change was made, and is enabled now\n\
             feature old was disabled when this change was made, and is not known now"
        );
    }
}
