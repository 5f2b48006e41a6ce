//! The programs that tests run: which there are, from which Go module, at which version.
//!
//! A program comes from `KUBEBUILDER_ASSETS` when that directory has it, else from the cache that
//! [`ensure`] fills. Nothing here starts a program.

mod build;
mod cache;

use std::path::PathBuf;

pub use build::BuildError;
pub use cache::cache_root;

/// A family of programs that one Go module pins.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) dir: &'static str,
    pub(crate) module: &'static str,
    pub(crate) version: &'static str,
    /// Everything that decides what gets built, for the key of the cache.
    pub(crate) pins: &'static [&'static str],
    /// Go packages whose `gitVersion` and neighbours are set, as clients compare them.
    pub(crate) stamped: &'static [&'static str],
}

/// A program and the package of its family that it is built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the program of that name")]
pub enum Program {
    Etcd,
    KubeApiserver,
    KubeControllerManager,
    KubeScheduler,
    Kubectl,
    Kwok,
    Cue,
    Helm,
    Kapp,
    KustomizeController,
}

/// What a control plane and the tests on it need.
pub const CONTROL_PLANE: &[Program] = &[
    Program::Etcd,
    Program::KubeApiserver,
    Program::KubeControllerManager,
    Program::KubeScheduler,
    Program::Kubectl,
    Program::Kwok,
    Program::Cue,
];

/// Other release managers, for comparison.
pub const PEERS: &[Program] = &[Program::Helm, Program::Kapp];

/// Other controllers, for comparison.
pub const CONTROLLERS: &[Program] = &[Program::KustomizeController];

const KUBERNETES: Family = Family {
    dir: "kubernetes",
    module: "k8s.io/kubernetes",
    version: "v1.34.4",
    pins: &[
        include_str!("../../control-plane/kubernetes/go.mod"),
        include_str!("../../control-plane/kubernetes/go.sum"),
    ],
    stamped: &[
        "k8s.io/component-base/version",
        "k8s.io/client-go/pkg/version",
    ],
};

const ETCD: Family = Family {
    dir: "etcd",
    module: "go.etcd.io/etcd/server/v3",
    version: "v3.6.6",
    pins: &[
        include_str!("../../control-plane/etcd/go.mod"),
        include_str!("../../control-plane/etcd/go.sum"),
        include_str!("../../control-plane/etcd/main.go"),
    ],
    stamped: &[],
};

const KWOK: Family = Family {
    dir: "kwok",
    module: "sigs.k8s.io/kwok",
    version: "v0.8.0",
    pins: &[
        include_str!("../../control-plane/kwok/go.mod"),
        include_str!("../../control-plane/kwok/go.sum"),
    ],
    stamped: &[],
};

const CUE: Family = Family {
    dir: "cue",
    module: "cuelang.org/go",
    version: "v0.17.1",
    pins: &[
        include_str!("../../control-plane/cue/go.mod"),
        include_str!("../../control-plane/cue/go.sum"),
    ],
    stamped: &[],
};

const HELM: Family = Family {
    dir: "helm",
    module: "helm.sh/helm/v4",
    version: "v4.3.1",
    pins: &[
        include_str!("../../control-plane/helm/go.mod"),
        include_str!("../../control-plane/helm/go.sum"),
    ],
    stamped: &[],
};

const KAPP: Family = Family {
    dir: "kapp",
    module: "carvel.dev/kapp",
    version: "v0.64.0",
    pins: &[
        include_str!("../../control-plane/kapp/go.mod"),
        include_str!("../../control-plane/kapp/go.sum"),
    ],
    stamped: &[],
};

const FLUX: Family = Family {
    dir: "flux",
    module: "github.com/fluxcd/kustomize-controller",
    version: "v1.7.3",
    pins: &[
        include_str!("../../control-plane/flux/go.mod"),
        include_str!("../../control-plane/flux/go.sum"),
    ],
    stamped: &[],
};

impl Program {
    /// The file name of the program.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Kubectl => "kubectl",
            Self::Kwok => "kwok",
            Self::Cue => "cue",
            Self::Helm => "helm",
            Self::Kapp => "kapp",
            Self::KustomizeController => "kustomize-controller",
        }
    }

    /// The pinned version, as its module spells it.
    #[must_use]
    pub fn version(self) -> &'static str {
        self.family().version
    }

    pub(crate) fn family(self) -> &'static Family {
        match self {
            Self::Etcd => &ETCD,
            Self::KubeApiserver
            | Self::KubeControllerManager
            | Self::KubeScheduler
            | Self::Kubectl => &KUBERNETES,
            Self::Kwok => &KWOK,
            Self::Cue => &CUE,
            Self::Helm => &HELM,
            Self::Kapp => &KAPP,
            Self::KustomizeController => &FLUX,
        }
    }

    fn package(self) -> String {
        match self {
            Self::Etcd => ".".to_owned(),
            Self::KustomizeController => self.family().module.to_owned(),
            other => format!("{}/cmd/{}", other.family().module, other.name()),
        }
    }

    /// Where the program is, if it is there already.
    #[must_use]
    pub fn find(self) -> Option<PathBuf> {
        cache::supplied(self).or_else(|| Some(cache::path(self)).filter(|path| path.is_file()))
    }
}

/// Makes sure that the programs are there, building what is missing. The first build of a control
/// plane takes minutes; it goes on where an interrupted one stopped.
pub fn ensure(programs: &[Program]) -> Result<(), BuildError> {
    let missing: Vec<_> = programs
        .iter()
        .copied()
        .filter(|one| one.find().is_none())
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        build::build(&missing)
    }
}

/// The directories that hold programs, for a `PATH`.
#[must_use]
pub fn directories() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for program in CONTROL_PLANE.iter().chain(PEERS) {
        let Some(dir) = program
            .find()
            .and_then(|path| path.parent().map(PathBuf::from))
        else {
            continue;
        };
        if !found.contains(&dir) {
            found.push(dir);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{CONTROL_PLANE, CONTROLLERS, PEERS};

    #[test]
    fn go_mod_pins_the_version_that_the_code_names() {
        for program in CONTROL_PLANE.iter().chain(PEERS).chain(CONTROLLERS) {
            let family = program.family();
            let pin = format!("{} {}", family.module, family.version);
            assert!(
                family.pins[0].contains(&pin),
                "{}/go.mod does not pin {pin}",
                family.dir
            );
        }
    }
}
