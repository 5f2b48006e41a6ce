//! Why a chart cannot be rendered: what `helm` says, made short, with the user's own file and
//! line in front.

use std::collections::BTreeSet;
use std::path::PathBuf;

use opm_core::manifest::ManifestError;
use thiserror::Error;

use super::output::place;
use super::version::HelmVersionError;
use crate::module_dir::DirError;
use crate::program::CommandError;
use crate::substitution::SubstitutionError;
use crate::yaml::YamlError;

/// The most of what `helm` says that is shown.
const LONGEST: usize = 800;

/// Why a chart cannot be rendered.
#[derive(Debug, Error)]
pub enum ChartError {
    /// A file cannot be read.
    #[error(transparent)]
    Dir(#[from] DirError),
    /// What is there is no chart.
    #[error(
        "{0}: not a chart: neither a directory with a Chart.yaml nor an archive (.tgz) of at most 32 MiB"
    )]
    NotAChart(String),
    /// `helm` does not run to its end.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// `helm` cannot be used.
    #[error(transparent)]
    Version(#[from] HelmVersionError),
    /// The temporary directory cannot be written.
    #[error("failed to write to a temporary directory: {0}")]
    PrivateDirectory(std::io::Error),
    /// A values file is no YAML.
    #[error("{place}: {source}")]
    Values {
        /// File, line and column.
        place: String,
        /// What is wrong.
        source: YamlError,
    },
    /// A values file holds something else.
    #[error("{0}: a values file must be one mapping")]
    NotAMapping(String),
    /// An expression cannot be replaced.
    #[error(transparent)]
    Expression(#[from] SubstitutionError),
    /// A marker in what a template prints stands for nothing.
    #[error("{place}: {source}")]
    Marker {
        /// The template.
        place: String,
        /// What is wrong.
        source: SubstitutionError,
    },
    /// What stands for values is something else.
    #[error("{0} is not a mapping, which values for a chart must be")]
    NotValues(String),
    /// `set` cannot be understood.
    #[error("{0}")]
    Set(String),
    /// Charts that this one needs are not there.
    #[error("{chart}: charts that it depends on are missing: {}", names.join(", "))]
    MissingDependencies {
        /// The chart.
        chart: String,
        /// Their names.
        names: Vec<String>,
    },
    /// `helm` says what is wrong with the chart or its values.
    #[error("{0}")]
    Template(String),
    /// What a template prints is no YAML.
    #[error("{place}: {source}")]
    Yaml {
        /// The template.
        place: String,
        /// What is wrong.
        source: YamlError,
    },
    /// What a template prints is no object.
    #[error("{place}: {source}")]
    Manifest {
        /// The template.
        place: String,
        /// What is wrong.
        source: ManifestError,
    },
    /// The output is not UTF-8.
    #[error("{0}: the chart prints what is not UTF-8 text")]
    NotText(String),
    /// A chart cannot be had.
    #[error("failed to fetch the chart {reference}: {said}")]
    Fetch {
        /// The chart.
        reference: String,
        /// What `helm` says, or what is wrong with what came.
        said: String,
    },
    /// What was fetched is no chart.
    #[error(
        "{0}: helm cannot read the archive: it is damaged, has paths that lead out of it, or is too large"
    )]
    Archive(String),
    /// Another archive than the module wants.
    #[error(
        "the chart {reference} is another one than the module names: its archive is {found}, and not {expected}"
    )]
    OtherDigest {
        /// The chart.
        reference: String,
        /// What the module names.
        expected: String,
        /// What came.
        found: String,
    },
}

