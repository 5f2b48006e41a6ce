//! Package definitions that are wrong: what is told, and where.

use crate::support::{TestModule, config_map, explain};
use crate::zarf::package;

/// What is told about a package with these files.
fn told(files: &[(&str, &str)], set: &[&str]) -> String {
    let dir = TestModule::new(files);
    match dir.set(set) {
        Ok(loaded) => panic!("rendered to {loaded:#?}"),
        Err(error) => explain(&error, &dir.path()),
    }
}

/// A required component with this.
fn component(rest: &str) -> String {
    package(&format!(
        "components:\n- name: web\n  required: true\n  {rest}\n"
    ))
}

fn alone(text: &str) -> String {
    told(&[("zarf.yaml", text)], &[])
}

#[test]
fn other_kinds_and_versions_are_refused_by_name() {
    let kind =
        "kind \"ZarfInitConfig\" is not supported; a package definition has ZarfPackageConfig";
    assert_eq!(
        alone("apiVersion: zarf.dev/v1alpha1\nkind: ZarfInitConfig\n"),
        format!("zarf.yaml:2:1: {kind}")
    );
    assert_eq!(
        alone("kind: ZarfPackageConfig\napiVersion: zarf.dev/v1beta1\n"),
        "zarf.yaml:2:1: apiVersion \"zarf.dev/v1beta1\" is not supported; \
         a package definition has zarf.dev/v1alpha1, or none"
    );
    assert!(alone("metadata: {name: a}\n").starts_with("zarf.yaml:1:1: kind \"\" is not"));
    assert!(alone("- a\n").contains("zarf.yaml"));
    assert!(alone("a: [\n").starts_with("zarf.yaml:"));
    assert!(alone("a: 1\n---\nb: 1\n").contains("one document"));
}

#[test]
fn imports_that_lead_nowhere_or_out_or_round_are_refused() {
    let import = |path: &str| component(&format!("import: {{path: {path}}}"));
    assert_eq!(
        alone(&import("parts")),
        "zarf.yaml:6:12: parts: no such file or directory"
    );
    assert_eq!(
        alone(&import("../other")),
        "zarf.yaml:6:12: \"../other\" leads out of the package's directory, and out of the repository \
         around it, if there is one\n  hint: copy it into the package"
    );
    assert!(alone(&import("/etc")).contains("zarf.yaml:6:12: \"/etc\" leads out"));
    let cycle = told(
        &[
            ("zarf.yaml", &import("parts")),
            ("parts/zarf.yaml", &import("deeper")),
            ("parts/deeper/zarf.yaml", &import("../..")),
        ],
        &[],
    );
    assert_eq!(
        cycle,
        "zarf.yaml:4:3: components import each other: `web` of zarf.yaml → `web` of parts/zarf.yaml \
         → `web` of parts/deeper/zarf.yaml → `web` of zarf.yaml"
    );
    let other = package("components: [{name: wep}]\n");
    let missing = told(
        &[("zarf.yaml", &import("parts")), ("parts/zarf.yaml", &other)],
        &[],
    );
    assert_eq!(
        missing,
        "zarf.yaml:6:12: parts/zarf.yaml has no component `web` for this architecture and flavor\n  \
         hint: did you mean `wep`?"
    );
    assert!(
        alone(&component("import: {url: 'oci://x/y:1'}"))
            .contains("zarf.yaml:6:12: `import.url` is not supported: packages are not fetched")
    );
}

#[test]
fn links_that_lead_out_are_refused() {
    let import = component("import: {path: parts}");
    let outside = TestModule::new(&[("zarf.yaml", &package("")), ("secret.yaml", "a: 1")]);
    let dir = TestModule::new(&[("zarf.yaml", &import)]);
    std::os::unix::fs::symlink(outside.path(), dir.path().join("parts")).unwrap();
    let error = dir.error();
    assert_eq!(
        error,
        "zarf.yaml:6:12: parts: leads out of the module's directory\n  hint: copy it into the package"
    );
    let manifests = component("manifests: [{name: m, files: [m.yaml]}]");
    let dir = TestModule::new(&[("zarf.yaml", &manifests)]);
    let secret = outside.path().join("secret.yaml");
    std::os::unix::fs::symlink(secret, dir.path().join("m.yaml")).unwrap();
    let error = dir.error();
    assert!(
        error.starts_with("zarf.yaml:6:33: m.yaml: leads out of the module's directory"),
        "{error}"
    );
}

