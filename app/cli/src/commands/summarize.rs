//! `systole summarize`: saves what a comparison needs of a run.

use super::prelude::*;
use analysis::compare::{RunDifference, to_json, unlike};

use request::summaries;
/// Arguments of the command.
#[derive(Debug, Args)]
pub struct SummarizeArgs {
    /// Runs: profiles, run or log directories, saved summaries, or a file of `--history`,
    /// of which the last five runs that did not fail count. Several make one baseline
    #[arg(required = true, value_name = "RUN")]
    pub paths: Vec<PathBuf>,
    /// Run of a log directory; the newest by default
    #[arg(long, value_name = "NAME")]
    pub run: Option<String>,
    /// Write it to this file instead of stdout (`json=base.json` is the same as `base.json`)
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Number of ops to list, the most expensive first; the others are summed
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub ops: usize,
    /// Number of steps in which the time of each op is stored, evenly spaced
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub op_steps: usize,
    #[command(flatten)]
    pub force: ForceArgs,
    #[command(flatten)]
    pub assume: Assumptions,
}

pub fn run(args: &SummarizeArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    let path = args.output.as_deref().map(|path| {
        match path.to_str().and_then(|text| text.strip_prefix("json=")) {
            Some(rest) => PathBuf::from(rest),
            None => path.to_owned(),
        }
    });
    if let Some(path) = &path {
        let read = args.paths.iter().cloned().chain(args.assume.files());
        output::check_file(path, &OutputGuard::new(read, args.force.force))?;
    }
    let loading = Loading::new(&args.assume, stderr)?;
    let mut runs: Vec<Summary> = Vec::new();
    for path in &args.paths {
        if let Some(saved) = summaries::saved(path, &loading.import(None), stderr)? {
            runs.extend(saved);
            continue;
        }
        // Whoever gets the file may check it with any tool: it has the SHA-256, too.
        let session = loading
            .open_for_reports(path, args.run.clone(), OutputFormat::JSON, true)?
            .with_sha256(true);
        runs.push(summaries::summary_of(&session, Scope::WholeTrace)?);
    }
    if let Some(difference) = unlike(&runs, &[]) {
        let RunDifference {
            title, base, cand, ..
        } = difference;
        stderr.warn(&format!(
            "these runs are not alike ({title}: {base} and {cand}): comparisons with them as one side are refused"
        ));
    }
    let runs: Vec<Summary> = runs
        .into_iter()
        .map(|run| run.shortened(args.ops, args.op_steps))
        .collect();
    let text = to_json(&runs)?;
    match path {
        Some(path) => output::write_to(&path, &text)?,
        None => output::print(&text)?,
    }
    Ok(CommandOutcome::Done)
}
