//! A module that somebody works on: its plan, and what can be done from the page.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;
use opm_engine::request::ApplyRequest;
use opm_engine::{Failure, FailureKind};
use opm_page::PlanSource;

use super::{HANG, SECRET, World, digest_of, rendered, write_module};

/// A module whose files are numbers.
struct Numbered {
    number: AtomicU64,
    dir: PathBuf,
}

impl PlanSource for Numbered {
    fn request(&self) -> BoxFuture<'_, Result<ApplyRequest, Failure>> {
        Box::pin(async {
            let number = self.stamp();
            if number == 3 {
                return Err(Failure::new(
                    FailureKind::Refused,
                    "module.yaml:3: <no> name",
                ));
            }
            write_module(&self.dir, &format!("number {number}"));
            Ok(rendered(&self.dir).await)
        })
    }

    fn stamp(&self) -> u64 {
        self.number.load(Ordering::Relaxed)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_follows_the_files_of_its_module() {
    let dir = tempfile::tempdir().unwrap();
    let plan = Arc::new(Numbered {
        number: 1.into(),
        dir: dir.path().join("web"),
    });
    let world = World::with(Some(plan.clone()), HANG).await;
    world.apply("number 1").await;
    let page = world.get("/plan").await;
    assert!(page.contains("An apply would change nothing."), "{page}");
    let mut told = world.follow("/live/plan").await;
    assert_eq!(told.next().await, digest_of(&page));
    plan.number.store(2, Ordering::Relaxed);
    let now = told.next().await;
    let page = world.get("/plan").await;
    assert_eq!(now, digest_of(&page));
    let change = "<del>&quot;number 1&quot;</del></td><td><ins>&quot;number 2&quot;</ins>";
    assert!(page.contains(change), "{page}");
    assert!(!page.contains(SECRET), "{page}");
    // What does not render says why, and the page goes on when it does again.
    plan.number.store(3, Ordering::Relaxed);
    told.next().await;
    let page = world.get("/plan").await;
    assert!(page.contains("module.yaml:3: &lt;no&gt; name"), "{page}");
    plan.number.store(1, Ordering::Relaxed);
    told.next().await;
    let page = world.get("/plan").await;
    assert!(page.contains("An apply would change nothing."), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_done_is_what_was_shown_and_confirmed() {
    let dir = tempfile::tempdir().unwrap();
    let plan = Arc::new(Numbered {
        number: 1.into(),
        dir: dir.path().join("web"),
    });
    let world = World::with(Some(plan.clone()), HANG).await;
    let shown = world.get("/plan").await;
    let run = world.carry_out(&shown, "/plan").await;
    assert!(
        run.contains("succeeded") && run.contains("ConfigMap/settings"),
        "{run}"
    );
    // Somebody else was faster: what was shown is no longer what would happen.
    plan.number.store(2, Ordering::Relaxed);
    let shown = world.get("/plan").await;
    world.apply("number 9").await;
    let run = world.carry_out(&shown, "/plan").await;
    assert!(run.contains("failed"), "{run}");
    let release = "/releases/default/web";
    let back = format!("{release}/rollback");
    let shown = world.get(&back).await;
    let run = world.carry_out(&shown, &back).await;
    assert!(run.contains("succeeded"), "{run}");
    let manifests = world.get(&format!("{release}/manifests")).await;
    assert!(manifests.contains("number 1"), "{manifests}");
    // Not without the name, the form's own token, and this page's origin.
    let delete = format!("{release}/delete");
    let shown = world.get(&delete).await;
    let token = shown.split("name=\"token\" value=\"").nth(1).unwrap();
    let token = token.split('"').next().unwrap();
    assert_ne!(token, world.token);
    let origin = format!("Origin: http://{}\r\n", world.address);
    let headers = world.headers();
    for (form, origin, code) in [
        (format!("token={token}&confirm=wbe"), origin.as_str(), 409),
        (format!("token={}&confirm=web", world.token), &origin, 409),
        ("confirm=web".to_owned(), &origin, 409),
        (format!("token={token}&confirm=web"), "", 403),
        (
            format!("token={token}&confirm=web"),
            "Origin: http://example.com\r\n",
            403,
        ),
    ] {
        let (head, body) = world
            .post(&delete, &format!("{headers}{origin}"), &form)
            .await;
        assert!(
            head.starts_with(&format!("HTTP/1.1 {code} ")),
            "{form}: {head}\n{body}"
        );
    }
    world.get(release).await;
    let run = world.carry_out(&shown, &delete).await;
    assert!(
        run.contains("succeeded") && run.contains("deleted"),
        "{run}"
    );
    assert!(world.get("/").await.contains("There are no releases."));
}
