//! The fault matrix: the flows of the kill matrix, with a fault instead of the kill. One table
//! says how a run ends that meets a fault at one kind of request, and which object it names. After
//! the next run everything is as it should be. Every fault at every request in the full run; in
//! the ordinary one a sample, whose seed is printed.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use opm_e2e::{Fault, Moment, OpmOutput, RequestInfo, Seed, World, scenarios};

use crate::flows::{Bystanders, Flow, Recovery};

scenarios! {
    disturbed_first_apply,
    disturbed_upgrade_with_rename,
    disturbed_apply_after_two_failed_ones,
    disturbed_delete,
    disturbed_adoption_with_moved_fields,
    disturbed_delete_of_a_controller_and_its_objects,
}

/// How many faults are tried when not all of them are.
const SAMPLE: usize = 4;

/// How many runs go on at the same time, each on a release of its own.
const AT_ONCE: usize = 3;

async fn disturbed_first_apply(w: World) {
    disturb_everywhere(w, Flow::FirstApply).await;
}

async fn disturbed_upgrade_with_rename(w: World) {
    disturb_everywhere(w, Flow::Upgrade).await;
}

async fn disturbed_apply_after_two_failed_ones(w: World) {
    disturb_everywhere(w, Flow::AfterTwoFailures).await;
}

async fn disturbed_delete(w: World) {
    disturb_everywhere(w, Flow::Delete).await;
}

async fn disturbed_adoption_with_moved_fields(w: World) {
    disturb_everywhere(w, Flow::Adopt).await;
}

async fn disturbed_delete_of_a_controller_and_its_objects(w: World) {
    disturb_everywhere(w, Flow::DeleteOperator).await;
}

/// What goes wrong once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disturbance {
    Conflict,
    TooManyRequests,
    InternalError,
    ErrorWithoutReason,
    Unavailable,
    Forbidden,
    ResetBefore,
    ResetAfter,
    Stall,
}

impl Disturbance {
    const ALL: [Self; 9] = [
        Self::Conflict,
        Self::TooManyRequests,
        Self::InternalError,
        Self::ErrorWithoutReason,
        Self::Unavailable,
        Self::Forbidden,
        Self::ResetBefore,
        Self::ResetAfter,
        Self::Stall,
    ];

    fn fault(self) -> Fault {
        match self {
            Self::Conflict => Fault::conflict(),
            Self::TooManyRequests => Fault::too_many_requests(1),
            Self::InternalError => Fault::internal_error(),
            Self::ErrorWithoutReason => Fault::error_without_reason(),
            Self::Unavailable => Fault::unavailable(),
            Self::Forbidden => Fault::forbidden(),
            Self::ResetBefore => Fault::Reset(Moment::Before),
            Self::ResetAfter => Fault::Reset(Moment::After),
            Self::Stall => Fault::Stall(Moment::Before, Duration::from_millis(300)),
        }
    }
}

/// What a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum RequestPurpose {
    /// Which kinds there are.
    Discovery,
    /// The same, before objects of a delete are looked at: if that fails, both are tried again.
    DiscoveryToLook,
    /// The same, to look into a kind that is to go.
    DiscoveryToLookInto {
        begun: bool,
    },
    /// Who is asking, what he may do, or who scales: the run goes on without knowing.
    Aside,
    /// The record, by its name.
    ReadRecord,
    /// The record, by its labels.
    FindRecord,
    /// Whether the namespace is there.
    Namespace,
    /// One object as it is.
    Look(String),
    /// An object again, whole: who cannot tell whether it would change sends it.
    LookCloser,
    /// All objects of a kind as they are.
    LookAtAll(&'static str),
    /// What would become of one object; whatever is wrong with it comes up when it is sent.
    Pretend,
    /// What there is of a kind whose definition is to go, before anything goes and right before.
    LookInto {
        begun: bool,
    },
    /// Whether a custom resource is gone, before its controller goes.
    Wait {
        watching: bool,
    },
    /// Whether a release without a record was there before: who cannot tell looks closer.
    Trace,
    /// Lock and intent.
    Begin,
    /// One object.
    Send(String),
    /// One object goes.
    Remove(String),
    /// The record Secrets.
    ListParts,
    WritePart,
    /// What the server answered: without it the next run looks at more.
    WriteNotes,
    RemovePart,
    /// The record at the end.
    Record,
    RemoveRecord,
}

