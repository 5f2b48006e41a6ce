//! What a run writes that decides nothing: names, times, an empty record.

use std::collections::BTreeMap;

use opm_core::protocol::NewChange;
use opm_core::record::{Extra, Lock, Metadata, ModuleRef, Record, ReleaseState, Values};

use crate::state::{Task, release};

pub(crate) fn lock(run: u32) -> Lock {
    Lock {
        id: format!("run-{run}"),
        holder: String::new(),
        host: String::new(),
        pid: 0,
        boot: None,
        pid_namespace: None,
        command: String::new(),
        since: String::new(),
        beat: 0,
        extra: Extra::default(),
    }
}

pub(crate) fn new_record() -> Record {
    let metadata = Metadata {
        name: "web".into(),
        namespace: "default".into(),
        release_id: release().to_string(),
        last_transition_time: None,
        state: ReleaseState::Live,
        extra: Extra::default(),
    };
    Record::new(metadata, BTreeMap::new())
}

pub(crate) fn change(task: Task) -> NewChange {
    NewChange {
        id: format!("change-{task:?}"),
        module: ModuleRef {
            path: String::new(),
            version: None,
            origin: None,
            name: String::new(),
            charts: Default::default(),
            extra: Extra::default(),
        },
        values: Values::default(),
        manifest_digest: String::new(),
        components: Vec::new(),
        features: BTreeMap::new(),
        order: BTreeMap::new(),
        hooks: Vec::new(),
        set: Vec::new(),
        record: None,
    }
}
