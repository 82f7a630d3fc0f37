//! Files with several runs, which show how much runs vary; and names that distinguish runs.

use serde::{Deserialize, Serialize};

use super::saved::SummaryError;
use super::summary::{Summary, SummaryInput, thinned};

/// Fields may be added under the same number, never changed or removed.
pub const RUNS_SCHEMA: &str = "systole.runs/1";

/// Maximum number of runs in a file.
const MOST_RUNS: usize = 1000;

/// Several runs as a baseline.
#[derive(Serialize, schemars::JsonSchema)]
pub struct WrittenRuns<'a> {
    schema: &'a str,
    runs: &'a [Summary],
}

#[derive(Deserialize)]
struct SavedRuns {
    schema: String,
    runs: Vec<serde_json::Value>,
}

/// The JSON to save: the summary of one run, or a list of summaries.
///
/// # Errors
///
/// A number cannot be represented in JSON; this does not happen for a valid summary.
pub fn to_json(runs: &[Summary]) -> serde_json::Result<String> {
    match runs {
        [only] => only.to_json(),
        runs => Ok(serde_json::to_string_pretty(&WrittenRuns {
            schema: RUNS_SCHEMA,
            runs,
        })? + "\n"),
    }
}

/// Whether a file that starts like this is meant as a baseline: one run, several, or a list of runs, which is refused by
/// its name.
pub fn is_meant(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let is_list = |name| text.contains(&format!("\"systole.{name}/"));
    Summary::is_meant(head)
        || text.trim_start().starts_with('{') && ["runs", "run-list"].into_iter().any(is_list)
}

/// Reads the output of [`to_json`] and rejects runs that cannot be compared.
///
/// # Errors
///
/// The text is not JSON, has another version, or is not a summary.
pub fn from_json(text: &str) -> Result<Vec<Summary>, SummaryError> {
    let Ok(saved) = serde_json::from_str::<SavedRuns>(text) else {
        return Summary::from_json(text).map(|run| vec![run]);
    };
    if saved.schema != RUNS_SCHEMA {
        return Err(SummaryError::Schema(saved.schema));
    }
    if saved.runs.is_empty() || saved.runs.len() > MOST_RUNS {
        return Err(SummaryError::Broken("it holds no runs, or too many"));
    }
    saved
        .runs
        .iter()
        .map(|run| Summary::from_json(&run.to_string()))
        .collect()
}

impl Summary {
    /// Name of the run, with its path: `logs/plugins/profile/2027_01_31/host.xplane.pb`; of several files the
    /// directory, and of a saved run the file.
    pub fn title(&self) -> String {
        let path = |input: &SummaryInput| input.path.clone().unwrap_or_else(|| input.name.clone());
        let run = match &self.inputs[..] {
            [] => "a run".to_owned(),
            [only] => path(only),
            [first, ..] => match path(first).rsplit_once(['/', '\\']) {
                Some((directory, _)) => format!("{directory} ({} files)", self.inputs.len()),
                None => format!("{} and {} more", first.name, self.inputs.len() - 1),
            },
        };
        match &self.saved_in {
            Some(file) => format!("{run} (saved in {file})"),
            None => run,
        }
    }

    /// Names of the ops of all classes of steps, as far as they are listed.
    pub(crate) fn op_names(&self) -> impl Iterator<Item = &str> {
        let others = self.classes.iter().flat_map(|class| &class.ops);
        self.ops.iter().chain(others).map(|op| op.name.as_str())
    }

    /// Whether ops or classes of steps are left out.
    pub(crate) fn is_cut(&self) -> bool {
        self.ops_not_listed > 0
            || self.classes_not_listed > 0
            || self.classes.iter().any(|class| class.ops_not_listed > 0)
    }

    /// Keeps at most `most` values of each series, evenly spaced.
    pub fn with_series(self, most: usize) -> Self {
        let thin = |mut run: Self| {
            for series in run.series.iter_mut().chain(&mut run.loop_series) {
                series.values = thinned(&series.values, most);
            }
            run.steps.numbers.truncate(most);
            run
        };
        self.each_class(thin)
    }
}

#[cfg(test)]
mod tests {
    use super::super::SCHEMA;
    use super::*;

    fn run(steps: usize) -> Summary {
        let mut run = Summary {
            schema: SCHEMA.to_owned(),
            ..Summary::default()
        };
        run.steps.counted = steps;
        run
    }

    /// `systole runs --format json` has runs without numbers.
    #[test]
    fn a_list_of_runs_is_refused_by_its_name() {
        let list = r#"{"path": "logs", "runs": [{"run": "a"}], "schema": "systole.run-list/1"}"#;
        assert!(is_meant(list.as_bytes()));
        let error = from_json(list).unwrap_err().to_string();
        assert!(error.contains("this is \"systole.run-list/1\""), "{error}");
    }

    #[test]
    fn summaries_of_one_or_several_runs_round_trip() {
        for runs in [vec![run(1)], vec![run(1), run(2), run(3)]] {
            let text = to_json(&runs).unwrap();
            assert!(is_meant(text.as_bytes()));
            assert_eq!(from_json(&text).unwrap(), runs);
        }
        assert!(from_json("{\"schema\": \"systole.runs/2\", \"runs\": []}").is_err());
        assert!(from_json("{\"schema\": \"systole.runs/1\", \"runs\": []}").is_err());
        assert!(from_json("{\"schema\": \"systole.runs/1\", \"runs\": [{}]}").is_err());
    }
}
