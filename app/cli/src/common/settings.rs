//! `systole.toml`: thresholds of one's own, and hints that are known and accepted.
//!
//! ```toml
//! version = 1
//! [thresholds]
//! "K01.exposed_percent" = 15
//! [[suppress]]
//! hint = "K25"
//! op = "copy-done.*"        # all ops of the hint match; * stands for anything
//! source = "*/offload.py:*" # all their source lines match
//! until = 2027-03-01        # the last day
//! reason = "offloading is on purpose until the new pod"
//! ```

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use analysis::gates::{Budget, Comparable, GateConfig, GateDefaults, Regression, nearest};
use analysis::hints::{rule, rules};
use analysis::reports::summary::targets;
use analysis::{HintOptions, Suppression};
use serde::Deserialize;
use toml::value::{Date, Datetime};

use crate::common::failure::Failure;
use crate::common::stderr::Stderr;
use crate::common::values::SETTINGS_FILE;
use session::date;
use session::files;

/// Maximum size of a configuration file.
const MAX_FILE: u64 = 1 << 20;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    #[serde(default)]
    version: Option<u32>,
    #[serde(default)]
    thresholds: BTreeMap<String, f64>,
    #[serde(default)]
    suppress: Vec<SuppressEntry>,
    #[serde(default)]
    defaults: GateDefaults,
    #[serde(default)]
    budget: Vec<Budget>,
    #[serde(default)]
    regression: Vec<Regression>,
    #[serde(default)]
    comparable: Comparable,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SuppressEntry {
    hint: String,
    op: Option<String>,
    source: Option<String>,
    until: Option<Datetime>,
    reason: String,
}

/// The hint options from the named file, or from the one in the working directory, or the defaults.
pub fn hints(named: Option<&Path>, stderr: &Stderr) -> Result<HintOptions, Failure> {
    let path = match named {
        Some(path) => path.to_owned(),
        None if Path::new(SETTINGS_FILE).is_file() => PathBuf::from(SETTINGS_FILE),
        None => return Ok(HintOptions::default()),
    };
    let text = read(&path).map_err(|error| unread(&error, &path))?;
    let (options, expired) = parse(&text, today()).map_err(|why| Failure::Config { why, path: path.clone() })?;
    for hint in expired {
        stderr.warn(&format!("the suppression of {hint} has expired: {}", path.display()));
    }
    Ok(options)
}

/// The gates in a file.
pub fn gates(path: &Path) -> Result<GateConfig, Failure> {
    let wrong = |why: String| Failure::Config { why, path: path.to_owned() };
    gates_of(&read(path).map_err(|error| unread(&error, path))?).map_err(wrong)
}

/// The failure to [`read`] a configuration file.
pub fn unread(error: &io::Error, path: &Path) -> Failure {
    let (error, path, is_other) = (error.to_string(), path.to_owned(), error.kind() == io::ErrorKind::InvalidData);
    if is_other {
        return Failure::Config { why: error, path };
    }
    Failure::Unread { what: "the configuration", error, cure: "write one with `systole init`", path }
}

/// Warns that the gates in the configuration file are not evaluated.
pub fn say_ignored(named: Option<&Path>, stderr: &Stderr) {
    let path = named.unwrap_or(Path::new(SETTINGS_FILE));
    // A file that cannot be used is reported where hints are read.
    let Some(config) = read(path).ok().and_then(|text| config_of(&text).ok()) else { return };
    let (budgets, regressions) = (config.budget.len(), config.regression.len());
    if budgets + regressions > 0 {
        let (budgets, regressions) =
            (analysis::counted(budgets, "budget"), analysis::counted(regressions, "regression"));
        let path = path.display();
        stderr.warn(&format!("{budgets} and {regressions} of {path} are not judged: give --budget {path}"));
    }
}

