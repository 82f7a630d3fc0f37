//! What the headline says of loops and of idle time.

use trace_model::Picos;

use super::*;

/// A loop of these steps, in milliseconds; the main class has them all.
fn looped(ms: &[f64], values: &[(&str, f64)]) -> Summary {
    let mut run = made(ms[0], 0.0, ms.len() as u32, 0);
    let times: Vec<f64> = ms.iter().map(|ms| ms * 1e9).collect();
    run.series[0].values.clone_from(&times);
    let slow = ms
        .iter()
        .map(|time| if *time > 1.3 * ms[0] { 100.0 } else { 0.0 })
        .collect();
    run.loop_series = vec![
        series(LOOP_STEP, Unit::Picoseconds, times),
        series(SLOW_SHARE, Unit::Percent, slow),
    ];
    let value = |&(id, value): &(&str, f64)| RunValue {
        id: id.to_owned(),
        title: id.to_owned(),
        unit: Unit::Picoseconds,
        better: Better::Lower,
        value: Some(value),
        is_lower_bound: false,
        of: String::new(),
        provenance: Provenance::Measured,
        note: None,
    };
    run.values = values.iter().map(value).collect();
    run
}

#[test]
fn headline_is_about_the_loop_and_names_what_the_median_step_hides() {
    let say = |base: &Summary, cand: &Summary| {
        let options = CompareOptions::default();
        compare(
            std::slice::from_ref(base),
            std::slice::from_ref(cand),
            &options,
        )
        .statement
    };
    let quiet = |id| looped(&[10.0; 4], &[(id, 0.0), (LOOP_COMPILATIONS, 0.0)]);
    // One of four steps compiles for 40 ms: 10 ms per step.
    let compiled = looped(
        &[10.0, 10.0, 50.0, 10.0],
        &[("loop.compile_ps", 10e9), (LOOP_COMPILATIONS, 1.0)],
    );
    let expected = "the loop of 4 steps takes 40.00 ms longer (40.00 ms to 80.00 ms, +100.0 %), of which the median step \
                    does not show +40.00 ms: compilation on the host +40.00 ms, 1 compilation in it (0 before), 1 of 4 steps is slow (0 \
                    before); the median step is unchanged: 10.00 ms";
    assert_eq!(say(&quiet("loop.compile_ps"), &compiled), expected);
    let back = say(&compiled, &quiet("loop.compile_ps"));
    assert!(
        back.contains("takes 40.00 ms less") && back.contains("0 of 4 steps are slow (1 before)"),
        "{back}"
    );
    let waited = looped(&[10.0, 10.0, 35.0, 10.0], &[("loop.input_wait_ps", 6.25e9)]);
    let said = say(&quiet("loop.input_wait_ps"), &waited);
    assert!(
        said.contains("takes 25.00 ms longer") && said.contains("waiting for input +25.00 ms"),
        "{said}"
    );
    // An op that takes longer in some steps is named with its source, in however many steps that is.
    for slow in [&[3][..], &[1, 3], &[1, 3, 5]] {
        let of = |ms: f64| {
            let steps = |i: usize| if slow.contains(&i) { ms } else { 10.0 };
            let times: Vec<f64> = (0..8).map(steps).collect();
            let mut run = looped(&times, &[]);
            run.ops[0].values = times.iter().map(|ms| (ms - 5.0) * 1e9).collect();
            run.ops[0].source = Some("train.py:33".to_owned());
            run
        };
        let said = say(&of(10.0), &of(12.0));
        let longer = Picos::rounded(2e9 * slow.len() as f64);
        let expected = format!("does not show +{longer}: fusion.1 at train.py:33 +{longer}");
        assert!(said.contains(&expected), "{said}");
    }
    let apart = looped(&[15.0; 4], &[("loop.gap_ps", 5e9)]);
    let mut steps = apart.clone();
    steps.series[0].values = vec![10e9; 4];
    let said = say(&quiet("loop.gap_ps"), &steps);
    assert!(said.contains("time between steps +20.00 ms"), "{said}");
    // Loops of different lengths are compared per step.
    let said = say(&quiet("x"), &looped(&[10.0; 8], &[]));
    assert!(
        said.contains("; the loop takes as long per step: 10.00 ms (40.00 ms for 4 steps, 80.00 ms for 8 steps);"),
        "{said}"
    );
    let said = say(&quiet("x"), &looped(&[12.0; 8], &[]));
    assert!(
        said.starts_with("not the same work: the runs differ in steady steps (4 against 8)"),
        "{said}"
    );
    assert!(said.contains("the loop takes 2.000 ms longer per step (10.00 ms to 12.00 ms, +20.0 %; 40.00 ms for 4 steps, 96.00 ms for 8 steps)"), "{said}");
}

