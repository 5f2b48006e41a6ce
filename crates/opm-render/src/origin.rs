//! Where a local module comes from, in eight digits: the git remote and the path inside the
//! repository, else the machine and the directory.
//!
//! The files of the repository are read, and no program is run. What cannot be read means that
//! the origin is not known; nothing fails because of it.

use std::fs;
use std::path::{Path, PathBuf};

use opm_core::digest::ObjectHash;

/// The largest file of a repository that is read.
const MAX_FILE: u64 = 1 << 20;

/// The origin of a module in this directory, whose links are resolved.
pub(crate) fn of(directory: &Path) -> Option<String> {
    let text = match repository(directory)? {
        Some(Repository {
            remote: Some(remote),
            root,
        }) => {
            let inside = directory.strip_prefix(&root).ok()?;
            format!("git\n{}\n{}", same_for_all(&remote), inside.to_str()?)
        }
        _ => {
            let host = rustix::system::uname();
            format!(
                "{}\n{}",
                host.nodename().to_str().ok()?,
                directory.to_str()?
            )
        }
    };
    let hash = ObjectHash::of_bytes(text.as_bytes());
    hash.as_str().get(..8).map(str::to_owned)
}

/// The origin of files whose links are resolved: each by its directory's and its own name.
pub(crate) fn of_files(mut paths: Vec<PathBuf>) -> Option<String> {
    paths.sort();
    let mut text = String::new();
    for path in &paths {
        let (directory, name) = (of(path.parent()?)?, path.file_name()?.to_str()?);
        text.push_str(&format!("{directory}\n{name}\n"));
    }
    let hash = ObjectHash::of_bytes(text.as_bytes());
    hash.as_str().get(..8).map(str::to_owned)
}

struct Repository {
    root: PathBuf,
    remote: Option<String>,
}

/// The repository around a directory. The outer none says that there is one that cannot be read.
#[allow(
    clippy::option_option,
    reason = "no repository and one that cannot be read are different things"
)]
fn repository(directory: &Path) -> Option<Option<Repository>> {
    let Some(root) = directory
        .ancestors()
        .find(|ancestor| ancestor.join(".git").symlink_metadata().is_ok())
    else {
        return Some(None);
    };
    let git = git_directory(&root.join(".git"))?;
    let common = match fs::exists(git.join("commondir")).ok()? {
        true => git.join(read(&git.join("commondir"))?.trim()),
        false => git.clone(),
    };
    let head = read(&git.join("HEAD"))?;
    let config = read(&common.join("config"))?;
    Some(Some(Repository {
        root: root.to_owned(),
        remote: remote(&config, head.trim()),
    }))
}

/// A worktree has a file that says where the rest is.
fn git_directory(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.to_owned());
    }
    let text = read(path)?;
    let named = text.trim().strip_prefix("gitdir:")?.trim();
    Some(path.parent()?.join(named))
}

fn read(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    let readable = metadata.is_file() && metadata.len() <= MAX_FILE;
    readable.then(|| fs::read_to_string(path).ok())?
}

/// The URL of the remote that the current branch follows, else of `origin`, else of the first.
fn remote(config: &str, head: &str) -> Option<String> {
    let branch = head.strip_prefix("ref: refs/heads/");
    let (mut followed, mut remotes): (Option<&str>, Vec<(&str, &str)>) = (None, Vec::new());
    let mut section = ("", "");
    for line in config.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            section = named_section(header);
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let (key, value) = (key.trim(), value.trim().trim_matches('"'));
        match (section, key) {
            (("remote", name), "url") => remotes.push((name, value)),
            (("branch", name), "remote") if Some(name) == branch => followed = Some(value),
            _ => {}
        }
    }
    let url = |wanted: &str| remotes.iter().find(|(name, _)| *name == wanted);
    let found = followed
        .and_then(url)
        .or_else(|| url("origin"))
        .or_else(|| remotes.first());
    found.map(|(_, url)| (*url).to_owned())
}

/// `remote` and `origin` of `remote "origin"]`.
fn named_section(header: &str) -> (&str, &str) {
    let header = header.split(']').next().unwrap_or(header);
    let (kind, name) = header.split_once(' ').unwrap_or((header, ""));
    (kind, name.trim().trim_matches('"'))
}

/// One spelling for everybody who clones the same repository, and no credentials.
fn same_for_all(url: &str) -> String {
    let (after_scheme, has_scheme) = match url.split_once("://") {
        Some((_, rest)) => (rest, true),
        None => (url, false),
    };
    let end = after_scheme.find('/').unwrap_or(after_scheme.len());
    let host_start = after_scheme[..end].rfind('@').map_or(0, |at| at + 1);
    let named = &after_scheme[host_start..];
    let named = match has_scheme {
        true => named.to_owned(),
        // `host:path`, as ssh is spelled in short.
        false => named.replacen(':', "/", 1),
    };
    let named = named.trim_end_matches('/');
    named.strip_suffix(".git").unwrap_or(named).to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail loudly")]
mod tests {
    use super::*;

    const CONFIG: &str = "[core]\n\tbare = false\n[remote \"fork\"]\n\turl = https://example.com/me/shop\n\
        [remote \"origin\"]\n\turl = git@example.com:shop/shop.git\n\
        [branch \"main\"]\n\tremote = fork\n\tmerge = refs/heads/main\n";

    #[test]
    fn the_remote_is_the_one_that_the_branch_follows() {
        for (config, head, expected) in [
            (
                CONFIG,
                "ref: refs/heads/main",
                Some("https://example.com/me/shop"),
            ),
            (
                CONFIG,
                "ref: refs/heads/other",
                Some("git@example.com:shop/shop.git"),
            ),
            (CONFIG, "0123abcd", Some("git@example.com:shop/shop.git")),
            ("[core]\n", "ref: refs/heads/main", None),
        ] {
            assert_eq!(remote(config, head).as_deref(), expected, "{head}");
        }
    }

    #[test]
    fn all_ways_to_clone_a_repository_come_to_the_same() {
        for url in [
            "git@example.com:shop/shop.git",
            "ssh://git@example.com/shop/shop.git",
            "https://example.com/shop/shop",
            "https://me:token@example.com/shop/shop.git/",
        ] {
            assert_eq!(same_for_all(url), "example.com/shop/shop", "{url}");
        }
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn an_origin_is_the_same_in_every_clone_and_worktree() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let module = |clone: &str| {
            let module = root.join(clone).join("modules/web");
            fs::create_dir_all(&module).unwrap();
            of(&module)
        };
        let plain = module("plain").unwrap();
        assert_eq!(plain.len(), 8);
        assert_eq!(module("plain").unwrap(), plain);
        assert_ne!(module("other").unwrap(), plain);
        for clone in ["one", "two"] {
            write(
                &root.join(clone).join(".git/HEAD"),
                "ref: refs/heads/main\n",
            );
            write(&root.join(clone).join(".git/config"), CONFIG);
        }
        let git = root.join("one/.git/worktrees/tree");
        write(&git.join("HEAD"), "ref: refs/heads/main\n");
        write(&git.join("commondir"), "../..\n");
        let points = format!("gitdir: {}\n", git.display());
        write(&root.join("tree/.git"), &points);
        let one = module("one").unwrap();
        assert_eq!(module("two").unwrap(), one);
        assert_eq!(module("tree").unwrap(), one);
        assert_ne!(of(&root.join("one/modules")).unwrap(), one);
        // A repository that cannot be read is no directory like any other.
        write(&root.join("broken/.git"), "gitdir: nowhere\n");
        assert_eq!(module("broken"), None);
    }
}
