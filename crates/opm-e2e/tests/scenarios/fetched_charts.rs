//! Charts from a registry and from a chart repository: fetched once, by digest, within bounds, and
//! only from where the module may name them.

use std::fs;
use std::path::{Path, PathBuf};

use opm_e2e::{World, scenarios};
use opm_testkit::charts::{ArchiveEntry, ChartServer, archive, digest};
use serde_json::{Value, json};

scenarios! {
    a_chart_of_a_registry_is_fetched_once_and_its_digest_is_recorded,
    a_chart_of_a_repository_is_fetched_once,
    another_version_is_another_chart,
    a_version_that_was_published_again_is_told,
    a_damaged_archive_is_fetched_again,
    another_archive_than_the_module_names_is_refused,
    credentials_of_the_user_count_for_fetching,
    charts_that_cannot_be_had_are_told,
    hostile_archives_are_refused_or_harmless,
}

const ABOUT: &str = "apiVersion: v2\nname: app\nversion: 1.0.0\n";

fn file(text: &str) -> ArchiveEntry {
    ArchiveEntry::File(text.as_bytes().to_vec())
}

/// A chart of one ConfigMap that says `text`.
fn page(text: &str) -> Vec<u8> {
    let template = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: page}}\n\
         data: {{text: {text}, for: {{{{ .Release.Name }}}}}}\n"
    );
    archive([
        ("app/Chart.yaml", file(ABOUT)),
        ("app/templates/page.yaml", file(&template)),
    ])
}

/// A module of one chart, as `chart` says it.
fn module(w: &World, chart: &Value) -> String {
    let dir = w.dir().join("module");
    fs::create_dir_all(&dir).unwrap();
    let module = json!({"apiVersion": "core.opmodel.dev/v1alpha1", "kind": "Module",
        "metadata": {"name": "shop"}, "components": [{"name": "app", "chart": chart}]});
    fs::write(dir.join("module.yaml"), module.to_string()).unwrap();
    dir.display().to_string()
}

fn in_registry(server: &ChartServer) -> Value {
    json!({"ref": server.reference("app"), "version": "1.0.0", "plainHTTP": true})
}

async fn shows(w: &World, text: &str) {
    let page = w.get("ConfigMap/page").await.expect("the page is there");
    assert_eq!(page["data"]["text"], text);
}

fn cached(w: &World, end: &str) -> Vec<PathBuf> {
    let found = fs::read_dir(w.dir().join(".cache/opm/charts"));
    let files = found.into_iter().flatten().flatten();
    let files = files.map(|entry| entry.path());
    files
        .filter(|file| file.extension().is_some_and(|one| one == end))
        .collect()
}

async fn a_chart_of_a_registry_is_fetched_once_and_its_digest_is_recorded(w: World) {
    let Some(w) = w.with_helm() else { return };
    let server = ChartServer::start().await;
    let first = page("first");
    server.publish("app", "1.0.0", &first);
    let dir = module(&w, &in_registry(&server));
    let fetching = format!("fetching {}@1.0.0", server.reference("app"));
    w.opm(&["mod", "vet", &dir]).await.ok().says(&fetching);
    let asked = server.requests();
    assert!(asked > 0);
    // From now on from the cache, whatever the registry has by now.
    server.publish("app", "1.0.0", &page("second"));
    for command in [["mod", "vet", &dir], ["mod", "build", &dir]] {
        w.opm(&command).await.ok().never_says("fetching");
    }
    w.opm(&["mod", "apply", &dir]).await.ok();
    shows(&w, "first").await;
    let again = w.opm(&["mod", "apply", &dir, "-o", "json"]).await.ok();
    again.did("unchanged", "ConfigMap/page");
    assert_eq!(server.requests(), asked, "nothing is fetched again");
    let history = w.opm(&["mod", "history", "shop", "-o", "json"]).await.ok();
    let recorded = history.json()["changes"][0]["module"]["charts"]["app"].clone();
    let expected = format!("{}@1.0.0 {}", server.reference("app"), digest(&first));
    assert_eq!(recorded, expected);
    w.delete("shop", &[]).await.ok();
}

