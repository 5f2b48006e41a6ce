//! What vet warns about, and modules that `init` writes.

use crate::support::{TestModule, cue, cue_module, have_cue, objects, owned};
use opm_render::{InitFormat, Inputs, ModuleRef, NoObserver, RenderSettings, ValueFlags, Values};

fn lints(module: &TestModule, set: &[&str]) -> Vec<String> {
    let flags = ValueFlags {
        set: owned(set),
        ..ValueFlags::default()
    };
    let inputs = Inputs {
        values: Values::read(&flags).unwrap(),
        ..Inputs::default()
    };
    let settings = RenderSettings {
        cue: cue().unwrap_or_default(),
        ..RenderSettings::default()
    };
    let source = ModuleRef::Directory(module.path());
    let loaded = opm_render::load(&source, &inputs, &settings, &NoObserver).unwrap();
    let found = opm_render::lint(&source, &inputs, &loaded, &settings, &NoObserver).unwrap();
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn cluster_scoped_objects_of_yaml_modules() {
    let module = TestModule::yaml(
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n\
         apiVersion: v1\nkind: Namespace\nmetadata: {name: b, annotations: {opmodel.dev/shared: 'true'}}\n---\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\n\
         apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\n\
         spec: {group: example.com, scope: Cluster, names: {kind: Widget, plural: widgets}}\n---\n\
         apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n",
    );
    let found = lints(&module, &[]);
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(
        found[0].starts_with("Namespace/a is cluster-scoped"),
        "{found:#?}"
    );
    assert!(
        found[2].starts_with("Widget/w is cluster-scoped"),
        "{found:#?}"
    );
}

#[test]
fn a_component_without_objects() {
    assert_eq!(
        lints(&TestModule::yaml(""), &[]),
        ["component app has no objects"]
    );
}

const CLAIMS: &str = r#"
metadata: name: "web"
#config: {
	name:  *"web" | string
	size:  *"1Gi" | string
	shard: *7 | int
	disk:  *"data" | "logs"
	inner: list: [...string] | *["alpha"]
}
_role: {apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole"}
#components: app: resources: {
	one: _role & {metadata: name: "\(#release.namespace)-\(#release.name)"}
	two: _role & {metadata: name: "everybody"}
	fixed: {apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: name: "config"}
	byName: {apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: name: "\(#config.name)-store"}
	byShard: {apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: name: "shard-\(#config.shard)"}
	byList: {apiVersion: "apps/v1", kind: "StatefulSet", metadata: name: #config.inner.list[0], spec: volumeClaimTemplates: [{metadata: name: "x"}]}
	noClaims: {apiVersion: "apps/v1", kind: "StatefulSet", metadata: name: #config.name}
	byDisk: {apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: name: #config.disk}
}
"#;

#[test]
fn claims_that_move_with_values_and_names_that_move_with_the_release() {
    if !have_cue() {
        return;
    }
    let found = lints(&cue_module(CLAIMS), &["name=shop"]);
    let begin = |text: &str| found.iter().any(|lint| lint.starts_with(text));
    assert!(
        begin("ClusterRole/everybody is cluster-scoped"),
        "{found:#?}"
    );
    assert!(!begin("ClusterRole/default-web"), "{found:#?}");
    assert!(
        begin("the name of PersistentVolumeClaim/shop-store changes with the value name:"),
        "{found:#?}"
    );
    assert!(
        begin("the name of PersistentVolumeClaim/shard-7 changes with the value shard:"),
        "{found:#?}"
    );
    assert!(
        begin("the name of StatefulSet/alpha changes with the value inner.list.0:"),
        "{found:#?}"
    );
    // Another text than `data` or `logs` is refused there, so nothing can be said about it.
    assert_eq!(found.len(), 4, "{found:#?}");
}

#[test]
fn new_modules_render_and_nothing_is_overwritten() {
    for format in [InitFormat::Yaml, InitFormat::Cue] {
        if format == InitFormat::Cue && !have_cue() {
            continue;
        }
        let place = TestModule::new(&[("My_Shop/README.md", "mine")]);
        let directory = place.path().join("My_Shop");
        let written = opm_render::init(&directory, Some(format)).unwrap();
        assert_eq!(written.name.as_str(), "my-shop");
        let settings = RenderSettings {
            cue: cue().unwrap_or_default(),
            ..RenderSettings::default()
        };
        let source = ModuleRef::Directory(directory.clone());
        let loaded = opm_render::load(&source, &Inputs::default(), &settings, &NoObserver).unwrap();
        assert_eq!(
            objects(&loaded),
            [
                "config: ConfigMap/my-shop-web",
                "web: Deployment/my-shop-web",
                "web: Service/my-shop-web"
            ]
        );
        let page =
            loaded.rendered.components[0].manifests[0].object()["data"]["index.html"].clone();
        assert_eq!(page, "<h1>Hello from my-shop</h1>\n");
        assert!(
            opm_render::lint(&source, &Inputs::default(), &loaded, &settings, &NoObserver)
                .unwrap()
                .is_empty()
        );
        for again in [InitFormat::Yaml, InitFormat::Cue] {
            let error = opm_render::init(&directory, Some(again))
                .unwrap_err()
                .to_string();
            assert!(error.contains("already exist"), "{error}");
        }
        assert_eq!(
            std::fs::read_to_string(directory.join("README.md")).unwrap(),
            "mine"
        );
    }
    let odd = TestModule::new(&[]);
    let digits = odd.path().join("2048");
    opm_render::init(&digits, Some(InitFormat::Cue)).unwrap();
    let text = std::fs::read_to_string(digits.join("module.cue")).unwrap();
    assert!(text.contains("\npackage m2048\n"), "{text}");
}
