//! What the program may write: never over its inputs, not over files of others, and whole lines of a history.

use std::fs;

use sample_traces::fleet::FleetSpec;
use sample_traces::write::xspace_bytes;

use crate::place::{Place, json, stderr, stdout};

fn profile() -> Vec<u8> {
    xspace_bytes(
        &FleetSpec {
            devices: 1,
            steps: 4,
            calls: true,
            ..FleetSpec::default()
        }
        .session(),
    )
}

fn place() -> Place {
    let place = Place::empty();
    place.write("x.pb", &profile());
    place.write("logs/plugins/profile/run/host.xplane.pb", &profile());
    assert_eq!(place.code(&["summarize", "x.pb", "-o", "base.json"]), 0);
    place.write(
        "t.toml",
        b"version = 1\n[[budget]]\nmetric = \"step.time_ms\"\nmax = 1e9\n",
    );
    place
}

/// Every command that writes, with an input as its output: refused, and the input is as it was.
#[test]
fn inputs_are_never_overwritten() {
    let place = place();
    fs::hard_link(place.path("x.pb"), place.path("hard.pb")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("x.pb", place.path("soft.pb")).unwrap();
    let before = |name: &str| fs::read(place.path(name)).unwrap();
    let kept = [
        "x.pb",
        "base.json",
        "t.toml",
        "logs/plugins/profile/run/host.xplane.pb",
    ]
    .map(|name| (name, before(name)));
    let mut calls: Vec<Vec<&str>> = vec![
        vec!["summarize", "x.pb", "-o", "x.pb"],
        vec!["summarize", "base.json", "-o", "json=base.json"],
        vec!["analyze", "x.pb", "-o", "json=x.pb"],
        vec!["analyze", "x.pb", "-o", "md=hard.pb"],
        vec!["analyze", "x.pb", "-o", "csv=x.pb", "--table", "ops.ops"],
        vec![
            "analyze",
            "x.pb",
            "--baseline",
            "base.json",
            "-o",
            "json=base.json",
        ],
        vec!["analyze", "x.pb", "--budget", "t.toml", "-o", "md=t.toml"],
        vec!["analyze", "x.pb", "--config", "t.toml", "-o", "html=t.toml"],
        vec!["analyze", "x.pb", "-o", "json=a.json", "-o", "md=a.json"],
        vec![
            "analyze",
            "logs",
            "-o",
            "json=logs/plugins/profile/run/host.xplane.pb",
        ],
        vec!["doctor", "x.pb", "-o", "json=x.pb"],
        vec!["hlo", "x.pb", "-o", "json=x.pb"],
        vec!["whatif", "x.pb", "--hide-collectives", "-o", "md=x.pb"],
        vec!["compare", "base.json", "x.pb", "-o", "md=x.pb"],
        vec!["compare", "base.json", "x.pb", "-o", "json=base.json"],
        vec!["pack", "x.pb", "-o", "x.pb"],
        vec!["render", "x.pb", "-o", "x.svg"],
        vec!["anonymize", "x.pb", "-o", "new.pb", "--list", "x.pb"],
    ];
    place.write("x.svg", b"not a picture of ours");
    if cfg!(unix) {
        calls.push(vec!["analyze", "x.pb", "-o", "json=soft.pb"]);
        calls.push(vec!["summarize", "soft.pb", "-o", "x.pb"]);
    }
    fs::create_dir(place.path("trace")).unwrap();
    assert_eq!(
        place.code(&["export", "x.pb", "--to", "chrome-json", "-o", "trace"]),
        0
    );
    calls.push(vec![
        "export",
        "trace/trace.json",
        "--to",
        "chrome-json",
        "-o",
        "trace",
    ]);
    for call in calls {
        let is_picture = call[0] == "render";
        for force in [false, true] {
            if force && is_picture {
                continue;
            }
            let output = place.run(&[&call[..], if force { &["--force"] } else { &[] }].concat());
            assert_eq!(
                output.status.code(),
                Some(2),
                "{call:?}: {}",
                stderr(&output)
            );
            assert!(
                !place.path("new.pb").exists() && !place.path("a.json").exists(),
                "{call:?}"
            );
        }
    }
    for (name, bytes) in kept {
        assert!(before(name) == bytes, "{name} was changed");
    }
}

/// What CI does: the reports of the last run are there, and are replaced.
#[test]
fn own_reports_are_replaced_and_other_files_only_by_force() {
    let place = place();
    let outputs = ["text", "json", "ndjson", "md", "junit", "sarif", "html"]
        .map(|format| format!("{format}=r.{format}"));
    let mut call = vec![
        "analyze",
        "x.pb",
        "--baseline",
        "base.json",
        "-o",
        "csv=tables/",
    ];
    call.extend(outputs.iter().flat_map(|output| ["-o", output]));
    let compared: Vec<&str> = ["compare", "base.json", "x.pb"]
        .into_iter()
        .chain(call[6..].iter().copied())
        .collect();
    let mut calls = vec![
        call.clone(),
        compared,
        vec![
            "whatif",
            "x.pb",
            "--hide-collectives",
            "-o",
            "md=w.md",
            "-o",
            "text=w.txt",
        ],
        vec![
            "analyze",
            "x.pb",
            "--steps",
            "1..2",
            "-o",
            "md=s.md",
            "-o",
            "csv=o.csv",
            "--table",
            "ops.ops",
        ],
        vec!["summarize", "x.pb", "-o", "base.json"],
        vec!["pack", "x.pb", "-o", "p.zip"],
        vec!["render", "x.pb", "-o", "p.svg"],
        vec![
            "anonymize",
            "x.pb",
            "--list",
            "kept.txt",
            "-o",
            "anonymous.pb",
        ],
    ];
    calls.push(vec!["render", "x.pb", "-o", "p.png"]);
    calls.extend(
        ["chrome-json", "perfetto", "csv", "arrow", "parquet"]
            .map(|to| vec!["export", "x.pb", "--to", to, "-o", "exported"]),
    );
    for call in &calls {
        for round in ["first", "again"] {
            let _ = fs::remove_file(place.path("anonymous.pb"));
            let output = place.run(call);
            assert!(
                matches!(output.status.code(), Some(0 | 10)),
                "{round} {call:?}: {}",
                stderr(&output)
            );
        }
    }
    for (name, call) in [
        ("notes.md", vec!["analyze", "x.pb", "-o", "md=notes.md"]),
        (
            "mine.csv",
            vec![
                "analyze",
                "x.pb",
                "-o",
                "csv=mine.csv",
                "--table",
                "ops.ops",
            ],
        ),
        ("mine.json", vec!["summarize", "x.pb", "-o", "mine.json"]),
    ] {
        place.write(name, b"# Mine\n\na,b\n1,2\n");
        let output = place.run(&call);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("--force"), "{}", stderr(&output));
        assert_eq!(place.read(name), "# Mine\n\na,b\n1,2\n");
        assert_eq!(place.code(&[&call[..], &["--force"]].concat()), 0);
        assert_ne!(place.read(name), "# Mine\n\na,b\n1,2\n");
    }
}

