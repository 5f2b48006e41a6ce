//! `opm sandbox`, as users run it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::runner::{Ran, World};

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

    fn address(&self) -> String {
        let server = self.told("server: http://");
        server.split('/').next().unwrap().to_owned()
    }

    fn ask(&self, request: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(self.address()).unwrap();
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
    for (path, wanted) in [
        ("box", 0o700),
        ("box/kubeconfig", 0o600),
        ("box/sandbox.db", 0o600),
    ] {
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

const MODULE: &str = "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata: {name: shop}\n\
                      components: [{name: app, manifests: [app.yaml]}]\n";

#[test]
fn what_is_stored_and_not_enforced_is_said() {
    let policy = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\n\
                  metadata: {name: no-downgrade}\nspec:\n  validations: [{expression: 'false'}]\n";
    let world = World::new()
        .file("shop/module.yaml", MODULE)
        .file("shop/app.yaml", policy);
    let apply = "mod apply ./shop -n default --sandbox --sandbox-dir box";
    let ran = world.opm(apply);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let warning = "the sandbox stores this ValidatingAdmissionPolicy and does not enforce it";
    assert!(ran.stderr.contains(warning), "{}", ran.stderr);
    let again = world.opm(apply);
    assert!(!again.stderr.contains(warning), "{}", again.stderr);
}

#[test]
fn an_api_service_says_whether_its_service_is_there() {
    let object = "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\n\
                  metadata: {name: v1.shop.example.com}\nspec: {group: shop.example.com, \
                  version: v1, groupPriorityMinimum: 100, versionPriority: 100, \
                  insecureSkipTLSVerify: true, service: {name: shop, namespace: default}}\n";
    let service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: shop}\n\
                   spec: {ports: [{port: 443}]}\n";
    let world = World::new()
        .file("shop/module.yaml", MODULE)
        .file("shop/app.yaml", object);
    let ran =
        world.opm("mod apply ./shop -n default --wait --timeout 2s --sandbox --sandbox-dir box");
    assert_ne!(ran.code, 0, "{}", ran.stderr);
    let missing = "service/shop in \"default\" is not present";
    assert!(ran.stderr.contains(missing), "{}", ran.stderr);
    let world = world.file("shop/app.yaml", &format!("{object}{service}"));
    let ran = world.opm("mod apply ./shop -n default --wait --sandbox --sandbox-dir box");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

/// Runs `opm` where no file may grow past so many blocks of 512 bytes, as on a full disk.
fn cramped(world: &World, blocks: usize, line: &str) -> Ran {
    let opm = world.command(&[]);
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" {line}");
    let mut shell = Command::new("/bin/sh");
    shell
        .arg("-c")
        .arg(script)
        .arg(opm.get_program())
        .current_dir(opm.get_current_dir().unwrap())
        .env_clear()
        .envs(
            opm.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .stdin(Stdio::null());
    world.ran(&shell.output().unwrap())
}

#[test]
fn a_full_disk_is_named_by_every_command() {
    let objects = (0..20).map(|n| {
        let text = "x".repeat(9_000);
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{n}}}\ndata: {{k: {text}}}\n"
        )
    });
    let world = World::new()
        .file("shop/module.yaml", MODULE)
        .file("shop/app.yaml", &objects.collect::<String>());
    let place = "--sandbox --sandbox-dir box";
    let cause = "the disk may be full, or a quota or size limit reached";
    let ran = cramped(&world, 700, &format!("mod apply ./shop -n default {place}"));
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains(cause), "{}", ran.stderr);
    let last = ran
        .stderr
        .lines()
        .rfind(|line| line.contains("rror"))
        .unwrap();
    assert!(!last.contains("lock"), "{}", ran.stderr);

    let ran = world.opm(&format!("mod apply ./shop -n default {place}"));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = cramped(
        &world,
        300,
        &format!("mod delete shop -n default --yes {place}"),
    );
    assert_ne!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("InsufficientStorage") || ran.stderr.contains(cause),
        "{}",
        ran.stderr
    );
    let ran = world.opm(&format!("mod delete shop -n default --yes {place}"));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = cramped(&world, 300, "sandbox reset --yes --sandbox-dir box");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
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
