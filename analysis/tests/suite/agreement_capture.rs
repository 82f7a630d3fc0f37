//! A capture with the answers of `XProf` about it.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::path::PathBuf;

use analysis::reports::Utilization;
use analysis::{Analysis, Context, Options, ReportCache, Scope};
use importers::{ImportOptions, Progress};
use serde_json::Value;
use trace_model::TraceModel;
use xprof::{Rows, corpus};

use crate::xprof;

/// A file of the corpus with `XProf`'s answers.
pub(super) struct Capture {
    model: TraceModel,
    answers: PathBuf,
    reports: ReportCache,
    options: Options,
}

impl Capture {
    pub(super) fn open(folder: &str, name: &str) -> Option<Self> {
        let root = corpus()?.join("..").join(folder);
        let path = root.join(format!("{name}.xplane.pb"));
        let model =
            importers::import_path(&path, &ImportOptions::default(), &Progress::default()).unwrap();
        let answers = root.join("xprof").join(name);
        Some(Self {
            model,
            answers,
            reports: ReportCache::default(),
            options: Options::default(),
        })
    }

    pub(super) fn answer(&self, tool: &str) -> Value {
        serde_json::from_str(
            &std::fs::read_to_string(self.answers.join(format!("{tool}.json"))).unwrap(),
        )
        .unwrap()
    }

    /// A number of the overview's first line, `86.5%`; with half of its last digit.
    pub(super) fn overview(&self, key: &str) -> (Option<f64>, f64) {
        let answer = self.answer("cli/get_overview");
        let Some(text) = answer["performance_summary"][key].as_str() else {
            return (None, 0.0);
        };
        let text = text.trim_end_matches('%');
        let digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
        (text.parse().ok(), 0.5 * 0.1_f64.powi(digits as i32))
    }

    pub(super) fn report<A: Analysis>(&self) -> Option<std::sync::Arc<A::Report>> {
        let scope = Scope::WholeTrace;
        Context {
            model: &self.model,
            scope,
            options: &self.options,
            reports: &self.reports,
        }
        .report::<A>()
        .ok()
    }

    pub(super) fn utilization(&self, id: &str) -> Option<f64> {
        self.report::<Utilization>()?.metric(id)?.value
    }
}

/// The row of a whole: `step` is `Total` or `Average`.
pub(super) fn program_row<'a>(
    rows: &'a Rows,
    step: &str,
    with_host_io: bool,
) -> Option<&'a Vec<Value>> {
    rows.rows.iter().find(|row| {
        rows.text(row, "operation") == "Program"
            && rows.text(row, "step") == step
            && rows.get(row, "include_infeed_outfeed") == &Value::Bool(with_host_io)
    })
}
