//! Zarf package definitions that are wrong: told with their place, and nothing is touched.

use std::fs;
use std::path::Path;

use opm_e2e::{World, scenarios};

use crate::zarf::{copied, edit};

scenarios! {
    bad_packages_touch_nothing,
    what_kubernetes_refuses_is_told_with_its_line,
}

async fn bad_packages_touch_nothing(w: World) {
    let site = |name: &str| {
        let dir = copied(&w, "site");
        let to = w.dir().join(name);
        fs::rename(dir, &to).unwrap();
        to
    };
    let good = [
        "--set",
        "SERVER=nginx",
        "--set",
        "SITE_NAME=a",
        "--set",
        "NAMESPACE=x",
    ];
    let told = async |dir: &Path, flags: &[&str], expected: &str| {
        let shown = dir.display().to_string();
        for command in ["vet", "apply"] {
            let words = [&["mod", command, shown.as_str()], flags].concat();
            w.opm(&words).await.ends(2).says(expected);
        }
        assert!(w.find_record("site").await.is_none());
    };
    let cases: [(&str, &str, &str, &str); 9] = [
        (
            "kind",
            "kind: ZarfPackageConfig",
            "kind: ZarfInitConfig",
            "zarf.yaml:2:1: kind \"ZarfInitConfig\" is not supported",
        ),
        (
            "version",
            "zarf.dev/v1alpha1",
            "zarf.dev/v1beta1",
            "zarf.yaml:1:1: apiVersion \"zarf.dev/v1beta1\" is not supported",
        ),
        (
            "missing",
            "- config.yaml",
            "- gone.yaml",
            "zarf.yaml:61:13: ",
        ),
        (
            "import",
            "    required: true\n    images:",
            "    import: {path: ../common}\n    images:",
            "\"../common\" leads out of the package's directory",
        ),
        (
            "cycle",
            "    required: true\n    images:",
            "    import: {path: .}\n    images:",
            "components import each other: `web` of ",
        ),
        (
            "absent",
            "    required: true\n    images:",
            "    import: {path: parts}\n    images:",
            "parts: no such file or directory",
        ),
        (
            "default",
            "    default: \"8080\"\n",
            "",
            "zarf.yaml:26:5: no value is given for PORT, and there is no default",
        ),
        (
            "pattern",
            "default: \"8080\"",
            "default: http",
            "zarf.yaml:26:5: the value of PORT does not match its pattern",
        ),
        (
            "marker",
            "  - name: PORT\n    default: \"8080\"\n    pattern: \"^[0-9]+$\"\n",
            "",
            "web.yaml:15: ###ZARF_VAR_PORT### is declared nowhere in the package",
        ),
    ];
    for (name, from, to, expected) in cases {
        let dir = site(name);
        edit(&dir.join("zarf.yaml"), from, to);
        told(&dir, &good, expected).await;
    }
    let dir = site("values");
    told(
        &dir,
        &[],
        "no value is given for ###ZARF_PKG_TMPL_SERVER###",
    )
    .await;
    let unnamed = [&good[..2], &good[4..]].concat();
    told(
        &dir,
        &unnamed,
        "zarf.yaml:23:5: no value is given for SITE_NAME",
    )
    .await;
    told(
        &dir,
        &[&good[..], &["--set", "PRT=1"]].concat(),
        "did you mean `PORT`?",
    )
    .await;
    let dir = site("link");
    fs::remove_file(dir.join("config.yaml")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", dir.join("config.yaml")).unwrap();
    told(
        &dir,
        &good,
        "config.yaml: leads out of the module's directory",
    )
    .await;
}

async fn what_kubernetes_refuses_is_told_with_its_line(w: World) {
    let dir = copied(&w, "site");
    edit(
        &dir.join("web.yaml"),
        "- port: ###ZARF_VAR_PORT###",
        "- prot: ###ZARF_VAR_PORT###",
    );
    let shown = dir.display().to_string();
    let start = [
        "mod",
        "vet",
        &shown,
        "--set",
        "SERVER=nginx",
        "--set",
        "SITE_NAME=a",
    ];
    let vet = w
        .opm(&[&start[..], &["--set", "NAMESPACE=x"]].concat())
        .await;
    vet.ends(2)
        .says("site/web.yaml:24:7: ")
        .says("spec.ports[0].prot: there is no such field");
}
