//! `opm mod build --out-dir`: one file per object, in a directory that may hold other files, and
//! that may have come with a checkout.
//!
//! A list beside the files says which of them a build wrote and what it wrote. Only regular files
//! that are still so are ever replaced or removed. Everything happens under the directory as it
//! was opened, and no symbolic link in it is followed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use opm_core::candidate::Candidate;
use opm_core::digest::{ObjectHash, sha256};
use opm_core::identity::Identity;
use opm_render::yaml;
use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;

use crate::error::{CliError, ErrorKind};
use opm_engine::FailureKind;

/// The list of files that a build wrote.
const LIST: &str = ".opm-build";
/// What the names of files begin with that are not in their place yet.
const DRAFT: &str = ".opm-build.draft.";
/// The longest name of a file, well below what file systems take.
const MAX_NAME: usize = 200;
/// The largest file that can be of a build.
const MAX_FILE: u64 = 64 << 20;

/// What a build did to a directory.
#[derive(Debug)]
pub(super) struct Written {
    /// How many files it wrote.
    pub(super) files: usize,
    /// Files of an earlier build that somebody changed since.
    pub(super) kept: Vec<String>,
}

/// The names of files that builds wrote, and the digests of what they may hold.
type FileList = BTreeMap<String, BTreeSet<String>>;

/// A file to write.
struct BuiltFile {
    name: String,
    text: String,
    is_secret: bool,
}

/// Writes the candidate's objects and removes what an earlier build wrote and this one does not.
pub(super) fn write(directory: &Path, candidate: &Candidate) -> Result<Written, CliError> {
    let files = candidate.all_in_order().into_iter().map(|object| {
        let identity = object.manifest.identity();
        let text = yaml::write_object(&object.manifest.object());
        Ok(BuiltFile {
            name: file_name(identity),
            text: text.map_err(unwritable)?,
            is_secret: identity.group_kind.is("", "Secret"),
        })
    });
    let files: Vec<BuiltFile> = files.collect::<Result<_, CliError>>()?;
    fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
    let out = OutDir::open(directory)?;
    let ours = out.read_list()?;
    out.refuse_foreign(&ours, &files)?;
    out.remove_drafts()?;

    // The list first, with old and new: whatever happens next, no file of ours becomes foreign.
    let mut both = ours.clone();
    let mut now = FileList::new();
    for file in &files {
        let digest = sha256(file.text.as_bytes());
        both.entry(file.name.clone())
            .or_default()
            .insert(digest.clone());
        now.entry(file.name.clone()).or_default().insert(digest);
    }
    out.write_list(&both)?;
    for file in &files {
        let mode = if file.is_secret { 0o600 } else { 0o666 };
        out.put(&file.name, &file.text, mode)?;
    }
    let stale = ours.iter().filter(|(name, _)| !now.contains_key(*name));
    let mut kept = Vec::new();
    for (name, digests) in stale {
        if !out.remove_if_unchanged(name, digests)? {
            kept.push(name.clone());
        }
    }
    out.write_list(&now)?;
    let files = files.len();
    Ok(Written { files, kept })
}

/// What is at a name in the directory.
enum Found {
    Nothing,
    /// A regular file, with the digest of its content.
    File(String),
    /// A link, a directory, or whatever else.
    Other,
}

/// The directory, opened: another one that takes its place is not written to.
struct OutDir {
    handle: OwnedFd,
    path: PathBuf,
}

