//! The files of assets/ci, run step by step.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::path::Path;
use std::process::Command;

use sample_traces::fleet::FleetSpec;
use sample_traces::write::xspace_bytes;
use trace_model::Picos;

use crate::ci_comment::CommentServer;
use crate::guide::repository;
use crate::place::{CI_VARIABLES, Place, stderr};

impl Place {
    /// A log directory with a run of twelve steps whose matmul takes this many milliseconds.
    pub fn log(&self, name: &str, work_ms: f64) {
        let work = Picos::from_ps((work_ms * 1e9) as i64);
        let spec = FleetSpec {
            devices: 2,
            steps: 12,
            work,
            ..FleetSpec::default()
        };
        let run = self.path(name).join("plugins/profile/2027_01_31");
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("host.xplane.pb"), xspace_bytes(&spec.session())).unwrap();
    }
}

/// One step of the files of assets/ci.
#[derive(Debug, Default)]
struct Step {
    name: String,
    uses: String,
    condition: String,
    script: String,
    /// The values of `with` and `env`.
    values: Vec<(String, String)>,
}

/// The steps of a workflow or an action as these files write them.
fn steps_of(yaml: &str) -> Vec<Step> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = yaml.lines().collect();
    let at = lines
        .iter()
        .position(|line| line.trim() == "steps:")
        .unwrap();
    let depth = indent(lines[at + 1]);
    let mut steps: Vec<Step> = Vec::new();
    let (mut script, mut in_values) = (false, false);
    for line in lines[at + 1..]
        .iter()
        .filter(|line| !line.trim().is_empty())
    {
        let text = line.trim();
        if indent(line) == depth {
            assert!(text.starts_with("- "), "{line}");
            steps.push(Step::default());
            (script, in_values) = (false, false);
        }
        let step = steps.last_mut().unwrap();
        if script && indent(line) > depth + 2 {
            step.script
                .push_str(line.get(depth + 4..).unwrap_or_default());
            step.script.push('\n');
            continue;
        }
        script = false;
        let (key, value) = text.trim_start_matches("- ").split_once(':').unwrap();
        let value = value.trim().trim_matches('"').to_owned();
        if in_values && indent(line) > depth + 2 {
            step.values.push((key.to_owned(), value));
            continue;
        }
        in_values = false;
        match key {
            "name" => step.name = value,
            "uses" => step.uses = value,
            "if" => step.condition = value,
            "run" => script = value == "|",
            "with" | "env" => in_values = true,
            "id" | "shell" => {}
            other => panic!("{other} of a step is not known"),
        }
    }
    steps
}

/// A runner: a workspace, the caches that actions keep between jobs, and the variables of a job.
struct Runner<'a> {
    place: &'a Place,
    artifact: &'a str,
    job: &'a str,
    /// Number of the pull request that the job is for; empty on a push to main.
    pull: &'a str,
    server: &'a CommentServer,
}

