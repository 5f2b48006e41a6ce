//! Charts to be fetched: archives, and a server on loopback that is both a registry and a chart
//! repository, as small as `helm pull` lets it be. It only ever reads out what it was given.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What an archive may hold.
#[derive(Debug, Clone)]
pub enum ArchiveEntry {
    /// A file.
    File(Vec<u8>),
    /// A symbolic link to there.
    Link(String),
}

/// An archive of these entries, as a chart's is: the chart's name comes first in every path.
#[must_use]
pub fn archive<'a>(entries: impl IntoIterator<Item = (&'a str, ArchiveEntry)>) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    for (path, entry) in entries {
        let (kind, target, content) = match entry {
            ArchiveEntry::File(content) => (b'0', String::new(), content),
            ArchiveEntry::Link(target) => (b'2', target, Vec::new()),
        };
        let mut block = [0_u8; 512];
        let mut put = |at: usize, text: &str| {
            block[at..at + text.len()].copy_from_slice(text.as_bytes());
        };
        put(0, path);
        put(100, "0000644\0");
        put(124, &format!("{:011o}\0", content.len()));
        put(136, "00000000000\0");
        put(148, "        ");
        put(157, &target);
        put(257, "ustar\x0000");
        block[156] = kind;
        let sum: u32 = block.iter().copied().map(u32::from).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        packed.write_all(&block).unwrap();
        packed.write_all(&content).unwrap();
        let rest = content.len().next_multiple_of(512) - content.len();
        packed.write_all(&vec![0; rest]).unwrap();
    }
    packed.write_all(&[0; 1024]).unwrap();
    packed.finish().unwrap()
}

/// `sha256:` and the digits of these bytes.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    let digits = Sha256::digest(bytes);
    let digits: String = digits.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digits}")
}

#[derive(Default)]
struct Content {
    /// By path: type and bytes.
    files: BTreeMap<String, (String, Bytes)>,
    /// What every request to the registry has to show.
    credentials: Option<String>,
    asked: Vec<String>,
}

/// A registry below `/v2/`, and a chart repository below `/charts/`.
pub struct ChartServer {
    address: SocketAddr,
    content: Arc<Mutex<Content>>,
    task: JoinHandle<()>,
}

impl Drop for ChartServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ChartServer {
    /// Starts one that has nothing.
    ///
    /// # Panics
    /// When no port of loopback is free.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let content = Arc::new(Mutex::new(Content::default()));
        let task = tokio::spawn(serve(listener, Arc::clone(&content)));
        Self {
            address,
            content,
            task,
        }
    }

    /// Gives out a chart from both of its places, in place of the one it had under that name and
    /// version.
    pub fn publish(&self, name: &str, version: &str, archive: &[u8]) {
        let about = json!({"apiVersion": "v2", "name": name, "version": version}).to_string();
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {"mediaType": "application/vnd.cncf.helm.config.v1+json",
                "digest": digest(about.as_bytes()), "size": about.len()},
            "layers": [{"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
                "digest": digest(archive), "size": archive.len()}],
        });
        let manifest = manifest.to_string();
        let index = json!({"apiVersion": "v1", "entries": {name: [{"apiVersion": "v2",
            "name": name, "version": version, "urls": [format!("{name}-{version}.tgz")],
            "digest": digest(archive).trim_start_matches("sha256:")}]}});
        let image = "application/vnd.oci.image.manifest.v1+json";
        let manifests = format!("/v2/charts/{name}/manifests");
        let blobs = format!("/v2/charts/{name}/blobs");
        for (path, kind, bytes) in [
            (format!("{manifests}/{version}"), image, manifest.as_bytes()),
            (
                format!("{manifests}/{}", digest(manifest.as_bytes())),
                image,
                manifest.as_bytes(),
            ),
            (
                format!("{blobs}/{}", digest(about.as_bytes())),
                "application/octet-stream",
                about.as_bytes(),
            ),
            (
                format!("{blobs}/{}", digest(archive)),
                "application/octet-stream",
                archive,
            ),
            (
                "/charts/index.yaml".to_owned(),
                "text/yaml",
                index.to_string().as_bytes(),
            ),
            (
                format!("/charts/{name}-{version}.tgz"),
                "application/gzip",
                archive,
            ),
        ] {
            let bytes = Bytes::copy_from_slice(bytes);
            let mut content = self.content.lock().unwrap();
            content.files.insert(path, (kind.to_owned(), bytes));
        }
    }

    /// From now on only who shows this name and password gets something of the registry.
    pub fn require(&self, user: &str, password: &str) {
        let encoded = BASE64_STANDARD.encode(format!("{user}:{password}"));
        self.content.lock().unwrap().credentials = Some(format!("Basic {encoded}"));
    }

    /// The host and port.
    #[must_use]
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// What a module names to get a chart from the registry.
    #[must_use]
    pub fn reference(&self, name: &str) -> String {
        format!("oci://{}/charts/{name}", self.address)
    }

    /// What a module names as the chart repository.
    #[must_use]
    pub fn repository(&self) -> String {
        format!("http://{}/charts", self.address)
    }

    /// How many requests it has answered.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.content.lock().unwrap().asked.len()
    }
}

async fn serve(listener: TcpListener, content: Arc<Mutex<Content>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let content = Arc::clone(&content);
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let answer = answer(&request, &content);
                async { Ok::<_, Infallible>(answer) }
            });
            let _ = Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

fn answer(request: &Request<Incoming>, content: &Mutex<Content>) -> Response<Full<Bytes>> {
    let path = request.uri().path();
    let mut content = content.lock().unwrap();
    content.asked.push(path.to_owned());
    let shown = request.headers().get(header::AUTHORIZATION);
    let shown = shown.and_then(|value| value.to_str().ok());
    let wanted = content.credentials.as_deref();
    let response = Response::builder();
    let response = match content.files.get(path) {
        _ if path.starts_with("/v2/") && wanted.is_some() && wanted != shown => response
            .status(StatusCode::UNAUTHORIZED)
            .header(header::WWW_AUTHENTICATE, "Basic realm=\"charts\"")
            .body(Full::default()),
        None if path == "/v2/" => response.body(Full::default()),
        None => response.status(StatusCode::NOT_FOUND).body(Full::default()),
        Some((kind, bytes)) => response
            .header(header::CONTENT_TYPE, kind)
            .header("Docker-Content-Digest", digest(bytes))
            .body(Full::new(bytes.clone())),
    };
    response.unwrap()
}
