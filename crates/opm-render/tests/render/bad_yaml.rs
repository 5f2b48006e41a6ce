//! What a YAML module must not get away with: a clear error each, no panic, no path outside.

use std::os::unix::fs::symlink;

use crate::support::{TestModule, config_map, one_component};

fn module_yaml(metadata: &str, components: &str) -> String {
    format!(
        "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata: {metadata}\ncomponents: {components}\n"
    )
}

fn check_definition(text: &str, expected: &str) {
    let module = TestModule::new(&[("module.yaml", text)]);
    assert_eq!(module.error(), expected, "for:\n{text}");
}

#[test]
fn names_that_are_none() {
    let long = "a".repeat(300);
    let rule = "only lower-case letters, digits and '-' are allowed";
    for (name, shown, rule) in [
        ("..", "..", rule),
        (".", ".", rule),
        ("''", "", "it must not be empty"),
        (
            &long,
            &format!("{}…", "a".repeat(80)),
            "it must have at most 63 characters",
        ),
        ("Web", "Web", rule),
        ("a/b", "a/b", rule),
        ("../../etc", "../../etc", rule),
        ("-a", "-a", "it must start and end with a letter or a digit"),
    ] {
        check_definition(
            &module_yaml(&format!("{{name: {name}}}"), "[]"),
            &format!("module.yaml:3:18: module name {shown:?} is not valid: {rule}"),
        );
        check_definition(
            &module_yaml("{name: web}", &format!("[{{name: {name}, manifests: []}}]")),
            &format!("module.yaml:4:21: component name {shown:?} is not valid: {rule}"),
        );
    }
}

#[test]
fn definitions_that_do_not_hold_together() {
    let web = "{name: web}";
    for (metadata, components, expected) in [
        (
            web,
            "[{name: app, manifest: []}]",
            "module.yaml:4:26: unknown field `manifest`\n  hint: did you mean `manifests`?",
        ),
        (
            web,
            "[{name: app, colour: red}]",
            "module.yaml:4:26: unknown field `colour`\n  hint: known fields: name, manifests, kustomize, remote, chart, after, optional",
        ),
        (
            "{name: web, verison: 1.0.0}",
            "[]",
            "module.yaml:3:23: unknown field `verison`\n  hint: did you mean `version`?",
        ),
        (
            web,
            "[{name: app}]",
            "module.yaml:4:21: component `app` must have exactly one of `manifests`, `kustomize` and `chart`, but has none",
        ),
        (
            web,
            "[{name: app, manifests: [], kustomize: x}]",
            "module.yaml:4:21: component `app` must have exactly one of `manifests`, `kustomize` and `chart`, but has more than one",
        ),
        (
            web,
            "[{name: app, kustomize: overlays/prod}]",
            "component `app`: overlays/prod: no such file or directory",
        ),
        (
            web,
            "[{name: db, chart: {path: charts/pg, values: [pg.yaml]}}]",
            "component `db`: charts/pg: no such file or directory",
        ),
        (
            web,
            "[{name: app, manifests: [], remote: true}]",
            "module.yaml:4:21: component `app`: `remote` goes with `kustomize` only",
        ),
        (
            web,
            "[{name: db, chart: {values: [pg.yaml]}}]",
            "module.yaml:4:21: component `db`: `chart` must have exactly one of `path` and `ref`",
        ),
        (
            web,
            "[{name: db, chart: {path: pg, version: 1.0.0}}]",
            "module.yaml:4:21: component `db`: `repo`, `version`, `digest` and `plainHTTP` go with `chart.ref`, not with `chart.path`",
        ),
        (
            web,
            "[{name: db, chart: {ref: pg, version: 1.0.0}}]",
            "module.yaml:4:21: component `db`: `chart.ref` must begin with oci://, or be a chart's name in `repo`",
        ),
        (
            web,
            "[{name: db, chart: {ref: pg, repo: 'file:///etc', version: 1.0.0}}]",
            "module.yaml:4:21: component `db`: `chart.repo` must begin with https://",
        ),
        (
            web,
            "[{name: db, chart: {ref: 'oci://example.com/pg', version: ^1.0}}]",
            "module.yaml:4:21: component `db`: `chart.ref` needs the exact `version` of the chart, such as 1.4.0",
        ),
        (
            web,
            "[{name: db, chart: {path: pg, value: [a.yaml]}}]",
            "module.yaml:4:43: unknown field `value`\n  hint: did you mean `values`?",
        ),
        (
            web,
            "[{name: app, manifests: []}, {name: app, manifests: []}]",
            "module.yaml:4:49: component `app` is defined twice",
        ),
        (
            web,
            "[{name: app, manifests: [], after: [bd]}, {name: db, manifests: []}]",
            "component `app` has `bd` under `after`, but the module has no such component\n  hint: did you mean `db`?",
        ),
        (
            "{name: web, version: 1.0}",
            "[]",
            "module.yaml:3:32: `version` \"1.0\" is not a semantic version\n  hint: use three numbers, such as 1.4.0",
        ),
        (
            "{name: web, path: ../web}",
            "[]",
            "module.yaml:3:29: module path \"../web\" is not valid: no part between slashes may be empty, '.' or '..'",
        ),
        (
            "{name: web, defaultNamespace: A}",
            "[]",
            "module.yaml:3:41: namespace \"A\" is not valid: only lower-case letters, digits and '-' are allowed",
        ),
    ] {
        check_definition(&module_yaml(metadata, components), expected);
    }
}

