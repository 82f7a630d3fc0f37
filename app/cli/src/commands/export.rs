//! `systole export`: the tables of a trace as files for other programs.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use analysis::{Scope, counted};
use clap::{Args, ValueEnum};

use crate::common::args::{CsvArgs, ForceArgs};
use crate::common::loading;
use crate::common::outcome::CommandOutcome;
use crate::common::stderr::Stderr;
use request::{PartRequest, RequestError, TraceRequest, checks};
use session::Session;
use session::convert::{chrome_json, perfetto};
use session::files::{OutputGuard, write_with};
use session::tables::arrow::Constant;
use session::tables::error::TableFileError;
use session::tables::files::{self, TableFormat};
use session::tables::partitions::{self, FilePart};
use session::tables::{ARGS, Catalog, DataTable};

#[derive(Debug, Args)]
#[command(next_help_heading = "Export")]
pub struct ExportArgs {
    #[command(flatten)]
    pub input: TraceRequest,
    /// Format of the files
    #[arg(long, value_enum, default_value_t = ExportFormat::Parquet)]
    pub to: ExportFormat,
    /// Directory of the files; made if it does not exist
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Only these tables (`systole query PATH --list` shows them); otherwise those of the timeline, and runs, steps,
    /// ops, collectives and hints
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub tables: Vec<String>,
    /// One directory per table and value of these columns, as Hive names them: `slices/run=R/device=D/data.parquet`.
    /// A table is divided by those of the columns that it has
    #[arg(long, value_enum, value_name = "COLUMN,…", value_delimiter = ',')]
    pub partition: Vec<PartitionColumn>,
    /// With the arguments of slices, as JSON: exact, large, and slow to read
    #[arg(long)]
    pub args: bool,
    /// Name of the run in the first column of every table; otherwise that of its directory or file
    #[arg(long, value_name = "NAME")]
    pub run_name: Option<String>,
    #[command(flatten)]
    pub csv: CsvArgs,
    #[command(flatten)]
    pub force: ForceArgs,
    #[command(flatten)]
    pub scope: PartRequest,
}

/// Formats of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Apache Parquet, compressed: for Spark, pandas and SQL engines
    Parquet,
    /// Arrow IPC (Feather): for pandas, polars, R
    Arrow,
    /// Comma-separated values
    Csv,
    /// One file trace.json: Chrome's trace events, for Perfetto and Chrome
    ChromeJson,
    /// One file trace.perfetto-trace: Perfetto's protobuf, in nanoseconds
    Perfetto,
}

/// Columns by which files can be divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum PartitionColumn {
    /// The run
    Run,
    /// The host that recorded the row
    Host,
    /// The device that the row is about
    Device,
}

impl PartitionColumn {
    fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Host => "host",
            Self::Device => "device",
        }
    }
}

/// Tables of reports that are written unless others are named.
const REPORTS: [&str; 5] = ["runs", "steps", "ops", "collectives", "hints"];

