//! `opm mod init`, `vet` and `build`, through the built binary.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use insta::assert_snapshot;

use crate::runner::{Ran, World};

#[path = "../../../opm-testkit/src/skip.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "shared with crates that use more of it"
)]
mod skip;

const MODULE: &str = "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata: {name: web}\ncomponents:\n  - {name: app, manifests: [app.yaml]}\n  - {name: extra, optional: true, manifests: [extra.yaml]}\n";
const APP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: \"yes\"}\n";
const EXTRA: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n";

fn web() -> World {
    World::new()
        .file("module.yaml", MODULE)
        .file("app.yaml", APP)
        .file("extra.yaml", EXTRA)
}

/// The `cue` to test with, or a skip that is said aloud.
pub(crate) fn cue() -> Option<String> {
    let in_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .map(|dir| dir.join("cue"))
            .find(|file| file.is_file())
    };
    let found = std::env::var_os("OPM_CUE")
        .map(PathBuf::from)
        .or_else(in_path);
    if found.is_none() {
        skip::skip_without("`cue`: set OPM_CUE or put it in PATH");
    }
    found.map(|path| path.display().to_string())
}

#[test]
fn build_prints_what_would_be_applied() {
    assert_snapshot!(web().opm("mod build"), @r#"
    exit 0
    --- stdout
    ---
    apiVersion: v1
    data:
      k: "yes"
    kind: ConfigMap
    metadata:
      labels:
        app.kubernetes.io/managed-by: open-platform-model
        component.opmodel.dev/name: app
        module-release.opmodel.dev/name: web
        module-release.opmodel.dev/uuid: c34934c1-728e-5942-9dca-a537c8f64d6f
        module.opmodel.dev/name: web
        module.opmodel.dev/namespace: default
      name: a
      namespace: default
    "#);
    assert_snapshot!(web().opm("mod build -o table --components extra -n shop").words(), @r"
    COMPONENT KIND NAMESPACE NAME
    app ConfigMap shop a
    extra ConfigMap shop b
    ");
}

#[test]
fn build_for_scripts() {
    let document = web().opm("mod build . -o json --name blue -n shop").json();
    let keys: Vec<&String> = document.as_object().unwrap().keys().collect();
    let expected = [
        "changeId",
        "features",
        "manifestDigest",
        "module",
        "release",
        "resources",
        "values",
    ];
    assert_eq!(keys, expected);
    assert_eq!(document["release"]["name"], "blue");
    assert_eq!(document["release"]["namespace"], "shop");
    assert_eq!(document["release"]["releaseId"].as_str().unwrap().len(), 36);
    let local = serde_json::json!({"path": "local/web", "local": true, "name": "web"});
    assert_eq!(document["module"], local);
    assert_eq!(document["values"], "{}");
    assert_eq!(document["features"]["sandbox"], true);
    assert_eq!(document["resources"][0]["component"], "app");
    assert_eq!(
        document["resources"][0]["object"]["metadata"]["namespace"],
        "shop"
    );
    let features = web()
        .opm("mod build -o json --feature-disable sandbox")
        .json();
    assert_eq!(features["features"]["sandbox"], false);
}

#[test]
fn failures_are_one_document_too() {
    let ran = World::new().opm("mod build -o json");
    assert_eq!(ran.code, 2);
    let error = &ran.json()["error"];
    assert_eq!(error["kind"], "invalid");
    assert_eq!(
        error["message"],
        ".: not a module: it has neither module.yaml nor cue.mod, and no manifests"
    );
    assert_eq!(error["hints"][0], "`opm mod init DIR` writes a new module");
    assert_snapshot!(World::new().opm("mod vet nowhere"), @r"
    exit 2
    --- stderr
    error: nowhere: no such file or directory
    ");
    assert_snapshot!(web().opm("mod build --set a=1"), @r"
    exit 2
    --- stderr
    error: .: this module takes no values
    hint: a module.yaml declares its values under `values`, and manifests use them as `${values.port}`
    ");
    assert_snapshot!(web().opm("mod build --components extar"), @r#"
    exit 2
    --- stderr
    error: the module has no component "extar" (did you mean extra?)
    hint: its optional components are: extra
    "#);
    assert_snapshot!(web().opm("mod build --name Web").code, @"2");
}

#[test]
fn duplicates_are_refused_also_through_components_and_versions() {
    let ingress = |version: &str| {
        format!("apiVersion: networking.k8s.io/{version}\nkind: Ingress\nmetadata: {{name: a}}\n")
    };
    let world = web()
        .file("app.yaml", &ingress("v1"))
        .file("extra.yaml", &ingress("v1beta1"));
    let ran = world.opm("mod vet --kube-version 1.20");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("with all optional components selected, the module renders the same object more than once"), "{ran}");
    assert_snapshot!(world.opm("mod build --components extra"), @r"
    exit 2
    --- stderr
    error: the module renders the same object more than once:
      Ingress/a in namespace default: component app as networking.k8s.io/v1, component extra as networking.k8s.io/v1beta1
    hint: the API version is not part of an object's identity: render each object once
    ");
    let world = web().file("app.yaml", &format!("{APP}---\n{APP}"));
    assert_eq!(world.opm("mod vet").code, 2);
}

#[test]
fn vet_warns_and_still_passes() {
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\n---\n\
                apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n";
    let world = web().file("app.yaml", role);
    assert_snapshot!(world.opm("mod vet"), @r#"
    exit 0
    --- stdout
    module web is valid: 2 objects in 1 component
    --- stderr
    warning: nothing says whether Widget.example.com lives in namespaces; it is taken to
    warning: ClusterRole/r is cluster-scoped, so only one release of this module can own it; annotate it with opmodel.dev/shared: "true" if releases share it
    not checked, because no definition is known (--schemas DIR has more): example.com/v1 Widget
    "#);
    let document = world.opm("mod vet -o json").json();
    assert_eq!(document["objects"], 2);
    assert_eq!(document["warnings"].as_array().unwrap().len(), 2);
}

#[test]
fn the_namespace_comes_from_the_flag_the_context_the_module_or_is_default() {
    let config = |namespace: &str| {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: x, cluster: {{server: 'https://127.0.0.1:1'}}}}]\n\
             users: [{{name: u, user: {{}}}}]\ncontexts:\n- {{name: c, context: {{cluster: x, user: u{namespace}}}}}\n\
             - {{name: d, context: {{cluster: x, user: u, namespace: other}}}}\n"
        )
    };
    let own = MODULE.replace("{name: web}", "{name: web, defaultNamespace: own}");
    let of = |world: &World, line: &str| {
        let ran = world.opm(line);
        ran.json()["release"]["namespace"]
            .as_str()
            .map(str::to_owned)
            .unwrap_or(ran.stderr)
    };
    let world = web()
        .file("module.yaml", &own)
        .file("../home/.kube/config", &config(", namespace: ctx"));
    assert_eq!(of(&world, "mod build -o json -n flag"), "flag");
    assert_eq!(of(&world, "mod build -o json"), "ctx");
    assert_eq!(of(&world, "mod build -o json --context d"), "other");
    assert_eq!(of(&world, "mod build -o json --sandbox"), "own");
    let world = world.file("../home/.kube/config", &config(""));
    assert_eq!(of(&world, "mod build -o json"), "own");
    let world = world.file("module.yaml", MODULE);
    assert_eq!(of(&world, "mod build -o json"), "default");
    let ran = world.opm("mod build --context nowhere");
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr
            .contains("hint: with -n NAMESPACE the kubeconfig is not needed here"),
        "{ran}"
    );
    let world = world.file("../home/.kube/config", "{");
    assert_eq!(world.opm("mod build").code, 2);
    assert_eq!(world.opm("mod build -n x").code, 0);
}

#[test]
fn out_dir_has_one_file_per_object_and_leaves_other_files_alone() {
    let world = web();
    let files = |world: &World| {
        let mut names: Vec<String> = std::fs::read_dir(world.path("out"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort();
        names.join(" ")
    };
    let ran = world.opm("mod build --out-dir out --components extra");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran}");
    assert_eq!(
        files(&world),
        "configmap_default_a.yaml configmap_default_b.yaml"
    );
    let world = world.file("out/notes.md", "mine");
    let first = world.read("out/configmap_default_a.yaml");
    assert!(first.starts_with("---\napiVersion: v1\n"), "{first}");
    assert_eq!(world.opm("mod build --out-dir out").code, 0);
    assert_eq!(files(&world), "configmap_default_a.yaml notes.md");
    let world = world.file("out/configmap_default_b.yaml", "not opm's");
    let ran = world.opm("mod build --out-dir out --components extra");
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr
            .contains("configmap_default_b.yaml would be overwritten"),
        "{ran}"
    );
    assert_eq!(world.read("out/configmap_default_b.yaml"), "not opm's");
}

#[test]
fn init_writes_modules_that_build() {
    let world = World::new();
    assert_snapshot!(world.opm("mod init shop --format yaml"), @r"
    exit 0
    --- stderr
    wrote the module shop to shop: module.yaml, config.yaml, web.yaml
    hint: `opm mod build shop` shows what it renders
    ");
    assert_eq!(
        world.opm("mod vet shop").stdout,
        "module shop is valid: 3 objects in 2 components\n"
    );
    assert_snapshot!(world.opm("mod init shop"), @r"
    exit 2
    --- stderr
    error: shop: module.yaml already exists
    hint: choose another directory, or remove them first to start over
    ");
    let Some(cue) = cue() else { return };
    let world = world.with("OPM_CUE", &cue);
    assert_eq!(world.opm("mod init web").code, 0);
    assert_eq!(
        world.opm("mod vet web").stdout,
        "module web is valid: 3 objects in 2 components\n"
    );
}

#[test]
fn cue_modules_need_cue_and_say_how_to_get_it() {
    let world = World::new().with("PATH", "/nowhere");
    assert_eq!(world.opm("mod init web").code, 0);
    let ran = world.opm("mod build web");
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr
            .contains("error: the program `cue` was not found"),
        "{ran}"
    );
    assert!(
        ran.stderr
            .contains("https://cuelang.org/docs/introduction/installation/"),
        "{ran}"
    );
}

#[test]
fn a_slow_cue_is_told_of_and_ctrl_c_ends_it() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new().file("cue", "#!/bin/sh\necho $$ > pid\nexec /bin/sleep 60\n");
    let program = world.path("cue");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let world = world.with("OPM_CUE", program.to_str().unwrap());
    assert_eq!(world.opm("mod init web").code, 0);
    let mut child = world
        .command(&["mod", "build", "web"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut told = String::new();
    while !told.contains("`cue version` has been running for 1 s") {
        assert_ne!(stderr.read_line(&mut told).unwrap(), 0, "{told}");
    }
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    stderr.read_to_string(&mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{told}");
    assert!(
        told.contains("error: `cue version` was interrupted"),
        "{told}"
    );
}

#[test]
fn values_from_standard_input() {
    let Some(cue) = cue() else { return };
    let world = World::new().with("OPM_CUE", &cue);
    assert_eq!(world.opm("mod init web").code, 0);
    let mut child = world
        .command(&["mod", "build", "web", "-o", "json", "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"greeting: piped\n")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        document["values"]
            .as_str()
            .unwrap()
            .contains("greeting: \"piped\"")
    );
}

/// One change id for the same values, whatever form they come in.
#[test]
fn the_same_values_make_the_same_change() {
    let Some(cue) = cue() else { return };
    let world = World::new()
        .with("OPM_CUE", &cue)
        .file("a.cue", "values: {replicas: 3, greeting: \"hi\"}\n")
        .file("b.yaml", "# first\ngreeting: hi # second\nreplicas: 3\n")
        .file("c.json", "{\"greeting\": \"hi\", \"replicas\": 3}")
        .file("greeting.txt", "hi");
    assert_eq!(world.opm("mod init web").code, 0);
    std::fs::remove_file(world.path("web/values.cue")).unwrap();
    let id = |flags: &str| {
        world.opm(&format!("mod build web -o json {flags}")).json()["changeId"].clone()
    };
    let expected = id("-f a.cue");
    assert!(expected.as_str().unwrap().starts_with("change-sha1-"));
    for flags in [
        "-f b.yaml",
        "-f c.json",
        "-f a.cue -f b.yaml -f c.json",
        "--set replicas=3 --set greeting=hi",
        "--set greeting=\"hi\" --set replicas=3",
        "--set-string greeting=hi --set replicas=3",
        "--set-file greeting=greeting.txt --set replicas=3",
        "--set replicas=3 -f a.cue --set port=80",
    ] {
        assert_eq!(id(flags), expected, "{flags}");
    }
    assert_ne!(id("--set replicas=2 --set greeting=hi"), expected);
}

/// What Go's encoding/json makes of what `opm` printed.
fn oracle(document: &str) -> Option<String> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle");
    let child = Command::new("go")
        .args(["run", "main.go"])
        .current_dir(directory)
        .env("GOFLAGS", "-mod=mod")
        .env("GO111MODULE", "off")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        skip::skip_without("Go to compare with");
        return None;
    };
    child
        .stdin
        .take()
        .unwrap()
        .write_all(document.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

fn check_against_oracle(ran: &Ran) {
    let document = ran.json();
    let text = |key: &str| document[key].as_str().unwrap().to_owned();
    let ours = format!("{} {}", text("manifestDigest"), text("changeId"));
    if let Some(theirs) = oracle(&ran.stdout) {
        assert_eq!(ours, theirs);
    }
}

#[test]
fn digest_and_change_id_are_what_go_computes() {
    let deep = (0..80).fold("1".to_owned(), |inner, n| format!("{{\"d{n}\": {inner}}}"));
    let awkward = format!(
        "apiVersion: example.com/v1\nkind: Awkward\nmetadata: {{name: a}}\nspec:\n  html: \"<b> & \\u2028\\u2029 \\u0001 \\\\ / \\t\\n\\r\\b\\f é 🙂 \\x7f\"\n  \
         numbers: [1e21, 1e20, 0.1, 1e-6, 1e-7, 9223372036854775807, 9223372036854775808, 18446744073709551615, 18446744073709551616, -9223372036854775808, 123456789012345678901234567890, 1.0, 100.0, -0.0, 3.0e10, 0.000001, 1.7976931348623157e308, 5e-324, 0x10, 0o17, 0644]\n  \
         strings: ['1e21', 'yes', 'null', '', ' ', \"\\u00e9\", \"e\\u0301\"]\n  \"<key>\": &x {{b: [], a: {{}}, z: ~}}\n  again: *x\n  deep: {deep}\n"
    );
    let objects = format!(
        "{awkward}---\n{APP}---\napiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\nstringData: {{k: <&>}}\ndata: {{z: eA==}}\n"
    );
    check_against_oracle(&web().file("app.yaml", &objects).opm("mod build -o json"));
    let Some(cue) = cue() else { return };
    let module = "package web\n\nmetadata: {name: \"web\", version: \"1.2.3\"}\n#config: {n: *1E+21 | number, s: *\"<&>\\u2028\" | string, big: *123456789012345678901234567890 | int}\n\
        #components: app: resources: a: {apiVersion: \"example.com/v1\", kind: \"Awkward\", metadata: name: \"a\", spec: {n: #config.n, s: #config.s, big: #config.big, list: [1.10, 0.1, 1e-7, 9223372036854775807, 9223372036854775808, -0.0, 1e400/1e390]}}\n";
    let world = World::new()
        .with("OPM_CUE", &cue)
        .file(
            "cue.mod/module.cue",
            "module: \"example.com/web@v1\"\nlanguage: version: \"v0.15.0\"\n",
        )
        .file("module.cue", module);
    check_against_oracle(&world.opm("mod build -o json"));
}
