//! The tools that are compared, and how each is told what to do. What a tool cannot do, it is not
//! asked for.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::floor;
use super::matrix::Action;
use super::objects::{Files, Version};

/// Who is measured.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Client {
    /// Sends what has to be sent, and nothing else.
    Floor,
    /// The same over HTTP/2, if it is asked for.
    FloorHttp2,
    Opm,
    /// The same with 24 requests at a time throughout, if it is asked for.
    OpmFixed,
    Kapp,
    Helm,
    Kubectl,
}

impl Client {
    pub(super) const ALL: [Self; 7] = [
        Self::Floor,
        Self::FloorHttp2,
        Self::Opm,
        Self::OpmFixed,
        Self::Kapp,
        Self::Helm,
        Self::Kubectl,
    ];

    /// For people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::FloorHttp2 => "floor, HTTP/2",
            Self::Opm => "opm",
            Self::OpmFixed => "opm, 24 at a time",
            Self::Kapp => "kapp",
            Self::Helm => "Helm",
            Self::Kubectl => "kubectl",
        }
    }

    /// The name of its program.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Floor => "opm-bench",
            Self::FloorHttp2 => "opm-bench-http2",
            Self::Opm => "opm",
            Self::OpmFixed => "opm-fixed",
            Self::Kapp => "kapp",
            Self::Helm => "helm",
            Self::Kubectl => "kubectl",
        }
    }

    pub(super) fn always_takes_part(self) -> bool {
        matches!(self, Self::Floor | Self::Opm)
    }

    /// Whether it only sends what has to be sent.
    pub(super) fn is_floor(self) -> bool {
        matches!(self, Self::Floor | Self::FloorHttp2)
    }

    /// Whether it is only measured where it is named.
    pub(super) fn is_on_request(self) -> bool {
        matches!(self, Self::FloorHttp2 | Self::OpmFixed)
    }

    pub(super) fn is_peer(self) -> bool {
        !self.is_floor() && !matches!(self, Self::Opm | Self::OpmFixed)
    }

    /// Whether it limits itself to some requests a second, so that hundreds of objects take minutes.
    pub(super) fn is_slow(self) -> bool {
        self == Self::Kubectl
    }

    fn version_args(self) -> &'static [&'static str] {
        match self {
            Self::Helm => &["version", "--template={{.Version}}"],
            Self::Kubectl => &["version", "--client", "-o", "yaml"],
            _ => &["version"],
        }
    }
}

/// The programs that are there.
#[derive(Debug)]
pub(super) struct Programs {
    paths: BTreeMap<Client, PathBuf>,
}

impl Programs {
    /// With the small program that measures and that is the floor.
    pub(super) fn new(bench: PathBuf) -> Self {
        Self {
            paths: BTreeMap::from([(Client::Floor, bench)]),
        }
    }

    pub(super) fn add(&mut self, client: Client, path: PathBuf) {
        self.paths.insert(client, path);
    }

    pub(super) fn clients(&self) -> impl Iterator<Item = Client> {
        self.paths.keys().copied()
    }

    pub(super) fn path(&self, client: Client) -> &Path {
        self.paths
            .get(&client)
            .map_or(Path::new(""), PathBuf::as_path)
    }

    /// The program that measures.
    pub(super) fn bench(&self) -> &Path {
        self.path(Client::Floor)
    }

    /// What a peer says that its version is.
    pub(super) fn version(&self, client: Client) -> Option<String> {
        let output = std::process::Command::new(self.path(client))
            .args(client.version_args())
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let is_version = |word: &&str| {
            let digits = word.trim_start_matches('v');
            digits.starts_with(|c: char| c.is_ascii_digit()) && digits.contains('.')
        };
        text.split_whitespace().find(is_version).map(str::to_owned)
    }
}

/// Where a client works.
#[derive(Debug)]
pub(super) struct Workplace<'a> {
    pub(super) kubeconfig: &'a Path,
    pub(super) namespace: &'a str,
    pub(super) release: &'a str,
    pub(super) files: &'a Files,
}

