//! Credential plugins of a kubeconfig (`users[].user.exec`): run within a time, read within a
//! size, and run again before a token expires.
//!
//! `kube` would run them, too, but for as long as they like, and without anybody being able to
//! stop them. One that can ask nobody has a process group of its own, so that what it started ends
//! with it; one that may ask somebody at a terminal has to stay in the group that the terminal
//! listens to.

use std::ffi::OsString;
use std::fmt;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use jiff::{SignedDuration, Timestamp};
use kube::config::{AuthInfo, ExecConfig, ExecInteractiveMode};
use rustix::fs::{Access, access};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::sync::Mutex;

use crate::errors::shorten;

/// More than any credential.
const LARGEST_OUTPUT: u64 = 256 << 10;

/// How much longer a plugin may take when somebody may have to answer it.
const TIMES_FOR_A_PERSON: u32 = 5;

/// A token is renewed this long before it expires.
const MARGIN: SignedDuration = SignedDuration::from_secs(60);

/// A plugin whose tokens go with every request.
pub(crate) struct TokenPlugin {
    exec: ExecConfig,
    timeout: Duration,
    token: Mutex<Token>,
}

struct Token {
    header: HeaderValue,
    expires: Option<Timestamp>,
}

impl fmt::Debug for TokenPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenPlugin")
    }
}

impl TokenPlugin {
    /// The header that says who asks, with a token that is good for a while.
    pub(crate) async fn header(&self) -> Result<HeaderValue, String> {
        let mut token = self.token.lock().await;
        let soon = Timestamp::now()
            .saturating_add(MARGIN)
            .unwrap_or(Timestamp::MAX);
        if token.expires.is_some_and(|expires| expires <= soon) {
            let status = run(&self.exec, self.timeout).await?;
            *token = status.token(&self.exec)?;
        }
        Ok(token.header.clone())
    }
}

/// Runs the plugin that a user's entry names, if it names one. A certificate becomes part of the
/// entry; a token goes with the requests.
pub(crate) async fn take_from(
    auth: &mut AuthInfo,
    timeout: Duration,
) -> Result<Option<TokenPlugin>, String> {
    if let Some(provider) = &auth.auth_provider
        && provider.config.contains_key("cmd-path")
    {
        return Err(format!(
            "its auth provider {:?} runs a command, which Kubernetes gave up in version 1.26; use an exec plugin",
            provider.name
        ));
    }
    let names_itself = auth.token.is_some() || auth.token_file.is_some() || auth.username.is_some();
    let Some(exec) = auth.exec.take().filter(|_| !names_itself) else {
        return Ok(None);
    };
    let status = run(&exec, timeout).await?;
    if let (Some(certificate), Some(key)) = (&status.certificate, &status.key) {
        auth.client_certificate_data = Some(STANDARD.encode(certificate));
        auth.client_key_data = Some(STANDARD.encode(key).into());
    }
    if status.token.is_none() {
        return match status.certificate {
            Some(_) => Ok(None),
            None => Err(format!("{} gave no credentials", named(&exec))),
        };
    }
    let token = Mutex::new(status.token(&exec)?);
    Ok(Some(TokenPlugin {
        exec,
        timeout,
        token,
    }))
}

#[derive(Deserialize)]
struct Credential {
    status: Option<CredentialStatus>,
}

#[derive(Deserialize)]
struct CredentialStatus {
    token: Option<String>,
    #[serde(rename = "expirationTimestamp")]
    expires: Option<String>,
    #[serde(rename = "clientCertificateData")]
    certificate: Option<String>,
    #[serde(rename = "clientKeyData")]
    key: Option<String>,
}

impl CredentialStatus {
    fn token(&self, exec: &ExecConfig) -> Result<Token, String> {
        let unusable = |what: &str| format!("{} gave {what}", named(exec));
        let token = self.token.as_deref().unwrap_or_default();
        let mut header = HeaderValue::try_from(format!("Bearer {token}"))
            .map_err(|_| unusable("a token that cannot be sent"))?;
        header.set_sensitive(true);
        let expires = self.expires.as_deref().map(str::parse).transpose();
        let expires = expires.map_err(|_| unusable("an expiration that is no time"))?;
        Ok(Token { header, expires })
    }
}

/// Its command, and not its arguments, which may hold a credential.
fn named(exec: &ExecConfig) -> String {
    let command = exec.command.as_deref().unwrap_or_default();
    format!("the kubeconfig's credential plugin {command:?}")
}

