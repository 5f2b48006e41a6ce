//! The applications: where they come from, how they are rendered, and what is expected of them.

use opm_testkit::GoModule;

/// An application and two of its versions.
#[derive(Debug)]
pub(crate) struct Application {
    pub(crate) name: &'static str,
    /// The namespace of the release, which its manifests expect.
    pub(crate) namespace: &'static str,
    pub(crate) from: Source,
    pub(crate) to: Source,
    /// What has to be in the cluster before, as a release of its own.
    pub(crate) needs: Option<Source>,
    /// Objects of somebody who uses the application, in one module with it.
    pub(crate) used_by: &'static str,
    /// The kinds that a plain delete keeps.
    pub(crate) kept: &'static [&'static str],
}

/// Files of a published version.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) module: GoModule,
    pub(crate) form: Form,
}

/// What the files are to `opm`.
#[derive(Debug)]
pub(crate) enum Form {
    /// These files are manifests, and those of these directories.
    Manifests(&'static [&'static str]),
    /// The same, in a directory without a module file.
    Undeclared(&'static [&'static str]),
    /// This directory has a kustomization.
    Kustomization(&'static str),
    /// This directory is a chart, with these settings.
    Chart(&'static str, &'static [&'static str]),
}

impl Form {
    /// The same in a word or two.
    pub(crate) fn words(&self) -> &'static str {
        match self {
            Self::Manifests(_) => "manifests",
            Self::Undeclared(_) => "manifests without a module file",
            Self::Kustomization(_) => "kustomization",
            Self::Chart(..) => "chart",
        }
    }
}

const fn module(path: &'static str, version: &'static str, sum: &'static str) -> GoModule {
    GoModule { path, version, sum }
}

const DEFINITIONS: &[&str] = &["CustomResourceDefinition"];
const DEFINITIONS_AND_NAMESPACE: &[&str] = &["CustomResourceDefinition", "Namespace"];

/// All of them.
pub(crate) const ALL: &[&Application] = &[
    &ARGO_CD,
    &ARGO_ROLLOUTS,
    &CERT_MANAGER,
    &CILIUM,
    &CLUSTER_API,
    &DESCHEDULER,
    &GATEKEEPER,
    &GATEWAY_API,
    &KEDA,
    &KNATIVE_SERVING,
    &KYVERNO,
    &METRICS_SERVER,
    &PROMETHEUS_OPERATOR,
];

pub(crate) const ARGO_CD: Application = Application {
    name: "argo-cd",
    namespace: "argocd",
    from: Source {
        module: module(
            "github.com/argoproj/argo-cd/v3",
            "v3.4.12",
            "h1:kRvr4+C5cG65+MVaNjlefGWN+4Af3JZrfpDvu0o7SZQ=",
        ),
        form: Form::Undeclared(&["manifests/install.yaml"]),
    },
    to: Source {
        module: module(
            "github.com/argoproj/argo-cd/v3",
            "v3.5.6",
            "h1:twzdsPiPufKLRtEqD1Jg3FqtuZmSHLTIxs7t6fSkjlk=",
        ),
        form: Form::Undeclared(&["manifests/install.yaml"]),
    },
    needs: None,
    used_by: r#"
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: shop}
spec:
  sourceRepos: ["*"]
  destinations: [{server: "*", namespace: "*"}]
"#,
    kept: DEFINITIONS,
};

pub(crate) const ARGO_ROLLOUTS: Application = Application {
    name: "argo-rollouts",
    namespace: "argo-rollouts",
    from: Source {
        module: module(
            "github.com/argoproj/argo-rollouts",
            "v1.9.2",
            "h1:NaAtrUjjm9AFAyurAEFRJjP54mk98s8007B3vsdFEbI=",
        ),
        form: Form::Kustomization("manifests/cluster-install"),
    },
    to: Source {
        module: module(
            "github.com/argoproj/argo-rollouts",
            "v1.10.1",
            "h1:6oyVPGiHHxu3ixkT6mngemh88HLPDoTX1IwO6KNR1Y4=",
        ),
        form: Form::Kustomization("manifests/cluster-install"),
    },
    needs: None,
    used_by: r#"
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: success}
spec:
  metrics:
    - name: success
      provider: {job: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: look, image: look}]}}}}}
