//! The rules that somebody lacks, as a Role would hold them, and how to get them.

use opm_core::rights::{ResourceRight, ResourceRule, of_refusal, rules_of};
use opm_engine::{Failure, Remedy};

/// What to add to whose rights, if that is why a use case failed.
pub(super) fn hints(failure: &Failure) -> Vec<String> {
    let mut missing: Vec<(ResourceRight, String)> = Vec::new();
    for remedy in &failure.remedies {
        if let Remedy::GrantRight { right, names } = remedy {
            missing.extend(names.iter().map(|name| (right.clone(), name.clone())));
        }
    }
    let reasons = failure.objects.iter().map(|object| object.reason.as_str());
    for text in reasons.chain([failure.message.as_str()]) {
        missing.extend(of_refusal(text));
    }
    if missing.is_empty() {
        return Vec::new();
    }
    let rules = rules_of(missing.iter().map(|(right, name)| (right, name.as_str())));
    let mut hints: Vec<String> = rules.iter().map(words).collect();
    hints.push(
        "`opm mod rbac MODULE --for apply --bind user:NAME | kubectl apply -f -` adds all rules that \
         an apply needs; --for delete and --for status those of other commands"
            .to_owned(),
    );
    hints
}

fn words(rule: &ResourceRule) -> String {
    let list = |items: Vec<&str>| {
        let quoted: Vec<String> = items.iter().map(|item| format!("\"{item}\"")).collect();
        quoted.join(", ")
    };
    let place = match &rule.namespace {
        Some(namespace) => format!("a Role in namespace {namespace}"),
        None => "a ClusterRole".to_owned(),
    };
    let names = match rule.names.is_empty() {
        true => String::new(),
        false => {
            let names = rule.names.iter().map(String::as_str).collect();
            format!("\n    resourceNames: [{}]", list(names))
        }
    };
    format!(
        "this rule is missing in {place}:\n  - apiGroups: [\"{}\"]\n    resources: [\"{}\"]{names}\n    verbs: [{}]",
        rule.group,
        rule.resource,
        list(rule.verbs.iter().copied().collect())
    )
}
