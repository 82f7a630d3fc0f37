//! `systole bisect` over real git repositories and lists of versions, with planted regressions and noise.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::process::{Command, Output};

use sample_traces::fleet::FleetSpec;
use sample_traces::write::xspace_bytes;
use serde_json::Value;
use trace_model::Picos;

use crate::place::{Place, json, stderr, stdout};

/// Differences between runs of one program, in percent of the product.
const NOISE: [f64; 5] = [0.0, 0.6, -0.5, 0.3, -0.7];
/// Copies the next capture of the speed that the file `speed` names, as a program that records a profile would.
const PROGRAM: &str = r#"
test "$(cat speed)" != broken || { echo "error: undefined symbol" >&2; exit 1; }
n=$(cat "$CAPTURES/count" 2>/dev/null || echo 0)
echo $((n + 1)) > "$CAPTURES/count"
cp "$CAPTURES/$(cat speed)-$((n % 5)).xplane.pb" "$SYSTOLE_PROFILE_DIR/host.xplane.pb"
"#;

/// A repository with a commit for each word, and captures of programs of each speed.
struct Planted {
    place: Place,
}

impl Planted {
    fn new(speeds: &[&str]) -> Self {
        let place = Place::empty();
        for (speed, ms) in [("fast", 7.0), ("slow", 8.5), ("slower", 10.0)] {
            for (n, noise) in NOISE.iter().enumerate() {
                let work = Picos::from_ps((ms * (1.0 + noise / 100.0) * 1e9) as i64);
                let spec = FleetSpec {
                    devices: 1,
                    steps: 12,
                    work,
                    ..FleetSpec::default()
                };
                let bytes = xspace_bytes(&spec.session());
                place.write(&format!("captures/{speed}-{n}.xplane.pb"), &bytes);
            }
        }
        place.write("program.sh", PROGRAM.as_bytes());
        let planted = Self { place };
        fs::create_dir(planted.place.path("repo")).unwrap();
        planted.git(&["init", "-q", "-b", "main"]);
        for (n, speed) in speeds.iter().enumerate() {
            planted.place.write("repo/speed", speed.as_bytes());
            planted.place.write("repo/number", n.to_string().as_bytes());
            planted.git(&["add", "."]);
            planted.git(&["commit", "-q", "-m", &format!("Change {n}: {speed}")]);
            planted.git(&["tag", &format!("c{n}")]);
        }
        planted
    }

    fn git(&self, words: &[&str]) -> String {
        let output = Command::new("git")
            .current_dir(self.place.path("repo"))
            .args(["-c", "user.name=A", "-c", "user.email=a@b"])
            .args(words)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        stdout(&output).to_owned()
    }

    /// Runs the search with these words; the program follows.
    fn bisect(&self, words: &[&str], program: &[&str]) -> Output {
        let output = self
            .place
            .command()
            .current_dir(self.place.path("repo"))
            .env("CAPTURES", self.place.path("captures"))
            .env("PROGRAM", self.place.path("program.sh"))
            .arg("bisect")
            .args(words)
            .arg("--")
            .args(program)
            .output()
            .unwrap();
        assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
        output
    }

    fn usual(&self, words: &[&str]) -> Output {
        self.bisect(words, &["sh", "-c", "sh \"$PROGRAM\""])
    }

    /// How often the program recorded a profile.
    fn count(&self) -> u32 {
        let text = fs::read_to_string(self.place.path("captures/count")).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    }
}

fn found(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    json(stdout(output))
}

#[test]
fn planted_commit_is_found_with_its_chain_and_the_files_of_the_user_stay() {
    let planted = Planted::new(&[
        "fast", "fast", "fast", "slow", "slow", "slow", "slow", "slow",
    ]);
    planted.place.write("repo/speed", b"my own work");
    let output = planted.usual(&["--good", "c0", "--bad", "main", "--format", "json"]);
    let said = found(&output);
    let culprit = &said["culprits"][0];
    assert_eq!(culprit["subject"], "Change 3: slow");
    assert!(
        culprit["author_date"]
            .as_str()
            .is_some_and(|date| date.starts_with("20"))
    );
    let line = said["change"]["causes"]["lines"][0].clone();
    let text = line["text"].as_str().unwrap();
    assert!(
        text.contains("(Change 2: fast) → ") && text.contains("+1.5"),
        "{text}"
    );
    assert!(
        (line["change_ps"].as_f64().unwrap() - 1.5e9).abs() < 0.2e9,
        "{line}"
    );
    assert_eq!(planted.place.read("repo/speed"), "my own work");
    let worktrees = planted.git(&["worktree", "list"]);
    assert_eq!(worktrees.lines().count(), 1, "{worktrees}");

    let text = planted.usual(&["--good", "c0", "--bad", "main"]);
    let said = stdout(&text);
    assert!(
        said.starts_with("The first that is like the bad end is commit ")
            && said.contains("(Change 3: slow)"),
        "{said}"
    );
    assert!(said.contains("Not explained by these lines: "), "{said}");
    assert!(said.lines().count() <= 30, "{said}");
}