"#,
    kept: DEFINITIONS,
};

/// What serves it is written by its chart.
pub(crate) const CERT_MANAGER: Application = Application {
    name: "cert-manager",
    namespace: "cert-manager",
    from: Source {
        module: CERT_MANAGER_FROM,
        form: Form::Chart("deploy/charts/cert-manager", CERT_MANAGER_SETTINGS),
    },
    to: Source {
        module: module(
            "github.com/cert-manager/cert-manager",
            "v1.21.2",
            "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68=",
        ),
        form: Form::Chart("deploy/charts/cert-manager", CERT_MANAGER_SETTINGS),
    },
    needs: None,
    used_by: r#"
apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata: {name: own}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: shop}
spec: {secretName: shop, dnsNames: [shop.example.com], issuerRef: {name: own, kind: ClusterIssuer}}
"#,
    kept: DEFINITIONS,
};

/// Its definitions are annotated to be kept otherwise, whatever is asked for.
const CERT_MANAGER_SETTINGS: &[&str] = &["crds.enabled=true", "crds.keep=false"];

const CERT_MANAGER_FROM: GoModule = module(
    "github.com/cert-manager/cert-manager",
    "v1.20.0",
    "h1:czZamsFJ1YdKPhpv+SopJZN9t3W68vQBnFYUevSHGqY=",
);

pub(crate) const CILIUM: Application = Application {
    name: "cilium",
    namespace: "kube-system",
    from: Source {
        module: module(
            "github.com/cilium/cilium",
            "v1.15.19",
            "h1:paLLN6chvDJiW9FB31c2KHdtFbkFB6QsVxgvLHN9XHs=",
        ),
        form: Form::Chart("install/kubernetes/cilium", CILIUM_SETTINGS),
    },
    to: Source {
        module: module(
            "github.com/cilium/cilium",
            "v1.20.2",
            "h1:dqiEGIcXc+gqCLYG/l7VCFJ8GHyb4HUrwbZOpkX5dL8=",
        ),
        form: Form::Chart("install/kubernetes/cilium", CILIUM_SETTINGS),
    },
    needs: None,
    used_by: "",
    kept: &["Namespace"],
};

/// Certificates that are generated anew by each rendering would be a difference each time.
const CILIUM_SETTINGS: &[&str] = &["hubble.enabled=false", "operator.replicas=1"];

pub(crate) const CLUSTER_API: Application = Application {
    name: "cluster-api",
    namespace: "capi-system",
    from: Source {
        module: module(
            "sigs.k8s.io/cluster-api",
            "v1.13.6",
            "h1:imZVIstbRIq2DoKftQv0wPm+vyhWXrE3Zft8E43maqo=",
        ),
        form: Form::Kustomization("config/default"),
    },
    to: Source {
        module: module(
            "sigs.k8s.io/cluster-api",
            "v1.14.2",
            "h1:o3GFNaeNFAOEEMpDPfhCK+2CjmV6gtQ8yLEcUwCg7bA=",
        ),
        form: Form::Kustomization("core/config/default"),
    },
    needs: Some(Source {
        module: CERT_MANAGER_FROM,
        form: Form::Manifests(&["deploy/crds"]),
    }),
    used_by: r#"
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: shop}
spec:
  paused: true
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: ShopCluster, name: shop}
"#,
    kept: DEFINITIONS_AND_NAMESPACE,
};

