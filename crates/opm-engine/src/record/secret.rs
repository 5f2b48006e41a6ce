//! Between the Secret that the store hands out and the record that the codec reads.

use opm_core::failure::Remedy;
use opm_core::record::{self, Extra, Lock, RELEASE_TYPE, Record, SecretParts, Stored, salvage};

use crate::failure::{Failure, FailureKind};
use crate::ports::{SecretContent, StoredSecret};
use crate::report::Release;

/// The record in a Secret, if this version of `opm` may write it.
pub(super) fn read(stored: &StoredSecret) -> Result<(Record, Vec<String>), Failure> {
    let content = &stored.content;
    let name = format!("Secret/{} in namespace {}", content.name, content.namespace);
    if stored.terminating {
        let message = format!("{name} is being deleted: the release's record is going away");
        return Err(Failure::new(FailureKind::Refused, message).remedy("try again when it is gone"));
    }
    let decoded = record::decode(&parts(content)).map_err(|error| {
        let failure = Failure::refused(format!("{name}: {error}"));
        failure.remedy(Remedy::Repair).because(error)
    })?;
    let warnings = decoded.findings.iter().map(|f| format!("{name}: {f}"));
    match decoded.stored {
        Stored::Writable(record) => Ok((record, warnings.collect())),
        Stored::ReadOnly(newer) => Err(Failure::new(
            FailureKind::Refused,
            format!(
                "{name} was written by another version of opm ({}, kind {}): this one may read \
                 it, but not write it",
                newer.api_version(),
                newer.kind()
            ),
        )
        .remedy("use the version of opm that wrote it, or a newer one")),
    }
}

/// The parts of a Secret that carry a record.
pub(crate) fn parts(content: &SecretContent) -> SecretParts {
    SecretParts {
        data: content.data.clone(),
        labels: content.labels.clone(),
        annotations: content.annotations.clone(),
    }
}

/// Refuses a Secret that cannot be written, before anything else is.
pub(crate) fn check_writable(stored: &StoredSecret) -> Result<(), Failure> {
    if !stored.content.immutable {
        return Ok(());
    }
    let (name, namespace) = (&stored.content.name, &stored.content.namespace);
    Err(Failure::new(
        FailureKind::Refused,
        format!(
            "Secret/{name} in namespace {namespace} is marked immutable: the release's record \
             cannot be written"
        ),
    )
    .remedy("save it, delete it, and create it again without `immutable: true`"))
}

/// The Secret that a record becomes. One that was found under another name keeps it.
pub(super) fn content(
    release: &Release,
    stored: Option<&StoredSecret>,
    record: &Record,
) -> SecretContent {
    let SecretParts {
        data,
        labels,
        annotations,
    } = record::encode(record);
    let name = match stored {
        Some(stored) => stored.content.name.clone(),
        None => release.id.inventory_secret(&release.name),
    };
    SecretContent {
        name,
        namespace: release.namespace.as_str().to_owned(),
        secret_type: stored
            .map_or(RELEASE_TYPE, |s| &s.content.secret_type)
            .to_owned(),
        labels,
        annotations,
        data,
        immutable: false,
    }
}

/// The id of a lock that cannot be read.
const UNREADABLE: &str = "unreadable";

/// The lock in a Secret that may be damaged otherwise. Somebody may be at work under one that
/// cannot be read, too.
pub(super) fn lock(stored: &StoredSecret) -> Option<Lock> {
    let salvaged = salvage(&parts(&stored.content));
    let unreadable = salvaged.lock_damaged.then(|| Lock {
        id: UNREADABLE.to_owned(),
        holder: "somebody whose lock cannot be read".to_owned(),
        host: "an unknown host".to_owned(),
        pid: 0,
        boot: None,
        pid_namespace: None,
        command: String::new(),
        since: String::new(),
        beat: 0,
        extra: Extra::default(),
    });
    salvaged.lock.or(unreadable)
}