impl RequestPurpose {
    /// What the nth of these requests is for.
    fn of(flow: Flow, requests: &[RequestInfo], nth: usize) -> Self {
        let seen = &requests[nth - 1];
        let kind = match seen.resource.as_str() {
            "" if seen.uri.contains("/openapi/") => return Self::Aside,
            "" if !flow.deletes() => return Self::Discovery,
            "" if looked(&requests[..nth - 1]) => {
                return Self::DiscoveryToLookInto {
                    begun: begun(&requests[..nth]),
                };
            }
            "" => return Self::DiscoveryToLook,
            "selfsubjectreviews"
            | "selfsubjectrulesreviews"
            | "selfsubjectaccessreviews"
            | "horizontalpodautoscalers"
            | "modulereleases" => return Self::Aside,
            "namespaces" => return Self::Namespace,
            "configmaps" => "ConfigMap",
            "secrets" => "Secret",
            "services" => "Service",
            "deployments" => "Deployment",
            "widgets" => "Widget",
            "customresourcedefinitions" => "CustomResourceDefinition",
            other => panic!("nobody asks for {other}"),
        };
        let record = kind == "Secret" && seen.name.starts_with("opm.");
        // A record Secret has two digits more.
        let part = record && seen.name.split('.').count() == 4;
        let spelled = format!("{kind}/{}", seen.name);
        match (seen.verb.as_str(), part, record) {
            ("list" | "watch", ..) if seen.uri.contains("fieldSelector") => Self::Wait {
                watching: seen.verb == "watch",
            },
            ("list", ..) if kind == "Widget" => Self::LookInto {
                begun: begun(&requests[..nth]),
            },
            ("list", ..) if seen.uri.contains("inventory") => Self::FindRecord,
            // Objects are looked at before anything is written, record Secrets after.
            ("list", ..) if kind == "Secret" && begun(&requests[..nth]) => Self::ListParts,
            ("list", ..) if seen.uri.contains("labelSelector") => Self::Trace,
            ("list", ..) => Self::LookAtAll(kind),
            ("get", false, true) => Self::ReadRecord,
            ("patch", ..) if is_pretended(seen) => Self::Pretend,
            // What is to be adopted is looked at once more to see what would become of it.
            ("get", ..) if requests[..nth].iter().any(is_pretended) => Self::Pretend,
            ("get", _, false) if looked_at(&requests[..nth - 1], seen) => Self::LookCloser,
            ("get", ..) => Self::Look(spelled),
            ("delete", true, _) => Self::RemovePart,
            ("delete", false, true) => Self::RemoveRecord,
            ("delete", false, false) => Self::Remove(spelled),
            (_, true, _) if seen.name.ends_with(".63") => Self::WriteNotes,
            (_, true, _) => Self::WritePart,
            (_, false, true) => {
                let written = |before: &&RequestInfo| {
                    matches!(before.verb.as_str(), "patch" | "update") && before.name == seen.name
                };
                match requests[..nth - 1].iter().filter(written).count() {
                    0 => Self::Begin,
                    _ => Self::Record,
                }
            }
            _ => Self::Send(spelled),
        }
    }
}

/// How a run must end, and what it must say.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Expectation {
    code: i32,
    says: Option<String>,
}

