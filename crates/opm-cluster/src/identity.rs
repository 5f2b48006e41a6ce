//! Who a request is sent as, when that is not who the credentials say.

use http::{HeaderName, HeaderValue};
use kube::config::AuthInfo;

/// Somebody to act as. Sent with every request; the default acts as nobody else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ActingIdentity(Vec<(String, String)>);

impl ActingIdentity {
    /// A user, without the groups of anybody else.
    pub(crate) fn user(name: &str) -> Self {
        Self(vec![("impersonate-user".to_owned(), name.to_owned())])
    }

    /// Takes over what a kubeconfig says, so that a run can say otherwise.
    pub(crate) fn take_from(auth: &mut AuthInfo) -> Self {
        let user = auth.impersonate.take();
        let uid = auth.impersonate_uid.take();
        let groups = auth.impersonate_groups.take().unwrap_or_default();
        let extra = auth.impersonate_user_extra.take().unwrap_or_default();
        let user = user.map(|user| ("impersonate-user".to_owned(), user));
        let uid = uid.map(|uid| ("impersonate-uid".to_owned(), uid));
        let groups = groups.into_iter();
        let groups = groups.map(|group| ("impersonate-group".to_owned(), group));
        let extra = extra.into_iter().flat_map(|(key, values)| {
            let name = format!("impersonate-extra-{}", key.to_lowercase());
            values.into_iter().map(move |value| (name.clone(), value))
        });
        Self(
            user.into_iter()
                .chain(uid)
                .chain(groups)
                .chain(extra)
                .collect(),
        )
    }

    /// The headers that say so.
    pub(crate) fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, http::Error> {
        let header = |(name, value): &(String, String)| {
            Ok((HeaderName::try_from(name)?, HeaderValue::try_from(value)?))
        };
        self.0.iter().map(header).collect()
    }
}