async fn run(exec: &ExecConfig, timeout: Duration) -> Result<CredentialStatus, String> {
    let person =
        exec.interactive_mode != Some(ExecInteractiveMode::Never) && std::io::stdin().is_terminal();
    let timeout = match person {
        true => timeout.saturating_mul(TIMES_FOR_A_PERSON),
        false => timeout,
    };
    // Dropping it kills the plugin: when its time is over, and when nobody waits any more.
    let output = tokio::time::timeout(timeout, output(exec, person)).await;
    let output = output.map_err(|_| {
        let seconds = timeout.as_secs_f32();
        format!("{} did not end within {seconds} s", named(exec))
    })??;
    let credential: Credential = serde_saphyr::from_slice(&output)
        .map_err(|_| format!("{} wrote something that is no credential", named(exec)))?;
    credential
        .status
        .ok_or_else(|| format!("{} gave no credentials", named(exec)))
}

async fn output(exec: &ExecConfig, person: bool) -> Result<Vec<u8>, String> {
    let mut command = command(exec, person)?;
    let of_its_own = exec.interactive_mode == Some(ExecInteractiveMode::Never) || !has_terminal();
    if of_its_own {
        command.process_group(0);
    }
    let mut child = command
        .spawn()
        .map_err(|error| format!("{} cannot be run: {error}", named(exec)))?;
    let mut group = ProcessGroup(child.id().filter(|_| of_its_own));
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (stdout, stderr) = tokio::join!(some_of(stdout), some_of(stderr));
    let status = child.wait().await;
    group.0 = None;
    let status = status.map_err(|error| format!("{}: {error}", named(exec)))?;
    if !status.success() {
        let said = stderr.map(|said| String::from_utf8_lossy(&said).trim().to_owned());
        let said = shorten(&said.unwrap_or_default());
        return Err(format!("{} failed with {status}: {said}", named(exec)));
    }
    stdout.ok_or_else(|| format!("{} wrote more than a credential can be", named(exec)))
}

/// The group of a plugin that is not waited for yet, so that its number means no other. Dropping it
/// ends all that is in it.
struct ProcessGroup(Option<u32>);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        let group = self.0.and_then(|id| i32::try_from(id).ok());
        if let Some(group) = group.and_then(Pid::from_raw) {
            // An error means that it is gone already.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Whether a program could ask somebody past its own standard input.
fn has_terminal() -> bool {
    std::fs::File::open("/dev/tty").is_ok()
}

/// What comes out of a pipe, to its end; nothing if that is too much.
async fn some_of(pipe: Option<impl AsyncRead + Unpin>) -> Option<Vec<u8>> {
    let mut read = Vec::new();
    let mut pipe = pipe?.take(LARGEST_OUTPUT);
    pipe.read_to_end(&mut read).await.ok()?;
    if pipe.limit() > 0 {
        return Some(read);
    }
    // The rest is taken off its hands, so that it ends, or is ended.
    let _ = tokio::io::copy(&mut pipe.into_inner(), &mut tokio::io::sink()).await;
    None
}

/// The file that a plugin's name means. None in the working directory, whatever PATH says: it may be
/// somebody else's checkout. A path was made one from the kubeconfig's directory before.
fn found(program: &str, search_path: Option<OsString>) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program));
    }
    let is_executable = |file: &PathBuf| file.is_file() && access(file, Access::EXEC_OK).is_ok();
    std::env::split_paths(&search_path.unwrap_or_default())
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(program))
        .find(is_executable)
}

