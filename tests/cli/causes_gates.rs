//! Gates written for a good run fail a run with a planted cause.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use analysis::Scope;
use analysis::compare::Summary;
use analysis::gates::is_listed;
use sample_traces::fleet::FleetSpec;
use sample_traces::memory::session_with_weights;
use sample_traces::synthetic::{SyntheticRun, TrainingSpec};
use sample_traces::text_trace;
use serde_json::Value;
use session::Session;
use trace_model::Picos;

use crate::causes::{captured, open};

/// A good run, a bad one, and the metrics that may fail for this cause; the first must.
struct Judged {
    name: &'static str,
    good: Session,
    bad: Session,
    metrics: &'static [&'static str],
}

/// Eight steps of 50 µs of a matmul, then `other` columns of 10 µs of another op.
fn steps_with(other: usize, legend: &str) -> Session {
    let steps: String = ('0'..='7')
        .map(|number| number.to_string().repeat(6 + other))
        .collect();
    let work = format!("MMMMM{}.", "x".repeat(other)).repeat(8);
    open(text_trace(&format!(
        "@column 10us\n@device flops=197e12 hbm=819e9 TPU v5 lite\nsteps: {steps}\nops: {work}\n\
         M = fusion.1 [convolution fusion]\n{legend}"
    )))
}

#[expect(clippy::too_many_lines, reason = "one list of cases")]
fn judged() -> Vec<Judged> {
    let ms = |ms: i64| Picos::from_ps(ms * trace_model::time::PS_PER_MS);
    let fleet = |spec: FleetSpec| captured(&spec.session());
    let base = || FleetSpec {
        calls: true,
        ..FleetSpec::default()
    };
    let drawn = |name, legend: &str, metrics| Judged {
        name,
        good: steps_with(1, legend),
        bad: steps_with(4, legend),
        metrics,
    };
    // The same work in a matmul of the same duration, with full tiles and with tiles that are one eighth full.
    let product = |k: u32| {
        format!(
            "x = fusion.3 [convolution] flops=2_000_000 hbm_read=1 hbm_write=1 :: %fusion.3 = f32[1024,1024]{{1,0}} \
             dot(f32[1024,{k}]{{1,0}} %a, f32[{k},1024]{{1,0}} %b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"
        )
    };
    let memory = |gib: i64| {
        let run = SyntheticRun::new(TrainingSpec {
            steps: 8,
            ..TrainingSpec::default()
        });
        captured(&session_with_weights(&run, gib << 30).0)
    };
    vec![
        Judged {
            name: "recompile",
            good: fleet(base()),
            bad: fleet(FleetSpec {
                compiles: vec![12],
                ..base()
            }),
            metrics: &[
                "compile.loop_count",
                "loop.step_ms",
                "loop.slow_pct",
                "compile.wall_ms",
            ],
        },
        Judged {
            name: "long warm-up",
            good: fleet(FleetSpec {
                compiles: vec![0],
                ..base()
            }),
            bad: fleet(FleetSpec {
                compiles: vec![0],
                compile: ms(1500),
                ..base()
            }),
            metrics: &["compile.wall_ms"],
        },
        Judged {
            name: "straggler",
            good: fleet(base()),
            bad: fleet(FleetSpec {
                straggler: Some((5, ms(3))),
                ..base()
            }),
            metrics: &["step.time_ms", "loop.step_ms", "step.exposed_comm_pct"],
        },
        Judged {
            name: "input stall",
            good: fleet(base()),
            bad: fleet(FleetSpec {
                input: ms(6),
                ..base()
            }),
            metrics: &[
                "input_wait_pct",
                "loop.step_ms",
                "step.idle_pct",
                "step.time_ms",
            ],
        },
        Judged {
            name: "exposed communication",
            good: fleet(base()),
            bad: fleet(FleetSpec {
                reduce: ms(6),
                ..base()
            }),
            metrics: &["step.exposed_comm_pct", "step.time_ms", "loop.step_ms"],
        },
        Judged {
            name: "memory pressure",
            good: memory(5),
            bad: memory(10),
            metrics: &["memory.peak_pct", "memory.peak_gib"],
        },
        drawn(
            "host offload",
            "x = copy-done.7 [copy-done] :: %copy-done.7 = f32[8]{0:S(5)} copy-done(%copy-start.7)",
            &["host_offload_wait_pct", "step.time_ms", "loop.step_ms"],
        ),
        Judged {
            name: "padding",
            good: steps_with(2, &product(1024)),
            bad: steps_with(2, &product(16)),
            metrics: &["padding_waste_pct"],
        },
        drawn(
            "recomputing to save memory",
            "x = add.2.remat [loop fusion]",
            &["recompute_pct", "step.time_ms", "loop.step_ms"],
        ),
    ]
}

