//! `systole compare`: two runs side by side.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use analysis::Scope;
use analysis::compare::{CompareOptions, Comparison, Summary, SummaryInput, TestOptions, compare, from_json, is_meant};
use analysis::gates::{self, GateConfig, GatesReport};
use clap::Args;
use importers::ImportOptions;

use super::Talk;
use super::args::{AssumeArgs, FileFormat, Format, OutputArgs};
use super::failure::{Failure, Outcome};
use super::gate::JudgeArgs;
use super::values::StepsArg;
use super::{analyze, config, gate, history, loading, output};
use crate::render::comparison::{self, Compared};
use crate::render::{InputFile, Layout, NamedTable, html, junit, sarif};
use crate::session::Session;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The run to compare with: a profile, a run or log directory, or a saved summary
    #[arg(value_name = "BASE", required_unless_present = "base")]
    pub first: Option<PathBuf>,
    /// The run to judge
    #[arg(value_name = "CAND", required_unless_present = "cand")]
    pub second: Option<PathBuf>,
    /// More runs to compare with; of a log directory all runs; may be repeated
    #[arg(long, value_name = "PATH")]
    pub base: Vec<PathBuf>,
    /// More runs to judge, likewise
    #[arg(long, value_name = "PATH")]
    pub cand: Vec<PathBuf>,
    /// Only steps A to B of every run, both included
    #[arg(long, value_name = "A..B")]
    pub steps: Option<StepsArg>,
    #[command(flatten)]
    pub assume: AssumeArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub test: TestArgs,
    #[command(flatten)]
    pub judge: JudgeArgs,
}

/// When a difference counts.
#[derive(Debug, Args)]
#[command(next_help_heading = "When a difference counts")]
pub struct TestArgs {
    /// Chance of calling noise a change
    #[arg(long, value_name = "P", default_value_t = 0.05)]
    pub alpha: f64,
    /// Changes below this part of the step do not matter
    #[arg(long, value_name = "PERCENT", default_value_t = 0.1)]
    pub min_effect: f64,
    /// Compare also what is not comparable
    #[arg(long)]
    pub force: bool,
}

impl TestArgs {
    /// What they mean.
    pub fn options(&self) -> Result<CompareOptions, Failure> {
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            return Err(Failure::Usage("--alpha: write a probability between 0 and 1: 0.05".to_owned()));
        }
        if !(self.min_effect.is_finite() && self.min_effect >= 0.0) {
            return Err(Failure::Usage("--min-effect: write a part of the step in percent: 0.5".to_owned()));
        }
        let test = TestOptions { alpha: self.alpha, min_effect_percent: self.min_effect, ..TestOptions::default() };
        Ok(CompareOptions { test, force: self.force, ..CompareOptions::default() })
    }
}

/// Runs the command.
pub fn run(args: &CompareArgs, talk: &Talk) -> Result<Outcome, Failure> {
    let mut options = args.test.options()?;
    output::check(&args.output)?;
    let (base, cand) = sides(args)?;
    // One file holds budgets and suppressions.
    let mut assume = args.assume.clone();
    assume.config = assume.config.or_else(|| args.judge.budget.clone());
    if args.judge.budget.is_none() {
        config::say_ignored(args.assume.config.as_deref(), talk);
    }
    let config = args.judge.budget.as_deref().map(config::gates).transpose()?;
    if let Some(config) = &config {
        set_by(&mut options, config);
    }
    let trace = cand.first().map_or(Path::new("trace"), |wanted| wanted.0);
    let format = args.output.format;
    let base = summaries(&base, &assume, args.steps, format, talk)?;
    let cand = summaries(&cand, &assume, args.steps, format, talk)?;
    if let Some(config) = &config {
        config.check_names(&base, &cand).map_err(|error| Failure::Usage(error.to_string()))?;
    }
    let comparison = compare(&base, &cand, &options);
    let report = config.as_ref().map(|config| gates::judge(&cand, Some((&base[..], &comparison)), config));
    let compared = Compared { base: &base, cand: &cand, comparison: &comparison, gates: report.as_ref(), trace };
    output::write(&compared, &args.output, talk)?;
    gate::step_summary(|| comparison::verdict(&compared))?;
    for run in &cand {
        gate::keep_history(&args.judge, run, report.as_ref().unwrap_or(&GatesReport::default()))?;
    }
    if let Some(outcome) =
        report.as_ref().and_then(|report| gate::outcome(report, &args.judge, args.output.strict, talk))
    {
        return Ok(outcome);
    }
    Ok(match doubt(&comparison) {
        Some(why) if args.output.strict => Outcome::Inconclusive(why),
        _ => Outcome::Done,
    })
}

/// A file of gates says which differences bar and how many steps tell anything.
fn set_by(options: &mut CompareOptions, config: &GateConfig) {
    let CompareOptions { test, require, .. } = gates::compare_options(config);
    (options.test.min_steps, options.require) = (test.min_steps, require);
}

impl output::Written for Compared<'_> {
    fn rendered(&self, format: FileFormat, layout: &Layout) -> Result<String, Failure> {
        let internal = |error: serde_json::Error| Failure::Internal(error.to_string());
        Ok(match format {
            FileFormat::Text | FileFormat::Csv | FileFormat::Ndjson => comparison::text(self, layout),
            FileFormat::Md => comparison::markdown(self, layout),
            FileFormat::Junit => {
                let none = GatesReport::default();
                junit::junit(self.gates.unwrap_or(&none), self.cand, Some(self.comparison))
            }
            FileFormat::Sarif => sarif::of_comparison(self).map_err(internal)?,
            FileFormat::Html => html::comparison::page(self),
            FileFormat::Json => comparison::json(self, layout.entries).map_err(internal)?,
        })
    }

    fn tables(&self) -> Vec<NamedTable> {
        comparison::tables(self)
    }

    fn not_applicable(&self) -> Vec<(&str, String)> {
        Vec::new()
    }
}