#[test]
fn directories_that_are_no_modules() {
    let empty = TestModule::new(&[]);
    assert_eq!(
        empty.error(),
        "DIR: not a module: it has neither module.yaml nor cue.mod, and no manifests\n  hint: `opm mod init DIR` writes a new module"
    );
    let nearly = TestModule::new(&[("module.yml", "x")]);
    assert!(nearly.error().ends_with("hint: rename it to module.yaml"));
    let both = TestModule::new(&[("module.yaml", "x"), ("cue.mod/module.cue", "x")]);
    assert_eq!(
        both.error(),
        "DIR: has both module.yaml and cue.mod; a module has one format"
    );
    check_definition(
        "kind: Module\n",
        "module.yaml:1:1: missing field `apiVersion`",
    );
    check_definition("[]", "module.yaml:1:1: expected mapping start");
}

#[test]
fn paths_that_leave_the_module() {
    for path in [
        "../secret.yaml",
        "/etc/passwd",
        "a/../../x",
        "..",
        "'../*.yaml'",
        "'/etc/*'",
        "'a/../../*'",
    ] {
        let module = TestModule::new(&[("module.yaml", &one_component(&format!("[{path}]")))]);
        let error = module.error();
        assert!(
            error.contains("leads out of the module's directory"),
            "{path}: {error}"
        );
    }
}

#[test]
fn links_that_leave_the_module() {
    let outside = TestModule::new(&[("secret.yaml", &config_map("secret"))]);
    for (manifests, link, target) in [
        ("[link.yaml]", "link.yaml", "secret.yaml"),
        ("[dir]", "dir", ""),
        ("[dir/secret.yaml]", "dir", ""),
        ("['*.yaml']", "link.yaml", "secret.yaml"),
        ("['dir/*.yaml']", "dir", ""),
        ("[.]", "link.yaml", "secret.yaml"),
    ] {
        let module = TestModule::new(&[("module.yaml", &one_component(manifests))]);
        symlink(outside.path().join(target), module.path().join(link)).unwrap();
        let error = module.error();
        assert!(
            error.contains("leads out of the module's directory"),
            "{manifests}: {error}"
        );
        assert!(error.ends_with("hint: copy it into the module"), "{error}");
    }
    let module = TestModule::new(&[]);
    symlink(
        outside.path().join("secret.yaml"),
        module.path().join("module.yaml"),
    )
    .unwrap();
    assert_eq!(
        module.error(),
        "module.yaml: leads out of the module's directory"
    );
}

#[test]
fn links_that_stay_inside_are_followed() {
    let module = TestModule::new(&[
        ("module.yaml", &one_component("[link.yaml, shared]")),
        ("real/a.yaml", &config_map("a")),
    ]);
    symlink("real/a.yaml", module.path().join("link.yaml")).unwrap();
    symlink("real", module.path().join("shared")).unwrap();
    assert_eq!(crate::support::objects(&module.load().unwrap()).len(), 2);
}

#[test]
fn files_that_are_none() {
    let module = TestModule::new(&[("module.yaml", &one_component("[pipe.yaml]"))]);
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        module.path().join("pipe.yaml"),
        0o600.into(),
    )
    .unwrap();
    assert_eq!(
        module.error(),
        "component `app`: pipe.yaml: not a regular file"
    );
    let module = TestModule::new(&[
        ("module.yaml", &one_component("[ap.yaml]")),
        ("app.yaml", ""),
    ]);
    let expected = "module.yaml:6:17: component `app`: ap.yaml: no such file or directory\n  hint: did you mean `app.yaml`?";
    assert_eq!(module.error(), expected);
    let module = TestModule::new(&[("module.yaml", &one_component("['a[']"))]);
    assert!(module.error().contains("the pattern \"a[\" is not valid"));
    let module = TestModule::new(&[("module.yaml", &one_component("[app.yaml]"))]);
    std::fs::write(module.path().join("app.yaml"), [0xff, 0xfe, 0x41]).unwrap();
    assert_eq!(module.error(), "component `app`: app.yaml: not UTF-8 text");
}

