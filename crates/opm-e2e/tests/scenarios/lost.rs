//! Applies after the record was lost (scenario E): what is the release's own is recognised, and
//! what the render no longer has is named.

use opm_e2e::{KillOutcome, Moment, World, note, scenarios, set};

use super::damages::damage;
use super::repair::{module, repair};

scenarios! {
    an_apply_after_loss_knows_its_own_and_names_the_rest,
    a_first_apply_stays_cheap,
    a_killed_repair_is_repaired,
}

async fn an_apply_after_loss_knows_its_own_and_names_the_rest(w: World) {
    let with = |names: &[&str]| module("web", names);
    for flags in [&[][..], &["--no-record"]] {
        w.apply(&with(&["a", "b"]), flags).await.ok();
        w.delete_record("web").await;
        // What would happen, and what then does: nothing has to be adopted, nothing is removed.
        let shown = w
            .diff(&with(&["a"]), &[])
            .await
            .ok()
            .says("ConfigMap/web-b");
        assert_eq!(
            shown.action("ConfigMap/web-a").as_deref(),
            Some("unchanged"),
            "{shown}"
        );
        let applied = w.apply(&with(&["a"]), flags).await.ok();
        let applied = applied
            .says("ConfigMap/web-b")
            .says("opm mod repair")
            .says("label-orphan-pruning");
        assert_eq!(
            applied.action("ConfigMap/web-a").as_deref(),
            Some("unchanged"),
            "{applied}"
        );
        assert!(w.exists("ConfigMap/web-b").await);
        // As hinted: repair takes it up, the next apply removes it.
        repair(&w, "web", &["--yes"]).await.ok();
        let pruned = w.apply(&with(&["a"]), flags).await.ok();
        assert_eq!(
            pruned.action("ConfigMap/web-b").as_deref(),
            Some("pruned"),
            "{pruned}"
        );
        w.holds_exactly("web", &["ConfigMap/web-a", "Secret/web-creds"])
            .await;
    }
}

async fn a_first_apply_stays_cheap(w: World) {
    let module = module("web", &["a", "b"]);
    let dir = w.write(&module);
    let (first, tally) = w.counted(&["mod", "apply", &dir]).await;
    first.ok();
    // By label: one list for each of the two rendered kinds, Secrets among them; one for a record
    // under another name, one for record Secrets, one for autoscalers at most.
    let lists: usize = tally
        .iter()
        .filter(|(what, _)| what.starts_with("list "))
        .map(|(_, n)| n)
        .sum();
    let all: usize = tally.values().sum();
    note(&format!(
        "a first apply of 3 objects: {all} requests, {lists} of them lists: {tally:?}"
    ));
    assert!(lists <= 5, "{tally:?}");
}

/// Wherever a repair is killed among its writes, the next one finds everything again: also between
/// the removal of a Secret of the wrong type and the creation of the right one.
async fn a_killed_repair_is_repaired(w: World) {
    w.apply(&module("web", &["a", "b"]), &[]).await.ok();
    let arguments = ["mod", "repair", "web", "--yes", "-o", "json"];
    let mut kills = 0;
    for how in ["deleted", "wrong type"] {
        damage(&w, "web", how).await;
        let all = w.requests_of(&arguments).await;
        // Its writes come last; before them it only looks.
        for nth in all.saturating_sub(5)..=all {
            for moment in [Moment::Before, Moment::After] {
                damage(&w, "web", how).await;
                let killed = w.killed_at(nth, moment, &arguments).await;
                kills += usize::from(killed == KillOutcome::Killed);
                assert_ne!(killed, KillOutcome::Failed, "{how}, {nth}");
                repair(&w, "web", &["--yes"]).await.ok();
                let record = w.record("web").await;
                let known = ["ConfigMap/web-a", "ConfigMap/web-b", "Secret/web-creds"];
                assert_eq!(record.inventory(), set(known), "{how}, {nth}");
                assert_eq!(record.pending(), set([]), "{how}, {nth}");
            }
        }
    }
    assert!(kills >= 12, "{kills} kills");
    let applied = w.apply(&module("web", &["a"]), &[]).await.ok();
    let pruned = applied.action("ConfigMap/web-b");
    assert_eq!(pruned.as_deref(), Some("pruned"), "{applied}");
    w.holds_exactly("web", &["ConfigMap/web-a", "Secret/web-creds"])
        .await;
}
