//! The instructions for agents, followed to the letter: for ten planted causes, the commands that they name find cause,
//! evidence and remedy, and print no more than an agent can read.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::path::Path;

use sample_traces::fleet::FleetSpec;
use sample_traces::rare::PallasKernel;
use sample_traces::session::SampleSession;
use sample_traces::synthetic::{SyntheticRun, TrainingSpec};
use sample_traces::write::xspace_bytes;
use trace_model::Picos;
use trace_model::time::PS_PER_MS;

use crate::outputs::{printed, refused, run, text};

/// Most bytes of all answers about one case.
const MOST_BYTES: usize = 30_000;
/// What the guide says that they have at most.
const GUIDE_BYTES: usize = 12_000;
const INSTRUCTIONS: &str = include_str!("../../assets/skill/SKILL.md");

/// A capture with one planted cause.
struct PlantedCause {
    name: &'static str,
    capture: SampleSession,
    /// The hint that names the cause.
    hint: &'static str,
    /// What its evidence must name.
    evidence: &'static [&'static str],
    /// What its remedy must name.
    remedy: &'static str,
}

fn ms(ms: i64) -> Picos {
    Picos::from_ps(ms * PS_PER_MS)
}

fn training(spec: TrainingSpec) -> SampleSession {
    SyntheticRun::new(spec).session()
}

fn planted() -> Vec<PlantedCause> {
    let one_chip = || TrainingSpec { data: 1, model: 1, ..TrainingSpec::default() };
    let case = |name, capture, hint, evidence, remedy| PlantedCause { name, capture, hint, evidence, remedy };
    let recompiled =
        TrainingSpec { recompile_at: Some(2), device_skew: Picos::ZERO, overlap: true, ..TrainingSpec::default() };
    vec![
        case("exposed collectives", training(TrainingSpec::default()), "K01", &["all-gather", "63.5 %"], "Overlap"),
        case(
            "a long all-reduce",
            FleetSpec { reduce: ms(9), ..FleetSpec::default() }.session(),
            "K01",
            &["all-reduce", "52.9 %"],
            "Overlap",
        ),
        case(
            "slow matmuls",
            training(TrainingSpec { mxu_efficiency: 0.2, ..one_chip() }),
            "K12",
            &["20.0 % of peak"],
            "bfloat16",
        ),
        case(
            "slow vector ops",
            training(TrainingSpec { hbm_efficiency: 0.1, ..one_chip() }),
            "K14",
            &["67.3 %"],
            "minor",
        ),
        case("few rows", training(TrainingSpec { tokens: 8, ..one_chip() }), "K13", &["HBM", "77.0 %"], "bytes"),
        case(
            "input in every step",
            FleetSpec { input: ms(8), ..FleetSpec::default() }.session(),
            "K34",
            &["input"],
            "Prefetch",
        ),
        case(
            "a stall for input",
            FleetSpec { stall: Some((7, ms(300))), ..FleetSpec::default() }.session(),
            "K34",
            &["IteratorGetNext", "64.0 %"],
            "Prefetch",
        ),
        case("recompilation", training(recompiled), "K36", &["train_step in step 2", "50.00 ms"], "fixed shapes"),
        case(
            "straggler",
            FleetSpec { straggler: Some((5, ms(3))), ..FleetSpec::default() }.session(),
            "K06",
            &["/device:TPU:5", "3.000 ms"],
            "Balance",
        ),
        case("DMA of a kernel", PallasKernel::default().session(), "K28", &["matmul", "76.3 %"], "Buffered"),
    ]
}

/// The first command of each numbered step of the instructions up to this step.
fn commands(last: usize) -> Vec<Vec<String>> {
    let steps = INSTRUCTIONS.split("\n## ").filter(|step| step.starts_with(|letter: char| letter.is_ascii_digit()));
    let command = |step: &str| {
        let block = step.split("```sh\n").nth(1).unwrap();
        let line = block.lines().next().unwrap();
        assert!(line.starts_with("systole "), "{line}");
        line.split_whitespace().skip(1).map(str::to_owned).collect()
    };
    steps.take(last).map(command).collect()
}

