//! Telling an answer that means "not up yet" from any other.
//!
//! A webhook or an aggregated API that a release brings along is registered before the pods behind
//! it answer. Until then the API server cannot carry out what they have a say in, and says so. Such
//! an answer is worth waiting for; one that the webhook itself gave is not.

/// What the API server says when it could not get an answer of a webhook.
const CALLS: [&str; 4] = [
    "failed calling webhook ",
    "failed calling admission webhook ",
    "conversion webhook for ",
    "failed to call webhook: ",
];

/// Why it could not, as far as more time may help. What the webhook itself answered is not among
/// them.
const CAUSES: [&str; 15] = [
    "connection refused",
    "connection reset by peer",
    "no endpoints available for service ",
    "no route to host",
    "no such host",
    "x509: ",
    "tls: ",
    "TLS handshake timeout",
    "i/o timeout",
    "context deadline exceeded",
    "Client.Timeout exceeded",
    "EOF",
    "the server is currently unable to handle the request",
    "unable to load root certificates",
    "network is unreachable",
];

/// Whether an answer means that a webhook or an aggregated API is not up yet. `message` is what
/// the server said: the message of its `Status`, or its text where it sent none.
pub fn is_not_up_yet(status: u16, message: &str) -> bool {
    match status {
        503 => is_silent_api(message.trim()),
        400.. => is_silent_webhook(message),
        _ => false,
    }
}

/// An API that another server answers for. The API server itself, when it is overloaded or shuts
/// down, says something else.
fn is_silent_api(message: &str) -> bool {
    message == "service unavailable"
        || message.starts_with("error trying to reach service: ")
        || message.starts_with("the server is currently unable to handle the request")
        || is_silent_webhook(message)
}

fn is_silent_webhook(message: &str) -> bool {
    let Some(said) = CALLS
        .iter()
        .filter_map(|call| message.find(call).map(|at| &message[at + call.len()..]))
        .max_by_key(|said| said.len())
    else {
        return false;
    };
    CAUSES.iter().any(|cause| said.contains(cause)) || names_missing_service(said)
}

/// `service "webhook" not found`: it is registered before its Service is there.
fn names_missing_service(said: &str) -> bool {
    let Some((_, name)) = said.split_once("service \"") else {
        return false;
    };
    name.trim_end().ends_with("\" not found")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers of kube-apiserver, as users have seen them.
    #[test]
    fn which_answers_are_worth_waiting_for() {
        let refused = r#"Internal error occurred: failed calling webhook "validation.webhook.serving.knative.dev": failed to call webhook: Post "https://webhook.knative-serving.svc:443/resource-validation?timeout=10s": dial tcp 10.0.0.171:443: connect: connection refused"#;
        let unknown_authority = r#"Internal error occurred: failed calling webhook "default.cluster.cluster.x-k8s.io": failed to call webhook: Post "https://capi-webhook-service.capi-system.svc:443/mutate?timeout=10s": tls: failed to verify certificate: x509: certificate signed by unknown authority"#;
        let older_words = r#"Internal error occurred: failed calling webhook "webhook.cert-manager.io": Post "https://cert-manager-webhook.cert-manager.svc:443/mutate?timeout=10s": x509: certificate signed by unknown authority (possibly because of "x509: ECDSA verification failure")"#;
        let no_endpoints = r#"Internal error occurred: failed calling webhook "mpod.kb.io": failed to call webhook: Post "https://kueue-webhook-service.kueue-system.svc:443/mutate--v1-pod?timeout=10s": no endpoints available for service "kueue-webhook-service""#;
        let no_service = r#"Internal error occurred: failed calling webhook "validate.nginx.ingress.kubernetes.io": failed to call webhook: Post "https://ingress-nginx-controller-admission.ingress-nginx.svc:443/networking/v1/ingresses?timeout=10s": service "ingress-nginx-controller-admission" not found"#;
        let deadline = r#"Internal error occurred: failed calling webhook "vpod.elbv2.k8s.aws": failed to call webhook: Post "https://aws-load-balancer-webhook-service.kube-system.svc:443/mutate-v1-pod?timeout=10s": context deadline exceeded"#;
        let end_of_file = r#"Internal error occurred: failed calling webhook "m.example.com": failed to call webhook: Post "https://m.example.svc:443/?timeout=10s": EOF"#;
        let conversion = r#"conversion webhook for cluster.x-k8s.io/v1beta1, Kind=Cluster failed: Post "https://capi-webhook-service.capi-system.svc:443/convert?timeout=30s": dial tcp 10.0.0.7:443: connect: connection refused"#;
        let conversion_service = r#"conversion webhook for cert-manager.io/v1, Kind=Issuer failed: Post "https://cert-manager-webhook.cert-manager.svc:443/convert?timeout=30s": service "cert-manager-webhook" not found"#;
        let denied = r#"admission webhook "validation.gatekeeper.sh" denied the request: connection refused is not a reason"#;
        let no_dry_run = r#"admission webhook "sideeffects.example.com" does not support dry run"#;
        let bad_answer = r#"Internal error occurred: failed calling webhook "v.example.com": expected response.uid="a", got """#;
        let its_own_error = r#"Internal error occurred: failed calling webhook "v.example.com": failed to call webhook: an error on the server ("") has prevented the request from succeeding"#;
        let quoted =
            r#"ConfigMap "a" is invalid: data: Invalid value: "connection refused": failed"#;
        let typed = "failed to create typed patch object (ns/name; apps/v1, Kind=Deployment): .foo: field not declared in schema";
        let table = [
            (500, refused, true),
            (500, unknown_authority, true),
            (500, older_words, true),
            (500, no_endpoints, true),
            (500, no_service, true),
            (500, deadline, true),
            (500, end_of_file, true),
            (500, conversion, true),
            (500, conversion_service, true),
            // An aggregated API, as the server writes it and as clients word it.
            (503, "service unavailable\n", true),
            (
                503,
                "error trying to reach service: dial tcp 10.0.0.9:443: connect: connection refused",
                true,
            ),
            (
                503,
                "the server is currently unable to handle the request",
                true,
            ),
            (403, denied, false),
            (400, no_dry_run, false),
            (500, bad_answer, false),
            (500, its_own_error, false),
            (422, quoted, false),
            (500, typed, false),
            // The API server itself, or something in front of it.
            (503, "apiserver is shutting down", false),
            (503, "no healthy upstream", false),
            (429, "Too many requests, please try again later.", false),
            (200, refused, false),
        ];
        for (status, message, expected) in table {
            assert_eq!(
                is_not_up_yet(status, message),
                expected,
                "{status} {message}"
            );
        }
    }
}