/// The arguments that make a tool do it; nothing if it cannot. The floor is no tool: see `life`.
pub(super) fn arguments(
    client: Client,
    action: Action,
    at: &Workplace<'_>,
) -> Option<Vec<OsString>> {
    let version = match action {
        Action::OneChanged | Action::Diff => Version::OneChanged,
        Action::Upgrade => Version::Upgraded,
        _ => Version::First,
    };
    let (config, ns) = (at.kubeconfig.as_os_str(), at.namespace);
    let mut args: Vec<OsString> = Vec::new();
    let mut push = |list: &[&str]| args.extend(list.iter().map(OsString::from));
    match client {
        Client::Floor | Client::FloorHttp2 => return None,
        Client::Opm | Client::OpmFixed => {
            let module = at.files.module(version);
            let module = module.to_str()?;
            match action {
                Action::Install | Action::Unchanged | Action::OneChanged | Action::Upgrade => {
                    push(&["mod", "apply", module, "--name", at.release]);
                }
                Action::Diff => push(&["mod", "diff", module, "--name", at.release]),
                Action::Status => push(&["mod", "status", at.release]),
                Action::Rollback => push(&["mod", "rollback", at.release, "--yes"]),
                Action::List => push(&["mod", "list"]),
                Action::Delete => push(&["mod", "delete", at.release, "--yes"]),
            }
            let writes = !matches!(action, Action::Status | Action::Diff | Action::List);
            if client == Client::OpmFixed && writes {
                push(&["--concurrency", floor::AT_ONCE]);
            }
            push(&["-n", ns, "--kubeconfig"]);
        }
        Client::Kapp => {
            let plain = at.files.plain(version);
            let plain = plain.to_str()?;
            let deploy = [
                "deploy",
                "-a",
                at.release,
                "-f",
                plain,
                "--yes",
                "--wait=false",
            ];
            match action {
                Action::Install | Action::Unchanged | Action::OneChanged | Action::Upgrade => {
                    push(&deploy)
                }
                Action::Diff => {
                    push(&deploy);
                    push(&["--diff-run", "--diff-changes"]);
                }
                Action::Status => push(&["inspect", "-a", at.release]),
                Action::Rollback => return None,
                Action::List => push(&["list"]),
                Action::Delete => push(&["delete", "-a", at.release, "--yes", "--wait=false"]),
            }
            push(&["-n", ns, "--kubeconfig"]);
        }
        Client::Helm => {
            let chart = at.files.chart(version);
            let chart = chart.to_str()?;
            match action {
                Action::Install => push(&["install", at.release, chart]),
                Action::Unchanged | Action::OneChanged | Action::Upgrade => {
                    push(&["upgrade", at.release, chart]);
                }
                Action::Diff => return None,
                Action::Status => push(&["status", at.release]),
                Action::Rollback => push(&["rollback", at.release]),
                Action::List => push(&["list", "--max", "1000"]),
                Action::Delete => push(&["uninstall", at.release]),
            }
            push(&["-n", ns, "--kubeconfig"]);
        }
        Client::Kubectl => {
            let plain = at.files.plain(version);
            let plain = plain.to_str()?;
            match action {
                Action::Install | Action::Unchanged | Action::OneChanged | Action::Upgrade => {
                    push(&[
                        "apply",
                        "--server-side",
                        "--prune",
                        "--applyset=bench",
                        "-f",
                        plain,
                    ])
                }
                Action::Diff => push(&["diff", "--server-side", "-f", plain]),
                Action::Delete => push(&["delete", "--wait=false", "-f", plain]),
                Action::Status | Action::Rollback | Action::List => return None,
            }
            push(&["-n", ns, "--kubeconfig"]);
        }
    }
    args.push(config.to_owned());
    Some(args)
}

/// Variables that a tool needs.
pub(super) fn variables(client: Client) -> &'static [(&'static str, &'static str)] {
    match client {
        Client::Kubectl => &[("KUBECTL_APPLYSET", "true")],
        _ => &[],
    }
}

/// `kubectl diff` ends with 1 when there are differences.
pub(super) fn is_success(client: Client, action: Action, code: i64) -> bool {
    code == 0 || (code == 1 && client == Client::Kubectl && action == Action::Diff)
}
