//! Kustomizations as components: what they come to, and what is refused before anything is run.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use opm_render::{Inputs, Limits, ModuleRef, ModuleRenderer, RenderSettings};
use tokio_util::sync::CancellationToken;

use crate::support::{TestModule, config_map, explain, objects, skip};

const MODULE: &str = "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata: {name: web}\n\
    components: [{name: app, kustomize: overlays/prod}]\n";

/// An overlay over a base, with this beside what the overlay says.
fn module(overlay: &str) -> TestModule {
    TestModule::new(&[
        ("module.yaml", MODULE),
        ("base/kustomization.yaml", "resources: [a.yaml]\n"),
        ("base/a.yaml", &config_map("a")),
        (
            "overlays/prod/kustomization.yaml",
            &format!("resources: [../../base]\nnamePrefix: prod-\n{overlay}"),
        ),
    ])
}

fn error(module: &TestModule, settings: &RenderSettings) -> String {
    let error = module.load_by(&Inputs::default(), settings).unwrap_err();
    explain(&error, module.dir.path())
}

fn has_program() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .any(|dir| dir.join("kubectl").is_file() || dir.join("kustomize").is_file());
    if !found {
        skip::skip_without("`kubectl` or `kustomize` in PATH");
    }
    found
}

/// Settings under which only this script is there, as `kustomize`.
fn with_script(dir: &Path, script: &str) -> RenderSettings {
    let file = dir.join("kustomize");
    fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    RenderSettings {
        search_path: Some(dir.into()),
        limits: Limits {
            output: 1 << 20,
            ..Limits::default()
        },
        ..RenderSettings::default()
    }
}

#[test]
fn an_overlay_is_built_and_may_be_named_as_it_is() {
    if !has_program() {
        return;
    }
    let with_map = module("configMapGenerator: [{name: m, literals: [a=1]}]\n");
    let loaded = with_map.load().unwrap();
    let built = objects(&loaded);
    assert_eq!(built[0], "app: ConfigMap/prod-a");
    assert!(built[1].starts_with("app: ConfigMap/prod-m-"), "{built:?}");
    // Without a module file, the directory alone is enough, and init says the same.
    let overlay = with_map.path().join("overlays/prod");
    let source = ModuleRef::Directory(overlay.clone());
    let load = || {
        let settings = RenderSettings::default();
        opm_render::load(
            &source,
            &Inputs::default(),
            &settings,
            &opm_render::NoObserver,
        )
    };
    let alone = load().unwrap();
    assert_eq!(alone.rendered.components, loaded.rendered.components);
    assert_eq!(alone.rendered.module.path.as_str(), "local/prod");
    let written = opm_render::init(&overlay, None).unwrap();
    assert_eq!(written.found, ["kustomization.yaml"]);
    // A module reaches no further than its directory.
    let error = explain(&load().unwrap_err(), with_map.dir.path());
    assert!(
        error.contains("leads out of the module's directory"),
        "{error}"
    );
}

#[test]
fn expressions_are_replaced_in_what_is_built() {
    if !has_program() {
        return;
    }
    let module = module("commonAnnotations: {owner: '${values.owner}'}\n");
    module.write("module.yaml", &format!("{MODULE}values: {{owner: me}}\n"));
    let loaded = module.load().unwrap();
    let object = loaded.rendered.components[0].manifests[0].object();
    assert_eq!(object["metadata"]["annotations"]["owner"], "me");
}

#[test]
fn what_would_be_fetched_leads_out_or_is_missing_is_refused() {
    let programs = tempfile::tempdir().unwrap();
    let never = with_script(programs.path(), "touch started; exit 1");
    let at = "component `app`: overlays/prod/kustomization.yaml: ";
    for (overlay, expected) in [
        (
            "bases: ['https://example.com/x.yaml']\n",
            "\"https://example.com/x.yaml\" would be fetched",
        ),
        (
            "components: ['github.com/org/repo//base?ref=v1']\n",
            "\"github.com/org/repo//base?ref=v1\" would be fetched",
        ),
        (
            "patches: [{path: 'https://example.com/p.yaml'}]\n",
            "\"https://example.com/p.yaml\" would be fetched",
        ),
        ("crds: [nowhere.yaml]\n", "\"nowhere.yaml\" is not there"),
        (
            "configurations: [../../../x]\n",
            "\"../../../x\" is not there",
        ),
        (
            "components: [../../..]\n",
            "\"../../..\" leads out of the module's directory",
        ),
        (
            "crds: [/etc/hostname]\n",
            "\"/etc/hostname\" leads out of the module's directory",
        ),
        (
            "configMapGenerator: [{name: m, files: [k=link]}]\n",
            "\"link\" leads out of the module's directory",
        ),
        (
            "helmCharts: [{name: x}]\n",
            "`helmCharts` is not carried out: plugins are off",
        ),
    ] {
        let module = module(overlay);
        symlink("/etc/hostname", module.path().join("overlays/prod/link")).unwrap();
        let error = error(&module, &never);
        let expected = format!("{at}{expected}");
        assert_eq!(error.lines().next(), Some(expected.as_str()));
        assert!(!module.path().join("overlays/prod/started").exists());
    }
    let no_file = module("");
    fs::remove_file(no_file.path().join("base/kustomization.yaml")).unwrap();
    let error = error(&no_file, &never);
    assert_eq!(
        error,
        "component `app`: overlays/prod/../../base: there is no kustomization.yaml"
    );
}

#[tokio::test]
async fn whoever_gives_up_is_told_so() {
    let programs = tempfile::tempdir().unwrap();
    let settings = with_script(programs.path(), "touch \"$0.started\"; exec sleep 600");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let module = module("");
    let source = ModuleRef::Directory(module.path());
    let renderer = ModuleRenderer::new(settings);
    let loaded = renderer.load(&source, Inputs::default(), &cancel).await;
    let error = loaded.unwrap_err();
    assert!(error.is_interrupted(), "{error}");
    assert!(!programs.path().join("kustomize.started").exists());
}

#[test]
fn programs_that_are_missing_too_old_or_do_not_end_well() {
    let programs = tempfile::tempdir().unwrap();
    let version = "if [ \"$1\" = version ]; then echo v5.4.3; exit 0; fi\n";
    for (script, expected) in [
        (
            "echo '{Version:kustomize/v4.5.7 GitCommit:x}'".to_owned(),
            "kustomize is 4.5.7, and 5.0.0 or later is needed",
        ),
        (
            "echo hello".to_owned(),
            "the version of kustomize cannot be told",
        ),
        (
            format!(
                "{version}while :; do echo '# xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'; done"
            ),
            "`kustomize build` printed more than 1 MiB and was stopped",
        ),
        (
            format!("{version}echo \"Error: accumulating $PWD/../../base\" >&2; exit 1"),
            "overlays/prod: accumulating overlays/prod/../../base",
        ),
        (format!("{version}echo 'a: ['"), "overlays/prod:1:4: "),
        (
            format!("{version}env | grep -q SECRET_OF_USER && exit 1; echo 'kind: x'"),
            "overlays/prod:1: ",
        ),
    ] {
        let settings = with_script(programs.path(), &script);
        let error = error(&module(""), &settings);
        assert!(
            error.starts_with(&format!("component `app`: {expected}")),
            "{error}"
        );
    }
    let nothing = RenderSettings {
        search_path: None,
        ..RenderSettings::default()
    };
    let error = error(&module(""), &nothing);
    assert!(
        error.starts_with("component `app`: neither `kustomize` nor `kubectl` was found\n  hint: "),
        "{error}"
    );
}