async fn a_chart_of_a_repository_is_fetched_once(w: World) {
    let Some(w) = w.with_helm() else { return };
    let server = ChartServer::start().await;
    server.publish("app", "1.0.0", &page("first"));
    let chart = json!({"ref": "app", "repo": server.repository(), "version": "1.0.0",
        "releaseName": "renamed"});
    let dir = module(&w, &chart);
    let applied = w.opm(&["mod", "apply", &dir]).await.ok();
    applied.says(&format!("fetching {} app@1.0.0", server.repository()));
    shows(&w, "first").await;
    let page = w.get("ConfigMap/page").await.unwrap();
    assert_eq!(page["data"]["for"], "renamed");
    drop(server);
    w.opm(&["mod", "build", &dir]).await.ok();
}

async fn another_version_is_another_chart(w: World) {
    let Some(w) = w.with_helm() else { return };
    let server = ChartServer::start().await;
    for version in ["1.0.0", "2.0.0"] {
        server.publish("app", version, &page(&format!("v{version}")));
        let chart = json!({"ref": server.reference("app"), "version": version, "plainHTTP": true});
        w.opm(&["mod", "apply", &module(&w, &chart)]).await.ok();
        shows(&w, &format!("v{version}")).await;
    }
    // The first version comes back from what is recorded.
    let asked = server.requests();
    w.opm(&["mod", "rollback", "shop", "--yes"]).await.ok();
    shows(&w, "v1.0.0").await;
    assert_eq!(server.requests(), asked);
}

async fn a_version_that_was_published_again_is_told(w: World) {
    let Some(w) = w.with_helm() else { return };
    let server = ChartServer::start().await;
    server.publish("app", "1.0.0", &page("first"));
    let dir = module(&w, &in_registry(&server));
    w.opm(&["mod", "apply", &dir]).await.ok();
    // Another machine, or this one without its cache.
    server.publish("app", "1.0.0", &page("second"));
    fs::remove_dir_all(w.dir().join(".cache/opm/charts")).unwrap();
    let told = "is another archive than the one that was applied before, under the same version";
    w.opm(&["mod", "diff", &dir]).await.ok().says(told);
    w.opm(&["mod", "apply", &dir]).await.ok().says(told);
    shows(&w, "second").await;
    w.opm(&["mod", "apply", &dir]).await.ok().never_says(told);
}

async fn a_damaged_archive_is_fetched_again(w: World) {
    let Some(w) = w.with_helm() else { return };
    let server = ChartServer::start().await;
    server.publish("app", "1.0.0", &page("first"));
    let dir = module(&w, &in_registry(&server));
    let built = w.opm(&["mod", "build", &dir]).await.ok();
    let text = built.stdout().to_owned();
    let [kept] = cached(&w, "tgz").try_into().expect("one archive");
    for damage in [page("somebody else's"), Vec::new()] {
        fs::write(&kept, damage).unwrap();
        let again = w.opm(&["mod", "build", &dir]).await.ok();
        assert_eq!(again.stdout(), text);
        again.says("fetching");
    }
    // What somebody else could have written is not believed.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(&kept, open).unwrap();
    w.opm(&["mod", "build", &dir]).await.ok().says("fetching");
}

async fn another_archive_than_the_module_names_is_refused(w: World) {
    let Some(w) = w.with_helm() else { return };
    let server = ChartServer::start().await;
    let (first, second) = (page("first"), page("second"));
    server.publish("app", "1.0.0", &second);
    let mut chart = in_registry(&server);
    chart["digest"] = digest(&first).into();
    let dir = module(&w, &chart);
    w.opm(&["mod", "apply", &dir])
        .await
        .ends(2)
        .says("is another one than the module names")
        .says(&digest(&second));
    assert!(cached(&w, "tgz").is_empty(), "it is not kept");
    server.publish("app", "1.0.0", &first);
    w.opm(&["mod", "apply", &dir]).await.ok();
    shows(&w, "first").await;
}

