//! The control plane that tests share: how to get hold of it.
//!
//! A supervisor process owns it (`supervisor`). A test process asks for it over a socket, starts
//! the supervisor when there is none, and holds the connection open for as long as it lives
//! (`lease`); the kernel closes that connection however the process ends.

mod alone;
mod for_test;
mod lease;
mod processes;
mod settings;
mod start;
mod supervisor;
mod sweep;

use std::env;
use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use kube::config::{KubeConfigOptions, Kubeconfig};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::OnceCell;

use crate::keys::{Authority, Identity};
use crate::kubeconfig::{Access, Credentials};
use crate::programs::BuildError;

pub use alone::ApiServer;
pub use lease::Stop;
pub use supervisor::supervise;
pub use sweep::sweep;

/// Why there is no control plane.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum PlaneError {
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error("failed to build the supervisor of the control plane: {0}")]
    Supervisor(String),
    #[error("the control plane did not start: {0}")]
    Start(String),
    #[error("failed to talk to the supervisor of the control plane")]
    Socket(#[from] io::Error),
    #[error("failed to read the kubeconfig {}", path.display())]
    Kubeconfig {
        path: PathBuf,
        source: kube::config::KubeconfigError,
    },
}

/// What a control plane is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Tests that share it, each in a namespace of its own.
    Tests,
    /// Whole applications, one at a time, whose Services are answered for.
    Applications,
}

impl Purpose {
    /// As the supervisor is told.
    fn argument(self) -> &'static str {
        match self {
            Self::Tests => "tests",
            Self::Applications => "applications",
        }
    }

    fn of_argument(text: &str) -> Self {
        match text {
            "applications" => Self::Applications,
            _ => Self::Tests,
        }
    }
}

/// What a running control plane is like; `plane.json` in its directory.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Plane {
    pub(crate) dir: PathBuf,
    pub(crate) server: String,
    pub(crate) seconds_to_ready: f64,
}

impl Plane {
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.dir.join("kubeconfig")
    }

    pub(crate) fn authority(&self) -> io::Result<Authority> {
        let certificate = fs::read_to_string(self.dir.join("ca.crt"))?;
        Ok(Authority::from_pem(
            certificate,
            &fs::read_to_string(self.dir.join("ca.key"))?,
        ))
    }

    /// Access for a user that the certificate itself declares.
    pub(crate) fn access(&self, identity: Identity, authority: &Authority) -> Access {
        Access {
            server: self.server.clone(),
            tls_server_name: None,
            authority: authority.certificate.clone(),
            credentials: Credentials::Certificate(identity),
            namespace: None,
        }
    }
}

/// A control plane to test on.
#[derive(Debug)]
pub struct ControlPlane {
    kubeconfig: PathBuf,
    /// Absent for a cluster that `OPM_TEST_KUBECONFIG` names and that this kit did not start.
    plane: Option<Plane>,
    _lease: Option<UnixStream>,
}

impl ControlPlane {
    /// The control plane that this process shares with the rest of the test run: the cluster of
    /// `OPM_TEST_KUBECONFIG`, else one that is running for this work tree, else a new one.
    pub async fn shared() -> Result<&'static Self, PlaneError> {
        static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
        SHARED.get_or_try_init(|| Self::acquire(false)).await
    }

    /// A control plane for whole applications, which own names that everybody sees and whose
    /// webhooks see everybody's requests. Something answers for every Service that has a ready pod.
    pub async fn for_applications() -> Result<Self, PlaneError> {
        Self::lease(Purpose::Applications, false).await
    }

    /// Stops the control plane for applications, with whatever is left in it. Who needs it next
    /// starts a new one.
    pub fn stop_applications(self) {
        let _ = lease::stop(Purpose::Applications);
    }

    /// As [`Self::shared`], but the control plane stays up until [`stop`].
    pub async fn keep_up() -> Result<Self, PlaneError> {
        Self::acquire(true).await
    }

    /// The control plane that is up for this work tree, if one is.
    pub async fn running() -> Result<Option<Self>, PlaneError> {
        tokio::task::spawn_blocking(lease::running)
            .await
            .expect("the task does not panic")
            .map(|found| found.map(Self::leased))
    }

    async fn acquire(keep: bool) -> Result<Self, PlaneError> {
        if let Some(path) = env::var_os("OPM_TEST_KUBECONFIG").filter(|path| !path.is_empty()) {
            return Ok(Self::given(PathBuf::from(path)));
        }
        Self::lease(Purpose::Tests, keep).await
    }

    async fn lease(purpose: Purpose, keep: bool) -> Result<Self, PlaneError> {
        let leased = tokio::task::spawn_blocking(move || lease::acquire(purpose, keep)).await;
        leased.expect("the task does not panic").map(Self::leased)
    }

    fn leased((plane, stream): (Plane, UnixStream)) -> Self {
        Self {
            kubeconfig: plane.kubeconfig(),
            plane: Some(plane),
            _lease: Some(stream),
        }
    }

    /// The cluster of a kubeconfig; one of ours is recognised by the file beside it.
    fn given(kubeconfig: PathBuf) -> Self {
        let beside = kubeconfig
            .parent()
            .unwrap_or(Path::new("."))
            .join("plane.json");
        let plane = fs::read(beside)
            .ok()
            .and_then(|json| serde_json::from_slice(&json).ok());
        Self {
            kubeconfig,
            plane,
            _lease: None,
        }
    }

    /// A kubeconfig that may do everything.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Seconds from the start of the first process to a ready node; nothing for a given cluster.
    #[must_use]
    pub fn seconds_to_ready(&self) -> Option<f64> {
        self.plane.as_ref().map(|plane| plane.seconds_to_ready)
    }

    /// Where the control plane keeps its files, if it is one of ours.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        self.plane.as_ref().map(|plane| plane.dir.as_path())
    }

    /// The socket by which users of this work tree's control plane find it.
    #[must_use]
    pub fn socket() -> PathBuf {
        settings::socket(Purpose::Tests)
    }

    /// A configuration that may do everything.
    pub async fn config(&self) -> Result<kube::Config, PlaneError> {
        config_of(&self.kubeconfig).await
    }

    /// A client that may do everything.
    pub async fn client(&self) -> Result<kube::Client, PlaneError> {
        client_of(&self.kubeconfig).await
    }

    /// What is known of it if the kit started it.
    pub(crate) fn ours(&self) -> Option<&Plane> {
        self.plane.as_ref()
    }
}

/// Stops the control plane of this work tree and returns when nothing of it is left.
pub fn stop() -> Result<Stop, PlaneError> {
    lease::stop(Purpose::Tests)
}

pub(crate) async fn client_of(kubeconfig: &Path) -> Result<kube::Client, PlaneError> {
    let config = config_of(kubeconfig).await?;
    Ok(kube::Client::try_from(config).expect("the kubeconfig makes a client"))
}

pub(crate) async fn config_of(path: &Path) -> Result<kube::Config, PlaneError> {
    let failed = |source| PlaneError::Kubeconfig {
        path: path.to_owned(),
        source,
    };
    let file = Kubeconfig::read_from(path).map_err(failed)?;
    kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .map_err(failed)
}
