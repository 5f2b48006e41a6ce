//! Whether a release may be written by whoever wants to: a controller manages it, or nobody does.
//!
//! The record's annotation counts as it was in the very read whose version the first write then
//! carries.

use opm_core::failure::{FailureKind, Remedy};
use opm_core::identity::GroupKind;
use opm_core::managed::{
    Manager, ManagerMark, ManagerState, RESOURCE_GROUP, RESOURCE_KIND, resource_to_ask,
};
use opm_core::record::size::Records;

use super::{Attempt, Prepared, RecordWriter, WritableRecord};
use crate::failure::Failure;
use crate::ports::{Detail, Observation, ServedKinds};
use crate::report::{Release, Report};
use crate::run::Run;

impl Run<'_> {
    /// Refuses to write a release that a controller manages, unless it is this run's caller.
    /// Says what could not be told.
    pub(super) async fn check_manager(
        &self,
        release: &Release,
        record: &WritableRecord,
        prepared: Prepared,
    ) -> Result<Option<String>, Failure> {
        let loaded = record.loaded.as_ref();
        let recorded = loaded.map(|loaded| &loaded.stored.content.annotations);
        let writer = self.caller.manager.as_ref();
        let asked = resource_to_ask(recorded, writer, release.name.as_str());
        let mut warning = None;
        let mark = match asked {
            None => writer.cloned().map_or(ManagerMark::Keep, ManagerMark::Set),
            Some(name) => {
                let state = match prepared.manager.filter(|_| recorded.is_none()) {
                    Some(seen) => seen,
                    None => {
                        let served = prepared.served.as_deref();
                        self.manager_state(release, &name, served).await
                    }
                };
                if let (ManagerState::Unknown(why), None) = (&state, recorded) {
                    warning = Some(format!(
                        "it is unknown whether {RESOURCE_KIND}/{name} manages the release: {why}"
                    ));
                }
                match (state.mark_of_others(recorded.is_some()), writer) {
                    (Some(_), Some(writer)) => ManagerMark::Set(writer.clone()),
                    (Some(mark), None) => mark,
                    (None, _) => return Err(managed(release, &name, &state)),
                }
            }
        };
        *self.manager.lock().await = mark;
        Ok(warning)
    }

    /// What there is of a resource that may manage a release without a record, if that matters to
    /// the caller.
    pub(crate) async fn manager_of_none(
        &self,
        release: &Release,
        served: Option<&ServedKinds>,
    ) -> Option<ManagerState> {
        let writer = self.caller.manager.as_ref();
        let name = resource_to_ask(None, writer, release.name.as_str())?;
        Some(self.manager_state(release, &name, served).await)
    }

    async fn manager_state(
        &self,
        release: &Release,
        name: &str,
        served: Option<&ServedKinds>,
    ) -> ManagerState {
        let kind = GroupKind::new(RESOURCE_GROUP, RESOURCE_KIND);
        if served.is_some_and(|served| !served.kinds.contains_key(&kind)) {
            return ManagerState::Gone;
        }
        let identity = Manager::identity(name, release.namespace.as_str());
        let seen = self
            .backend
            .look(std::slice::from_ref(&identity), Detail::Whole);
        let seen = seen.await.remove(&identity);
        ManagerState::of(&seen.unwrap_or(Observation::Absent))
    }

    /// Takes off the record that a controller manages the release. Nothing else is touched.
    pub(crate) async fn end_management(&self, release: &Release) -> Result<Report, Failure> {
        let mut ending = EndManagement { run: self, release };
        let lock_timeout = std::time::Duration::ZERO;
        self.write_release(release, lock_timeout, &mut ending).await
    }
}

fn managed(release: &Release, resource: &str, state: &ManagerState) -> Failure {
    let Release {
        name, namespace, ..
    } = release;
    let resource = format!("{RESOURCE_KIND}/{resource}");
    let message = match state {
        ManagerState::Unknown(why) => format!(
            "release {name} in namespace {namespace} is managed by {resource}, and it is unknown \
             whether that is suspended: {why}"
        ),
        _ => format!("release {name} in namespace {namespace} is managed by {resource}"),
    };
    Failure::new(FailureKind::Refused, message).remedy(Remedy::SuspendManager {
        resource,
        namespace: namespace.to_string(),
    })
}

struct EndManagement<'a> {
    run: &'a Run<'a>,
    release: &'a Release,
}

impl RecordWriter for EndManagement<'_> {
    type Output = Report;

    async fn attempt(&mut self, record: WritableRecord) -> Result<Attempt<Report>, Failure> {
        let report = Report::about(self.release);
        let Some(loaded) = record.loaded else {
            return Ok(Attempt::Done(report));
        };
        let mut left = loaded.record;
        if ManagerMark::Clear.is_in(&left.annotations) {
            return Ok(Attempt::Done(report));
        }
        ManagerMark::Clear.put_into(&mut left.annotations);
        let (run, release) = (self.run, self.release);
        let written = run.write_unlocked(release, &loaded.stored, left, Records::Used);
        match written.await? {
            Some(true) => Ok(Attempt::Done(report)),
            Some(false) => Ok(Attempt::Again),
            None => Err(Failure::new(
                FailureKind::Refused,
                "the release's record has to be made smaller first",
            )),
        }
    }
}