#[test]
fn manifests_that_are_none() {
    let with = |rest: &str| format!("apiVersion: v1\nkind: ConfigMap\n{rest}");
    for (text, expected) in [
        (
            "- a\n- b\n".to_owned(),
            "app.yaml:1: a manifest must be a mapping, not a list",
        ),
        (
            "hello\n".to_owned(),
            "app.yaml:1: a manifest must be a mapping, not a string",
        ),
        (
            "kind: ConfigMap\nmetadata: {name: a}\n".to_owned(),
            "`apiVersion` is missing",
        ),
        (
            "apiVersion: v1\nmetadata: {name: a}\n".to_owned(),
            "`kind` is missing",
        ),
        (with("metadata: {}\n"), "`metadata.name` is missing"),
        (with(""), "`metadata"),
        (with("metadata: {generateName: a-}\n"), "generateName"),
        (
            with("metadata: {name: 1}\n"),
            "must be a string, not a number",
        ),
        (
            with("metadata: {name: a, labels: {b: 1}}\n"),
            "must be a string, not a number",
        ),
        (
            with("metadata: {name: a, labels: {b: true}}\n"),
            "must be a string, not a boolean",
        ),
        (
            with("metadata: {name: a, annotations: {b: 1}}\n"),
            "must be a string, not a number",
        ),
        (
            with("metadata: {name: a}\ndata: {k: 1, k: 2}\n"),
            "app.yaml:4:14: the key `k` occurs twice in one mapping",
        ),
        (
            with("metadata:\n\tname: a\n"),
            "app.yaml:4:2: tabs disallowed",
        ),
        (
            with("metadata: {name: a}\ndata: {~: x}\n"),
            "null is not allowed where a string is expected",
        ),
        (
            with("metadata: {name: a}\ndata: {k: .inf}\n"),
            "a number is out of range",
        ),
        (
            with("metadata: {name: a}\ndata: &a {k: *a}\n"),
            "an alias refers to a node that contains it",
        ),
        (
            format!("{}---\n{}", config_map("a"), "- x\n"),
            "app.yaml:5: a manifest must be a mapping, not a list",
        ),
        (
            "apiVersion: v1\nkind: List\nitems: [null]\n".to_owned(),
            "a manifest must be a mapping, not null",
        ),
        (
            "apiVersion: v1\nkind: List\nitems: {a: 1}\n".to_owned(),
            "its items must be given one by one",
        ),
    ] {
        let error = TestModule::yaml(&text).error();
        assert!(error.starts_with("component `app`: app.yaml:"), "{error}");
        assert!(error.contains(expected), "{text}\n=> {error}");
    }
}

#[test]
fn secrets_do_not_appear_in_errors() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n";
    for broken in [
        "stringData: {password: hunter2\n",
        "stringData:\n  password: hunter2\n   oops: hunter2\n",
        "stringData: {password: \"hunter2\n",
        "stringData: {password: !!int hunter2}\n",
        "stringData: {password: hunter2, password: hunter2}\n",
        "stringData:\n\tpassword: hunter2\n",
    ] {
        let error = TestModule::yaml(&format!("{secret}{broken}")).error();
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[test]
fn bombs_are_refused_in_bounded_time() {
    let mut aliases = format!(
        "{}data:\n  a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n",
        config_map("a")
    );
    for level in 1..30 {
        let repeated = vec![format!("*a{}", level - 1); 10].join(",");
        aliases.push_str(&format!("  a{level}: &a{level} [{repeated}]\n"));
    }
    let nested_flow = format!("{}data: {}", config_map("a"), "[".repeat(10_000));
    let mut nested_block = config_map("a");
    for depth in 0..4_000 {
        nested_block.push_str(&" ".repeat(depth));
        nested_block.push_str("a:\n");
    }
    let huge = format!(
        "{}data: {{k: '{}'}}\n",
        config_map("a"),
        "x".repeat(100_000_000)
    );
    for (text, expected) in [
        (aliases, "its aliases expand to too many nodes"),
        (nested_flow, "recursion limit exceeded"),
        (nested_block, "it nests deeper than 100 levels"),
        (huge, "app.yaml: larger than 32 MiB"),
    ] {
        let module = TestModule::yaml(&text);
        let error = module.error();
        assert!(error.contains(expected), "{error}");
    }
}