async fn credentials_of_the_user_count_for_fetching(w: World) {
    let Some(w) = w.with_helm() else { return };
    let server = ChartServer::start().await;
    server.publish("app", "1.0.0", &page("first"));
    server.require("me", "hunter2");
    let dir = module(&w, &in_registry(&server));
    w.opm(&["mod", "build", &dir])
        .await
        .ends(2)
        .says("failed to fetch the chart")
        .says(&format!("`helm registry login {}`", server.host()));
    let login = w.dir().join(".config/helm/registry");
    fs::create_dir_all(&login).unwrap();
    // As `helm registry login` writes it: me:hunter2.
    let auths = json!({"auths": {server.host(): {"auth": "bWU6aHVudGVyMg=="}}});
    fs::write(login.join("config.json"), auths.to_string()).unwrap();
    w.opm(&["mod", "build", &dir])
        .await
        .ok()
        .never_says("hunter2");
}

async fn charts_that_cannot_be_had_are_told(w: World) {
    let Some(w) = w.with_helm() else { return };
    let server = ChartServer::start().await;
    server.publish("app", "1.0.0", &page("first"));
    let (oci, repo) = (server.reference("app"), server.repository());
    for (chart, expected) in [
        (
            json!({"ref": oci, "version": "3.0.0", "plainHTTP": true}),
            "failed to fetch the chart",
        ),
        (
            json!({"ref": "none", "repo": repo, "version": "1.0.0"}),
            "not found in http://",
        ),
        (
            json!({"ref": "app", "repo": "http://127.0.0.1:1/charts", "version": "1.0.0"}),
            "failed to fetch the chart http://127.0.0.1:1/charts app@1.0.0",
        ),
        (
            json!({"ref": oci, "plainHTTP": true}),
            "the exact `version`",
        ),
        (
            json!({"ref": oci, "version": "^1", "plainHTTP": true}),
            "the exact `version`",
        ),
        (
            json!({"ref": "oci://example.com/app", "version": "1.0.0", "plainHTTP": true}),
            "without TLS only from this machine's loopback",
        ),
        (
            json!({"ref": "app", "repo": "http://example.com", "version": "1.0.0"}),
            "without TLS only from this machine's loopback",
        ),
    ] {
        let dir = module(&w, &chart);
        w.opm(&["mod", "apply", &dir]).await.ends(2).says(expected);
    }
    assert!(w.find_record("shop").await.is_none(), "nothing is touched");
}

async fn hostile_archives_are_refused_or_harmless(w: World) {
    let Some(w) = w.with_helm() else { return };
    let w = w.with_env("OPM_RENDER_TIMEOUT", "30");
    let server = ChartServer::start().await;
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: page}\ndata: {text: ok}\n";
    let chart = [
        ("app/Chart.yaml", file(ABOUT)),
        ("app/templates/page.yaml", file(template)),
    ];
    let outside = w.dir().join("outside");
    fs::write(
        &outside,
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: outside}\n",
    )
    .unwrap();
    let zeros = |megabytes: usize| ArchiveEntry::File(vec![b'0'; megabytes << 20]);
    let with = |more: Vec<(&str, ArchiveEntry)>| archive(chart.iter().cloned().chain(more));
    let refused: [(&str, Vec<u8>); 4] = [
        (
            "a path out",
            with(vec![("app/../../evil.yaml", file("a: b"))]),
        ),
        ("a large file", with(vec![("app/files/large", zeros(300))])),
        ("no archive", b"hello".to_vec()),
        ("half an archive", page("half")[..100].to_vec()),
    ];
    for (what, bytes) in refused {
        server.publish("app", "1.0.0", &bytes);
        let dir = module(&w, &in_registry(&server));
        let ran = w.opm(&["mod", "apply", &dir]).await.ends(2);
        let said = "helm cannot read the archive";
        assert!(ran.to_string().contains(said), "{what}: {ran}");
        assert!(!Path::new("/evil.yaml").exists() && !w.dir().join("evil.yaml").exists());
    }
    assert!(w.find_record("shop").await.is_none(), "nothing is touched");
    // A link leads nowhere: nothing is unpacked.
    let target = outside.display().to_string();
    let linked = with(vec![(
        "app/templates/link.yaml",
        ArchiveEntry::Link(target),
    )]);
    server.publish("app", "1.0.0", &linked);
    w.opm(&["mod", "apply", &module(&w, &in_registry(&server))])
        .await
        .ok();
    w.holds_exactly("shop", &["ConfigMap/page"]).await;
}
