//! The first screen is consistent: the verdict and the hints name the same causes and the
//! same figures, for every sample and every real capture.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use analysis::facts::TimeUse;
use analysis::hints::{Hints, HintsReport};
use analysis::reports::Memory;
use analysis::reports::summary::verdict::{RunVerdict, VerdictReport};
use analysis::{Options, Scope};
use importers::{ImportOptions, InputSource, Progress};
use sample_traces::fleet::FleetSpec;
use sample_traces::memory::session_with_weights;
use sample_traces::synthetic::{SyntheticRun, TrainingSpec};
use sample_traces::write::xspace_bytes;
use sample_traces::{text_builder, text_trace};
use session::Session;
use trace_model::{GroupKind, Picos, SliceAttr, SliceSpec, TimeRange, Timestamp, TrackKind};

use crate::causes_gates::listed_metrics;
use crate::place::corpus;

/// Samples, and real captures up to a size that a test can process.
fn traces() -> Vec<PathBuf> {
    const MOST_BYTES: u64 = 8 << 20;
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/samples");
    let mut folders = vec![samples];
    if let Some(corpus) = corpus() {
        folders.extend(["tpu", "host", "gpu", "regressions"].map(|folder| corpus.join(folder)));
    }
    let entries = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path());
    let is_trace = |path: &PathBuf| {
        let name = path.to_str().unwrap();
        let is_file = [".pb", ".pb.gz", ".json", ".json.gz", ".txt"]
            .iter()
            .any(|ending| name.ends_with(ending));
        is_file && path.metadata().unwrap().len() <= MOST_BYTES
    };
    let mut found: Vec<PathBuf> = entries.filter(is_trace).collect();
    found.sort();
    found
}

/// Contradictions on the first screen of a trace.
fn disagreements(verdict: &VerdictReport, hints: &HintsReport) -> Vec<String> {
    let mut wrong = Vec::new();
    for named in verdict.named() {
        let open = hints.unanswered.iter().find(|open| open.id == named.id);
        // The verdict is on the whole capture, hints on its steps.
        let is_open = |reason: &str| reason != "hardly any of it is in the counted steps";
        if open.is_some_and(|open| !named.id.is_work() && is_open(&open.reason)) {
            wrong.push(format!("no hint about: {}", named.statement));
        }
        let share = format!("{:.1}", named.share_percent.unwrap());
        let says = |id: &str| {
            let hint = hints.hints.iter().find(|hint| hint.id == id);
            hint.is_none_or(|hint| hint.statement.contains(&share))
        };
        let ids: &[&str] = match named.id {
            TimeUse::Compile => &["K36", "K49"],
            TimeUse::Idle => &["K31"],
            _ => &[],
        };
        wrong.extend(
            ids.iter()
                .filter(|id| !says(id))
                .map(|id| format!("{id} does not say {share}")),
        );
    }
    if let (Some(leading), Some(first)) = (
        verdict.leading(),
        hints.hints.iter().find(|hint| !hint.id.starts_with('Q')),
    ) {
        let is_compiling = ["K36", "K37", "K38", "K49"].contains(&first.id);
        // What limits the loop comes before what happens once.
        let limit = hints.limit.as_ref().map_or(leading, |limit| limit.id);
        if limit == TimeUse::Compile && !is_compiling {
            wrong.push(format!(
                "compiling limits the run, the hints begin with {}",
                first.id
            ));
        }
    }
    wrong
}

/// Both need each trace, and reading them is most of the work.
#[test]
fn verdict_causes_have_hints_and_numbers_of_summaries_are_metrics() {
    let (mut metrics, mut unknown) = (BTreeSet::new(), BTreeSet::new());
    let mut wrong = Vec::new();
    let mut named = 0;
    for path in traces() {
        let Ok(session) = Session::open(
            &path,
            &ImportOptions::default(),
            Options::default(),
            &Progress::new(),
        ) else {
            continue;
        };
        let (listed, unlisted) = listed_metrics(&session);
        metrics.extend(listed);
        unknown.extend(unlisted);
        let verdict = session.report::<RunVerdict>(Scope::WholeTrace).unwrap();
        let hints = match session.report::<Hints>(Scope::WholeTrace) {
            Ok(hints) => hints,
            Err(why) => {
                wrong.extend(
                    verdict
                        .named()
                        .next()
                        .map(|_| format!("{}: {why}", path.display())),
                );
                continue;
            }
        };
        named += verdict.named().count();
        wrong.extend(
            disagreements(&verdict, &hints)
                .into_iter()
                .map(|text| format!("{}: {text}", path.display())),
        );
    }
    assert!(named > 20, "only {named} causes were named");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(metrics.len() > 30, "{metrics:?}");
    assert!(
        unknown.is_empty(),
        "not in the list of metrics: {unknown:?}"
    );
}

