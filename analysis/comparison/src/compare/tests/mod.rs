//! Comparisons of traces drawn as text, whose results can be counted, and of hand-written summaries.

mod differences;
mod environment;
mod headline;
mod matching;
mod missing;
mod noise;
mod why;

use device_reports::StepPart;
use engine::{Context, Options, ReportCache, Scope, Tabular as _};
use sample_traces::text_trace;

use super::matching::match_ops;
use super::*;

fn summary(picture: &str) -> Summary {
    let model = text_trace(picture);
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    Summary::of(&cx).unwrap()
}

const LEGEND: &str = "
    M = jit_step(7)
    m = fusion.1 [convolution fusion] tf=jit(f)/dot source=a.py:1 :: %fusion.1 = f32[8,8]{1,0} fusion(f32[8,8] %p)
    v = fusion.2 [loop fusion] tf=jit(f)/add source=a.py:2 :: %fusion.2 = f32[8,8]{1,0} fusion(f32[8,8] %p)
    s = all-gather-start.1 [all-gather-start] tf=jit(f)/gather
    f = all-gather-start.1 [all-gather-start] done=all-gather-done.1
    d = all-gather-done.1 [all-gather-done] tf=jit(f)/gather
";

/// 12 ns: 4 of matmul, 2 of vector work, 1 of a start op, 3 exposed in flight, 1 of a done op, 1 idle.
fn base() -> Summary {
    summary(&format!(
        "
        steps: 000000000000111111111111
        modules: MMMMMMMMMMM.MMMMMMMMMMM.
        ops  : mmmmsvv...d.mmmmsvv...d.
        async: .....fffff.......fffff..
        {LEGEND}
        "
    ))
}

/// Ops are numbered differently; matmul takes 2 ns more, 1 ns less is exposed.
fn cand() -> Summary {
    let legend = LEGEND
        .replace("jit_step(7)", "jit_step(8)")
        .replace("fusion.1", "fusion.9")
        .replace("fusion.2", "fusion.1");
    summary(&format!(
        "
        steps: 00000000000001111111111111
        modules: MMMMMMMMMMMM.MMMMMMMMMMMM.
        ops  : mmmmmmsvv..d.mmmmmmsvv..d.
        async: .......ffff.........ffff..
        {legend}
        "
    ))
}

/// A synthetic run: `steps` steps of `ms` with a deterministic wobble of `wobble` percent, half of it in one op.
fn made(ms: f64, wobble: f64, steps: u32, phase: u32) -> Summary {
    let time =
        |i: u32| ms * 1e9 * (1.0 + wobble / 100.0 * (f64::from((i * 7 + phase) % 10) / 4.5 - 1.0));
    let times: Vec<f64> = (0..steps).map(time).collect();
    let mut run = ops_of(&["fusion.1 loop f32[8] a"], Some("1"));
    run.ops[0].values = times.iter().map(|time| time / 2.0).collect();
    run.ops[0].middle_ps = ms * 1e9 / 2.0;
    run.rest = vec![RestTimes {
        part: StepPart::Idle,
        shape: None,
        cause: None,
        middle_ps: ms * 1e9 / 2.0,
    }];
    run.steps = StepFacts {
        source: "modules".to_owned(),
        counted: steps as usize,
        middle_ps: ms * 1e9,
        ..StepFacts::default()
    };
    let (id, title) = ("step.time_ps".to_owned(), "Step time".to_owned());
    run.series = vec![StepSeries {
        id,
        title,
        unit: Unit::Picoseconds,
        better: Better::Lower,
        values: times,
    }];
    run
}

fn series(id: &str, unit: Unit, values: Vec<f64>) -> StepSeries {
    StepSeries {
        id: id.to_owned(),
        title: id.to_owned(),
        unit,
        better: Better::Lower,
        values,
    }
}