impl Runner<'_> {
    /// Runs the steps in order; returns the outcome of the job.
    fn job(&self, steps: &[Step], actions: &[Step]) -> i32 {
        let work = self.place.path(&format!("work-{}", self.job));
        fs::create_dir_all(&work).unwrap();
        self.all(steps, |step| self.step(step, actions, &work))
    }

    /// Runs the steps that are wanted; returns the worst outcome.
    fn all(&self, steps: &[Step], run: impl Fn(&Step) -> i32) -> i32 {
        let mut code = 0;
        for step in steps {
            let wanted = match step.condition.as_str() {
                "" => code == 0,
                "success() && github.ref == 'refs/heads/main'" => code == 0 && self.pull.is_empty(),
                condition if condition.starts_with("always()") => true,
                other => panic!("{other}"),
            };
            if wanted {
                code = code.max(run(step));
            }
        }
        code
    }

    fn step(&self, step: &Step, actions: &[Step], work: &Path) -> i32 {
        let value = |name: &str| {
            step.values
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| self.filled(value))
        };
        let path = || value("path").unwrap();
        let action = step.uses.split('@').next().unwrap();
        match action {
            "" => self.bash(
                &step.script,
                work,
                &step
                    .values
                    .iter()
                    .map(|(k, v)| (k.clone(), self.filled(v)))
                    .collect::<Vec<_>>(),
            ),
            "actions/checkout" => {
                let status = Command::new("git")
                    .args(["clone", "-q", "../repository", "."])
                    .current_dir(work)
                    .status();
                i32::from(!status.unwrap().success())
            }
            "actions/download-artifact" => {
                copied(&self.place.path(self.artifact), &work.join(path()));
                0
            }
            "actions/cache/restore" => {
                let kept = self.place.path("cache");
                if kept.is_dir() {
                    copied(&kept, &work.join(path()));
                }
                0
            }
            "actions/cache/save" => {
                copied(&work.join(path()), &self.place.path("cache"));
                0
            }
            "actions/upload-artifact" => {
                copied(
                    &work.join(path()),
                    &self.place.path(&format!("uploaded-{}", self.job)),
                );
                0
            }
            "github/codeql-action/upload-sarif" => {
                let sarif = work.join(value("sarif_file").unwrap());
                let log: serde_json::Value =
                    serde_json::from_str(&fs::read_to_string(sarif).unwrap()).unwrap();
                assert!(log["runs"].is_array());
                0
            }
            "./.github/actions/systole" => {
                assert!(work.join(".github/actions/systole/action.yml").is_file());
                let given = |text: &str| {
                    let (before, name) = text.split_once("${{ inputs.")?;
                    let (name, after) = name.split_once(" }}")?;
                    let default = [("comment", "gate"), ("token", "very-secret")];
                    let default = || default.iter().find(|(known, _)| *known == name);
                    let value = value(name).or_else(|| Some(default()?.1.to_owned()));
                    Some(format!("{before}{}{after}", value.unwrap_or_default()))
                };
                let inner = |step: &Step| {
                    let env = step.values.iter().map(|(key, text)| {
                        let value = given(text).unwrap_or_else(|| self.filled(text));
                        (key.clone(), value)
                    });
                    self.bash(&step.script, work, &env.collect::<Vec<_>>())
                };
                self.all(actions, inner)
            }
            other => panic!("{other} is not known"),
        }
    }

    /// The text with expressions replaced by their values.
    fn filled(&self, text: &str) -> String {
        let outputs = fs::read_to_string(self.place.path(&format!("outputs-{}", self.job)))
            .unwrap_or_default();
        let mut filled = text.to_owned();
        while let Some((before, rest)) = filled.clone().split_once("${{") {
            let (expression, after) = rest.split_once("}}").unwrap();
            let value = match expression.trim() {
                "inputs.artifact" => "profile".to_owned(),
                "github.run_id" | "github.event.pull_request.head.sha" => self.job.to_owned(),
                "github.event.pull_request.number" => self.pull.to_owned(),
                "vars.SYSTOLE_WHEEL" => String::new(),
                other => {
                    let name = other
                        .strip_prefix("steps.prepare.outputs.")
                        .unwrap_or_else(|| panic!("{other}"));
                    let line = outputs
                        .lines()
                        .find_map(|line| line.strip_prefix(&format!("{name}=")));
                    line.unwrap_or_default().to_owned()
                }
            };
            filled = format!("{before}{value}{after}");
        }
        filled
    }

    /// Runs a step as GitHub does, with `systole` already installed.
    fn bash(&self, script: &str, work: &Path, env: &[(String, String)]) -> i32 {
        let bin = Path::new(env!("CARGO_BIN_EXE_systole"))
            .parent()
            .unwrap()
            .to_owned();
        let mut bash = Command::new("bash");
        for name in CI_VARIABLES {
            bash.env_remove(name);
        }
        bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
            .current_dir(work);
        bash.env(
            "PATH",
            format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()),
        );
        bash.env(
            "GITHUB_OUTPUT",
            self.place.path(&format!("outputs-{}", self.job)),
        );
        bash.env(
            "GITHUB_STEP_SUMMARY",
            self.place.path(&format!("summary-{}", self.job)),
        );
        bash.env("GITHUB_SHA", self.job)
            .env("GITHUB_RUN_ID", self.job)
            .env("GITHUB_ACTION_PATH", work.join(".github/actions/systole"))
            .envs(self.server.variables())
            .envs(env.iter().cloned());
        let output = bash.output().unwrap();
        assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
        output.status.code().unwrap()
    }
}

fn copied(from: &Path, to: &Path) {
    if from.is_file() {
        fs::copy(from, to).unwrap();
        return;
    }
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        copied(&entry.path(), &to.join(entry.file_name()));
    }
}

/// Runs git in the repository that the jobs check out.
fn git(place: &Place, args: &[&str]) {
    let identity = [
        "-c",
        "user.name=test",
        "-c",
        "user.email=test@example.org",
        "-c",
        "init.defaultBranch=main",
    ];
    let mut git = Command::new("git");
    let status = git
        .args(identity)
        .args(args)
        .current_dir(place.path("repository"))
        .status()
        .unwrap();
    assert!(status.success(), "{args:?}");
}

