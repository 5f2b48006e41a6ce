//! Starts the processes of a control plane and waits until a node is ready.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::api::{Api, PostParams};
use serde_json::json;

use super::processes::{Processes, Sweeper};
use super::{Plane, Purpose, config_of};
use crate::keys::{Authority, signing_key};
use crate::kubeconfig::{Access, Credentials};
use crate::programs::Program;
use crate::services;
use crate::wait::HANG;

const STAGES: &str = include_str!("../../control-plane/kwok/stages.yaml");
const AUDIT_POLICY: &str = include_str!("../../control-plane/kubernetes/audit-policy.yaml");

/// The group that may do everything.
const MASTERS: &str = "system:masters";

#[derive(Debug)]
pub(super) struct Ports {
    pub(super) etcd: u16,
    peer: u16,
    pub(super) api: u16,
    kwok: u16,
}

pub(super) async fn start(
    dir: &Path,
    purpose: Purpose,
    sweeper: &mut Sweeper,
) -> Result<(Plane, Processes), String> {
    let mut last = String::new();
    // A free port may be gone by the time a process binds it.
    for _ in 0..3 {
        match attempt(dir, purpose, sweeper).await {
            Ok(started) => return Ok(started),
            Err(why) if why.contains("address already in use") => last = why,
            Err(why) => return Err(why),
        }
    }
    Err(last)
}

async fn attempt(
    dir: &Path,
    purpose: Purpose,
    sweeper: &mut Sweeper,
) -> Result<(Plane, Processes), String> {
    let begin = Instant::now();
    let ports = ports().map_err(text)?;
    let mut plane = Plane {
        dir: dir.to_owned(),
        server: format!("https://127.0.0.1:{}", ports.api),
        seconds_to_ready: 0.0,
    };
    write_files(&plane, &ports).map_err(text)?;
    let mut processes = Processes::new(dir);
    processes.spawn(Program::Etcd, &etcd(&ports), sweeper)?;
    let mut api = apiserver(&ports);
    if let Purpose::Applications = purpose {
        fs::write(dir.join("egress.json"), services::egress(&plane)).map_err(text)?;
        api.extend(args(services::FLAGS));
    }
    processes.spawn(Program::KubeApiserver, &api, sweeper)?;
    let config = config_of(&plane.kubeconfig()).await.map_err(text)?;
    let client = kube::Client::try_from(config).map_err(text)?;
    until(&mut processes, begin, "the API server is ready", || {
        api_ready(&client)
    })
    .await?;
    processes.spawn(
        Program::KubeControllerManager,
        &controller_manager(),
        sweeper,
    )?;
    processes.spawn(Program::KubeScheduler, &scheduler(), sweeper)?;
    processes.spawn(Program::Kwok, &kwok(&ports), sweeper)?;
    create_node(&client).await.map_err(text)?;
    until(&mut processes, begin, "a node is ready", || {
        node_ready(&client)
    })
    .await?;
    until(&mut processes, begin, "the controllers work", || {
        controllers_work(&client)
    })
    .await?;
    plane.seconds_to_ready = begin.elapsed().as_secs_f64();
    let json = serde_json::to_vec_pretty(&plane).map_err(text)?;
    fs::write(dir.join("plane.json"), json).map_err(text)?;
    Ok((plane, processes))
}

pub(super) fn ports() -> io::Result<Ports> {
    // All are held until all are known, so that no two are the same.
    let held: Vec<_> = (0..4)
        .map(|_| TcpListener::bind(("127.0.0.1", 0)))
        .collect::<io::Result<_>>()?;
    let ports: Vec<_> = held
        .iter()
        .map(|one| Ok(one.local_addr()?.port()))
        .collect::<io::Result<_>>()?;
    Ok(Ports {
        etcd: ports[0],
        peer: ports[1],
        api: ports[2],
        kwok: ports[3],
    })
}

pub(super) fn write_files(plane: &Plane, ports: &Ports) -> io::Result<()> {
    let dir = &plane.dir;
    let authority = Authority::generate();
    let server = authority.server();
    let (signing, verifying) = signing_key();
    let token = format!("{:032x}", u128::from_ne_bytes(random()?));
    let files = [
        ("ca.crt", authority.certificate.clone()),
        ("ca.key", authority.key()),
        ("server.crt", server.certificate),
        ("server.key", server.key),
        ("sa.key", signing),
        ("sa.pub", verifying),
        (
            "tokens.csv",
            format!("{token},opm-testkit:admin,admin,{MASTERS}\n"),
        ),
        ("stages.yaml", STAGES.to_owned()),
        ("audit-policy.yaml", AUDIT_POLICY.to_owned()),
        ("audit.jsonl", String::new()),
    ];
    for (name, content) in files {
        fs::write(dir.join(name), content)?;
    }
    // A retry after a lost port starts from nothing.
    match fs::remove_dir_all(dir.join("etcd")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    for name in ["controller-manager", "scheduler", "kwok", "services"] {
        // Users of their own: the audit policy leaves them out.
        let user = format!("opm-testkit:{name}");
        let access = plane.access(authority.client(&user, Some(MASTERS)), &authority);
        access.write(&dir.join(format!("{name}.kubeconfig")))?;
    }
    let admin = Access {
        server: format!("https://127.0.0.1:{}", ports.api),
        tls_server_name: None,
        authority: authority.certificate,
        credentials: Credentials::Token(token),
        namespace: None,
    };
    admin.write(&plane.kubeconfig())
}

fn random() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    io::Read::read_exact(&mut fs::File::open("/dev/urandom")?, &mut bytes)?;
    Ok(bytes)
}