/// Ops in order, each as `name category shape origin`.
fn ops_of(lines: &[&str], program: Option<&str>) -> Summary {
    let op = |(place, line): (usize, &&str)| {
        let mut words = line.split(' ').map(str::to_owned);
        let mut word = || words.next().filter(|word| word != "-");
        OpTimes {
            program: Some(0),
            name: word().unwrap_or_default(),
            category: word().unwrap_or_default(),
            part: StepPart::Vector,
            is_collective: false,
            shape: word(),
            source: None,
            framework: word(),
            operands: None,
            place: place as u32,
            runs: 1.0,
            middle_ps: 1.0,
            values: vec![1.0],
        }
    };
    let programs = vec![ProgramFacts {
        name: "jit_f".to_owned(),
        id: program.map(str::to_owned),
        ..Default::default()
    }];
    Summary {
        facts: SummaryFacts {
            programs,
            ..SummaryFacts::default()
        },
        ops: lines.iter().enumerate().map(op).collect(),
        ..Summary::default()
    }
}

#[test]
fn parts_of_a_summary_sum_to_the_step() {
    let base = base();
    let times: Vec<_> = base
        .ops
        .iter()
        .map(|op| (op.name.as_str(), op.middle_ps as i64))
        .collect();
    // The start op has its own nanosecond and the three in which nothing else runs.
    let expected = [
        ("all-gather-start.1", 4000),
        ("fusion.1", 4000),
        ("fusion.2", 2000),
        ("all-gather-done.1", 1000),
    ];
    assert_eq!(times, expected);
    assert_eq!(
        base.rest,
        [RestTimes {
            part: StepPart::Idle,
            shape: None,
            cause: None,
            middle_ps: 1000.0
        }]
    );
    assert_eq!((base.steps.middle_ps, base.steps.counted), (12_000.0, 2));
    let series = |id: &str| base.series(id).unwrap().values.clone();
    assert_eq!(series("step.time_ps"), [12_000.0, 12_000.0]);
    assert_eq!(series("step.exposed_comm_ps"), [5_000.0, 5_000.0]);
    assert_eq!(base.ops[1].shape.as_deref(), Some("f32[8,8]"));
    assert_eq!(
        base.ops.iter().map(|op| op.runs).collect::<Vec<_>>(),
        [1.0; 4]
    );
}

#[test]
fn step_change_is_attributed_to_renumbered_ops() {
    let compared = compare(&[base()], &[cand()], &CompareOptions::default());
    assert!(compared.is_comparable);
    let attribution = compared.attribution.as_ref().unwrap();
    assert_eq!(attribution.change_ps, 1_000.0);
    let groups = attribution.uses.iter().flat_map(|one| &one.groups);
    let changes: Vec<_> = groups
        .map(|group| (group.name.as_str(), group.times.change_ps as i64))
        .collect();
    let sum: i64 = changes.iter().map(|(_, change)| change).sum();
    assert_eq!(sum, attribution.change_ps as i64);
    let expected = [
        ("XLA f32 fusions", 2_000),
        ("all-gather", -1_000),
        ("add", 0),
        ("idle", 0),
    ];
    assert_eq!(changes, expected);
    let op = &compared.ops[0];
    assert_eq!(
        (op.base_name.as_deref(), op.cand_name.as_deref()),
        (Some("fusion.1"), Some("fusion.9"))
    );
    assert_eq!(op.how, Some(MatchedBy::Renumbered));
    assert_eq!(
        compared.brief.conclusion.as_deref(),
        Some(
            "2.000 ns more in matrix products (XLA f32 fusions at a.py:1); 1.000 ns less elsewhere, most in waiting for \
             communication (all-gather, -1.000 ns)"
        )
    );
    // Two steps per side allow no conclusion.
    assert_eq!(compared.steps[0].change.finding, ChangeVerdict::TooFew);
    assert!(
        compared.statement.contains("too few"),
        "{}",
        compared.statement
    );
}

#[test]
fn run_equals_itself_and_its_saved_summary() {
    for other in [
        base(),
        Summary::from_json(&base().shortened(2, 1).to_json().unwrap()).unwrap(),
    ] {
        let compared = compare(&[base()], &[other], &CompareOptions::default());
        assert_eq!(compared.differences, []);
        assert!(
            compared
                .steps
                .iter()
                .all(|series| series.change.change == Some(0.0)),
            "{:?}",
            compared.steps
        );
        assert!(
            compared
                .ops
                .iter()
                .all(|op| op.change.change == Some(0.0) && op.how.is_some())
        );
        let attribution = compared.attribution.unwrap();
        assert!(
            attribution
                .uses
                .iter()
                .all(|one| one.times.change_ps == 0.0),
            "{:?}",
            attribution.uses
        );
        assert_eq!(attribution.conclusion(), None);
        let expected =
            "the loop of 2 steps is unchanged: 24.00 ns; the median step is unchanged: 12.00 ns";
        assert_eq!(compared.statement, expected);
    }
}

