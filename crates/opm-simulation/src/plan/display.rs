//! A plan in words, for the story.

use std::fmt;

use super::{Action, ApplyFlags, DeleteFlags, HookPlan, ModulePlan, ObjectPlan, Optional};
use crate::modules::{ELSEWHERE, INSIDE};

impl fmt::Display for ObjectPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}/n{}={}", self.kind, self.name, self.value)?;
        for (flag, word) in [
            (self.is_in(ELSEWHERE), " elsewhere"),
            (self.is_in(INSIDE), " inside"),
            (self.stays, " prune=false"),
            (self.shared, " shared"),
            (self.hook == Some(HookPlan::Before), " hook before"),
            (self.hook == Some(HookPlan::After), " hook after"),
            (self.hook == Some(HookPlan::Leaving), " hook of a delete"),
            (self.hook == Some(HookPlan::Passing), " passing hook after"),
            (self.hook == Some(HookPlan::Failing), " failing hook after"),
            (self.hook == Some(HookPlan::Test), " test"),
        ] {
            if flag {
                f.write_str(word)?;
            }
        }
        Ok(())
    }
}

fn named(object: Option<&ObjectPlan>) -> String {
    object.map_or(" (all)".to_owned(), |object| format!(" {object}"))
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Apply(release, module, flags) => {
                write!(f, "apply {} {module}{flags}", release.name())
            }
            Self::Diff(release, module, flags) => {
                write!(f, "diff {} {module}{flags}", release.name())
            }
            Self::Rollback(release, flags) => write!(f, "rollback {}{flags}", release.name()),
            Self::Delete(release, flags) => write!(f, "delete {}{flags}", release.name()),
            Self::Prune(release, object) => {
                write!(f, "prune {}{}", release.name(), named(object.as_ref()))
            }
            Self::Forget(release, object) => {
                write!(f, "forget {}{}", release.name(), named(object.as_ref()))
            }
            Self::Repair(release) => write!(f, "repair {}", release.name()),
            Self::Unlock(release) => write!(f, "unlock {}", release.name()),
            Self::Test(release) => write!(f, "test {}", release.name()),
            Self::Status(release) => write!(f, "status {}", release.name()),
            Self::List => f.write_str("list"),
            Self::History(release) => write!(f, "history {}", release.name()),
        }
    }
}

impl fmt::Display for ModulePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objects: Vec<_> = self.objects.iter().map(ToString::to_string).collect();
        write!(f, "{{{}}}", objects.join(", "))?;
        if self.in_order {
            f.write_str(" in order")?;
        }
        match self.optional {
            Optional::Selected => f.write_str(", the second optional and selected")?,
            Optional::LeftOut => f.write_str(", the second optional and left out")?,
            Optional::Unsaid => f.write_str(", the second optional")?,
            Optional::No => {}
        }
        if self.bulk > 0 {
            write!(f, " with {} bytes of values", self.bulk)?;
        }
        Ok(())
    }
}

/// Those that are set.
fn words(f: &mut fmt::Formatter<'_>, flags: &[(bool, &str)]) -> fmt::Result {
    for (_, word) in flags.iter().filter(|(set, _)| *set) {
        write!(f, " +{word}")?;
    }
    Ok(())
}

impl fmt::Display for ApplyFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        words(
            f,
            &[
                (self.atomic, "atomic"),
                (self.no_prune, "no-prune"),
                (self.adopt, "adopt"),
                (self.adopt_named, "adopt-by-name"),
                (self.take, "take-ownership"),
                (self.lift_guards, "guards-lifted"),
                (self.recreate, "recreate"),
                (self.wait, "wait"),
                (self.prune_after_ready, "prune-after-ready"),
                (self.no_record, "no-record"),
                (self.patient, "patient"),
                (self.short_history, "short-history"),
                (self.preflight, "preflight"),
                (self.wait_for_deletion, "wait-for-deletion"),
                (self.managed, "as-controller"),
                (self.adopt_helm, "adopt-from-helm"),
                (self.back == Some(0), "back-to-the-current"),
                (self.back == Some(1), "back-one"),
                (self.back.is_some_and(|back| back > 1), "back-further"),
            ],
        )
    }
}

impl fmt::Display for DeleteFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        words(
            f,
            &[
                (self.keep_history, "keep-history"),
                (self.lift_guards, "guards-lifted"),
                (self.patient, "patient"),
                (self.component, "second-component"),
                (self.wait, "wait"),
                (self.no_hooks, "no-hooks"),
            ],
        )
    }
}
