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

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use analysis::expect::Expectation;
use analysis::gates::{Budget, Comparable, GateConfig, GateDefaults, Regression, nearest};
use analysis::hints::{rule, rules};
use analysis::reports::summary::targets;
use analysis::{HintOptions, Suppression};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use toml::value::Datetime;

use crate::error::{RequestError, Result};
use crate::read::schema_of;
use session::files;

/// Maximum size of a configuration file.
const MAX_FILE: u64 = 1 << 20;

/// Looked for in the working directory.
pub const SETTINGS_FILE: &str = "systole.toml";

/// A configuration file that was read once, or none: then all is as usual.
#[derive(Clone, Debug, Default)]
pub struct SettingsFile {
    config: ConfigFile,
    path: PathBuf,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ConfigFile {
    #[schemars(extend("const" = 1))]
    version: Option<u32>,
    thresholds: BTreeMap<String, f64>,
    suppress: Vec<SuppressEntry>,
    defaults: GateDefaults,
    budget: Vec<Budget>,
    regression: Vec<Regression>,
    comparable: Comparable,
    expect: Vec<Expectation>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SuppressEntry {
    hint: String,
    op: Option<String>,
    source: Option<String>,
    #[schemars(with = "Option<Value>")]
    until: Option<Datetime>,
    reason: String,
}

impl SettingsFile {
    /// What the JSON Schema of the file says of its fields.
    pub fn schema() -> Map<String, Value> {
        schema_of::<ConfigFile>()
    }

    /// The named file, or the one in the working directory if there is one.
    pub fn of(named: Option<&Path>) -> Result<Self> {
        match named {
            Some(path) => Self::read(path),
            None if Path::new(SETTINGS_FILE).is_file() => Self::read(Path::new(SETTINGS_FILE)),
            None => Ok(Self::default()),
        }
    }

    /// The file at this path.
    pub fn read(path: &Path) -> Result<Self> {
        let wrong = |why| RequestError::Config {
            why,
            path: path.to_owned(),
        };
        let text = files::read_small(path, MAX_FILE).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::FileTooLarge => {
                wrong(format!("{error}: this is not a configuration file"))
            }
            _ => {
                let cure =
                    "write one with `systole init`, of expectations with `systole expect --init`";
                RequestError::unread("the configuration", cure, path)(error)
            }
        })?;
        Ok(Self {
            config: config_of(&text).map_err(wrong)?,
            path: path.to_owned(),
        })
    }

