//! Malformed files through every command that reads one, as the built program: captures, and the files that options name.
//! The outcome is an answer or a refusal with a reason; never a panic, an internal error or a number of hundreds of digits.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::mutate::{self, Rng};
use super::seeds::{self, Seed};
use super::{keep, mutant, number_of};

/// Mutants of the quick form of the other test for each one here: a command takes longer than an analysis.
const FOR_EACH: u64 = 100;
/// How long a command may take for a small file.
const PATIENCE: Duration = Duration::from_mins(2);

/// The folder of a run, in which captures are.
const RUN: &str = "capture/plugins/profile/run";

/// Commands that read a capture, which is `{}`, or the log directory `capture` around it.
const OF_CAPTURES: &[&str] = &[
    "analyze {}",
    "analyze {} --top 0 -v",
    "analyze {} --format md --top 0",
    "analyze {} --format ndjson -o html=out.html -o csv=out/",
    "analyze {} --baseline base.json --budget budget.toml -o junit=out.xml -o sarif=out.sarif",
    "analyze {} --steps 0..1 --history out.jsonl",
    "analyze {} --range 0..1ms --format json",
    "doctor {} -v",
    "summarize {} -o out.json",
    "compare base.json {}",
    "compare {} whole.xplane.pb --format md -o html=out.html",
    "compare {} {} --format json",
    "whatif {} --hide-collectives --no-recompile",
    "whatif {} --op fusion* 0.5x --format json",
    "events {} --limit 0 --columns name,start,dur,args",
    "events {} --group-by name,step --format csv",
    "hlo {}",
    "hlo {} --text",
    "hlo {} --find fusion --format json",
    "kernels {} -v",
    "render {} -o out.svg",
    "render {} --panel roofline -o out.svg",
    "render {} --panel steps -o out.svg",
    "anonymize {} -o out.any --list out.txt",
    "pack {} -o out.zip",
    "init {}",
    "watch capture --once",
    "runs capture --verdicts 3",
    "analyze capture --format json",
    "export {} --to csv -o out",
    "export {} --to parquet -o out",
    "export {} --to chrome-json -o out",
    "export {} --to perfetto -o out",
    "query {} --list",
    "query {} top-ops",
    "query {} SELECT/**/*/**/FROM/**/slices,tracks/**/LIMIT/**/2000 --format json --limit 0",
];

/// Commands that read another file, which is `{}`, and what it holds before it is changed.
const OF_OTHERS: &[(&str, &str)] = &[
    ("analyze whole.xplane.pb --config {}", "budget.toml"),
    ("analyze whole.xplane.pb --budget {}", "budget.toml"),
    ("config check {}", "budget.toml"),
    ("analyze whole.xplane.pb --history {}", "runs.jsonl"),
    ("history {}", "runs.jsonl"),
    ("history {} --format json", "runs.jsonl"),
    ("compare {} whole.xplane.pb", "base.json"),
    ("compare base.json {} --format json", "base.json"),
    ("analyze whole.xplane.pb --baseline {}", "base.json"),
    ("analyze program.json --roles {}", "roles.toml"),
    ("analyze whole.xplane.pb --device-spec {}", "chip.toml"),
    ("expect {} whole.xplane.pb", "expect.toml"),
    (
        "expect {} step.txt -o junit=out.xml -o sarif=out.sarif",
        "expect.toml",
    ),
    ("expect expect.toml {}", "step.txt"),
    ("expect --init=out.toml {}", "step.txt"),
    ("compare {} step.txt", "step.txt"),
    ("hlo step.txt --diff {} --format json", "step.txt"),
    ("compare step.mlir {}", "step.mlir"),
    ("hlo {} --text", "step.mlir"),
];

const ROLES: &str = "simulator = \"mysim\"\ntime_unit = \"ns\"\n[[track]]\nprocess = \"*\"\nrole = \"ops\"\n[[op]]\nrole = \"ops\"\n\
                     name = \"a*\"\ncategory = \"dot\"\n";
const CHIP: &str = "base = \"v6e\"\nhbm_bandwidth = 1e12\nbf16_flops = 900e12\n";

