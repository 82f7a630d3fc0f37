//! What the doctor says of a capture, as hints.

use engine::{Context, Options, ReportCache, Scope};
use run_reports::Doctor;
use sample_traces::text_trace;

use super::{report, run};
use crate::hints::{HintSeverity, Hints, rules};

/// Nine steps, of which the first takes so many columns.
fn slow_start(columns: usize) -> String {
    let rest: String = ('1'..='8').map(|step| run(step, 10)).collect();
    let steps = format!("{}{rest}", run('0', columns));
    format!(
        "@device flops=1e12 hbm=1e9 TPU v5 lite\n@column 1us\nsteps: {steps}\nops: {}{}\nx = copy.1 [copy]\nw = fusion.1 [convolution fusion]",
        run('x', 20),
        run('w', steps.len() - 20)
    )
}

#[test]
fn capture_problems_follow_program_hints() {
    let slow = report(&slow_start(31));
    let order: Vec<_> = slow
        .hints
        .iter()
        .map(|hint| (hint.id, hint.severity == HintSeverity::Health))
        .collect();
    assert_eq!(order.last(), Some(&("Q09", true)), "{order:?}");
    assert!(
        order.iter().any(|(id, health)| *id == "K19" && !health),
        "{order:?}"
    );
    let hint = slow.hints.last().unwrap();
    assert_eq!((hint.saving_ps, hint.saving_percent), (None, None));
    assert!(
        hint.statement.contains("step 0 took 3.1 × the median"),
        "{}",
        hint.statement
    );
    assert!(report(&slow_start(29)).quiet.contains(&"Q09"));
}

#[test]
fn informational_findings_are_not_hints() {
    // Steps from programs are as good as recorded ones: the doctor mentions it only.
    let model = text_trace(
        "@column 1us\nmodules: AAA.AAA.AAA\nops: aaa.aaa.aaa\nA = jit_f(1)\na = f [loop fusion]",
    );
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    assert!(
        cx.report::<Doctor>()
            .unwrap()
            .findings
            .iter()
            .any(|finding| finding.id == "Q03")
    );
    assert!(cx.report::<Hints>().unwrap().quiet.contains(&"Q03"));
}

#[test]
fn host_only_trace_has_host_hints() {
    let found = report("@column 1ms\nhost python: cccc\nc = backend_compile");
    assert_eq!(found.hints.first().map(|hint| hint.id), Some("K49"));
    for id in ["Q03", "Q04"] {
        assert!(found.hints.iter().any(|hint| hint.id == id), "{id}");
    }
}

#[test]
fn every_finding_of_the_doctor_has_a_page() {
    let source = include_str!("../../../../../run-reports/src/summary/doctor/rules.rs");
    let ids = source
        .match_indices("id: \"Q")
        .filter_map(|(at, _)| source.get(at + 5..at + 8));
    for id in ids {
        assert!(
            rules().iter().any(|rule| rule.id == id && rule.is_health()),
            "{id}"
        );
    }
}
