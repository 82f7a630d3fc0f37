//! `systole export`: the tables of a trace as files for other programs.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write as _};

use super::prelude::*;
use analysis::counted;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use session::export::{EXPORT_FORMATS, ExportContent, ExportFormat, table_format_names};
use session::files::write_with;
use session::tables::arrow::Constant;
use session::tables::error::TableFileError;
use session::tables::files::{TableToWrite, TableWriter};
use session::tables::partitions::{self, FilePart};
use session::tables::{ARGS, Catalog, DataTable, OF_WHOLE_TRACES};

#[derive(Debug, Args)]
#[command(next_help_heading = "Export")]
pub struct ExportArgs {
    #[command(flatten)]
    pub input: TraceRequest,
    /// Format of the files
    #[arg(long, default_value = "parquet", value_parser = export_format())]
    pub to: &'static ExportFormat,
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
    /// With the arguments of slices, as JSON: large, slow to read, and exact but for binary ones, of which only the length is written
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

fn export_format() -> impl TypedValueParser<Value = &'static ExportFormat> {
    let value = |format: &ExportFormat| PossibleValue::new(format.name).help(format.about);
    PossibleValuesParser::new(EXPORT_FORMATS.iter().map(value)).map(|name| {
        let known = EXPORT_FORMATS.iter().find(|format| format.name == name);
        known.expect("only names of formats are accepted")
    })
}

/// Columns by which files can be divided.
#[derive(Clone, Copy, Debug, ValueEnum)]
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

pub fn run(args: &ExportArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    let is_of_reports = |name: &String| !OF_WHOLE_TRACES.contains(&&**name);
    let open = if !args.tables.is_empty() && args.tables.iter().all(is_of_reports) {
        Session::open_for_reports
    } else {
        Session::open
    };
    let session = loading::open(&args.input, open, OutputFormat::JSON, stderr)?;
    checks::check_part(&session, &args.scope)?;
    let guard = OutputGuard::new(args.input.files(), args.force.force);
    match args.to.content {
        ExportContent::Tables(writer) => write_tables(args, &session, &guard, writer, stderr)?,
        ExportContent::Timeline { file, write } => {
            if !args.tables.is_empty() || !args.partition.is_empty() {
                let option = if args.tables.is_empty() {
                    "--partition"
                } else {
                    "--tables"
                };
                return Err(RequestError::Usage(format!(
                    "{option} is for {}: this format is the timeline",
                    table_format_names()
                )));
            }
            if args.scope.scope() != Scope::WholeTrace
                || !args.input.assume.values.device.is_empty()
            {
                stderr.warn("this format is the whole timeline: --steps, --range and --device do not apply to it");
            }
            make_directory(&args.output)?;
            let path = args.output.join(file);
            guard.check(&path).map_err(RequestError::Usage)?;
            let written = write_with(&path, |file| {
                let mut out = BufWriter::new(file);
                write(&session, args.args, &mut out)?;
                out.flush()
            });
            written.map_err(RequestError::write(&path))?;
            stderr.detail(&format!("wrote {}", path.display()));
        }
    }
    Ok(CommandOutcome::Done)
}

fn make_directory(path: &Path) -> Result<()> {
    session::files::make_directory(path).map_err(RequestError::write(path))
}

fn write_tables(
    args: &ExportArgs,
    session: &Session,
    guard: &OutputGuard,
    writer: TableWriter,
    stderr: &Stderr,
) -> Result<()> {
    let tables = chosen(&Catalog::new(session, args.scope.scope()), &args.tables)?;
    make_directory(&args.output)?;
    let run = args
        .run_name
        .clone()
        .unwrap_or_else(|| name_of_run(session, &args.input.path));
    let mut constants = vec![Constant {
        name: "run".into(),
        value: Some(run.as_str().into()),
    }];
    // In every row, as in the CSV of reports, so that rows of many runs can be read together.
    constants.extend(session.model().badge().map(|badge| Constant {
        name: "times_from".into(),
        value: Some(badge.into()),
    }));
    let mut by: Vec<&str> = args.partition.iter().map(|column| column.name()).collect();
    by.dedup();
    for table in &tables {
        let columns: Vec<usize> = (0..table.columns.len())
            .filter(|&column| args.args || table.columns[column].name != ARGS)
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
            std::fs::create_dir_all(&directory).map_err(RequestError::write(&directory))?;
            let path = directory.join(format!("{}.{}", part.stem, args.to.name));
            let names = part
                .columns
                .iter()
                .filter_map(|&column| Some(&*part.table.columns.get(column)?.name));
            let headings: Vec<&str> = constants
                .iter()
                .map(|constant| &*constant.name)
                .chain(names)
                .collect();
            guard
                .check_table(&path, &headings)
                .map_err(RequestError::Usage)?;
            let wanted = TableToWrite {
                table: &part.table,
                columns: Some(&part.columns),
                constants,
                cells: args.csv.cells(),
            };
            let written = wanted.write(writer, &path);
            written.map_err(|error| match error {
                TableFileError::Io(error) => RequestError::write(&path)(error),
                error => RequestError::write(&path)(io::Error::other(error)),
            })?;
            stderr.detail(&format!(
                "wrote {}, {}",
                path.display(),
                counted(part.table.len, "row")
            ));
        }
    }
    Ok(())
}

fn chosen(catalog: &Catalog, names: &[String]) -> Result<Vec<Arc<DataTable>>> {
    if names.is_empty() {
        let reports = catalog
            .reports()
            .into_iter()
            .filter(|table| REPORTS.contains(&&*table.name));
        return Ok(catalog.timeline().iter().cloned().chain(reports).collect());
    }
    let find = |name: &String| {
        catalog.table(name).ok_or_else(|| {
            let mut names: BTreeSet<String> = OF_WHOLE_TRACES.map(str::to_owned).into();
            names.extend(catalog.all().iter().map(|table| table.name.clone()));
            RequestError::Usage(format!(
                "--tables: there is no table {name:?}; there are {}",
                joined(names, ", ")
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
    directory
        .filter(in_profile)
        .unwrap_or(path)
        .file_name()
        .map_or_else(
            || "run".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        )
}