/// The gates in the text of a file.
pub fn gates_of(text: &str) -> Result<GateConfig, String> {
    let ConfigFile { defaults, budget, regression, comparable, .. } = config_of(text)?;
    let gates = GateConfig { defaults, budget, regression, comparable };
    gates.check().map_err(|error| error.to_string())?;
    Ok(gates)
}

fn config_of(text: &str) -> Result<ConfigFile, String> {
    let config: ConfigFile = toml::from_str(text).map_err(|error| with_nearest(error.to_string().trim_end()))?;
    match config.version {
        Some(version) if version != 1 => Err(format!("version {version} is not known: this program reads version 1")),
        _ => Ok(config),
    }
}

/// A parser error, with the nearest known key or word.
fn with_nearest(message: &str) -> String {
    let unknown = message.rfind("unknown field `").or_else(|| message.rfind("unknown variant `"));
    let Some(said) = unknown.and_then(|at| message.get(at..)) else { return message.to_owned() };
    // The words between backticks: the unknown one, then those that it could be.
    let mut words = said.split('`').skip(1).step_by(2);
    let nearest = words.next().and_then(|wrong| nearest::of(wrong, words));
    nearest.map_or_else(|| message.to_owned(), |nearest| format!("{message}; did you mean `{nearest}`?"))
}

/// The number of warm-up steps set in the configuration file.
pub fn warmup_steps(named: Option<&Path>) -> Option<u32> {
    let path = named.unwrap_or(Path::new(SETTINGS_FILE));
    // A file that cannot be used is reported where hints are read.
    config_of(&read(path).ok()?).ok()?.defaults.warmup_steps
}

/// The text of a configuration file.
pub fn read(path: &Path) -> io::Result<String> {
    files::read_small(path, MAX_FILE).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::FileTooLarge => {
            io::Error::new(error.kind(), format!("{error}: this is not a configuration file"))
        }
        _ => error,
    })
}

/// The hint options in effect on the day `today`, and the hints whose suppression has expired.
pub fn parse(text: &str, today: Date) -> Result<(HintOptions, Vec<String>), String> {
    let config = config_of(text)?;
    let of_rules = || rules().iter().flat_map(|rule| rule.thresholds).copied();
    let known = |id: &str| of_rules().chain(targets::thresholds()).any(|threshold| threshold.id == id);
    if let Some(id) = config.thresholds.keys().find(|id| !known(id)) {
        let ids: Vec<&str> = of_rules().chain(targets::thresholds()).map(|threshold| threshold.id).collect();
        let nearest = nearest::of(id, ids).map(|id| format!("; did you mean {id:?}?")).unwrap_or_default();
        return Err(format!("there is no threshold {id:?}{nearest} (`systole explain ID` lists those of a hint)"));
    }
    if let Some((id, _)) = config.thresholds.iter().find(|(_, value)| !value.is_finite()) {
        return Err(format!("the threshold {id:?} must be a number"));
    }
    let mut options = HintOptions { thresholds: config.thresholds, suppressions: Vec::new() };
    let mut expired = Vec::new();
    for SuppressEntry { hint, op, source, until, reason } in config.suppress {
        let Some(rule) = rule(&hint) else {
            return Err(format!("there is no hint {hint:?}; `systole explain` lists them"));
        };
        if reason.trim().is_empty() {
            return Err(format!("{hint} is suppressed without a reason: add reason = \"…\""));
        }
        let until = match until {
            Some(until) => Some(until.date.ok_or_else(|| format!("{hint}: until must be a date like 2027-03-01"))?),
            None => None,
        };
        if until.is_some_and(|until| key(until) < key(today)) {
            expired.push(hint);
        } else {
            options.suppressions.push(Suppression { hint: rule.id.to_owned(), op, source, reason });
        }
    }
    Ok((options, expired))
}

fn key(date: Date) -> (u16, u8, u8) {
    (date.year, date.month, date.day)
}

