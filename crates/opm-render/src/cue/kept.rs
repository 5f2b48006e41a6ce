//! Renderings that are kept in the user's cache, so that an unchanged module needs no `cue`.
//!
//! A kept rendering is found by a digest of every byte that went in: the module's files, the text
//! that opm adds, and which `cue` it is. Where not all of that can be known, nothing is kept: with
//! dependencies from a registry, with a `cue` that may be a script around another one. With values
//! from outside nothing is kept either, as those may be secrets that are in no file of the module.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

use super::module_file::CueModule;
use super::source;
use crate::Inputs;
use crate::module_dir::ModuleDir;
use crate::program;
use crate::settings::RenderSettings;
use crate::user_cache::{KeptFiles, open_private, private_directory};

/// Changes when what is kept means something else.
const FORMAT: &str = concat!("opm rendering 1 ", env!("CARGO_PKG_VERSION"));
/// The largest module that is worth reading for it.
const MAX_MODULE: u64 = 16 << 20;
/// How much is kept, at most.
const MAX_KEPT_BYTES: u64 = 64 << 20;
const MAX_KEPT_FILES: usize = 256;
const DIGEST: usize = 32;
const SUFFIX: &str = "rendering";

/// Where the rendering of a module is kept, or will be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeptRendering {
    path: PathBuf,
}

impl KeptRendering {
    /// The place for what `cue` prints with these flags; nothing if it must not be kept.
    pub(super) fn find(
        dir: &ModuleDir,
        module: &CueModule,
        inputs: &Inputs,
        flags: &[&str],
        settings: &RenderSettings,
    ) -> Option<Self> {
        let kept = settings.renderings.as_deref()?;
        if !inputs.values.is_empty() || has_dependencies(dir)? {
            return None;
        }
        let mut key = RenderingKey(Sha256::new());
        key.add(FORMAT.as_bytes());
        for flag in flags {
            key.add(flag.as_bytes());
        }
        key.program(settings)?;
        key.add(source::defaults(&module.package).as_bytes());
        let render = source::render(module, inputs.name.as_ref(), inputs.namespace.as_ref());
        key.add(render.as_bytes());
        key.files(dir)?;
        let name: String = key
            .0
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let path = private_directory(kept)?.join(format!("{name}.{SUFFIX}"));
        Some(Self { path })
    }

    /// What is kept, if it is there and undamaged.
    pub(super) fn read(&self) -> Option<Vec<u8>> {
        let file = open_private(&self.path)?;
        let mut bytes = Vec::new();
        let mut limited = (&file).take(MAX_KEPT_BYTES);
        limited.read_to_end(&mut bytes).ok()?;
        let body = bytes.split_off(bytes.len().min(DIGEST));
        if bytes[..] != Sha256::digest(&body)[..] {
            return None;
        }
        // What is in use goes last.
        let _ = file.set_modified(SystemTime::now());
        Some(body)
    }

    /// Keeps a rendering. Whatever goes wrong is no matter: the next one runs `cue` again.
    pub(super) fn write(&self, rendering: &[u8]) {
        if rendering.len() as u64 <= MAX_KEPT_BYTES / 8 && self.try_write(rendering).is_some() {
            let kept = KeptFiles {
                suffix: SUFFIX,
                bytes: MAX_KEPT_BYTES,
                files: MAX_KEPT_FILES,
            };
            if let Some(directory) = self.path.parent() {
                kept.drop_oldest(directory);
            }
        }
    }

    fn try_write(&self, rendering: &[u8]) -> Option<()> {
        let mut file = tempfile::NamedTempFile::new_in(self.path.parent()?).ok()?;
        file.write_all(&Sha256::digest(rendering)).ok()?;
        file.write_all(rendering).ok()?;
        file.persist(&self.path).ok().map(drop)
    }
}

/// Whether the module's files name others that are not among them.
fn has_dependencies(dir: &ModuleDir) -> Option<bool> {
    let text = dir.read(Path::new("cue.mod/module.cue")).ok()?;
    Some(text.contains("deps") || text.contains("replace"))
}

/// A digest of parts, none of which can be taken for a piece of another.
struct RenderingKey(Sha256);

impl RenderingKey {
    fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_be_bytes());
        self.0.update(part);
    }

    /// Which `cue` it is, told by its file: starting it to ask would cost what is to be saved.
    fn program(&mut self, settings: &RenderSettings) -> Option<()> {
        let found = program::find(&settings.cue, settings.search_path.as_deref()).ok()?;
        let real = found.canonicalize().ok()?;
        // A link to a program of another name may start whichever `cue` it likes, as a script may.
        if !real.file_name()?.as_bytes().starts_with(b"cue") {
            return None;
        }
        let mut file = File::open(&real).ok()?;
        let mut start = [0; 2];
        file.read_exact(&mut start).ok()?;
        if start == *b"#!" {
            return None;
        }
        let meta = file.metadata().ok()?;
        self.add(real.as_os_str().as_bytes());
        for number in [meta.dev(), meta.ino(), meta.size()] {
            self.0.update(number.to_be_bytes());
        }
        for number in [
            meta.mtime(),
            meta.mtime_nsec(),
            meta.ctime(),
            meta.ctime_nsec(),
        ] {
            self.0.update(number.to_be_bytes());
        }
        Some(())
    }

    /// Every file of the module, by path and content.
    fn files(&mut self, dir: &ModuleDir) -> Option<()> {
        let mut left = MAX_MODULE;
        let mut waiting = vec![PathBuf::new()];
        while let Some(directory) = waiting.pop() {
            for path in dir.list(&directory).ok()? {
                if path == Path::new(".git") {
                    continue;
                }
                let entry = dir.root().join(&path);
                let kind = entry.symlink_metadata().ok()?.file_type();
                self.add(path.as_os_str().as_bytes());
                if kind.is_symlink() {
                    self.add(fs::read_link(&entry).ok()?.as_os_str().as_bytes());
                }
                if kind.is_dir() {
                    waiting.push(path);
                // A link to a directory leads to one of the module, which is read where it is.
                } else if !entry.is_dir() {
                    let bytes = dir.read_bytes(&path, left).ok()?;
                    left -= bytes.len() as u64;
                    self.add(&bytes);
                }
            }
        }
        Some(())
    }
}
