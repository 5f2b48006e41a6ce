//! The end of every history: the world is calm, everything that was on its way has landed, and
//! one more apply, or a delete, brings each release to order.

use std::collections::BTreeSet;
use std::time::Duration;

use opm_engine::report::Action as Did;
use opm_engine::{Failure, FailureKind, Report};

use crate::client::{Client, Outcome};
use crate::ledger::{Actor, Life, contains, is_labelled};
use crate::machine::MachineClock;
use crate::meddler;
use crate::mistakes::Mistake;
use crate::plan::{
    Action, ApplyFlags, DeleteFlags, Kind, ModulePlan, ObjectPlan, Optional, Plan, ReleaseIndex,
    Step,
};
use crate::rules;
use crate::server::Server;

/// Longer than anything is on its way, and than any lock holds.
const CALM: Duration = Duration::from_secs(300);

struct Finale<'a> {
    client: Client,
    server: &'a Server,
    steps: usize,
}

pub(crate) async fn bring_to_order(server: &Server, plan: &Plan, mistake: Option<Mistake>) {
    server.clear_weather();
    tokio::time::sleep(CALM).await;
    meddler::let_go(server).await;
    let at = server.time.millis();
    server.ledger().say(at, "everything is calm");
    let client = Client::new(
        plan.clients.len(),
        server,
        MachineClock::RIGHT,
        plan,
        mistake,
    );
    let mut finale = Finale {
        client,
        server,
        steps: 0,
    };
    let touched: BTreeSet<ReleaseIndex> = {
        let steps = plan.clients.iter().flat_map(|client| &client.steps);
        steps.filter_map(|step| step.action.release()).collect()
    };
    for release in touched {
        if finale.release(release, plan).await.is_none() {
            return;
        }
    }
}