impl ChartError {
    /// What to do next, as far as it is known.
    pub fn hints(&self) -> Vec<String> {
        let one = |hint: String| vec![hint];
        match self {
            Self::Command(CommandError::Program(_)) => vec![
                "charts need the `helm` command, 3.14 or later, or Helm 4: \
                 https://helm.sh/docs/intro/install/"
                    .to_owned(),
                "opm looks for it in PATH, unless OPM_HELM names it".to_owned(),
            ],
            Self::Version(_) => {
                one("install a current version: https://helm.sh/docs/intro/install/".to_owned())
            }
            Self::Command(CommandError::TimedOut { what, .. }) if what.starts_with("helm pull") => {
                one("if the registry is just slow, raise OPM_RENDER_TIMEOUT (seconds)".to_owned())
            }
            Self::Fetch { said, .. } if is_untrusted(said) => one(
                "if the authority of its certificate is your own, SSL_CERT_FILE names the file \
                 that has the authority's certificate"
                    .to_owned(),
            ),
            Self::Fetch { reference, said } if is_login(said) => one(format!(
                "`helm registry login {}` keeps credentials, which opm's `helm pull` then uses",
                host(reference)
            )),
            Self::Command(CommandError::TimedOut { .. }) => one(
                "the templates may never end; if the chart is just large, raise \
                 OPM_RENDER_TIMEOUT (seconds)"
                    .to_owned(),
            ),
            Self::Command(CommandError::OutOfMemory { .. }) => {
                one("if the chart is just large, raise OPM_RENDER_MEMORY (MiB)".to_owned())
            }
            Self::MissingDependencies { chart, .. } => {
                one(format!("`helm dependency build {chart}` gets them"))
            }
            Self::Expression(error) | Self::Marker { source: error, .. } => {
                error.hint().into_iter().collect()
            }
            Self::Dir(DirError::Outside { .. }) => one("copy it into the module".to_owned()),
            _ => Vec::new(),
        }
    }

    /// Whether the caller gave up.
    pub(crate) fn is_interrupted(&self) -> bool {
        matches!(self, Self::Command(CommandError::Interrupted(_)))
    }
}

/// What `helm pull` printed when it failed.
pub(super) fn of_pull(stderr: &str) -> String {
    shorten(&said(stderr))
}

/// Whether nobody vouches for a registry's certificate.
fn is_untrusted(said: &str) -> bool {
    said.contains("x509:") || said.contains("failed to verify certificate")
}

/// Whether a registry wants to know who asks.
fn is_login(said: &str) -> bool {
    let said = said.to_lowercase();
    ["unauthorized", "credential", "401", "403", "denied"]
        .iter()
        .any(|word| said.contains(word))
}

fn host(reference: &str) -> &str {
    let place = reference.split("://").nth(1).unwrap_or(reference);
    place.split(['/', ' ']).next().unwrap_or_default()
}

/// What `helm` printed when it failed, for the chart that the user calls `shown`, with the values
/// files as `helm` and as the user names them, and without what the user's values hold.
pub(super) fn of_helm(
    stderr: &str,
    shown: &str,
    values: &[(PathBuf, String)],
    given: &BTreeSet<String>,
) -> ChartError {
    // The longest first: one text may be a part of another.
    let mut hidden: Vec<&String> = given.iter().filter(|text| text.len() > 2).collect();
    hidden.sort_by_key(|text| std::cmp::Reverse(text.len()));
    let said = hidden
        .into_iter()
        .fold(said(stderr), |said, text| said.replace(text, "…"));
    if let Some((_, names)) = said.split_once("missing in charts/ directory: ") {
        let names = names.lines().next().unwrap_or_default();
        return ChartError::MissingDependencies {
            chart: shown.to_owned(),
            names: names
                .split(',')
                .map(|name| name.trim().to_owned())
                .collect(),
        };
    }
    if ["unable to load chart archive", "to be a gzipped archive"]
        .iter()
        .any(|words| said.contains(words))
    {
        return ChartError::Archive(shown.to_owned());
    }
    let mut said = values.iter().fold(said, |said, (path, shown)| {
        said.replace(&*path.to_string_lossy(), shown)
    });
    if let Some((at, message)) = located(&said) {
        said = format!("{}: {message}", place(&at, shown));
    } else {
        said = format!("{shown}: {said}");
    }
    ChartError::Template(shorten(&said))
}

/// The error without what `helm` says around it, on one line.
fn said(stderr: &str) -> String {
    let from = stderr.find("Error: ").map_or(0, |at| at + "Error: ".len());
    let lines = stderr[from..].lines().map(str::trim);
    let lines = lines.take_while(|line| !line.starts_with("Use --debug flag"));
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    lines.join(" ")
}

/// The template that an error is about (`chart/templates/a.yaml:6:15`), and the error.
fn located(said: &str) -> Option<(String, String)> {
    for (prefix, end) in [
        ("execution error at (", "): "),
        ("parse error at (", "): "),
        ("YAML parse error on ", ": "),
    ] {
        if let Some(rest) = said.strip_prefix(prefix) {
            let (at, message) = rest.split_once(end)?;
            return Some((at.to_owned(), message.to_owned()));
        }
    }
    // The innermost template is where it went wrong; those around it only include it.
    if let Some((around, message)) = said.rsplit_once("template: ")
        && (around.is_empty() || around.ends_with(": "))
    {
        let (at, message) = message.split_once(": ")?;
        return Some((at.to_owned(), message.to_owned()));
    }
    let (at, message) = said.split_once(' ')?;
    let is_place = at.contains('/') && at.rsplit(':').next()?.parse::<u32>().is_ok();
    is_place.then(|| (at.to_owned(), message.to_owned()))
}

