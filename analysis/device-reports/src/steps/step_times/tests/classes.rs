//! Classes of steps, and the steps that are left out.

use super::*;

fn letters(report: &StepsReport) -> String {
    report
        .steps
        .iter()
        .map(|step| report.class_of(step).map_or("?", |class| class.id.as_str()))
        .collect()
}

#[test]
fn steps_with_equal_programs_share_a_class() {
    // Every third step evaluates, too; step 4 runs another program of the same function.
    let model = text_trace(
        "
        steps  : 0000111122222222333344445555555566667777888888889999
        modules: TTT.TTT.TTT.EEE.TTT.SSS.TTT.EEE.TTT.TTT.TTT.EEE.TTT.
        T = jit_train(1)
        S = jit_train(2)
        E = jit_eval(3)
        ",
    );
    let report = whole(&model);
    assert_eq!(letters(&report), "AABAABAABA");
    let titles: Vec<_> = report
        .classes
        .iter()
        .map(|class| (class.title.as_str(), class.steps))
        .collect();
    assert_eq!(titles, [("jit_train", 7), ("jit_eval + jit_train", 3)]);
    // Twice as long, and yet no outlier.
    assert!(report.outliers().is_empty());
    let medians: Vec<_> = report
        .classes
        .iter()
        .map(|class| class.time.unwrap().median as i64)
        .collect();
    assert_eq!(medians, [4_000, 8_000]);
    assert_eq!(report.tables()[0].rows.len(), 6);
}

#[test]
fn class_is_split_by_time_only_if_both_parts_are_large() {
    let steps = |lengths: &[usize]| {
        let digits = lengths
            .iter()
            .enumerate()
            .map(|(k, &len)| (k % 10).to_string().repeat(len));
        whole(&text_trace(&format!(
            "steps: {}",
            digits.collect::<String>()
        )))
    };
    // Every second step is long: two classes. Three different long ones are outliers.
    assert_eq!(letters(&steps(&[3, 9, 3, 9, 3, 9, 3, 9])), "ABABABAB");
    let rare = steps(&[3, 3, 3, 9, 3, 3, 20, 3, 3, 50]);
    assert_eq!(
        (letters(&rare).as_str(), rare.outliers().len()),
        ("AAAAAAAAAA", 3)
    );
    assert_eq!(steps(&[3, 9, 3, 9, 3, 9]).classes[1].title, "Steps, long");
}

#[test]
fn excluded_steps_give_a_reason() {
    let options = Options {
        warmup_steps: 1,
        ..Options::default()
    };
    let report = report(&annotated(), &options, Scope::WholeTrace);
    assert_eq!(
        report.steps[0].left_out.as_deref(),
        Some("warm-up: among the first 1, as asked for")
    );
    assert_eq!(report.steps[1].left_out, None);
    let model = text_trace("steps: 000011112222\n TPU:1 steps: ....11112222");
    let report = whole(&model);
    let why = report.steps[0].left_out.as_deref();
    assert_eq!(
        why,
        Some("partial: not recorded on 1 of 2 devices or hosts")
    );
}

#[test]
fn compiling_first_step_is_warm_up_and_later_one_is_slow() {
    let (mut compiles, mut marks) = (String::new(), String::new());
    for step in 0..8 {
        let len = if [0, 5].contains(&step) { 30 } else { 4 };
        marks += &step.to_string().repeat(len);
        compiles += &"C".repeat(len - 4);
        compiles += "....";
    }
    let model = text_trace(&format!(
        "host main: {compiles}\n steps: {marks}\n C = backend_compile"
    ));
    let asked = Options {
        warmup_steps: 1,
        ..Options::default()
    };
    let asked = report(&model, &asked, Scope::WholeTrace);
    let slow: Vec<u32> = asked.outliers().iter().map(|step| step.number).collect();
    assert_eq!(slow, [5], "the first one is not judged");
    let report = whole(&model);
    let warmup: Vec<u32> = report
        .steps
        .iter()
        .filter(|step| step.is_warmup)
        .map(|step| step.number)
        .collect();
    assert_eq!((warmup, report.left_out), (vec![0], 1));
    assert_eq!(
        report
            .outliers()
            .iter()
            .map(|step| step.number)
            .collect::<Vec<_>>(),
        [0, 5]
    );
    assert_eq!(
        report.steps[0].left_out.as_deref(),
        Some("warm-up: compiles for 26.00 ns of 30.00 ns")
    );
}
