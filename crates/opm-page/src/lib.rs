//! The page: every release in a browser, served on loopback.
//!
//! ```text
//! admission   who may ask: the token, the Host and the Origin of a request
//! routes      a request becomes a question to the engine, its report a view
//! views       reports as HTML; everything that a cluster said is text
//! live        what changed, told to all who look at the same thing by one watch
//! changes     what can be done, where that is allowed, and runs, which tell how it goes on
//! serve       connections, and what each may take
//! ```
//!
//! Pages are whole without the script: it only asks for the same page again when the server says
//! that something changed. Nothing here decides anything about a release.

mod admission;
mod changes;
mod live;
mod routes;
mod runs;
mod serve;
mod views;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use opm_core::name::NamespaceName;
use opm_core::review::ReviewedPlan;
use opm_engine::ports::Caller;
use opm_engine::request::ApplyRequest;
use opm_engine::{Engine, Failure, Remedy};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use admission::Token;
use live::Live;
use runs::Runs;
use serve::Bounds;

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
    /// Whether anything may be done from the page.
    pub allow_changes: bool,
    /// How long a look at a release's objects may take before its page is shown without them. They
    /// follow by themselves.
    pub patience: Duration,
}

/// What every request shares.
struct Page {
    engine: Arc<Engine>,
    settings: PageSettings,
    live: Live,
    runs: Runs,
    /// What was begun, and is waited for at the end.
    tasks: TaskTracker,
    /// What the page's own forms show.
    form_token: Token,
    /// The plans that were shown last, by what their forms call them.
    plans: Mutex<VecDeque<(String, ReviewedPlan)>>,
    cancel: CancellationToken,
}

/// How many plans that were shown can still be carried out.
const PLANS: usize = 20;

impl Page {
    /// A reader who is not waited for when the page ends.
    fn caller(&self) -> Caller<'static> {
        Caller {
            cancel: self.cancel.clone(),
            ..Caller::default()
        }
    }

    fn plans(&self) -> MutexGuard<'_, VecDeque<(String, ReviewedPlan)>> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a plan that is shown, and says what its form calls it. None where it is only
    /// looked at.
    fn show_plan(&self, plan: Option<&ReviewedPlan>) -> Option<String> {
        let plan = plan.filter(|_| self.settings.allow_changes)?;
        let name = format!("{:016x}", live::digest(plan));
        let mut plans = self.plans();
        plans.retain(|(known, _)| *known != name);
        plans.push_back((name.clone(), plan.clone()));
        if plans.len() > PLANS {
            plans.pop_front();
        }
        Some(name)
    }

    /// A plan that was shown.
    fn shown_plan(&self, name: &str) -> Option<ReviewedPlan> {
        let plans = self.plans();
        let shown = plans.iter().find(|(known, _)| known == name);
        shown.map(|(_, plan)| plan.clone())
    }
}

/// A page that is about to be served.
pub struct PageServer {
    page: Arc<Page>,
    listener: TcpListener,
    token: Token,
}

impl PageServer {
    /// A page on a port of the loopback interface; 0 takes any that is free.
    pub async fn bind(
        engine: Engine,
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
                runs: Runs::default(),
                tasks: TaskTracker::new(),
                form_token: Token::new(),
                plans: Mutex::default(),
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

    /// Serves until it is cancelled, and what was begun has ended.
    pub async fn serve(self) -> io::Result<()> {
        let port = self.address()?.port();
        let (cancel, tasks) = (self.page.cancel.clone(), self.page.tasks.clone());
        let changes = self.page.settings.allow_changes;
        let router = routes::router(self.page);
        let router = admission::guard(router, self.token, port, changes);
        serve::serve(self.listener, router, Bounds::default(), cancel).await;
        // A run that was begun stops cleanly, and lets go of its lock.
        tasks.close();
        tasks.wait().await;
        Ok(())
    }
}
