//! Faults between the client and a real server: requests and answers that get lost, refusals
//! that pass. The requests that do get through are the server's to answer.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use kube::client::Body;
use opm_cluster::{ClientSettings, ClusterClient, RetryPolicy};
use opm_engine::ports::{
    ApiErrorKind, Cluster as _, DeleteOutcome, Detail, Observation, Permit, Precondition, Stopped,
};
use opm_testkit::{HANG, unless_it_hangs, until};
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tower::{BoxError, service_fn};

use crate::{apply, deletion, on_a_server, patient, uid};

/// What becomes of one request.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// It goes through.
    Pass,
    /// It never arrives.
    LoseRequest,
    /// It is carried out, and the answer gets lost.
    LoseAnswer,
    /// It is answered like this instead.
    Answer(u16, Option<u64>, &'static str),
    /// It goes through when this has happened.
    PassAfter(Arc<Notify>),
    /// It goes through without its Accept header.
    PassWithoutAccept,
}

type ServiceResponse = Response<UnsyncBoxBody<Bytes, BoxError>>;

/// A client over a real one, with this rule for each request: how many matching ones came
/// before is the rule's to count.
pub(crate) fn faulty(
    real: kube::Client,
    rule: impl Fn(&Request<Body>) -> Fault + Send + Sync + 'static,
) -> kube::Client {
    let rule = Arc::new(rule);
    let service = service_fn(move |mut request: Request<Body>| {
        let fault = rule(&request);
        let real = real.clone();
        async move {
            match fault {
                Fault::LoseRequest => return Err("connection reset".into()),
                Fault::Answer(status, retry_after, body) => {
                    return Ok(made_up(status, retry_after, body));
                }
                Fault::PassWithoutAccept => {
                    request.headers_mut().remove(http::header::ACCEPT);
                }
                Fault::PassAfter(ref happened) => happened.notified().await,
                Fault::Pass | Fault::LoseAnswer => {}
            }
            let answer = real.send(request).await?;
            if matches!(fault, Fault::LoseAnswer) {
                // Read to the end, so that the server has certainly finished.
                let _ = answer.into_body().collect().await;
                return Err(BoxError::from("connection reset"));
            }
            Ok::<ServiceResponse, BoxError>(
                answer.map(|body| body.map_err(BoxError::from).boxed_unsync()),
            )
        }
    });
    kube::Client::new(service, "default")
}

fn made_up(status: u16, retry_after: Option<u64>, body: &'static str) -> ServiceResponse {
    let mut response = Response::builder().status(status);
    if let Some(seconds) = retry_after {
        response = response.header("retry-after", seconds);
    }
    let body = Full::new(Bytes::from_static(body.as_bytes()));
    let body = body.map_err(|never| match never {}).boxed_unsync();
    response.body(body).expect("a response")
}

/// A client over a real one that remembers the paths it was asked for.
pub(crate) struct RequestLog {
    client: kube::Client,
    seen: Arc<Mutex<Vec<String>>>,
}

impl RequestLog {
    pub(crate) fn over(real: kube::Client) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&seen);
        let client = faulty(real, move |request| {
            noted.lock().unwrap().push(request.uri().to_string());
            Fault::Pass
        });
        Self { client, seen }
    }

    pub(crate) fn client(&self) -> kube::Client {
        self.client.clone()
    }

    pub(crate) fn reset(&self) {
        self.seen.lock().unwrap().clear();
    }

    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

/// The faults for requests of one method, in order; then everything passes. Counts them all.
pub(crate) struct Script {
    pub(crate) client: ClusterClient,
    sent: Arc<Mutex<usize>>,
}

impl Script {
    pub(crate) fn new(real: kube::Client, method: Method, faults: Vec<Fault>) -> Self {
        let sent = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&sent);
        let client = faulty(real, move |request| {
            if request.method() != method {
                return Fault::Pass;
            }
            let mut count = counted.lock().unwrap();
            *count += 1;
            faults.get(*count - 1).cloned().unwrap_or(Fault::Pass)
        });
        Self {
            client: patient(client),
            sent,
        }
    }

    /// Requests of that method so far.
    pub(crate) fn sent(&self) -> usize {
        *self.sent.lock().unwrap()
    }
}

