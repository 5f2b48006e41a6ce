//! Which pipeline runs `opm`, told by the variables that CI systems set. The log of a release
//! then says more than the name of a machine that lived for a minute.

use crate::env::Environment;

/// A CI system, by a variable that it alone sets, and those that name project and run.
struct PipelineSystem {
    name: &'static str,
    marker: &'static str,
    project: &'static str,
    run: &'static str,
}

const SYSTEMS: [PipelineSystem; 10] = [
    system(
        "GitHub Actions",
        "GITHUB_ACTIONS",
        "GITHUB_REPOSITORY",
        "GITHUB_RUN_ID",
    ),
    system(
        "GitLab CI",
        "GITLAB_CI",
        "CI_PROJECT_PATH",
        "CI_PIPELINE_ID",
    ),
    system("Jenkins", "JENKINS_URL", "JOB_NAME", "BUILD_NUMBER"),
    system(
        "CircleCI",
        "CIRCLECI",
        "CIRCLE_PROJECT_REPONAME",
        "CIRCLE_BUILD_NUM",
    ),
    system(
        "Azure Pipelines",
        "TF_BUILD",
        "BUILD_DEFINITIONNAME",
        "BUILD_BUILDID",
    ),
    system(
        "Buildkite",
        "BUILDKITE",
        "BUILDKITE_PIPELINE_SLUG",
        "BUILDKITE_BUILD_NUMBER",
    ),
    system(
        "Bitbucket Pipelines",
        "BITBUCKET_BUILD_NUMBER",
        "BITBUCKET_REPO_FULL_NAME",
        "BITBUCKET_BUILD_NUMBER",
    ),
    system("Drone", "DRONE", "DRONE_REPO", "DRONE_BUILD_NUMBER"),
    system(
        "TeamCity",
        "TEAMCITY_VERSION",
        "TEAMCITY_PROJECT_NAME",
        "BUILD_NUMBER",
    ),
    system(
        "Travis CI",
        "TRAVIS",
        "TRAVIS_REPO_SLUG",
        "TRAVIS_BUILD_NUMBER",
    ),
];

const fn system(
    name: &'static str,
    marker: &'static str,
    project: &'static str,
    run: &'static str,
) -> PipelineSystem {
    PipelineSystem {
        name,
        marker,
        project,
        run,
    }
}

/// The most that is taken over of a variable: the log has limited room.
const LONGEST: usize = 100;

/// The pipeline in words, such as `GitHub Actions, acme/shop run 7`.
pub(super) fn recognise(env: &Environment) -> Option<String> {
    let system = SYSTEMS.iter().find(|system| is_set(env, system.marker))?;
    let text = |name: &str| {
        let value = env.get(name)?.to_string_lossy().into_owned();
        Some(value.chars().take(LONGEST).collect::<String>())
    };
    let mut words = system.name.to_owned();
    if let Some(project) = text(system.project) {
        words = format!("{words}, {project}");
    }
    if let Some(run) = text(system.run) {
        words = format!("{words} run {run}");
    }
    Some(words)
}

fn is_set(env: &Environment, marker: &str) -> bool {
    env.get(marker).is_some_and(|value| value != "false")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipeline_is_recognised_by_its_variables() {
        let recognised = |env: Environment| recognise(&env);
        let github = [
            ("CI", "true"),
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_REPOSITORY", "acme/shop"),
            ("GITHUB_RUN_ID", "7"),
        ];
        assert_eq!(
            recognised(github.into()).as_deref(),
            Some("GitHub Actions, acme/shop run 7")
        );
        let bare = [("JENKINS_URL", "https://ci.example.com")];
        assert_eq!(recognised(bare.into()).as_deref(), Some("Jenkins"));
        let off = [
            ("TRAVIS", "false"),
            ("GITLAB_CI", ""),
            ("BUILD_NUMBER", "7"),
        ];
        assert_eq!(recognised(off.into()), None);
        assert_eq!(recognised(Environment::default()), None);
    }
}