/// The id of the first hint: a line that begins with it.
fn first_hint(screen: &str) -> Option<&str> {
    let is_id = |word: &str| word.len() == 3 && word.starts_with('K') && word[1..].chars().all(|c| c.is_ascii_digit());
    screen.lines().filter_map(|line| line.split_whitespace().next()).find(|word| is_id(word))
}

#[test]
fn ten_planted_causes_are_found_within_their_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    let mut table = String::new();
    for case in planted() {
        let path = dir.path().join("run.xplane.pb");
        fs::write(&path, xspace_bytes(&case.capture)).unwrap();
        let (mut hint, mut answers) = (String::new(), Vec::new());
        for command in commands(4) {
            let word = |word: &String| match word.as_str() {
                "PATH" => path.to_string_lossy().into_owned(),
                "ID" => hint.clone(),
                other => other.to_owned(),
            };
            let words: Vec<String> = command.iter().map(word).collect();
            let answer = printed(&words.iter().map(String::as_str).collect::<Vec<_>>());
            if answers.is_empty() {
                first_hint(&answer).unwrap_or("K01").clone_into(&mut hint);
            }
            answers.push(answer);
        }
        let bytes: usize = answers.iter().map(String::len).sum();
        table.extend([case.name, " ", hint.as_str(), " ", &bytes.to_string(), "\n"]);
        let found =
            [&answers[0], &answers[2]].map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")).join(" ");
        let has_evidence = case.evidence.iter().all(|evidence| found.contains(evidence));
        let has_remedy = answers[3].contains("## Fix") && answers[3].contains(case.remedy);
        if hint != case.hint || !has_evidence || !has_remedy || bytes > MOST_BYTES.min(GUIDE_BYTES) {
            wrong.push(format!("{}: {hint}, {has_evidence}, {has_remedy}, {bytes}\n{}", case.name, answers[0]));
        }
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{}\n{table}", wrong.join("\n"));
}

#[test]
fn instructions_are_installed_for_each_agent_and_never_over_changes() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().to_str().unwrap();
    let install = |more: &[&str]| run(&[&["skill", "install", "--dir", at], more].concat());
    assert_eq!(printed(&["skill", "install", "--print"]), INSTRUCTIONS);
    assert!(install(&[]).status.success());
    let skill = Path::new(at).join(".claude/skills/systole/SKILL.md");
    let installed = fs::read_to_string(&skill).unwrap();
    assert!(installed.starts_with(INSTRUCTIONS) && Path::new(at).join(".agents/skills/systole/SKILL.md").is_file());
    assert!(text(&install(&[]).stderr).contains("is up to date"));
    // A version that an older program wrote is replaced, a changed one is not.
    fs::write(&skill, installed.replace("# Find", "# My own")).unwrap();
    let message = refused(&["skill", "install", "--dir", at]);
    assert!(message.contains("--force") && message.contains("SKILL.md"), "{message}");
    assert!(fs::read_to_string(&skill).unwrap().contains("# My own"));
    assert!(install(&["--force"]).status.success());
    assert_eq!(fs::read_to_string(&skill).unwrap(), installed);
    assert!(fs::read_to_string(skill.with_extension("md.bak")).unwrap().contains("# My own"));
    let rules = Path::new(at).join("AGENTS.md");
    fs::write(&rules, "# Rules\n").unwrap();
    for _ in 0..2 {
        assert!(install(&["--agent", "agents-md,cursor"]).status.success());
        let text = fs::read_to_string(&rules).unwrap();
        assert!(text.starts_with("# Rules\n") && text.matches("systole analyze PATH --top 5").count() == 1, "{text}");
    }
    assert!(refused(&["skill", "install", "--dir", "/no/such/directory"]).contains("no directory"));
}