#[test]
fn only_histories_are_appended_to() {
    let place = place();
    place.write("systole.toml", b"version = 1\n");
    for name in ["x.pb", "base.json", "systole.toml"] {
        let before = fs::read(place.path(name)).unwrap();
        let output = place.run(&["analyze", "x.pb", "--history", name]);
        assert_eq!(output.status.code(), Some(3), "{name}");
        assert!(
            stderr(&output).contains("this is no history"),
            "{}",
            stderr(&output)
        );
        assert!(output.stdout.is_empty(), "before the work starts");
        assert!(fs::read(place.path(name)).unwrap() == before, "{name}");
    }
    place.write("empty.jsonl", b"");
    assert_eq!(
        place.code(&["compare", "base.json", "x.pb", "--history", "empty.jsonl"]),
        0
    );
    assert_eq!(place.code(&["history", "empty.jsonl"]), 0);
}

/// A limit of the size of files stands for a full disk; with both, a part of the line is written before the error.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_whole_lines_in_a_history() {
    let place = place();
    assert_eq!(place.code(&["analyze", "x.pb", "--history", "h.jsonl"]), 0);
    let whole = place.read("h.jsonl");
    // In units of 512 bytes: the second line does not fit.
    let limit = whole.len().div_ceil(512) + 1;
    let script =
        format!("ulimit -f {limit}; trap '' XFSZ; exec \"$0\" analyze x.pb --history h.jsonl");
    let binary = env!("CARGO_BIN_EXE_systole");
    let output = std::process::Command::new("sh")
        .args(["-c", &script, binary])
        .current_dir(place.dir.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert_eq!(place.read("h.jsonl"), whole);

    // What a killed process leaves, is set aside, and the rest can be read meanwhile.
    place.write(
        "h.jsonl",
        format!("{whole}{}", &whole[..whole.len() / 2]).as_bytes(),
    );
    let read = place.run(&["history", "h.jsonl", "--format", "json"]);
    assert_eq!(json(stdout(&read))["runs"].as_array().unwrap().len(), 1);
    assert!(
        stderr(&read).contains("1 damaged line left out"),
        "{}",
        stderr(&read)
    );
    let output = place.run(&["analyze", "x.pb", "--history", "h.jsonl"]);
    assert!(
        stderr(&output).contains("h.jsonl.damaged"),
        "{}",
        stderr(&output)
    );
    assert_eq!(place.read("h.jsonl"), format!("{whole}{whole}"));
    assert_eq!(
        place.read("h.jsonl.damaged"),
        format!("{}\n", &whole[..whole.len() / 2])
    );
}