/// The table: how a run ends that meets this fault once, at a request of this kind.
///
/// What may pass is tried again, and nobody notices. A conflict starts over from what is there
/// now. What is permanent, or forbidden, ends the run as early as nothing has been touched, fails
/// the one object, or leaves the one stale object pending.
fn expected(flow: Flow, wrong: Disturbance, about: &RequestPurpose) -> Expectation {
    let ends = |code: i32, says: &str| Expectation {
        code,
        says: (!says.is_empty()).then(|| says.to_owned()),
    };
    let (done, deletes) = (ends(0, ""), flow.deletes());
    let forbidden = wrong == Disturbance::Forbidden;
    let refused = match wrong {
        Disturbance::Conflict | Disturbance::ErrorWithoutReason => 3,
        Disturbance::Forbidden => 4,
        _ => return done,
    };
    let conflict = wrong == Disturbance::Conflict;
    match about {
        RequestPurpose::Aside
        | RequestPurpose::Trace
        | RequestPurpose::Pretend
        | RequestPurpose::LookCloser
        | RequestPurpose::DiscoveryToLook
        | RequestPurpose::WriteNotes => done,
        RequestPurpose::Discovery => ends(refused, "which kinds it serves"),
        RequestPurpose::ReadRecord => ends(refused, "cannot read the release's record"),
        RequestPurpose::FindRecord if forbidden && !deletes => {
            ends(0, "not permitted to list Secrets")
        }
        RequestPurpose::FindRecord => ends(refused, "cannot look for"),
        RequestPurpose::Namespace if forbidden => done,
        RequestPurpose::Namespace => ends(refused, "cannot look at namespace"),
        // What the server answered to the last apply, and where the manifests are: without it more
        // is looked at.
        RequestPurpose::Look(object) if object.starts_with("Secret/opm.") && !deletes => done,
        // Its kind is to go as well, and takes along what nobody could look at.
        RequestPurpose::Look(object) if object.starts_with("Widget/") => ends(2, object),
        RequestPurpose::Look(object) if deletes => ends(1, object),
        RequestPurpose::Look(object) if is_stale(flow, object) => ends(8, object),
        RequestPurpose::Look(object) if forbidden => ends(4, object),
        RequestPurpose::Look(object) => ends(3, object),
        RequestPurpose::LookAtAll(_) if forbidden => done, // then one by one
        RequestPurpose::LookAtAll(kind) if deletes => ends(1, &format!("{kind}/")),
        RequestPurpose::LookAtAll(kind) => ends(3, &format!("{kind}/")),
        RequestPurpose::DiscoveryToLookInto { begun: false }
        | RequestPurpose::LookInto { begun: false } => ends(2, "could not be found out"),
        RequestPurpose::DiscoveryToLookInto { begun: true } => ends(1, "which kinds it serves"),
        RequestPurpose::LookInto { begun: true } => ends(1, "could not be found out"),
        RequestPurpose::Wait { .. } if forbidden => done, // then by asking again and again
        RequestPurpose::Wait { watching: true } if !conflict => done,
        RequestPurpose::Wait { .. } => ends(1, "Widget/gear"),
        RequestPurpose::Begin if conflict => done,
        RequestPurpose::Begin => ends(refused, "cannot write the release's record"),
        RequestPurpose::Send(_) if conflict => done,
        RequestPurpose::Send(object) => ends(1, object),
        // It is looked at again: it may belong to somebody else by now.
        RequestPurpose::Remove(_) if conflict => done,
        RequestPurpose::Remove(object) if deletes => ends(1, object),
        RequestPurpose::Remove(object) => ends(8, object),
        RequestPurpose::ListParts if forbidden => done,
        RequestPurpose::ListParts if deletes => ends(1, "not the release's records"),
        RequestPurpose::ListParts => ends(0, "older changes could not be removed"),
        RequestPurpose::WritePart
        | RequestPurpose::RemovePart
        | RequestPurpose::Record
        | RequestPurpose::RemoveRecord
            if conflict =>
        {
            done
        }
        RequestPurpose::WritePart => ends(0, "could not be kept"),
        RequestPurpose::RemovePart if deletes => ends(1, "not the release's records"),
        RequestPurpose::RemovePart => ends(0, "older changes could not be removed"),
        RequestPurpose::Record => ends(1, "record could not be written"),
        RequestPurpose::RemoveRecord => ends(1, "the release's record is not"),
    }
}

/// Whether the server was only asked to pretend.
fn is_pretended(seen: &RequestInfo) -> bool {
    seen.uri.contains("dryRun")
}

/// Whether an object was looked at before. What is to change is read whole at once, beside the
/// list of its kind.
fn looked_at(before: &[RequestInfo], object: &RequestInfo) -> bool {
    let same = |seen: &RequestInfo| seen.verb == "get" && seen.name == object.name;
    before
        .iter()
        .any(|seen| seen.resource == object.resource && same(seen))
}