/// A synthetic run with one fault.
struct Planted {
    name: &'static str,
    session: Session,
    /// Text that the verdict must contain.
    verdict: &'static [&'static str],
    /// The first hint about the program.
    hint: &'static str,
    /// The culprits that the sentence of that hint must name.
    culprit: &'static [&'static str],
}

pub(super) fn open(model: trace_model::TraceModel) -> Session {
    Session::from_model(model, Options::default())
}

pub(super) fn captured(session: &sample_traces::session::SampleSession) -> Session {
    let source = InputSource::from_bytes("run.xplane.pb", xspace_bytes(session)).unwrap();
    open(importers::import(&source, &Progress::default()).unwrap())
}

fn trained(spec: TrainingSpec) -> Session {
    captured(&SyntheticRun::new(spec).session())
}

/// A hundred columns of ops, 10 µs each.
fn ops(main: usize, other: usize, legend: &str) -> Session {
    let picture = format!(
        "@column 10us\n@device flops=197e12 hbm=819e9 TPU v5 lite\nops: {}{}\n{legend}",
        "M".repeat(main),
        "x".repeat(other)
    );
    open(text_trace(&picture))
}

/// A device that recomputes many ops, with this percentage of its memory in use.
fn recomputing_in(percent: i64) -> Session {
    let picture = format!(
        "@column 10us\nops: {}{}\nM = fusion.1 [convolution fusion]\nx = add.2.remat [loop fusion]",
        "M".repeat(40),
        "x".repeat(60)
    );
    let mut builder = text_builder(&picture);
    let host = builder.group(None, GroupKind::Host, "text");
    let track = builder.track(host, TrackKind::HostThread, 9, "allocator");
    let label = builder.label("MemoryAllocation", None);
    let key = builder.add_slice(
        track,
        SliceSpec::new(TimeRange::new(Timestamp::ZERO, Timestamp::ZERO), label),
    );
    builder.set_attr(key, SliceAttr::DeviceOrdinal, 0);
    builder.set_attr(key, SliceAttr::MemoryAllocated, percent * 10_000_000);
    builder.set_attr(
        key,
        SliceAttr::MemoryAvailable,
        (100 - percent) * 10_000_000,
    );
    open(builder.finish())
}

