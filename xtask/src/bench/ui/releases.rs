//! Many small releases and a large one, made by `opm` itself.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::Failed;

/// The name and the namespace of the large release.
pub(super) const LARGE: &str = "large";

/// How many releases share a namespace.
const TOGETHER: usize = 50;

/// How many applies run at a time.
const AT_ONCE: usize = 2;

/// Makes the releases, unless an earlier run has.
pub(super) fn put(
    opm: &Path,
    sandbox: &Path,
    home: &Path,
    count: usize,
    objects: usize,
) -> Result<(), Failed> {
    let done = sandbox.join("all-is-there");
    if done.exists() {
        return Ok(());
    }
    let modules = home.join("modules");
    let apply = |name: &str, namespace: &str, text: &str| -> Result<_, Failed> {
        let module = modules.join(name);
        fs::create_dir_all(&module)?;
        let head = format!(
            "apiVersion: core.opmodel.dev/v1alpha1\nkind: Module\nmetadata:\n  name: {name}\n  \
             path: example.com/{name}\n  version: 1.0.0\ncomponents:\n  - name: app\n    \
             manifests: [objects.yaml]\n"
        );
        fs::write(module.join("module.yaml"), head)?;
        fs::write(module.join("objects.yaml"), text)?;
        let apply = Command::new(opm)
            .args(["mod", "apply"])
            .arg(module)
            .args(["-n", namespace, "--create-namespace", "--sandbox"])
            .arg("--sandbox-dir")
            .arg(sandbox)
            .env_clear()
            .env("HOME", home)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        Ok(apply)
    };
    let mut running = Vec::new();
    for n in 0..count {
        let (name, namespace) = (format!("app-{n:04}"), format!("bench-{:02}", n / TOGETHER));
        // The first of a namespace makes it.
        let most = if n % TOGETHER == 1 { 1 } else { AT_ONCE };
        while running.len() >= most {
            end(running.remove(0))?;
        }
        running.push(apply(&name, &namespace, &small(&name))?);
    }
    running.push(apply(LARGE, LARGE, &large(objects))?);
    running.into_iter().try_for_each(end)?;
    fs::write(done, "")?;
    Ok(())
}

fn end(mut apply: std::process::Child) -> Result<(), Failed> {
    match apply.wait()? {
        ended if ended.success() => Ok(()),
        ended => Err(format!("an apply failed: {ended}").into()),
    }
}

/// A Deployment, a Service and a ConfigMap.
fn small(name: &str) -> String {
    [config_map(name), service(name), deployment(name)].join("---\n")
}

/// Seven ConfigMaps to a Secret, a Service and a Deployment.
fn large(objects: usize) -> String {
    let object = |n: usize| {
        let name = format!("part-{n:04}");
        match n % 10 {
            0 => deployment(&name),
            1 => service(&name),
            2 => secret(&name),
            _ => config_map(&name),
        }
    };
    let objects: Vec<String> = (0..objects).map(object).collect();
    objects.join("---\n")
}

fn config_map(name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  key: value of {name}\n"
    )
}

fn secret(name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {name}\nstringData:\n  key: value of \
         {name}\n"
    )
}

fn service(name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: {name}\nspec:\n  selector:\n    app: \
         {name}\n  ports:\n    - port: 80\n"
    )
}

fn deployment(name: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\nspec:\n  replicas: 1\n  \
         selector:\n    matchLabels:\n      app: {name}\n  template:\n    metadata:\n      \
         labels:\n        app: {name}\n    spec:\n      containers:\n        - name: main\n          \
         image: example.com/main:1\n"
    )
}
