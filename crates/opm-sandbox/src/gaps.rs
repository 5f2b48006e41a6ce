//! What the sandbox does not do. One list: for `opm sandbox status`, for the documentation, and
//! for the conformance suite.

use crate::kinds::Resource;

/// What to tell whoever creates an object that does nothing here.
pub(crate) fn warning(resource: &Resource) -> Option<String> {
    let idle = matches!(
        resource.kind.as_str(),
        "ValidatingAdmissionPolicy"
            | "ValidatingWebhookConfiguration"
            | "MutatingWebhookConfiguration"
    );
    let idle = idle && resource.group == "admissionregistration.k8s.io";
    idle.then(|| {
        let kind = &resource.kind;
        format!("the sandbox stores this {kind} and does not enforce it")
    })
}

/// What is deliberately different from a real cluster, one sentence each.
pub const GAPS: &[&str] = &[
    "Pods do not run: Deployments, StatefulSets, DaemonSets, Jobs and claims only become ready, \
     unless the annotation sandbox.opmodel.dev/simulate says pending, fail or crash.",
    "No ReplicaSets, Pods, Endpoints, EndpointSlices or Events are made for a workload or Service.",
    "No users, no authorization: whoever has the token of `opm sandbox serve` may do everything, \
     impersonation is ignored.",
    "No admission: webhooks and admission policies are stored, not called, and whoever creates one \
     is warned; no quotas, no limit ranges, no default storage class.",
    "An APIService says whether its Service is there, and nothing behind it is called or served; \
     those of definitions are not listed.",
    "Objects nest at most 120 levels deep.",
    "Validation covers names, labels, workloads' selectors and templates, Services, Secrets, \
     ConfigMaps, role bindings and definitions; everything else is accepted if its types fit.",
    "Custom resources are checked for types, required fields, enumerations and bounds; CEL rules, \
     patterns and conversion webhooks are not evaluated.",
    "HorizontalPodAutoscalers are served as autoscaling/v2 only.",
    "Lists are answered from the present, also their later pages; tables are answered as plain JSON.",
    "Bodies are JSON or YAML, not protobuf: `kubectl create configmap` and its like do not work, \
     `kubectl create -f` and `kubectl apply` do.",
    "Strategic merge patches cover what kubectl label, annotate, scale and set send.",
    "No logs, exec, port-forward, eviction, tokens, proxies or metrics.",
];

#[cfg(test)]
mod tests {
    use super::GAPS;

    #[test]
    fn the_documentation_lists_them_all() {
        let page = include_str!("../../../docs/sandbox.md");
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let page = words(page);
        for gap in GAPS {
            assert!(page.contains(&words(gap)), "docs/sandbox.md lacks: {gap}");
        }
    }
}