#[test]
fn incomparable_runs_have_no_percentages() {
    let mut other = base();
    other.facts.devices = 4;
    let compared = compare(&[base()], &[other.clone()], &CompareOptions::default());
    assert!(!compared.is_comparable);
    assert_eq!(
        compared.statement,
        "not the same work: the runs differ in devices (1 against 4)"
    );
    assert_eq!(
        compared
            .tables()
            .iter()
            .map(|table| table.id)
            .collect::<Vec<_>>(),
        ["differences"]
    );
    let forced = CompareOptions {
        force: true,
        ..CompareOptions::default()
    };
    assert!(compare(&[base()], &[other], &forced).is_comparable);
    let required = CompareOptions {
        require: vec!["module_fingerprint".to_owned()],
        ..CompareOptions::default()
    };
    assert!(!compare(&[base()], &[cand()], &required).is_comparable);
}

/// One number does not stand for runs of other chips.
#[test]
fn unlike_runs_of_one_side_are_not_pooled() {
    let mut other = base();
    other.facts.devices = 4;
    let pooled = [base(), other];
    for (first, second, side) in [
        (&pooled[..], &[cand()][..], "base"),
        (&[cand()][..], &pooled[..], "cand"),
    ] {
        let found = compare(first, second, &CompareOptions::default());
        assert!(!found.is_comparable);
        let within = format!("within {side}");
        assert!(found.statement.contains(&within), "{}", found.statement);
    }
    let alike = compare(&[base(), base()], &[cand()], &CompareOptions::default());
    assert!(alike.is_comparable, "{}", alike.statement);
}

#[test]
fn broken_summaries_are_refused() {
    let good = base().to_json().unwrap();
    assert!(Summary::is_meant(good.as_bytes()));
    assert!(matches!(
        Summary::from_json("{}"),
        Err(SummaryError::Json(_))
    ));
    assert!(matches!(
        Summary::from_json(&good.replace("summary/1", "summary/2")),
        Err(SummaryError::Schema(_))
    ));
    assert!(matches!(
        Summary::from_json(&good.replace("12000.0", "1e300")),
        Err(SummaryError::Broken(_))
    ));
    assert!(matches!(
        Summary::from_json(&good.replace("\"program\": 0", "\"program\": 9")),
        Err(SummaryError::Broken(_))
    ));
    // Fields of a later release under the same schema version are skipped.
    assert!(Summary::from_json(&good.replacen('{', "{\"added\": 1,", 1)).is_ok());
}

/// A saved summary lists only the largest ops. The share of results in shapes that the other run lacks is the same.
#[test]
fn shapes_of_a_saved_summary_are_those_of_its_trace() {
    let run = |shapes: &str| {
        let ops = shapes.split(' ').map(|shape| {
            let (name, shape) = shape.split_once('=').unwrap();
            format!("{name} = {name} [loop fusion] tf=jit(f)/{name} :: %{name} = {shape}{{0}} fusion()\n")
        });
        summary(&format!(
            "
            steps: 00000000001111111111
            modules: MMMMMMMMMMMMMMMMMMMM
            ops  : aaaaabbbccaaaaabbbcc
            M = jit_step(7)
            {}",
            ops.collect::<String>()
        ))
    };
    let shapes = |base: &Summary, cand: &Summary| {
        let found = comparable::differences(base, cand, &[]);
        found
            .into_iter()
            .find(|found| found.id == "shapes")
            .map(|found| (found.base, found.cand))
            .unwrap()
    };
    let (base, cand) = (
        run("a=f32[8] b=f32[4] c=f32[2]"),
        run("a=f32[8] b=f32[5] c=f32[1]"),
    );
    let saved = |run: &Summary| run.clone().shortened(1, 2);
    let expected = shapes(&base, &cand);
    assert_eq!(expected, ("50 %".to_owned(), "50 %".to_owned()));
    for (base, cand) in [
        (saved(&base), cand.clone()),
        (base.clone(), saved(&cand)),
        (saved(&base), saved(&cand)),
    ] {
        assert_eq!(shapes(&base, &cand), expected);
    }
}