/// The workflow step by step, in order, in an empty directory, with the built program for
/// what the install step installs: three jobs on main, the last of a slow run.
#[test]
fn ci_workflow_runs_unchanged() {
    let place = Place::empty();
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/ci");
    let action = place.path("repository/.github/actions/systole");
    fs::create_dir_all(&action).unwrap();
    for file in ["action.yml", "comment.sh"] {
        copied(&assets.join(file), &action.join(file));
    }
    let git = |args: &[&str]| git(&place, args);
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "The action"]);
    for (artifact, work) in [("good", 7.0), ("alike", 7.01), ("slow", 9.0)] {
        place.log(artifact, work);
    }
    let steps = steps_of(&fs::read_to_string(assets.join("workflow.yml")).unwrap());
    let actions = steps_of(&fs::read_to_string(assets.join("action.yml")).unwrap());
    assert!(steps.len() > 8 && actions.len() == 2, "{steps:?}");
    let server = CommentServer::with(0);
    let job_of = |job, artifact, pull| {
        Runner {
            place: &place,
            artifact,
            job,
            pull,
            server: &server,
        }
        .job(&steps, &actions)
    };
    let job = |name, artifact| job_of(name, artifact, "");
    assert_eq!(job("first", "good"), 0);
    assert!(
        place
            .read("uploaded-first/systole.junit.xml")
            .contains("tests=\"0\""),
        "nothing to compare with yet"
    );
    assert_eq!(job("second", "alike"), 0);
    assert!(
        !place
            .read("uploaded-second/systole.junit.xml")
            .contains("tests=\"0\"")
    );
    assert_eq!(job("third", "slow"), 10);
    let kept = place.read("cache/runs.jsonl");
    assert_eq!(kept.lines().count(), 2, "a run that failed is not kept");
    for name in [
        "systole.junit.xml",
        "systole.sarif",
        "systole.html",
        "systole.json",
        "systole.md",
        "history.jsonl",
    ] {
        assert!(place.path("uploaded-third").join(name).is_file(), "{name}");
    }
    assert!(place.read("summary-third").contains("❌ Failed"));
    assert!(server.seen().is_empty(), "a push to main has no comment");
    // A pull request has one comment, whatever is pushed to it.
    assert_eq!(job_of("slow", "slow", "7"), 10);
    let slow = server.own();
    assert_eq!(job_of("better", "good", "7"), 0);
    let better = server.own();
    for (text, verdict, commit) in [(slow, "❌ Failed", "slow"), (better, "✅ Passed", "better")]
    {
        assert!(text.contains(&format!("\n## {verdict}")), "{text}");
        assert!(text.contains(&format!("\nCommit {commit}, ")), "{text}");
    }
    assert_eq!(place.read("cache/runs.jsonl"), kept, "it is no run of main");
    // Without the permission the verdict is the same, and in the step summary.
    server.refuse("POST PATCH");
    assert_eq!(job_of("fork", "slow", "7"), 10);
    assert!(place.read("summary-fork").contains("❌ Failed"));
    // A file of gates in the repository is used instead of the default gates.
    let mut init = Command::new(env!("CARGO_BIN_EXE_systole"));
    let output = init
        .args(["init", "slow", "-o", "repository/systole.toml"])
        .current_dir(place.dir.path())
        .output();
    assert!(output.as_ref().unwrap().status.success(), "{output:?}");
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "Budgets"]);
    assert_eq!(job("fourth", "good"), 0);
    assert!(
        place
            .read("uploaded-fourth/systole.junit.xml")
            .contains("systole.budget")
    );
}

/// Where `systole` is not there, it comes from a wheel: nothing is compiled.
#[test]
fn program_is_installed_from_a_wheel() {
    let workflow = fs::read_to_string(repository().join("assets/ci/workflow.yml")).unwrap();
    let steps = steps_of(&workflow);
    let install = steps.iter().find(|step| step.name == "Install").unwrap();
    for (wanted, installs) in [
        ("", "systole-tpu"),
        ("systole-tpu==1.2.3", "systole-tpu==1.2.3"),
    ] {
        let place = Place::empty();
        let pipx = place.path("pipx");
        fs::write(&pipx, "#!/bin/sh\necho \"$PIPX_BIN_DIR $*\" >>installed\n").unwrap();
        fs::set_permissions(&pipx, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let mut bash = Command::new("bash");
        bash.args([
            "--noprofile",
            "--norc",
            "-eo",
            "pipefail",
            "-c",
            &install.script,
        ])
        .current_dir(place.path(""))
        .env_clear()
        .env(
            "PATH",
            format!("{}:/usr/bin:/bin", place.path("").display()),
        )
        .env("GITHUB_PATH", place.path("path"))
        .env("SYSTOLE_WHEEL", wanted);
        let output = bash.output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let bin = place.path(".systole/bin");
        let said = fs::read_to_string(place.path("installed")).unwrap();
        let expected = format!(
            "{} install --pip-args=--only-binary=:all: {installs}\n",
            bin.display()
        );
        assert_eq!(said, expected);
        assert_eq!(
            fs::read_to_string(place.path("path")).unwrap(),
            format!("{}\n", bin.display())
        );
    }
}
