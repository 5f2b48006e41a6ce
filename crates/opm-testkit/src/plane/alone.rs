//! An API server of one's own, with its store and the controllers beside it: to be killed and started
//! again by the test that has it. Nobody else's control plane is touched.

use std::io;
use std::process::Stdio;

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use super::start::{Ports, api_ready, apiserver, controller_manager, etcd, ports, write_files};
use super::{ControlPlane, Plane, PlaneError, client_of};
use crate::programs::Program;
use crate::wait::until;

/// An API server, its etcd and the controllers. All end when it is dropped.
#[derive(Debug)]
pub struct ApiServer {
    plane: Plane,
    ports: Ports,
    api: Child,
    _beside: [Child; 2],
    _dir: TempDir,
}

impl ApiServer {
    /// Starts one, with an empty store.
    pub async fn start() -> Result<Self, PlaneError> {
        let dir = tempfile::tempdir()?;
        let ports = ports()?;
        let plane = Plane {
            dir: dir.path().to_owned(),
            server: format!("https://127.0.0.1:{}", ports.api),
            seconds_to_ready: 0.0,
        };
        write_files(&plane, &ports)?;
        let store = spawn(&plane, Program::Etcd, &etcd(&ports))?;
        let api = spawn(&plane, Program::KubeApiserver, &apiserver(&ports))?;
        ready(&plane).await?;
        let json = serde_json::to_vec(&plane).map_err(io::Error::from)?;
        std::fs::write(dir.path().join("plane.json"), json)?;
        let manager = Program::KubeControllerManager;
        let controllers = spawn(&plane, manager, &controller_manager())?;
        Ok(Self {
            plane,
            ports,
            api,
            _beside: [store, controllers],
            _dir: dir,
        })
    }

    /// The control plane that it makes, for as long as it runs.
    #[must_use]
    pub fn plane(&self) -> &'static ControlPlane {
        let given = ControlPlane::given(self.plane.kubeconfig());
        // One for each test that asks: tests share control planes for the life of the process.
        Box::leak(Box::new(given))
    }

    /// Kills the API server (SIGKILL). Its store stays.
    pub async fn kill(&mut self) {
        let _ = self.api.kill().await;
    }

    /// Compacts the store: whoever watches from an earlier version has to list again.
    pub async fn compact(&self) -> Result<(), PlaneError> {
        let put = r#"{"key": "Y29tcGFjdA==", "value": "MQ=="}"#;
        let put = self.ask_store("/v3/kv/put", put).await?;
        let answer: Value = serde_json::from_str(&put).map_err(io::Error::from)?;
        let revision = answer["header"]["revision"].as_str().unwrap_or_default();
        let compaction = format!(r#"{{"revision": "{revision}", "physical": true}}"#);
        self.ask_store("/v3/kv/compaction", &compaction).await?;
        Ok(())
    }

    async fn ask_store(&self, path: &str, body: &str) -> Result<String, PlaneError> {
        let mut store = TcpStream::connect(("127.0.0.1", self.ports.etcd)).await?;
        let request = format!(
            "POST {path} HTTP/1.0\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        store.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        store.read_to_string(&mut answer).await?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        match head.contains(" 200 ") {
            true => Ok(body.to_owned()),
            false => Err(PlaneError::Start(format!("the store answers {answer}"))),
        }
    }

    /// Starts the API server again, at the same address, and waits until it is ready.
    pub async fn start_again(&mut self) -> Result<(), PlaneError> {
        self.api = spawn(&self.plane, Program::KubeApiserver, &apiserver(&self.ports))?;
        ready(&self.plane).await
    }
}

async fn ready(plane: &Plane) -> Result<(), PlaneError> {
    let client = client_of(&plane.kubeconfig()).await?;
    until("an API server of one's own is ready", async || {
        api_ready(&client).await
    })
    .await;
    Ok(())
}

fn spawn(plane: &Plane, program: Program, args: &[String]) -> Result<Child, PlaneError> {
    let missing = || PlaneError::Start(format!("{} is not built", program.name()));
    let path = program.find().ok_or_else(missing)?;
    let child = Command::new(path)
        .args(args)
        .current_dir(&plane.dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn();
    Ok(child?)
}