/// Eight steps, and after the fourth so many milliseconds in which the host does something.
fn with_gap(ms: usize, event: &str) -> Summary {
    let row = |cell: &dyn Fn(usize) -> String, gap: char| {
        let gap = |at: usize| gap.to_string().repeat(if at == 3 { ms } else { 0 });
        let step = |at: usize| cell(at) + "." + &gap(at);
        (0..8).map(step).collect::<String>()
    };
    summary(&format!(
        "@column 1ms\nsteps: {}\nmodules: {}\nops: {}\nhost main: {}\n{LEGEND}\np = PjitFunction(step)\nh = {event}",
        row(&|at| at.to_string().repeat(9), '.'),
        row(&|_| "M".repeat(9), '.'),
        row(&|_| "m".repeat(9), '.'),
        row(&|_| "p........".to_owned(), 'h'),
    ))
}

#[test]
fn what_the_host_does_between_steps_is_named() {
    for (event, named) in [
        ("IteratorGetNext", "waiting for input +32.00 ms;"),
        (
            "backend_compile",
            "compilation on the host +32.00 ms, 1 compilation in it (0 before);",
        ),
        ("$train.py:30 log", "time between steps +32.00 ms;"),
    ] {
        let [base, cand] = [0, 32].map(|ms| with_gap(ms, event));
        let said = compare(&[base], &[cand], &CompareOptions::default()).statement;
        let expected = format!("of which the median step does not show +32.00 ms: {named}");
        assert!(said.contains(&expected), "{said}");
    }
}

/// Summaries of earlier versions count only what lies in steps.
#[test]
fn what_is_counted_in_another_way_is_no_cause() {
    let [mut base, cand] = [0, 32].map(|ms| with_gap(ms, "IteratorGetNext"));
    for value in &mut base.values {
        value.of = "the loop, mean per step".to_owned();
    }
    let said = compare(&[base], &[cand], &CompareOptions::default()).statement;
    assert!(said.contains(": time between steps +32.00 ms;"), "{said}");
}

#[test]
fn waiting_for_input_is_not_called_idle() {
    let with = |input: Option<f64>, idle: f64| {
        let mut run = made(20.0, 0.0, 20, 0);
        run.ops[0].middle_ps = 18e9;
        let rest = |cause: Option<&str>, ms: f64| RestTimes {
            part: StepPart::Idle,
            shape: None,
            cause: cause.map(str::to_owned),
            middle_ps: ms * 1e9,
        };
        run.rest = vec![rest(None, idle)];
        run.rest
            .extend(input.map(|ms| rest(Some("input wait"), ms)));
        run.steps.middle_ps = 18e9 + (idle + input.unwrap_or(0.0)) * 1e9;
        run
    };
    let say = |base, cand| {
        let compared = compare(&[base], &[cand], &CompareOptions::default());
        compared.brief.conclusion.unwrap()
    };
    let said = say(with(Some(1.9), 0.1), with(Some(2.9), 0.1));
    assert_eq!(said, "1.000 ms more waiting for input");
    // A side that does not know causes has idle time only.
    assert_eq!(
        say(with(None, 2.0), with(Some(2.9), 0.1)),
        "1.000 ms more idle time"
    );
}

#[test]
fn headline_says_how_much_runs_may_differ_and_how_that_is_known() {
    let say = |base: &[Summary], cand: &[Summary]| {
        compare(base, cand, &CompareOptions::default()).statement
    };
    let steps = |ms: f64| looped(&[ms; 20], &[]);
    let single = say(&[steps(20.0)], &[steps(21.0)]);
    let expected = "the median step is slower by 1.000 ms (20.00 ms to 21.00 ms, +5.00 %), more than the steps of a run \
                    differ, but runs of the same program may differ by up to 6.4 % (assumed: one run per side does not show \
                    it)";
    assert!(single.contains(expected), "{single}");
    let three = |ms: f64| [steps(ms), steps(ms), steps(ms)];
    let several = say(&three(20.0), &three(20.5));
    assert!(
        several.contains("but runs of the same program may differ by up to 3.0 %;"),
        "{several}"
    );
    assert!(
        say(&three(20.0), &three(21.0))
            .contains("slower by 1.000 ms (20.00 ms to 21.00 ms, +5.00 %); 500.0 µs more ")
    );
}

#[test]
fn negligible_changes_of_parts_are_not_in_the_headline() {
    let with = |idle_us: f64, waiting_us: f64| {
        let mut run = made(20.0, 0.0, 20, 0);
        let rest = |cause: Option<&str>, us: f64| RestTimes {
            part: StepPart::Idle,
            shape: None,
            cause: cause.map(str::to_owned),
            middle_ps: us * 1e6,
        };
        run.rest = vec![rest(None, idle_us), rest(Some("input wait"), waiting_us)];
        run
    };
    let say = |idle_us: f64, waiting_us: f64| {
        let compared = compare(
            &[with(100.0, 0.0)],
            &[with(idle_us, waiting_us)],
            &CompareOptions::default(),
        );
        compared.brief.conclusion
    };
    // 0.09 % and 0.2 % of the step.
    assert_eq!(say(100.0, 18.0), None);
    assert_eq!(say(100.0, 40.0).unwrap(), "40.00 µs more waiting for input");
    // As much idle time for another reason.
    assert_eq!(say(50.0, 50.0), None);
}