impl Finale<'_> {
    async fn act(&mut self, action: Action) -> Option<Result<Outcome, Failure>> {
        let step = Step {
            rest: 0,
            action,
            faults: Vec::new(),
            fate: None,
        };
        self.steps += 1;
        self.client.step(self.steps, &step).await
    }

    fn violate(&self, rule: &'static str, text: String) {
        let at = self.server.time.millis();
        self.server.ledger().violate(rule, at, text);
    }

    /// None if it did not come to order.
    async fn release(&mut self, release: ReleaseIndex, plan: &Plan) -> Option<()> {
        let module = wanted(release, plan.seed);
        let flags = ApplyFlags {
            patient: true,
            ..ApplyFlags::default()
        };
        let meddled = self.server.ledger().meddled_since(release, 0);
        let apply = Action::Apply(release, module.clone(), flags);
        if meddled {
            // A record that was damaged or lost is rebuilt first.
            let _ = self.act(Action::Repair(release)).await?;
        }
        if plan.seed % 4 == 1 {
            self.delete(release).await?;
        }
        let result = self.act(apply.clone()).await?;
        if let Err(failure) = &result {
            let text = format!("apply of {}: {}", release.name(), failure.message);
            self.violate(rules::ORDER, text);
            return None;
        }
        if plan.seed.is_multiple_of(3) {
            self.there_and_back(release, &module, flags).await?;
        }
        let again = self.act(apply).await?;
        self.all_unchanged(release, &again);
        self.nothing_lost(release, false).await;
        self.delete(release).await
    }

    /// Deletes it, without its hooks if they are in the way. None if it could not be deleted.
    async fn delete(&mut self, release: ReleaseIndex) -> Option<()> {
        meddler::make_room(self.server, release).await;
        let mut flags = DeleteFlags {
            lift_guards: true,
            patient: true,
            ..DeleteFlags::default()
        };
        let mut deleted = self.act(Action::Delete(release, flags)).await?;
        if deleted.is_err() {
            flags.no_hooks = true;
            deleted = self.act(Action::Delete(release, flags)).await?;
        }
        if let Err(failure) = deleted
            && failure.kind != FailureKind::NotFound
        {
            let text = format!("delete of {}: {}", release.name(), failure.message);
            self.violate(rules::ORDER, text);
            return None;
        }
        // What finalizers and graces hold is gone soon.
        tokio::time::sleep(CALM).await;
        self.nothing_lost(release, true).await;
        Some(())
    }

    /// Another change, and back: the objects are the very ones.
    async fn there_and_back(
        &mut self,
        release: ReleaseIndex,
        module: &ModulePlan,
        flags: ApplyFlags,
    ) -> Option<()> {
        let mut other = module.clone();
        for object in &mut other.objects {
            object.value = 3;
        }
        for action in [
            Action::Apply(release, other, flags),
            Action::Rollback(release, flags),
        ] {
            let word = action.to_string();
            if let Err(failure) = self.act(action).await? {
                self.violate(rules::ORDER, format!("{word}: {}", failure.message));
                return None;
            }
        }
        for object in &module.objects {
            let live = self.server.get(&object.path()).await;
            let wanted = object.stored_content();
            if !live.is_some_and(|live| contains(&live, &wanted)) {
                self.violate(rules::VERY_OBJECTS, format!("{object} is not back"));
            }
        }
        Some(())
    }

    fn all_unchanged(&self, release: ReleaseIndex, again: &Result<Outcome, Failure>) {
        let report: &Report = match again {
            Ok(Outcome::Report(report)) => report,
            Ok(_) => return,
            Err(failure) => {
                let text = format!("second apply of {}: {}", release.name(), failure.message);
                self.violate(rules::UNCHANGED, text);
                return;
            }
        };
        for outcome in &report.resources {
            if !matches!(outcome.action, Did::Unchanged | Did::Kept) {
                let (name, word) = (&outcome.identity.name, outcome.action.word());
                self.violate(rules::UNCHANGED, format!("{name} was {word} once more"));
            }
        }
    }

    /// Whatever belongs to the release is tracked, or at least labelled; nothing at all is left
    /// when it is deleted, but what was to stay.
    async fn nothing_lost(&self, release: ReleaseIndex, deleted: bool) {
        let lives: Vec<String> = {
            let ledger = self.server.ledger();
            let own = ledger.objects.values();
            let own = own.filter(|life| life.until.is_none() && !life.remade);
            let own = own.filter(|life| life.owners.contains(&release));
            // What loses its label, and its record as well or before it was recorded, is nobody's.
            let mut moments = ledger.moments(release).iter();
            let meddled = moments.any(|moment| moment.by == Actor::Meddler);
            let recorded = |life: &&Life| life.recorded_by.contains(&release);
            let own = own.filter(|life| !(life.stripped && (meddled || !recorded(life))));
            own.map(|life| life.path.clone()).collect()
        };
        let secret = format!(
            "/api/v1/namespaces/default/secrets/{}",
            crate::ledger::record_name(release)
        );
        let record = self
            .server
            .get(&secret)
            .await
            .map(|secret| decoded(&secret));
        let record = record.unwrap_or_default();
        for path in lives {
            let Some(object) = self.server.get(&path).await else {
                continue;
            };
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let kind = object["kind"].as_str().unwrap_or_default();
            let tracked = record
                .iter()
                .any(|text| text.contains(&format!("\"{name}\"")) && text.contains(kind));
            let labelled = is_labelled(&object);
            if !tracked && (deleted || !labelled) {
                let text = format!(
                    "{path} of {} is {} and in no record{}",
                    release.name(),
                    if labelled { "labelled" } else { "not labelled" },
                    if deleted { " after its delete" } else { "" }
                );
                self.violate(rules::NOTHING_LOST, text);
            }
        }
    }
}

/// What is in a Secret, key by key.
fn decoded(secret: &serde_json::Value) -> Vec<String> {
    use base64::Engine as _;
    let data = secret["data"].as_object().into_iter().flatten();
    data.filter(|(key, _)| key.as_str() != "log")
        .filter_map(|(_, value)| {
            let bytes = base64::prelude::BASE64_STANDARD
                .decode(value.as_str()?)
                .ok()?;
            String::from_utf8(bytes).ok()
        })
        .collect()
}

/// A module that no other release's can collide with.
fn wanted(release: ReleaseIndex, seed: u64) -> ModulePlan {
    let name = 100 + u8::try_from(release.0).unwrap_or_default();
    let object = |kind, name| ObjectPlan {
        kind,
        name,
        elsewhere: false,
        housed: false,
        value: u8::try_from(seed % 3).unwrap_or_default(),
        stays: false,
        shared: false,
        hook: None,
    };
    ModulePlan {
        objects: vec![
            object(Kind::ConfigMap, name),
            object(Kind::Deployment, name),
            object(Kind::Secret, name + 20),
        ],
        in_order: false,
        optional: Optional::No,
        bulk: 0,
    }
}
