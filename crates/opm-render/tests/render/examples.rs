//! The examples render, say the same in both languages, and draw no warnings.

use std::path::PathBuf;

use crate::support::{cue, have_cue, owned};
use opm_core::candidate::{Candidate, Selection};
use opm_core::scope::Scopes;
use opm_render::{Inputs, Loaded, ModuleRef, NoObserver, RenderSettings, ValueFlags, Values};

fn load(example: &str, set: &[&str]) -> Loaded {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples")).join(example);
    let settings = RenderSettings {
        cue: cue().unwrap_or_default(),
        ..RenderSettings::default()
    };
    let flags = ValueFlags {
        set: owned(set),
        ..ValueFlags::default()
    };
    let inputs = Inputs {
        values: Values::read(&flags).unwrap(),
        ..Inputs::default()
    };
    let module = ModuleRef::Directory(path);
    let loaded = opm_render::load(&module, &inputs, &settings, &NoObserver).unwrap();
    let lints = opm_render::lint(&module, &inputs, &loaded, &settings, &NoObserver).unwrap();
    assert!(lints.is_empty(), "{example}: {lints:#?}");
    loaded
}

fn candidate(loaded: Loaded, selected: &[&str]) -> Candidate {
    let selection = Selection::Given(owned(selected));
    let Loaded {
        name,
        namespace,
        rendered,
        ..
    } = loaded;
    let candidate =
        Candidate::new(rendered, name, namespace, &selection, Scopes::default()).unwrap();
    assert!(candidate.warnings.is_empty(), "{:#?}", candidate.warnings);
    candidate
}

fn names(candidate: &Candidate) -> Vec<String> {
    let identities = candidate.objects.iter().map(|o| o.manifest.identity());
    identities
        .map(|i| format!("{}/{}", i.kind(), i.name))
        .collect()
}

#[test]
fn minecraft_is_the_same_in_both_languages() {
    let yaml = candidate(load("minecraft-yaml", &[]), &[]);
    let expected = [
        "PersistentVolumeClaim/config",
        "Service/minecraft",
        "StatefulSet/minecraft",
    ];
    assert_eq!(names(&yaml), expected);
    if !have_cue() {
        return;
    }
    let cue = candidate(load("minecraft-cue", &[]), &[]);
    assert_eq!(cue.digest, yaml.digest);
    assert_eq!(
        cue.owner.id.to_string(),
        "ba7ef080-f6d7-5049-9ee5-a5e34cd652de"
    );
    assert_eq!(cue.owner.id, yaml.owner.id);
    let renamed = candidate(load("minecraft-cue", &["name=minecraft-server"]), &[]);
    assert_eq!(
        names(&renamed),
        [
            "PersistentVolumeClaim/config",
            "Service/minecraft-server",
            "StatefulSet/minecraft-server"
        ]
    );
}

#[test]
fn a_definition_comes_before_its_resource() {
    let crd = candidate(load("crd", &[]), &[]);
    assert_eq!(
        names(&crd),
        [
            "CustomResourceDefinition/backupschedules.backups.example.com",
            "BackupSchedule/nightly"
        ]
    );
}

#[test]
fn the_web_application_has_its_order_and_its_choice() {
    let loaded = load("webapp", &[]);
    assert_eq!(loaded.namespace.as_str(), "webapp");
    let after: Vec<String> = loaded
        .rendered
        .components
        .iter()
        .map(|c| {
            format!(
                "{} after {:?}",
                c.name,
                c.after.iter().map(|a| a.as_str()).collect::<Vec<_>>()
            )
        })
        .collect();
    assert_eq!(
        after,
        [
            "config after []",
            "db after [\"config\"]",
            "migration after [\"db\"]",
            "web after [\"migration\"]",
            "cache after []"
        ]
    );
    let without = candidate(loaded.clone(), &[]);
    assert_eq!(without.objects.len(), 9);
    assert!(names(&without).contains(&"Job/webapp-migration-0-3-0".to_owned()));
    assert_eq!(candidate(loaded, &["cache"]).objects.len(), 11);
}