/// One version is to be had: it changes its form.
pub(crate) const DESCHEDULER: Application = Application {
    name: "descheduler",
    namespace: "kube-system",
    from: Source {
        module: DESCHEDULER_MODULE,
        form: Form::Kustomization("kubernetes/deployment"),
    },
    to: Source {
        module: DESCHEDULER_MODULE,
        form: Form::Kustomization("kubernetes/cronjob"),
    },
    needs: None,
    used_by: "",
    kept: &[],
};

const DESCHEDULER_MODULE: GoModule = module(
    "sigs.k8s.io/descheduler",
    "v0.36.0",
    "h1:fBemfJD1RhmbsdH94lKwGMOwQcbsrw67A5IK2c2fANA=",
);

pub(crate) const GATEKEEPER: Application = Application {
    name: "gatekeeper",
    namespace: "gatekeeper-system",
    from: Source {
        module: module(
            "github.com/open-policy-agent/gatekeeper/v3",
            "v3.17.0",
            "h1:8jiY9rgWRofEJeJLm4gyme97fwvqTbv9+QoerMGXCuU=",
        ),
        form: Form::Manifests(&["deploy/gatekeeper.yaml"]),
    },
    to: Source {
        module: module(
            "github.com/open-policy-agent/gatekeeper/v3",
            "v3.23.1",
            "h1:njHTm0SJ6ZEhhEgmQTpJKTGQbc99fSs4hGiEp1OIKck=",
        ),
        form: Form::Manifests(&["deploy/gatekeeper.yaml"]),
    },
    needs: None,
    used_by: r#"
apiVersion: mutations.gatekeeper.sh/v1
kind: Assign
metadata: {name: pull-always}
spec:
  applyTo: [{groups: [""], kinds: [Pod], versions: [v1]}]
  location: "spec.containers[name:shop].imagePullPolicy"
  parameters: {assign: {value: Always}}
"#,
    kept: DEFINITIONS_AND_NAMESPACE,
};

pub(crate) const GATEWAY_API: Application = Application {
    name: "gateway-api",
    namespace: "gateway-system",
    from: Source {
        module: module(
            "sigs.k8s.io/gateway-api",
            // Its own policy lets nobody go back to versions before 1.6 once it is there.
            "v1.6.0",
            "h1:735YBRj5NXFrOGX0GoSjwzUIzbz8kiEOfADsqHFmHgE=",
        ),
        form: Form::Kustomization("config/crd"),
    },
    to: Source {
        module: module(
            "sigs.k8s.io/gateway-api",
            "v1.6.3",
            "h1:lKpJa5bGlraC/QeACvCpsHLdmO6y0iKfzVl6gzaFEYc=",
        ),
        form: Form::Kustomization("config/crd"),
    },
    needs: None,
    used_by: r#"
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: shop}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: shop}]
  to: [{group: "", kind: Service}]
"#,
    kept: DEFINITIONS,
};

pub(crate) const KEDA: Application = Application {
    name: "keda",
    namespace: "keda",
    from: Source {
        module: module(
            "github.com/kedacore/keda/v2",
            "v2.20.2",
            "h1:SR60v8uIcelbveS8n/1jcl8tLdBBIbHMxmdOHw8tKqA=",
        ),
        form: Form::Kustomization("config/default"),
    },
    to: Source {
        module: module(
            "github.com/kedacore/keda/v2",
            "v2.21.0",
            "h1:R6z2HZvstK4RLUMxroNACzBj74xGxt3kG59b5Xc+Xps=",
        ),
        form: Form::Kustomization("config/default"),
    },
    needs: None,
    used_by: r#"
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata: {name: shop}
spec: {env: [{name: TOKEN, parameter: token}]}
"#,
    kept: DEFINITIONS_AND_NAMESPACE,
};

