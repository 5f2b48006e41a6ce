//! A client: the engine as it is shipped, on a simulated machine, doing its steps.

use std::sync::Arc;
use std::time::Duration;

use opm_cluster::{ClusterClient, KubeClient, SystemClock};
use opm_engine::diff::DiffReport;
use opm_engine::list::Listing;
use opm_engine::repair::RepairReport;
use opm_engine::status::Status;
use opm_engine::{Actor as Person, Engine, Failure, History, Report, Settings};
use tokio_util::sync::CancellationToken;

use crate::ledger::Actor;
use crate::machine::{Machine, MachineClock, Process};
use crate::mistakes::{Mistake, Mistaken};
use crate::network::Network;
use crate::plan::{Action, Fate, ObjectPlan, Plan, Step};
use crate::rules;
use crate::server::Server;
use crate::truth::{self, Span};

/// Longer than any command may take, all its time-outs together.
const FOR_EVER: Duration = Duration::from_secs(6 * 3600);

/// One client.
pub(crate) struct Client {
    index: usize,
    pub(crate) server: Server,
    machine: Arc<Machine>,
    network: Network,
    pub(crate) engine: Engine,
}

/// What a command came to that ended well.
pub(crate) enum Outcome {
    Report(Box<Report>),
    Diff(Box<DiffReport>),
    Status(Box<Status>),
    List(Box<Listing>),
    History(Box<History>),
    Repair(Box<RepairReport>),
}

impl Client {
    pub(crate) fn new(
        index: usize,
        server: &Server,
        clock: MachineClock,
        plan: &Plan,
        mistake: Option<Mistake>,
    ) -> Self {
        let machine = Machine::new(server.time, clock, plan.seed ^ (index as u64 + 1));
        let network = Network::new(server.clone(), machine.clone(), index);
        let cluster = ClusterClient::from_client(KubeClient::new(network.clone(), "default"))
            .with_clock(SystemClock::simulated(machine.clone()));
        let mut person = Person::named(format!("client-{index}"));
        person.pid = index as u64;
        let mut settings = Settings::of(person);
        settings.record_limit = plan.record_limit.unwrap_or(settings.record_limit);
        Self {
            index,
            server: server.clone(),
            engine: Engine::new(Mistaken::new(cluster, mistake), settings),
            machine,
            network,
        }
    }

    /// Does all its steps, one after the other.
    pub(crate) async fn work(&self, steps: &[Step]) {
        for (number, step) in steps.iter().enumerate() {
            tokio::time::sleep(Duration::from_millis(step.rest)).await;
            self.step(number, step).await;
        }
    }

    /// Does one step. None if the client died of it.
    pub(crate) async fn step(
        &self,
        number: usize,
        step: &Step,
    ) -> Option<Result<Outcome, Failure>> {
        let actor = Actor::Client {
            client: self.index,
            step: number,
        };
        let time = self.server.time;
        let from = time.millis();
        self.server.ledger().begin_step(actor, &step.action, from);
        self.network.begin_step(actor, step.faults.clone());
        self.machine.restart();
        let cancel = CancellationToken::new();
        let ended = self.run(actor, step, cancel).await;
        let span = Span {
            actor,
            action: step.action.clone(),
            from,
            until: time.millis(),
            interrupted: matches!(step.fate, Some(Fate::Interrupted(_))),
        };
        let mut ledger = self.server.ledger();
        let Some(ended) = ended else {
            ledger.violate(rules::ENDS, span.until, format!("{actor} still waits"));
            return None;
        };
        if !matches!(ended, Some(Ok(_)))
            && let Action::Forget(release, object) = &step.action
        {
            let path = object.as_ref().map(ObjectPlan::path);
            ledger.let_go_untold(actor, *release, path.as_deref());
        }
        let Some(result) = ended else {
            ledger.figures.deaths += 1;
            ledger.say(span.until, format!("{actor}: dies"));
            return None;
        };
        ledger.say(span.until, format!("{actor}: {}", told(&result)));
        if let Ok(Outcome::Repair(repaired)) = &result {
            ledger.figures.repairs += u64::from(repaired.needed);
        }
        if let Action::Forget(release, _) = &step.action {
            for path in truth::told_as_still_labelled(&ledger, &result) {
                ledger.let_go(*release, &path);
            }
        }
        for path in truth::told_as_kept(&result) {
            match &step.action {
                Action::Forget(release, _) => ledger.let_go(*release, &path),
                Action::Delete(release, _) => ledger.leave_stripped(*release, &path),
                Action::Apply(release, ..) => ledger.leave_shared(*release, &path),
                _ => {}
            }
        }
        ledger.visit_end(&step.action, &result);
        truth::what_is_said_is_true(&mut ledger, &span, &result);
        Some(result)
    }

    /// None if it waits for ever, and then none if it dies.
    async fn run(
        &self,
        actor: Actor,
        step: &Step,
        cancel: CancellationToken,
    ) -> Option<Option<Result<Outcome, Failure>>> {
        let dies_at = match step.fate {
            Some(Fate::DiesAtWake(wake)) => Some(wake),
            _ => None,
        };
        let work = Process::new(
            self.machine.clone(),
            dies_at,
            self.act(&step.action, cancel.clone()),
        );
        let disturb = async {
            match step.fate {
                Some(Fate::Interrupted(after)) => {
                    tokio::time::sleep(Duration::from_millis(after)).await;
                    cancel.cancel();
                }
                Some(Fate::ClockJumps(after, seconds)) => {
                    tokio::time::sleep(Duration::from_millis(after)).await;
                    self.machine.jump(seconds);
                    self.server.ledger().trouble(actor);
                }
                _ => {}
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            ended = tokio::time::timeout(FOR_EVER, work) => ended.ok(),
            () = disturb => None,
        }
    }
}

/// What a command says, in a line.
fn told(result: &Result<Outcome, Failure>) -> String {
    let outcomes = |report: &Report| {
        let words = report.resources.iter();
        let words = words.map(|one| format!("{} {}", one.identity, one.action.word()));
        words.collect::<Vec<_>>().join(", ")
    };
    match result {
        Ok(Outcome::Report(report)) => format!("ends well ({})", outcomes(report)),
        Ok(Outcome::Status(status)) => format!("says {:?}", status.health),
        Ok(Outcome::Repair(repaired)) if !repaired.needed => "nothing to repair".to_owned(),
        Ok(Outcome::Repair(_)) => "repaired".to_owned(),
        Ok(Outcome::Diff(_) | Outcome::List(_) | Outcome::History(_)) => "ends well".to_owned(),
        Err(failure) => {
            let (kind, message) = (failure.kind.word(), &failure.message);
            let done = outcomes(&failure.report);
            format!("fails ({kind}): {message} ({done})")
        }
    }
}
