//! The instructions for agents, followed to the letter: for fifteen planted causes, the commands that they name find cause,
//! evidence and remedy, and print no more than an agent can read. Eleven are the first hint; the others are among the first
//! three, because a fix of something else would save more at most, or because they cost no time.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::path::Path;

use sample_traces::fleet::FleetSpec;
use sample_traces::memory::session_with_weights;
use sample_traces::rare::{MegascaleSample, PallasKernel, SparseOffload};
use sample_traces::session::SampleSession;
use sample_traces::synthetic::{SyntheticRun, TrainingSpec};
use sample_traces::write::xspace_bytes;
use trace_model::Picos;
use trace_model::time::PS_PER_MS;

use crate::outputs::{printed, refused, run, text};

/// Most bytes of all answers about one case.
const MOST_BYTES: usize = 30_000;
/// What the guide says that they have at most.
const GUIDE_BYTES: usize = 14_500;
const INSTRUCTIONS: &str = include_str!("../../assets/skill/SKILL.md");

/// A capture with one planted cause.
struct PlantedCause {
    name: &'static str,
    capture: SampleSession,
    /// The hint that names the cause.
    hint: &'static str,
    /// Its place among the hints.
    place: usize,
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

#[expect(clippy::too_many_lines, reason = "one list of causes")]
fn planted() -> Vec<PlantedCause> {
    let one_chip = || TrainingSpec {
        data: 1,
        model: 1,
        ..TrainingSpec::default()
    };
    let case = |name, capture, hint, evidence, remedy| PlantedCause {
        name,
        capture,
        hint,
        place: 1,
        evidence,
        remedy,
    };
    let at = |place, cause| PlantedCause { place, ..cause };
    let recompiled = TrainingSpec {
        recompile_at: Some(2),
        device_skew: Picos::ZERO,
        overlap: true,
        ..TrainingSpec::default()
    };
    vec![
        case(
            "exposed collectives",
            training(TrainingSpec::default()),
            "K01",
            &["all-gather", "63.5 %"],
            "Overlap",
        ),
        case(
            "a long all-reduce",
            FleetSpec {
                reduce: ms(9),
                ..FleetSpec::default()
            }
            .session(),
            "K01",
            &["all-reduce", "52.9 %"],
            "Overlap",
        ),
        case(
            "slow matmuls",
            training(TrainingSpec {
                mxu_efficiency: 0.2,
                ..one_chip()
            }),
            "K12",
            &["20.0 % of peak"],
            "bfloat16",
        ),
        case(
            "slow vector ops",
            training(TrainingSpec {
                hbm_efficiency: 0.1,
                ..one_chip()
            }),
            "K14",
            &["67.3 %"],
            "minor",
        ),
        case(
            "few rows",
            training(TrainingSpec {
                tokens: 8,
                ..one_chip()
            }),
            "K13",
            &["HBM", "77.0 %"],
            "bytes",
        ),
        case(
            "input in every step",
            FleetSpec {
                input: ms(8),
                ..FleetSpec::default()
            }
            .session(),
            "K34",
            &["input"],
            "Prefetch",
        ),
        case(
            "a stall for input",
            FleetSpec {
                stall: Some((7, ms(300))),
                ..FleetSpec::default()
            }
            .session(),
            "K34",
            &["IteratorGetNext", "64.0 %"],
            "Prefetch",
        ),
        case(
            "recompilation",
            training(recompiled),
            "K36",
            &["train_step in step 2", "50.00 ms"],
            "fixed shapes",
        ),
        case(
            "straggler",
            FleetSpec {
                straggler: Some((5, ms(3))),
                ..FleetSpec::default()
            }
            .session(),
            "K06",
            &["/device:TPU:5", "3.000 ms"],
            "Balance",
        ),
        case(
            "slow links",
            training(slow_links()),
            "K03",
            &["6 of 6 collectives", "1.3 %"],
            "torus",
        ),
        case(
            "DMA of a kernel",
            PallasKernel::default().session(),
            "K28",
            &["matmul", "76.3 %"],
            "Buffered",
        ),
        // Narrower numbers would save more than whole tiles.
        at(
            2,
            case(
                "padding",
                padded(),
                "K11",
                &["fill the matrix units only in part"],
                "multiples of 128",
            ),
        ),
        // The program waits for the network without other work, so the device is idle as well.
        at(
            2,
            case(
                "slices",
                MegascaleSample::default().session(),
                "K10",
                &["recv-done.1", "30.0 %"],
                "data parallelism",
            ),
        ),
        at(
            2,
            case(
                "SparseCores",
                SparseOffload::default().session(),
                "K27",
                &["lookup-start.1", "17.1 %"],
                "next batch",
            ),
        ),
        // A full memory takes no time.
        at(
            3,
            case(
                "full memory",
                full(),
                "K50",
                &["95.0 % full", "older buffers"],
                "checkpoint",
            ),
        ),
    ]
}

/// Links at a fiftieth of their speed, and work enough to make messages large.
fn slow_links() -> TrainingSpec {
    TrainingSpec {
        link_efficiency: 0.02,
        data: 1,
        model: 4,
        tokens: 32_768,
        width: 4096,
        hidden: 16_384,
        ..TrainingSpec::default()
    }
}

/// Matmuls of 648 × 648 on tiles of 128: 81 % of each dimension.
fn padded() -> SampleSession {
    training(TrainingSpec {
        data: 1,
        model: 1,
        width: 648,
        hidden: 648,
        tokens: 65_536,
        mxu_efficiency: 0.95,
        hbm_efficiency: 0.95,
        device_skew: Picos::ZERO,
        ..TrainingSpec::default()
    })
}

/// 16 GiB, of which weights take more than ten.
fn full() -> SampleSession {
    let spec = TrainingSpec {
        data: 1,
        model: 1,
        tokens: 16_384,
        mxu_efficiency: 0.95,
        hbm_efficiency: 0.95,
        ..TrainingSpec::default()
    };
    session_with_weights(&SyntheticRun::new(spec), (10 << 30) + (200 << 20)).0
}

/// The first command of each numbered step of the instructions up to this step.
fn commands(last: usize) -> Vec<Vec<String>> {
    let steps = INSTRUCTIONS
        .split("\n## ")
        .filter(|step| step.starts_with(|letter: char| letter.is_ascii_digit()));
    let command = |step: &str| {
        let block = step.split("```sh\n").nth(1).unwrap();
        let line = block.lines().next().unwrap();
        assert!(line.starts_with("systole "), "{line}");
        line.split_whitespace().skip(1).map(str::to_owned).collect()
    };
    steps.take(last).map(command).collect()
}

/// The ids of the hints: lines that begin with one.
fn hints(screen: &str) -> Vec<&str> {
    let is_id = |word: &&str| {
        word.len() == 3 && word.starts_with('K') && word[1..].chars().all(|c| c.is_ascii_digit())
    };
    screen
        .lines()
        .filter_map(|line| {
            line.split_whitespace()
                .find(|word| !word.ends_with(|c: char| c.is_ascii_digit()) || is_id(word))
        })
        .filter(is_id)
        .collect()
}

/// What the commands print, up to the explanation of the hint at this place.
fn answers(path: &str, place: usize) -> (Option<String>, Vec<String>) {
    let mut commands = commands(4);
    let explain = commands.pop().unwrap();
    let with = |command: &[String], word: &str, value: &str| -> Vec<String> {
        command
            .iter()
            .map(|each| {
                if each == word {
                    value.to_owned()
                } else {
                    each.clone()
                }
            })
            .collect()
    };
    let print = |words: Vec<String>| printed(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let mut answers: Vec<String> = commands
        .iter()
        .map(|command| print(with(command, "PATH", path)))
        .collect();
    let ids: Vec<String> = hints(&answers[0])
        .into_iter()
        .take(place)
        .map(str::to_owned)
        .collect();
    answers.extend(ids.iter().map(|id| print(with(&explain, "ID", id))));
    (ids.get(place - 1).cloned(), answers)
}

#[test]
fn planted_causes_are_found_within_their_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    let mut table = String::new();
    for case in planted() {
        let path = dir.path().join("run.xplane.pb");
        fs::write(&path, xspace_bytes(&case.capture)).unwrap();
        let (hint, answers) = answers(&path.to_string_lossy(), case.place);
        let hint = hint.unwrap_or_default();
        let bytes: usize = answers.iter().map(String::len).sum();
        table.extend([case.name, " ", hint.as_str(), " ", &bytes.to_string(), "\n"]);
        let found = [&answers[0], &answers[2]]
            .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
            .join(" ");
        let has_evidence = case
            .evidence
            .iter()
            .all(|evidence| found.contains(evidence));
        let remedy = answers.last().unwrap();
        let has_remedy = remedy.contains("## Fix") && remedy.contains(case.remedy);
        let most = if case.place == 1 {
            MOST_BYTES.min(GUIDE_BYTES)
        } else {
            MOST_BYTES
        };
        if hint != case.hint || !has_evidence || !has_remedy || bytes > most {
            wrong.push(format!(
                "{}: {hint}, {has_evidence}, {has_remedy}, {bytes}\n{}",
                case.name, answers[0]
            ));
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
    assert!(
        installed.starts_with(INSTRUCTIONS)
            && Path::new(at)
                .join(".agents/skills/systole/SKILL.md")
                .is_file()
    );
    assert!(text(&install(&[]).stdout).contains("is up to date"));
    // A version that an older program wrote is replaced, a changed one is not.
    fs::write(&skill, installed.replace("# Find", "# My own")).unwrap();
    let message = refused(&["skill", "install", "--dir", at]);
    assert!(
        message.contains("--force") && message.contains("SKILL.md"),
        "{message}"
    );
    assert!(fs::read_to_string(&skill).unwrap().contains("# My own"));
    assert!(install(&["--force"]).status.success());
    assert_eq!(fs::read_to_string(&skill).unwrap(), installed);
    assert!(
        fs::read_to_string(skill.with_extension("md.bak"))
            .unwrap()
            .contains("# My own")
    );
    let rules = Path::new(at).join("AGENTS.md");
    fs::write(&rules, "# Rules\n").unwrap();
    for _ in 0..2 {
        assert!(install(&["--agent", "agents-md,cursor"]).status.success());
        let text = fs::read_to_string(&rules).unwrap();
        assert!(
            text.starts_with("# Rules\n")
                && text.matches("systole analyze PATH --top 5").count() == 1,
            "{text}"
        );
    }
    assert!(refused(&["skill", "install", "--dir", "/no/such/directory"]).contains("no directory"));
}