/// Steps of a host, 10 ms each, of which it waits 9 ms for the next batch.
fn waiting_host() -> Session {
    let steps: String = ('A'..='H')
        .map(|letter| letter.to_string().repeat(10))
        .collect();
    let legend = ('A'..='H')
        .enumerate()
        .map(|(number, letter)| format!("{letter} = train step={number}"));
    let legend = legend.collect::<Vec<_>>().join("\n");
    let input = "nnnnnnnnn.".repeat(8);
    open(text_trace(&format!(
        "@column 1ms\nhost python: {steps}\n           : {input}\n{legend}\nn = IteratorGetNext"
    )))
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn planted() -> Vec<Planted> {
    let ms = |ms: i64| Picos::from_ps(ms * trace_model::time::PS_PER_MS);
    let fleet = |spec: FleetSpec| captured(&spec.session());
    let base = TrainingSpec::default;
    vec![
        Planted {
            name: "recompile",
            session: trained(TrainingSpec {
                recompile_at: Some(2),
                device_skew: Picos::ZERO,
                ..base()
            }),
            verdict: &["Compiling takes", "train_step"],
            hint: "K36",
            culprit: &["train_step in step 2"],
        },
        Planted {
            name: "warm-up in the capture",
            session: fleet(FleetSpec {
                compiles: vec![0],
                ..FleetSpec::default()
            }),
            verdict: &["Compiling takes"],
            // Compiling before the loop is said, but what limits the loop comes first.
            hint: "K02",
            culprit: &["synchronous collectives"],
        },
        Planted {
            name: "straggler",
            session: fleet(FleetSpec {
                straggler: Some((5, ms(3))),
                ..FleetSpec::default()
            }),
            verdict: &["waiting for /device:TPU:5"],
            hint: "K06",
            culprit: &["/device:TPU:5"],
        },
        Planted {
            name: "input stall",
            session: trained(TrainingSpec {
                stall: Some((2, ms(25))),
                ..base()
            }),
            verdict: &["idle", "the host prepares input"],
            hint: "K34",
            culprit: &["waits for input"],
        },
        Planted {
            name: "input of a host without devices",
            session: waiting_host(),
            verdict: &[
                "90.0 % of the time of steps is waiting for input on",
                "(IteratorGetNext)",
            ],
            hint: "K34",
            culprit: &["90.0 %", "IteratorGetNext"],
        },
        Planted {
            name: "exposed communication",
            session: trained(base()),
            verdict: &["communication that blocks the core", "all-gather"],
            hint: "K01",
            culprit: &["exposed"],
        },
        Planted {
            name: "host offload",
            session: ops(
                60,
                40,
                "M = fusion.1 [convolution fusion]\nx = copy-done.7 [copy-done] :: %copy-done.7 = f32[8]{0:S(5)} copy-done(%copy-start.7)",
            ),
            verdict: &["waits for copies (copy-done)"],
            hint: "K26",
            culprit: &["copy-done.7"],
        },
        Planted {
            name: "padding",
            session: ops(
                0,
                100,
                "x = fusion.3 [convolution] flops=24_625_000_000 hbm_read=1 hbm_write=1 :: %fusion.3 = f32[1024,1024]{1,0} dot(f32[1024,16]{1,0} %a, f32[16,1024]{1,0} %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
            ),
            verdict: &["multiplies matrices"],
            hint: "K11",
            culprit: &["fusion.3"],
        },
        Planted {
            name: "small batch",
            session: ops(
                10,
                90,
                "M = add.1 [loop fusion]\nx = fusion.3 [convolution] flops=6_040_000_000 hbm_read=380_000_000 hbm_write=1 :: %fusion.3 = bf16[16,4096]{1,0} dot(bf16[16,4096]{1,0} %a, bf16[4096,4096]{1,0} %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
            ),
            verdict: &["multiplies matrices"],
            hint: "K16",
            culprit: &["M of fusion.3 (sequences × tokens) is 16"],
        },
        Planted {
            name: "full memory",
            session: recomputing_in(95),
            verdict: &["elementwise", "is 95.0 % full at its peak"],
            hint: "K50",
            culprit: &["95.0 % full", "950.0 MB of 1.000 GB"],
        },
        Planted {
            name: "recomputing to save memory",
            session: ops(
                60,
                40,
                "M = fusion.1 [convolution fusion]\nx = add.2.remat [loop fusion]",
            ),
            verdict: &["elementwise"],
            hint: "K24",
            culprit: &["add.2.remat"],
        },
    ]
}

#[test]
fn planted_cause_is_found_and_named() {
    let mut wrong = Vec::new();
    for planted in planted() {
        let verdict = planted
            .session
            .report::<RunVerdict>(Scope::WholeTrace)
            .unwrap();
        let hints = planted.session.report::<Hints>(Scope::WholeTrace).unwrap();
        let missing = planted
            .verdict
            .iter()
            .filter(|word| !verdict.statement.contains(**word));
        wrong.extend(
            missing.map(|word| format!("{}: no {word:?} in {:?}", planted.name, verdict.statement)),
        );
        let Some(first) = hints.hints.iter().find(|hint| !hint.id.starts_with('Q')) else {
            wrong.push(format!("{}: no hint", planted.name));
            continue;
        };
        if first.id != planted.hint {
            let ids: Vec<_> = hints
                .hints
                .iter()
                .map(|hint| (hint.id, hint.saving_percent))
                .collect();
            wrong.push(format!(
                "{}: {} comes first, not {} ({ids:?})",
                planted.name, first.id, planted.hint
            ));
        }
        let missing = planted
            .culprit
            .iter()
            .filter(|word| !first.statement.contains(**word));
        wrong.extend(
            missing.map(|word| format!("{}: no {word:?} in {:?}", planted.name, first.statement)),
        );
        let open = disagreements(&verdict, &hints);
        wrong.extend(
            open.into_iter()
                .map(|text| format!("{}: {text}", planted.name)),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nearly_full_memory_is_found() {
    let run = SyntheticRun::new(TrainingSpec::default());
    let peak = |gib: i64| {
        let session = captured(&session_with_weights(&run, gib << 30).0);
        session
            .report::<Memory>(Scope::WholeTrace)
            .unwrap()
            .peak_percent()
            .unwrap()
            .0
    };
    assert!(peak(5) < 70.0, "{}", peak(5));
    assert!((93.0..100.0).contains(&peak(10)), "{}", peak(10));
}

/// The sentence that comes first for captures with a planted cause, however many ops, steps and devices they have.
#[test]
fn limit_of_the_loop_is_the_planted_one() {
    let Some(corpus) = corpus() else { return };
    let planted = [
        (
            &["lowmxu_6", "lowmxu_60"][..],
            "Matrix products take 90.0 % of each step at 20.0 % of peak FLOP/s:",
        ),
        (
            &["lowbw_6", "lowbw_60"],
            "Element-wise work takes 90.0 % of each step at 20.0 % of peak HBM bandwidth:",
        ),
        (
            &["hbm90_6", "hbm90_60"],
            "Element-wise work takes 90.0 % of each step at 90.0 % of peak HBM bandwidth:",
        ),
        (
            &["decode10", "decode_hbm92"],
            "Matrix products take 99.0 % of each step at 92.0 % of peak HBM bandwidth:",
        ),
        (
            &["cA", "norec_v6e"],
            "The loop waits for communication 15.0 % of each step:",
        ),
        (
            &["k06_2steps_sl0", "k06_4steps_sl0"],
            "The loop waits for communication 17.9 % of each step:",
        ),
        // It waits for input, too, but 0.1 ms less.
        (
            &["cIN"],
            "The loop waits for communication 14.3 % of each step:",
        ),
        (&["base_v6e"], "The loop waits for compilation "),
        (
            &["sync_bur_child", "sync_bur_nochild", "sync_bur_arrayimpl"],
            "The loop stalls while the host waits for results 29.0 % of each step:",
        ),
        // 10 of 19 steps of one of the four devices, and 2 of 20 ms in all others.
        (
            &["late_joiner"],
            "The devices, mostly TPU:3 (joined late), are idle 21.8 % of each step:",
        ),
    ];
    let mut wrong = Vec::new();
    for (names, sentence) in planted {
        for name in names {
            let path = corpus.join("planted").join(format!("{name}.xplane.pb"));
            let (import, options) = (ImportOptions::default(), Options::default());
            let session = Session::open(&path, &import, options, &Progress::default()).unwrap();
            let hints = session.report::<Hints>(Scope::WholeTrace).unwrap();
            let limit = hints.limit.as_ref().expect("it has devices");
            if !limit.statement.starts_with(sentence) {
                wrong.push(format!("{name}: {}", limit.statement));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What happens once is said, but does not come first.
#[test]
fn warm_up_is_outside_of_the_loop() {
    let fleet = FleetSpec {
        compiles: vec![0],
        ..FleetSpec::default()
    };
    let session = captured(&fleet.session());
    let hints = session.report::<Hints>(Scope::WholeTrace).unwrap();
    let ids: Vec<&str> = hints.hints.iter().map(|hint| hint.id).collect();
    assert!(ids[0] != "K49" && ids.contains(&"K49"), "{ids:?}");
    let limit = hints.limit.as_ref().unwrap();
    let outside = limit.outside.as_ref().expect("compiling is outside");
    assert!(
        outside
            .compile_ps
            .is_some_and(|time| 2 * time.ps() > outside.time_ps.ps()),
        "{outside:?}"
    );
    let whole: f64 = limit.parts.iter().map(|part| part.time_ps).sum();
    assert!((whole - limit.of_ps).abs() < 1.0);
}