const EXPECT: &str = "[[expect]]\nname = \"a\"\nop = \"*\"\nmin = 0\n[[expect]]\nname = \"b\"\nmax_peak_bytes = 100000000000\n";
const HLO: &str = "HloModule jit_step, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }\n\n\
    %f (p: f32[8]) -> f32[8] {\n  %p = f32[8]{0} parameter(0)\n  ROOT %t = f32[8]{0} tanh(%p)\n}\n\n\
    ENTRY %main (a: f32[8]) -> f32[8] {\n  %a = f32[8]{0} parameter(0)\n  \
    %b = f32[8]{0} fusion(%a), kind=kLoop, calls=%f, metadata={op_name=\"jit(step)/tanh\" source_file=\"m.py\" source_line=3}\n  \
    %c = f32[32]{0} all-gather(%b), replica_groups=[2,4]<=[8], dimensions={0}\n  \
    ROOT %d = f32[8]{0} slice(%c), slice={[0:8]}\n}\n";
const MLIR: &str = "module @jit_f {\n  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {\n    \
    %0:2 = stablehlo.while(%i = %arg0, %j = %arg0) : tensor<8xf32>, tensor<8xf32>\n    cond {\n      \
    stablehlo.return %i : tensor<8xf32>\n    } do {\n      stablehlo.return %j, %i : tensor<8xf32>, tensor<8xf32>\n    } \
    loc(#loc1)\n    %1 = \"stablehlo.all_gather\"(%0#1) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : \
    (tensor<8xf32>) -> tensor<16xf32>\n    return %0#0 : tensor<8xf32>\n  }\n}\n#loc1 = loc(\"a\"(\"m.py\":3:1))\n";

/// A folder with files that are not changed.
fn folder(seeds: &[Seed]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (name, from) in [
        ("whole.xplane.pb", "host.xplane.pb"),
        ("program.json", "program.json"),
    ] {
        let seed = seeds.iter().find(|seed| seed.name == from).unwrap();
        fs::write(path(name), seed.content.to_bytes()).unwrap();
    }
    for (name, text) in [
        ("roles.toml", ROLES),
        ("chip.toml", CHIP),
        ("expect.toml", EXPECT),
        ("step.txt", HLO),
        ("step.mlir", MLIR),
    ] {
        fs::write(path(name), text).unwrap();
    }
    for args in [
        &["summarize", "whole.xplane.pb", "-o", "base.json"][..],
        &["init", "whole.xplane.pb", "-o", "budget.toml"],
        &["analyze", "whole.xplane.pb", "--history", "runs.jsonl"],
        &["analyze", "whole.xplane.pb", "--history", "runs.jsonl"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_systole"))
            .args(args)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    folder
}

/// Runs a command on a file; what is wrong with its outcome.
fn run(folder: &Path, line: &str, file: &str) -> Result<(), String> {
    let args = line.split(' ').map(|word| word.replace("{}", file));
    let [out, err] = ["stdout", "stderr"].map(|name| folder.join(name));
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
    command
        .args(args)
        .current_dir(folder)
        .env("SYSTOLE_NETWORK", "off")
        .stdin(Stdio::null());
    let mut child = command
        .stdout(File::create(&out).unwrap())
        .stderr(File::create(&err).unwrap())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if started.elapsed() > PATIENCE => {
                child.kill().unwrap();
                child.wait().unwrap();
                return Err(format!("{line}: more than {} s", PATIENCE.as_secs()));
            }
            None => thread::sleep(Duration::from_millis(3)),
        }
    };
    let [said, reason] =
        [out, err].map(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned());
    let wrong = |why: &str| {
        Err(format!(
            "{line}: {why}: {status}, {}",
            reason.chars().take(500).collect::<String>()
        ))
    };
    let is_long = |text: &str| {
        text.split(|c: char| !c.is_ascii_digit() && c != ',')
            .any(|digits| digits.len() > 100)
    };
    match status.code() {
        Some(0 | 10 | 11) if is_long(&said) => wrong("a number of hundreds of digits"),
        Some(0 | 10 | 11) if said.contains("takes -") || said.contains("takes −") => {
            wrong("a negative time")
        }
        Some(0 | 10 | 11) if reason.contains("panicked") => wrong("a panic"),
        Some(0 | 10 | 11) => Ok(()),
        Some(2..=4) if reason.contains("error: ") && !reason.contains("panicked") => Ok(()),
        _ => wrong("no answer, and no reason"),
    }
}

