//! The table of docs/rights.md, tried: every command with exactly the rights that it names, and
//! with one of them missing. And who may see nothing is told so, after a few requests.

use futures::StreamExt as _;
use opm_e2e::objects::{annotated, config_map, service};
use opm_e2e::{Module, OpmOutput, Rights, Seed, World, full, note, scenarios};
use opm_testkit::relay::Relay;

scenarios! {
    #[real_only("does not apply to the sandbox, which has no access control")]
    the_documented_rights_are_enough,
    #[real_only("does not apply to the sandbox, which has no access control")]
    each_documented_right_is_needed,
    #[real_only("does not apply to the sandbox, which has no access control")]
    who_may_see_nothing_is_told_so,
}

const TABLE: &str = include_str!("../../../../docs/rights.md");

/// How many missing rights are tried when not all of them are.
const SAMPLE: usize = 6;

/// How many users are tried at the same time, each with a release of its own.
const AT_ONCE: usize = 4;

/// What a command needs, by the table.
#[derive(Debug, Clone)]
struct Row {
    command: String,
    /// Whether of Secrets, which verb, and whether it is needed at times only.
    verbs: Vec<(bool, String, bool)>,
}

fn rows() -> Vec<Row> {
    let lines = TABLE.lines().filter(|line| line.starts_with("| `"));
    let rows = lines.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let verbs = |secrets: bool, cell: &str| {
            let verbs = cell
                .split(',')
                .map(str::trim)
                .filter(|verb| !verb.is_empty());
            let verb = |verb: &str| {
                (
                    secrets,
                    verb.trim_matches(['(', ')']).to_owned(),
                    verb.starts_with('('),
                )
            };
            verbs.map(verb).collect::<Vec<_>>()
        };
        Row {
            command: cells[0].trim_matches('`').to_owned(),
            verbs: [verbs(true, cells[1]), verbs(false, cells[2])].concat(),
        }
    });
    rows.collect()
}

impl Row {
    fn rights(&self, without: Option<usize>) -> Rights {
        let verbs = self.verbs.iter().enumerate();
        let verbs = verbs.filter(|(at, _)| Some(*at) != without);
        verbs.fold(Rights::none(), |rights, (_, (secrets, verb, _))| {
            let resources: &[&str] = match secrets {
                true => &["secrets"],
                false => &["configmaps", "services"],
            };
            rights.allow("", resources, &[verb])
        })
    }
}

fn module(release: &str, objects: &[&str]) -> Module {
    let name = |stem: &str| format!("{release}-{stem}");
    let objects = objects.iter().map(|stem| match *stem {
        "service" => service(&name(stem)),
        stem => config_map(&name(stem), "1"),
    });
    Module::new(release).component("app", &objects.collect::<Vec<_>>())
}

/// Brings a release to where the command has something to do, and returns the command.
async fn prepare(w: &World, command: &str, release: &str) -> Vec<String> {
    let kept = annotated(
        config_map(&format!("{release}-kept"), "1"),
        "opmodel.dev/prune",
        "false",
    );
    let old = module(release, &["stays", "goes", "service"]);
    let kept_name = format!("ConfigMap/{release}-kept");
    match command {
        "prune" | "forget" => {
            let both = Module::new(release)
                .component("app", &[kept, config_map(&format!("{release}-stays"), "1")]);
            w.apply(&both, &[]).await.ok();
            w.apply(&module(release, &["stays"]), &[]).await.ok();
        }
        "rollback" => {
            w.apply(&old, &[]).await.ok();
            w.apply(&module(release, &["stays", "comes", "service"]), &[])
                .await
                .ok();
        }
        _ => drop(w.apply(&old, &[]).await.ok()),
    }
    // Written last: a directory holds one module.
    let new = w.write(&module(release, &["stays", "comes", "service"]));
    let words: Vec<&str> = match command {
        "list" => vec!["mod", "list"],
        "diff" => vec!["mod", "diff", &new],
        "apply" => vec!["mod", "apply", &new],
        "show" => vec!["mod", "show", release, "manifests"],
        "prune" => vec!["mod", command, release, &kept_name, "--yes"],
        "forget" => vec!["mod", command, release, &kept_name],
        "delete" | "rollback" => vec!["mod", command, release, "--yes"],
        _ => vec!["mod", command, release],
    };
    let words = words.into_iter().chain(["-n", &w.ns]);
    words.map(str::to_owned).collect()
}

