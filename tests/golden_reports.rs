//! Every analysis of every sample trace, as JSON under `tests/golden`. Changes of
//! numbers show up in review; `UPDATE_GOLDEN=1` writes the files anew.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

mod json_schema;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use analysis::{ANALYSES, Options, Scope};
use importers::{ImportOptions, Progress};
use serde_json::{Value, json};
use systole::render::{Document, View};
use systole::session::Session;

/// Floats may differ in their last bits between machines.
const DIGITS: usize = 6;

/// Entries of a list that are written out.
const MAX_ITEMS: usize = 8;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Sample traces, smallest name first. A folder is one run of several hosts.
fn samples() -> Vec<PathBuf> {
    let paths = fs::read_dir(root().join("assets/samples")).unwrap().map(|entry| entry.unwrap().path());
    let is_trace = |path: &PathBuf| {
        let name = path.to_str().unwrap();
        path.is_dir() || [".pb", ".pb.gz", ".json", ".json.gz", ".txt"].iter().any(|ending| name.ends_with(ending))
    };
    let mut found: Vec<_> = paths.filter(is_trace).collect();
    found.sort();
    found
}

fn rounded(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let exact = number.as_f64().unwrap();
            json!(format!("{exact:.*e}", DIGITS - 1).parse::<f64>().unwrap())
        }
        Value::Array(items) => shortened(items.into_iter().map(rounded).collect()),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, rounded(value))).collect(),
        other => other,
    }
}

/// Long lists differ like their beginnings; the rest is one line that changes with it.
fn shortened(mut items: Vec<Value>) -> Value {
    if items.len() > MAX_ITEMS + 1 {
        let rest = items.split_off(MAX_ITEMS);
        let text: String = rest.iter().map(Value::to_string).collect();
        // FNV-1a: the same on every machine and in every version.
        let hash = text
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        items.push(json!(format!("{} more, hash {hash:016x}", rest.len())));
    }
    Value::Array(items)
}

#[test]
fn every_report_of_every_sample_is_as_reviewed() {
    let golden = root().join("tests/golden");
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut expected_files = BTreeSet::new();
    let mut differing = Vec::new();
    for sample in samples() {
        let name = sample.file_name().unwrap().to_str().unwrap();
        let session = Session::open(&sample, &ImportOptions::default(), Options::default(), &Progress::new()).unwrap();
        for entry in ANALYSES {
            let report = match session.report_by_id(entry.id, Scope::WholeTrace) {
                Ok(report) => rounded(report.json()),
                Err(why) => json!({ "not_applicable": why.to_string() }),
            };
            let text = serde_json::to_string_pretty(&report).unwrap() + "\n";
            let file = golden.join(name).join(format!("{}.json", entry.id));
            if update {
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(&file, &text).unwrap();
            } else if fs::read_to_string(&file).ok().as_ref() != Some(&text) {
                differing.push(format!("{}\n{}", file.display(), first_difference(&file, &text)));
            }
            expected_files.insert(file);
        }
    }
    for folder in fs::read_dir(&golden).into_iter().flatten() {
        for file in fs::read_dir(folder.unwrap().path()).into_iter().flatten() {
            let file = file.unwrap().path();
            if expected_files.contains(&file) {
            } else if update {
                fs::remove_file(file).unwrap();
            } else {
                differing.push(format!("{} belongs to no sample", file.display()));
            }
        }
    }
    assert!(differing.is_empty(), "UPDATE_GOLDEN=1 accepts:\n{}", differing.join("\n"));
}

