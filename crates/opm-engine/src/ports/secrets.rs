//! Where records live: Secrets, written with care for who else writes them.
//!
//! This port knows nothing of what the bytes mean; the codec in `opm-core` does.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::{ApiError, Permit, Timestamp};

/// What a Secret holds, as far as `opm` writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretContent {
    /// The Secret's name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its type, such as `opmodel.dev/release`.
    pub secret_type: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Its data, decoded.
    pub data: BTreeMap<String, Vec<u8>>,
    /// `immutable: true`, which somebody may have set by hand.
    pub immutable: bool,
}

/// A Secret as the server has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSecret {
    /// What it holds.
    pub content: SecretContent,
    /// Its uid.
    pub uid: String,
    /// Its resourceVersion.
    pub resource_version: String,
    /// The newest managedFields time of an entry that owns `data.lock`.
    pub lock_written: Option<Timestamp>,
    /// The server's clock when it answered (its Date header).
    pub server_time: Timestamp,
    /// Whether it is being deleted.
    pub terminating: bool,
}

/// One Secret at one point of its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecretVersion<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its uid.
    pub uid: &'a str,
    /// Its resourceVersion.
    pub resource_version: &'a str,
}

impl StoredSecret {
    /// This Secret as it was read.
    pub fn version(&self) -> SecretVersion<'_> {
        SecretVersion {
            namespace: &self.content.namespace,
            name: &self.content.name,
            uid: &self.uid,
            resource_version: &self.resource_version,
        }
    }
}

/// What became of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteOutcome {
    /// Written; this is how it stands now.
    Written(Box<StoredSecret>),
    /// Somebody else wrote it first (or created it, or removed it): nothing was written.
    Lost,
}

/// What became of a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoveOutcome {
    /// It is gone, or was gone already.
    Gone,
    /// Somebody else wrote or replaced it meanwhile: nothing was removed.
    Lost,
}

/// Secrets, read and written whole.
#[async_trait]
pub trait SecretStore: Send + Sync {
    /// The server's clock now, reckoned from the Date of its latest answer; none before there
    /// was one.
    fn server_time(&self) -> Option<Timestamp>;

    /// Reads one Secret by name. `None` only if the server said that it does not exist.
    async fn get_secret(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<StoredSecret>, ApiError>;

    /// Secrets that carry all of these labels, in one namespace or in all.
    async fn list_secrets(
        &self,
        namespace: Option<&str>,
        labels: &[(&str, &str)],
    ) -> Result<Vec<StoredSecret>, ApiError>;

    /// Creates a Secret that must not exist, by an apply that never merges into one.
    async fn create_secret(
        &self,
        content: &SecretContent,
        permit: Permit<'_>,
    ) -> Result<WriteOutcome, ApiError>;

    /// Replaces a Secret (full PUT) if it is still at this resourceVersion.
    async fn replace_secret(
        &self,
        content: &SecretContent,
        resource_version: &str,
        permit: Permit<'_>,
    ) -> Result<WriteOutcome, ApiError>;

    /// Writes `data.lock` alone (field manager `opm-lock`, forced), if the Secret still has
    /// this uid and is at this resourceVersion. The uid matters: the server ignores the
    /// resourceVersion of an apply when the object is gone, and would create it anew.
    async fn write_lock(
        &self,
        at: SecretVersion<'_>,
        lock: &[u8],
        permit: Permit<'_>,
    ) -> Result<WriteOutcome, ApiError>;

    /// Removes a Secret if it still has this uid and, when given, this resourceVersion.
    async fn remove_secret(
        &self,
        namespace: &str,
        name: &str,
        uid: &str,
        resource_version: Option<&str>,
        permit: Permit<'_>,
    ) -> Result<RemoveOutcome, ApiError>;
}