fn command(exec: &ExecConfig, person: bool) -> Result<Command, String> {
    if exec.interactive_mode == Some(ExecInteractiveMode::Always) && !person {
        return Err(format!("{} needs a terminal", named(exec)));
    }
    let program = exec.command.as_deref().filter(|name| !name.is_empty());
    let program = program.ok_or("the kubeconfig's credential plugin names no command")?;
    let found = found(program, std::env::var_os("PATH"));
    let found = found.ok_or_else(|| format!("{} was not found", named(exec)))?;
    let mut command = Command::new(found);
    command.args(exec.args.iter().flatten());
    for variable in exec.env.iter().flatten() {
        if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
            command.env(name, value);
        }
    }
    let mut spec = json!({"interactive": person});
    if exec.provide_cluster_info {
        spec["cluster"] = serde_json::to_value(&exec.cluster).unwrap_or_default();
    }
    let info = json!({"apiVersion": exec.api_version, "kind": "ExecCredential", "spec": spec});
    command.env("KUBERNETES_EXEC_INFO", info.to_string());
    for name in exec.drop_env.iter().flatten() {
        command.env_remove(name);
    }
    let (stdin, stderr) = match person {
        true => (Stdio::inherit(), Stdio::inherit()),
        false => (Stdio::null(), Stdio::piped()),
    };
    command.stdin(stdin).stderr(stderr).stdout(Stdio::piped());
    command.kill_on_drop(true);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(script: &str) -> AuthInfo {
        let exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "sh",
            "args": ["-c", script], "interactiveMode": "Never"});
        serde_json::from_value(json!({"exec": exec})).unwrap()
    }

    async fn given(script: &str, patience: Duration) -> Result<Option<String>, String> {
        let plugin = take_from(&mut user(script), patience).await?;
        let Some(plugin) = plugin else {
            return Ok(None);
        };
        let header = plugin.header().await?;
        Ok(Some(header.to_str().unwrap().to_owned()))
    }

    const LONG: Duration = Duration::from_secs(600);

    #[tokio::test]
    async fn a_token_comes_from_the_plugin_again_when_it_expires() {
        let credential = |token: &str, expires: &str| {
            format!(r#"{{"status": {{"token": "{token}", "expirationTimestamp": {expires}}}}}"#)
        };
        let once = format!("echo '{}'", credential("a", "null"));
        assert_eq!(given(&once, LONG).await, Ok(Some("Bearer a".to_owned())));
        let dir = tempfile::tempdir().unwrap();
        let mark = dir.path().join("mark");
        let (first, second) = (
            credential("old", "\"2001-01-01T00:00:00Z\""),
            credential("new", "\"2999-01-01T00:00:00Z\""),
        );
        let twice = format!(
            "if [ -e {mark} ]; then echo '{second}'; else touch {mark}; echo '{first}'; fi",
            mark = mark.display()
        );
        assert_eq!(given(&twice, LONG).await, Ok(Some("Bearer new".to_owned())));
        let yaml = "printf 'status:\\n  token: y\\n'";
        assert_eq!(given(yaml, LONG).await, Ok(Some("Bearer y".to_owned())));
    }

    #[tokio::test]
    async fn a_plugin_that_hangs_floods_or_fails_is_named() {
        let short = Duration::from_millis(300);
        for (script, patience, expected) in [
            ("exec sleep 600", short, "did not end within 0.3 s"),
            ("yes", short, "did not end within 0.3 s"),
            (
                "yes | head -c 1000000",
                LONG,
                "wrote more than a credential can be",
            ),
            (
                "echo no >&2; exit 3",
                LONG,
                "failed with exit status: 3: no",
            ),
            ("echo '{}'", LONG, "gave no credentials"),
            ("echo '{\"status\": {}}'", LONG, "gave no credentials"),
            (
                "echo '{\"status\": {\"token\": \"a\\u0007\"}}'",
                LONG,
                "a token that cannot be sent",
            ),
            (
                "echo '<html>'",
                LONG,
                "wrote something that is no credential",
            ),
        ] {
            let error = given(script, patience).await.unwrap_err();
            assert!(error.contains(expected), "{script}: {error}");
            assert!(error.contains("credential plugin \"sh\""), "{error}");
        }
    }

    #[tokio::test]
    async fn what_a_plugin_started_ends_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let id = dir.path().join("id");
        // The child of a child holds the pipe.
        let script = format!(
            "sleep 600 & echo $! > {0}.new; mv {0}.new {0}; wait",
            id.display()
        );
        let started = async {
            while !id.exists() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            given = given(&script, LONG) => panic!("{given:?}"),
            () = started => {}
        }
        let id = std::fs::read_to_string(id).unwrap();
        let stat = format!("/proc/{}/stat", id.trim());
        let ends = async {
            // A process that nobody has waited for yet is no more than its number.
            while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), ends)
            .await
            .unwrap();
    }

    /// The tests' working directory is this crate's, which has such files.
    #[test]
    fn no_plugin_is_taken_from_the_working_directory() {
        let found = |path: &str| found("sh", Some(path.into()));
        assert!(found("/bin:/usr/bin").is_some());
        for path in ["", ":", ".", "src", "::/nowhere"] {
            assert_eq!(found(path), None, "{path:?}");
            assert_eq!(super::found("Cargo.toml", Some(path.into())), None);
        }
        assert_eq!(super::found("/opt/p", None), Some(PathBuf::from("/opt/p")));
    }
}
