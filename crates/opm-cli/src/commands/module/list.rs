//! `opm mod list`.

use opm_core::record::Summary;
use opm_engine::list::{ListedRelease, Listing, UnreadableNamespace};
use opm_engine::ports::Timestamp;
use opm_engine::request::ListRequest;
use serde_json::{Map, Value, json};

use crate::cluster::{self, Session};
use crate::duration;
use crate::error::{CliError, Exit};
use crate::interrupt::Interrupt;
use crate::settings::Settings;
use crate::ui::{Format, Table, Ui};

/// List the releases of a namespace, or of all of them
///
/// Reads the metadata of the releases' Secrets and, without --health, nothing else. Where not all namespaces may be
/// looked into, it shows what it can see and says what it cannot.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// In all namespaces
    #[arg(long, short = 'A')]
    all_namespaces: bool,

    /// Look at the releases' objects too, and say how they are doing
    #[arg(long)]
    health: bool,
}

pub(crate) fn run(args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    cluster::run(async {
        let session = Session::open(settings, ui, &Interrupt::listen(*ui), false).await?;
        let home = session.namespace_or_default()?;
        let request = ListRequest {
            namespace: (!args.all_namespaces).then(|| home.clone()),
            home,
            health: args.health,
        };
        let listing = session.engine.list(&request).await;
        let listing = listing.map_err(|failure| session.failed(failure))?;
        for unseen in &listing.unseen {
            ui.warn(&unseen_words(unseen));
        }
        ui.data(&document(&listing), |format| {
            table(&listing, format, args.health)
        })?;
        if listing.releases.is_empty() {
            ui.info(&match &request.namespace {
                Some(namespace) => format!("there are no releases in namespace {namespace}"),
                None => "there are no releases".to_owned(),
            });
        }
        Ok(Exit::Done)
    })
}

fn unseen_words(unseen: &UnreadableNamespace) -> String {
    match &unseen.namespace {
        Some(namespace) => {
            format!(
                "releases in namespace {namespace} cannot be seen: {}",
                unseen.reason
            )
        }
        None => format!(
            "releases in other namespaces cannot be seen: {}",
            unseen.reason
        ),
    }
}

fn document(listing: &Listing) -> Value {
    let unseen = |unseen: &UnreadableNamespace| json!({"namespace": unseen.namespace, "reason": unseen.reason});
    json!({
        "releases": listing.releases.iter().map(release).collect::<Vec<_>>(),
        "unseen": listing.unseen.iter().map(unseen).collect::<Vec<_>>(),
    })
}

/// One release. What a marked one does not tell is null.
fn release(listed: &ListedRelease) -> Value {
    let summary = &listed.summary;
    let told = |value: Value| match listed.mark {
        None => value,
        Some(_) => Value::Null,
    };
    let mut document = json!({
        "name": summary.name,
        "namespace": summary.namespace,
        "releaseId": summary.release_id,
        "module": module(listed),
        "changeId": summary.change_id,
        "objects": told(json!(summary.objects)),
        "pending": told(json!(summary.pending)),
        "kept": told(json!(summary.kept)),
        "lastTransitionTime": summary.last_transition_time,
    });
    if let Some(mark) = listed.mark {
        document["note"] = json!(mark);
    }
    if let Some(health) = listed.health {
        document["health"] = json!(health.word());
    }
    document
}

/// The module as every document names it, as far as it is known.
fn module(listed: &ListedRelease) -> Value {
    let Summary {
        module,
        path,
        version,
        change_id,
        ..
    } = &listed.summary;
    let mut document = Map::new();
    document.insert("name".to_owned(), json!(module));
    if !path.is_empty() {
        document.insert("path".to_owned(), json!(path));
    }
    match version {
        Some(version) => document.insert("version".to_owned(), json!(version)),
        None if change_id.is_some() => document.insert("local".to_owned(), json!(true)),
        None => None,
    };
    Value::Object(document)
}

fn table(listing: &Listing, format: Format, health: bool) -> Table {
    let mut columns = vec![
        "NAME",
        "NAMESPACE",
        "MODULE",
        "VERSION",
        "CHANGE",
        "OBJECTS",
        "AGE",
    ];
    if health {
        columns.push("HEALTH");
    }
    columns.push("NOTE");
    if format == Format::Wide {
        columns.extend(["PENDING", "KEPT", "LAST TRANSITION", "RELEASE ID"]);
    }
    let mut table = Table::of(&columns);
    for listed in &listing.releases {
        let (summary, shown) = (&listed.summary, ListCells::of(listed, listing.now));
        let (pending, kept) = (summary.pending.to_string(), summary.kept.to_string());
        let mut cells: Vec<&str> = vec![
            &summary.name,
            &summary.namespace,
            &summary.module,
            &shown.version,
            &shown.change,
            &shown.objects,
            &shown.age,
        ];
        if health {
            cells.push(listed.health.map_or("Unknown", |health| health.word()));
        }
        cells.push(&shown.note);
        if format == Format::Wide {
            let changed = summary.last_transition_time.as_deref().unwrap_or_default();
            cells.extend([&*pending, &*kept, changed, &*summary.release_id]);
        }
        table.cells(&cells);
    }
    table
}

/// The cells that are more than a field of the summary.
struct ListCells {
    version: String,
    change: String,
    objects: String,
    age: String,
    note: String,
}

impl ListCells {
    fn of(listed: &ListedRelease, now: Timestamp) -> Self {
        let summary = &listed.summary;
        let changed: Option<Timestamp> = summary
            .last_transition_time
            .as_ref()
            .and_then(|time| time.parse().ok());
        let version = match (&summary.version, &summary.change_id) {
            (Some(version), _) => version.clone(),
            (None, Some(_)) => "local".to_owned(),
            (None, None) => String::new(),
        };
        Self {
            version,
            change: summary.change_id.clone().unwrap_or_default(),
            objects: match listed.mark {
                Some(_) => String::new(),
                None => summary.objects.to_string(),
            },
            age: changed.map_or_else(String::new, |time| duration::age(now.since(time))),
            note: note(listed),
        }
    }
}

/// What makes a release worth a second look.
fn note(listed: &ListedRelease) -> String {
    let summary = &listed.summary;
    if let Some(mark) = listed.mark {
        return mark.to_owned();
    }
    if summary.change_id.is_none() {
        return "nothing recorded yet".to_owned();
    }
    match summary.pending {
        0 => String::new(),
        pending => format!("{pending} pending"),
    }
}