/// Errors of the gates that `systole init` writes for the good run, evaluated on the bad one; empty if there are none.
fn wrongly_judged(judged: &Judged) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, session) in [("good.json", &judged.good), ("bad.json", &judged.bad)] {
        let summary = Summary::of(&session.context(Scope::WholeTrace)).unwrap();
        fs::write(
            folder.path().join(name),
            serde_json::to_vec(&summary).unwrap(),
        )
        .unwrap();
    }
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
        command
            .current_dir(folder.path())
            .env_remove("GITHUB_ACTIONS")
            .env_remove("GITHUB_STEP_SUMMARY");
        command.args(args).output().unwrap()
    };
    let judge = |run_name: &str| {
        run(&[
            "compare",
            "good.json",
            run_name,
            "--budget",
            "systole.toml",
            "--format",
            "json",
        ])
    };
    let written = run(&["init", "good.json", "-o", "systole.toml"]);
    let good = judge("good.json");
    let bad = judge("bad.json");
    let codes = [&written, &good, &bad].map(|output| output.status.code());
    let mut wrong = Vec::new();
    if codes != [Some(0), Some(0), Some(10)] {
        let said = [&written, &good, &bad]
            .map(|output| String::from_utf8_lossy(&output.stderr).into_owned());
        wrong.push(format!(
            "{}: init, the good and the bad run exit with {codes:?}: {}",
            judged.name,
            said.concat()
        ));
        return wrong;
    }
    let report: Value = serde_json::from_slice(&bad.stdout).unwrap();
    let gates = report["gates"]["gates"].as_array().unwrap();
    let failed: Vec<&str> = gates
        .iter()
        .filter(|gate| gate["status"] == "fail" && gate["level"] == "error")
        .map(|gate| gate["metric"].as_str().unwrap())
        .collect();
    let is_found = judged
        .metrics
        .first()
        .is_some_and(|metric| failed.contains(metric));
    if !is_found || failed.iter().any(|metric| !judged.metrics.contains(metric)) {
        wrong.push(format!(
            "{}: {failed:?} fail, not {:?}",
            judged.name, judged.metrics
        ));
    }
    wrong
}

#[test]
fn gates_of_a_good_run_fail_a_run_with_a_planted_cause() {
    let wrong: Vec<String> = judged().iter().flat_map(wrongly_judged).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Numbers of the summary of a run that are not in the list of metrics, and how many are.
pub(super) fn listed_metrics(session: &Session) -> (BTreeSet<String>, BTreeSet<String>) {
    let Ok(summary) = Summary::of(&session.context(Scope::WholeTrace)) else {
        return Default::default();
    };
    let values = summary.values.iter().map(|value| (&value.id, value.unit));
    let series = summary.series.iter().chain(&summary.loop_series);
    let (listed, unlisted): (Vec<_>, Vec<_>) = values
        .chain(series.map(|series| (&series.id, series.unit)))
        .partition(|(id, unit)| is_listed(id, *unit));
    let ids = |found: Vec<(&String, _)>| found.into_iter().map(|(id, _)| id.clone()).collect();
    (ids(listed), ids(unlisted))
}