fn shorten(said: &str) -> String {
    match said.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &said[..at]),
        None => said.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fetch_that_failed_says_what_would_help() {
        for (said, expected) in [
            (
                "tls: failed to verify certificate: x509: certificate signed by unknown authority",
                "SSL_CERT_FILE",
            ),
            ("401 Unauthorized", "`helm registry login 127.0.0.1:7`"),
            ("connection refused", ""),
        ] {
            let error = ChartError::Fetch {
                reference: "oci://127.0.0.1:7/charts/app@1.0.0".to_owned(),
                said: said.to_owned(),
            };
            let hints = error.hints().join("\n");
            assert!(hints.contains(expected), "{said}: {hints}");
            assert_eq!(hints.is_empty(), expected.is_empty(), "{said}: {hints}");
        }
    }

    #[test]
    fn what_helm_says_gets_a_place_and_loses_the_rest() {
        let recursion = format!(
            "Error: {}rendering template has a nested reference name: rec: unable to execute template\n",
            "template: c/templates/f.yaml:1:42: executing \"rec\" at <include \"rec\" .>: error calling include: "
                .repeat(1000)
        );
        for (stderr, expected) in [
            (
                "Error: c/templates/a.yaml:6:15\n  executing \"c/templates/a.yaml\" at <.Values.a.b>:\n    nil pointer evaluating interface {}.b\n\nUse --debug flag to render out invalid YAML\n",
                "charts/pg/templates/a.yaml:6:15: executing \"c/templates/a.yaml\" at <.Values.a.b>: nil pointer evaluating interface {}.b",
            ),
            (
                "Error: execution error at (c/templates/f.yaml:1:3): boom\n\nUse --debug flag to render out invalid YAML\n",
                "charts/pg/templates/f.yaml:1:3: boom",
            ),
            (
                "level=WARN msg=x\nError: YAML parse error on c/templates/f.yaml: error converting YAML to JSON: yaml: line 1: did not find\n",
                "charts/pg/templates/f.yaml: error converting YAML to JSON: yaml: line 1: did not find",
            ),
            (
                "Error: parse error at (c/templates/f.yaml:2): unclosed action started at c/templates/f.yaml:1\n",
                "charts/pg/templates/f.yaml:2: unclosed action started at c/templates/f.yaml:1",
            ),
            (
                "Error: template: c/templates/f.yaml:1:3: executing \"c/templates/f.yaml\" at <include \"x\" .>: error calling include: template: c/charts/sub/templates/_x.tpl:4:2: executing \"x\" at <fail>: boom\n",
                "charts/pg/charts/sub/templates/_x.tpl:4:2: executing \"x\" at <fail>: boom",
            ),
            (
                &recursion,
                "charts/pg/templates/f.yaml:1:42: executing \"rec\" at <include \"rec\" .>: error calling include: rendering template has a nested reference name: rec: unable to execute template",
            ),
            (
                "Error: an error occurred while checking for chart dependencies. You may need to run 'helm dependency build' to fetch missing dependencies: found in Chart.yaml, but missing in charts/ directory: sub, other\n",
                "charts/pg: charts that it depends on are missing: sub, other",
            ),
            (
                "Error: values don't meet the specifications of the schema(s) in the following chart(s):\nc:\n- at '/a': got string\n",
                "charts/pg: values don't meet the specifications of the schema(s) in the following chart(s): c: - at '/a': got string",
            ),
            (
                "Error: unable to load chart archive\n",
                "charts/pg: helm cannot read the archive: it is damaged, has paths that lead out of it, or is too large",
            ),
            (
                "Error: failed to parse /m/v.yaml: bad\n",
                "charts/pg: failed to parse mod/v.yaml: bad",
            ),
        ] {
            let values = [(PathBuf::from("/m/v.yaml"), "mod/v.yaml".to_owned())];
            let error = of_helm(stderr, "charts/pg", &values, &BTreeSet::new()).to_string();
            assert_eq!(error, expected);
        }
    }
}
