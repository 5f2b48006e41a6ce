//! How a run ends that removes a release: at once, not at all, or after a rest.

use std::rc::Rc;

use opm_core::protocol::{Conclusion, Released, Resume};
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
                self.remove(at);
            }
            Conclusion::Stays(record) | Conclusion::Deleted(record) => {
                self.write_as(at, &record)?;
                self.clients[at] = Client::idle();
            }
            Conclusion::Rest { resume, until } => {
                self.clients[at].phase = Rc::new(Phase::Resting {
                    resume: *resume,
                    until,
                });
            }
        }
        Ok((self, Note::Nothing))
    }

    /// Ends a prune: nobody but a deleted release may lose its record by it.
    pub(crate) fn release(mut self, at: usize, released: Released) -> Result<(Self, Note), String> {
        match released {
            Released::Stays(record) => {
                self.write_as(at, &record)?;
                self.clients[at] = Client::idle();
                Ok((self, Note::Nothing))
            }
            Released::Remove(_) => {
                let lost = self.secret.clone();
                match self.remove(at) {
                    true if !lost.is_some_and(|secret| secret.record.is_deleted()) => {
                        Err("a prune has removed the record of a live release".to_owned())
                    }
                    true => Ok((self, Note::Removed)),
                    false => Ok((self, Note::Nothing)),
                }
            }
        }
    }

    /// Removes the record, if nobody else has written it since.
    fn remove(&mut self, at: usize) -> bool {
        let version = self.secret.as_ref().map(|secret| secret.version);
        let mine = version.is_some() && version == self.clients[at].version;
        if mine {
            self.secret = None;
        }
        self.clients[at] = Client::idle();
        mine
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
        self.send(at, locked, false)?;
        Ok((self, Note::Nothing))
    }
}