const OVERLOADED: &str = r#"{"kind":"Status","status":"Failure","reason":"TooManyRequests","message":"slow down","code":429}"#;
const UNAVAILABLE: &str = r#"{"kind":"Status","status":"Failure","reason":"ServiceUnavailable","message":"no leader","code":503}"#;
const INTERNAL: &str = r#"{"kind":"Status","status":"Failure","reason":"InternalError","message":"webhook down","code":500}"#;
const UNREASONED: &str = r#"{"kind":"Status","status":"Failure","message":"failed to create typed patch object","code":500}"#;

#[tokio::test]
async fn a_create_whose_answer_was_lost_is_recognised() {
    let test = on_a_server!("lost-create");
    for fault in [Fault::LoseAnswer, Fault::LoseRequest] {
        let script = Script::new(test.namespace.client(), Method::PATCH, vec![fault.clone()]);
        let name = format!("x-{fault:?}").to_lowercase();
        let map = test.map(&name, json!({"a": "1"}));
        let sent = apply(&script.client, &map, Precondition::Absent, false).await;
        let sent = sent.unwrap();
        assert!(sent.created, "{fault:?}");
        let live = test.live_map(&name).await.unwrap();
        assert_eq!(live["metadata"]["uid"], uid(&sent.object).as_str());
        assert_eq!(live["data"], json!({"a": "1"}));
    }
}

#[tokio::test]
async fn a_lost_create_does_not_claim_what_somebody_else_made() {
    let test = on_a_server!("lost-foreign");
    // The request is lost, and the name is taken by another before it is sent again. The second
    // attempt waits for that.
    let mut foreign = test.map("x", json!({"b": "2"}));
    foreign["metadata"]["labels"] = json!({"release": "another"});
    let other = test.client.clone();
    let (arrive, arrived) = tokio::sync::oneshot::channel::<()>();
    let arrive = Mutex::new(Some(arrive));
    let taken = Arc::new(Notify::new());
    let name_taken = Arc::clone(&taken);
    let real = test.namespace.client();
    let client = patient(faulty(real, move |request| match request.method() {
        &Method::PATCH => match arrive.lock().unwrap().take() {
            Some(arrive) => {
                let _ = arrive.send(());
                Fault::LoseRequest
            }
            None => Fault::PassAfter(Arc::clone(&name_taken)),
        },
        _ => Fault::Pass,
    }));
    let map = test.map("x", json!({"a": "1"}));
    let mine = apply(&client, &map, Precondition::Absent, false);
    let theirs = async {
        arrived.await.unwrap();
        let theirs = apply(&other, &foreign, Precondition::Absent, false).await;
        taken.notify_one();
        theirs.unwrap()
    };
    let (mine, theirs) = futures::join!(mine, theirs);
    assert_eq!(mine.unwrap_err().kind, ApiErrorKind::AlreadyExists);
    let live = test.live_map("x").await.unwrap();
    assert_eq!(live["data"], json!({"b": "2"}), "untouched");
    assert_eq!(live["metadata"]["uid"], uid(&theirs.object).as_str());
}

#[tokio::test]
async fn a_delete_whose_answer_was_lost_is_gone() {
    let test = on_a_server!("lost-delete");
    let uid = test.create_map("x").await;
    let script = Script::new(
        test.namespace.client(),
        Method::DELETE,
        vec![Fault::LoseAnswer],
    );
    let identity = test.map_id("x");
    let outcome = script
        .client
        .delete(deletion(&identity, &uid), Permit::default())
        .await;
    assert_eq!(outcome.unwrap(), DeleteOutcome::Gone);
    assert_eq!(script.sent(), 2);
}

#[tokio::test]
async fn refusals_that_pass_are_waited_out() {
    let test = on_a_server!("waited-out");
    let faults = vec![
        Fault::Answer(503, None, UNAVAILABLE),
        Fault::Answer(429, Some(1), OVERLOADED),
        Fault::Answer(500, None, INTERNAL),
        Fault::Answer(502, None, "<html>bad gateway</html>"),
        Fault::LoseRequest,
    ];
    let script = Script::new(test.namespace.client(), Method::PATCH, faults);
    let begun = Instant::now();
    let map = test.map("x", json!({"a": "1"}));
    let sent = apply(&script.client, &map, Precondition::Absent, false).await;
    assert!(sent.unwrap().created);
    assert_eq!(script.sent(), 6);
    assert!(
        begun.elapsed() >= Duration::from_secs(1),
        "Retry-After is kept"
    );
}

