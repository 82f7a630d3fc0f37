//! `systole environment`: what a run was built from and where it ran, shown or recorded.

use std::collections::BTreeMap;

use super::prelude::*;
use analysis::engine::environment::{EnvironmentFact, RUN_FILE};
use analysis::{Environment, facts};

use session::environment::{ObservedProcess, write};
use session::files::directory_of;

/// Rows on the screen.
const SHOWN: usize = 24;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct EnvironmentArgs {
    #[command(flatten)]
    pub input: TraceRequest,
    /// Record the environment of this command beside the profile, in systole.run.json, unless that is there
    #[arg(long)]
    pub write: bool,
    /// Record the commit and the lock file only: this machine is not the one that ran the program
    #[arg(long, requires = "write")]
    pub only_code: bool,
    /// A Python package whose version is recorded, too; may be repeated
    #[arg(long, value_name = "NAME", requires = "write")]
    pub package: Vec<String>,
    /// Format of stdout
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
    #[command(flatten)]
    pub csv: CsvArgs,
    #[command(flatten)]
    pub force: ForceArgs,
}

pub fn run(args: &EnvironmentArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    let loading = Loading::new(&args.input.assume, stderr)?;
    if args.write {
        let path = record(args, &loading)?;
        output::print_names(&format!("{path}\n"))?;
        return Ok(CommandOutcome::Done);
    }
    let session =
        loading.open_for_reports(&args.input.path, args.input.run.clone(), args.format, true)?;
    let Some(environment) = facts::environment(&session.context(Scope::WholeTrace)) else {
        return Err(RequestError::DoesNotApply(format!(
            "nothing is known of the environment: the profile records no versions, and there is no {RUN_FILE} beside it; \
             systole_tpu.trace() in Python, systole capture and systole environment --write record it"
        )));
    };
    output::print_as(args.format, &shown(&environment, args))
}

/// Writes what is known of this process beside the profile.
fn record(args: &EnvironmentArgs, loading: &Loading<'_>) -> Result<String> {
    let path = &args.input.path;
    let import = loading.import(args.input.run.clone());
    let located = importers::locate(path, &import, &Progress::new())
        .map_err(|error| RequestError::import(error, path))?;
    let mut files = located.hosts.iter().flat_map(|host| &host.files);
    let directory = files
        .next()
        .map_or(Path::new("."), |file| directory_of(file));
    if importers::is_remote(directory) {
        return Err(RequestError::Usage(format!(
            "--write: {RUN_FILE} is written beside profiles on this machine: {}",
            directory.display()
        )));
    }
    if importers::is_archive_file(path) {
        return Err(RequestError::Usage(format!(
            "--write: {RUN_FILE} lies beside profiles, and those of an archive have no folder: {}",
            path.display()
        )));
    }
    let target = directory.join(RUN_FILE);
    if target.exists() && !args.force.force {
        return Ok(format!(
            "{} is there already; --force replaces it",
            target.display()
        ));
    }
    output::check_file(
        &target,
        &OutputGuard::new(args.input.files(), args.force.force),
    )?;
    let mut environment =
        ObservedProcess::this().environment("systole environment", &BTreeMap::new(), &args.package);
    if args.only_code {
        environment = Environment {
            recorded_by: environment.recorded_by,
            git: environment.git,
            lock: environment.lock,
            ..Environment::default()
        };
    }
    let written = write(&environment, directory).map_err(RequestError::write(&target))?;
    Ok(format!("wrote {}", written.display()))
}

fn shown(environment: &Environment, args: &EnvironmentArgs) -> String {
    let from = |fact: &EnvironmentFact| {
        if environment.from_profile.contains(&fact.id) {
            "profile"
        } else if environment.is_from_dump(&fact.id) {
            "dump of the compiler"
        } else {
            RUN_FILE
        }
    };
    let mut facts = environment.facts();
    // Dumps list every flag, most of them at their defaults.
    facts.sort_by_key(|fact| environment.is_from_dump(&fact.id));
    let table = Table::of("environment", "Environment of the run", &facts)
        .derived("what", "What", Unit::None, |fact: &EnvironmentFact| {
            &fact.title
        })
        .derived("value", "Value", Unit::None, |fact: &EnvironmentFact| {
            &fact.value
        })
        .derived("from", "From", Unit::None, from)
        .derived("id", "Id", Unit::None, |fact: &EnvironmentFact| &fact.id)
        .notes(environment.unreadable.clone())
        .build();
    let layout = terminal::whole_tables(AnsiStyle::PLAIN);
    let text = |table: &Table| {
        let mut shown = table.clone();
        let more = shown.rows.len().saturating_sub(SHOWN);
        if more > 0 {
            shown.rows.truncate(SHOWN);
            let more = counted(more as u64, "more fact");
            let note = format!("{more}: --format json or csv lists all");
            shown.notes.push(note);
        }
        table::table(&shown, &layout)
    };
    let json = || serde_json::to_value(environment).unwrap_or_default();
    output::list(
        args.format,
        args.csv.cells(),
        "environment",
        table,
        text,
        json,
    )
}
