use analysis::gates::GateConfig;
use request::SettingsFile;

use super::*;

fn gates_of(text: &str) -> Result<GateConfig, String> {
    SettingsFile::parse(text)?
        .gates()
        .map_err(|error| error.to_string())
}

/// A run of `steps` steps with one collective.
fn run(collective: &str, steps: usize) -> Summary {
    let text = format!(
        r#"{{"schema": "systole.summary/1", "facts": {{}}, "steps": {{"source": "modules", "counted": {steps}}},
        "series": [{{"id": "step.time_ps", "title": "", "unit": "picoseconds", "values": {:?}}}],
        "ops": [{{"name": {collective:?}, "part": "exposed_comm", "is_collective": true, "place": 0, "runs": 1,
        "middle_ps": 5, "values": [5]}}]}}"#,
        vec![1e9; steps]
    );
    Summary::from_json(&text).unwrap()
}

#[test]
fn written_config_of_every_run_can_be_read() {
    for name in [
        "all-gather.7",
        "re:(",
        "re:^a",
        "a*b",
        "x\"\n[[budget]]\n",
        "\\",
        "",
        "ü",
    ] {
        for steps in [0, 1, 4, 6, 10] {
            let WrittenConfig { text, unguarded } = config_of(&[run(name, steps)]);
            assert_eq!(unguarded.is_empty(), steps >= 10, "{text}");
            let gates = gates_of(&text).unwrap_or_else(|why| panic!("{name}: {why}\n{text}"));
            assert_eq!(
                text.contains("of several the limit is smaller"),
                steps >= 6,
                "{text}"
            );
            let ops: Vec<_> = gates
                .regression
                .iter()
                .filter_map(|gate| gate.op.as_deref())
                .collect();
            let expected: &[&str] = match (name, steps) {
                ("all-gather.7", 4) => &["*", "all-gather*"],
                ("all-gather.7", 6..) => &["all-gather*"],
                (_, 4) => &["*"],
                _ => &[],
            };
            assert_eq!(ops, expected, "{text}");
            let p90 = gates
                .budget
                .iter()
                .any(|gate| gate.aggregate == Some(StepAggregate::P90));
            assert_eq!(p90, steps >= 10, "{text}");
        }
    }
}

#[test]
fn limits_come_from_the_largest_run() {
    let mut slow = run("all-gather.7", 12);
    slow.series[0].values = vec![4e9; 12];
    let text = config_of(&[run("all-gather.7", 12), slow.clone()]).text;
    let gates = gates_of(&text).unwrap();
    assert_eq!(gates.budget[0].max, Some(round_up(4.4)), "{text}");
    assert_eq!(
        config_of(&[slow.clone(), run("all-gather.7", 12)]).text,
        text
    );
    // Too few steps in one of the runs are enough to omit the gate.
    let text = config_of(&[slow, run("all-gather.7", 3)]).text;
    assert!(text.contains("a run has 3 steady steps"), "{text}");
}

#[test]
fn short_run_among_several_is_named() {
    let named = |path: &str, steps| {
        let mut run = run("all-gather.7", steps);
        run.inputs = vec![analysis::compare::SummaryInput {
            path: Some(path.to_owned()),
            ..Default::default()
        }];
        run
    };
    let runs = [
        named("/logs/runs/2027/a.pb", 12),
        named("/logs/runs/2028/b.pb", 1),
    ];
    let WrittenConfig { text, unguarded } = config_of(&runs);
    assert!(
        text.contains(": the p90 needs 10 steady steps, …2028/b.pb has 1 steady step\n"),
        "{text}"
    );
    let said = by_reason(&unguarded);
    assert!(said.len() < unguarded.len(), "{said:?}");
    assert!(
        said[0].starts_with("budget of step.time_ms (median), "),
        "{said:?}"
    );
}

#[test]
fn limits_are_rounded_for_reading() {
    for (value, expected) in [
        (337.104, 338.0),
        (0.012_31, 0.0124),
        (1234.5, 1240.0),
        (0.0, 0.0),
    ] {
        assert!(
            (round_up(value) - expected).abs() < 1e-9,
            "{value}: {}",
            round_up(value)
        );
    }
}
