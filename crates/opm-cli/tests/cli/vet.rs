//! `opm mod vet` knows Kubernetes: what a server would refuse is told with file, line and column.

use insta::assert_snapshot;

use crate::modules::cue;
use crate::runner::World;

const MODULE: &str = "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata: {name: web}\ncomponents:\n  - {name: app, manifests: [app.yaml]}\n";

fn vet(text: &str) -> World {
    World::new()
        .file("module.yaml", MODULE)
        .file("app.yaml", text)
}

/// A ConfigMap with more in its metadata, and data.
fn config(metadata: &str, rest: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n{metadata}\n{rest}")
}

/// A Deployment whose container has these lines.
fn deployment(labels: &str, container: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  selector:\n    \
         matchLabels: {{app: web}}\n  template:\n    metadata:\n      labels: {labels}\n    spec:\n      \
         containers:\n        - name: web\n          image: web:1\n{container}"
    )
}

/// Each is refused with one line on standard output that begins like this.
#[test]
fn what_a_server_would_refuse_is_told_with_its_place() {
    let own = "{app: web}";
    let long = |bytes: usize| "x".repeat(bytes);
    let ports =
        "          ports:\n            - containerPort: 80\n            - containerPort: 80\n";
    let env =
        "          env:\n            - {name: A, value: b}\n            - {name: A, value: c}\n";
    let old = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n";
    for (text, expected) in [
        (
            config("  name: größe", ""),
            "app.yaml:4:3: ConfigMap/größe: metadata.name: invalid value: \"größe\": a lowercase RFC 1123 subdomain",
        ),
        (
            config("  name: My_Config", ""),
            "app.yaml:4:3: ConfigMap/My_Config: metadata.name: invalid value: \"My_Config\"",
        ),
        (
            config("  name: a\n  labels:\n    tier: not this", ""),
            "app.yaml:6:5: ConfigMap/a: metadata.labels.tier: invalid value: \"not this\"",
        ),
        (
            old.to_owned(),
            "app.yaml:1:1: PodDisruptionBudget/a: apiVersion: policy/v1beta1 PodDisruptionBudget was removed in Kubernetes 1.25; use policy/v1",
        ),
        (
            "apiVersion: v1\nkind: Configmap\nmetadata: {name: a}\n".to_owned(),
            "app.yaml:2:1: Configmap/a: kind: v1 has no kind Configmap; did you mean `ConfigMap`?",
        ),
        (
            config("  name: a", "data:\n  port: 8080\n"),
            "app.yaml:6:3: ConfigMap/a: data.port: it must be a text, and is a number; put it in quotes",
        ),
        (
            "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata:\n  token: CANARY99!\n".to_owned(),
            "app.yaml:5:3: Secret/a: data.token: it is not valid base64, from byte 8 on",
        ),
        (
            deployment("{app: other}", ""),
            "app.yaml:10:7: Deployment/web: spec.template.metadata.labels: invalid value: {\"app\":\"other\"}: `selector` does not match template `labels`",
        ),
        (
            deployment(own, "          port: 80\n"),
            "app.yaml:15:11: Deployment/web: spec.template.spec.containers[0].port: there is no such field; did you mean `ports`?",
        ),
        (
            deployment(own, ports),
            "app.yaml:17:15: Deployment/web: spec.template.spec.containers[0].ports[1]: the item [containerPort=80,protocol=\"TCP\"] stands there already, as number 0",
        ),
        (
            deployment(own, env),
            "app.yaml:17:15: Deployment/web: spec.template.spec.containers[0].env[1]: the item [name=\"A\"] stands there already, as number 0",
        ),
        (
            deployment(own, "          ports:\n            - containerPort: 99999\n"),
            "app.yaml:16:15: Deployment/web: spec.template.spec.containers[0].ports[0].containerPort: invalid value: 99999: must be between 1 and 65535",
        ),
        (
            config("  name: a", &format!("data:\n  text: {}\n", long(1_500_000))),
            "app.yaml:1:1: ConfigMap/a: too long: may not be more than 1048576 bytes",
        ),
        (
            config(&format!("  name: a\n  annotations:\n    b: {}", long(300_000)), ""),
            "app.yaml:6:5: ConfigMap/a: metadata.annotations.b: the annotations take 300001 bytes, and 262144 are allowed",
        ),
        (
            config("  name: a\n  labels:\n    app: \"{{ .Release.Name }}\"", ""),
            "app.yaml:6:5: ConfigMap/a: metadata.labels.app: invalid value: \"{{ .Release.Name }}\"",
        ),
        (
            format!("{}---\n{}", config("  name: ok", ""), config("  name: a", "dta: {}\n")),
            "app.yaml:10:1: ConfigMap/a: dta: there is no such field; did you mean `data`?",
        ),
        (
            "apiVersion: v1\nkind: List\nitems:\n  - {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {port: 1}}\n".to_owned(),
            "app.yaml:4:67: ConfigMap/a: data.port: it must be a text",
        ),
    ] {
        let ran = vet(&text).opm("mod vet -n x");
        let lines: Vec<&str> = ran.stdout.lines().collect();
        assert_eq!((ran.code, lines.len()), (2, 1), "{expected}: {ran}");
        assert!(lines[0].starts_with(expected), "{expected}\n{}", lines[0]);
        assert!(ran.stderr.contains("error: the module has 1 problem"), "{ran}");
        assert!(!ran.to_string().contains("CANARY99"), "a Secret's value is told");
    }
}