    /// The settings in a text.
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(Self {
            config: config_of(text)?,
            path: PathBuf::new(),
        })
    }

    fn wrong(&self, why: String) -> RequestError {
        RequestError::Config {
            why,
            path: self.path.clone(),
        }
    }

    /// The hint options in effect today.
    pub fn hints(&self) -> Result<HintOptions> {
        hints(&self.config, &today())
            .map(|(options, _)| options)
            .map_err(|why| self.wrong(why))
    }

    /// What is said of suppressions that have expired.
    pub fn expired(&self) -> Vec<String> {
        let expired = hints(&self.config, &today())
            .map(|(_, expired)| expired)
            .unwrap_or_default();
        let said = |hint| {
            format!(
                "the suppression of {hint} has expired: {}",
                self.path.display()
            )
        };
        expired.into_iter().map(said).collect()
    }

    /// The gates.
    pub fn gates(&self) -> Result<GateConfig> {
        let ConfigFile {
            defaults,
            budget,
            regression,
            comparable,
            ..
        } = self.config.clone();
        let gates = GateConfig {
            defaults,
            budget,
            regression,
            comparable,
        };
        gates
            .check()
            .map(|()| gates)
            .map_err(|error| self.wrong(error.to_string()))
    }

    /// The file at this path, which may be this one.
    pub fn at(&self, path: &Path) -> Result<Cow<'_, Self>> {
        let is_this = path == self.path || self.is_read() && files::is_same(path, &self.path);
        if is_this {
            Ok(Cow::Borrowed(self))
        } else {
            Self::read(path).map(Cow::Owned)
        }
    }

    /// Whether there is a file.
    fn is_read(&self) -> bool {
        !self.path.as_os_str().is_empty()
    }

    /// The expectations, which may be none.
    pub fn listed_expectations(&self) -> Result<&[Expectation]> {
        for expected in &self.config.expect {
            let checked = expected.condition();
            checked.map_err(|error| self.wrong(error.to_string()))?;
        }
        Ok(&self.config.expect)
    }

    /// The expectations, at least one.
    pub fn expectations(&self) -> Result<Vec<Expectation>> {
        let listed = self.listed_expectations()?;
        if listed.is_empty() {
            return Err(self.wrong(
                "it has no [[expect]]; `systole expect --init PATH` writes those of a program"
                    .to_owned(),
            ));
        }
        Ok(listed.to_vec())
    }

    /// What is said of gates that are not evaluated.
    pub fn ignored_gates(&self) -> Option<String> {
        let (budgets, regressions) = (self.config.budget.len(), self.config.regression.len());
        let path = self.path.display();
        (budgets + regressions > 0).then(|| {
            format!(
                "{} and {} of {path} are not judged: give --budget {path}",
                analysis::counted(budgets, "budget"),
                analysis::counted(regressions, "regression")
            )
        })
    }

    /// The number of warm-up steps.
    pub fn warmup_steps(&self) -> u32 {
        self.config.defaults.warmup_steps.unwrap_or(0)
    }
}

fn config_of(text: &str) -> Result<ConfigFile, String> {
    let config: ConfigFile =
        toml::from_str(text).map_err(|error| with_nearest(error.to_string().trim_end()))?;
    match config.version {
        Some(version) if version != 1 => Err(format!(
            "version {version} is not known: this program reads version 1"
        )),
        _ => Ok(config),
    }
}

/// A parser error, with the nearest known key or word.
fn with_nearest(message: &str) -> String {
    let unknown = message
        .rfind("unknown field `")
        .or_else(|| message.rfind("unknown variant `"));
    let Some(said) = unknown.and_then(|start| message.get(start..)) else {
        return message.to_owned();
    };
    // The words between backticks: the unknown one, then those that it could be.
    let mut words = said.split('`').skip(1).step_by(2);
    let nearest = words.next().and_then(|wrong| nearest::of(wrong, words));
    nearest.map_or_else(
        || message.to_owned(),
        |nearest| format!("{message}; did you mean `{nearest}`?"),
    )
}

/// The hint options in effect on the day `today`, and the hints whose suppression has expired.
fn hints(config: &ConfigFile, today: &str) -> Result<(HintOptions, Vec<String>), String> {
    let of_rules = || rules().iter().flat_map(|rule| rule.thresholds).copied();
    let known = |id: &str| {
        of_rules()
            .chain(targets::thresholds())
            .any(|threshold| threshold.id == id)
    };
    if let Some(id) = config.thresholds.keys().find(|id| !known(id)) {
        let ids: Vec<&str> = of_rules()
            .chain(targets::thresholds())
            .map(|threshold| threshold.id)
            .collect();
        let nearest = nearest::of(id, ids)
            .map(|id| format!("; did you mean {id:?}?"))
            .unwrap_or_default();
        return Err(format!(
            "there is no threshold {id:?}{nearest} (`systole explain ID` lists those of a hint)"
        ));
    }
    if let Some((id, _)) = config
        .thresholds
        .iter()
        .find(|(_, value)| !value.is_finite())
    {
        return Err(format!("the threshold {id:?} must be a number"));
    }
    let mut options = HintOptions {
        thresholds: config.thresholds.clone(),
        suppressions: Vec::new(),
    };
    let mut expired = Vec::new();
    for SuppressEntry {
        hint,
        op,
        source,
        until,
        reason,
    } in config.suppress.iter().cloned()
    {
        let Some(rule) = rule(&hint) else {
            return Err(format!(
                "there is no hint {hint:?}; `systole explain` lists them"
            ));
        };
        if reason.trim().is_empty() {
            return Err(format!(
                "{hint} is suppressed without a reason: add reason = \"…\""
            ));
        }
        let date = |until: Datetime| {
            let wrong = || format!("{hint}: until must be a date like 2027-03-01");
            until.date.ok_or_else(wrong)
        };
        let until = until.map(date).transpose()?;
        if until.is_some_and(|until| until.to_string().as_str() < today) {
            expired.push(hint);
        } else {
            options.suppressions.push(Suppression {
                hint: rule.id.to_owned(),
                op,
                source,
                reason,
            });
        }
    }
    Ok((options, expired))
}

