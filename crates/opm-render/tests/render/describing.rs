//! What a module says about itself is enough to find its release, also when it does not render.

use opm_core::name::{NamespaceName, ReleaseName};
use opm_core::rendered::Module;
use opm_render::{ModuleRef, NoObserver, RenderError, RenderSettings, describe, release};

use crate::support::{TestModule, config_map, cue, cue_module, explain, have_cue};

fn described(module: &TestModule) -> Result<Module, RenderError> {
    let settings = RenderSettings {
        cue: cue().unwrap_or_default(),
        ..RenderSettings::default()
    };
    describe(&ModuleRef::Directory(module.path()), &settings, &NoObserver)
}

/// Path, name and default namespace of a module that does not render.
fn assert_described(module: &TestModule, expected: [&str; 3]) {
    assert!(module.load().is_err(), "the module should not render");
    let found = described(module).unwrap_or_else(|e| panic!("{}", explain(&e, module.dir.path())));
    let namespace = found.default_namespace.as_ref().map(|n| n.as_str());
    let found = [
        found.path.as_str(),
        found.name.as_str(),
        namespace.unwrap_or(""),
    ];
    assert_eq!(found, expected);
}

const YAML: &str = "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\n\
    metadata: {name: web, path: example.com/web@v1, defaultNamespace: shop}\n";

#[test]
fn yaml_modules_that_do_not_render() {
    for (what, components, manifest) in [
        (
            "a missing file",
            "[{name: app, manifests: [gone.yaml]}]",
            "",
        ),
        (
            "a broken file",
            "[{name: app, manifests: [app.yaml]}]",
            "a: [",
        ),
        (
            "no object",
            "[{name: app, manifests: [app.yaml]}]",
            "kind: Pod\n",
        ),
        (
            "a source that is not supported",
            "[{name: app, chart: {path: c}}]",
            "",
        ),
        (
            "an unknown field",
            "[{name: app, manifest: [app.yaml]}]",
            "",
        ),
        (
            "a cycle",
            "[{name: app, manifests: [app.yaml], after: [app]}]",
            &config_map("a"),
        ),
        ("no list", "17", ""),
    ] {
        println!("{what}");
        let module = TestModule::new(&[
            ("module.yaml", &format!("{YAML}components: {components}\n")),
            ("app.yaml", manifest),
        ]);
        assert_described(&module, ["example.com/web@v1", "web", "shop"]);
    }
    assert_described(
        &TestModule::new(&[("module.yaml", YAML)]),
        ["example.com/web@v1", "web", "shop"],
    );
}

#[test]
fn a_wrong_name_has_its_place() {
    let module = TestModule::new(&[("module.yaml", "metadata: {name: Web}\n")]);
    let error = described(&module).unwrap_err();
    let text = explain(&error, module.dir.path());
    assert!(text.starts_with("module.yaml:1:18: "), "{text}");
    let module = TestModule::new(&[("module.yaml", "metadata: {nmae: web}\n")]);
    let error = described(&module).unwrap_err();
    assert_eq!(
        explain(&error, module.dir.path()),
        "module.yaml:1:12: unknown field `nmae`\n  hint: did you mean `name`?"
    );
}

#[test]
fn cue_modules_that_do_not_render() {
    if !have_cue() {
        return;
    }
    const HEAD: &str = "metadata: {name: \"web\", defaultNamespace: \"shop\"}\n";
    for (what, rest) in [
        ("a missing value", "#config: host!: string\n"),
        (
            "a conflict in a component",
            "#components: app: resources: a: {kind: \"Pod\", kind: \"Service\"}\n",
        ),
        (
            "an incomplete component",
            "#components: app: resources: a: {apiVersion: \"v1\", kind: string}\n",
        ),
        ("no resources", "#components: app: {}\n"),
        (
            "no object",
            "#components: app: resources: a: {kind: \"Pod\"}\n",
        ),
        (
            "a failing function",
            "import \"strconv\"\n#components: app: resources: a: n: strconv.Atoi(\"x\")\n",
        ),
        ("a conflict at the top", "x: 1\nx: 2\n"),
        (
            "values that do not fit",
            "#config: port: int\nvalues: port: \"x\"\n",
        ),
        ("a component that is no struct", "#components: 17\n"),
        (
            "a name of a component that cannot be",
            "#components: App: resources: {}\n",
        ),
        (
            "a component that refers to what is not there",
            "#components: app: resources: a: kind: #config.nothing\n",
        ),
    ] {
        println!("{what}");
        let text = match rest.strip_prefix("import \"strconv\"\n") {
            Some(rest) => format!("import \"strconv\"\n{HEAD}{rest}"),
            None => format!("{HEAD}{rest}"),
        };
        assert_described(&cue_module(&text), ["example.com/web@v0", "web", "shop"]);
    }
}

#[test]
fn cue_modules_that_do_not_say_what_they_are() {
    if !have_cue() {
        return;
    }
    for (text, expected) in [
        (
            "metadata: defaultNamespace: \"shop\"\n",
            "metadata.name: undefined field: name",
        ),
        (
            "metadata: name: 5\n",
            "metadata.name: conflicting values string and 5 (mismatched types string and int)\n    module.cue:3:17",
        ),
        (
            "metadata: {name: \"web\", defaultNamespace: \"a\"}\nmetadata: defaultNamespace: \"b\"\n",
            "metadata.defaultNamespace: conflicting values \"b\" and \"a\"\n    module.cue:3:43\n    module.cue:4:29",
        ),
        ("metadata: {name: \"web\"\n", "expected '}', found 'EOF'"),
    ] {
        let module = cue_module(text);
        let error = described(&module).unwrap_err();
        let error = explain(&error, module.dir.path());
        assert!(error.starts_with(expected), "{text}\n{error}");
    }
}

#[test]
fn what_does_not_tell_releases_apart_may_be_missing() {
    if !have_cue() {
        return;
    }
    let module = cue_module(
        "#config: host!: string\nmetadata: {name: \"web\", description: \"at \\(#config.host)\"}\n",
    );
    assert_eq!(described(&module).unwrap().description, None);
}

#[test]
fn the_release_is_the_one_that_loading_decides_on() {
    let name = ReleaseName::new("other").unwrap();
    let namespace = NamespaceName::new("prod").unwrap();
    let shown = |found: (ReleaseName, NamespaceName)| format!("{}/{}", found.1, found.0);
    for (metadata, plain) in [
        ("{name: web}", "default/web"),
        ("{name: web, defaultNamespace: shop}", "shop/web"),
    ] {
        let module = TestModule::new(&[(
            "module.yaml",
            &format!(
                "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata: {metadata}\ncomponents: []\n"
            ),
        )]);
        let found = described(&module).unwrap();
        assert_eq!(shown(release(&found, None, None).unwrap()), plain);
        let given = release(&found, Some(&name), Some(&namespace)).unwrap();
        assert_eq!(shown(given), "prod/other");
        let loaded = module.load().unwrap();
        assert_eq!(shown((loaded.name, loaded.namespace)), plain);
    }
}
