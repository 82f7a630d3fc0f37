//! Comparisons of traces drawn as text, whose results can be counted, and of hand-written summaries.

mod headline;

use device_reports::steps::step_parts::StepPart;
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
    let sum: f64 = attribution
        .families
        .iter()
        .map(|family| family.change_ps)
        .sum();
    assert_eq!(sum, attribution.change_ps);
    let changes: Vec<_> = attribution
        .families
        .iter()
        .map(|f| (f.name.as_str(), f.change_ps as i64))
        .collect();
    let expected = [
        ("fusion.1 → fusion.9", 2_000),
        ("all-gather-start.1", -1_000),
        ("all-gather-done.1", 0),
        ("fusion.2 → fusion.1", 0),
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
        sentence(attribution).unwrap(),
        "mean of the middle half of steps +1.000 ns: fusion.1 → fusion.9 +2.000 ns, all-gather-start.1 -1.000 ns exposed"
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
                .families
                .iter()
                .all(|family| family.change_ps == 0.0),
            "{:?}",
            attribution.families
        );
        assert_eq!(sentence(&attribution), None);
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
        facts: RunFacts {
            programs,
            ..RunFacts::default()
        },
        ops: lines.iter().enumerate().map(op).collect(),
        ..Summary::default()
    }
}

fn matched(base: &[&str], cand: &[&str]) -> Vec<(String, String, MatchedBy)> {
    let (base, cand) = (ops_of(base, Some("1")), ops_of(cand, Some("2")));
    let matching = match_ops(&base, &cand);
    let name = |side: &Summary, index: usize| side.ops[index].name.clone();
    matching
        .pairs
        .iter()
        .map(|pair| (name(&base, pair.base), name(&cand, pair.cand), pair.how))
        .collect()
}

#[test]
fn ops_are_matched_by_their_properties() {
    let same = |how| move |base: &str, cand: &str| (base.to_owned(), cand.to_owned(), how);
    let (same_op, renumbered) = (same(MatchedBy::Same), same(MatchedBy::Renumbered));
    // Ops were renumbered: matching by name would pair the wrong ones.
    let base = [
        "fusion.1 loop f32[8] a",
        "dot.2 conv f32[8] b",
        "fusion.3 loop f32[8] c",
    ];
    let cand = [
        "fusion.1 loop f32[8] c",
        "fusion.2 loop f32[8] a",
        "dot.2 conv f32[8] b",
    ];
    let expected = [
        renumbered("fusion.1", "fusion.2"),
        same_op("dot.2", "dot.2"),
        renumbered("fusion.3", "fusion.1"),
    ];
    assert_eq!(matched(&base, &cand), expected);
    let how = |base: &str, cand: &str| matched(&[base], &[cand]).first().map(|pair| pair.2);
    assert_eq!(
        how("fusion.1 loop f32[8] a", "add_fusion.7 loop f32[8] a"),
        Some(MatchedBy::Renamed)
    );
    assert_eq!(
        how("fusion.1 loop f32[8] a", "fusion.7 loop f32[16] a"),
        Some(MatchedBy::Reshaped)
    );
    assert_eq!(
        how(
            "kernel_64_2.1 call f32[8] a",
            "kernel_128_4.7 call f32[16] b"
        ),
        Some(MatchedBy::Retuned)
    );
    assert_eq!(
        how("copy.1 data f32[8] -", "copy.1 data f32[8] -"),
        Some(MatchedBy::SameName)
    );
    assert_eq!(
        how("a loop f32[8] a", "b loop f32[16] a"),
        Some(MatchedBy::SameOrigin)
    );
    assert_eq!(how("a loop f32[8] a", "b other f32[16] c"), None);
}

#[test]
fn ops_are_matched_by_name_only_within_the_same_program() {
    let (base, cand) = (
        ops_of(&["x loop f32[8] a"], Some("1")),
        ops_of(&["x other f32[9] b"], Some("1")),
    );
    assert_eq!(match_ops(&base, &cand).pairs[0].how, MatchedBy::SameProgram);
}

