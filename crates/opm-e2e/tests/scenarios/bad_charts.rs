//! What is wrong with a chart, or with the `helm` that renders it, is told with its file before
//! anything is touched.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use opm_e2e::objects::config_map;
use opm_e2e::{Module, World, scenarios};
use serde_json::{Value, json};

use crate::charts::{shop, write};

scenarios! {
    bad_charts_are_told_with_their_file,
    helm_that_is_missing_or_too_old_is_told,
    helm_that_prints_without_end_is_stopped,
    helm_is_asked_for_its_version_once,
}

async fn bad_charts_are_told_with_their_file(w: World) {
    let Some(w) = w.with_helm() else { return };
    let template =
        |text: &'static str| move |dir: &Path| write(dir, "charts/app/templates/x.yaml", text);
    type Damage<'a> = Box<dyn Fn(&Path) + 'a>;
    let chart = |chart: Value| {
        move |dir: &Path| {
            let module = json!({"apiVersion": "core.opmodel.dev/v1alpha1", "kind": "Module",
                "metadata": {"name": "shop"}, "components": [{"name": "app", "chart": chart}]});
            write(dir, "module.yaml", &module.to_string());
        }
    };
    let cases: Vec<(Damage<'_>, &[&str])> = vec![
        (
            Box::new(template("{{ fail \"boom\" }}")),
            &["charts/app/templates/x.yaml:1:3: boom"],
        ),
        (Box::new(template("a: [")), &["charts/app/templates/x.yaml"]),
        (
            Box::new(template("{{ .Values.a.b }}")),
            &["charts/app/templates/x.yaml:1:"],
        ),
        (
            Box::new(template(
                "{{ define \"r\" }}{{ include \"r\" . }}{{ end }}{{ include \"r\" . }}",
            )),
            &["charts/app/templates/x.yaml:1:"],
        ),
        (
            Box::new(template(
                "{{ range until 100000 }}{{ range until 100000 }}{{ range until 100000 }}more{{ end }}{{ end }}{{ end }}",
            )),
            &["helm template"],
        ),
        (
            Box::new(template("apiVersion: v1\nkind: ConfigMap\n")),
            &["charts/app/templates/x.yaml"],
        ),
        (
            Box::new(|dir: &Path| {
                let needs = json!({"apiVersion": "v2", "name": "app", "version": "1.0.0", "dependencies":
                    [{"name": "grafana", "version": "1.0.0", "repository": "https://example.com"}]});
                write(dir, "charts/app/Chart.yaml", &needs.to_string());
            }),
            &["are missing: grafana", "helm dependency build"],
        ),
        (
            Box::new(chart(json!({"path": "../elsewhere"}))),
            &["leads out of the module"],
        ),
        (
            Box::new(chart(json!({"path": "charts"}))),
            &["not a chart: neither a directory with a Chart.yaml nor an archive"],
        ),
        (
            Box::new(|dir: &Path| {
                write(dir, "values.yaml", "- 1\n");
                chart(json!({"path": "charts/app", "values": ["values.yaml"]}))(dir);
            }),
            &["values.yaml: a values file must be one mapping"],
        ),
        (
            Box::new(chart(
                json!({"path": "charts/app", "values": ["../values.yaml"]}),
            )),
            &["../values.yaml", "leads out of the module"],
        ),
        (
            Box::new(|dir: &Path| {
                symlink("/etc/hostname", dir.join("values.yaml")).unwrap();
                chart(json!({"path": "charts/app", "values": ["values.yaml"]}))(dir);
            }),
            &["values.yaml", "leads out of the module"],
        ),
        (
            Box::new(|dir: &Path| {
                write(dir, "values.yaml", "a: [\n");
                chart(json!({"path": "charts/app", "values": ["values.yaml"]}))(dir);
            }),
            &["values.yaml:"],
        ),
        (
            Box::new(|dir: &Path| symlink("/etc", dir.join("charts/app/files")).unwrap()),
            &["charts/app/files", "leads out of the module"],
        ),
    ];
    let w = w.with_env("OPM_RENDER_TIMEOUT", "5");
    for (damage, expected) in cases {
        let dir = w.write(&shop("1.0.0"));
        damage(Path::new(&dir));
        let mut refused = w.opm(&["mod", "apply", &dir]).await.ends(2);
        for words in expected {
            refused = refused.says(words);
        }
    }
    assert!(w.find_record("shop").await.is_none(), "nothing is touched");
}

/// A `helm` of the test's own.
fn script(w: &World, text: &str) -> String {
    let helm = w.dir().join("helm");
    fs::write(&helm, format!("#!/bin/sh\n{text}\n")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&helm, mode).unwrap();
    helm.display().to_string()
}

async fn helm_that_is_missing_or_too_old_is_told(w: World) {
    let dir = w.write(&shop("1.0.0"));
    w.opm_with(&[("PATH", "/nowhere")], &["mod", "build", &dir])
        .await
        .ends(2)
        .says("the program `helm` was not found")
        .says("3.14 or later");
    let helm = script(&w, "echo v3.9.0+g7ceeda6");
    w.opm_with(&[("OPM_HELM", &helm)], &["mod", "build", &dir])
        .await
        .ends(2)
        .says("helm 3.9.0+g7ceeda6 is too old");
}

async fn helm_that_prints_without_end_is_stopped(w: World) {
    let dir = w.write(&shop("1.0.0"));
    let version = "[ \"$1\" = version ] && exec echo v3.19.0";
    let helm = script(&w, &format!("{version}\nexec yes '# more'"));
    w.opm_with(&[("OPM_HELM", &helm)], &["mod", "apply", &dir])
        .await
        .ends(2)
        .says("printed more than 128 MiB and was stopped");
    let stuck = script(&w, &format!("{version}\nexec sleep 600"));
    let variables = [("OPM_HELM", stuck.as_str()), ("OPM_RENDER_TIMEOUT", "2")];
    w.opm_with(&variables, &["mod", "apply", &dir])
        .await
        .ends(2)
        .says("did not end within 2 s and was stopped");
    assert!(w.find_record("shop").await.is_none(), "nothing is touched");
}

async fn helm_is_asked_for_its_version_once(w: World) {
    let Some(w) = w.with_helm() else { return };
    let real = opm_testkit::programs::Program::Helm.find().unwrap();
    let asked = w.dir().join("asked");
    let helm = script(
        &w,
        &format!(
            "echo \"$1\" >> {}\nexec {} \"$@\"",
            asked.display(),
            real.display()
        ),
    );
    let module = ["a", "b", "c"]
        .iter()
        .fold(Module::new("shop"), |all, name| {
            all.chart(name, &[config_map(name, "1")])
        });
    let dir = w.write(&module);
    w.opm_with(&[("OPM_HELM", &helm)], &["mod", "apply", &dir])
        .await
        .ok();
    let asked = fs::read_to_string(asked).unwrap();
    let count = |word: &str| asked.lines().filter(|line| *line == word).count();
    assert_eq!((count("version"), count("template")), (1, 6), "{asked}");
}