/// The file that a command reads, changed, and its name.
fn changed(seeds: &[Seed], folder: &Path, number: u64) -> (String, Vec<u8>, Option<&'static str>) {
    let count = (OF_CAPTURES.len() + OF_OTHERS.len()) as u64;
    let mut rng = Rng::new(number);
    if let Some((_, from)) = OF_OTHERS.get((number % count) as usize) {
        let mut text = fs::read_to_string(folder.join(from)).unwrap();
        (0..=rng.below(3)).for_each(|_| mutate::text(&mut rng, &mut text));
        let mut bytes = text.into_bytes();
        if rng.one_in(4) {
            mutate::bytes(&mut rng, &mut bytes);
        }
        return (format!("changed-{from}"), bytes, None);
    }
    let (seed, bytes, _) = mutant(seeds, rng.next() >> 24);
    let place = folder.join(RUN);
    fs::create_dir_all(&place).unwrap();
    for (name, content) in &seed.beside {
        fs::write(place.join(name), content).unwrap();
    }
    (format!("{RUN}/{}", seed.name), bytes, Some(seed.title))
}

/// One command; what is wrong, and the file.
fn attempt(seeds: &[Seed], folder: &Path, number: u64) -> Option<String> {
    for old in fs::read_dir(folder).unwrap() {
        let old = old.unwrap();
        let name = old.file_name().to_string_lossy().into_owned();
        let is_made = name.starts_with("out") || name.starts_with("changed") || name == "capture";
        match old.path() {
            path if !is_made => drop(path),
            path if path.is_dir() => fs::remove_dir_all(path).unwrap(),
            path => fs::remove_file(path).unwrap(),
        }
    }
    let count = (OF_CAPTURES.len() + OF_OTHERS.len()) as u64;
    let at = (number % count) as usize;
    let line = OF_OTHERS
        .get(at)
        .map_or_else(|| OF_CAPTURES[at - OF_OTHERS.len()], |(line, _)| *line);
    let (file, bytes, title) = changed(seeds, folder, number);
    fs::write(folder.join(&file), &bytes).unwrap();
    let why = run(folder, line, &file).err()?;
    let name = file.rsplit('/').next().unwrap_or_default();
    Some(keep(
        number,
        (title.unwrap_or("another file"), name),
        &bytes,
        &why,
    ))
}

#[test]
fn mutated_files_go_through_every_command() {
    let seeds = seeds::all();
    let count = (OF_CAPTURES.len() + OF_OTHERS.len()) as u64;
    let (from, to) = match number_of("SYSTOLE_MUTANT") {
        Some(only) => (only, only + 1),
        None => (
            0,
            (number_of("SYSTOLE_MUTANTS").unwrap_or(super::QUICK) / FOR_EACH).max(count),
        ),
    };
    let (next, failures) = (AtomicU64::new(from), Mutex::new(Vec::new()));
    let work = || {
        let folder = folder(&seeds);
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= to || failures.lock().unwrap().len() >= 20 {
                break;
            }
            failures
                .lock()
                .unwrap()
                .extend(attempt(&seeds, folder.path(), number));
        }
    };
    thread::scope(|scope| {
        for number in 0..thread::available_parallelism().map_or(2, usize::from) {
            thread::Builder::new()
                .name(format!("commands-{number}"))
                .spawn_scoped(scope, work)
                .unwrap();
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Unchanged files have an answer: a refusal of all mutants would prove nothing.
#[test]
fn unmutated_files_are_answered_by_every_command() {
    let seeds = seeds::all();
    let folder = folder(&seeds);
    fs::create_dir(folder.path().join("out")).unwrap();
    fs::create_dir_all(folder.path().join(RUN)).unwrap();
    fs::copy(
        folder.path().join("whole.xplane.pb"),
        folder.path().join(RUN).join("host.xplane.pb"),
    )
    .unwrap();
    for line in OF_CAPTURES {
        run(folder.path(), line, "whole.xplane.pb").unwrap();
        let said = fs::read_to_string(folder.path().join("stderr")).unwrap();
        assert!(!said.contains("error: "), "{line}: {said}");
    }
    for (line, file) in OF_OTHERS {
        run(folder.path(), line, file).unwrap();
        let said = fs::read_to_string(folder.path().join("stderr")).unwrap();
        assert!(!said.contains("error: "), "{line}: {said}");
    }
}
