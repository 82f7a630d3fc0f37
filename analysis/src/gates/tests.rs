//! Gates about made runs.

use super::*;
use crate::compare::{Better, OpTimes, Series, StepFacts, Value};
use crate::step_parts::Part;

/// Twenty steps of `ms` that differ by up to 1 %, an all-gather of a tenth, three compilations.
fn run(ms: f64) -> Summary {
    let times: Vec<f64> = (0..20).map(|i| ms * 1e9 * (1.0 + 0.001 * f64::from(i * 7 % 10))).collect();
    let series = |id: &str, unit, values| Series {
        id: id.to_owned(),
        title: id.to_owned(),
        unit,
        better: Better::Lower,
        values,
    };
    let value = |id: &str, unit, value| Value {
        id: id.to_owned(),
        title: id.to_owned(),
        unit,
        better: Better::Neither,
        value,
        of: String::new(),
        provenance: Provenance::Measured,
        note: Some("the capture does not record it".to_owned()),
    };
    let op = |name: &str, part, share: f64| OpTimes {
        program: None,
        name: name.to_owned(),
        category: String::new(),
        part,
        is_collective: part == Part::ExposedComm,
        shape: None,
        source: None,
        framework: None,
        place: 0,
        runs: 1.0,
        middle_ps: ms * 1e9 * share,
        values: times.iter().map(|time| time * share).collect(),
    };
    Summary {
        steps: StepFacts { rung: "modules".to_owned(), counted: 20, middle_ps: ms * 1e9, ..StepFacts::default() },
        ops: vec![op("fusion.1", Part::MatMul, 0.9), op("all-gather.7", Part::ExposedComm, 0.1)],
        series: vec![
            series("step.time_ps", Unit::Picoseconds, times.clone()),
            series("step.exposed_comm_percent", Unit::Percent, vec![10.0; 20]),
        ],
        values: vec![value("compile.count", Unit::Count, Some(3.0)), value("mfu_window_percent", Unit::Percent, None)],
        ..Summary::default()
    }
}

fn budget(metric: &str, max: f64) -> Budget {
    Budget { metric: metric.to_owned(), max: Some(max), ..Budget::default() }
}

fn status(config: &GateConfig, run: &Summary, baseline: &[Summary]) -> Vec<Status> {
    config.check().unwrap();
    against(run, baseline, config).0.gates.iter().map(|gate| gate.status).collect()
}

fn of_budget(budget: Budget) -> Status {
    status(&GateConfig { budget: vec![budget], ..GateConfig::default() }, &run(100.0), &[])[0]
}

#[test]
fn budgets_are_limits_in_the_unit_of_their_name() {
    assert_eq!(of_budget(budget("step.time_ms", 101.0)), Status::Pass);
    assert_eq!(of_budget(budget("step.time_ms", 100.0)), Status::Fail);
    assert_eq!(of_budget(budget("step.time_us", 101_000.0)), Status::Pass);
    assert_eq!(of_budget(budget("time.communication_share", 0.05)), Status::Fail);
    assert_eq!(of_budget(budget("compile.count_in_window", 3.0)), Status::Pass);
    assert_eq!(of_budget(budget("compile.count_in_window", 0.0)), Status::Fail);
    assert_eq!(of_budget(Budget { aggregate: Some(Aggregate::Max), ..budget("step.time_ms", 100.8) }), Status::Fail);
    let op = |op: &str| Budget { op: Some(op.to_owned()), ..budget("op.exposed_ms_per_step", 9.0) };
    assert_eq!(of_budget(op("re:^all-")), Status::Fail);
    assert_eq!(of_budget(op("all-gather.*")), Status::Fail);
    // Nothing exposed is called so.
    assert_eq!(of_budget(op("fusion.*")), Status::Inconclusive);
}

