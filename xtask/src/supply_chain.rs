//! What the program is made of beside its own code: where it comes from, under which licences,
//! who has looked at it, and where C is in it.
//!
//! Told by the lock file, `cargo metadata`, `deny.toml` and the lists in `supply-chain`, which are
//! in the format of cargo-vet. Needs no network and no other program.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use toml::Table;

use crate::Outcome;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// What compiles C or assembly, or links a library of the system, when something depends on it.
const COMPILERS: [&str; 5] = ["bindgen", "cc", "cmake", "pkg-config", "vcpkg"];

/// The crates that may, and why.
const WITH_C: [(&str, &str); 6] = [
    ("libsqlite3-sys", "SQLite, for the sandbox"),
    ("ring", "the cryptography behind TLS"),
    ("zstd-sys", "zstd, for the parts of records"),
    (
        "psm",
        "some lines of assembly that grow a stack, for kube's JSONPath",
    ),
    ("stacker", "the same; C on Windows only"),
    (
        "sqlite-wasm-rs",
        "SQLite for WebAssembly, which is never built",
    ),
];

/// Crates whose names end like those of C libraries and which contain none: declarations only.
const DECLARATIONS: [&str; 7] = [
    "core-foundation-sys",
    "jni-sys",
    "js-sys",
    "linux-raw-sys",
    "security-framework-sys",
    "system-configuration-sys",
    "windows-sys",
];

/// Checks what the program is made of
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also put every new dependency on the list, as one that nobody has looked at
    #[arg(long)]
    add: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    if args.add {
        add()?;
    }
    check()
}

/// Everything that is wrong, at once.
pub(crate) fn check() -> Outcome {
    let root = root();
    let lock = table(&root.join("Cargo.lock"))?;
    let deny = table(&root.join("deny.toml"))?;
    let packages = packages(&lock);
    let mut wrong = sources(&packages, &deny);
    wrong.extend(with_c(&packages));
    wrong.extend(not_listed(&packages, &listed()?));
    wrong.extend(licences(&metadata(&root)?, &deny));
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "the dependencies are not as agreed:\n  {}",
            wrong.join("\n  ")
        )
        .into()),
    }
}

/// A package of the lock file that is not our own.
struct Package {
    name: String,
    version: String,
    source: String,
    dependencies: Vec<String>,
}

fn packages(lock: &Table) -> Vec<Package> {
    let text = |package: &toml::Value, key: &str| {
        let text = package.get(key).and_then(toml::Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let all = lock.get("package").and_then(toml::Value::as_array);
    let foreign = all
        .into_iter()
        .flatten()
        .filter(|p| p.get("source").is_some());
    foreign
        .map(|package| {
            let dependencies = package.get("dependencies").and_then(toml::Value::as_array);
            let dependencies = dependencies.into_iter().flatten();
            let name = |one: &toml::Value| Some(one.as_str()?.split(' ').next()?.to_owned());
            Package {
                name: text(package, "name"),
                version: text(package, "version"),
                source: text(package, "source"),
                dependencies: dependencies.filter_map(name).collect(),
            }
        })
        .collect()
}

fn sources(packages: &[Package], deny: &Table) -> Vec<String> {
    let banned: BTreeSet<&str> = list(deny, "bans", "deny")
        .iter()
        .filter_map(|ban| ban.get("crate")?.as_str())
        .collect();
    let mut wrong = Vec::new();
    for package in packages {
        let Package { name, source, .. } = package;
        if source != CRATES_IO {
            wrong.push(format!("{name} comes from {source}, not from crates.io"));
        }
        if banned.contains(name.as_str()) {
            wrong.push(format!("{name} is banned by deny.toml"));
        }
    }
    wrong
}

fn with_c(packages: &[Package]) -> Vec<String> {
    let allowed = |name: &str| WITH_C.iter().any(|(one, _)| *one == name);
    let compiles = |package: &&Package| {
        let mut dependencies = package.dependencies.iter();
        let named = package.name.ends_with("-sys") && !DECLARATIONS.contains(&&*package.name);
        named || dependencies.any(|one| COMPILERS.contains(&one.as_str()))
    };
    let unexpected = packages.iter().filter(compiles);
    unexpected
        .filter(|package| !allowed(&package.name) && !COMPILERS.contains(&&*package.name))
        .map(|package| format!("{} brings C code along", package.name))
        .collect()
}

/// The dependencies that somebody has looked at, or that are taken as they are.
fn listed() -> Result<Table, Box<dyn Error>> {
    let mut listed = Table::new();
    for (file, section) in [("config.toml", "exemptions"), ("audits.toml", "audits")] {
        let file = table(&root().join("supply-chain").join(file))?;
        let entries = file.get(section).and_then(toml::Value::as_table).cloned();
        for (name, versions) in entries.into_iter().flatten() {
            let all = listed
                .entry(name)
                .or_insert_with(|| Vec::<String>::new().into());
            if let (Some(all), Some(versions)) = (all.as_array_mut(), versions.as_array()) {
                all.extend(versions.iter().cloned());
            }
        }
    }
    Ok(listed)
}

/// Packages that are on no list.
fn unlisted<'a>(packages: &'a [Package], listed: &Table) -> Vec<&'a Package> {
    let is_listed = |package: &&Package| {
        let entries = listed.get(&package.name).and_then(toml::Value::as_array);
        let version =
            |entry: &toml::Value| Some(entry.get("version")?.as_str()? == package.version);
        entries.is_some_and(|all| all.iter().any(|one| version(one) == Some(true)))
    };
    packages.iter().filter(|one| !is_listed(one)).collect()
}