/// Runs a command as somebody with the rights of its row, but for one.
async fn run(w: &World, row: &Row, without: Option<usize>, index: usize) -> OpmOutput {
    let release = format!("{}{index}", row.command);
    let words = prepare(w, &row.command, &release).await;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let user = w.user(&row.rights(without)).await;
    w.opm_as(user.kubeconfig(), &words).await
}

/// Whether a run has done all of its work, and seen all that it wanted to see.
fn is_whole(ran: &OpmOutput) -> bool {
    let told = ran.to_string();
    let doubts = ["warning:", "Unknown"];
    ran.code() == 0 && !doubts.iter().any(|word| told.contains(word))
}

async fn the_documented_rights_are_enough(w: World) {
    let rows = rows();
    assert!(rows.len() > 9, "the table is there");
    for (index, row) in rows.iter().enumerate() {
        let ran = run(&w, row, None, index).await;
        assert!(is_whole(&ran), "{row:?}: {ran}");
    }
}

async fn each_documented_right_is_needed(w: World) {
    let rows = rows();
    let missing = rows.iter().flat_map(|row| {
        let needed = row.verbs.iter().enumerate().filter(|(_, verb)| !verb.2);
        needed.map(move |(at, _)| (row, at))
    });
    let missing: Vec<(&Row, usize)> = missing.collect();
    let chosen = match full() {
        true => missing,
        false => Seed::of_this_run("rights").some_of(missing, SAMPLE),
    };
    let tried = chosen.len();
    let runs = chosen.into_iter().enumerate().map(|(index, (row, at))| {
        let w = &w;
        async move {
            let ran = run(w, row, Some(at), index).await;
            let (secrets, verb, _) = &row.verbs[at];
            (!is_whole(&ran)).then_some(()).ok_or(format!(
                "{} without {verb} on {}: {ran}",
                row.command,
                if *secrets { "Secrets" } else { "objects" }
            ))
        }
    });
    let ran: Vec<Result<(), String>> = futures::stream::iter(runs)
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let unnoticed: Vec<String> = ran.into_iter().filter_map(Result::err).collect();
    assert!(unnoticed.is_empty(), "{}", unnoticed.join("\n"));
    note(&format!(
        "rights: {tried} missing ones, each of them noticed"
    ));
}

async fn who_may_see_nothing_is_told_so(w: World) {
    let web = module("web", &["a"]);
    w.apply(&web, &[]).await.ok();
    let (web, other) = (w.write(&web), w.write(&module("other", &["a"])));
    let none = Rights::none();
    let reading = Rights::none().allow("", &["secrets"], &["get"]);
    let listing = Rights::none().allow("", &["secrets"], &["get", "list"]);
    // Which rights, which release, how it ends, and what is said.
    for (rights, release, code, says) in [
        (&none, "web", 4, "cannot look for releases"),
        (&none, web.as_str(), 4, "cannot read the release's record"),
        (
            &reading,
            &other,
            4,
            "cannot tell whether there is a release other",
        ),
        (&listing, "nobody", 5, "could not be listed"),
        (&listing, &other, 5, "could not be listed"),
    ] {
        let user = w.user(rights).await;
        let relay = Relay::start(user.kubeconfig()).await.unwrap();
        let through = w.dir().join(format!("relay-{}", user.name()));
        let through = relay.write_kubeconfig(&through).unwrap();
        let words = ["mod", "status", release, "-n", &w.ns];
        w.opm_as(&through, &words).await.ends(code).says(says);
        assert!(relay.count() <= 12, "{release}: {:?}", relay.requests());
        // The history needs a record.
        let words = ["mod", "history", release, "-n", &w.ns];
        w.opm_as(&through, &words).await.ends(code);
    }
    // A list says where it could not look.
    let user = w.user(&none).await;
    let words = ["mod", "list", "-n", &w.ns];
    w.opm_as(user.kubeconfig(), &words).await.ends(4);
}