#[test]
fn values_are_held_against_what_is_declared() {
    let declared = "variables:\n- {name: PORT, pattern: '^[0-9]+$', default: '80'}\n- name: DOMAIN\n- name: TOKEN\n";
    let text = package(&format!(
        "{declared}components: [{{name: a, required: true}}]\n"
    ));
    assert_eq!(
        alone(&text),
        "zarf.yaml:5:3: no value is given for DOMAIN, TOKEN, and there is no default\n  \
         hint: --set DOMAIN=… gives it"
    );
    let given = |set: &[&str]| told(&[("zarf.yaml", &text)], set);
    assert_eq!(
        given(&["DOMAIN=a", "TOKEN=b", "PORT=s3cret"]),
        "zarf.yaml:4:3: the value of PORT does not match its pattern \"^[0-9]+$\""
    );
    assert_eq!(
        given(&["DOMIAN=a"]),
        "zarf.yaml: the package has no variable DOMIAN\n  hint: did you mean `DOMAIN`?"
    );
    let template = package(
        "components: [{name: a, required: true, description: '###ZARF_PKG_TMPL_TAG###'}]\n",
    );
    assert_eq!(
        alone(&template),
        "zarf.yaml:3: no value is given for ###ZARF_PKG_TMPL_TAG###\n  hint: --set TAG=… gives it"
    );
    let pattern = package("constants: [{name: A, value: b, pattern: '('}]\ncomponents: []\n");
    assert!(alone(&pattern).contains("zarf.yaml:3:13: the pattern \"(\" of A cannot be read"));
    let arm = component("only: {cluster: {architecture: arm64}}");
    assert_eq!(
        alone(&arm),
        "zarf.yaml:4:3: component `web` is for architecture `arm64` only, and nothing says which one \
         it is here\n  hint: --set architecture=arm64 says so"
    );
}

#[test]
fn markers_that_stand_for_nothing_are_told_with_their_line() {
    let text = component(
        "actions: {onDeploy: {after: [{cmd: x, setVariables: [{name: SEEN}]}]}}\n  \
         manifests: [{name: m, files: [m.yaml]}]\nvariables: [{name: PORT, default: '1'}]",
    );
    let told = |marker: &str| {
        let manifest = format!("{}data:\n  # {marker}\n  a: x{marker}\n", config_map("a"));
        let manifest = manifest.replace("data: {}\n", "");
        told(&[("zarf.yaml", &text), ("m.yaml", &manifest)], &[])
    };
    for (marker, expected) in [
        (
            "###ZARF_VAR_PRT###",
            "is declared nowhere in the package\n  hint: did you mean `###ZARF_VAR_PORT###`?",
        ),
        (
            "###ZARF_VAR_SEEN###",
            "is set by an action, and actions are not run\n  hint: --set SEEN=… gives it",
        ),
        (
            "###ZARF_PKG_TMPL_TAG###",
            "stands in a file; package templates count in zarf.yaml alone\n  \
             hint: declare a constant with it, and use that",
        ),
        (
            "###ZARF_REGISTRY###",
            "is a value of a cluster that Zarf has prepared, which opm does not have",
        ),
    ] {
        let error = told(marker);
        assert!(error.starts_with("component `web`: m.yaml:"), "{error}");
        assert!(error.ends_with(&format!("{marker} {expected}")), "{error}");
    }
}

#[test]
fn what_is_not_there_or_not_supported_is_told_with_its_place() {
    for (rest, expected) in [
        (
            "manifests: [{name: m, files: [gone.yaml]}]",
            "zarf.yaml:6:33: gone.yaml: no such file or directory",
        ),
        (
            "manifests: [{name: m, files: ['https://x/y.yaml']}]",
            "zarf.yaml:6:33: \"https://x/y.yaml\" would be fetched, and manifests are not\n  \
             hint: copy it into the package",
        ),
        (
            "manifests: [{name: m, kustomizations: ['github.com/a/b//c?ref=1']}]",
            "zarf.yaml:6:42: \"github.com/a/b//c?ref=1\" would be fetched, and kustomizations are not",
        ),
        (
            "manifests: [{name: m, kustomizations: [gone]}]",
            "zarf.yaml:6:42: gone: no such file or directory",
        ),
        (
            "manifests: [{name: m, namespace: Bad, files: []}]",
            "zarf.yaml:6:15: ",
        ),
        (
            "manifests: [{name: m, template: true}]",
            "zarf.yaml:6:25: `manifests.0.template` is not supported: package values and Go templates \
             are not filled in",
        ),
        (
            "charts: [{name: c, localPath: gone}]",
            "zarf.yaml:6:22: gone: no such file or directory",
        ),
        (
            "charts: [{name: c}]",
            "zarf.yaml:6:12: chart `c` must have exactly one of `localPath` and `url`",
        ),
        (
            "charts: [{name: c, url: 'https://x/y.git', version: 1.0.0}]",
            "zarf.yaml:6:12: \"https://x/y.git\" would be fetched, and charts in Git repositories are not\n  \
             hint: copy it into the package",
        ),
        (
            "charts: [{name: c, url: 'oci://x/y'}]",
            "zarf.yaml:6:12: chart `c` needs an exact `version`, such as 1.4.0",
        ),
        ("required: maybe", "zarf.yaml:"),
        ("manifests: m.yaml", "zarf.yaml:6:3: it must be a list"),
    ] {
        let error = alone(&component(rest));
        assert!(error.starts_with(expected), "{rest}: {error}");
    }
    let twice = package("components: [{name: a}, {name: a}]\n");
    assert_eq!(
        alone(&twice),
        "zarf.yaml:3:25: component `a` is defined twice for this architecture and flavor"
    );
    let unnamed = "kind: ZarfPackageConfig\nmetadata: {name: Bad_Name}\ncomponents: []\n";
    assert!(
        alone(unnamed).starts_with("zarf.yaml:2:12: "),
        "{}",
        alone(unnamed)
    );
}
