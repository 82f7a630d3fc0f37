//! Gates of `systole analyze` and `systole compare`: evaluation, messages, CI output.

use std::fs::OpenOptions;
use std::io::Write as _;

use crate::prelude::*;
use analysis::compare::on_both_sides;
use analysis::gates::{AlikeGates, GateConfig, GateConfigError, GateLevel, GatesReport, Status};

use crate::common::args::{GateArgs, JudgeArgs};
use crate::common::formats::OutputFormat;
use crate::common::loading::Loading;
use crate::common::outcome::CommandOutcome;
use crate::common::stderr::Stderr;
use crate::common::summaries;
use render::{GatedDocument, md};
use request::history_file;
use session::files::is_same;

/// Evaluates the gates, if they are requested or `is_needed`.
pub fn judge(
    session: &Session,
    scope: Scope,
    args: &GateArgs,
    (config, loading): (Option<&Path>, &Loading<'_>),
    is_needed: bool,
    stderr: &Stderr,
) -> Result<Option<GatedDocument>> {
    let is_used = args.judge.budget.is_some() || (args.are_set() && config.is_some());
    if let Some(said) = loading.settings.ignored_gates().filter(|_| !is_used) {
        stderr.warn(&said);
    }
    if !args.are_set() && args.judge.history.is_none() && !is_needed {
        return Ok(None);
    }
    let file = args.judge.budget.as_deref().or(config);
    let gates = loading.gates_in(file)?.unwrap_or_default();
    let run = request::summaries::summary_of(session, scope)?;
    let baseline = baseline(&run, args, loading, stderr)?;
    gates
        .check_names(&baseline, std::slice::from_ref(&run))
        .map_err(|error| wrong_names(&error, file))?;
    let (report, comparison) = if args.are_set() {
        analysis::gates::against(&run, &baseline, &gates)
    } else {
        analysis::gates::against(&run, &[], &GateConfig::default())
    };
    Ok(Some(GatedDocument {
        are_set: args.are_set(),
        report,
        run,
        comparison,
    }))
}

/// What the run is judged by. A history that is also kept may have no run for that yet: its first runs are judged, too.
fn baseline(
    run: &Summary,
    args: &GateArgs,
    loading: &Loading<'_>,
    stderr: &Stderr,
) -> Result<Vec<Summary>> {
    let is_kept = |path: &Path| {
        let history = args.judge.history.as_deref();
        history.is_some_and(|history| is_same(history, path))
    };
    let paths = args.baseline.iter().map(PathBuf::as_path);
    let (histories, others): (Vec<&Path>, Vec<&Path>) =
        paths.partition(|path| is_kept(path) || request::summaries::is_history(path));
    let others: Vec<_> = others.into_iter().map(|path| (path, true)).collect();
    let mut runs = summaries::summaries(&others, loading, None, OutputFormat::JSON, stderr)?;
    for path in histories {
        let kept = history_file::baseline(path, Some(run), stderr)?;
        if kept.is_empty() {
            let why = "no other run of this history passed and contains what a comparison needs";
            if !is_kept(path) {
                return Err(RequestError::summary(path)(why));
            }
            let path = path.display();
            stderr.warn(&format!(
                "{why}, so nothing is compared with it yet: {path}"
            ));
        }
        runs.extend(kept);
    }
    for said in on_both_sides(&runs, std::slice::from_ref(run)) {
        stderr.warn(&said);
    }
    Ok(runs)
}

/// That no run has what a gate names, with the file of the gates.
pub fn wrong_names(error: &GateConfigError, file: Option<&Path>) -> RequestError {
    let place = file.map_or_else(String::new, |file| format!(": {}", file.display()));
    RequestError::Usage(format!("{error}{place}"))
}

/// Reports to CI, appends the history, and determines the outcome of `analyze`.
pub fn conclude(
    document: &Document,
    args: &JudgeArgs,
    strict: bool,
    stderr: &Stderr,
) -> Result<Option<CommandOutcome>> {
    let Some(gated) = &document.gated else {
        return Ok(None);
    };
    keep_history(args, &gated.run, &gated.report, stderr)?;
    if !gated.are_set {
        return Ok(None);
    }
    step_summary(|| md::step_summary(document))?;
    Ok(outcome(&gated.report, args, strict, stderr))
}

/// Appends a line to the history, if one is requested.
pub fn keep_history(
    args: &JudgeArgs,
    run: &Summary,
    report: &GatesReport,
    stderr: &Stderr,
) -> Result<()> {
    let Some(path) = &args.history else {
        return Ok(());
    };
    history_file::append(path, &history_file::line(run, report)?, stderr)
}

/// The outcome of a command with these gates; also prints messages and CI annotations.
pub fn outcome(
    report: &GatesReport,
    args: &JudgeArgs,
    strict: bool,
    stderr: &Stderr,
) -> Option<CommandOutcome> {
    tell(report, stderr);
    let failed: Vec<&str> = report.failed().map(|gate| gate.message.as_str()).collect();
    if !failed.is_empty() && !args.exit_zero {
        return Some(CommandOutcome::Failed {
            why: failed.join("; "),
            code: args.exit_code_on_fail,
        });
    }
    let unclear = unclear(report);
    if !unclear.is_empty() {
        if strict && !args.exit_zero {
            return Some(CommandOutcome::Inconclusive(unclear.join("; ")));
        }
        stderr.warn(&format!("inconclusive: {}", unclear.join("; ")));
    }
    None
}

/// Why gates could not be judged: a reason shared by several of them once.
pub fn unclear(report: &GatesReport) -> Vec<String> {
    let is_unclear = |alike: &AlikeGates<'_>| alike.first.status == Status::Inconclusive;
    report
        .alike()
        .into_iter()
        .filter(is_unclear)
        .map(|alike| alike.text())
        .collect()
}

/// Prints warnings on stderr, as annotations on GitHub.
fn tell(report: &GatesReport, stderr: &Stderr) {
    let annotate = std::env::var("GITHUB_ACTIONS").is_ok_and(|value| value == "true");
    for gate in report.warned() {
        stderr.warn(&gate.message);
    }
    // The failed ones come first.
    for alike in report.alike().into_iter().filter(|_| annotate) {
        let gate = alike.first;
        let (kind, what) = match (gate.status, gate.level) {
            (Status::Pass, _) => continue,
            (Status::Fail, GateLevel::Error) => ("error", ""),
            (Status::Fail, _) => ("warning", ""),
            (Status::Inconclusive, _) => ("warning", "inconclusive: "),
        };
        let title = match alike.names.as_str() {
            "" => gate.name(),
            names => names.to_owned(),
        };
        Stderr::command(&format!(
            "::{kind} title={}::{what}{}",
            property(&title),
            data(alike.message)
        ));
    }
}

/// Escapes the text of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Escapes a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Appends the verdict to the step summary of GitHub, if there is one.
pub fn step_summary(verdict: impl FnOnce() -> String) -> Result<()> {
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
    else {
        return Ok(());
    };
    append(&path, &verdict()).map_err(RequestError::write(&path))
}

fn append(path: &Path, text: &str) -> std::io::Result<()> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)?
        .write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workflow_commands_stay_one_line() {
        assert_eq!(data("50 %\nmore"), "50 %25%0Amore");
        assert_eq!(property("a: b, c"), "a%3A b%2C c");
    }
}