pub(super) fn etcd(ports: &Ports) -> Vec<String> {
    let client = format!("http://127.0.0.1:{}", ports.etcd);
    let peer = format!("http://127.0.0.1:{}", ports.peer);
    args(&[
        "--data-dir=etcd",
        "--unsafe-no-fsync",
        "--log-level=warn",
        &format!("--listen-client-urls={client}"),
        &format!("--advertise-client-urls={client}"),
        &format!("--listen-peer-urls={peer}"),
        &format!("--initial-advertise-peer-urls={peer}"),
        &format!("--initial-cluster=default={peer}"),
    ])
}

pub(super) fn apiserver(ports: &Ports) -> Vec<String> {
    args(&[
        &format!("--etcd-servers=http://127.0.0.1:{}", ports.etcd),
        &format!("--secure-port={}", ports.api),
        "--bind-address=127.0.0.1",
        "--tls-cert-file=server.crt",
        "--tls-private-key-file=server.key",
        "--client-ca-file=ca.crt",
        "--token-auth-file=tokens.csv",
        "--service-account-key-file=sa.pub",
        "--service-account-signing-key-file=sa.key",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.0.0.0/16",
        "--disable-admission-plugins=ServiceAccount",
        "--allow-privileged=true",
        "--audit-policy-file=audit-policy.yaml",
        "--audit-log-path=audit.jsonl",
        // One file, never rotated: readers hold positions in it.
        "--audit-log-maxsize=100000",
        "--feature-gates=MutatingAdmissionPolicy=true",
        "--runtime-config=admissionregistration.k8s.io/v1beta1=true",
    ])
}

pub(super) fn controller_manager() -> Vec<String> {
    args(&[
        "--kubeconfig=controller-manager.kubeconfig",
        "--service-account-private-key-file=sa.key",
        "--root-ca-file=ca.crt",
        "--leader-elect=false",
        "--secure-port=0",
        // Namespaces of tests come and go by the dozen.
        "--concurrent-namespace-syncs=50",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ])
}

fn scheduler() -> Vec<String> {
    args(&[
        "--kubeconfig=scheduler.kubeconfig",
        "--leader-elect=false",
        "--secure-port=0",
    ])
}

fn kwok(ports: &Ports) -> Vec<String> {
    args(&[
        "--kubeconfig=kwok.kubeconfig",
        "--config=stages.yaml",
        "--manage-all-nodes=true",
        "--node-ip=10.1.0.1",
        "--cidr=10.2.0.0/16",
        &format!("--server-address=127.0.0.1:{}", ports.kwok),
    ])
}

fn args(list: &[&str]) -> Vec<String> {
    list.iter().map(|one| (*one).to_owned()).collect()
}

async fn until<F: Future<Output = bool>>(
    processes: &mut Processes,
    begin: Instant,
    what: &str,
    is_so: impl Fn() -> F,
) -> Result<(), String> {
    while !is_so().await {
        if let Some(why) = processes.ended() {
            return Err(why);
        }
        if begin.elapsed() > HANG {
            return Err(format!("{} s passed before {what}", HANG.as_secs()));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

pub(super) async fn api_ready(client: &kube::Client) -> bool {
    let request = http::Request::get("/readyz")
        .body(Vec::new())
        .expect("a valid request");
    client
        .request_text(request)
        .await
        .is_ok_and(|answer| answer == "ok")
}

async fn create_node(client: &kube::Client) -> kube::Result<()> {
    let size =
        json!({ "cpu": "1000", "memory": "4Ti", "ephemeral-storage": "4Ti", "pods": "10000" });
    let node = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "node-1",
            "labels": { "kubernetes.io/hostname": "node-1", "kubernetes.io/os": "linux" },
        },
        "status": { "capacity": size, "allocatable": size },
    });
    let node: Node = serde_json::from_value(node).expect("a valid Node");
    Api::all(client.clone())
        .create(&PostParams::default(), &node)
        .await
        .map(drop)
}

async fn node_ready(client: &kube::Client) -> bool {
    let Ok(node) = Api::<Node>::all(client.clone()).get("node-1").await else {
        return false;
    };
    let spec = node.spec.unwrap_or_default();
    let conditions = node
        .status
        .and_then(|status| status.conditions)
        .unwrap_or_default();
    conditions
        .iter()
        .any(|one| one.type_ == "Ready" && one.status == "True")
        && spec.taints.unwrap_or_default().is_empty()
}

/// The controller manager makes this account, so it is there when the controllers run.
async fn controllers_work(client: &kube::Client) -> bool {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
    accounts.get("default").await.is_ok()
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
