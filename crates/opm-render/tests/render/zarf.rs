//! Zarf package definitions as modules.

use opm_core::name::NamespaceName;
use opm_render::{Inputs, Loaded, ModuleRef, NoObserver, RenderSettings, ValueFlags};
use serde_json::{Value, json};

use crate::support::{TestModule, config_map, objects, owned};

/// A package with this name and rest.
pub(crate) fn package(rest: &str) -> String {
    format!("kind: ZarfPackageConfig\nmetadata: {{name: shop, version: 1.2.0}}\n{rest}")
}

/// One required component with the manifests of a file.
const ONE: &str = "components:\n- name: web\n  required: true\n  manifests:\n  \
                   - {name: web, namespace: shop, files: [web.yaml]}\n";

fn object(loaded: &Loaded, component: usize, place: usize) -> Value {
    let manifest = &loaded.rendered.components[component].manifests[place];
    Value::Object(manifest.object().into_owned())
}

fn left_out(loaded: &Loaded, dir: &TestModule) -> Vec<String> {
    let told = loaded.rendered.left_out.iter().map(|one| {
        let path = format!("{}/", dir.path().display());
        one.what.replace(&path, "")
    });
    told.collect()
}

#[test]
fn a_package_is_a_module() {
    let dir = TestModule::new(&[
        ("zarf.yaml", &package(ONE)),
        ("web.yaml", &config_map("a")),
        ("other.yaml", "not: an object"),
    ]);
    let loaded = dir.load().unwrap();
    let module = &loaded.rendered.module;
    assert_eq!(
        (module.name.as_str(), module.path.as_str()),
        ("shop", "local/shop")
    );
    assert_eq!(module.version.as_deref(), Some("1.2.0"));
    assert!(!module.undeclared && module.origin.is_some());
    assert_eq!(objects(&loaded), ["web: ConfigMap/a"]);
    let home = loaded.rendered.components[0].manifests[0].home();
    assert_eq!(home.map(NamespaceName::as_str), Some("shop"));
    // By the file, too, and what it says about itself needs no values.
    let file = dir.path().join("zarf.yaml").display().to_string();
    let by_file = ModuleRef::read(&[file]).unwrap();
    let settings = RenderSettings::default();
    let described = opm_render::describe(&by_file, &settings, &NoObserver).unwrap();
    assert_eq!(described, *module);
    let again = opm_render::init(&dir.path(), None).unwrap_err().to_string();
    assert!(again.ends_with("zarf.yaml already exists"), "{again}");
}

#[test]
fn variables_constants_and_templates_are_filled_in() {
    let declared = "constants:\n- {name: TAG, value: '###ZARF_PKG_TMPL_TAG###', pattern: '^[0-9.]+$'}\n\
        variables:\n- {name: PORT, default: '80'}\n- {name: CSS, autoIndent: true, default: \"a {}\\nb {}\"}\n\
        - {name: PAGE, type: file, default: page.html}\n- {name: TOKEN, sensitive: true}\n";
    let manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-###ZARF_VAR_PORT###}\n\
        # ###ZARF_VAR_NOBODY###\ndata:\n  port: ###ZARF_VAR_PORT###\n  text: '###ZARF_VAR_PORT###'\n  \
        tag: v###ZARF_CONST_TAG###\n  page: \"###ZARF_VAR_PAGE###\"\n  token: ###ZARF_VAR_TOKEN###\n  \
        html: |\n    <style>\n      ###ZARF_VAR_CSS###\n    </style>\n";
    let dir = TestModule::new(&[
        ("zarf.yaml", &package(&format!("{declared}{ONE}"))),
        ("web.yaml", manifest),
        ("page.html", "<p>\"hello\": {}</p>\n"),
    ]);
    let loaded = dir.set(&["TAG=1.10", "TOKEN=a: b"]).unwrap();
    assert_eq!(
        object(&loaded, 0, 0),
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web-80"},
            "data": {
                "port": 80, "text": "80", "tag": "v1.10", "page": "<p>\"hello\": {}</p>\n",
                "token": "a: b", "html": "<style>\n  a {}\n  b {}\n</style>\n",
            },
        })
    );
    // What is recorded renders the same again, with the package's own values over it.
    let values = loaded.values.to_json();
    assert_eq!(
        (&values["TAG"], &values["PORT"]),
        (&json!("1.10"), &json!("80"))
    );
    let inputs = Inputs {
        values: opm_render::Values::recorded(&loaded.rendered.values),
        ..Inputs::default()
    };
    assert_eq!(
        dir.load_with(&inputs).unwrap().rendered.components,
        loaded.rendered.components
    );
    let flags = ValueFlags {
        set: owned(&["TAG=2", "TOKEN=t"]),
        set_file: vec![format!("PAGE={}", dir.path().join("web.yaml").display())],
        ..ValueFlags::default()
    };
    let given = dir.load_flags(&flags).unwrap();
    assert_eq!(object(&given, 0, 0)["data"]["page"], json!(manifest));
}

