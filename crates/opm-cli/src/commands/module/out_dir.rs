//! `opm mod build --out-dir`: one file per object, in a directory that may hold other files.
//!
//! A list beside the files says which of them are ours. Only those are ever replaced or removed.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use opm_core::candidate::Candidate;
use opm_core::digest::ObjectHash;
use opm_core::identity::Identity;
use opm_render::yaml;

use crate::error::{CliError, ErrorKind};
use opm_engine::FailureKind;

/// The list of files that a build wrote.
const LIST: &str = ".opm-build";
/// The longest name of a file, well below what file systems take.
const MAX_NAME: usize = 200;

/// Writes the candidate's objects and removes what an earlier build wrote and this one does not.
pub(super) fn write(directory: &Path, candidate: &Candidate) -> Result<usize, CliError> {
    let files: Vec<(String, String)> = candidate
        .objects
        .iter()
        .map(|object| {
            let text = yaml::write([&object.manifest.clone().into_value()]);
            Ok((
                file_name(object.manifest.identity()),
                text.map_err(unwritable)?,
            ))
        })
        .collect::<Result<_, CliError>>()?;
    fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
    let ours = read_list(directory)?;
    refuse_foreign(directory, &ours, &files)?;

    let names: BTreeSet<String> = files.iter().map(|(name, _)| name.clone()).collect();
    // The list first, with old and new: whatever happens next, no file of ours becomes foreign.
    write_list(directory, ours.union(&names))?;
    for (name, text) in &files {
        put(directory, name, text)?;
    }
    for stale in ours.difference(&names) {
        match fs::remove_file(directory.join(stale)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed(&directory.join(stale), &error));
            }
            _ => {}
        }
    }
    write_list(directory, names.iter())?;
    Ok(files.len())
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

fn read_list(directory: &Path) -> Result<BTreeSet<String>, CliError> {
    match fs::read_to_string(directory.join(LIST)) {
        // A name with a slash is not from here.
        Ok(text) => Ok(text
            .lines()
            .filter(|l| !l.contains('/'))
            .map(str::to_owned)
            .collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(error) => Err(failed(&directory.join(LIST), &error)),
    }
}

fn write_list<'a>(
    directory: &Path,
    names: impl Iterator<Item = &'a String>,
) -> Result<(), CliError> {
    let text: String = names.map(|name| format!("{name}\n")).collect();
    put(directory, LIST, &text)
}

/// Writes a file beside its place and moves it there: a reader sees the old or the new one.
fn put(directory: &Path, name: &str, text: &str) -> Result<(), CliError> {
    let (draft, place) = (directory.join(format!(".{name}.new")), directory.join(name));
    fs::write(&draft, text).map_err(|error| failed(&draft, &error))?;
    fs::rename(&draft, &place).map_err(|error| failed(&place, &error))
}

fn refuse_foreign(
    directory: &Path,
    ours: &BTreeSet<String>,
    files: &[(String, String)],
) -> Result<(), CliError> {
    let foreign: Vec<&str> = files
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| !ours.contains(*name) && directory.join(name).symlink_metadata().is_ok())
        .collect();
    if foreign.is_empty() {
        return Ok(());
    }
    let message = format!(
        "{}: {} would be overwritten, and no earlier build wrote {}",
        directory.display(),
        foreign.join(", "),
        if foreign.len() == 1 { "it" } else { "them" }
    );
    Err(CliError::new(FailureKind::Refused, message).hint("choose another directory"))
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