#[tokio::test]
async fn what_will_not_pass_is_not_repeated() {
    let test = on_a_server!("not-repeated");
    let faults = vec![Fault::Answer(500, None, UNREASONED)];
    let script = Script::new(test.namespace.client(), Method::PATCH, faults);
    let map = test.map("x", json!({"a": "1"}));
    let error = apply(&script.client, &map, Precondition::Absent, false).await;
    assert_eq!(error.unwrap_err().kind, ApiErrorKind::Rejected);
    assert_eq!(script.sent(), 1);
}

#[tokio::test]
async fn the_budget_ends_and_the_last_cause_is_told() {
    let test = on_a_server!("budget");
    let mut faults = vec![Fault::LoseRequest; 3];
    faults.extend(vec![Fault::Answer(503, None, UNAVAILABLE); 1000]);
    let mut script = Script::new(test.namespace.client(), Method::PATCH, faults);
    script.client = script.client.with_settings(ClientSettings {
        retry: RetryPolicy {
            first_wait: Duration::from_millis(10),
            longest_wait: Duration::from_millis(100),
            budget: Duration::from_secs(1),
            ..RetryPolicy::default()
        },
        ..ClientSettings::default()
    });
    let map = test.map("x", json!({"a": "1"}));
    let error = apply(&script.client, &map, Precondition::Absent, false).await;
    let error = error.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ApiErrorKind::Unreachable, "no leader")
    );
    let sent = script.sent();
    assert!((4..1003).contains(&sent), "{sent}: the budget ended it");
}

#[tokio::test]
async fn an_interrupt_ends_the_waiting() {
    let test = on_a_server!("interrupt");
    // Whoever waits as long as the server asks for hangs.
    let faults = vec![Fault::Answer(429, Some(3600), OVERLOADED)];
    let mut script = Script::new(test.namespace.client(), Method::DELETE, faults);
    script.client = script.client.with_settings(ClientSettings {
        retry: RetryPolicy {
            budget: 10 * HANG,
            ..RetryPolicy::default()
        },
        ..ClientSettings::default()
    });
    let uid = test.create_map("x").await;
    let (cancel, identity) = (CancellationToken::new(), test.map_id("x"));
    let permit = Permit {
        cancel: Some(&cancel),
        ..Permit::default()
    };
    let delete = script.client.delete(deletion(&identity, &uid), permit);
    let delete = unless_it_hangs("the interrupted delete", delete);
    let interrupt = async {
        until("the request is refused", async || script.sent() == 1).await;
        cancel.cancel();
    };
    let (outcome, ()) = futures::join!(delete, interrupt);
    let error = outcome.unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::Stopped(Stopped::Cancelled));
    assert_eq!(script.sent(), 1, "nothing was sent after the interrupt");
    assert!(test.live_map("x").await.is_some());
}

#[tokio::test]
async fn an_attempt_that_hangs_is_given_up() {
    let test = on_a_server!("hangs");
    let attempts = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&attempts);
    let hang = service_fn(move |_: Request<Body>| {
        counted.fetch_add(1, Ordering::SeqCst);
        async {
            std::future::pending::<()>().await;
            Ok::<Response<Body>, BoxError>(Response::new(Body::empty()))
        }
    });
    let client = ClusterClient::from_client(kube::Client::new(hang, "default"));
    let client = client.with_settings(ClientSettings {
        attempt_timeout: Duration::from_millis(100),
        retry: RetryPolicy {
            first_wait: Duration::from_millis(10),
            first_contact: Duration::from_millis(300),
            budget: 10 * HANG,
            ..RetryPolicy::default()
        },
        ..ClientSettings::default()
    });
    let id = test.map_id("x");
    let look = client.look(std::slice::from_ref(&id), Detail::Metadata);
    let found = unless_it_hangs("a look at a server that hangs", look).await;
    assert!(
        matches!(&found[&id], Observation::Failed(error) if error.kind == ApiErrorKind::Unreachable)
    );
    assert!(attempts.load(Ordering::SeqCst) > 0, "it was tried");
}