impl OutDir {
    fn open(path: &Path) -> Result<Self, CliError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(handle) => Ok(Self {
                handle,
                path: path.to_owned(),
            }),
            Err(Errno::LOOP | Errno::NOTDIR) => {
                let message = format!("{} is not a directory itself", path.display());
                let error = CliError::new(FailureKind::Refused, message);
                Err(error.hint("name the directory that a symbolic link leads to"))
            }
            Err(error) => Err(failed(path, &error.into())),
        }
    }

    fn failed(&self, name: &str, error: impl Into<io::Error>) -> CliError {
        failed(&self.path.join(name), &error.into())
    }

    /// Looks at a name without following a link or waiting for a pipe.
    fn find(&self, name: &str) -> Result<Found, CliError> {
        match self.read(name) {
            Ok(Some(bytes)) => Ok(Found::File(sha256(&bytes))),
            Ok(None) => Ok(Found::Other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Found::Nothing),
            Err(error) => Err(self.failed(name, error)),
        }
    }

    /// The content of a regular file; nothing if it is something else.
    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.handle, name, flags, Mode::empty()) {
            Ok(handle) => File::from(handle),
            Err(Errno::LOOP | Errno::NXIO) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if !file.metadata()?.is_file() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let read = file.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
        Ok((read as u64 <= MAX_FILE).then_some(bytes))
    }

    fn read_list(&self) -> Result<FileList, CliError> {
        let bytes = match self.read(LIST) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                let message = format!("{} is no file", self.path.join(LIST).display());
                return Err(
                    CliError::new(FailureKind::Refused, message).hint("choose another directory")
                );
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FileList::new()),
            Err(error) => return Err(self.failed(LIST, error)),
        };
        let mut list = FileList::new();
        for line in String::from_utf8_lossy(&bytes).lines() {
            // A line without a digest is from a version that wrote none: nothing is known of it.
            if let Some((digest, name)) = line.split_once("  ")
                && is_name_of_ours(name)
            {
                let digests = list.entry(name.to_owned()).or_default();
                digests.insert(digest.to_owned());
            }
        }
        Ok(list)
    }

    fn write_list(&self, list: &FileList) -> Result<(), CliError> {
        let lines = list.iter().flat_map(|(name, digests)| {
            digests
                .iter()
                .map(move |digest| format!("{digest}  {name}\n"))
        });
        self.put(LIST, &lines.collect::<String>(), 0o666)
    }

    /// Writes a new file and moves it to its place: a reader sees the old or the new one, and a
    /// link in that place is replaced, not followed.
    fn put(&self, name: &str, text: &str, mode: u32) -> Result<(), CliError> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode);
        let draft = format!("{DRAFT}{}", std::process::id());
        let opened = rustix::fs::openat(&self.handle, &draft, flags, mode);
        let mut file = File::from(opened.map_err(|error| self.failed(&draft, error))?);
        let written = file.write_all(text.as_bytes());
        let moved = written.and_then(|()| {
            let renamed = rustix::fs::renameat(&self.handle, &draft, &self.handle, name);
            renamed.map_err(io::Error::from)
        });
        moved.map_err(|error| {
            let _ = rustix::fs::unlinkat(&self.handle, &draft, AtFlags::empty());
            self.failed(name, error)
        })
    }

    /// Removes what a build left behind that was ended before it was done.
    fn remove_drafts(&self) -> Result<(), CliError> {
        let entries = Dir::read_from(&self.handle).map_err(|error| self.failed("", error))?;
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name();
            if name.to_bytes().starts_with(DRAFT.as_bytes()) {
                let removed = rustix::fs::unlinkat(&self.handle, name, AtFlags::empty());
                removed.map_err(|error| self.failed(&name.to_string_lossy(), error))?;
            }
        }
        Ok(())
    }

    /// Removes a file that still is what a build wrote; says whether it is gone.
    fn remove_if_unchanged(
        &self,
        name: &str,
        digests: &BTreeSet<String>,
    ) -> Result<bool, CliError> {
        match self.find(name)? {
            Found::Nothing => Ok(true),
            Found::File(digest) if digests.contains(&digest) => {
                let removed = rustix::fs::unlinkat(&self.handle, name, AtFlags::empty());
                removed.map_err(|error| self.failed(name, error))?;
                Ok(true)
            }
            Found::File(_) | Found::Other => Ok(false),
        }
    }

    fn refuse_foreign(&self, ours: &FileList, files: &[BuiltFile]) -> Result<(), CliError> {
        let mut foreign = Vec::new();
        for file in files {
            let is_ours = match self.find(&file.name)? {
                Found::Nothing => true,
                Found::File(digest) => {
                    digest == sha256(file.text.as_bytes())
                        || ours
                            .get(&file.name)
                            .is_some_and(|known| known.contains(&digest))
                }
                Found::Other => false,
            };
            if !is_ours {
                foreign.push(file.name.as_str());
            }
        }
        if foreign.is_empty() {
            return Ok(());
        }
        let message = format!(
            "{}: {} would be overwritten, and {} not as an earlier build wrote {}",
            self.path.display(),
            foreign.join(", "),
            if foreign.len() == 1 { "is" } else { "are" },
            if foreign.len() == 1 { "it" } else { "them" }
        );
        Err(CliError::new(FailureKind::Refused, message)
            .hint("move it away, or choose another directory"))
    }
}

/// Whether a build can have written a file of this name.
fn is_name_of_ours(name: &str) -> bool {
    name.ends_with(".yaml") && !name.contains('/') && !name.starts_with('.')
}

/// A name that tells objects apart on every file system: kind, group, namespace and name, apart
/// by `_`, and what is not plain as `%` and its code.
fn file_name(identity: &Identity) -> String {
    let mut parts = vec![identity.group_kind.to_string().to_lowercase()];
    parts.extend(identity.namespace.clone());
    parts.push(identity.name.clone());
    let plain: Vec<String> = parts.iter().map(|part| escaped(part)).collect();
    let name = plain.join("_");
    match name.len() > MAX_NAME {
        true => format!(
            "{}~{}.yaml",
            &name[..MAX_NAME],
            ObjectHash::of_bytes(name.as_bytes()).as_str()
        ),
        false => format!("{name}.yaml"),
    }
}

fn escaped(part: &str) -> String {
    let mut name = String::new();
    for byte in part.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' => name.push(char::from(byte)),
            other => name.push_str(&format!("%{other:02X}")),
        }
    }
    name
}

fn failed(path: &Path, error: &io::Error) -> CliError {
    CliError::new(
        ErrorKind::Io,
        format!("failed to write {}: {error}", path.display()),
    )
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that map_err takes"
)]
fn unwritable(error: yaml::YamlError) -> CliError {
    CliError::new(FailureKind::Failed, error.to_string())
}

#[cfg(test)]
mod tests {
    use opm_core::identity::{GroupKind, Identity};

    use super::file_name;

    #[test]
    fn names_of_files() {
        let name = |group: &str, kind: &str, namespace: Option<&str>, name: &str| {
            file_name(&Identity::new(GroupKind::new(group, kind), namespace, name))
        };
        assert_eq!(
            name("apps", "Deployment", Some("shop"), "web"),
            "deployment.apps_shop_web.yaml"
        );
        assert_eq!(
            name("", "Service", Some("shop"), "web"),
            "service_shop_web.yaml"
        );
        let role = name(
            "rbac.authorization.k8s.io",
            "ClusterRole",
            None,
            "system:Web_A/../b",
        );
        assert_eq!(
            role,
            "clusterrole.rbac.authorization.k8s.io_system%3A%57eb%5F%41%2F..%2Fb.yaml"
        );
        let long = name("", "ConfigMap", Some("a"), &"n".repeat(253));
        assert!(long.len() < 255 && long != name("", "ConfigMap", Some("b"), &"n".repeat(253)));
    }
}
