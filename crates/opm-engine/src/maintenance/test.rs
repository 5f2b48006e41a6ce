//! `test`: runs the test hooks of the current change, as its manifests record them.

use std::collections::HashMap;

use opm_core::candidate::CandidateHook;
use opm_core::check::{Adopt, CheckContext, CheckedPlan, check};
use opm_core::failure::Remedy;
use opm_core::hook::{HookEvent, HookFlow};
use opm_core::plan::{PlanOptions, plan_prune_kept};
use opm_core::record::size::Records;
use opm_core::record::{LogResult, Record};

use crate::failure::{Failure, FailureKind};
use crate::hooks::{HookOptions, HookResults};
use crate::ports::Detail;
use crate::record::{Attempt, Beginning, LockedRun, RecordWriter, WritableRecord};
use crate::report::{Release, Report};
use crate::request::TestRequest;
use crate::run::Run;

impl Run<'_> {
    /// Runs the tests of a release.
    pub(crate) async fn test(&self, request: &TestRequest) -> Result<Report, Failure> {
        let release = self.existing(&request.release, &request.namespace).await?;
        let mut test = Test {
            run: self,
            request,
            release: release.clone(),
        };
        self.write_release(&release, request.lock_timeout, &mut test)
            .await
    }
}

struct Test<'a> {
    run: &'a Run<'a>,
    request: &'a TestRequest,
    release: Release,
}

impl RecordWriter for Test<'_> {
    type Output = Report;

    async fn attempt(&mut self, record: WritableRecord) -> Result<Attempt<Report>, Failure> {
        let (run, release) = (self.run, &self.release);
        let Some(loaded) = record.loaded else {
            return Err(Failure::gone(release, &record.warnings));
        };
        let hooks = self.hooks(&loaded.record).await?;
        let checked = self.check(&loaded.record, &hooks).await?;
        let change = loaded.record.current().map(|change| change.id.clone());
        let beginning = Beginning {
            record: loaded.record,
            stored: Some(loaded.stored),
            acquisition: record.acquisition,
            checked,
            start: run.start("test", None, change, None).await,
            records: Records::Used,
        };
        let Some(LockedRun { mut locked, guard }) = run.begin(release, beginning).await? else {
            return Ok(Attempt::Again);
        };
        let steps = locked.plan().hooks.clone();
        let steps: Vec<_> = steps.iter().collect();
        let options = HookOptions {
            release: &release.id,
            hooks: &hooks,
            timeout: self.request.timeout,
            removed: false,
            permit: run.permit_under(&guard),
        };
        let mut ran = HookResults::default();
        run.while_renewing(&guard, run.run_hooks(&steps, options, &mut ran))
            .await;
        let report = Report {
            resources: ran.outcomes,
            warnings: [record.warnings, loaded.warnings].concat(),
            ..Report::about(release)
        };
        if let Some(until) = run.may_land_until() {
            locked.may_land_until(until);
        }
        let applied = match locked.finish(&ran.results) {
            Ok(applied) => applied,
            Err(partial) => {
                let failure = match ran.stopped {
                    Some(stopped) => Failure::stopped("the test was cut short", stopped),
                    None => Failure::new(FailureKind::Failed, ran.failed.unwrap_or_default())
                        .about_failed(&report),
                };
                let failure = failure.after(report);
                return Err(run.let_go(*partial, &guard, failure).await);
            }
        };
        let reconciled = applied.reconcile(&HashMap::new(), run.server_now());
        let ended = run.ended(LogResult::Succeeded, None, &report.resources);
        let released = reconciled.release(&ended);
        let ended = run.end_maintenance(&guard, released, report).await;
        ended.map(Attempt::Done)
    }
}

impl Test<'_> {
    /// The hooks of the current change; having no tests is nothing to succeed at.
    async fn hooks(&self, record: &Record) -> Result<Vec<CandidateHook>, Failure> {
        let current = record.current().filter(|_| !record.is_deleted());
        let is_test = |word: &String| HookEvent::from_word(word) == Some(HookEvent::Test);
        let Some(change) = current.filter(|change| change.hooks.iter().any(is_test)) else {
            let message = format!("release {} has no tests", self.release.name);
            return Err(Failure::new(FailureKind::NotFound, message));
        };
        match self.run.restored(&self.release, change).await {
            Ok(restored) => Ok(CandidateHook::restored(&restored.rendered)),
            Err(error) => Err(error.failure(&change.id).remedy(Remedy::KeepRecords)),
        }
    }

    async fn check(
        &self,
        record: &Record,
        hooks: &[CandidateHook],
    ) -> Result<CheckedPlan, Failure> {
        let plan = plan_prune_kept(record, |_| false, PlanOptions::default())
            .map_err(|error| Failure::refused(error.to_string()).because(error))?
            .with_hooks(hooks, Some(HookFlow::Test), Some(record));
        let id = &self.release.id;
        let (observed, _) = self.run.observe(&plan, id, |_| Detail::Metadata).await;
        let context = CheckContext {
            release: *id,
            adopt: Adopt::None,
            take_ownership: false,
            occupants: &HashMap::new(),
        };
        check(plan, &observed, &context).map_err(Failure::of_refusals)
    }
}