#[test]
fn what_is_not_known_of_both_runs_does_not_agree() {
    let said = |run: &Summary| {
        let compared = compare(
            std::slice::from_ref(run),
            std::slice::from_ref(run),
            &CompareOptions::default(),
        );
        compared.agreement().unwrap()
    };
    let mut known = made(20.0, 0.0, 20, 1);
    known.facts.devices = 1;
    assert_eq!(
        said(&known),
        "none: devices, programs, shapes, steps and formats agree"
    );
    let expected =
        "none: steps and formats agree; devices, programs and shapes are not known of both runs";
    (known.facts.devices, known.facts.programs, known.ops) = (0, Vec::new(), Vec::new());
    assert_eq!(said(&known), expected);
}

/// The same program moves the same bytes, however long its step takes.
#[test]
fn other_memory_traffic_of_one_program_is_not_called_the_same_work() {
    let with = |ms: f64, percent: f64| {
        let mut run = made(ms, 1.0, 20, 0);
        run.values.push(RunValue {
            id: "hbm_util_steady_percent".to_owned(),
            title: "HBM".to_owned(),
            unit: Unit::Percent,
            better: Better::Higher,
            value: Some(percent),
            is_lower_bound: false,
            of: String::new(),
            provenance: Provenance::Derived,
            note: None,
        });
        run
    };
    let of = |cand: Summary| {
        let compared = compare(&[with(20.0, 81.0)], &[cand], &CompareOptions::default());
        let mut found = compared.differences.iter();
        let traffic = found.find(|found| found.id == "memory_traffic");
        let traffic = traffic.map(|found| format!("{} ↔ {}", found.base, found.cand));
        (compared.brief.work, traffic)
    };
    let (work, traffic) = of(with(20.0, 18.0));
    assert!(work.contains("other memory traffic"), "{work}");
    let expected = "16.20 ms at peak bandwidth ↔ 3.600 ms at peak bandwidth";
    assert_eq!(traffic.as_deref(), Some(expected));
    // Twice as long at half the rate; and a step of half a second that compiles, which no share is of.
    let mut compiles = with(20.0, 81.0);
    let steps = compiles.series.iter_mut();
    for step in steps.filter(|series| series.id == "step.time_ps") {
        step.values[7] = 520e9;
    }
    for cand in [with(40.0, 40.5), compiles] {
        let (work, traffic) = of(cand);
        assert!(work.starts_with("the same work"), "{work}");
        assert_eq!(traffic, None);
    }
}

/// A file that was cut off does not say that another chip ran.
#[test]
fn what_a_damaged_capture_does_not_know_is_a_loss_and_no_difference() {
    let run = |device: Option<&str>, lost: u64| {
        let mut run = made(20.0, 0.0, 20, 0);
        (run.facts.device_type, run.facts.lost) = (device.map(str::to_owned), lost);
        run
    };
    let say = |cand: Summary| {
        let options = CompareOptions {
            require: vec!["device_type".to_owned()],
            ..CompareOptions::default()
        };
        compare(&[run(Some("TPU v6 Lite"), 0)], &[cand], &options).statement
    };
    let differs = "the runs differ in device (TPU v6 Lite against";
    assert_eq!(
        say(run(None, 3)),
        format!(
            "the capture of the run is incomplete, 3 events or files were lost on import: {differs} not known)"
        )
    );
    for (base, cand, expected) in [
        (
            0,
            3,
            Some("capture of the run is incomplete, 3 events or files were lost on import"),
        ),
        (
            1,
            0,
            Some("capture of the baseline is incomplete, 1 event or file was lost on import"),
        ),
        (
            1,
            2,
            Some(
                "captures of both sides are incomplete, 1 event or file was lost on import of the baseline, and 2 events or \
                 files were lost on import of the run",
            ),
        ),
        (0, 0, None),
    ] {
        let runs = [base, cand].map(|lost| [run(None, lost)]);
        let found = compare(&runs[0], &runs[1], &CompareOptions::default()).loss();
        assert_eq!(found, expected.map(|text| format!("the {text}")));
    }
    for (cand, shown) in [
        (run(None, 0), "not known"),
        (run(Some("TPU v5 Lite"), 3), "TPU v5 Lite"),
    ] {
        assert_eq!(say(cand), format!("not the same work: {differs} {shown})"));
    }
}
