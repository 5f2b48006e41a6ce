//! Records in Secrets: every write carries what it was based on, and an answer that got lost is
//! looked up rather than guessed.

use async_trait::async_trait;
use opm_core::labels::{FIELD_MANAGER, LOCK_FIELD_MANAGER};
use opm_engine::ports::{
    ApiError, ApiErrorKind, Detail, Permit, RemoveOutcome, SecretContent, SecretStore,
    SecretVersion, StoredSecret, Timestamp, WriteOutcome,
};

use crate::apply::create_body;
use crate::client::ClusterClient;
use crate::json::{self, Object};
use crate::list::{Keep, Selectors};
use crate::request::{ApplyOptions, Call, secrets};
use crate::secret_object::{from_object, to_lock, to_object, to_replacement};
use crate::send::{Answer, Exchange, SendOptions};

#[async_trait]
impl SecretStore for ClusterClient {
    fn server_time(&self) -> Option<Timestamp> {
        self.server_clock()
    }

    async fn get_secret(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<StoredSecret>, ApiError> {
        // A cancelled run still has to know what it wrote.
        self.get_secret(namespace, name, SendOptions::looking_up(self))
            .await
    }

    async fn list_secrets(
        &self,
        namespace: Option<&str>,
        labels: &[(&str, &str)],
    ) -> Result<Vec<StoredSecret>, ApiError> {
        let labels: Vec<String> = labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let selectors = Selectors {
            detail: Detail::Whole,
            labels: Some(&labels.join(",")),
            fields: None,
        };
        let keep = Keep::all();
        let list = self.list_all(secrets(namespace), selectors, &keep).await?;
        let time = list.date.unwrap_or_else(|| self.clock.now().1);
        let mut carried = self.carried();
        list.items
            .iter()
            .map(|object| from_object(object, time, &mut carried))
            .collect()
    }

    async fn create_secret(
        &self,
        content: &SecretContent,
        permit: Permit<'_>,
    ) -> Result<WriteOutcome, ApiError> {
        let options = ApplyOptions {
            field_manager: FIELD_MANAGER,
            force: false,
            dry_run: false,
        };
        let place = secrets(Some(&content.namespace));
        let call = place.apply(&content.name, &create_body(&to_object(content)), &options)?;
        let wrote = |stored: &StoredSecret| stored.content == *content;
        let at = (content.namespace.as_str(), content.name.as_str());
        let created = self.write(&call, SendOptions::writing(self, permit), at, wrote);
        let (outcome, may_still_land) = created.await;
        if may_still_land {
            permit.note_unanswered();
        }
        outcome
    }

    async fn replace_secret(
        &self,
        content: &SecretContent,
        resource_version: &str,
        permit: Permit<'_>,
    ) -> Result<WriteOutcome, ApiError> {
        let body = to_replacement(content, resource_version, &self.carried());
        let place = secrets(Some(&content.namespace));
        let call = place.replace(&content.name, &body, FIELD_MANAGER)?;
        let wrote = |stored: &StoredSecret| stored.content == *content;
        let at = (content.namespace.as_str(), content.name.as_str());
        let options = SendOptions::writing(self, permit);
        // Bound to a version, it does nothing when it lands late.
        self.write(&call, options, at, wrote).await.0
    }

    async fn write_lock(
        &self,
        at: SecretVersion<'_>,
        lock: &[u8],
        permit: Permit<'_>,
    ) -> Result<WriteOutcome, ApiError> {
        let options = ApplyOptions {
            field_manager: LOCK_FIELD_MANAGER,
            force: true,
            dry_run: false,
        };
        let place = secrets(Some(at.namespace));
        let call = place.apply(at.name, &to_lock(at, lock), &options)?;
        let options = SendOptions::writing(self, permit).within(self.settings.lock_timeout);
        let wrote = |stored: &StoredSecret| {
            stored.uid == at.uid
                && stored
                    .content
                    .data
                    .get("lock")
                    .is_some_and(|now| now == lock)
        };
        let (outcome, _) = self
            .write(&call, options, (at.namespace, at.name), wrote)
            .await;
        match outcome {
            Ok(WriteOutcome::Written(now)) if now.uid != at.uid => Err(ApiError::local(
                ApiErrorKind::Rejected,
                format!("the server wrote a lock into another Secret/{}", at.name),
            )),
            outcome => outcome,
        }
    }

    async fn remove_secret(
        &self,
        namespace: &str,
        name: &str,
        uid: &str,
        resource_version: Option<&str>,
        permit: Permit<'_>,
    ) -> Result<RemoveOutcome, ApiError> {
        self.delete_secret((namespace, name), uid, resource_version, permit)
            .await
    }
}

impl ClusterClient {
    async fn get_secret(
        &self,
        namespace: &str,
        name: &str,
        options: SendOptions<'_>,
    ) -> Result<Option<StoredSecret>, ApiError> {
        let call = secrets(Some(namespace)).get(name, Detail::Whole)?;
        match self.exchange(&call, options).await.result {
            Ok(answer) => self.stored(&answer, (namespace, name)).map(Some),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a write, and says whether it may still land.
    async fn write(
        &self,
        call: &Call,
        options: SendOptions<'_>,
        at: (&str, &str),
        wrote: impl Fn(&StoredSecret) -> bool + Send,
    ) -> (Result<WriteOutcome, ApiError>, bool) {
        let done = self.exchange(call, options).await;
        let (may_still_land, answered) = (done.may_still_land, done.result.is_ok());
        let outcome = self.wrote(done, options, at, wrote).await;
        // An answer that says nothing about this Secret is as good as none.
        let unclear = answered && outcome.is_err();
        (outcome, may_still_land || unclear)
    }

    /// What became of a write that is bound to a version. A 409 after an attempt that was not
    /// answered may be our own write's doing: what is there decides, by `wrote`.
    async fn wrote(
        &self,
        done: Exchange,
        options: SendOptions<'_>,
        (namespace, name): (&str, &str),
        wrote: impl Fn(&StoredSecret) -> bool + Send,
    ) -> Result<WriteOutcome, ApiError> {
        let Exchange {
            result, in_doubt, ..
        } = done;
        let error = match result {
            Ok(answer) => return self.stored(&answer, (namespace, name)).map(written),
            Err(error) => error,
        };
        if !is_lost(&error) {
            return Err(error);
        }
        if in_doubt
            && let Some(stored) = self.get_secret(namespace, name, options.to_read()).await?
            && wrote(&stored)
        {
            return Ok(written(stored));
        }
        Ok(WriteOutcome::Lost)
    }

    fn stored(
        &self,
        answer: &Answer,
        (namespace, name): (&str, &str),
    ) -> Result<StoredSecret, ApiError> {
        let object: Object = json::read(&answer.body, &format!("Secret/{name}"))?;
        secrets(Some(namespace)).expect(&object, name, None)?;
        from_object(&object, answer.date, &mut self.carried())
    }
}

/// The server said that this Secret does not exist.
fn is_gone(error: &ApiError) -> bool {
    matches!(
        error.kind,
        ApiErrorKind::NotFound | ApiErrorKind::NamespaceMissing
    )
}

/// Somebody else wrote, created or removed it.
fn is_lost(error: &ApiError) -> bool {
    matches!(
        error.kind,
        ApiErrorKind::Stale
            | ApiErrorKind::AlreadyExists
            | ApiErrorKind::FieldConflict
            | ApiErrorKind::NotFound
    )
}

fn written(stored: StoredSecret) -> WriteOutcome {
    WriteOutcome::Written(Box::new(stored))
}
