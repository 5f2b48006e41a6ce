//! A chart that is fetched, as module.yaml names it: where it is, and exactly which one.

use std::fmt;

/// A chart that is fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChartReference {
    /// `oci://…`, or the chart's name in `repo`.
    pub(crate) reference: String,
    /// The repository's URL.
    pub(crate) repo: Option<String>,
    /// The exact version.
    pub(crate) version: String,
    /// The digest that its archive must have: `sha256:` and 64 digits.
    pub(crate) digest: Option<String>,
    /// Whether the registry is spoken to without TLS.
    pub(crate) plain_http: bool,
}

impl fmt::Display for ChartReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.repo {
            Some(repo) => write!(f, "{repo} {}@{}", self.reference, self.version),
            None => write!(f, "{}@{}", self.reference, self.version),
        }
    }
}

impl ChartReference {
    /// As it is recorded: where it came from, and which archive it was.
    pub(super) fn recorded(&self, digest: &str) -> String {
        format!("{self} {digest}")
    }

    /// A reference that says where a chart is, and nothing that could mean another one tomorrow.
    pub(crate) fn check(
        reference: String,
        repo: Option<String>,
        version: Option<String>,
        digest: Option<String>,
        plain_http: bool,
    ) -> Result<Self, &'static str> {
        match (reference.strip_prefix("oci://"), &repo) {
            (Some(_), Some(_)) => {
                return Err("`chart.ref` is an oci:// reference, which has no `repo`");
            }
            (None, None) => {
                return Err("`chart.ref` must begin with oci://, or be a chart's name in `repo`");
            }
            (Some(place), None) => check_place(place, plain_http)?,
            (None, Some(repo)) => {
                if reference.starts_with('-') || reference.contains(['/', '\\']) {
                    return Err("`chart.ref` must be a chart's name where there is a `repo`");
                }
                if plain_http {
                    return Err("`chart.plainHTTP` goes with oci:// only");
                }
                match (repo.strip_prefix("https://"), repo.strip_prefix("http://")) {
                    (Some(place), _) => check_place(place, false)?,
                    (_, Some(place)) => check_place(place, true)?,
                    _ => return Err("`chart.repo` must begin with https://"),
                }
            }
        }
        if !digest.as_deref().is_none_or(is_digest) {
            return Err("`chart.digest` must be sha256: and 64 hexadecimal digits in lower case");
        }
        let version = version.filter(|version| is_exact(version));
        Ok(Self {
            reference,
            repo,
            version: version
                .ok_or("`chart.ref` needs the exact `version` of the chart, such as 1.4.0")?,
            digest,
            plain_http,
        })
    }
}

/// Checks where something is fetched from, without its scheme. Anybody on the way could give
/// another chart where there is no TLS, and whoever reads a message would read a password.
fn check_place(place: &str, without_tls: bool) -> Result<(), &'static str> {
    let authority = place.split('/').next().unwrap_or_default();
    if authority.contains('@') {
        return Err("`chart` must name no user and no password: `helm registry login` keeps them");
    }
    if without_tls && !is_on_loopback(place) {
        return Err("a chart is fetched without TLS only from this machine's loopback");
    }
    Ok(())
}

/// Whether this place, without its scheme, is on this machine.
pub(crate) fn is_on_loopback(place: &str) -> bool {
    let authority = place.split('/').next().unwrap_or_default();
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = |address: std::net::IpAddr| address.is_loopback();
    host == "localhost" || address.parse().is_ok_and(is_loopback)
}

fn is_digest(digest: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let digits = digest.strip_prefix("sha256:");
    digits.is_some_and(|digits| digits.len() == 64 && digits.bytes().all(is_digit))
}

/// A range of versions would be another chart tomorrow.
pub(crate) fn is_exact(version: &str) -> bool {
    semver::Version::parse(version.strip_prefix('v').unwrap_or(version)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_that_are_taken_and_refused() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let check = |reference: &str, repo: Option<&str>, version: &str, plain| {
            let (repo, version) = (repo.map(str::to_owned), Some(version.to_owned()));
            ChartReference::check(reference.to_owned(), repo, version, None, plain)
                .err()
                .unwrap_or_default()
        };
        let tls = "a chart is fetched without TLS only from this machine's loopback";
        let user = "`chart` must name no user and no password: `helm registry login` keeps them";
        let exact = "`chart.ref` needs the exact `version` of the chart, such as 1.4.0";
        for (reference, repo, version, plain, expected) in [
            ("oci://ghcr.io/org/pg", None, "1.2.3", false, ""),
            ("oci://127.0.0.1:5000/pg", None, "v1.2.3", true, ""),
            ("oci://localhost:5000/pg", None, "1.2.3", true, ""),
            ("oci://[::1]:5000/pg", None, "1.2.3", true, ""),
            ("oci://ghcr.io/org/pg", None, "1.2.3", true, tls),
            ("oci://127.0.0.1.example.com/pg", None, "1.2.3", true, tls),
            ("oci://me:secret@ghcr.io/pg", None, "1.2.3", false, user),
            ("oci://ghcr.io/org/pg", None, "^1.2", false, exact),
            ("oci://ghcr.io/org/pg", None, "latest", false, exact),
            (
                "pg",
                Some("https://charts.example.com/a"),
                "1.2.3",
                false,
                "",
            ),
            ("pg", Some("http://localhost:8080"), "1.2.3", false, ""),
            ("pg", Some("http://charts.example.com"), "1.2.3", false, tls),
            ("pg", Some("https://a:b@example.com"), "1.2.3", false, user),
            (
                "pg",
                Some("ftp://example.com"),
                "1.2.3",
                false,
                "`chart.repo` must begin with https://",
            ),
            (
                "pg",
                Some("https://example.com"),
                "1.2.3",
                true,
                "`chart.plainHTTP` goes with oci:// only",
            ),
            (
                "--help",
                Some("https://example.com"),
                "1.2.3",
                false,
                "`chart.ref` must be a chart's name where there is a `repo`",
            ),
            (
                "pg",
                None,
                "1.2.3",
                false,
                "`chart.ref` must begin with oci://, or be a chart's name in `repo`",
            ),
            (
                "oci://ghcr.io/pg",
                Some("https://example.com"),
                "1.2.3",
                false,
                "`chart.ref` is an oci:// reference, which has no `repo`",
            ),
        ] {
            let found = check(reference, repo, version, plain);
            assert_eq!(found, expected, "{reference} {repo:?} {version} {plain}");
        }
        assert!(is_digest(&digest));
        for bad in [
            "",
            "sha256:",
            "sha256:xyz",
            &digest[1..],
            &digest.to_uppercase(),
        ] {
            assert!(!is_digest(bad), "{bad}");
        }
    }
}
