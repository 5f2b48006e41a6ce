//! `cargo xtask dist`: what is handed out. An archive for a target with the binary, its manual pages
//! and completions, and a list of what it is made of; a Debian package where `dpkg-deb` is there;
//! checksums; and a Homebrew formula and a krew manifest, once the archives that they name are there.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::Outcome;
use crate::docs::full;

/// Makes what is handed out, for one target
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The target, such as x86_64-unknown-linux-musl; by default this machine's
    #[arg(long)]
    target: Option<String>,
    /// Package this binary instead of building one
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Only write checksums, formula and manifest for the archives that are there
    #[arg(long)]
    finish: bool,
    /// Where it goes
    #[arg(long, default_value = "target/dist")]
    out: PathBuf,
    /// Where the archives will be downloaded from, for the formula and the manifest
    #[arg(long, default_value = "https://example.com/opm/releases/latest")]
    url: String,
}

/// What a shell calls its file of completions.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "opm.bash"),
    ("zsh", "_opm"),
    ("fish", "opm.fish"),
    ("powershell", "opm.ps1"),
];

pub(crate) fn run(args: &Args) -> Outcome {
    if !args.finish {
        package(args)?;
    }
    checksums(&args.out)?;
    for (template, file) in [("opm.rb.in", "opm.rb"), ("krew.yaml.in", "krew.yaml")] {
        let template = full(&format!("packaging/{template}"));
        fill_in(&template, &args.out, file, &args.url)?;
    }
    Ok(())
}

/// The archive and the package of one target.
fn package(args: &Args) -> Outcome {
    let version = env!("CARGO_PKG_VERSION");
    let target = match &args.target {
        Some(target) => target.clone(),
        None => host()?,
    };
    let binary = match &args.binary {
        Some(binary) => binary.clone(),
        None => build(&target)?,
    };
    fs::create_dir_all(&args.out)?;
    let name = format!("opm-{version}-{target}");
    let stage = args.out.join(&name);
    if stage.exists() {
        fs::remove_dir_all(&stage)?;
    }
    stage_files(&binary, &stage)?;
    let archive = args.out.join(format!("{name}.tar.gz"));
    run_program(
        Command::new("tar")
            .arg("-C")
            .arg(&args.out)
            .args([
                "--sort=name",
                "--owner=0",
                "--group=0",
                "--numeric-owner",
                "-czf",
            ])
            .arg(&archive)
            .arg(&name),
    )?;
    eprintln!("wrote {}", archive.display());
    debian(&stage, &target, version, &args.out)?;
    fs::remove_dir_all(&stage)?;
    Ok(())
}

fn host() -> Result<String, Box<dyn Error>> {
    let told = output(Command::new("rustc").arg("-vV"))?;
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host
        .ok_or("rustc does not say what this machine is")?
        .to_owned())
}

fn build(target: &str) -> Result<PathBuf, Box<dyn Error>> {
    run_program(Command::new(env!("CARGO")).args([
        "build",
        "--release",
        "--locked",
        "-p",
        "opm-cli",
        "--target",
        target,
    ]))?;
    Ok(full("target").join(target).join("release/opm"))
}

/// Everything that the archive holds.
fn stage_files(binary: &Path, stage: &Path) -> Outcome {
    let completions = stage.join("completions");
    fs::create_dir_all(&completions)?;
    let opm = stage.join("opm");
    fs::copy(binary, &opm)?;
    for file in ["LICENSE", "README.md", "CHANGELOG.md"] {
        fs::copy(full(file), stage.join(file))?;
    }
    // The binary writes its own pages, so it has to run here.
    run_program(Command::new(&opm).arg("man").arg(stage.join("man")))?;
    for (shell, file) in COMPLETIONS {
        let script = output(Command::new(&opm).args(["completion", shell]))?;
        fs::write(completions.join(file), script)?;
    }
    let parts = serde_json::to_string_pretty(&parts()?)?;
    fs::write(stage.join("sbom.cdx.json"), parts + "\n")?;
    Ok(())
}

/// What the binary is made of, as CycloneDX lists it.
fn parts() -> Result<Value, Box<dyn Error>> {
    let told = output(Command::new(env!("CARGO")).args([
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--offline",
    ]))?;
    let metadata: Value = serde_json::from_str(&told)?;
    let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
    let from_registry = packages
        .iter()
        .filter(|package| !package["source"].is_null());
    let components: Vec<Value> = from_registry
        .map(|package| {
            let text = |key: &str| package[key].as_str().unwrap_or_default();
            let (name, version) = (text("name"), text("version"));
            json!({
                "type": "library",
                "name": name,
                "version": version,
                "purl": format!("pkg:cargo/{name}@{version}"),
                "licenses": [{"expression": text("license")}],
            })
        })
        .collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "opm",
            "version": env!("CARGO_PKG_VERSION")}},
        "components": components,
    }))
}

