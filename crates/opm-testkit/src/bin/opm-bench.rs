//! The two small programs behind `cargo xtask bench cluster`, in one.
//!
//! `opm-bench time RESULT LOG PROGRAM ARGS…` runs a program and writes down what it took. It is a
//! process of its own because a child's peak memory counts that of the process it is started from.
//!
//! `opm-bench send KUBECONFIG REQUESTS 1|2 AT-ONCE` is the floor: it sends the requests of a file
//! and does nothing else. An empty line in the file waits for all before it. `1` and `2` are the
//! version of HTTP.
#![allow(
    clippy::print_stderr,
    clippy::expect_used,
    reason = "a chore, which says what it expects"
)]

use std::error::Error;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use opm_testkit::relay::{self, Protocol};
use serde_json::{Value, json};
use wait4::Wait4 as _;

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let text = |n: usize| args.get(n).and_then(|arg| arg.to_str()).unwrap_or_default();
    let outcome = match (text(0), args.len()) {
        ("time", 4..) => time(&args[1], &args[2], &args[3], &args[4..]),
        ("send", 5) => send(Path::new(&args[1]), Path::new(&args[2]), text(3), text(4)),
        _ => Err("run by `cargo xtask bench cluster`".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn time(result: &OsString, log: &OsString, program: &OsString, args: &[OsString]) -> Outcome {
    let log = File::create(log)?;
    let begin = Instant::now();
    let child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()?;
    let used = child.wait4()?;
    let seconds = begin.elapsed().as_secs_f64();
    let cpu = used.rusage.utime + used.rusage.stime;
    let said = json!({
        "seconds": seconds,
        "cpu": cpu.as_secs_f64(),
        "bytes": used.rusage.maxrss,
        "code": used.status.code(),
    });
    Ok(fs::write(result, said.to_string())?)
}

fn send(kubeconfig: &Path, requests: &Path, http: &str, at_once: &str) -> Outcome {
    let protocol = match http {
        "2" => Protocol::Http2,
        _ => Protocol::Http1,
    };
    let at_once: usize = at_once.parse()?;
    let text = fs::read_to_string(requests)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let client = relay::client(kubeconfig, protocol).await?;
        for group in text.split("\n\n") {
            stream::iter(group.lines().filter(|line| !line.is_empty()))
                .map(|line| one(&client, line))
                .buffer_unordered(at_once)
                .try_collect::<()>()
                .await?;
        }
        Ok(())
    })
}

/// Sends one request: method, path and body, as a list in JSON.
async fn one(client: &kube::Client, line: &str) -> Outcome {
    let (method, path, body): (String, String, Value) = serde_json::from_str(line)?;
    let content = match method.as_str() {
        "PATCH" => "application/apply-patch+yaml",
        _ => "application/json",
    };
    let body = match body {
        Value::Null => Vec::new(),
        body => serde_json::to_vec(&body)?,
    };
    let request = http::Request::builder()
        .method(method.as_str())
        .uri(path)
        .header("Content-Type", content)
        .body(body)?;
    let deletes = method == "DELETE";
    match client.request_text(request).await {
        // Where the upgrade before it was not taken back, some are gone already.
        Err(kube::Error::Api(answer)) if deletes && answer.code == 404 => Ok(()),
        sent => Ok(sent.map(drop)?),
    }
}
