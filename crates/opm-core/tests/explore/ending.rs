//! How a run ends that removes a release: at once, not at all, or after a rest.

use std::rc::Rc;

use opm_core::protocol::{Conclusion, Resume};
use opm_core::time::Timestamp;

use crate::client::{Client, Note, Phase};
use crate::state::{State, Task};

impl State {
    pub(crate) fn conclude(
        mut self,
        at: usize,
        conclusion: Conclusion,
    ) -> Result<(Self, Note), String> {
        match conclusion {
            Conclusion::Remove => {
                let version = self.secret.as_ref().map(|secret| secret.version);
                if version.is_some() && version == self.clients[at].version {
                    self.secret = None;
                }
                self.clients[at] = Client::idle();
            }
            Conclusion::Stays(record) => {
                self.write_as(at, &record)?;
                self.clients[at] = Client::idle();
            }
            Conclusion::History(_) => panic!("no history was to be kept"),
            Conclusion::Rest { resume, until } => {
                self.clients[at].phase = Rc::new(Phase::Resting {
                    resume: *resume,
                    until,
                });
            }
        }
        Ok((self, Note::Nothing))
    }

    pub(crate) fn go_on(
        mut self,
        at: usize,
        resume: &Resume,
        until: Timestamp,
    ) -> Result<(Self, Note), String> {
        if self.time() < until {
            return Ok((self, Note::Nothing));
        }
        let plan = self.plan(Task::Delete, Some(resume.record()));
        let Some(checked) = self.check(plan) else {
            return Err("a delete was refused after resting".to_owned());
        };
        let locked = resume.clone().go_on(checked, self.time());
        self.send(at, locked)?;
        Ok((self, Note::Nothing))
    }
}