#[test]
fn what_is_not_known_is_inconclusive_and_says_why() {
    let config =
        GateConfig { budget: vec![budget("mfu_pct", 50.0), budget("no.such_ms", 1.0)], ..GateConfig::default() };
    let (report, _) = against(&run(100.0), &[], &config);
    let messages: Vec<&str> = report.gates.iter().map(|gate| gate.message.as_str()).collect();
    assert!(messages[0].contains("does not record"), "{messages:?}");
    assert!(messages[1].contains("no \"no.such_ms\""), "{messages:?}");
    assert_eq!(report.inconclusive().count(), 2);
    let mut few = run(100.0);
    few.series[0].values.truncate(3);
    let config = GateConfig { budget: vec![budget("step.time_ms", 1.0)], ..GateConfig::default() };
    assert_eq!(status(&config, &few, &[]), [Status::Inconclusive]);
}

#[test]
fn the_preset_lets_noise_pass_and_stops_regressions() {
    let config = GateConfig::default();
    assert_eq!(status(&config, &run(101.0), &[run(100.0)]).iter().filter(|s| **s == Status::Fail).count(), 0);
    let (report, comparison) = against(&run(112.0), &[run(100.0)], &config);
    let failed: Vec<String> = report.failed().map(Gate::name).collect();
    assert_eq!(failed, ["step.time_ms (p90) +10 %", "step.time_ms +5 %"]);
    assert!(report.statement.starts_with("4 gates: 2 failed"), "{}", report.statement);
    assert!(comparison.unwrap().statement.contains("slower"));
}

#[test]
fn levels_decide_what_failing_means() {
    let regression = |level| Regression {
        metric: "step.time_ms".to_owned(),
        max_increase_pct: Some(5.0),
        level: Some(level),
        ..Regression::default()
    };
    for (level, failed, warned) in [(Level::Error, 1, 0), (Level::Warn, 0, 1), (Level::Off, 0, 0)] {
        let config = GateConfig { regression: vec![regression(level)], ..GateConfig::default() };
        let (report, _) = against(&run(120.0), &[run(100.0)], &config);
        assert_eq!((report.failed().count(), report.warned().count()), (failed, warned));
    }
}

#[test]
fn regressions_need_a_comparable_baseline_and_a_minimum_effect() {
    let regression =
        Regression { metric: "step.time_ms".to_owned(), max_increase_pct: Some(5.0), ..Regression::default() };
    let config = GateConfig { regression: vec![regression.clone()], ..GateConfig::default() };
    assert_eq!(status(&config, &run(120.0), &[]), [Status::Inconclusive]);
    let mut other = run(100.0);
    other.facts.devices = 4;
    assert_eq!(status(&config, &run(120.0), &[other.clone()]), [Status::Inconclusive]);
    let comparable = Comparable { on_mismatch: OnMismatch::Ignore, ..Comparable::default() };
    assert_eq!(status(&GateConfig { comparable, ..config.clone() }, &run(120.0), &[other]), [Status::Fail]);
    let lenient = Regression { min_effect_ms: Some(30.0), ..regression };
    assert_eq!(status(&GateConfig { regression: vec![lenient], ..config }, &run(120.0), &[run(100.0)]), [Status::Pass]);
}

#[test]
fn utilization_may_not_fall() {
    let regression =
        Regression { metric: "compile.count".to_owned(), max_decrease_abs: Some(0.5), ..Regression::default() };
    let config = GateConfig { regression: vec![regression], ..GateConfig::default() };
    let mut worse = run(100.0);
    worse.values[0].value = Some(2.0);
    assert_eq!(status(&config, &worse, &[run(100.0)]), [Status::Fail]);
    assert_eq!(status(&config, &run(100.0), &[worse]), [Status::Pass]);
}

#[test]
fn mistakes_are_refused() {
    let of = |budget: Budget| GateConfig { budget: vec![budget], ..GateConfig::default() }.check();
    assert!(of(Budget { metric: "step.time_ms".to_owned(), ..Budget::default() }).is_err());
    assert!(of(budget("op.time_ms_per_step", 1.0)).is_err());
    assert!(of(Budget { op: Some("re:(".to_owned()), ..budget("op.time_ms_per_step", 1.0) }).is_err());
    assert!(of(Budget { op: Some("x".to_owned()), ..budget("step.time_ms", 1.0) }).is_err());
    let require = Comparable { require: vec!["colour".to_owned()], ..Comparable::default() };
    assert!(GateConfig { comparable: require, ..GateConfig::default() }.check().is_err());
}