pub fn today() -> Date {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = date::of_days((seconds / 86_400) as i64);
    Date { year: year as u16, month, day }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TODAY: Date = Date { year: 2026, month: 11, day: 21 };

    fn hints_of(text: &str) -> Result<(HintOptions, Vec<String>), String> {
        parse(text, TODAY)
    }

    #[test]
    fn thresholds_and_suppressions_are_read() {
        let text = "version = 1\n[thresholds]\n\"K01.exposed_percent\" = 15\n\"targets.mxu_green_percent\" = 75\n\
                    [[suppress]]\nhint = \"k25\"\nop = \"copy-done.*\"\nuntil = 2026-11-21\nreason = \"known\"\n";
        let (options, expired) = hints_of(text).unwrap();
        assert_eq!(options.thresholds.get("K01.exposed_percent"), Some(&15.0));
        assert_eq!(options.suppressions[0].hint, "K25");
        assert!(expired.is_empty());
    }

    #[test]
    fn suppression_ends_after_its_last_day() {
        let text = "[[suppress]]\nhint = \"K25\"\nuntil = 2026-11-20\nreason = \"known\"\n";
        let (options, expired) = hints_of(text).unwrap();
        assert!(options.suppressions.is_empty());
        assert_eq!(expired, ["K25"]);
    }

    #[test]
    fn reads_gates_and_rejects_mistakes() {
        let text = "[defaults]\naggregate = \"p90\"\nwarmup_steps = 5\n[[budget]]\nmetric = \"step.time_ms\"\nmax = 412.0\n\
                    [[regression]]\nop = \"re:^all-gather\"\nmetric = \"op.exposed_ms_per_step\"\nmax_increase_pct = 10\n\
                    [comparable]\nrequire = [\"device_type\", \"module_fingerprint\"]\n";
        let gates = gates_of(text).unwrap();
        assert_eq!((gates.budget[0].max, gates.regression[0].max_increase_pct), (Some(412.0), Some(10.0)));
        assert_eq!(gates.defaults.warmup_steps, Some(5));
        // The same file is read for hints.
        assert!(hints_of(text).is_ok());
        for (text, word) in [
            ("[[budget]]\nmetric = \"step.time_ms\"", "max or min"),
            ("[[budget]]\nmetrics = \"x\"", "metrics"),
            ("[comparable]\nrequire = [\"colour\"]", "colour"),
            ("[defaults]\nlevel = \"fatal\"", "fatal"),
            ("[defaults]\nlevel = \"eror\"", "did you mean `error`?"),
            ("[[budget]]\nmetrc = \"x\"", "did you mean `metric`?"),
            ("[defaults]\naggregate = \"p9\"", "did you mean `p90`?"),
            ("[[budget]]\nmetric = \"step.tiem_ms\"\nmax = 1", "did you mean \"step.time_ms\"?"),
            ("[[budget]]\nmetric = \"step.time_ms\"\nmax = nan", "max"),
            ("[[budget]]\nmetric = \"step.time_ms\"\nmax = 1\nmin = 2", "max is below min"),
            ("[[regression]]\nmetric = \"step.time_ms\"\nmax_increase_pct = inf", "max_increase_pct"),
        ] {
            let error = gates_of(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn config_mistakes_name_the_fix() {
        for (text, word) in [
            ("version = 2", "version 2"),
            ("[thresholds]\n\"K01.no_such\" = 1", "K01.no_such"),
            ("[thresholds]\n\"K01.exposed_percnt\" = 1", "did you mean \"K01.exposed_percent\"?"),
            ("[thresholds]\n\"K01.exposed_percent\" = nan", "number"),
            ("[[suppress]]\nhint = \"K99\"\nreason = \"x\"", "K99"),
            ("[[suppress]]\nhint = \"K25\"", "reason"),
            ("[[suppress]]\nhint = \"K25\"\nreason = \" \"", "reason"),
            ("[[suppress]]\nhint = \"K25\"\nreason = \"x\"\nuntil = 12:00:00", "date"),
            ("[[budgets]]\nmetric = \"x\"", "budgets"),
            ("thresholds = 3", "thresholds"),
        ] {
            let error = hints_of(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
