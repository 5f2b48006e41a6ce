//! What applying a module would do, for the page: rendered anew each time somebody looks.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use opm_engine::request::ApplyRequest;
use opm_engine::{Failure, FailureKind};
use opm_page::PlanSource;

use crate::commands::module::{RenderArgs, Rendering};
use crate::error::CliError;

/// More files than this are not looked at: whoever has them loads the page by hand.
const MOST_FILES: usize = 20_000;

/// A module that somebody works on.
pub(super) struct ModulePlan {
    pub(super) args: RenderArgs,
    pub(super) dir: PathBuf,
    pub(super) rendering: Rendering,
}

impl ModulePlan {
    async fn render(&self) -> Result<ApplyRequest, CliError> {
        let loaded = self.rendering.load_anew(&self.args).await?;
        Ok(ApplyRequest {
            selection: self.args.selected()?,
            create_namespace: true,
            ..ApplyRequest::new(loaded.rendered, loaded.name, loaded.namespace)
        })
    }
}

impl PlanSource for ModulePlan {
    fn request(&self) -> BoxFuture<'_, Result<ApplyRequest, Failure>> {
        Box::pin(async { self.render().await.map_err(refused) })
    }

    /// Names, sizes and times of the module's files.
    fn stamp(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let mut next = vec![self.dir.clone()];
        let mut seen = 0;
        while let Some(dir) = next.pop() {
            for (path, metadata) in entries(&dir) {
                seen += 1;
                if seen > MOST_FILES {
                    return hasher.finish();
                }
                let modified = metadata.modified().ok();
                (&path, metadata.len(), modified).hash(&mut hasher);
                if metadata.is_dir() {
                    next.push(path);
                }
            }
        }
        hasher.finish()
    }
}

/// What a directory holds, in order. Links are not followed.
fn entries(dir: &Path) -> Vec<(PathBuf, fs::Metadata)> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let entries = entries.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)));
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    entries
}

/// A module that does not render, as the page tells it.
fn refused(error: CliError) -> Failure {
    let failure = Failure::new(FailureKind::Refused, error.message);
    error.hints.into_iter().fold(failure, Failure::remedy)
}
