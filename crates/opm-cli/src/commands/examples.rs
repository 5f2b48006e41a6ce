//! Examples for the long help of each command. A test runs every one of them.

/// The examples of a command, by the words that call it: what each is for, and the line.
pub(crate) fn of(command: &str) -> &'static [(&'static str, &'static str)] {
    match command {
        "mod init" => &[("A new module", "opm mod init ./new")],
        "mod vet" => &[("Check the module in this directory", "opm mod vet ./web")],
        "mod build" => &[
            ("Print what it renders", "opm mod build ./web"),
            ("For a script", "opm mod build ./web -o json"),
        ],
        "mod apply" => &[
            (
                "Apply, and wait until all is ready",
                "opm mod apply ./web --wait",
            ),
            (
                "Go back by itself if that fails",
                "opm mod apply ./web --atomic --timeout 2m",
            ),
            (
                "Only show what would happen",
                "opm mod apply ./web --dry-run",
            ),
        ],
        "mod diff" => &[
            ("What would an apply do?", "opm mod diff ./web"),
            (
                "Review now, apply exactly that later",
                "opm mod diff ./web --save plan.json && opm mod apply ./web --plan plan.json",
            ),
        ],
        "mod tree" => &[("What its objects own", "opm mod tree web")],
        "mod events" => &[("What happened to it", "opm mod events web")],
        "mod logs" => &[
            ("What its containers wrote", "opm mod logs web"),
            ("Only one component's", "opm mod logs web app --tail 20"),
        ],
        "mod rbac" => &[
            ("The Roles that an apply needs", "opm mod rbac ./web"),
            (
                "Bound to somebody",
                "opm mod rbac ./web --for status --bind user:alice",
            ),
        ],
        "mod delete" => &[
            ("Remove a release", "opm mod delete web --yes"),
            (
                "Only one component",
                "opm mod delete web --component app --yes",
            ),
        ],
        "mod status" => &[
            ("How does it stand?", "opm mod status web"),
            ("In a script: 0, 6 or 8", "opm mod status web --exit-code"),
        ],
        "mod list" => &[("Everywhere, with health", "opm mod list -A --health")],
        "mod history" => &[
            ("The changes", "opm mod history web"),
            ("What the last one changed", "opm mod history web --diff ~0"),
            ("Who deployed what", "opm mod history web --log"),
        ],
        "mod show" => &[(
            "What the change before applied",
            "opm mod show web manifests --revision ~1",
        )],
        "mod rollback" => &[
            ("To the change before", "opm mod rollback web --yes"),
            (
                "To what deployment #1 applied",
                "opm mod rollback web --revision '#1' --yes",
            ),
        ],
        "mod prune" => &[(
            "Delete what was kept",
            "opm mod prune web ConfigMap/old --yes",
        )],
        "mod forget" => &[(
            "Stop tracking, delete nothing",
            "opm mod forget web ConfigMap/settings --yes",
        )],
        "mod repair" => &[("Look first", "opm mod repair web --dry-run")],
        "mod test" => &[(
            "Try a release by the tests of its charts",
            "opm mod test web",
        )],
        "mod unlock" => &[("Remove a dead holder's lock", "opm mod unlock web --yes")],
        "config view" => &[("What holds, and why", "opm config view")],
        "config init" => &[("A first file", "opm config init")],
        "config trust" => &[("Which files are trusted?", "opm config trust --list")],
        "config untrust" => &[(
            "Accept the file of this directory, and take that back",
            "opm config init && opm config trust && opm config untrust",
        )],
        "feature list" => &[("With what they are for", "opm feature list -o wide")],
        "feature docs" => &[("As Markdown", "opm feature docs")],
        "sandbox status" => &[("What is in it?", "opm sandbox status")],
        "sandbox reset" => &[("Begin anew", "opm sandbox reset --yes")],
        "sandbox serve" => &[("For kubectl", "opm sandbox serve")],
        "controller run" => &[(
            "Keep the ModuleReleases of the sandbox",
            "opm controller run --sandbox",
        )],
        "controller install" => &[
            ("What it is made of", "opm controller install --print"),
            (
                "Into the cluster",
                "opm controller install --image registry.example.com/opm-controller:0.1.0",
            ),
        ],
        "ui" => &[("Look at the sandbox", "opm ui --sandbox")],
        "completion" => &[(
            "For bash, in this shell",
            "opm completion bash > completions",
        )],
        "man" => &[("All pages", "opm man ./man")],
        "version" => &[("With its features", "opm version -o wide")],
        _ => &[],
    }
}
