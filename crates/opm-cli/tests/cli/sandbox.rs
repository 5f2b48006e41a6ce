//! `opm sandbox`, as users run it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::runner::World;

#[test]
fn looking_does_not_make_a_sandbox() {
    let world = World::new();
    let ran = world.opm("sandbox status --sandbox-dir box");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("sandbox.db does not exist yet"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("Pods do not run"), "{}", ran.stderr);
    assert!(!world.path("box").exists());
    let reset = world.opm("sandbox reset --sandbox-dir box");
    assert_eq!(reset.code, 0, "{}", reset.stderr);
}

#[test]
fn a_file_of_somebody_else_is_left_alone() {
    let world = World::new().file("box/sandbox.db", "my notes");
    for line in [
        "sandbox status --sandbox-dir box",
        "sandbox reset --yes --sandbox-dir box",
    ] {
        let ran = world.opm(line);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(
            ran.stderr
                .contains("is not a sandbox file; it was left alone"),
            "{}",
            ran.stderr
        );
        assert!(
            ran.stderr.contains("choose another --sandbox-dir"),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(world.read("box/sandbox.db"), "my notes");
}

#[test]
fn without_its_feature_there_is_no_sandbox() {
    let ran = World::new().opm("sandbox status --feature-disable sandbox");
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("needs the feature `sandbox`"),
        "{}",
        ran.stderr
    );
}

/// `opm sandbox serve`, running.
struct Serving {
    child: Child,
    kubeconfig: PathBuf,
}

impl Serving {
    fn start(world: &World) -> Serving {
        let mut child = world
            .command(&["sandbox", "serve", "--sandbox-dir", "box"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let kubeconfig = world.path(line.trim());
        Serving { child, kubeconfig }
    }

    /// What the kubeconfig says behind a word.
    fn told(&self, word: &str) -> String {
        let text = std::fs::read_to_string(&self.kubeconfig).unwrap();
        let rest = text.split(word).nth(1).unwrap();
        rest.lines().next().unwrap().trim().to_owned()
    }

    fn ask(&self, request: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(self.told("server: http://")).unwrap();
        let head = format!("{request} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn served_shown_and_reset() {
    let world = World::new();
    let serving = Serving::start(&world);
    let token = serving.told("token: ");
    let shown = format!("Host: localhost\r\nAuthorization: Bearer {token}\r\n");
    let answer = serving.ask("GET /version", &shown);
    assert!(
        answer.starts_with("HTTP/1.1 200 OK") && answer.contains("v1.34.4"),
        "{answer}"
    );
    let strange = serving.ask("GET /version", "Host: localhost\r\n");
    assert!(strange.starts_with("HTTP/1.1 401 "), "{strange}");
    for (path, wanted) in [("box", 0o700), ("box/kubeconfig", 0o600), ("box/sandbox.db", 0o600)] {
        let found = std::fs::metadata(world.path(path)).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, wanted, "{path}");
    }

    let refused = world.opm("sandbox reset --yes --sandbox-dir box");
    assert_eq!(refused.code, 7, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("in use by another process") && refused.stderr.contains("serve"),
        "{}",
        refused.stderr
    );
    let answer = serving.ask("GET /version", &shown);
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    drop(serving);

    let shown = world.opm("sandbox status --sandbox-dir box -o json");
    let document: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(document["exists"], true);
    let counts = document["objects"].as_array().unwrap();
    assert!(
        counts
            .iter()
            .any(|r| r["resource"] == "namespaces" && r["count"] == 4),
        "{counts:?}"
    );

    let asked = world.opm("sandbox reset --sandbox-dir box");
    assert_eq!(asked.code, 2, "{}", asked.stderr);
    assert!(asked.stderr.contains("say --yes"), "{}", asked.stderr);
    assert_eq!(world.opm("sandbox reset --yes --sandbox-dir box").code, 0);
    assert!(!world.path("box/sandbox.db").exists());
}

#[test]
fn a_kubeconfig_that_others_could_read_is_replaced() {
    let world = World::new().file("box/kubeconfig", "old");
    let file = world.path("box/kubeconfig");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    let serving = Serving::start(&world);
    assert_eq!(serving.told("token: ").len(), 64);
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let left: Vec<_> = std::fs::read_dir(world.path("box")).unwrap().collect();
    let new = |e: &std::fs::DirEntry| e.file_name().to_string_lossy().ends_with(".new");
    assert!(!left.iter().flatten().any(new), "{left:?}");
}

#[test]
fn a_directory_names_the_release_in_the_namespace_that_its_module_would_like() {
    let module = "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata: {name: shop, \
                  defaultNamespace: market}\ncomponents: [{name: app, manifests: [app.yaml]}]\n";
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hours}\n";
    let world = World::new()
        .file("shop/module.yaml", module)
        .file("shop/app.yaml", object);
    let ran = world.opm("mod apply ./shop --create-namespace --sandbox --sandbox-dir box");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = world.opm("mod delete ./shop --yes --sandbox --sandbox-dir box -o json");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["release"]["namespace"], "market");
    let again = world.opm("mod delete ./shop --yes --sandbox --sandbox-dir box");
    assert_eq!(again.code, 5, "{}", again.stderr);
    assert!(
        again.stderr.contains("shop in namespace market"),
        "{}",
        again.stderr
    );
}