/// What cannot be read at all is an error with its place, too.
#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    let named = |name: &str| MODULE.replace("name: web", &format!("name: {name}"));
    let component = |name: &str| MODULE.replace("name: app", &format!("name: {name}"));
    let listed = |file: &str| MODULE.replace("[app.yaml]", &format!("[{file}]"));
    let chart = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Values.name }}\n";
    let quoted = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: \"{{ .Release.Name }}\"\n";
    let block = "{{- if .Values.on }}\napiVersion: v1\n{{- end }}\n";
    let good = config("  name: a", "");
    let nested = format!("a: {}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let bomb = format!(
        "a: &a [1]\n{}",
        (0..40).fold(String::new(), |all, n| {
            let last = if n == 0 {
                "a".to_owned()
            } else {
                format!("b{}", n - 1)
            };
            format!("{all}b{n}: &b{n} [*{last}, *{last}]\n")
        })
    );
    for (module, app, expected) in [
        (
            named(".."),
            good.as_str(),
            "module.yaml:3:18: module name \"..\" is not valid",
        ),
        (
            named("."),
            &good,
            "module.yaml:3:18: module name \".\" is not valid",
        ),
        (
            named("''"),
            &good,
            "module.yaml:3:18: module name \"\" is not valid",
        ),
        (
            named(&"a".repeat(300)),
            &good,
            "module.yaml:3:18: module name \"aaa",
        ),
        (
            named("Web"),
            &good,
            "module.yaml:3:18: module name \"Web\" is not valid",
        ),
        (
            component(".."),
            &good,
            "module.yaml:5:12: component name \"..\" is not valid",
        ),
        (
            component("a/b"),
            &good,
            "module.yaml:5:12: component name \"a/b\" is not valid",
        ),
        (
            listed("../x.yaml"),
            &good,
            "module.yaml:5:29: component `app`: ",
        ),
        (
            listed("/etc/passwd"),
            &good,
            "module.yaml:5:29: component `app`: ",
        ),
        (
            listed("no.yaml"),
            &good,
            "module.yaml:5:29: component `app`: ",
        ),
        (
            MODULE.to_owned(),
            chart,
            "app.yaml:4:9: this is a Go template, not YAML",
        ),
        (MODULE.to_owned(), quoted, "hint: this is a Go template"),
        (
            MODULE.to_owned(),
            block,
            "app.yaml:1:1: this is a Go template, not YAML",
        ),
        (
            MODULE.to_owned(),
            &bomb,
            "its aliases expand to too many nodes",
        ),
        (MODULE.to_owned(), &nested, "app.yaml:1:"),
        (
            MODULE.to_owned(),
            "a: 1\na: 2\n",
            "app.yaml:2:1: the key `a` occurs twice in one mapping",
        ),
        (MODULE.to_owned(), "a:\n\tb: 1\n", "app.yaml:2:"),
        (MODULE.to_owned(), "- a\n", "app.yaml:1: "),
        (
            MODULE.to_owned(),
            "apiVersion: v1\nmetadata: {name: a}\n",
            "app.yaml:1: the object named \"a\": `kind` is missing",
        ),
        (
            MODULE.to_owned(),
            "kind: ConfigMap\nmetadata: {name: a}\n",
            "app.yaml:1: ",
        ),
        (
            MODULE.to_owned(),
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n",
            "app.yaml:1: ",
        ),
        (
            MODULE.to_owned(),
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 1}\n",
            "app.yaml:1: ",
        ),
        (
            MODULE.to_owned(),
            "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n",
            "app.yaml:1: ",
        ),
    ] {
        let ran = vet(app).file("module.yaml", &module).opm("mod vet -n x");
        assert_eq!(ran.code, 2, "{ran}");
        assert!(ran.stderr.contains(expected), "{expected}: {ran}");
    }
}

