//! What every page shows, and who may see it.

use std::time::Duration;

use super::{HOSTILE, SECRET, World, digest_of};

#[tokio::test(flavor = "multi_thread")]
async fn every_page_shows_what_the_engine_says_and_nothing_more() {
    let world = World::new().await;
    assert!(world.get("/").await.contains("There are no releases."));
    world.apply("first").await;
    world.apply(HOSTILE).await;
    world
        .until_it_shows("/", "/live/releases", "href=\"/releases/default/web\"")
        .await;
    assert!(world.get("/?q=WEB").await.contains("1 of 1"));
    assert!(world.get("/?q=other").await.contains("No release matches."));
    assert!(world.get("/?health=true").await.contains("Ready"));
    let release = "/releases/default/web";
    let history = world.get(&format!("{release}/history")).await;
    let changes: Vec<&str> = history.split("/compare?to=").skip(1).collect();
    let changes = changes.iter().map(|rest| rest.split('"').next().unwrap());
    let changes: Vec<&str> = changes.collect();
    let [new, old] = changes[..] else {
        panic!("{history}");
    };
    let pages = [
        ("".to_owned(), "ConfigMap/settings"),
        ("/tree".to_owned(), "Secret/token"),
        ("/history".to_owned(), "#2"),
        (
            format!("/compare?from={old}&to={new}"),
            "<del>&quot;first&quot;</del>",
        ),
        (
            format!("/compare?from={old}&to={new}"),
            "greeting</code></th><td><del>&quot;first&quot;",
        ),
        (
            format!("/compare?from={old}&to={new}"),
            "database.pass</code></th><td colspan=\"2\">changed, and not shown",
        ),
        (format!("/compare?to={old}"), "The first change"),
        (format!("/rollback?to={old}"), "configured"),
        (
            format!("/rollback?to={old}"),
            "data.text</code></th><td><del>",
        ),
        (
            "/history".to_owned(),
            "#1 apply <span class=\"state good\">succeeded",
        ),
        ("/manifests".to_owned(), "As applied in"),
        (
            "/object?kind=ConfigMap&in=default&name=settings".to_owned(),
            "Owners",
        ),
        (
            "/object?kind=Secret&in=default&name=token".to_owned(),
            "key: &quot;(masked)&quot;",
        ),
        ("/events".to_owned(), "There are no events."),
        ("/logs".to_owned(), "There are no containers to ask."),
    ];
    let encoded = "Q0FOQVJZ";
    for (place, expected) in pages {
        let page = world.get(&format!("{release}{place}")).await;
        assert!(page.contains(expected), "{place}: {page}");
        let plain = page.matches("<script").count();
        assert_eq!(plain, 1, "{place}: {page}");
        for hidden in ["\u{202e}", "\u{1b}", SECRET, encoded] {
            assert!(!page.contains(hidden), "{place}: {hidden:?} in {page}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_not_let_in_sees_nothing_and_every_answer_is_for_one_browser() {
    let world = World::new().await;
    world.apply("first").await;
    let host = format!("Host: {}\r\n", world.address);
    let cookie = format!("Cookie: {}\r\n", world.cookie);
    let entrance = format!("/?token={}", world.token);
    for (path, headers, code) in [
        ("/", format!("{host}{cookie}"), 200),
        ("/style.css", format!("{host}{cookie}"), 200),
        ("/", host.clone(), 401),
        ("/releases/default/web", host.clone(), 401),
        ("/live/releases", host.clone(), 401),
        ("/", format!("Host: example.com\r\n{cookie}"), 403),
        (
            "/",
            format!("{host}{cookie}Origin: http://example.com\r\n"),
            403,
        ),
        (&entrance, "Host: example.com\r\n".to_owned(), 403),
        (&entrance, host.clone(), 303),
        ("/releases/default/other", format!("{host}{cookie}"), 404),
        ("/releases/default/..%2f", format!("{host}{cookie}"), 404),
        ("/nowhere", format!("{host}{cookie}"), 404),
    ] {
        let (head, body) = world.ask(path, &headers).await;
        let begin = format!("HTTP/1.1 {code} ");
        assert!(head.starts_with(&begin), "{path} {headers}: {head}");
        for said in [
            "content-security-policy: default-src 'none'",
            "cache-control: no-store",
            "x-content-type-options: nosniff",
        ] {
            assert!(head.contains(said), "{path}: {head}");
        }
        assert!(code == 200 || !body.contains("web</a>"), "{body}");
        assert!(!body.contains(&world.token), "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_is_told_to_all_who_look_at_it() {
    let world = World::new().await;
    world.apply("first").await;
    for page in ["/releases/default/web", "/"] {
        let live = match page {
            "/" => "/live/releases".to_owned(),
            page => format!("/live{page}"),
        };
        let (mut one, mut two) = (world.follow(&live).await, world.follow(&live).await);
        // What is not known at first is told when it is.
        let whole = format!("{page}?whole=true");
        for looking in [&mut one, &mut two] {
            while looking.next().await != digest_of(&world.get(&whole).await) {}
        }
        let shown = world.get(&whole).await;
        world.apply(&format!("another at {page}")).await;
        // A change may be told in more than one step, and what was shown just now once more.
        loop {
            let told = one.next().await;
            if told != digest_of(&shown) && told == digest_of(&world.get(page).await) {
                break;
            }
        }
        while two.next().await == digest_of(&shown) {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_shows_who_owns_which_field_and_what_changed() {
    let world = World::new().await;
    world.apply("first").await;
    let place = |kind: &str, name: &str| {
        format!("/releases/default/web/object?kind={kind}&in=default&name={name}")
    };
    let settings = place("ConfigMap", "settings");
    let page = world.get(&settings).await;
    let owned = "text: &quot;first&quot; <span class=\"owner owner-0\">1</span>";
    assert!(page.contains(owned), "{page}");
    for expected in ["Recorded", "Digest", "In <code", "(this release)"] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    // Somebody writes past the release, and who looks is told.
    let live = page.split("data-live=\"").nth(1).unwrap();
    let live = live.split('"').next().unwrap().replace("&amp;", "&");
    let mut told = world.follow(&live).await;
    assert_eq!(told.next().await, digest_of(&page));
    let patch = serde_json::json!({"data": {"text": "another", "more": "<b>"}});
    world.patch("configmaps/settings", &patch).await;
    assert_ne!(told.next().await, digest_of(&page));
    // A change that is no drift is one all the same.
    let before = world.get(&settings).await;
    let patch = serde_json::json!({"metadata": {"annotations": {"note": "seen"}}});
    world.patch("configmaps/settings", &patch).await;
    loop {
        let digest = told.next().await;
        let page = world.get(&settings).await;
        if page.contains("note: &quot;seen&quot;") && digest == digest_of(&page) {
            assert_ne!(digest, digest_of(&before));
            break;
        }
    }
    let patch = serde_json::json!({"stringData": {"key": format!("{SECRET}-edited")}});
    world.patch("secrets/token", &patch).await;
    let page = world.get(&settings).await;
    for expected in [
        "<code>data.text</code> by intruder",
        "<del>&quot;first&quot;</del></td><td><ins>&quot;another&quot;</ins>",
        "more: &quot;&lt;b&gt;&quot; <span class=\"owner owner-1\">2</span>",
    ] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    let page = world.get(&place("Secret", "token")).await;
    assert!(
        page.contains("data.key</code></th><td colspan=\"2\">changed, and not shown"),
        "{page}"
    );
    assert!(
        !page.contains(SECRET) && !page.contains("Q0FOQVJZ"),
        "{page}"
    );
    // An object of nobody, or of somebody else, is none of this release.
    let (head, body) = world
        .ask(&place("ConfigMap", "other"), &world.headers())
        .await;
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}\n{body}");
    assert!(
        body.contains("ConfigMap/other in namespace default is not an object of web"),
        "{body}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_health_of_all_releases_comes_by_itself() {
    let world = World::new().await;
    world.apply("first").await;
    let list = world.get("/").await;
    assert!(list.contains("<span class=\"looking\">…</span>"), "{list}");
    // Who has no script waits for it.
    assert!(list.contains("&amp;health=true\">Wait until"), "{list}");
    let mut told = world.follow("/live/releases").await;
    loop {
        let digest = told.next().await;
        let list = world.get("/").await;
        // The list may be newer than what was told; then that is told next.
        if list.contains(">Ready</span>") && digest == digest_of(&list) {
            assert!(list.contains("<small>apply by test, <time"), "{list}");
            assert!(!list.contains("drifted"), "{list}");
            break;
        }
    }
    // Somebody writes past the release: it is counted, and found by the word for it.
    let patch = serde_json::json!({"data": {"text": "another"}});
    world.patch("configmaps/settings", &patch).await;
    let list = world.until_it_shows("/", "/live/releases", "1 drifted");
    list.await;
    assert!(world.get("/?q=Drifted").await.contains("1 of 1"));
    assert!(
        world
            .get("/?q=Degraded")
            .await
            .contains("No release matches.")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_long_is_shown_without_its_objects_at_first() {
    let world = World::with(None, Duration::ZERO).await;
    world.apply("first").await;
    let place = "/releases/default/web";
    let frame = world.get(place).await;
    assert!(
        frame.contains("Its objects are being looked at."),
        "{frame}"
    );
    assert!(!frame.contains("ConfigMap/settings"), "{frame}");
    // The page is told when they were, and asks again.
    let mut told = world.follow(&format!("/live{place}")).await;
    let digest = told.next().await;
    assert_ne!(digest, digest_of(&frame));
    let page = world.get(place).await;
    assert!(page.contains("ConfigMap/settings"), "{page}");
    assert_eq!(digest, digest_of(&page));
    // Who has no script waits for it.
    assert!(frame.contains("?whole=true"), "{frame}");
    let other = World::with(None, Duration::ZERO).await;
    other.apply("first").await;
    let page = other.get(&format!("{place}?whole=true")).await;
    assert!(page.contains("ConfigMap/settings"), "{page}");
}
