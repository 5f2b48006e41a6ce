//! Values that come from several places: what beats what, what an apply that gives fewer of them
//! says, and how they are kept.

use std::path::PathBuf;

use opm_e2e::{World, scenarios};
use serde_json::json;

scenarios! {
    later_values_beat_earlier_ones_and_what_is_dropped_is_said,
    a_new_module_takes_values_out_of_the_box,
}

const SHOP: &str = r#"package shop

metadata: name: "shop"
#config: {
	host: string
	port: *80 | int
	tags: [...string] | *[]
}
#components: app: resources: page: {
	apiVersion: "v1"
	kind: "ConfigMap"
	metadata: name: #release.name
	data: {host: #config.host, port: "\(#config.port)"}
}
"#;

fn shop(w: &World) -> PathBuf {
    let dir = w.dir().join("shop");
    std::fs::create_dir_all(dir.join("cue.mod")).unwrap();
    for (file, text) in [
        (
            "cue.mod/module.cue",
            "module: \"example.com/shop@v0\"\nlanguage: version: \"v0.15.0\"\n",
        ),
        ("module.cue", SHOP),
        ("values.cue", "package shop\n\nvalues: host: \"own\"\n"),
        ("prod.yaml", "host: prod\nport: 90\ntags: [a]\n"),
    ] {
        std::fs::write(dir.join(file), text).unwrap();
    }
    dir
}

async fn data(w: &World, name: &str) -> (String, String) {
    let map = w.get(&format!("ConfigMap/{name}")).await.unwrap();
    let text = |key: &str| map["data"][key].as_str().unwrap().to_owned();
    (text("host"), text("port"))
}

async fn later_values_beat_earlier_ones_and_what_is_dropped_is_said(w: World) {
    let dir = shop(&w);
    let is = |host: &str, port: &str| (host.to_owned(), port.to_owned());
    let apply = |flags: &[&'static str]| {
        let arguments: Vec<&'static str> = [&["mod", "apply"], flags].concat();
        let (w, dir) = (&w, &dir);
        async move { w.opm_in(dir, &arguments).await }
    };
    let first = apply(&["--reuse-values"]).await.ok();
    first.says("no recorded values");
    assert_eq!(data(&w, "shop").await, is("own", "80"));
    apply(&["-f", "prod.yaml", "--set", "port=91", "--set", "port=92"])
        .await
        .ok();
    assert_eq!(data(&w, "shop").await, is("prod", "92"));
    let shown = w
        .opm(&["mod", "show", "shop", "values", "-o", "json"])
        .await
        .ok()
        .json();
    assert_eq!(
        shown["values"],
        json!({"host": "prod", "port": 92, "tags": ["a"]})
    );
    assert_eq!(shown["set"], json!(["host", "port", "tags"]));

    // What was set stays set if it is asked for, and otherwise it is said what is not.
    let kept = apply(&["--reuse-values", "--set", "port=null"]).await.ok();
    kept.says("starting from the values of change-sha1-");
    assert_eq!(data(&w, "shop").await, is("prod", "80"));
    let differs = ["mod", "diff", "--set", "tags=[\"a\"]"];
    w.opm_in(&dir, &differs)
        .await
        .ok()
        .says("not given now, and change: host")
        .says("--reuse-values");
    apply(&[])
        .await
        .ok()
        .says("not given now, and change: host, tags");
    assert_eq!(data(&w, "shop").await, is("own", "80"));
    apply(&[]).await.ok().never_says("not given");
    // Going back brings the values back, and with them what was set.
    w.opm(&["mod", "rollback", "shop", "--yes"]).await.ok();
    assert_eq!(data(&w, "shop").await, is("prod", "80"));
    apply(&["--dry-run"])
        .await
        .ok()
        .says("not given now, and change: host, tags");
}

async fn a_new_module_takes_values_out_of_the_box(w: World) {
    let dir = w.dir().join("web").display().to_string();
    for format in ["cue", "yaml"] {
        let dir = format!("{dir}-{format}");
        w.opm(&["mod", "init", &dir, "--format", format]).await.ok();
        let page = format!("ConfigMap/web-{format}-web");
        w.opm(&["mod", "apply", &dir, "--set", "greeting=Servus"])
            .await
            .ok();
        let page = w.get(&page).await.unwrap();
        assert!(
            page["data"]["index.html"]
                .as_str()
                .unwrap()
                .contains("Servus")
        );
    }
}
