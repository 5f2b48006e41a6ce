//! Whether an apply would keep nothing of what a release has, and looks like another module.
//!
//! Modules that declare no path have their name alone to tell their releases apart, so two of
//! one name are one release, and the second would prune the first. Where a module comes from
//! tells a rename of everything from that. Where no module file says anything at all, what comes
//! from another place takes nothing away.

use std::collections::HashSet;

use super::Plan;
use crate::identity::Identity;
use crate::name::ModulePath;
use crate::record::Record;
use crate::rendered::Module;

impl Plan {
    /// Notes what would go, if the module looks like another one than the release's and nothing of
    /// what is recorded stays, or nobody wrote down which module it is.
    #[must_use]
    pub fn of_module(mut self, module: &Module, stored: &Record) -> Self {
        if looks_like_another(&self, module, stored) {
            let going = self.stale.iter().map(|stale| stale.entry.identity.clone());
            self.replaced = going.collect();
        }
        self
    }

    /// Whether everything that the release has would go for what looks like another module.
    pub fn replaces_all(&self) -> bool {
        !self.replaced.is_empty() && !self.options.replace_all && !self.options.no_prune
    }
}

/// Where an object lives does not count: a release that moves to another namespace is the same.
fn looks_like_another(plan: &Plan, module: &Module, stored: &Record) -> bool {
    // Before the first change there is nothing to compare with.
    let Some(current) = stored.current() else {
        return false;
    };
    let declared = module.path != ModulePath::local(&module.name);
    let known = module.origin.is_some();
    if declared || (known && module.origin == current.module.origin) {
        return false;
    }
    if module.undeclared && known && current.module.origin.is_some() {
        return !plan.stale.is_empty();
    }
    let named = |identity: &Identity| (identity.group_kind.clone(), identity.name.clone());
    let rendered: HashSet<_> = plan
        .applies()
        .map(|planned| named(&planned.object.entry.identity))
        .collect();
    let inventory = stored.inventory().iter().map(|recorded| &recorded.entry);
    let pending = stored.pending.objects().iter().map(|object| &object.entry);
    let mut recorded = inventory.chain(pending).peekable();
    let stays = |identity: &Identity| rendered.contains(&named(identity));
    !rendered.is_empty()
        && recorded.peek().is_some()
        && !recorded.any(|entry| stays(&entry.identity))
}
