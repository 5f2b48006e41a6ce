//! Collections: one list, and every change from there on, through disconnects, until the version
//! that is known has expired.

use std::time::Duration;

use opm_core::identity::Identity;
use opm_core::packed::PackedObject;
use opm_engine::ports::{
    ApiError, ApiErrorKind, Collection, CollectionLabel, ListedCollection, ServedKind, WatchEvent,
};
use tokio::time::Instant;

use crate::bounds::Allowance;
use crate::client::ClusterClient;
use crate::json::{self, Object};
use crate::list::{Keep, Kind, Selectors};
use crate::request::{Call, Place, WatchFrom};
use crate::watch_stream::{Change, LASTS, Stream, StreamEnd};

/// About how long to wait before a watch that ended is asked for again.
const AGAIN: Duration = Duration::from_millis(300);

/// The changes of a collection, as they come.
pub(crate) struct ChangeFeed<'a> {
    client: &'a ClusterClient,
    place: Place<'a>,
    selectors: Selectors<'a>,
    /// From where to go on.
    version: String,
    failing_since: Option<Instant>,
    stream: Option<Stream<'a>>,
}

impl<'a> ChangeFeed<'a> {
    pub(crate) fn new(
        client: &'a ClusterClient,
        place: Place<'a>,
        selectors: Selectors<'a>,
        version: String,
    ) -> Self {
        Self {
            client,
            place,
            selectors,
            version,
            failing_since: None,
            stream: None,
        }
    }

    /// The next change; none when the version that is known has expired.
    pub(crate) async fn next(&mut self) -> Result<Option<Change>, ApiError> {
        loop {
            let ended = match &mut self.stream {
                Some(stream) => match stream.next().await {
                    Ok(change) => {
                        self.failing_since = None;
                        if let Some(now) = change.version() {
                            now.clone_into(&mut self.version);
                        }
                        return Ok(Some(change));
                    }
                    Err(ended) => ended,
                },
                None => match self.client.open(self.call()?).await {
                    Ok(stream) => {
                        self.stream = Some(stream);
                        continue;
                    }
                    Err(ended) => ended,
                },
            };
            self.stream = None;
            let expired = matches!(ended, StreamEnd::Expired);
            self.check(ended)?;
            // A server that ends every watch at once must not be asked in a tight loop.
            let pause = AGAIN.mul_f64(0.5 + self.client.clock.random() / 2.0);
            tokio::time::sleep(pause).await;
            if expired {
                return Ok(None);
            }
        }
    }

    fn call(&self) -> Result<Call, ApiError> {
        self.place.watch(&WatchFrom {
            detail: self.selectors.detail,
            resource_version: &self.version,
            labels: self.selectors.labels,
            fields: self.selectors.fields,
            seconds: LASTS.as_secs(),
        })
    }

    /// Whether another try is worth it.
    fn check(&mut self, ended: StreamEnd) -> Result<(), ApiError> {
        let error = match ended {
            StreamEnd::Failed(error) => error,
            StreamEnd::Expired | StreamEnd::Disconnected => return Ok(()),
        };
        let now = Instant::now();
        let since = *self.failing_since.get_or_insert(now);
        let too_long = now.saturating_duration_since(since) > self.client.settings.retry.budget;
        match is_passing(&error) && !too_long {
            true => Ok(()),
            false => Err(error),
        }
    }
}

/// Worth another try.
fn is_passing(error: &ApiError) -> bool {
    error.kind == ApiErrorKind::Unreachable || error.status.is_some_and(|status| status >= 500)
}

/// A collection's kind, in the version that is wanted if that is served.
fn kind_of<'a>(of: &'a Collection, served: &'a ServedKind) -> Kind<'a> {
    let wanted = of.version.as_ref();
    let wanted = wanted.filter(|wanted| served.versions.contains(wanted));
    Kind {
        version: wanted.unwrap_or(&served.preferred),
        ..Kind::preferred(&of.kind, served, of.namespace.as_deref())
    }
}

