//! The files that an agent may read and write: below the root of the server only.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::mcp::{Client, SAMPLES, names};
use crate::mock_profiler::{MockProfiler, Reply, profile, response, steps};

#[test]
fn a_file_that_changes_is_read_again_and_links_do_not_lead_outside() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    fs::create_dir(&root).unwrap();
    let (serial, overlap) = (
        "synthetic_v5e_8chip_serial.xplane.pb",
        "synthetic_v5e_8chip_overlap.xplane.pb",
    );
    fs::copy(Path::new(SAMPLES).join(serial), root.join("run.xplane.pb")).unwrap();
    fs::copy(
        Path::new(SAMPLES).join(serial),
        dir.path().join("outside.xplane.pb"),
    )
    .unwrap();
    let mut client = Client::below(&root);
    let before = client.tool("verdict", &json!({"path": "run.xplane.pb"}));
    assert!(
        client
            .notes
            .iter()
            .all(|note| note["method"] == "notifications/progress"),
        "{:?}",
        client.notes
    );
    assert_eq!(
        client.tool("verdict", &json!({"path": "run.xplane.pb"})),
        before
    );
    fs::copy(Path::new(SAMPLES).join(overlap), root.join("run.xplane.pb")).unwrap();
    assert_ne!(
        client.tool("verdict", &json!({"path": "run.xplane.pb"}))["statement"],
        before["statement"]
    );
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(
            dir.path().join("outside.xplane.pb"),
            root.join("link.xplane.pb"),
        )
        .unwrap();
        assert!(
            client
                .refused("verdict", &json!({"path": "link.xplane.pb"}))
                .contains("only files below")
        );
        fs::create_dir(root.join("logs")).unwrap();
        std::os::unix::fs::symlink(
            dir.path().join("outside.xplane.pb"),
            root.join("logs/a.xplane.pb"),
        )
        .unwrap();
        fs::create_dir(root.join("dump")).unwrap();
        std::os::unix::fs::symlink(
            dir.path().join("outside.xplane.pb"),
            root.join("dump/a.hlo.pb"),
        )
        .unwrap();
        let message = client.refused(
            "verdict",
            &json!({"path": "run.xplane.pb", "hlo": ["dump"]}),
        );
        assert!(
            message.contains("only files below") && message.contains("a.hlo.pb"),
            "{message}"
        );
        let message = client.refused("verdict", &json!({"path": "logs"}));
        assert!(
            message.contains("only files below") || message.contains("leads outside"),
            "{message}"
        );
    }
}

/// Configurations and tables beside the output of a simulator, some of them outside of the root or links that lead there.
#[test]
fn files_beside_a_run_are_read_below_the_root_only() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../importers/tests/fixtures");
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, file: &str| {
        let to = dir.path().join(name);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(fixtures.join(file), to).unwrap();
    };
    let report = |root: &str, path: &str| {
        let mut client = Client::below(&dir.path().join(root));
        let asked = json!({"path": path, "max_bytes": 200_000});
        let text = format!(
            "{} {}",
            client.tool("doctor", &asked),
            client.tool("ops", &asked)
        );
        text.replace(&format!("{root}/"), "")
    };
    for (folder, main, file, beside) in [
        (
            "scale",
            "run/COMPUTE_REPORT.csv",
            "scale_sim_compute.csv",
            vec![
                ("configs/small.cfg", "scale_sim.cfg"),
                ("topologies/small.csv", "scale_sim_topology.csv"),
            ],
        ),
        (
            "neusim",
            "run/a.csv",
            "neusim.csv",
            vec![("run/a.json", "neusim.json")],
        ),
        (
            "onnxim",
            "run/run.log",
            "onnxim.log",
            vec![("run/chip.json", "onnxim.json")],
        ),
    ] {
        put(&format!("{folder}/all/{main}"), file);
        put(&format!("{folder}/alone/{main}"), file);
        put(&format!("{folder}/linked/{main}"), file);
        for (name, file) in &beside {
            put(&format!("{folder}/all/{name}"), file);
            put(&format!("{folder}/outside/{name}"), file);
            #[cfg(unix)]
            {
                let link = dir.path().join(format!("{folder}/linked/{name}"));
                fs::create_dir_all(link.parent().unwrap()).unwrap();
                std::os::unix::fs::symlink(
                    dir.path().join(format!("{folder}/outside/{name}")),
                    link,
                )
                .unwrap();
            }
        }
        let (run, name) = main.split_once('/').unwrap();
        let alone = report(&format!("{folder}/alone"), main);
        assert_ne!(
            report(&format!("{folder}/all"), main),
            alone,
            "{folder}: the files beside it say something"
        );
        assert_eq!(
            report(&format!("{folder}/linked"), main),
            alone,
            "{folder}: links"
        );
        if !beside[0].0.starts_with("run/") {
            let below = |place: &str| report(&format!("{folder}/{place}/{run}"), name);
            assert_eq!(
                below("all"),
                below("alone"),
                "{folder}: folders above the root"
            );
        }
    }
}

