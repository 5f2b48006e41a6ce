//! The real kubectl against a served sandbox.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail loudly"
)]

use std::path::{Path, PathBuf};

use opm_sandbox::{Sandbox, Server, serve};
use opm_testkit::programs::{self, Program};
use opm_testkit::unless_it_hangs;
use tokio::process::Command;

struct Kubectl {
    program: PathBuf,
    config: PathBuf,
    _server: Server,
    _dir: tempfile::TempDir,
}

impl Kubectl {
    async fn on_a_sandbox() -> Option<Kubectl> {
        // Skips where kubectl cannot be built either.
        opm_testkit::ControlPlane::for_test().await?;
        programs::ensure(&[Program::Kubectl]).unwrap();
        let program = Program::Kubectl.find().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let server = serve(Sandbox::open(dir.path()).unwrap(), 0).await.unwrap();
        let config = dir.path().join("kubeconfig");
        std::fs::write(&config, server.kubeconfig()).unwrap();
        Some(Kubectl {
            program,
            config,
            _server: server,
            _dir: dir,
        })
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--kubeconfig").arg(&self.config).args(args);
        command
            .env("HOME", self.config.parent().unwrap())
            .kill_on_drop(true);
        command
    }

    async fn run(&self, args: &[&str]) -> String {
        let output = self.command(args).output().await.unwrap();
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert!(output.status.success(), "kubectl {args:?}: {out}{err}");
        out.into_owned()
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = Path::new(&self.config).with_file_name(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

const WEB: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: 'i:1'}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: '1'}
";

const MADE: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: made}, data: {k: v}}";

#[tokio::test(flavor = "multi_thread")]
async fn everyday_commands() {
    let Some(kubectl) = Kubectl::on_a_sandbox().await else {
        return;
    };
    let resources = kubectl.run(&["api-resources"]).await;
    assert!(resources.contains("deployments") && resources.contains("customresourcedefinitions"));
    assert!(kubectl.run(&["version"]).await.contains("v1.34.4"));
    assert!(
        kubectl
            .run(&["get", "namespaces"])
            .await
            .contains("kube-system")
    );

    let file = kubectl.file("web.yaml", WEB);
    let applied = kubectl.run(&["apply", "--server-side", "-f", &file]).await;
    assert!(
        applied.contains("deployment.apps/web serverside-applied"),
        "{applied}"
    );
    let again = kubectl.run(&["apply", "--server-side", "-f", &file]).await;
    assert!(
        again.contains("configmap/settings serverside-applied"),
        "{again}"
    );
    kubectl
        .run(&[
            "wait",
            "deployment/web",
            "--for=condition=Available",
            "--timeout=10s",
        ])
        .await;
    kubectl
        .run(&["rollout", "status", "deployment/web", "--timeout=10s"])
        .await;
    let yaml = kubectl
        .run(&[
            "get",
            "deployment",
            "web",
            "-o",
            "yaml",
            "--show-managed-fields",
        ])
        .await;
    assert!(
        yaml.contains("availableReplicas: 2") && yaml.contains("manager: kubectl"),
        "{yaml}"
    );

    kubectl
        .run(&["label", "configmap", "settings", "tier=front"])
        .await;
    kubectl
        .run(&["annotate", "configmap", "settings", "note=x"])
        .await;
    assert!(
        kubectl
            .run(&["get", "configmaps", "-l", "tier=front", "-o", "name"])
            .await
            .contains("settings")
    );
    kubectl
        .run(&["label", "configmap", "settings", "tier-"])
        .await;
    assert_eq!(
        kubectl
            .run(&["get", "configmaps", "-l", "tier", "-o", "name"])
            .await,
        ""
    );
    kubectl
        .run(&["scale", "deployment/web", "--replicas=3"])
        .await;
    kubectl
        .run(&[
            "patch",
            "configmap",
            "settings",
            "--type=merge",
            "-p",
            r#"{"data":{"b":"2"}}"#,
        ])
        .await;
    kubectl
        .run(&["create", "-f", &kubectl.file("made.yaml", MADE)])
        .await;
    kubectl
        .run(&["delete", "-f", &file, "--wait=true", "--timeout=10s"])
        .await;
    assert!(
        !kubectl
            .run(&["get", "configmaps", "-o", "name"])
            .await
            .contains("settings")
    );
    let namespace = kubectl.file(
        "n.yaml",
        "{apiVersion: v1, kind: Namespace, metadata: {name: other}}",
    );
    kubectl.run(&["apply", "-f", &namespace]).await;
    kubectl
        .run(&["delete", "namespace", "other", "--timeout=10s"])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn watching() {
    use tokio::io::{AsyncBufReadExt, BufReader};
    let Some(kubectl) = Kubectl::on_a_sandbox().await else {
        return;
    };
    let mut command = kubectl.command(&["get", "configmaps", "-w", "-o", "name"]);
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = unless_it_hangs("a line", lines.next_line()).await;
    let first = first.unwrap().unwrap();
    assert_eq!(first, "configmap/kube-root-ca.crt");
    let late = MADE.replace("made", "late");
    kubectl
        .run(&["create", "-f", &kubectl.file("late.yaml", &late)])
        .await;
    let second = unless_it_hangs("a line", lines.next_line()).await;
    let second = second.unwrap().unwrap();
    assert_eq!(second, "configmap/late");
    child.kill().await.unwrap();
}
