//! Tells others of a run: a command gets its line on standard input, a web server gets it posted.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::commands::prelude::*;
use crate::common::process::ended_within;

use super::line::RunLine;

/// How long a command may run: the next run must be judged, too.
const MOST: Duration = Duration::from_mins(1);

/// Who is told of a run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Alerts")]
pub struct NotifyArgs {
    /// Run this command of the shell for a run, with its line as JSON on standard input and the run in `SYSTOLE_RUN`
    #[arg(long, value_name = "CMD")]
    pub exec: Option<String>,
    /// Post the line as JSON to this address (http:// or https://)
    #[arg(long, value_name = "URL")]
    pub webhook: Option<String>,
    /// Of which runs --exec and --webhook are told
    #[arg(long, value_enum, default_value_t = AlertRuns::Failed)]
    pub alert: AlertRuns,
}

/// Which runs others are told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AlertRuns {
    /// Those that fail a gate, or cannot be read.
    Failed,
    /// Each run.
    All,
}

impl NotifyArgs {
    /// Rejects addresses that cannot be asked, before a run is judged.
    pub(super) fn check(&self) -> Result<()> {
        let is_web = |url: &str| url.starts_with("http://") || url.starts_with("https://");
        match &self.webhook {
            Some(url) if !is_web(url) => {
                let why = "--webhook: write an address that begins with http:// or https://";
                Err(RequestError::Usage(why.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Tells of a run. What fails is a warning: the watch goes on.
    pub(super) fn tell(&self, line: &RunLine<'_>, stderr: &Stderr) {
        if self.alert == AlertRuns::Failed && !line.is_bad() {
            return;
        }
        let (run, json) = (line.run, line.json());
        if let Some(command) = &self.exec
            && let Err(why) = execute(command, run, &json)
        {
            stderr.warn(&format!("--exec: {why} for {run}"));
        }
        if let Some(url) = &self.webhook
            && let Err(error) = importers::post_json(url, json)
        {
            stderr.warn(&format!("--webhook: {error} for {run}"));
        }
    }
}

/// Runs a command to its end. What it prints goes to standard error: the lines of runs are alone on standard output.
fn execute(command: &str, run: &str, json: &str) -> Result<(), String> {
    let (shell, option) = if cfg!(windows) {
        ("cmd", "/C")
    } else {
        ("sh", "-c")
    };
    let mut shell_command = Command::new(shell);
    // What it starts ends with it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut shell_command, 0);
    let mut child = shell_command
        .args([option, command])
        .env("SYSTOLE_RUN", run)
        .stdin(Stdio::piped())
        .stdout(std::io::stderr())
        .spawn()
        .map_err(|error| format!("{shell} does not start: {error}"))?;
    #[cfg(unix)]
    let guard = guard_of(&child);
    let (stdin, json) = (child.stdin.take(), json.to_owned());
    let written = thread::Builder::new()
        .name("exec".to_owned())
        .spawn(move || {
            // A command that does not read it is no failure.
            let _ = stdin.map(|mut stdin| stdin.write_all(json.as_bytes()));
        });
    let ended = wait(&mut child);
    #[cfg(unix)]
    release(guard);
    // The pipe is closed with the command, so that the thread ends.
    drop(written);
    ended
}

/// A shell that ends the group of a command if this program ends before the command, however that happens: it reads a pipe
/// that only this program holds. Its own group keeps Ctrl+C from it.
#[cfg(unix)]
fn guard_of(child: &Child) -> Option<Child> {
    let script = format!("read -r ended || kill -s KILL -- -{}", child.id());
    let mut shell = Command::new("sh");
    std::os::unix::process::CommandExt::process_group(&mut shell, 0);
    let shell = shell.args(["-c", &script]).stdin(Stdio::piped());
    // Without it, a command may only outlive this program.
    shell
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}

/// Tells the guard that the command has ended, and waits for it.
#[cfg(unix)]
fn release(guard: Option<Child>) {
    let Some(mut guard) = guard else { return };
    let told = guard
        .stdin
        .take()
        .map(|mut stdin| stdin.write_all(b"ended\n"));
    if !matches!(told, Some(Ok(()))) {
        let _ = guard.kill();
    }
    let _ = guard.wait();
}

/// Ends a command with all that it started.
fn end(child: &mut Child) {
    #[cfg(unix)]
    let _ = Command::new("kill")
        .args(["-KILL", "--", &format!("-{}", child.id())])
        .stderr(Stdio::null())
        .status();
    let _ = child.kill().and_then(|()| child.wait());
}

fn wait(child: &mut Child) -> Result<(), String> {
    match ended_within(child, MOST).map_err(|error| error.to_string())? {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(format!("the command ended with {status}")),
        None => {
            end(child);
            Err(format!("the command was ended after {} s", MOST.as_secs()))
        }
    }
}
