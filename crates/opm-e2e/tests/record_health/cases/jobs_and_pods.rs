//! Jobs, CronJobs and bare Pods.

use opm_testkit::workload::{Fate, deployment, job};
use serde_json::{Value, json};

use super::{condition, idles, waits};
use crate::stage::{Case, Stage, Subject};

pub(crate) fn cases(stage: &Stage) -> Vec<Case> {
    let batch = |plural: &str| format!("/apis/batch/v1/namespaces/{}/{plural}", stage.ns);
    let pods = format!("/api/v1/namespaces/{}/pods", stage.ns);
    [
        jobs(&batch("jobs")),
        cron_jobs(&batch("cronjobs")),
        bare_pods(&pods, &batch("jobs")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn jobs(at: &str) -> Vec<Case> {
    let mut suspended = job("j-suspended", Fate::Ready);
    suspended["spec"]["suspend"] = json!(true);
    let mut several = job("j-several", Fate::Ready);
    several["spec"]["completions"] = json!(3);
    several["spec"]["parallelism"] = json!(2);
    vec![
        Case::created("job-created", at, job("j-created", Fate::Ready))
            .is("Progressing", "0 of 1 completions"),
        Case::of("job-complete", at, job("j-complete", Fate::Ready))
            .until(|j| condition(j, "Complete")["status"] == "True"),
        Case::of("job-of-several-completions", at, several)
            .until(|j| condition(j, "Complete")["status"] == "True" && j["status"]["succeeded"] == 3),
        Case::of("job-failed", at, job("j-failed", Fate::Fail))
            .until(|j| condition(j, "Failed")["status"] == "True")
            .pods("j-failed", |pod| pod["status"]["phase"] == "Failed")
            .is("Failed", "BackoffLimitExceeded: Job has reached the specified backoff limit (pod {pod}: container main ended with code 1 (Error))"),
        Case::of("job-running", at, job("j-running", Fate::Pending))
            .until(|j| j["status"]["active"] == 1)
            .pods("j-running", idles)
            .is("Progressing", "0 of 1 completions (pod {pod}: its containers have not started yet on node …)"),
        Case::of("job-bad-image", at, job("j-image", Fate::BadImage))
            .until(|j| j["status"]["active"] == 1)
            .pods("j-image", |pod| waits(pod, "ImagePullBackOff"))
            .is("Degraded", "0 of 1 completions (pod {pod}: container main waits: ImagePullBackOff: Back-off pulling image …)"),
        Case::of("job-suspended", at, suspended)
            .until(|j| condition(j, "Suspended")["status"] == "True")
            .is("Progressing", "it is suspended"),
    ]
}

fn cron_jobs(at: &str) -> Vec<Case> {
    let made = |name: &str, suspend: bool| {
        let template = job(name, Fate::Ready)["spec"].clone();
        json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name},
            "spec": {"schedule": "0 0 1 1 *", "suspend": suspend, "jobTemplate": {"spec": template}}})
    };
    vec![
        Case::of("cronjob", at, made("c-plain", false)),
        Case::of("cronjob-suspended", at, made("c-suspended", true)).is("Ready", "it is suspended"),
    ]
}

fn bare_pods(at: &str, jobs: &str) -> Vec<Case> {
    let made = |name: &str, fate| -> Value {
        let template = deployment(name, 1, fate)["spec"]["template"].clone();
        json!({"apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
            "metadata": {"name": name, "labels": template["metadata"]["labels"],
                "annotations": template["metadata"]["annotations"]}})
    };
    let mut nowhere = made("p-nowhere", Fate::Ready);
    nowhere["spec"]["nodeSelector"] = json!({"example.com/none": "true"});
    vec![
        Case::created("pod-created", at, made("p-created", Fate::Ready))
            .is("Progressing", "it is not ready yet"),
        Case::of("pod-ready", at, made("p-ready", Fate::Ready))
            .until(|p| condition(p, "Ready")["status"] == "True"),
        Case {
            subject: Subject::PodOf("p-succeeded"),
            until: |p| p["status"]["phase"] == "Succeeded",
            ..Case::of("pod-succeeded", jobs, job("p-succeeded", Fate::Ready))
        },
        Case::of("pod-failed", at, made("p-failed", Fate::Fail))
            .until(|p| p["status"]["phase"] == "Failed")
            .is("Failed", "container main ended with code 1 (Error)"),
        Case::of("pod-crashing", at, made("p-crashing", Fate::Crash))
            .until(|p| waits(p, "CrashLoopBackOff"))
            .is("Degraded", "container main waits: CrashLoopBackOff: back-off 40s restarting failed container; it ended with code 1 (Error)"),
        Case::of("pod-bad-image", at, made("p-image", Fate::BadImage))
            .until(|p| waits(p, "ImagePullBackOff"))
            .is("Degraded", "container main waits: ImagePullBackOff: Back-off pulling image \"registry.invalid/app:1\""),
        Case::of("pod-unschedulable", at, nowhere)
            .until(|p| condition(p, "PodScheduled")["reason"] == "Unschedulable")
            .is("Progressing", "Unschedulable: 0/… nodes are available: …"),
        Case::of("pod-pending", at, made("p-pending", Fate::Pending))
            .until(idles)
            .is("Progressing", "its containers have not started yet on node …"),
    ]
}
