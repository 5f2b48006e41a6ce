//! The page: every release in a browser, served on loopback.
//!
//! ```text
//! admission   who may ask: the token, the Host and the Origin of a request
//! routes      a request becomes a question to the engine, its report a view
//! views       reports as HTML; everything that a cluster said is text
//! live        what changed, told to all who look at the same thing by one watch
//! ```
//!
//! Pages are whole without the script: it only asks for the same page again when the server says
//! that something changed. Nothing here decides anything about a release, and nothing is written.

mod admission;
mod live;
mod routes;
mod views;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use futures::future::BoxFuture;
use opm_core::name::NamespaceName;
use opm_engine::ports::{Backend, Caller};
use opm_engine::request::ApplyRequest;
use opm_engine::{Engine, Failure, Remedy};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use admission::Token;
use live::Live;

/// A module that somebody works on.
pub trait PlanSource: Send + Sync {
    /// The apply that it comes to, as its files are now.
    fn request(&self) -> BoxFuture<'_, Result<ApplyRequest, Failure>>;

    /// Another number when its files are others.
    fn stamp(&self) -> u64;
}

/// What the page has to know beside the engine.
pub struct PageSettings {
    /// The cluster, as the page names it.
    pub cluster: String,
    /// The namespace to look into where neither all nor their names may be listed.
    pub home: NamespaceName,
    /// What to do next, in the words of who serves the page.
    pub hints: fn(&[Remedy]) -> Vec<String>,
    /// The module whose plan is shown, if there is one.
    pub plan: Option<Arc<dyn PlanSource>>,
}

/// What every request shares.
struct Page<B> {
    engine: Arc<Engine<B>>,
    settings: PageSettings,
    live: Live,
    cancel: CancellationToken,
}

impl<B: Backend> Page<B> {
    /// A reader who is not waited for when the page ends.
    fn caller(&self) -> Caller<'static> {
        Caller {
            cancel: self.cancel.clone(),
            ..Caller::default()
        }
    }
}

/// A page that is about to be served.
pub struct PageServer<B> {
    page: Arc<Page<B>>,
    listener: TcpListener,
    token: Token,
}

impl<B: Backend + Send + Sync + 'static> PageServer<B> {
    /// A page on a port of the loopback interface; 0 takes any that is free.
    pub async fn bind(
        engine: Engine<B>,
        settings: PageSettings,
        port: u16,
        cancel: CancellationToken,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        Ok(Self {
            page: Arc::new(Page {
                engine: Arc::new(engine),
                settings,
                live: Live::default(),
                cancel,
            }),
            listener,
            token: Token::new(),
        })
    }

    /// Where it will be.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The address that lets a browser in, with the token.
    pub fn entrance(&self) -> io::Result<String> {
        let address = self.address()?;
        Ok(format!("http://{address}/?token={}", self.token.secret()))
    }

    /// Serves until it is cancelled.
    pub async fn serve(self) -> io::Result<()> {
        let port = self.address()?.port();
        let cancel = self.page.cancel.clone();
        let router = routes::router(self.page);
        let router = admission::guard(router, self.token, port);
        axum::serve(self.listener, router)
            .with_graceful_shutdown(cancel.cancelled_owned())
            .await
    }
}
