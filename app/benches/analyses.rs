//! What all analyses of a trace cost beside its import: wall time, CPU time, memory, and
//! which of them take longest. `cargo bench -p systole --no-default-features --bench analyses [-- FILE...]`
//!
//! Without files it takes the real captures beside the repository, the samples, and a
//! synthetic session of eight devices with two million events.
//! The targets: all analyses together take at most half of the CPU time of the import of the file, and
//! need at most twice the memory of the model on top of it.

#[path = "../../tests/heap.rs"]
mod heap;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use analysis::{ANALYSES, Options, Scope};
use cpu_time::ProcessTime;
use importers::{ImportOptions, Progress};
use sample_traces::big::{BigSpec, big_xspace};
use session::Session;

#[global_allocator]
static GLOBAL: heap::Counting = heap::Counting;

/// Measured so often, at least and at most, and no longer than this; medians count.
const RUNS: (usize, usize) = (3, 21);
const LONG_ENOUGH: Duration = Duration::from_secs(1);
/// Analyses listed with each file.
const SLOWEST: usize = 6;

/// One run on one file.
struct Run {
    import: Duration,
    import_cpu: Duration,
    analyses: Duration,
    analyses_cpu: Duration,
    own: BTreeMap<&'static str, Duration>,
}

impl Run {
    /// `None` where the file does not open.
    fn of(path: &Path) -> Option<Self> {
        let (began, cpu) = (Instant::now(), ProcessTime::now());
        let session = open(path)?;
        let (import, import_cpu) = (began.elapsed(), cpu.elapsed());
        let (began, cpu) = (Instant::now(), ProcessTime::now());
        analyze(&session);
        let (analyses, analyses_cpu) = (began.elapsed(), cpu.elapsed());
        // Once more, one after the other: who waits for another does not work.
        let session = Session::from_model(session.model().clone(), Options::default());
        for entry in ANALYSES {
            // An analysis that does not apply has a cost as well.
            let _ = session.report_by_id(entry.id, Scope::WholeTrace);
        }
        let mut own = BTreeMap::new();
        for cost in session.context(Scope::WholeTrace).reports.costs() {
            *own.entry(cost.id).or_default() += cost.own;
        }
        Some(Self {
            import,
            import_cpu,
            analyses,
            analyses_cpu,
            own,
        })
    }
}

fn open(path: &Path) -> Option<Session> {
    Session::open(
        path,
        &ImportOptions::default(),
        Options::default(),
        &Progress::default(),
    )
    .ok()
}

fn analyze(session: &Session) {
    session
        .context(Scope::WholeTrace)
        .reports_of(&ANALYSES.iter().collect::<Vec<_>>());
}

/// Bytes of the model, and most bytes that all analyses needed beyond it; in a run of
/// its own, because counting takes time.
fn memory(path: &Path) -> Option<(usize, usize)> {
    let heap = heap::begin();
    let session = open(path)?;
    let model = heap.live();
    let heap = heap::begin();
    analyze(&session);
    let growth = heap.peak();
    heap::stop();
    Some((model, growth))
}

fn median<T: Ord + Copy>(runs: &[Run], value: impl Fn(&Run) -> T) -> Option<T> {
    let mut values: Vec<T> = runs.iter().map(value).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// The line of one file; `None` where it does not open.
fn line(path: &Path, name: &str) -> Option<String> {
    let (model, growth) = memory(path)?; // Also warms the page cache.
    let (mut runs, began) = (Vec::new(), Instant::now());
    while runs.len() < RUNS.0 || (runs.len() < RUNS.1 && began.elapsed() < LONG_ENOUGH) {
        runs.push(Run::of(path)?);
    }
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let cpu = |time: fn(&Run) -> Duration| median(&runs, time).map(ms);
    let (import, analyses) = (
        ms(median(&runs, |run| run.import)?),
        ms(median(&runs, |run| run.analyses)?),
    );
    let ids = runs.first()?.own.keys();
    let mut slowest: Vec<(Duration, &str)> = ids
        .filter_map(|&id| {
            Some((
                median(&runs, |run| run.own.get(id).copied().unwrap_or_default())?,
                id,
            ))
        })
        .collect();
    slowest.sort_unstable_by(|a, b| b.cmp(a));
    let slowest: Vec<_> = slowest
        .iter()
        .take(SLOWEST)
        .map(|&(time, id)| format!("{id} {:.2}", ms(time)))
        .collect();
    Some(format!(
        "{import:>9.2} {analyses:>9.2} {:>6.2} {:>6.2} {:>9.1} {:>9.1} {:>6.2}  {name}: {}",
        analyses / import,
        cpu(|run| run.analyses_cpu)? / cpu(|run| run.import_cpu)?,
        model as f64 / 1e6,
        growth as f64 / 1e6,
        growth as f64 / model as f64,
        slowest.join(", ")
    ))
}

/// Traces below `folder`, by name.
fn traces(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            // What another tool says of a capture is no capture.
            found.extend(if name == "xprof" {
                Vec::new()
            } else {
                traces(&path)
            });
        } else if [".pb", ".pb.gz", ".json", ".json.gz"]
            .iter()
            .any(|ending| name.ends_with(ending))
        {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let corpus = root.join("../shared/corpus");
    let folder = tempfile::tempdir().expect("a benchmark needs a place for its trace");
    // Cargo adds options of its own.
    let mut files: Vec<PathBuf> = std::env::args_os()
        .skip(1)
        .map(PathBuf::from)
        .filter(|arg| arg.exists())
        .collect();
    if files.is_empty() {
        let folders = ["tpu", "host", "big", "simulators"].map(|name| corpus.join(name));
        files = folders
            .iter()
            .chain([&root.join("assets/samples")])
            .flat_map(|folder| traces(folder))
            .collect();
        let big = folder.path().join("two_million_events.xplane.pb");
        if std::fs::write(
            &big,
            big_xspace(BigSpec {
                slices: 2_000_000,
                tracks: 16,
            }),
        )
        .is_ok()
        {
            files.push(big);
        }
    }
    println!(
        "medians; times in ms, memory in MB; the import, all analyses at once, the slowest of them by themselves"
    );
    println!(
        "{:>9} {:>9} {:>6} {:>6} {:>9} {:>9} {:>6}",
        "import", "analyses", "ratio", "of CPU", "model", "growth", "ratio"
    );
    for file in files {
        let name = [corpus.as_path(), root.as_path()]
            .iter()
            .find_map(|root| file.strip_prefix(root).ok());
        if let Some(line) = line(&file, &name.unwrap_or(&file).display().to_string()) {
            println!("{line}");
        }
    }
}