/// Why nothing can be concluded, if so.
fn doubt(compared: &Comparison) -> Option<String> {
    if !compared.is_comparable {
        return Some(compared.statement.clone());
    }
    let (steps, needed) = (compared.base.steps.min(compared.cand.steps), compared.options.test.min_steps);
    (steps < needed).then(|| format!("{steps} steady steps on a side, and a conclusion needs {needed}"))
}

/// An input, and whether all runs of a log directory count.
type Wanted<'a> = (&'a Path, bool);

/// `BASE CAND`, more of each by name; one path alone is the side that no name gives.
fn sides(args: &CompareArgs) -> Result<(Vec<Wanted<'_>>, Vec<Wanted<'_>>), Failure> {
    let mut base: Vec<Wanted<'_>> = args.base.iter().map(|path| (path.as_path(), true)).collect();
    let mut cand: Vec<Wanted<'_>> = args.cand.iter().map(|path| (path.as_path(), true)).collect();
    match (&args.first, &args.second) {
        (Some(first), Some(second)) => {
            base.insert(0, (first, false));
            cand.insert(0, (second, false));
        }
        (Some(only), None) if base.is_empty() => base.push((only, false)),
        (Some(only), None) => cand.insert(0, (only, false)),
        (None, _) => {}
    }
    if base.is_empty() || cand.is_empty() {
        return Err(Failure::Usage("name a run of each side: systole compare BASE CAND".to_owned()));
    }
    Ok((base, cand))
}

/// Largest summary that is read: ten thousand ops in as many steps as are kept.
const MAX_SUMMARY: u64 = 256 << 20;

/// Every run of a side.
pub fn summaries(
    paths: &[Wanted<'_>],
    assume: &AssumeArgs,
    steps: Option<StepsArg>,
    format: Format,
    talk: &Talk,
) -> Result<Vec<Summary>, Failure> {
    let mut out = Vec::new();
    for &(path, all_runs) in paths {
        if let Some(saved) = saved(path)? {
            if steps.is_some() {
                let why = "--steps needs the trace: a saved summary is about the steps that it was made of";
                return Err(Failure::Usage(format!("{why}: {}", path.display())));
            }
            out.extend(saved);
            continue;
        }
        for run in runs(path, all_runs) {
            let session = loading::open_path(path, run, assume, format, talk)?;
            let scope = match steps {
                Some(steps) => {
                    analyze::check_steps(&session, steps)?;
                    Scope::Steps { first: steps.first, last: steps.last }
                }
                None => Scope::WholeTrace,
            };
            out.push(plain_summary(&session, scope)?);
        }
    }
    Ok(out)
}

/// The runs of a log directory; otherwise the path as it is.
fn runs(path: &Path, all: bool) -> Vec<Option<String>> {
    let located = if all && path.is_dir() { importers::locate(path, &ImportOptions::default()).ok() } else { None };
    match located {
        Some(located) if !located.other_runs.is_empty() => {
            let mut names: Vec<_> = located.run.into_iter().chain(located.other_runs).map(Some).collect();
            names.sort();
            names
        }
        _ => vec![None],
    }
}

/// Saved runs, if the file is meant to hold some: a summary, several, or a history, of
/// which the last runs that did not fail count.
pub fn saved(path: &Path) -> Result<Option<Vec<Summary>>, Failure> {
    const HEAD: u64 = 4096;
    let mut head = Vec::new();
    let opened = if path.is_file() { File::open(path).ok() } else { None };
    let Some(mut file) = opened else { return Ok(None) };
    // What cannot be read here is reported by the import.
    if file.by_ref().take(HEAD).read_to_end(&mut head).is_err() {
        return Ok(None);
    }
    if history::is_meant(&head) {
        return history::baseline(path).map(Some);
    }
    if !is_meant(&head) {
        return Ok(None);
    }
    let wrong = |why: String| Failure::Summary { why, path: path.to_owned() };
    file.take(MAX_SUMMARY).read_to_end(&mut head).map_err(|error| wrong(error.to_string()))?;
    let text = String::from_utf8(head).map_err(|error| wrong(error.to_string()))?;
    let mut runs = from_json(&text).map_err(|error| wrong(error.to_string()))?;
    for run in &mut runs {
        run.saved_in = Some(path.display().to_string());
    }
    Ok(Some(runs))
}

/// The summary of a trace.
fn plain_summary(session: &Session, scope: Scope) -> Result<Summary, Failure> {
    Summary::of(&session.context(scope)).map_err(|error| Failure::Internal(error.to_string()))
}

/// The same with the fingerprints of its files, which means to read all of them again.
pub fn summary_of(session: &Session, scope: Scope) -> Result<Summary, Failure> {
    let mut summary = plain_summary(session, scope)?;
    let input = |file: InputFile| SummaryInput {
        name: file.name,
        path: file.path,
        format: file.format.to_owned(),
        sha256: file.sha256,
    };
    summary.inputs = InputFile::all(session).into_iter().map(input).collect();
    Ok(summary)
}
