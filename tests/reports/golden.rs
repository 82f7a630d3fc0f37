//! Every analysis of one sample for each feature, as text under `tests/golden`. Changes of
//! numbers are visible in review; `UPDATE_GOLDEN=1` rewrites the files.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::{compact, json_schema};
use analysis::{ANALYSES, Options, Scope};
use importers::{ImportOptions, InputSource, Progress};
use render::{Document, DocumentView};
use sample_traces::memory::session_with_memory;
use sample_traces::rare::{CounterSamples, MegascaleSample, PallasKernel, SparseOffload};
use sample_traces::synthetic::{SyntheticRun, TrainingSpec};
use sample_traces::write::xspace_bytes;
use serde_json::{Value, json};
use session::Session;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// Sample traces, smallest name first. A folder is one run of several hosts.
pub fn samples() -> Vec<PathBuf> {
    let paths = fs::read_dir(root().join("assets/samples"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_trace = |path: &PathBuf| {
        let name = path.to_str().unwrap();
        path.is_dir()
            || [".pb", ".pb.gz", ".json", ".json.gz", ".txt"]
                .iter()
                .any(|ending| name.ends_with(ending))
    };
    let mut found: Vec<_> = paths.filter(is_trace).collect();
    found.sort();
    found
}

/// A capture whose reports are kept.
struct Sample {
    name: String,
    session: Session,
    /// The directory of its files, if it differs in each run of the test.
    folder: Option<PathBuf>,
}

fn opened(path: &Path, import: &ImportOptions) -> Session {
    Session::open(path, import, Options::default(), &Progress::new()).unwrap()
}

/// Files with the same content in another format, or with fewer features: another sample
/// covers each of their features.
const NOT_KEPT: &[&str] = &[
    "jax_cpu_small.trace.json.gz",
    "synthetic_v5e_8chip_overlap.trace.json.gz",
    "synthetic_v5e_8chip_serial.xplane.pb",
    "synthetic_v5p_ring_serial.xplane.pb",
    "synthetic_v6e_4chip_padded.xplane.pb",
];

/// One sample for each feature: samples in files, and generated ones for features that no file has.
fn kept() -> Vec<Sample> {
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let files = samples()
        .into_iter()
        .filter(|path| !NOT_KEPT.contains(&name(path).as_str()));
    let files = files.map(|path| Sample {
        name: name(&path),
        session: opened(&path, &ImportOptions::default()),
        folder: None,
    });
    let memory = session_with_memory(&SyntheticRun::new(TrainingSpec {
        data: 1,
        model: 1,
        ..TrainingSpec::default()
    }))
    .0;
    let rare = [
        ("rare_memory", memory),
        ("rare_counters", CounterSamples::default().session()),
        (
            "rare_kernel",
            PallasKernel {
                executions: 1,
                with_lines: true,
                ..PallasKernel::default()
            }
            .session(),
        ),
        ("rare_sparse_core", SparseOffload::default().session()),
        ("rare_slices", MegascaleSample::default().session()),
    ];
    let rare = rare.map(|(name, session)| {
        let source =
            InputSource::from_bytes(format!("{name}.xplane.pb"), xspace_bytes(&session)).unwrap();
        let model = importers::import(&source, &Progress::new()).unwrap();
        Sample {
            name: name.to_owned(),
            session: Session::from_model(model, Options::default()),
            folder: None,
        }
    });
    files.chain(rare).chain([with_code()]).collect()
}

/// A compiled program, and the compiler's dump of the code of an op.
fn with_code() -> Sample {
    const PROGRAM: &str = "HloModule jit_f, is_scheduled=true\n\n\
        ENTRY %main (p: f32[8,8]) -> f32[8,8] {\n\
        \x20 %p = f32[8,8]{1,0} parameter(0)\n\
        \x20 ROOT %fusion.1 = f32[8,8]{1,0} negate(%p), \
        backend_config={\"window_config\":{\"estimated_cycles\":\"1500\"}}\n}\n";
    const TABLE: &str = "== CAPACTIY:\nMATMUL, VLOAD, VSTORE:SPILL\n    4     3     1\n== UTILIZATION:\n4 3 1\n0 0 0\n";
    const TEXT: &str = "Schedule analysis:\n\ttotal scheduled bundles:    2\n\
        \t2.00 scheduled bundles (100.00%): %fusion.1 = f32[8,8]{1,0} negate(%p)\n";
    let dir = tempfile::tempdir().unwrap();
    let (path, dump) = (dir.path().join("jit_f.v5e.txt"), dir.path().join("jf"));
    fs::create_dir_all(&dump).unwrap();
    fs::write(&path, PROGRAM).unwrap();
    fs::write(
        dump.join("5-fusion.1-64-final_hlo-static-per-bundle-utilization.txt"),
        TABLE,
    )
    .unwrap();
    fs::write(
        dump.join("5-fusion.1-65-schedule-analysis_final_bundles.txt"),
        TEXT,
    )
    .unwrap();
    let import = ImportOptions {
        llo: Some(dump),
        ..ImportOptions::default()
    };
    let session = opened(&path, &import);
    Sample {
        name: "rare_code".to_owned(),
        session,
        folder: Some(dir.path().to_owned()),
    }
}

/// All reports of a sample, of the whole trace and of one step; the analyses that apply.
fn golden_text(session: &Session) -> (String, BTreeSet<&'static str>) {
    let (mut text, mut applicable) = (String::new(), BTreeSet::new());
    let mut put = |line: &str| text.extend([line, "\n"]);
    for (scope, title) in [
        (Scope::WholeTrace, "whole trace"),
        (Scope::Steps { first: 1, last: 1 }, "step 1"),
    ] {
        let mut silent: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for entry in ANALYSES {
            let of_all = || {
                session
                    .report_by_id(entry.id, Scope::WholeTrace)
                    .map(|report| report.json())
                    .ok()
            };
            match session
                .report_by_id(entry.id, scope)
                .map(|report| report.json())
            {
                Err(why) => silent.entry(why.to_string()).or_default().push(entry.id),
                Ok(json) if scope != Scope::WholeTrace && of_all().as_ref() == Some(&json) => {
                    silent
                        .entry("as of the whole trace".to_owned())
                        .or_default()
                        .push(entry.id);
                }
                Ok(json) => {
                    applicable.insert(entry.id);
                    put(&format!("\n== {}, {title}", entry.id));
                    for line in &compact::lines(&json) {
                        put(line);
                    }
                }
            }
        }
        put(&format!("\n== not here, {title}"));
        for (why, ids) in &silent {
            put(&format!("{}: {why}", ids.join(", ")));
        }
    }
    (text, applicable)
}

/// Maximum number of lines, because people must review them.
const MAX_LINES: usize = 16_000;

#[test]
fn reports_match_golden_files() {
    let golden = root().join("tests/golden");
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let (mut expected_files, mut applicable, mut lines) = (BTreeSet::new(), BTreeSet::new(), 0);
    let mut differing = Vec::new();
    for sample in kept() {
        let (mut text, apply) = golden_text(&sample.session);
        if let Some(folder) = &sample.folder {
            text = text.replace(&folder.display().to_string(), "FOLDER");
        }
        let file = golden.join(format!("{}.txt", sample.name));
        if update {
            fs::create_dir_all(&golden).unwrap();
            fs::write(&file, &text).unwrap();
        } else if fs::read_to_string(&file).ok().as_ref() != Some(&text) {
            differing.push(format!(
                "{}\n{}",
                file.display(),
                first_difference(&file, &text)
            ));
        }
        lines += text.lines().count();
        applicable.extend(apply);
        expected_files.insert(file);
    }
    for file in fs::read_dir(&golden).into_iter().flatten() {
        let file = file.unwrap().path();
        if expected_files.contains(&file) {
        } else if update {
            fs::remove_file(file).unwrap();
        } else {
            differing.push(format!("{} belongs to no sample", file.display()));
        }
    }
    assert!(
        differing.is_empty(),
        "UPDATE_GOLDEN=1 accepts:\n{}",
        differing.join("\n")
    );
    assert!(lines < MAX_LINES, "{lines} lines");
    let never: Vec<_> = ANALYSES
        .iter()
        .map(|entry| entry.id)
        .filter(|id| !applicable.contains(id))
        .collect();
    assert!(
        never.is_empty(),
        "no sample has anything to say to {never:?}"
    );
}

fn first_difference(file: &Path, now: &str) -> String {
    let before = fs::read_to_string(file).unwrap_or_default();
    let pairs = before
        .lines()
        .chain(std::iter::repeat("(end)"))
        .zip(now.lines().chain(["(end)"]))
        .enumerate();
    let differs = pairs
        .filter(|(_, (before, now))| before != now)
        .map(|(line, (before, now))| {
            format!(
                "  line {}: was {}, is {}",
                line + 1,
                before.trim(),
                now.trim()
            )
        });
    differs.take(3).collect::<Vec<_>>().join("\n")
}

/// The documents of `analyze` and `compare` as the published schemas describe them, of every sample.
#[test]
fn documents_match_their_schema() {
    let schema = render::json::schema();
    let ids: Vec<_> = ANALYSES.iter().map(|entry| entry.id).collect();
    for sample in samples() {
        let session = Session::open(
            &sample,
            &ImportOptions::default(),
            Options::default(),
            &Progress::new(),
        )
        .unwrap();
        for scope in [Scope::WholeTrace, Scope::Steps { first: 0, last: 1 }] {
            let document = Document::new(&session, scope, &ids, DocumentView::Tables);
            for top in [0, 1] {
                let pieces = render::json::document(&document, top).unwrap();
                let text: String = pieces.map(Result::unwrap).collect();
                let written: Value = serde_json::from_str(&text).unwrap();
                let errors = json_schema::errors(&schema, &written);
                assert!(
                    errors.is_empty(),
                    "{}, {scope:?}: {:#?}",
                    sample.display(),
                    &errors[..errors.len().min(20)]
                );
                assert_eq!(
                    written["truncated"],
                    written["truncated_lists"] != json!([]),
                    "{}",
                    sample.display()
                );
                assert!(top == 1 || written["truncated"] == false);
            }
        }
    }
    // Ensures that the check does not accept everything.
    assert!(!json_schema::errors(&schema, &json!({ "schema": "systole.report/3" })).is_empty());
    let tool = json_schema::errors(
        &schema,
        &json!({ "tool": { "name": "systole", "version": "1", "more": 1 } }),
    );
    assert!(
        tool.iter()
            .any(|error| error == "$.tool.more is not described"),
        "{tool:?}"
    );
}

/// The unit of a number is in its name, or in a field `unit` beside it; these numbers have no unit.
#[test]
fn numbers_have_units_in_their_names() {
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
    const OF_ROW: &[&str] = &[
        "(with unit)",
        "actual",
        "base",
        "cand",
        "change",
        "high",
        "limit",
        "low",
        "median",
        "noise",
    ];
    // Counts, ordinals, probabilities and ratios; `value` of a hardware counter, whose unit nothing records.
    const WITHOUT: &str = "achieved adjacent after-step after_steps ahead_max ahead_median allocations alpha apart base_ops base_runs base_steps batch buffers \
        bundles cache_hits cache_misses calls cand_ops cand_runs cand_steps chip class collectives compilations confidence cores count critical decode_tokens deserialized \
        devices devices_of_program dim dma_waits empty_bundles ends executions facts_left_out fills first first_executions from grid_steps group hits id in-step instances invalid k last \
        launches left_out links live_registers load_misses long_gaps lookups loopback lost lost_events lost_releases m matmuls median_step messages \
        min_steps misses moved n number occurrences odd_events ops ordinal others p pairs participants passes peak_step per_chip \
        products programs ratio recompilations recorded released releases requests reuse same second second_executions shown slices slow_not_explained space \
        speedup_over_bf16 spills step steps tile to tokens total tracks uneven unknown_releases unmatched value wall_steps warmup_steps \
        work_z writes xla_calls z";
    let without: BTreeSet<&str> = WITHOUT
        .split_whitespace()
        .chain(OF_ROW.iter().copied())
        .collect();
    for schema in [render::json::schema(), render::comparison::schema()] {
        let names = json_schema::number_names(&schema);
        assert!(
            names.len() > 100 || schema["$id"] == "urn:systole:comparison/3",
            "the schema is described: {names:?}"
        );
        let has_unit = |name: &&String| {
            UNITS.iter().any(|unit| name.ends_with(unit)) || without.contains(name.as_str())
        };
        let bare: Vec<_> = names.iter().filter(|name| !has_unit(name)).collect();
        assert!(bare.is_empty(), "{bare:?}");
    }
}

/// Sentences of reports, wherever they are: `1 devices`, `2 host(s)`.
#[test]
fn plurals_agree_with_their_numbers() {
    const NOUNS: [&str; 12] = [
        "devices",
        "hosts",
        "chips",
        "cores",
        "steps",
        "ops",
        "calls",
        "programs",
        "targets",
        "collectives",
        "compilations",
        "slices",
    ];
    let is_wrong = |text: &str| {
        let words: Vec<&str> = text.split(' ').collect();
        let noun = |word: &str| {
            NOUNS.contains(&word.trim_matches(|letter: char| !letter.is_alphanumeric()))
        };
        let counted =
            |pair: &[&str]| pair[0].trim_start_matches(['(', '"']) == "1" && noun(pair[1]);
        text.contains("(s)") || words.windows(2).any(counted)
    };
    assert!(
        is_wrong("mean of 2 host(s)") && is_wrong("of (1 ops)") && !is_wrong("of 21 ops, 1 op")
    );
    let (mut seen, mut wrong) = (0, Vec::new());
    for file in fs::read_dir(root().join("tests/golden")).unwrap() {
        let path = file.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        seen += text.lines().count();
        wrong.extend(
            text.lines()
                .filter(|line| is_wrong(line))
                .map(|line| format!("{}: {line}", path.display())),
        );
    }
    assert!(seen > 1_000 && wrong.is_empty(), "{seen} lines; {wrong:#?}");
}

/// Ids of the tables that sources below `folder` build from what rows declare.
fn declared_tables(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            declared_tables(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            for table in text.split("Table::of(").skip(1) {
                let body = table.split(".build()").next().unwrap();
                let id = body
                    .trim_start()
                    .strip_prefix('"')
                    .and_then(|rest| rest.split('"').next());
                found.extend(id.filter(|_| body.contains(".declared")).map(str::to_owned));
            }
        }
    }
}

/// A table asks its rows for columns by name: each is built here, so that no name is wrong.
#[test]
fn every_table_of_the_analyses_is_built() {
    // Of pages about programs, and of the window at its cursor: these have tests of their own.
    const ELSEWHERE: &[&str] = &[
        "neighbourhood",
        "instructions",
        "program",
        "program_diff",
        "memory_live",
        "environment",
        "capture_rows",
    ];
    let mut wanted = BTreeSet::new();
    for folder in ["facts", "device-reports", "run-reports"] {
        declared_tables(
            &root().join("analysis").join(folder).join("src"),
            &mut wanted,
        );
    }
    assert!(wanted.len() > 30, "{wanted:?}");
    let mut built = BTreeSet::new();
    for sample in kept() {
        let scopes = [Scope::WholeTrace, Scope::Steps { first: 1, last: 1 }];
        for (entry, scope) in ANALYSES
            .iter()
            .flat_map(|entry| scopes.map(|scope| (entry, scope)))
        {
            let Ok(report) = sample.session.report_by_id(entry.id, scope) else {
                continue;
            };
            for table in report.tables() {
                let ids: BTreeSet<&str> = table.columns.iter().map(|column| column.id).collect();
                assert_eq!(
                    ids.len(),
                    table.columns.len(),
                    "columns of {} twice",
                    table.id
                );
                built.insert(table.id.to_owned());
            }
        }
    }
    let missing: Vec<_> = wanted
        .difference(&built)
        .filter(|id| !ELSEWHERE.contains(&id.as_str()))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