#[test]
fn broken_commits_are_skipped_and_said_to_be() {
    let planted = Planted::new(&["fast", "fast", "broken", "slow", "slow"]);
    let output = planted.usual(&["--good", "c0", "--bad", "c4", "--format", "json"]);
    assert_eq!(output.status.code(), Some(11), "{}", stderr(&output));
    let said = json(stdout(&output));
    let culprits: Vec<&str> = said["culprits"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["subject"].as_str())
        .collect();
    assert_eq!(culprits, ["Change 2: broken", "Change 3: slow"]);
    assert!(
        said["points"].to_string().contains("undefined symbol"),
        "{said}"
    );

    let planted = Planted::new(&["fast", "broken", "fast", "slow", "broken", "slow"]);
    let said = found(&planted.usual(&["--good", "c0", "--bad", "c5", "--format", "json"]));
    assert_eq!(said["culprits"][0]["subject"], "Change 3: slow");
}

#[test]
fn of_two_regressions_one_is_named_as_a_part() {
    let planted = Planted::new(&["fast", "slow", "slow", "slow", "slower", "slower"]);
    let output = planted.usual(&["--good", "c0", "--bad", "c5", "--format", "json"]);
    assert_eq!(output.status.code(), Some(11), "{}", stderr(&output));
    let said = json(stdout(&output));
    let statement = said["statement"].as_str().unwrap();
    assert!(
        statement.starts_with("there are several changes, or a drift: of +3.0"),
        "{statement}"
    );
    let subject = said["culprits"][0]["subject"].as_str().unwrap();
    assert!(
        ["Change 1: slow", "Change 4: slower"].contains(&subject),
        "{subject}"
    );
    assert!(said["points"].as_array().unwrap().len() >= 4);
}