#[test]
fn identical_ops_match_in_order_and_the_extra_one_is_new() {
    // A layer was inserted: its op is the one whose neighbours differ.
    let base = [
        "a.1 loop f32[1] l",
        "fusion.1 loop f32[8] a",
        "b.1 loop f32[2] l",
        "fusion.2 loop f32[8] a",
        "c.1 loop f32[3] l",
    ];
    let cand = [
        "a.1 loop f32[1] l",
        "fusion.1 loop f32[8] a",
        "new.1 loop f32[9] n",
        "fusion.2 loop f32[8] a",
        "b.1 loop f32[2] l",
        "fusion.3 loop f32[8] a",
        "c.1 loop f32[3] l",
    ];
    let (base, cand) = (ops_of(&base, None), ops_of(&cand, None));
    let matching = match_ops(&base, &cand);
    let alone: Vec<&str> = matching
        .cand_only
        .iter()
        .map(|&i| cand.ops[i].name.as_str())
        .collect();
    assert_eq!(matching.base_only, [0_usize; 0]);
    assert_eq!(alone.len(), 2, "{alone:?}");
    assert!(alone.contains(&"new.1"), "{alone:?}");
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

#[test]
fn planted_regression_is_found_and_noise_is_not() {
    let verdict = |cand: Summary| {
        let compared = compare(
            &[made(100.0, 0.5, 30, 0)],
            &[cand],
            &CompareOptions::default(),
        );
        (
            compared.steps[0].change.finding,
            compared.ops[0].change.finding,
        )
    };
    assert_eq!(
        verdict(made(100.0, 0.5, 30, 3)),
        (ChangeVerdict::Noise, ChangeVerdict::Noise)
    );
    assert_eq!(
        verdict(made(110.0, 0.5, 30, 3)),
        (ChangeVerdict::Changed, ChangeVerdict::Changed)
    );
    assert_eq!(
        verdict(made(90.0, 0.5, 30, 3)),
        (ChangeVerdict::Changed, ChangeVerdict::Changed)
    );
    // Two runs of the same program may differ by as much.
    assert_eq!(
        verdict(made(102.0, 0.5, 30, 3)),
        (ChangeVerdict::BetweenRuns, ChangeVerdict::BetweenRuns)
    );
}

#[test]
fn several_runs_of_a_side_are_pooled() {
    let base = [made(100.0, 0.2, 20, 0), made(102.0, 0.2, 20, 1)];
    let compared = compare(
        &base,
        &[made(102.5, 0.2, 20, 2)],
        &CompareOptions::default(),
    );
    assert_eq!(compared.base.steps, 40);
    // The runs of base differ among themselves by the same amount.
    assert_eq!(compared.steps[0].change.finding, ChangeVerdict::BetweenRuns);
    assert_eq!(compared.ops[0].change.base.unwrap().count, 40);
    let found = compare(
        &base,
        &[made(110.0, 0.2, 20, 2)],
        &CompareOptions::default(),
    );
    assert_eq!(found.steps[0].change.finding, ChangeVerdict::Changed);
    let attribution = found.attribution.unwrap();
    assert_eq!((attribution.base_ps, attribution.change_ps), (101e9, 9e9));
}

#[test]
fn empty_runs_are_comparable() {
    let compared = compare(&[], &[base()], &CompareOptions::default());
    assert!(!compared.is_comparable);
    let empty = summary("host python: PPPP");
    let compared = compare(
        std::slice::from_ref(&empty),
        std::slice::from_ref(&empty),
        &CompareOptions::default(),
    );
    assert!(compared.attribution.is_none());
    assert!(!compared.tables().is_empty());
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

#[test]
fn missing_breakdown_of_one_side_is_not_zero() {
    let plain = made(100.0, 0.2, 20, 0);
    let mut divided = made(100.0, 0.2, 20, 1);
    divided
        .series
        .push(series("step.idle_percent", Unit::Percent, vec![10.0; 20]));
    let mut exposed = divided.clone();
    exposed.series.push(series(
        "step.exposed_comm_ps",
        Unit::Picoseconds,
        vec![5e9; 20],
    ));
    let change = |base: &Summary| {
        let compared = compare(
            std::slice::from_ref(base),
            &[exposed.clone()],
            &CompareOptions::default(),
        );
        let row = compared
            .steps
            .iter()
            .find(|row| row.id == "step.exposed_comm_ps")
            .unwrap();
        (row.change.base.map(|base| base.median), row.change.finding)
    };
    assert_eq!(change(&plain), (None, ChangeVerdict::OneSided));
    assert_eq!(change(&divided), (Some(0.0), ChangeVerdict::Changed));
    // One of several runs has no time in it: it counts as zero and is not left out.
    let both = compare(
        &[exposed.clone(), divided],
        &[exposed.clone()],
        &CompareOptions::default(),
    );
    let row = both
        .steps
        .iter()
        .find(|row| row.id == "step.exposed_comm_ps")
        .unwrap();
    assert_eq!(row.change.base.unwrap().count, 40);
}

#[test]
fn steps_without_a_core_do_not_shift_other_steps() {
    // The device takes part in the last two of three steps.
    let run = summary(&format!(
        "
        host python steps: 000000000000111111111111222222222222
        modules: ............MMMMMMMMMMM.MMMMMMMMMMM.
        ops  : ............mmmmsvv...d.mmmmmvv...d.
        {LEGEND}
        "
    ));
    if let Some(series) = run.series("step.time_ps") {
        assert_eq!(series.values.len(), run.steps.numbers.len(), "{run:?}");
    }
    assert!(
        run.ops
            .iter()
            .all(|op| op.values.len() == run.steps.counted),
        "{:?}",
        run.ops
    );
}

/// `count` ops of 1 ms each beside one of `ms`, over six steps with little variation.
fn many_ops(ms: f64, count: u32, us: f64) -> Summary {
    let mut run = made(100.0, 0.01, 6, 0);
    run.ops[0]
        .values
        .iter_mut()
        .for_each(|value| *value *= ms / 50.0);
    run.ops[0].middle_ps *= ms / 50.0;
    for number in 0..count {
        let mut op = run.ops[0].clone();
        (op.name, op.framework) = (format!("copy.{number}"), Some(format!("copy {number}")));
        op.values = (0..6)
            .map(|step| us * 1e6 * (1.0 + 0.001 * f64::from((step * 7 + number) % 10)))
            .collect();
        op.middle_ps = us * 1e6;
        run.ops.push(op);
    }
    run
}

#[test]
fn many_tested_ops_need_more_steps_and_negligible_ops_are_not_tested() {
    // 2 of 924 orders times 101 tests: no change of any size could be significant.
    let asked = |us: f64| {
        let (base, cand) = (many_ops(20.0, 100, us), many_ops(30.0, 100, us));
        let compared = compare(&[base], &[cand], &CompareOptions::default());
        let small = compared
            .ops
            .iter()
            .filter(|op| op.base_name.as_deref() != Some("fusion.1"));
        let small: Vec<ChangeVerdict> = small.map(|op| op.change.finding).collect();
        assert!(small.windows(2).all(|two| two[0] == two[1]), "{small:?}");
        (
            compared.ops[0].change.finding,
            small[0],
            compared.notes.len(),
        )
    };
    assert_eq!(
        asked(500.0),
        (ChangeVerdict::TooFew, ChangeVerdict::TooFew, 2)
    );
    // Ops below a thousandth of the step cannot change by the relevant amount: they are not tested.
    assert_eq!(
        asked(50.0),
        (ChangeVerdict::Changed, ChangeVerdict::Noise, 1)
    );
}

#[test]
fn programs_are_paired_by_fingerprint_then_name_then_size() {
    let programs = |list: &[(&str, Option<&str>)]| {
        let program = |&(name, id): &(&str, Option<&str>)| ProgramFacts {
            name: name.to_owned(),
            id: id.map(str::to_owned),
            ..ProgramFacts::default()
        };
        let programs: Vec<ProgramFacts> = list.iter().map(program).collect();
        let op = |place: usize| OpTimes {
            program: Some(place),
            ..ops_of(&["x loop f32[8] -"], None).ops[0].clone()
        };
        let ops = (0..programs.len()).map(op).collect();
        Summary {
            facts: RunFacts {
                programs,
                ..RunFacts::default()
            },
            ops,
            ..Summary::default()
        }
    };
    let base = programs(&[
        ("step", Some("1")),
        ("step", Some("2")),
        ("eval", None),
        ("a", Some("7")),
    ]);
    let cand = programs(&[
        ("step", Some("9")),
        ("b", Some("7")),
        ("eval", None),
        ("step", Some("1")),
    ]);
    let pairs: Vec<_> = match_ops(&base, &cand)
        .pairs
        .iter()
        .map(|pair| (pair.base, pair.cand, pair.how))
        .collect();
    let expected = [
        (0, 3, MatchedBy::SameProgram),
        (1, 0, MatchedBy::SameName),
        (2, 2, MatchedBy::SameName),
        (3, 1, MatchedBy::SameName),
    ];
    assert_eq!(pairs, expected);
}

#[test]
fn unlisted_step_classes_are_not_reported_absent() {
    let of = |class: &str| StepFacts {
        class: class.to_owned(),
        counted: 3,
        middle_ps: 1e9,
        ..StepFacts::default()
    };
    let train = Summary {
        steps: of("jit_train"),
        ..Summary::default()
    };
    let both = Summary {
        classes: vec![ClassTimes {
            steps: of("jit_eval"),
            ..ClassTimes::default()
        }],
        ..train.clone()
    };
    let notes = |cand: &Summary| {
        compare(
            std::slice::from_ref(&both),
            std::slice::from_ref(cand),
            &CompareOptions::default(),
        )
        .notes
    };
    let only = |notes: Vec<String>| {
        notes
            .into_iter()
            .find(|note| note.starts_with("only base"))
            .unwrap()
    };
    assert_eq!(
        only(notes(&train)),
        "only base has steady steps of jit_eval (3 steps)"
    );
    let shortened = Summary {
        classes_not_listed: 2,
        ..train.clone()
    };
    assert!(only(notes(&shortened)).ends_with("as far as cand lists its own"));
    assert!(
        notes(&shortened)
            .iter()
            .any(|note| note.starts_with("2 more classes of steps of cand"))
    );
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