fn not_listed(packages: &[Package], listed: &Table) -> Vec<String> {
    let missing = unlisted(packages, listed).into_iter();
    missing
        .map(|package| {
            format!(
                "{} {} is not on the list: look at it, and run `cargo xtask supply-chain --add`",
                package.name, package.version
            )
        })
        .collect()
}

fn licences(metadata: &Value, deny: &Table) -> Vec<String> {
    let allowed = list(deny, "licenses", "allow");
    let allowed: BTreeSet<&str> = allowed.iter().filter_map(toml::Value::as_str).collect();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let foreign = packages.filter(|package| !package["source"].is_null());
    foreign
        .filter_map(|package| {
            let name = package["name"].as_str()?;
            let licence = package["license"].as_str().unwrap_or("no licence");
            let fits = is_allowed(licence, &|one: &str| allowed.contains(one));
            (!fits).then(|| format!("{name} is under {licence}"))
        })
        .collect()
}

/// Whether an expression such as `(MIT OR Apache-2.0) AND Unicode-3.0` can be met.
fn is_allowed(expression: &str, allowed: &dyn Fn(&str) -> bool) -> bool {
    let expression = expression.replace(['(', ')'], " ");
    // The expressions in use have `AND` outside of the parentheses only.
    expression.split(" AND ").all(|part| {
        let mut choices = part.split(" OR ").flat_map(|one| one.split('/'));
        choices.any(|one| allowed(one.trim()))
    })
}

fn list<'a>(table: &'a Table, section: &str, key: &str) -> &'a [toml::Value] {
    let list = table.get(section).and_then(|section| section.get(key));
    let list = list.and_then(toml::Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

fn metadata(root: &Path) -> Result<Value, Box<dyn Error>> {
    let host = Command::new("rustc")
        .args(["--print", "host-tuple"])
        .output()?;
    let host = String::from_utf8(host.stdout)?;
    // Packages for other platforms need not be there.
    let arguments = ["metadata", "--format-version", "1", "--locked", "--offline"];
    let told = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(arguments)
        .args(["--filter-platform", host.trim()])
        .current_dir(root)
        .output()?;
    match told.status.success() {
        true => Ok(serde_json::from_slice(&told.stdout)?),
        false => Err(String::from_utf8_lossy(&told.stderr).into_owned().into()),
    }
}

/// Puts what is new at the end of the list, as unread.
fn add() -> Outcome {
    let path = root().join("supply-chain/config.toml");
    let lock = table(&root().join("Cargo.lock"))?;
    let mut text = fs::read_to_string(&path)?;
    for Package { name, version, .. } in unlisted(&packages(&lock), &listed()?) {
        let lines = format!(
            "\n[[exemptions.{name}]]\nversion = \"{version}\"\ncriteria = \"safe-to-deploy\"\n"
        );
        text.push_str(&lines);
    }
    fs::write(path, text)?;
    Ok(())
}

fn table(path: &Path) -> Result<Table, Box<dyn Error>> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(text.parse()?)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dependencies_are_as_agreed() {
        check().unwrap();
    }

    #[test]
    fn what_is_not_agreed_is_told() {
        let lock = r#"
            [[package]]
            name = "opm-core"
            version = "0.1.0"
            [[package]]
            name = "openssl-sys"
            version = "0.9.0"
            source = "registry+https://github.com/rust-lang/crates.io-index"
            dependencies = ["cc", "pkg-config"]
            [[package]]
            name = "left-pad"
            version = "1.0.0"
            source = "git+https://example.com/left-pad"
            [[package]]
            name = "quiet"
            version = "2.0.0"
            source = "registry+https://github.com/rust-lang/crates.io-index"
            dependencies = ["cc 1.2.0"]
        "#;
        let packages = packages(&lock.parse().unwrap());
        let deny: Table = r#"bans.deny = [{ crate = "openssl-sys" }]"#.parse().unwrap();
        let vet = r#"
            [[quiet]]
            version = "2.0.0"
            [[left-pad]]
            version = "0.9.0"
        "#;
        let about = |wrong: Vec<String>| -> Vec<String> {
            let name = |text: &String| text.split(' ').next().unwrap_or_default().to_owned();
            wrong.iter().map(name).collect()
        };
        assert_eq!(
            about(sources(&packages, &deny)),
            ["openssl-sys", "left-pad"]
        );
        assert_eq!(about(with_c(&packages)), ["openssl-sys", "quiet"]);
        let listed = not_listed(&packages, &vet.parse().unwrap());
        assert_eq!(about(listed), ["openssl-sys", "left-pad"]);
    }

    #[test]
    fn licences_are_met_by_one_of_each() {
        let allowed = |one: &str| ["MIT", "ISC"].contains(&one);
        for (expression, fits) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("MIT/Apache-2.0", true),
            ("Apache-2.0 OR MIT", true),
            ("Apache-2.0 AND MIT", false),
            ("(Apache-2.0 OR MIT) AND ISC", true),
        ] {
            assert_eq!(is_allowed(expression, &allowed), fits, "{expression}");
        }
    }
}