#[test]
fn of_a_drift_no_point_is_named() {
    let planted = Planted::new(&["fast"]);
    let versions = "v0\nv1\nv2\nv3\nv4\nv5\nv6\nv7\nv8\nv9\nv10\n";
    planted
        .place
        .write("repo/versions.txt", versions.as_bytes());
    for version in 0..11 {
        for run in 0..5 {
            let ms = 7.0 * (1.0 + 0.012 * f64::from(version)) + 0.001 * f64::from(run);
            let spec = FleetSpec {
                devices: 1,
                steps: 12,
                work: Picos::from_ps((ms * 1e9) as i64),
                ..FleetSpec::default()
            };
            let bytes = xspace_bytes(&spec.session());
            planted
                .place
                .write(&format!("captures/v{version}-{run}.xplane.pb"), &bytes);
        }
    }
    let words = ["--over", "versions.txt", "--good", "v0", "--bad", "v10"];
    let output = planted.bisect(&words, &["sh", "-c", "echo {} > speed; sh \"$PROGRAM\""]);
    assert_eq!(output.status.code(), Some(11), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(
        said.starts_with("There are several changes, or a drift: of +"),
        "{said}"
    );
}

#[test]
fn equal_ends_and_wrong_ends_say_so() {
    let planted = Planted::new(&["fast", "fast", "fast"]);
    let output = planted.usual(&["--good", "c0", "--bad", "c2", "--runs", "2"]);
    assert_eq!(output.status.code(), Some(11));
    assert!(
        stderr(&output).contains("do not differ by more than noise"),
        "{}",
        stderr(&output)
    );
    for (words, said) in [
        (["--good", "c2", "--bad", "c0"], "is no ancestor of"),
        (["--good", "c0", "--bad", "c0"], "are the same point"),
        (["--good", "nothing", "--bad", "c0"], "is no commit here"),
    ] {
        let output = planted.usual(&words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
    let output = planted.bisect(&["--good", "c0", "--bad", "c2"], &["true"]);
    assert_eq!(output.status.code(), Some(11));
    assert!(
        stderr(&output).contains("wrote no profile"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn version_of_a_list_is_found() {
    let planted = Planted::new(&["fast"]);
    let list = "# versions\nlib==1.0\nlib==1.1\n\nlib==1.2\nlib==1.3\n";
    planted.place.write("repo/versions.txt", list.as_bytes());
    let program = r#"case {} in lib==1.[01]) echo fast ;; *) echo slow ;; esac > speed
        test "$SYSTOLE_VERSION" = {} && sh "$PROGRAM""#;
    let words = [
        "--over",
        "versions.txt",
        "--good",
        "1.0",
        "--bad",
        "lib==1.3",
        "--format",
        "json",
    ];
    let said = found(&planted.bisect(&words, &["sh", "-c", program]));
    assert_eq!(said["culprits"][0]["id"], "lib==1.2");
    assert_eq!(said["change"]["environment"][0]["base"], "lib==1.1");
    let wrong = planted.bisect(
        &["--over", "versions.txt", "--good", "1.0", "--bad", "7"],
        &["true"],
    );
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn flag_of_a_list_is_found_where_the_program_prints_its_run() {
    let planted = Planted::new(&["fast"]);
    planted
        .place
        .write("repo/flags.txt", b"--xla_a=0\n--xla_a=1\n");
    let program = r#"case {} in *=0) kind=fast ;; *) kind=slow ;; esac
        mkdir -p out; cp "$CAPTURES/$kind-1.xplane.pb" out/host.xplane.pb; echo training; echo out"#;
    let words = [
        "--over",
        "flags.txt",
        "--good=--xla_a=0",
        "--bad=--xla_a=1",
        "--format",
        "json",
    ];
    let said = found(&planted.bisect(&words, &["sh", "-c", program]));
    assert_eq!(said["culprits"][0]["id"], "--xla_a=1");
}

/// A command that prints the path of an old run has one run of each point, which 5 % do not tell apart.
#[test]
fn a_capture_that_is_given_again_is_no_further_run() {
    let planted = Planted::new(&["fast"]);
    let old = |name: &str, ms: f64| {
        let spec = FleetSpec {
            devices: 1,
            steps: 12,
            work: Picos::from_ps((ms * 1e9) as i64),
            ..FleetSpec::default()
        };
        planted
            .place
            .write(&format!("captures/{name}"), &xspace_bytes(&spec.session()));
    };
    old("1.xplane.pb", 7.0);
    old("2.xplane.pb", 7.3);
    planted.place.write("repo/versions.txt", b"1\n2\n");
    let words = [
        "--over",
        "versions.txt",
        "--good",
        "1",
        "--bad",
        "2",
        "--format",
        "json",
    ];
    let output = planted.bisect(
        &words,
        &[
            "sh",
            "-c",
            "echo made >> made; echo \"$CAPTURES/{}.xplane.pb\"",
        ],
    );
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(11), "{said}");
    assert!(
        said.contains("the same capture again, which counts once"),
        "{said}"
    );
    assert_eq!(json(stdout(&output))["points"][0]["runs"], 1);
    assert_eq!(
        planted.place.read("repo/made").lines().count(),
        4,
        "it stops at once"
    );
}

#[test]
fn search_goes_on_from_its_log() {
    let planted = Planted::new(&["fast", "fast", "slow", "slow"]);
    let words = [
        "--good",
        "c0",
        "--bad",
        "c3",
        "--log",
        "../search.jsonl",
        "--format",
        "json",
    ];
    let first = found(&planted.usual(&words));
    let made = planted.count();
    // The last lines are lost, as where it was stopped while it wrote.
    let text = planted.place.read("search.jsonl");
    let kept: Vec<&str> = text.lines().collect();
    let cut = kept[..kept.len() - 2].join("\n") + "\n{\"point\": \"";
    planted.place.write("search.jsonl", cut.as_bytes());
    let second = found(&planted.usual(&words));
    assert_eq!(first["culprits"], second["culprits"]);
    assert_eq!(planted.count() - made, 2, "only what was lost is run again");
    let other = planted.usual(&["--good", "c1", "--bad", "c3", "--log", "../search.jsonl"]);
    assert_eq!(other.status.code(), Some(3));
    assert!(
        stderr(&other).contains("belongs to another search"),
        "{}",
        stderr(&other)
    );
}