/// A Debian package, where there is a program to make one.
fn debian(stage: &Path, target: &str, version: &str, out: &Path) -> Outcome {
    let architecture = match target.split('-').next() {
        Some("x86_64") => "amd64",
        Some("aarch64") => "arm64",
        _ => return Ok(()),
    };
    if !target.contains("linux") || Command::new("dpkg-deb").arg("--version").output().is_err() {
        eprintln!("no Debian package: that takes a Linux target and dpkg-deb");
        return Ok(());
    }
    let root = tempfile::tempdir()?;
    let put = |from: &Path, to: &str| -> Outcome {
        let to = root.path().join(to);
        fs::create_dir_all(to.parent().ok_or("a file has a directory")?)?;
        fs::copy(from, to)?;
        Ok(())
    };
    put(&stage.join("opm"), "usr/bin/opm")?;
    put(&stage.join("LICENSE"), "usr/share/doc/opm/copyright")?;
    for (file, to) in [
        ("opm.bash", "usr/share/bash-completion/completions/opm"),
        ("_opm", "usr/share/zsh/vendor-completions/_opm"),
        ("opm.fish", "usr/share/fish/vendor_completions.d/opm.fish"),
    ] {
        put(&stage.join("completions").join(file), to)?;
    }
    for page in fs::read_dir(stage.join("man"))? {
        let page = page?;
        let to = format!("usr/share/man/man1/{}", page.file_name().to_string_lossy());
        put(&page.path(), &to)?;
    }
    let control = format!(
        "Package: opm\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: opm <opm@example.com>\n\
         Section: admin\nPriority: optional\nDescription: release manager for Kubernetes\n \
         Applies modules, removes exactly what became stale, and can show, explain,\n \
         repair and roll back all of it.\n"
    );
    fs::create_dir_all(root.path().join("DEBIAN"))?;
    fs::write(root.path().join("DEBIAN/control"), control)?;
    let package = out.join(format!("opm_{version}_{architecture}.deb"));
    run_program(
        Command::new("dpkg-deb")
            .args(["--build", "--root-owner-group"])
            .arg(root.path())
            .arg(&package),
    )?;
    eprintln!("wrote {}", package.display());
    Ok(())
}

/// The checksums of all archives and packages that are there, as `sha256sum -c` reads them.
fn checksums(out: &Path) -> Outcome {
    let mut lines = Vec::new();
    for entry in fs::read_dir(out)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name.ends_with(".tar.gz") || name.ends_with(".deb") {
            lines.push(format!("{}  {name}\n", sum(&path)?));
        }
    }
    lines.sort_by(|a, b| a[64..].cmp(&b[64..]));
    fs::write(out.join("SHA256SUMS"), lines.concat())?;
    Ok(())
}

fn sum(path: &Path) -> Result<String, Box<dyn Error>> {
    let digest = Sha256::digest(fs::read(path)?);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Fills a template in, if all archives that it names are there.
fn fill_in(template: &Path, out: &Path, file: &str, url: &str) -> Outcome {
    let version = env!("CARGO_PKG_VERSION");
    let mut text = fs::read_to_string(template)?
        .replace("@VERSION@", version)
        .replace("@LICENSE@", env!("CARGO_PKG_LICENSE"))
        .replace("@HOMEPAGE@", url)
        .replace("@URL@", url);
    while let Some((before, rest)) = text.clone().split_once("@SHA256:") {
        let (target, after) = rest.split_once('@').ok_or("a placeholder has an end")?;
        let archive = out.join(format!("opm-{version}-{target}.tar.gz"));
        if !archive.is_file() {
            eprintln!("no {file} yet: the archive for {target} is not there");
            return Ok(());
        }
        text = format!("{before}{}{after}", sum(&archive)?);
    }
    fs::write(out.join(file), text)?;
    eprintln!("wrote {}", out.join(file).display());
    Ok(())
}

fn run_program(command: &mut Command) -> Outcome {
    let status = command.status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{command:?} failed").into()),
    }
}

fn output(command: &mut Command) -> Result<String, Box<dyn Error>> {
    let output = command.output()?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?),
        false => Err(format!(
            "{command:?} failed: {}",
            String::from_utf8_lossy(&output.stderr)
        )
        .into()),
    }
}