/// `2026-01-31`, in UTC.
fn today() -> String {
    let mut now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    now.truncate("2026-01-31".len());
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    const TODAY: &str = "2026-11-21";

    fn hints_of(text: &str) -> Result<(HintOptions, Vec<String>), String> {
        hints(&config_of(text)?, TODAY)
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

    /// Nobody reads it again, however its path is written.
    #[test]
    fn a_file_is_read_once() {
        let dir = tempfile::tempdir().unwrap();
        let [path, other] = ["systole.toml", "other.toml"].map(|name| dir.path().join(name));
        std::fs::write(&path, "[defaults]\nwarmup_steps = 5\n").unwrap();
        let settings = SettingsFile::read(&path).unwrap();
        for path in [&path, &other] {
            std::fs::write(path, "[defaults]\nwarmup_steps = 7\n").unwrap();
        }
        let warmup = |path: &Path| settings.at(path).unwrap().warmup_steps();
        std::fs::create_dir(dir.path().join("below")).unwrap();
        assert_eq!(warmup(&dir.path().join("below/../systole.toml")), 5);
        assert_eq!((warmup(&path), warmup(&other)), (5, 7));
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
        let gates = SettingsFile::parse(text).unwrap().gates().unwrap();
        assert_eq!(
            (gates.budget[0].max, gates.regression[0].max_increase_pct),
            (Some(412.0), Some(10.0))
        );
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
            (
                "[[budget]]\nmetric = \"step.tiem_ms\"\nmax = 1",
                "did you mean \"step.time_ms\"?",
            ),
            ("[[budget]]\nmetric = \"step.time_ms\"\nmax = nan", "max"),
            (
                "[[budget]]\nmetric = \"step.time_ms\"\nmax = 1\nmin = 2",
                "max is below min",
            ),
            (
                "[[regression]]\nmetric = \"step.time_ms\"\nmax_increase_pct = inf",
                "max_increase_pct",
            ),
        ] {
            let error = SettingsFile::parse(text)
                .map_err(RequestError::Usage)
                .and_then(|file| file.gates());
            let error = error.unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn config_mistakes_name_the_fix() {
        for (text, word) in [
            ("version = 2", "version 2"),
            ("[thresholds]\n\"K01.no_such\" = 1", "K01.no_such"),
            (
                "[thresholds]\n\"K01.exposed_percnt\" = 1",
                "did you mean \"K01.exposed_percent\"?",
            ),
            ("[thresholds]\n\"K01.exposed_percent\" = nan", "number"),
            ("[[suppress]]\nhint = \"K99\"\nreason = \"x\"", "K99"),
            ("[[suppress]]\nhint = \"K25\"", "reason"),
            ("[[suppress]]\nhint = \"K25\"\nreason = \" \"", "reason"),
            (
                "[[suppress]]\nhint = \"K25\"\nreason = \"x\"\nuntil = 12:00:00",
                "date",
            ),
            ("[[budgets]]\nmetric = \"x\"", "budgets"),
            ("thresholds = 3", "thresholds"),
        ] {
            let error = hints_of(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
