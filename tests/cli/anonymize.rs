//! `systole anonymize`: no name is left, and no number has changed.

#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use sample_traces::write::{ProtoMessage, gzip};
use serde_json::Value;

use crate::place::{Place, corpus, stderr, stdout};

/// A profile with the names of a machine, a person, a folder and a project.
fn named_profile() -> Vec<u8> {
    let mut space = ProtoMessage::default();
    space.text(4, "train-host-7");
    space.message(1, |plane| {
        plane.text(2, "/device:TPU:0");
        plane.message(3, |line| {
            line.text(2, "XLA Ops");
            line.uint(3, 1_000);
            for at in 0..20 {
                line.message(4, |event| {
                    event.uint(1, 1);
                    event.uint(2, at * 2_000_000);
                    event.uint(3, 1_500_000);
                });
            }
        });
        plane.message(4, |entry| {
            entry.uint(1, 1);
            entry.message(2, |metadata| {
                metadata.uint(1, 1);
                metadata.text(2, "%fusion.1 = f32[8]{0} fusion(%p), metadata={op_name=\"jit(step)/moonshot/dot\"}");
                metadata.message(5, |stat| {
                    stat.uint(1, 1);
                    stat.text(5, "/home/alice/moonshot/train.py:12");
                });
            });
        });
        plane.message(5, |entry| {
            entry.uint(1, 1);
            entry.message(2, |metadata| {
                metadata.uint(1, 1);
                metadata.text(2, "source");
            });
        });
    });
    space.into_bytes()
}

