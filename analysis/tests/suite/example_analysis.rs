//! How to add an analysis, from its report to a registry: the worked example of ARCHITECTURE.md.
//!
//! In the crate `device-reports`, the file is `src/<folder>/program_runs.rs`, and the registry is `ANALYSES`.

use analysis::{
    Analysis, AnalysisEntry, AnalysisError, Cell, Context, Options, Percent, ReportCache, Scope,
    Table, Tabular, TraceFacts as _, entry,
};
use importers::{ImportOptions, Progress};
use serde::Serialize;
use trace_model::Picos;

/// The analysis `program_runs`: how often each device ran programs, and for how long.
struct ProgramRuns;

/// A plain struct: JSON and its schema follow from it.
#[derive(Serialize, schemars::JsonSchema)]
struct ProgramRunsReport {
    rows: Vec<ProgramRunsRow>,
}

/// One device. A field declares its column: the title, and the provenance where it is not that of the row. The unit
/// follows from the name.
#[derive(Serialize, schemars::JsonSchema, engine::Columns)]
#[columns(measured)]
struct ProgramRunsRow {
    #[column]
    device: String,
    #[column]
    runs: u64,
    /// Of all runs, on the clock of the host.
    #[column]
    time_ps: Picos,
    /// Share of the window of the device; `None` where it has none.
    #[column(derived)]
    of_window_percent: Option<Percent>,
}

impl Analysis for ProgramRuns {
    type Report = ProgramRunsReport;
    const ID: &'static str = "program_runs";
    const TITLE: &'static str = "Runs of programs";

    fn run(cx: &Context<'_>) -> Result<ProgramRunsReport, AnalysisError> {
        let mut rows = Vec::new();
        for core in cx.tensor_cores() {
            let runs = cx.programs_on_host(core);
            let time: Picos = runs.iter().map(|(_, range)| range.dur()).sum();
            let window = cx.window(core)?;
            rows.push(ProgramRunsRow {
                device: cx.model.str(cx.model.group(core).name).to_owned(),
                runs: runs.len() as u64,
                time_ps: time,
                of_window_percent: window.and_then(|window| Percent::of(time, window.range.dur())),
            });
        }
        if rows.iter().all(|row| row.runs == 0) {
            // The reason, and no table of zeros.
            return Err(AnalysisError::NotApplicable(
                "no device recorded programs".to_owned(),
            ));
        }
        Ok(ProgramRunsReport { rows })
    }
}

impl Tabular for ProgramRunsReport {
    fn tables(&self) -> Vec<Table> {
        let table = Table::of("program_runs", "Runs of programs", &self.rows)
            .remaining()
            .note("Window: from the first op of the device to the end of its last.");
        vec![table.build()]
    }
}

/// The line to add.
static REGISTRY: &[AnalysisEntry] = &[entry::<ProgramRuns>()];

#[test]
fn analysis_example_is_registered() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../assets/samples/synthetic_v5e_8chip_overlap.xplane.pb"
    );
    let model =
        importers::import_path(path.as_ref(), &ImportOptions::default(), &Progress::new()).unwrap();
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };

    // What the command line and the app do with the registry.
    let entries: Vec<&AnalysisEntry> = REGISTRY.iter().collect();
    let report = cx.reports_of(&entries).remove(0).unwrap();
    let table = &report.tables()[0];
    // Eight devices run four programs each, nearly all of the time.
    assert_eq!(table.rows.len(), 8);
    assert!(
        table.rows.iter().all(|row| row[1] == Cell::Int(4)),
        "{table:?}"
    );
    assert!(
        table
            .rows
            .iter()
            .all(|row| matches!(row[3], Cell::Float(share) if share > 98.0 && share < 100.0))
    );
    assert_eq!(report.json()["rows"][7]["device"], "/device:TPU:7");
}