/// The label as a query has it.
fn label_of(of: &Collection) -> Option<String> {
    let CollectionLabel {
        name,
        value,
        without,
    } = of.label.as_ref()?;
    let mut label = name.clone();
    if let Some(value) = value {
        label.push_str(&format!("={value}"));
    }
    if let Some((name, value)) = without {
        label.push_str(&format!(",{name}!={value}"));
    }
    Some(label)
}

fn selectors<'a>(of: &Collection, labels: Option<&'a str>) -> Selectors<'a> {
    Selectors {
        detail: of.detail,
        labels,
        fields: None,
    }
}

impl ClusterClient {
    /// Lists a collection.
    pub(crate) async fn list_together(
        &self,
        of: &Collection,
    ) -> Result<ListedCollection, ApiError> {
        let served = self.served_kind(&of.kind).await?;
        let listed = self.list_served(of, &served).await;
        let unserved = matches!(&listed, Err(error) if error.kind == ApiErrorKind::KindNotServed);
        match unserved {
            true => match self.served_elsewhere(&of.kind, &served).await? {
                Some(now) => self.list_served(of, &now).await,
                None => listed,
            },
            false => listed,
        }
    }

    async fn list_served(
        &self,
        of: &Collection,
        served: &ServedKind,
    ) -> Result<ListedCollection, ApiError> {
        let (kind, label) = (kind_of(of, served), label_of(of));
        let selectors = selectors(of, label.as_deref());
        let keep = Keep::expecting(of.expected);
        let mut objects = Vec::new();
        let mut take = |object: Option<Object>| match object {
            Some(mut object) => {
                kind.name_kind(&mut object);
                objects.push(PackedObject::new(&object));
            }
            None => objects.clear(),
        };
        let last = self.list_each(kind.place(), selectors, &keep, &mut take);
        let resource_version = last.await?.metadata.resource_version;
        Ok(ListedCollection {
            objects,
            resource_version,
        })
    }

    /// Follows a collection.
    pub(crate) async fn watch_together(
        &self,
        of: &Collection,
        resource_version: &str,
        on_event: &mut (dyn FnMut(WatchEvent) -> bool + Send),
    ) -> Result<bool, ApiError> {
        let served = self.served_kind(&of.kind).await?;
        let (kind, label) = (kind_of(of, &served), label_of(of));
        let selectors = selectors(of, label.as_deref());
        let version = resource_version.to_owned();
        let mut changes = ChangeFeed::new(self, kind.place(), selectors, version);
        // Whoever takes an event keeps of it what matters there; one is open at a time.
        while let Some(change) = changes.next().await? {
            let (Change::Is(object) | Change::Gone(object)) = &change else {
                continue;
            };
            kind.place().expect_listed(object)?;
            Allowance::about(1).take(object)?;
            let name = json::metadata(object, "name").unwrap_or_default();
            let namespace = json::metadata(object, "namespace");
            let identity = Identity::new(of.kind.clone(), namespace, name);
            let event = match change {
                Change::Is(mut object) => {
                    kind.name_kind(&mut object);
                    WatchEvent::Seen(identity, object)
                }
                _ => WatchEvent::Gone(identity),
            };
            if on_event(event) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use opm_core::identity::GroupKind;
    use opm_engine::ports::Detail;

    use super::*;

    #[test]
    fn labels_become_queries() {
        for (value, without, expected) in [
            (Some("x"), None, "a=x"),
            (None, None, "a"),
            (None, Some(("b", "y")), "a,b!=y"),
            (Some("x"), Some(("b", "y")), "a=x,b!=y"),
        ] {
            let of = Collection {
                kind: GroupKind::new("", "Secret"),
                namespace: None,
                version: None,
                label: Some(CollectionLabel {
                    name: "a".to_owned(),
                    value: value.map(str::to_owned),
                    without,
                }),
                detail: Detail::Metadata,
                expected: 0,
            };
            assert_eq!(label_of(&of).as_deref(), Some(expected));
        }
    }
}
