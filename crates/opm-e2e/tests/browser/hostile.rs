//! Content that would do something if it were not text, and requests of others.

use opm_e2e::objects::config_map;
use opm_e2e::{Module, World, api, scenarios};
use opm_testkit::browser::Browser;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::page::Page;

scenarios! {
    whatever_a_cluster_says_is_text,
    others_are_refused,
}

/// A name that a role may have.
const NAME: &str = "<script>window.hit=1;alert(1)";
/// Markup, script, a turn of the direction of writing, and what a terminal would obey.
const TEXT: &str =
    "</pre><script>window.hit=1;alert(2)</script><svg onload=alert(3)>\u{202e}\u{1b}[31m";

async fn whatever_a_cluster_says_is_text(w: World) {
    let mut settings = config_map("settings", TEXT);
    settings["metadata"]["annotations"] = json!({"example.com/note": TEXT});
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": NAME}, "rules": []});
    let module = |value: &str| {
        let mut other = settings.clone();
        other["data"]["more"] = json!(value);
        Module::new("web").component("app", &[other, role.clone()])
    };
    w.apply(&module("1"), &[]).await.ok();
    w.apply(&module(TEXT), &[]).await.ok();
    let owner = w.api.get(&api::object("ConfigMap/settings", &w.ns)).await;
    let uid = owner.unwrap()["metadata"]["uid"].clone();
    let about = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "settings",
        "namespace": w.ns, "uid": uid});
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "settings.1"},
        "involvedObject": about, "reason": "<b>Failed", "message": TEXT, "type": "Warning",
        "lastTimestamp": "2026-01-01T00:00:00Z", "count": 1});
    w.api.create(&w.ns, &event).await;
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "below", "ownerReferences": [{"apiVersion": "v1",
            "kind": "ConfigMap", "name": "settings", "uid": uid}]},
        "spec": {"containers": [{"name": "main", "image": "example.com/main:1"}]}});
    w.api.create(&w.ns, &pod).await;
    let dir = w.write(&module("<i>planned"));
    let log = format!("2026-01-01T00:00:01Z {TEXT}\n");
    let Some(page) = Page::open(&w, &[&dir], &log).await else {
        return;
    };
    let browser = &page.browser;
    let release = |place: &str| format!("{}{place}", page.release);
    let search = "/?q=%3Cscript%3Ewindow.hit%3D1%3C%2Fscript%3E".to_owned();
    let (name, text) = (NAME, "<script>window.hit=1;alert(2)");
    for (place, expected) in [
        (search, "No release matches."),
        (release(""), name),
        (release("/tree"), name),
        (page.object(&w, "", "ConfigMap", "settings"), text),
        (page.object(&w, "", "Pod", "below"), text),
        (release("/compare?to=current"), text),
        (release("/rollback"), text),
        (release("/manifests"), name),
        (release("/events"), text),
        (release("/logs"), text),
        ("/plan".to_owned(), "<i>planned"),
        ("/releases/default/%3Cimg%20src%3Dx%3E".to_owned(), ""),
    ] {
        page.go(&place).await;
        browser.until_it_shows(expected).await;
        assert!(!browser.has_dialog().await, "{place}");
        let script = "const made = document.querySelectorAll('img, svg, b, i, script:not([src])'); \
                      const all = document.documentElement.outerHTML; \
                      return [window.hit === undefined, made.length, document.scripts.length, \
                      /[\\u202e\\u001b]/.test(all)]";
        let found = browser.run(script, &[]).await;
        assert_eq!(found, json!([true, 0, 1, false]), "{place}");
    }
    page.close().await;
}

async fn others_are_refused(w: World) {
    let module = Module::new("web").component("app", &[config_map("a", "1")]);
    w.apply(&module, &[]).await.ok();
    let Some(page) = Page::open(&w, &["--allow-changes"], "").await else {
        return;
    };
    let browser = &page.browser;
    page.go_to_release("/delete").await;
    let token = browser.run("return document.forms[0].token.value", &[]);
    let token = token.await.as_str().unwrap().to_owned();
    // Another site of this machine, which even knows the token of the form: its requests bear the
    // cookie, as ports do not tell sites apart.
    let target = format!("{}{}/delete", page.base, page.release);
    let other = other_site(format!(
        "<form method=post action=\"{target}\"><input name=token value=\"{token}\"><input \
         name=confirm value=web><button>Win</button></form>"
    ))
    .await;
    browser.open(&other).await;
    browser.click("button").await;
    browser
        .until_it_shows("the request comes from another origin")
        .await;
    browser.open(&other).await;
    let script = "return fetch(arguments[0], {credentials: 'include'}).then((answer) => \
                  answer.text(), () => 'kept from it')";
    let read = browser.run(script, &[json!(page.base)]).await;
    assert!(!read.to_string().contains("web</a>"), "{read}");
    // The release is still there, and whoever has no token sees nothing of it.
    page.go_to_release("").await;
    browser.until_it_shows("ConfigMap/a").await;
    let Some(stranger) = Browser::start().await else {
        return;
    };
    for place in ["/", &page.release] {
        stranger.open(&format!("{}{place}", page.base)).await;
        let text = stranger.text().await;
        assert!(text.contains("its token is missing here"), "{text}");
        assert!(!text.contains("ConfigMap"), "{text}");
    }
    page.close().await;
}

/// A site of somebody else on this machine that shows this.
async fn other_site(body: String) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = [0; 4096];
            let _ = stream.read(&mut asked).await;
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: \
                 close\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    address
}