#[test]
fn components_are_selected_and_come_in_order() {
    let rest = "components:\n- name: base\n  required: true\n- name: slow\n  required: true\n  \
        manifests: [{name: s, noWait: true, files: [a.yaml]}]\n- name: extra\n  default: true\n\
        - name: more\n- {name: arm, required: true, only: {cluster: {architecture: arm64}}}\n\
        - {name: web, required: true, only: {flavor: slim}}\n- {name: web, required: true, only: {flavor: full}}\n";
    let dir = TestModule::new(&[("zarf.yaml", &package(rest)), ("a.yaml", &config_map("a"))]);
    let shown = |set: &[&str]| -> Vec<String> {
        let loaded = dir.set(set).unwrap();
        let components = loaded.rendered.components.iter();
        let one = |c: &opm_core::rendered::Component| {
            let after: Vec<&str> = c.after.iter().map(|name| name.as_str()).collect();
            let kind = match (c.optional, c.by_default) {
                (false, _) => "required",
                (true, true) => "default",
                (true, false) => "optional",
            };
            format!("{} {kind} {}", c.name, after.join(","))
        };
        components.map(one).collect()
    };
    assert_eq!(
        shown(&["architecture=amd64", "flavor=slim"]),
        [
            "base required ",
            "slow required base",
            "extra default base",
            "more optional extra",
            "web required more"
        ]
    );
    assert_eq!(shown(&["architecture=arm64"])[4], "arm required more");
}

#[test]
fn imports_are_merged_as_zarf_merges_them() {
    let common = "kind: ZarfPackageConfig\nmetadata: {name: common}\n\
        variables: [{name: WHO, default: common}, {name: SIZE, default: small}]\n\
        components:\n- name: base\n  required: true\n  default: true\n  images: [a]\n  manifests:\n  \
        - {name: m, namespace: old, files: [m.yaml]}\n";
    let over = "variables: [{name: WHO, default: shop}]\ncomponents:\n- name: web\n  \
        import: {path: ../common, name: base}\n  manifests:\n  - {name: m, namespace: new, files: [own.yaml]}\n  \
        - {name: n, files: [n.yaml]}\n  repos: [r]\n";
    let config = |name: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{who: ###ZARF_VAR_WHO###-###ZARF_VAR_SIZE###}}\n"
        )
    };
    let dir = TestModule::new(&[
        (".git/HEAD", ""),
        ("pkgs/common/zarf.yaml", common),
        ("pkgs/common/m.yaml", &config("m")),
        ("pkgs/shop/zarf.yaml", &package(over)),
        ("pkgs/shop/own.yaml", &config("own")),
        ("pkgs/shop/n.yaml", &config("more")),
    ]);
    let module = ModuleRef::Directory(dir.path().join("pkgs/shop"));
    let settings = RenderSettings::default();
    let loaded = opm_render::load(&module, &Inputs::default(), &settings, &NoObserver);
    let loaded = loaded.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        objects(&loaded),
        [
            "web: ConfigMap/m",
            "web: ConfigMap/own",
            "web: ConfigMap/more"
        ]
    );
    let component = &loaded.rendered.components[0];
    assert!(component.optional && !component.by_default);
    let homes = component
        .manifests
        .iter()
        .map(|one| one.home().map(NamespaceName::as_str));
    assert_eq!(homes.collect::<Vec<_>>(), [Some("new"), Some("new"), None]);
    assert_eq!(object(&loaded, 0, 0)["data"]["who"], "shop-small");
    assert_eq!(
        left_out(&loaded, &dir),
        [
            "pkgs/common/zarf.yaml:8:3: component `base`: `images` is not carried out: \
             images are neither packed nor pushed; the cluster pulls them itself",
            "pkgs/shop/zarf.yaml:10:3: component `web`: `repos` is not carried out: \
             Git repositories are not brought along"
        ]
    );
}

#[test]
fn what_is_not_carried_out_is_told_with_its_place() {
    let rest = "x-note: 1\nunheard: of\ncomponents:\n- name: web\n  required: true\n  images: [nginx]\n  \
        files:\n  - {source: a, target: b}\n  dataInjections: [{source: d}]\n  actions:\n    onDeploy:\n      \
        after: [{cmd: ls, setVariables: [{name: SEEN}]}]\n    onRemove: {}\n  colour: red\n";
    let text = package(rest).replace("1.2.0", "'2024.01'");
    let dir = TestModule::new(&[("zarf.yaml", &text)]);
    let loaded = dir.load().unwrap();
    assert_eq!(loaded.rendered.module.version, None);
    let told = left_out(&loaded, &dir);
    let told: Vec<&str> = told
        .iter()
        .map(|one| one.split(": i").next().unwrap())
        .collect();
    assert_eq!(
        told,
        [
            "zarf.yaml:4:1: `unheard` is not known and has no effect",
            "zarf.yaml:2:24: version \"2024.01\" is not a semantic version, and is not recorded",
            "zarf.yaml:8:3: component `web`: `images` is not carried out",
            "zarf.yaml:9:3: component `web`: `files` is not carried out: no files are put on this machine",
            "zarf.yaml:11:3: component `web`: `dataInjections` is not carried out: no data is put into containers",
            "zarf.yaml:13:5: component `web`: `actions.onDeploy` is not carried out: actions are not run",
            "zarf.yaml:16:3: component `web`: `colour` is not known and has no effect",
        ]
    );
}
