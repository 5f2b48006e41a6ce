//! `opm controller install`.

use std::collections::BTreeMap;

use opm_controller::deploy;
use opm_core::candidate::{Candidate, Selection};
use opm_core::name::ReleaseName;
use opm_core::scope::Scopes;
use opm_engine::request::ApplyRequest;
use opm_render::{Inputs, Loaded, ModuleFiles, Values};
use serde_json::{Value, json};

use crate::answers;
use crate::cluster::Session;
use crate::commands::module::{print_objects, refused, renderer};
use crate::error::{CliError, ErrorKind, Exit};
use crate::invocation::Invocation;
use crate::runtime;
use crate::settings::Settings;
use crate::ui::Ui;

/// Install the controller in the cluster, as a release of opm itself
///
/// The release has the definition of ModuleRelease, the controller's rights, its Deployment with
/// probes and limits, a PodDisruptionBudget and a NetworkPolicy. Installing again upgrades it. It
/// lives in the namespace opm-system unless another is named.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print what would be applied, as YAML documents, and apply nothing
    #[arg(long)]
    print: bool,

    /// The image of the controller; the Dockerfile in the repository builds it
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,

    /// The service account that ModuleReleases act as which name none
    #[arg(long, value_name = "NAME")]
    default_service_account: Option<String>,
}

pub(super) fn run(args: &Args, settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    let invocation = Invocation::new(settings, ui);
    runtime::run(async {
        let loaded = load(args, &invocation).await?;
        if args.print {
            let (name, namespace) = (loaded.name, loaded.namespace);
            // What is printed can be applied as it is: here nobody else makes the namespace.
            let own = json!({"apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": namespace.as_str()}});
            let (selection, scopes) = (Selection::default(), Scopes::default());
            let candidate = Candidate::new(loaded.rendered, name, namespace, &selection, scopes);
            let candidate = candidate.map_err(|error| refused(&error))?;
            let objects = candidate.objects.iter();
            let objects = objects.map(|one| Value::Object(one.manifest.object().into_owned()));
            let all: Vec<Value> = std::iter::once(own).chain(objects).collect();
            return print_objects(&all, ui);
        }
        let session = Session::open(&invocation, false).await?;
        let request = ApplyRequest {
            create_namespace: true,
            ..ApplyRequest::new(loaded.rendered, loaded.name, loaded.namespace)
        };
        let applied = session.engine.apply(&request, &session.caller()).await;
        answers::report::answer(applied, &session)
    })
}

/// The module of the controller, which comes with the program, rendered.
async fn load(args: &Args, invocation: &Invocation<'_>) -> Result<Loaded, CliError> {
    let settings = invocation.settings;
    let failed = |error: &dyn std::fmt::Display| CliError::new(ErrorKind::Io, error.to_string());
    let written =
        ModuleFiles::write(&deploy::files(), &settings.render).map_err(|error| failed(&error))?;
    let given = [
        ("image", &args.image),
        ("defaultServiceAccount", &args.default_service_account),
    ];
    let given = given
        .into_iter()
        .filter_map(|(key, value)| Some((key, value.clone()?)));
    let given: BTreeMap<&str, String> = given.collect();
    let values = match given.is_empty() {
        true => Vec::new(),
        false => vec![(
            "the flags".to_owned(),
            "values.json".to_owned(),
            json!(given).to_string(),
        )],
    };
    let inputs = Inputs {
        name: ReleaseName::new(deploy::NAME).ok(),
        namespace: settings.namespace.clone(),
        values: Values::of_texts(values).map_err(|error| failed(&error))?,
        ..Inputs::default()
    };
    let loaded = renderer(invocation)
        .load(&written.module(), inputs, &invocation.interrupt.token())
        .await;
    loaded.map_err(|error| failed(&error))
}