/// The tool that asks other machines and writes files is there on demand only, and writes below the root only.
#[test]
#[expect(clippy::too_many_lines, reason = "one conversation")]
fn captures_are_allowed_explicitly_and_stay_below_the_root() {
    let dir = tempfile::tempdir().unwrap();
    let server = MockProfiler::new(|_, _| Reply::Message(response(&profile(2))));
    let ask = |output: &str| json!({"addresses": [server.address()], "output": output, "ms": 50});
    let mut plain = Client::below(dir.path());
    assert!(!names(&plain.ask("tools/list", &json!({}))["result"]["tools"]).contains(&"capture"));
    assert!(
        plain.call("capture", &ask("logs"))["error"]["message"]
            .as_str()
            .unwrap()
            .contains("no tool")
    );
    assert!(server.calls().is_empty());

    let mut offline = Command::new(env!("CARGO_BIN_EXE_systole"));
    offline.env("SYSTOLE_NETWORK", "off");
    let mut offline = Client::start(offline, dir.path(), &["--allow-capture"]);
    assert!(
        offline
            .refused("capture", &ask("logs"))
            .contains("SYSTOLE_NETWORK forbids asking")
    );
    assert!(server.calls().is_empty());

    let mut client = Client::with(dir.path(), &["--allow-capture"]);
    let tools = client.ask("tools/list", &json!({}))["result"]["tools"].clone();
    let tool = tools
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["name"] == "capture")
        .unwrap();
    assert_eq!(
        (
            &tool["annotations"]["readOnlyHint"],
            &tool["annotations"]["openWorldHint"]
        ),
        (&json!(false), &json!(true))
    );
    #[cfg(unix)]
    {
        fs::create_dir_all(dir.path().join("linked")).unwrap();
        std::os::unix::fs::symlink("/tmp", dir.path().join("linked/plugins")).unwrap();
        client.refused("capture", &ask("linked"));
        let outside = tempfile::tempdir().unwrap();
        let runs = dir.path().join("runs/plugins/profile");
        fs::create_dir_all(&runs).unwrap();
        std::os::unix::fs::symlink(outside.path(), runs.join("old")).unwrap();
        let mut named = ask("runs");
        named["session"] = json!("old");
        client.refused("capture", &named);
    }
    let about = |name: &str| tool["inputSchema"]["properties"][name]["description"].clone();
    assert!(about("steps").to_string().contains("complete steps"));
    for (name, number) in [("retry", 11_u64), ("delay", 60_001), ("timeout", 601)] {
        let mut asked = ask("logs");
        asked[name] = json!(number);
        let said = client.refused("capture", &asked);
        assert!(said.contains("write a number up to"), "{said}");
    }
    for wrong in ["../elsewhere", "/tmp/elsewhere", "gs://bucket/logs", ""] {
        client.refused("capture", &ask(wrong));
    }
    assert!(
        client
            .refused("capture", &json!({"addresses": [], "output": "logs"}))
            .contains("at least one address")
    );
    assert!(
        client
            .refused(
                "capture",
                &json!({"addresses": ["--help"], "output": "logs"})
            )
            .contains("--help")
    );
    assert!(
        client
            .refused(
                "capture",
                &json!({"addresses": ["a:1"], "output": "logs", "ms": 600_000})
            )
            .contains("60000")
    );
    let none = json!({"addresses": ["a:1"], "output": "logs", "steps": 0});
    assert!(
        client
            .refused("capture", &none)
            .contains("from 1 to 1000000")
    );
    let closed = client.refused(
        "capture",
        &json!({"addresses": ["127.0.0.1:1"], "output": "logs", "ms": 50}),
    );
    assert!(closed.contains("127.0.0.1:1"), "{closed}");
    assert!(
        server.calls().is_empty() && !dir.path().join("logs").exists(),
        "nothing was asked, nothing written"
    );

    let answer = client.tool("capture", &ask("logs"));
    let said = answer["statement"].as_str().unwrap();
    assert!(
        said.starts_with("captured logs/plugins/profile/") && said.contains("1 of 1 host"),
        "{said}"
    );
    let row = &answer["tables"][0]["rows"][0];
    let file = dir.path().join(row[1].as_str().unwrap());
    assert_eq!(
        fs::metadata(&file).unwrap().len().to_string(),
        row[2].as_str().unwrap(),
        "{row}"
    );
    assert_eq!(row[3], "/device:TPU:0 /device:TPU:1", "{row}");
    assert_eq!(answer["tables"][1]["id"], "findings", "{answer}");
    assert_eq!(server.calls()[0].numbers(&[1]), [50]);
    let opened = client.tool("open", &json!({"path": "logs"}));
    assert!(
        opened["statement"].as_str().unwrap().contains('2'),
        "the new run is there: {opened}"
    );
    let none = MockProfiler::new(|_, _| Reply::Message(response(&profile(0))));
    let asked = json!({"addresses": [none.address()], "output": "none", "ms": 50, "retry": 1});
    let answer = client.tool("capture", &asked).to_string();
    assert!(answer.contains("in all attempts"), "{answer}");
    assert_eq!(none.calls().len(), 2);
    let part = client.tool(
        "capture",
        &json!({"addresses": [server.address()], "output": "more", "ms": 50, "max_bytes": 2000}),
    );
    assert!(part.to_string().len() <= 2000, "{}", part.to_string().len());
    let stepping = MockProfiler::new(|call, _| {
        Reply::Message(response(&steps(call.numbers(&[1])[0], 5, 1, 10)))
    });
    let asked =
        json!({"addresses": [stepping.address()], "output": "steps", "ms": 50, "steps": 3.0});
    let answer = client.call("capture", &asked).to_string();
    assert!(
        answer.contains("has 10 complete steps of 5.000 ms"),
        "{answer}"
    );
    assert_eq!(
        stepping.calls()[1].numbers(&[1]),
        [22],
        "four steps and a tenth"
    );
    let asked =
        json!({"addresses": [stepping.address()], "output": "steps", "ms": 50, "steps": 20_000});
    let refused = client.call("capture", &asked).to_string();
    assert!(
        refused.contains("take longer than the longest recording, 60.00 s"),
        "{refused}"
    );
    fs::write(dir.path().join("systole.toml"), "[defaults]\nwarmup = 1\n").unwrap();
    let asked = server.calls().len();
    let wrong = client.refused("capture", &ask("unsettled"));
    assert!(wrong.contains("unknown field `warmup`"), "{wrong}");
    assert_eq!(server.calls().len(), asked, "nothing is recorded first");
}

#[test]
fn programs_without_times_are_compared_by_their_instructions() {
    let dir = tempfile::tempdir().unwrap();
    let program = |size: u32| {
        format!(
            "HloModule jit_f, is_scheduled=true\n\nENTRY %main (a: f32[{size}]) -> f32[{size}] {{\n  \
             %a = f32[{size}]{{0}} parameter(0)\n  ROOT %n = f32[{size}]{{0}} negate(%a)\n}}\n"
        )
    };
    fs::write(dir.path().join("a.txt"), program(64)).unwrap();
    fs::write(dir.path().join("b.txt"), program(128)).unwrap();
    let answer =
        Client::below(dir.path()).tool("compare", &json!({"base": "a.txt", "cand": "b.txt"}));
    let tables = answer["tables"].as_array().unwrap();
    let diff = tables.iter().find(|table| table["id"] == "program_diff");
    assert_eq!(
        diff.unwrap()["rows"].as_array().unwrap().len(),
        2,
        "{answer}"
    );
}