fn first_difference(file: &Path, now: &str) -> String {
    let before = fs::read_to_string(file).unwrap_or_default();
    let pairs = before.lines().chain(std::iter::repeat("(end)")).zip(now.lines()).enumerate();
    let differs = pairs
        .filter(|(_, (before, now))| before != now)
        .map(|(line, (before, now))| format!("  line {}: was {}, is {}", line + 1, before.trim(), now.trim()));
    differs.take(3).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_end_of_a_long_list_is_seen_too() {
    let list = |last: u32| shortened((0..20).chain([last]).map(|number| json!(number)).collect());
    assert_eq!(list(20).as_array().map(Vec::len), Some(MAX_ITEMS + 1));
    assert_ne!(list(20), list(21));
    assert_eq!(list(20), list(20));
}

#[test]
fn rounding_keeps_six_digits_and_integers() {
    let value = json!({"a": [0.123_456_789, 7, 1.0e300], "b": -2.5});
    assert_eq!(rounded(value), json!({"a": [0.123_457, 7, 1.0e300], "b": -2.5}));
}

/// The documents of `analyze` and `compare` as the published schemas describe them, of every sample.
#[test]
fn every_document_of_every_sample_agrees_with_its_schema() {
    let schema: Value = serde_json::from_str(&systole::render::json::schema().unwrap()).unwrap();
    let ids: Vec<_> = ANALYSES.iter().map(|entry| entry.id).collect();
    for sample in samples() {
        let session = Session::open(&sample, &ImportOptions::default(), Options::default(), &Progress::new()).unwrap();
        for scope in [Scope::WholeTrace, Scope::Steps { first: 0, last: 1 }] {
            let document = Document::new(&session, scope, &ids, View::Tables);
            for top in [0, 1] {
                let written: Value =
                    serde_json::from_str(&systole::render::json::document(&document, top).unwrap()).unwrap();
                let errors = json_schema::errors(&schema, &written);
                assert!(errors.is_empty(), "{}, {scope:?}: {:#?}", sample.display(), &errors[..errors.len().min(20)]);
                assert_eq!(written["truncated"], written["truncated_lists"] != json!([]), "{}", sample.display());
                assert!(top == 1 || written["truncated"] == false);
            }
        }
    }
    // A check that accepts anything would accept this, too.
    assert!(!json_schema::errors(&schema, &json!({ "schema": "systole.report/2" })).is_empty());
    let tool = json_schema::errors(&schema, &json!({ "tool": { "name": "systole", "version": "1", "more": 1 } }));
    assert!(tool.iter().any(|error| error == "$.tool.more is not described"), "{tool:?}");
}

/// What a number counts is in its name, or beside it in a field `unit`; these have no unit.
#[test]
fn every_number_carries_its_unit_in_its_name() {
    const UNITS: &[&str] = &[
        "_ps",
        "_seconds",
        "bytes",
        "percent",
        "per_second",
        "_per_step",
        "_per_slice",
        "_per_iteration",
        "_ppm",
        "flops",
        "flops_as_bf16",
        "flops_per_byte",
        "flops_per_hbm_byte",
        "flops_per_bottleneck_byte",
        "_count",
        "_speedup",
    ];
    // In the unit of the row around them, which has a field `unit` or a metric with its unit in its name.
    const OF_ROW: &[&str] =
        &["(with unit)", "actual", "base", "cand", "change", "high", "limit", "low", "median", "noise"];
    // Counts, ordinals, probabilities and ratios; `value` of a hardware counter, whose unit nothing records.
    const WITHOUT: &str = "adjacent after-step after_steps ahead_max ahead_median allocations alpha base_ops base_runs batch \
        bundles calls cand_ops cand_runs chip class collectives compilations confidence cores count critical deserialized \
        devices dim ends executions facts_left_out fills first from grid_steps group hits id in-step instances invalid k last \
        launches left_out links load_misses long_gaps lookups loopback lost lost_events lost_releases m median_step messages \
        min_steps misses n number occurrences odd_events ops ordinal others p pairs participants passes peak_step per_chip \
        products programs ratio recompilations released releases reuse shown slices slow_not_explained space \
        speedup_over_bf16 spills step steps tile to total tracks uneven unknown_releases unmatched value wall_steps warmup_steps \
        work_z writes xla_calls z";
    let without: BTreeSet<&str> = WITHOUT.split_whitespace().chain(OF_ROW.iter().copied()).collect();
    for text in [systole::render::json::schema().unwrap(), systole::render::comparison::schema().unwrap()] {
        let schema: Value = serde_json::from_str(&text).unwrap();
        let names = json_schema::number_names(&schema);
        assert!(names.len() > 100 || text.contains("comparison/"), "the schema is described: {names:?}");
        let has_unit =
            |name: &&String| UNITS.iter().any(|unit| name.ends_with(unit)) || without.contains(name.as_str());
        let bare: Vec<_> = names.iter().filter(|name| !has_unit(name)).collect();
        assert!(bare.is_empty(), "{bare:?}");
    }
}