/// A disk that is full for messages, or for what is printed.
#[cfg(target_os = "linux")]
#[test]
fn full_logs_and_outputs_end_with_the_code_of_the_work() {
    let place = place();
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    for (args, code) in [
        (&["analyze", "x.pb", "-v"][..], 0),
        (&["analyze", "no-such"], 3),
        (&["analyze"], 2),
    ] {
        let output = place.command().args(args).stderr(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}");
    }
    for args in [
        &["analyze", "x.pb"][..],
        &["analyze", "x.pb", "--format", "json"],
        &["events", "x.pb", "--format", "csv"],
        &["summarize", "x.pb", "-o", "-"],
        &["render", "x.pb"],
        &[
            "query",
            "x.pb",
            "SELECT name FROM slices",
            "--format",
            "json",
        ],
        &["man"],
    ] {
        let output = place
            .command()
            .args(args)
            .stdout(full())
            .stderr(std::process::Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(
            output.status.code(),
            Some(3),
            "{args:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn files_beside_the_input_are_small_and_end() {
    let place = place();
    let mut refused = vec![
        vec!["--config", "/dev/zero"],
        vec!["--budget", "/dev/zero"],
        vec!["--roles", "/dev/zero"],
    ];
    refused.extend([
        vec!["--device-spec", "/dev/zero"],
        vec!["--history", "/dev/zero"],
    ]);
    for option in refused.iter().filter(|_| cfg!(unix)) {
        let output = place.run(&[&["analyze", "x.pb"], &option[..]].concat());
        assert!(
            matches!(output.status.code(), Some(2 | 3)),
            "{option:?}: {}",
            stderr(&output)
        );
        assert!(
            stderr(&output).contains("no regular file"),
            "{option:?}: {}",
            stderr(&output)
        );
    }
    #[cfg(unix)]
    {
        let fifo = std::process::Command::new("mkfifo")
            .arg(place.path("fifo"))
            .status();
        assert!(fifo.is_ok_and(|made| made.success()));
        for option in [
            "--config",
            "--budget",
            "--roles",
            "--device-spec",
            "--history",
        ] {
            let output = place.run(&["analyze", "x.pb", option, "fifo"]);
            assert!(
                matches!(output.status.code(), Some(2 | 3)),
                "{option}: {}",
                stderr(&output)
            );
        }
        for call in [["history", "fifo"].as_slice(), &["config", "check", "fifo"]] {
            let output = place.run(call);
            assert!(
                stderr(&output).contains("no regular file"),
                "{call:?}: {}",
                stderr(&output)
            );
        }
    }
    // More than any such file has.
    place.write("large.toml", &b"# comment\n".repeat(2 << 20));
    for option in ["--config", "--budget", "--roles"] {
        let output = place.run(&["analyze", "x.pb", option, "large.toml"]);
        assert!(
            matches!(output.status.code(), Some(2 | 3)),
            "{option}: {}",
            stderr(&output)
        );
    }
}