#[expect(clippy::too_many_lines, reason = "one branch for each format")]
pub fn run(args: &ExportArgs, stderr: &Stderr) -> Result<CommandOutcome, RequestError> {
    let session = loading::open_without_digest(&args.input, stderr)?;
    checks::check_scope(&session, &args.input, &args.scope)?;
    let guard = OutputGuard::new(args.input.files(), args.force.force);
    let failed = |error, path: &Path| RequestError::Write {
        error,
        path: path.to_owned(),
    };
    let make_directory = || {
        session::files::make_directory(&args.output).map_err(|error| failed(error, &args.output))
    };
    if let Some(name) = whole_file(args.to) {
        if !args.tables.is_empty() || !args.partition.is_empty() {
            let option = if args.tables.is_empty() {
                "--partition"
            } else {
                "--tables"
            };
            return Err(RequestError::Usage(format!(
                "{option} is for parquet, arrow and csv: this format is the timeline"
            )));
        }
        if args.scope.scope() != Scope::WholeTrace || !args.input.assume.values.device.is_empty() {
            stderr.warn("this format is the whole timeline: --steps, --range and --device do not apply to it");
        }
        make_directory()?;
        let path = args.output.join(name);
        guard.check(&path).map_err(RequestError::Usage)?;
        let written = write_with(&path, |file| {
            let mut out = BufWriter::new(file);
            match args.to {
                ExportFormat::Perfetto => perfetto::write(&session, &mut out)?,
                _ => chrome_json::write(&session, args.args, &mut out)?,
            }
            out.flush()
        });
        written.map_err(|error| failed(error, &path))?;
        stderr.detail(&format!("wrote {}", path.display()));
        return Ok(CommandOutcome::Done);
    }
    let tables = chosen(&Catalog::new(&session, args.scope.scope()), &args.tables)?;
    make_directory()?;
    let run = args
        .run_name
        .clone()
        .unwrap_or_else(|| name_of_run(&session, &args.input.path));
    let mut constants = vec![Constant {
        name: "run".into(),
        value: Some(run.as_str().into()),
    }];
    // In every row, as in the CSV of reports, so that rows of many runs can be read together.
    constants.extend(session.model().badge().map(|badge| Constant {
        name: "times_from".into(),
        value: Some(badge.into()),
    }));
    let format = match args.to {
        ExportFormat::Parquet => TableFormat::Parquet,
        ExportFormat::Arrow => TableFormat::Arrow,
        _ => TableFormat::Csv,
    };
    let mut by: Vec<&str> = args.partition.iter().map(|column| column.name()).collect();
    by.dedup();
    for table in &tables {
        let columns: Vec<usize> = (0..table.columns.len())
            .filter(|&at| args.args || table.columns[at].name != ARGS)
            .collect();
        let parts = if by.is_empty() {
            vec![FilePart {
                directory: PathBuf::new(),
                stem: table.name.clone(),
                table: Arc::clone(table),
                columns,
            }]
        } else {
            partitions::of(table, &columns, &by, &run)
        };
        // The run is in the names of directories, or in the first column.
        let constants = if by.contains(&"run") {
            &constants[1..]
        } else {
            &constants[..]
        };
        for part in parts {
            let directory = args.output.join(&part.directory);
            std::fs::create_dir_all(&directory).map_err(|error| failed(error, &directory))?;
            let path = directory.join(format!("{}.{}", part.stem, format.extension()));
            let names = part
                .columns
                .iter()
                .filter_map(|&at| Some(&*part.table.columns.get(at)?.name));
            let headings: Vec<&str> = constants
                .iter()
                .map(|constant| &*constant.name)
                .chain(names)
                .collect();
            guard
                .check_table(&path, &headings)
                .map_err(RequestError::Usage)?;
            let written = files::write(
                &part.table,
                Some(&part.columns),
                constants,
                format,
                args.csv.cells(),
                &path,
            );
            written.map_err(|error| match error {
                TableFileError::Io(error) => failed(error, &path),
                error => failed(std::io::Error::other(error), &path),
            })?;
            stderr.detail(&format!(
                "wrote {}, {}",
                path.display(),
                counted(part.table.len, "row")
            ));
        }
    }
    Ok(CommandOutcome::Done)
}

/// The name of the file of a format that is the whole timeline.
fn whole_file(format: ExportFormat) -> Option<&'static str> {
    match format {
        ExportFormat::ChromeJson => Some("trace.json"),
        ExportFormat::Perfetto => Some("trace.perfetto-trace"),
        ExportFormat::Parquet | ExportFormat::Arrow | ExportFormat::Csv => None,
    }
}

fn chosen(catalog: &Catalog, names: &[String]) -> Result<Vec<Arc<DataTable>>, RequestError> {
    if names.is_empty() {
        let reports = catalog
            .reports()
            .into_iter()
            .filter(|table| REPORTS.contains(&&*table.name));
        return Ok(catalog.timeline().iter().cloned().chain(reports).collect());
    }
    let find = |name: &String| {
        catalog.table(name).ok_or_else(|| {
            let there: Vec<String> = catalog
                .all()
                .iter()
                .map(|table| table.name.clone())
                .collect();
            RequestError::Usage(format!(
                "--tables: there is no table {name:?}; there are {}",
                there.join(", ")
            ))
        })
    };
    names.iter().map(find).collect()
}

/// The name of the run's directory where files lie as profilers put them (`plugins/profile/RUN/HOST.xplane.pb`), else
/// that of what the user named.
fn name_of_run(session: &Session, path: &Path) -> String {
    let directory = session
        .model()
        .sources()
        .first()
        .and_then(|source| source.path.as_deref()?.parent());
    let in_profile = |run: &&Path| {
        run.parent()
            .and_then(Path::file_name)
            .is_some_and(|name| name == "profile")
    };
    let run = directory.filter(in_profile).unwrap_or(path);
    run.file_name().map_or_else(
        || "run".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}
