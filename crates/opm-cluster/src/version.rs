//! Which Kubernetes the server is, for whoever renders for it.

use opm_engine::ports::{ApiError, ApiErrorKind};
use serde::Deserialize;

use crate::client::ClusterClient;
use crate::request::Call;

#[derive(Deserialize)]
struct VersionInfo {
    #[serde(rename = "gitVersion")]
    git_version: String,
}

impl ClusterClient {
    /// The server's version without what its vendor adds, such as `1.34.4`.
    pub async fn kubernetes_version(&self) -> Result<String, ApiError> {
        let answer = self.read(&Call::discovery("/version")).await?;
        let unusable = || {
            let message = "the server does not say which version of Kubernetes it is";
            ApiError::local(ApiErrorKind::Rejected, message.to_owned())
        };
        let info: VersionInfo = serde_json::from_slice(&answer.body).map_err(|_| unusable())?;
        plain(&info.git_version).ok_or_else(unusable)
    }
}

/// `v1.34.4-eks-1+abc` is 1.34.4.
fn plain(version: &str) -> Option<String> {
    let version = version.trim().trim_start_matches('v');
    let version = version.split(['-', '+']).next()?;
    let mut numbers = version.split('.');
    let all =
        numbers.all(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()));
    (all && version.contains('.') && version.len() <= 20).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn versions() {
        for (given, expected) in [
            ("v1.34.4", Some("1.34.4")),
            ("v1.34.4+sandbox", Some("1.34.4")),
            ("v1.30.4-eks-a737599", Some("1.30.4")),
            ("1.29", Some("1.29")),
            ("", None),
            ("v1", None),
            ("v1.x.3", None),
            ("--set", None),
        ] {
            assert_eq!(plain(given).as_deref(), expected, "{given}");
        }
    }
}