/// All numbers of all reports, in the order of the document.
fn figures(place: &Place, path: &str) -> Vec<String> {
    fn collect(value: &Value, numbers: &mut Vec<String>) {
        match value {
            Value::Number(number) => numbers.push(number.to_string()),
            Value::Array(values) => values.iter().for_each(|value| collect(value, numbers)),
            Value::Object(fields) => {
                let of_profile = fields.iter().filter(|(name, _)| *name != "string_bytes");
                of_profile.for_each(|(_, value)| collect(value, numbers));
            }
            _ => {}
        }
    }
    let output = place.run(&["analyze", path, "--format", "json", "--top", "0"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document: Value = serde_json::from_str(stdout(&output)).unwrap();
    let mut numbers = Vec::new();
    collect(&document["reports"], &mut numbers);
    numbers.sort();
    numbers
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window.eq_ignore_ascii_case(text.as_bytes()))
}

#[test]
fn a_run_loses_its_names_and_keeps_its_numbers() {
    let place = Place::empty();
    let profile = named_profile();
    place.write(
        "logs/plugins/profile/2026_01_31_12_00_00/train-host-7.xplane.pb",
        &profile,
    );
    let output = place.run(&[
        "anonymize",
        "logs",
        "-o",
        "shared",
        "--replace",
        "moonshot",
        "--list",
        "kept.txt",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stdout(&output);
    for expected in [
        "train-host-7 → n",
        "alice → n",
        "moonshot → n",
        "Checked: all numbers",
        "names of ops",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let folder = place.path("shared/plugins/profile/2026_01_31_12_00_00");
    let files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(files.len(), 1);
    let shared = fs::read(&files[0]).unwrap();
    assert_eq!(shared.len(), profile.len());
    let kept = place.read("kept.txt");
    for secret in ["train-host", "alice", "moonshot", "train.py"] {
        assert!(
            !contains(&shared, secret) && !kept.contains(secret),
            "{secret}"
        );
        assert!(!files[0].to_string_lossy().contains(secret), "{secret}");
    }
    assert!(
        contains(&shared, "fusion.1") && contains(&shared, ".py:12") && kept.contains("jit(step)")
    );
    assert!(figures(&place, "shared") == figures(&place, "logs"));
    assert_eq!(
        place.code(&["anonymize", "logs", "-o", "shared"]),
        2,
        "nothing is overwritten"
    );
}

#[test]
fn trace_events_stay_json_and_packed() {
    let place = Place::empty();
    let json = br#"{"traceEvents":[{"ph":"X","name":"$train.py:3 step","pid":1,"tid":1,"ts":1.5,"dur":2.25,
        "args":{"source":"/home/alice/moonshot/train.py","q":"\"a\\b\""}}]}"#;
    place.write("t.trace.json.gz", &gzip(json));
    let output = place.run(&["anonymize", "t.trace.json.gz", "-o", "s.trace.json.gz"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(figures(&place, "s.trace.json.gz") == figures(&place, "t.trace.json.gz"));
    let mut text = String::new();
    let packed = fs::File::open(place.path("s.trace.json.gz")).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(packed), &mut text).unwrap();
    assert!(
        !contains(text.as_bytes(), "alice")
            && !text.contains("moonshot")
            && !text.contains("train"),
        "{text}"
    );
    assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
}

#[test]
fn every_sample_can_be_shared() {
    let place = Place::empty();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .join("assets/samples");
    let mut count = 0;
    for entry in fs::read_dir(samples).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path
            .extension()
            .is_some_and(|ending| ending == "pb" || ending == "gz")
        {
            let output = place.run(&["anonymize", path.to_str().unwrap(), "-o", &name]);
            assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
            count += 1;
        }
    }
    assert!(count > 10, "{count}");
}

#[test]
fn real_profiles_keep_their_numbers() {
    let Some(corpus) = corpus() else { return };
    let place = Place::empty();
    for (name, secret) in [
        ("tpu/v6e_x4_host_offload.xplane.pb", "davelacey"),
        ("tpu/v5e_matmul.xplane.pb", "/home/"),
        ("tpu/v5e_matmul.trace.json.gz", "/home/"),
    ] {
        let path = corpus.join(name);
        let out = name.replace('/', "_");
        let output = place.run(&["anonymize", path.to_str().unwrap(), "-o", &out]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
        assert!(
            figures(&place, &out) == figures(&place, path.to_str().unwrap()),
            "{name}"
        );
        let shared = fs::read(place.path(&out)).unwrap();
        assert!(secret == "/home/" || !contains(&shared, secret), "{name}");
    }
}

/// Texts of a file that are longer than a few letters.
fn long_texts(bytes: &[u8]) -> BTreeSet<&[u8]> {
    let is_text = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
    let runs = bytes.chunk_by(|a, b| is_text(a) == is_text(b));
    runs.filter(|run| run.len() >= 8 && is_text(&run[0]))
        .collect()
}

/// What of the log is counted, and the bytes at which reading continues.
fn log(place: &Place, path: &str) -> Value {
    let output = place.run(&["doctor", path, "--format", "json"]);
    let document: Value = serde_json::from_str(stdout(&output)).unwrap();
    document["import_log"].clone()
}

#[test]
fn damaged_profiles_lose_what_nobody_reads_and_keep_their_numbers() {
    let place = Place::empty();
    let profile = named_profile();
    // The second plane claims to be longer than it is; its rest is found again at the third.
    let damaged = [
        &profile[..],
        &[0x0a, 0x7f],
        &profile[16..200],
        b"/home/carol/x.py",
        &profile,
    ]
    .concat();
    place.write("damaged.xplane.pb", &damaged);
    place.write("cut.xplane.pb", &profile[..profile.len() - 40]);
    // A copy that is new must not look as if it were still being written.
    let old = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
    fs::File::options()
        .write(true)
        .open(place.path("cut.xplane.pb"))
        .unwrap()
        .set_modified(old)
        .unwrap();
    for name in ["damaged.xplane.pb", "cut.xplane.pb"] {
        let output = place.run(&[
            "anonymize",
            name,
            "-o",
            "out.xplane.pb",
            "--replace",
            "moonshot",
        ]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
        assert!(
            stdout(&output).contains("that cannot be read because of damage are zeros now"),
            "{}",
            stdout(&output)
        );
        assert!(
            figures(&place, "out.xplane.pb") == figures(&place, name),
            "{name}"
        );
        let shared = fs::read(place.path("out.xplane.pb")).unwrap();
        for secret in ["alice", "carol", "moonshot", "train-host", "train.py"] {
            assert!(!contains(&shared, secret), "{name}: {secret}");
        }
        fs::remove_file(place.path("out.xplane.pb")).unwrap();
    }
}

#[test]
fn real_damaged_profiles_keep_their_numbers() {
    let Some(corpus) = corpus() else { return };
    let place = Place::empty();
    for name in ["jax_cpu_8dev_collectives", "jax_cpu_transformer_recompiles"] {
        let path = corpus.join(format!("host/{name}.xplane.pb"));
        let (path, out) = (path.to_str().unwrap(), format!("{name}.xplane.pb"));
        let output = place.run(&["anonymize", path, "-o", &out, "--list", "kept.txt"]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
        assert!(stdout(&output).contains("Lost: "), "{}", stdout(&output));
        assert!(figures(&place, &out) == figures(&place, path), "{name}");
        assert_eq!(log(&place, &out), log(&place, path), "{name}");
        // All texts that are left were shown to the user.
        let (shared, kept) = (fs::read(place.path(&out)).unwrap(), place.read("kept.txt"));
        // Tags and lengths beside a text may look like letters.
        let is_listed = |text: &str| {
            let cuts = (0..=3).flat_map(|first| (0..=3).map(move |last| (first, last)));
            let mut inner = cuts.filter_map(|(first, last)| text.get(first..text.len() - last));
            inner.any(|inner| kept.contains(inner))
        };
        let texts = long_texts(&shared).into_iter().map(String::from_utf8_lossy);
        let hidden: Vec<_> = texts.filter(|text| !is_listed(text)).collect();
        assert_eq!(hidden, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn what_cannot_be_made_anonymous_is_refused_and_nothing_is_left() {
    let place = Place::empty();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let sample =
        fs::read(root.join("assets/samples/synthetic_v5e_8chip_serial.xplane.pb")).unwrap();
    let packed = gzip(&sample);
    place.write("cut.xplane.pb.gz", &packed[..packed.len() / 2]);
    let output = place.run(&["anonymize", "cut.xplane.pb.gz", "-o", "out.xplane.pb.gz"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("its end is missing"),
        "{}",
        stderr(&output)
    );
    assert!(!place.path("out.xplane.pb.gz").exists());
    // Without its name, nobody can tell what kind of op it is.
    place.write("whole.xplane.pb", &sample);
    let output = place.run(&[
        "anonymize",
        "whole.xplane.pb",
        "-o",
        "out.xplane.pb",
        "--replace",
        "TPU,XLA,reduce",
    ]);
    assert_ne!(output.status.code(), Some(0));
    assert!(
        stderr(&output).contains("other figures"),
        "{}",
        stderr(&output)
    );
    assert!(!place.path("out.xplane.pb").exists());
}