/// Whether an object was looked at.
fn looked(before: &[RequestInfo]) -> bool {
    let object = |seen: &RequestInfo| !seen.resource.is_empty() && !seen.name.starts_with("opm.");
    let all = |seen: &RequestInfo| seen.verb == "list" && !seen.uri.contains("Selector");
    before
        .iter()
        .any(|seen| all(seen) || seen.verb == "get" && object(seen))
}

/// Whether lock and intent are among these requests.
fn begun(requests: &[RequestInfo]) -> bool {
    let writes = |seen: &RequestInfo| matches!(seen.verb.as_str(), "patch" | "update");
    requests
        .iter()
        .any(|seen| writes(seen) && seen.name.starts_with("opm."))
}

/// Whether the flow leaves this object behind.
fn is_stale(flow: Flow, object: &str) -> bool {
    let kept = |stem: &str| object.contains(&format!("-{stem}-")) || object.ends_with("-stays");
    !flow.after().is_some_and(kept)
}

/// What goes wrong where.
#[derive(Debug, Clone, Copy)]
struct Case {
    nth: usize,
    wrong: Disturbance,
}

async fn disturb_everywhere(w: World, flow: Flow) {
    let bystanders = Bystanders::put(&w).await;
    flow.prepare(&w, "probe").await;
    let probe = flow.command(&w, "probe");
    let probe: Vec<&str> = probe.iter().map(String::as_str).collect();
    let requests = w.requests_of(&probe).await;
    let all = (1..=requests).flat_map(|nth| Disturbance::ALL.map(|wrong| Case { nth, wrong }));
    let chosen = match opm_e2e::full() {
        true => all.collect(),
        false => Seed::of_this_run(flow.word()).some_of(all.collect(), SAMPLE),
    };
    let tried = chosen.len();
    let runs = chosen.into_iter().enumerate().map(|(index, case)| {
        // The one that is wrong is told, and the others run on: one run shows the whole table.
        AssertUnwindSafe(disturb(&w, flow, index, case))
            .catch_unwind()
            .map(move |ended| ended.map_err(|_| case))
    });
    let runs = futures::stream::iter(runs).buffer_unordered(AT_ONCE);
    let ended: Vec<Result<i32, Case>> = runs.collect().await;
    let failed = ended.iter().flatten().filter(|code| **code != 0).count();
    let wrong: Vec<Case> = ended.into_iter().filter_map(Result::err).collect();
    bystanders.are_untouched(&w).await;
    assert!(
        wrong.is_empty(),
        "{} of {tried} are not as the table says: {wrong:?}",
        wrong.len()
    );
    opm_e2e::note(&format!(
        "{flow:?}: {requests} requests, {tried} faults, {failed} runs failed as they should, \
         nothing lost"
    ));
}

async fn disturb(w: &World, flow: Flow, index: usize, case: Case) -> i32 {
    let release = format!("{}{index}", flow.word());
    flow.prepare(w, &release).await;
    let command = flow.command(w, &release);
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let (ran, requests) = w.struck_at(case.nth, case.wrong.fault(), &command).await;
    if requests.len() >= case.nth {
        let about = RequestPurpose::of(flow, &requests, case.nth);
        check(flow, case.wrong, &about, &ran, &requests[..case.nth]);
    }
    if ran.code() == 0 {
        flow.is_done(w, &release).await;
    } else {
        Recovery::Same.run(flow, w, &release).await;
    }
    ran.code()
}

fn check(
    flow: Flow,
    wrong: Disturbance,
    about: &RequestPurpose,
    ran: &OpmOutput,
    until: &[RequestInfo],
) {
    let Expectation { code, says } = expected(flow, wrong, about);
    let until: Vec<String> = until
        .iter()
        .map(|seen| format!("{} {}", seen.verb, seen.uri))
        .collect();
    let until = until.join("\n");
    let case = format!("{flow:?}, {wrong:?} at {about:?}, the last of\n{until}\n");
    assert_eq!(ran.code(), code, "{case}: {ran}");
    if let Some(text) = says {
        assert!(
            ran.to_string().contains(&text),
            "{case}: no {text:?} in {ran}"
        );
    }
}
