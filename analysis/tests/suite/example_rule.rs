//! How to add a rule: the worked example of ARCHITECTURE.md.
//!
//! In the crate `advice`, rule and threshold are in the file of their theme, `src/hints/rules/<theme>.rs`, the list is
//! its `RULES`, and the page is `docs/hints/<id>.md`.

use analysis::hints::{
    Confidence, Finding, HintEvidence, HintFacts, NoFinding, Page, PossibleSaving, Rule,
    RuleResult, SECTIONS,
};
use analysis::reports::ops::loops::Loops;
use analysis::{Context, Options, ReportCache, Scope, Threshold, Unit};
use importers::{ImportOptions, Progress};

/// The line to add; in the crate `advice`, the macro `rule!` writes it.
static RULES: &[Rule] = &[Rule {
    id: "K99",
    title: "A loop has few iterations",
    confidence: Confidence::Low,
    thresholds: &[&FEW],
    check: few_iterations,
    page: PAGE,
}];

/// Users change it in systole.toml: `"K99.iterations" = 8`.
static FEW: Threshold = Threshold::new(
    "K99.iterations",
    4.0,
    Unit::Count,
    "so few can be written one after the other",
);

/// In the crate `advice`, `rule!` takes the page from docs/hints.
const PAGE: &str = "\
# K99 A loop has few iterations
## Cause
## Check
## Fix
Unroll it.
## Example
## Source
";

/// What the rule sees in the other reports. An error means that it cannot tell, and says why.
fn few_iterations(facts: &HintFacts<'_>) -> RuleResult {
    let (loops, few) = (facts.report::<Loops>()?, facts.limit(&FEW));
    let count = |row: &analysis::reports::ops::loops::LoopRow| {
        row.measured_trip_count.filter(|&count| count < few)
    };
    let (row, count) = loops
        .rows
        .iter()
        .find_map(|row| Some((row, count(row)?)))
        .ok_or(NoFinding::Nothing)?;
    let own = |op| {
        (
            op,
            1.0 - row.own_of_iteration_percent.unwrap_or_default().0 / 100.0,
        )
    };
    Ok(Finding {
        statement: format!("{} runs its body {count} times.", row.name),
        evidence: vec![HintEvidence::count(
            "iterations",
            count,
            "one run of the loop",
            Some(few),
        )],
        ops: row.op.into_iter().collect(),
        // Played again without what the loop itself takes.
        saving: PossibleSaving::ops("without the loop", row.op.map(own)),
        ..Finding::default()
    })
}

#[test]
fn rule_example_is_registered() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../assets/samples/synthetic_v5e_8chip_overlap.xplane.pb"
    );
    let model =
        importers::import_path(path.as_ref(), &ImportOptions::default(), &Progress::new()).unwrap();
    let (mut options, reports) = (Options::default(), ReportCache::default());
    let check = |options: &Options| {
        let cx = Context {
            model: &model,
            scope: Scope::WholeTrace,
            options,
            reports: &reports,
        };
        (RULES[0].check)(&HintFacts::new(&cx))
    };
    let finding = check(&options).unwrap();
    assert_eq!(finding.statement, "while.38 runs its body 3 times.");
    assert!(matches!(finding.saving, PossibleSaving::Replay { .. }));
    // The user's threshold decides.
    options.hints.thresholds.insert(FEW.id.to_owned(), 3.0);
    assert!(matches!(check(&options), Err(NoFinding::Nothing)));
    assert!(
        SECTIONS
            .iter()
            .all(|section| Page(PAGE).section(section).is_some())
    );
}