/// Without two files with objects of kinds that other modules define, and without its autoscalers,
/// for which there are no metrics here.
pub(crate) const KNATIVE_SERVING: Application = Application {
    name: "knative-serving",
    namespace: "knative-serving",
    from: Source {
        module: module(
            "knative.dev/serving",
            "v0.41.0",
            "h1:A431GizCZri8Pteuf6/U5CEBgx9bY/ja34Ks8/C06ZI=",
        ),
        form: Form::Manifests(KNATIVE_FILES),
    },
    to: Source {
        module: module(
            "knative.dev/serving",
            "v0.42.2",
            "h1:yKieg3MeNvpVz+4JJPbvmpee3v3LK3zO5h5HJBtzaNk=",
        ),
        form: Form::Manifests(KNATIVE_FILES),
    },
    needs: None,
    used_by: "",
    kept: DEFINITIONS_AND_NAMESPACE,
};

const KNATIVE_FILES: &[&str] = &[
    "config/core/100-namespace.yaml",
    "config/core/200-roles",
    "config/core/200-serviceaccount.yaml",
    "config/core/300-resources",
    "config/core/configmaps",
    "config/core/deployments/activator.yaml",
    "config/core/deployments/autoscaler.yaml",
    "config/core/deployments/controller.yaml",
    "config/core/deployments/webhook.yaml",
    "config/core/webhooks",
];

pub(crate) const KYVERNO: Application = Application {
    name: "kyverno",
    namespace: "kyverno",
    from: Source {
        module: module(
            "github.com/kyverno/kyverno",
            "v1.18.2",
            "h1:w/p1ysSEzOuMO4DaYmpiJ5YioL4OCkgmFFC5cJqiJ68=",
        ),
        form: Form::Manifests(&["config/install-latest-testing.yaml"]),
    },
    to: Source {
        module: module(
            "github.com/kyverno/kyverno",
            "v1.19.1",
            "h1:/MkgFii3/VlQfKR1JpC9tVwNNVNQTt2S4U6qCsafsTU=",
        ),
        form: Form::Manifests(&["config/install-latest-testing.yaml"]),
    },
    needs: None,
    used_by: "",
    kept: DEFINITIONS_AND_NAMESPACE,
};

pub(crate) const METRICS_SERVER: Application = Application {
    name: "metrics-server",
    namespace: "kube-system",
    from: Source {
        module: module(
            "sigs.k8s.io/metrics-server",
            "v0.8.0",
            "h1:Zlsi3sBWEtFKCD3+xSysThvXyLQ363rUAlqpnsY5JwI=",
        ),
        form: Form::Kustomization("manifests/overlays/release"),
    },
    to: Source {
        module: module(
            "sigs.k8s.io/metrics-server",
            "v0.9.0",
            "h1:nlqqZ2H0Xfko8eJC/1qaNVVT17hu4rxndkOi22KTZ4w=",
        ),
        form: Form::Kustomization("manifests/overlays/release"),
    },
    needs: None,
    used_by: "",
    kept: &[],
};

/// The same, by its chart.
pub(crate) const METRICS_SERVER_CHART: Application = Application {
    from: Source {
        module: METRICS_SERVER.from.module,
        form: Form::Chart("charts/metrics-server", &[]),
    },
    to: Source {
        module: METRICS_SERVER.to.module,
        form: Form::Chart("charts/metrics-server", &[]),
    },
    ..METRICS_SERVER
};

pub(crate) const PROMETHEUS_OPERATOR: Application = Application {
    name: "prometheus-operator",
    namespace: "default",
    from: Source {
        module: module(
            "github.com/prometheus-operator/prometheus-operator",
            "v0.84.0",
            "h1:XXm7lKizTnnxeSwI01wjNAapKzw/4XAPdpcZqjRKgRU=",
        ),
        form: Form::Undeclared(&["bundle.yaml"]),
    },
    to: Source {
        module: module(
            "github.com/prometheus-operator/prometheus-operator",
            "v0.85.0",
            "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
        ),
        form: Form::Undeclared(&["bundle.yaml"]),
    },
    needs: None,
    used_by: r#"
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: shop}
spec: {selector: {matchLabels: {app: shop}}, endpoints: [{port: web}]}
"#,
    kept: DEFINITIONS,
};
