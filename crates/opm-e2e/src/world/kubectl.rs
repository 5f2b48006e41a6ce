//! The real kubectl, for what people do past `opm`.

use std::path::PathBuf;

use opm_testkit::programs::{self, Program};
use tokio::process::Command;

use super::World;
use super::commands::Route;

/// kubectl in a world's namespace.
pub struct Kubectl {
    program: PathBuf,
    namespace: String,
    home: PathBuf,
    route: Route,
}

impl World {
    /// The real kubectl. None, and a note, where it cannot be had.
    pub async fn kubectl(&self) -> Option<Kubectl> {
        match programs::ensure(&[Program::Kubectl]) {
            Ok(()) => {}
            Err(error) if opm_testkit::cluster_required() => panic!("{error}"),
            Err(_) => {
                opm_testkit::skip_without("kubectl");
                return None;
            }
        }
        Some(Kubectl {
            program: Program::Kubectl.find().unwrap(),
            namespace: self.ns.clone(),
            home: self.dir().to_owned(),
            route: self.route().await,
        })
    }
}

impl Kubectl {
    /// Runs it; says whether it was well, and what it printed.
    pub async fn tries(&self, words: &[&str]) -> (bool, String) {
        let output = Command::new(&self.program)
            .arg("--kubeconfig")
            .arg(&self.route.kubeconfig)
            .args(["--namespace", &self.namespace])
            .args(words)
            .current_dir(&self.home)
            .env("HOME", &self.home)
            // An editor that knows but one thing to do.
            .env("KUBE_EDITOR", "sed -i s/original/edited/")
            .kill_on_drop(true)
            .output();
        let output = output.await.unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let printed = format!("{}{}", text(&output.stdout), text(&output.stderr));
        (output.status.success(), printed)
    }

    /// Runs what has to be well, and returns what it printed.
    pub async fn run(&self, words: &[&str]) -> String {
        let (well, printed) = self.tries(words).await;
        assert!(well, "kubectl {words:?}: {printed}");
        printed
    }

    /// Waits as `kubectl wait --for` does.
    pub async fn wait(&self, wanted: &str, object: &str) {
        let timeout = format!("--timeout={}s", opm_testkit::HANG.as_secs());
        self.run(&["wait", &format!("--for={wanted}"), object, &timeout])
            .await;
    }

    /// Applies these documents.
    pub async fn apply(&self, text: &str) -> String {
        std::fs::write(self.home.join("given.yaml"), text).unwrap();
        self.run(&["apply", "-f", "given.yaml"]).await
    }
}
