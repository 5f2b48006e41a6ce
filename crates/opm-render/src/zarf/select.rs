//! Which components of a package are meant: those for the cluster's architecture, the flavor and
//! the system that were asked for.

use super::error::{ZarfError, ZarfProblem};
use super::types::PackageComponent;

/// What a package is rendered for.
#[derive(Debug, Default)]
pub(super) struct Target {
    pub(super) architecture: Option<String>,
    pub(super) flavor: Option<String>,
    pub(super) local_os: Option<String>,
}

impl Target {
    /// Whether a component is meant. A flavor that nobody asks for is not; an architecture that
    /// nobody names would be a guess.
    pub(super) fn admits(
        &self,
        component: &PackageComponent,
        place: impl Fn() -> String,
    ) -> Result<bool, ZarfError> {
        let only = &component.only;
        if !only.flavor.is_empty() && self.flavor.as_ref() != Some(&only.flavor) {
            return Ok(false);
        }
        for (what, wanted, known) in [
            (
                "architecture",
                &only.cluster.architecture,
                &self.architecture,
            ),
            ("the local system", &only.local_os, &self.local_os),
        ] {
            match known {
                _ if wanted.is_empty() => {}
                Some(known) if known == wanted => {}
                Some(_) => return Ok(false),
                None => {
                    return Err(ZarfProblem::Unfiltered {
                        component: component.name.clone(),
                        what,
                        wanted: wanted.clone(),
                    }
                    .at(place()));
                }
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_for_what_they_say() {
        let component = |only: &str| -> PackageComponent {
            let text = format!(r#"{{"name": "web", "only": {only}}}"#);
            serde_json::from_str(&text).unwrap()
        };
        let target = |architecture: Option<&str>, flavor: Option<&str>| Target {
            architecture: architecture.map(str::to_owned),
            flavor: flavor.map(str::to_owned),
            local_os: Some("linux".to_owned()),
        };
        let arm = r#"{"cluster": {"architecture": "arm64"}, "flavor": "slim"}"#;
        for (only, architecture, flavor, expected) in [
            ("{}", None, None, Some(true)),
            (r#"{"flavor": "slim"}"#, None, None, Some(false)),
            (r#"{"flavor": "slim"}"#, None, Some("slim"), Some(true)),
            (r#"{"flavor": "slim"}"#, None, Some("full"), Some(false)),
            (arm, Some("arm64"), Some("slim"), Some(true)),
            (arm, Some("amd64"), Some("slim"), Some(false)),
            (arm, None, Some("slim"), None),
            (arm, None, Some("full"), Some(false)),
            (r#"{"localOS": "linux"}"#, None, None, Some(true)),
            (r#"{"localOS": "darwin"}"#, None, None, Some(false)),
        ] {
            let admits = target(architecture, flavor).admits(&component(only), String::new);
            assert_eq!(admits.ok(), expected, "{only} {architecture:?} {flavor:?}");
        }
    }
}
