//! What devices and hosts do to each other.

use engine::{Context, HintOptions, Options, ReportCache, Scope};
use sample_traces::{parallel, text_trace};
use trace_model::Picos;

use super::{about_program, report, report_of, run};
use crate::hints::Hints;

#[test]
fn straggler_wait_is_measured_at_collectives() {
    let saving = |work: &[i64]| {
        let found = report_of(&parallel(1, &[work; 4]), HintOptions::default());
        found
            .hints
            .iter()
            .find(|hint| hint.id == "K06")
            .and_then(|hint| Some(hint.saving_ps?.ps()))
    };
    // Ops of picoseconds are tiny, too.
    assert_eq!(
        about_program(&report_of(
            &parallel(1, &[&[100, 96][..]; 4]),
            HintOptions::default()
        )),
        ["K01", "K02", "K15", "K06"]
    );
    // 4 of 120 in each step; 3 of 120 are below three percent.
    assert_eq!(saving(&[100, 96]), Some(4));
    assert_eq!(saving(&[100, 97]), None);
}

#[test]
fn slowest_host_is_named() {
    let found = |work: &[i64]| report_of(&parallel(work.len(), &[work; 4]), HintOptions::default());
    let slow = found(&[100, 102, 99, 140]);
    let hint = slow.hints.iter().find(|hint| hint.id == "K08").unwrap();
    assert!(hint.statement.contains("host3"), "{}", hint.statement);
    assert_eq!(
        about_program(&slow),
        ["K06", "K15", "K08", "K07", "K01", "K02"]
    );
    // Above the median of 101.
    assert_eq!(hint.saving_ps, Some(Picos::from_ps(39)));
    assert!(!about_program(&found(&[100, 102, 99, 101])).contains(&"K08"));
}

/// Two programs on each of two devices, which wait so long for each other before the second.
pub(super) fn barrier(columns: usize) -> String {
    let lines = |device: usize| {
        let (half, wait) = (45, columns);
        format!(
            "TPU:{device} modules: {program}{idle}{program}\nTPU:{device} ops: {ops}{idle}{ops}\n\
             TPU:{device} scopes: {before}{barrier}\n",
            program = run('P', half),
            idle = run('.', wait),
            ops = run('M', half),
            before = run('.', half),
            barrier = run('b', wait),
        )
    };
    let (first, second) = (lines(0), lines(1));
    format!(
        "@column 1us\n{first}{second}P = jit_step(7)\nM = fusion.1 [convolution fusion]\nb = barrier-cores"
    )
}

#[test]
fn barrier_time_above_the_threshold_is_a_hint() {
    let waits = report(&barrier(10));
    let hint = waits.hints.iter().find(|hint| hint.id == "K09").unwrap();
    assert_eq!(about_program(&waits), ["K09", "K31"]);
    assert!(
        hint.statement.contains("10.0 % of its window"),
        "{}",
        hint.statement
    );
    assert!(!about_program(&report(&barrier(9))).contains(&"K09"));
}

/// Steps of so many milliseconds each, marked by the host, with so many left out: what K48 says to do, and its saving.
fn varying(lengths: &[usize], warmup_steps: u32) -> Option<(String, Option<i64>)> {
    let letters: Vec<char> = ('A'..='Z').take(lengths.len()).collect();
    let steps = letters.iter().zip(lengths);
    let steps: String = steps.map(|(&letter, &ms)| run(letter, ms)).collect();
    let legend: Vec<String> = letters
        .iter()
        .enumerate()
        .map(|(at, letter)| format!("{letter} = train step={at}"))
        .collect();
    let legend = legend.join("\n");
    let model = text_trace(&format!("@column 1ms\nhost python: {steps}\n{legend}"));
    let (options, reports) = (
        Options {
            warmup_steps,
            ..Options::default()
        },
        ReportCache::default(),
    );
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    let found = cx.report::<Hints>().unwrap();
    let hint = found.hints.iter().find(|hint| hint.id == "K48")?;
    let code = hint.code.as_deref().unwrap_or_default();
    Some((
        format!("{} | {} {code}", hint.brief, hint.action),
        hint.saving_ps.map(Picos::ps),
    ))
}

/// Slow first steps are a warm-up: they have no price in a step, and no change of the loop makes them faster.
#[test]
fn slow_first_steps_are_left_out_and_not_cured() {
    let one = [60, 10, 10, 10, 10, 10, 10, 10, 10];
    let (action, saving) = varying(&one, 0).unwrap();
    assert!(
        action.contains("The first step is a warm-up: leave it out with `--warmup 1`"),
        "{action}"
    );
    assert_eq!(saving, None);
    // What is left out is not judged.
    assert_eq!(varying(&one, 1), None);
    // Five of twenty; the others vary, too: the mean of 15 is 8 ms, the tenth percentile 6 ms.
    let rest = [8, 8, 11, 8, 6, 6, 6, 8, 8, 8, 8, 11, 8, 8, 8];
    let (action, saving) = varying(&[&[24, 21, 21, 18, 14][..], &rest].concat(), 0).unwrap();
    let brief = action.split(" | ").next().unwrap_or_default();
    assert!(brief.contains("`--warmup 5`"), "{action}");
    assert!(!action.contains("gc.collect()"), "{action}");
    assert_eq!(saving, Some(2_000_000_000));
    // Slow ones in between are none.
    let (action, saving) = varying(&[10, 10, 60, 10, 10, 10, 10, 10, 10], 0).unwrap();
    assert!(
        !action.contains("--warmup") && action.contains("gc.collect()"),
        "{action}"
    );
    assert_eq!(saving, Some(50_000_000_000 / 9));
}