#[test]
fn objects_that_are_rendered_twice_are_told_with_both_places() {
    let one = config("  name: a", "");
    assert_snapshot!(vet(&format!("{one}---\n{one}")).opm("mod vet -n x"), @r"
    exit 2
    --- stdout
    app.yaml:1:1: ConfigMap/a: it is rendered more than once
    app.yaml:6:1: ConfigMap/a: it is rendered more than once
    --- stderr
    error: the module renders the same object more than once:
      ConfigMap/a in namespace x: component app as v1, component app as v1
    hint: the API version is not part of an object's identity: render each object once
    ");
}

#[test]
fn the_version_of_kubernetes_decides_about_api_versions() {
    let old = vet("apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n");
    let ran = old.opm("mod vet -n x --kube-version 1.24");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(
        ran.stderr.contains("warning: app.yaml:1:1: PodDisruptionBudget/a: apiVersion: policy/v1beta1 PodDisruptionBudget is gone as of Kubernetes 1.25; use policy/v1"),
        "{ran}"
    );
    let new = vet("apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\n");
    let ran = new.opm("mod vet -n x --kube-version v1.20.4");
    assert!(
        ran.stdout
            .contains("exists since Kubernetes 1.21, and this is for 1.20"),
        "{ran}"
    );
    assert_snapshot!(new.opm("mod vet -n x --kube-version latest"), @r"
    exit 2
    --- stderr
    error: invalid value 'latest' for '--kube-version <VERSION>': not a version of Kubernetes; write it as 1.34

    For more information, try '--help'.
    ");
}

const DEFINITION: &str = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, required: [size], properties: {size: {type: integer}}}
";

#[test]
fn custom_resources_are_checked_by_definitions_of_the_module_and_of_a_directory() {
    let thing = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\nspec: {sise: 1}\n";
    let world = vet(thing).file("schemas/deep/thing.yaml", DEFINITION);
    let ran = world.opm("mod vet -n x");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("not checked, because no definition is known (--schemas DIR has more): example.com/v1 Thing"), "{ran}");
    let expected =
        "app.yaml:4:8: Thing/a: spec.sise: there is no such field; did you mean `size`?\n";
    let ran = world.opm("mod vet -n x --schemas schemas");
    assert!(ran.stdout.contains(expected), "{ran}");
    assert!(ran.stdout.contains("spec.size: required value"), "{ran}");
    let ran = vet(&format!("{thing}---{DEFINITION}")).opm("mod vet -n x");
    assert!(ran.stdout.contains(expected), "{ran}");
    let ran = world.opm("mod vet -n x --schemas nowhere");
    assert_eq!(ran.code, 2, "{ran}");
}

#[test]
fn scripts_get_findings_in_one_document() {
    let world = vet(&config("  name: a", "data:\n  port: 8080\n"));
    let document = world.opm("mod vet -n x -o json").json();
    assert_eq!(document["error"]["kind"], "invalid");
    assert_eq!(document["kubernetesVersion"], "1.34");
    assert_snapshot!(serde_json::to_string_pretty(&document["findings"]).unwrap(), @r#"
    [
      {
        "column": 3,
        "component": "app",
        "field": "data.port",
        "file": "app.yaml",
        "group": "",
        "kind": "ConfigMap",
        "line": 6,
        "message": "it must be a text, and is a number; put it in quotes",
        "name": "a",
        "namespace": null,
        "severity": "error"
      }
    ]
    "#);
}

/// What `cue` renders has no place in a file: the component stands for it.
#[test]
fn what_cue_renders_is_told_by_its_component() {
    let Some(cue) = cue() else { return };
    let world = World::new().with("OPM_CUE", &cue);
    assert_eq!(world.opm("mod init web").code, 0);
    assert_eq!(world.opm("mod vet web -n x").code, 0);
    for (line, code, expected) in [
        ("mod vet web -n x --set nothing=1", 2, "nothing"),
        ("mod vet web -n x -f no.yaml", 2, "no.yaml"),
        ("mod vet web -n x --set a[999999999]=1", 2, "a[999999999]"),
    ] {
        let ran = world.opm(line);
        assert_eq!(ran.code, code, "{ran}");
        assert!(ran.stderr.contains(expected), "{ran}");
    }
}
