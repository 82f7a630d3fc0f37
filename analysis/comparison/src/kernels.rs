//! Kernels of two runs: how long an execution takes on the chip, before and after.

use facts::prelude::*;

use device_reports::ops::kernels::{KernelTiming, without_numbers};

use crate::compare::{MetricChange, TestOptions, word_of_change};

/// The kernels of two runs.
#[engine::reported]
pub struct KernelComparison {
    /// The first run.
    pub base: String,
    /// The second run.
    pub cand: String,
    /// Kernels of both runs, those that changed most first; then those of one run.
    pub rows: Vec<KernelChange>,
    /// What to know when reading it.
    pub notes: Vec<String>,
}

/// A kernel in two runs.
#[engine::row(measured)]
pub struct KernelChange {
    /// Name in the first run.
    #[column("Base")]
    pub base_kernel: Option<String>,
    /// Name in the second run.
    #[column("Cand")]
    pub cand_kernel: Option<String>,
    /// Median time of an execution in the first run.
    #[column("Median, base")]
    pub base_median_ps: Option<f64>,
    /// Median time of an execution in the second run.
    #[column("Median, cand")]
    pub cand_median_ps: Option<f64>,
    /// Second minus first, of the first.
    #[column(derived)]
    pub change_percent: Option<Percent>,
    /// `slower`, `faster`, `~` …: whether the change is more than noise.
    #[column(derived)]
    pub verdict: String,
    /// Executions in the first run.
    #[column("Runs, base")]
    pub base_runs: Option<u64>,
    /// Executions in the second run.
    #[column("Runs, cand")]
    pub cand_runs: Option<u64>,
    /// Types and sizes of the operands in the second run, else in the first; absent if they are not recorded.
    #[column(recorded)]
    pub operands: Option<String>,
}

/// By what two kernels are taken for the same.
type KernelKey = fn(&KernelTiming) -> Option<(String, Option<String>)>;

/// Compares the kernels of two runs.
pub fn compare_kernels(
    (base_name, base): (&str, &[KernelTiming]),
    (cand_name, cand): (&str, &[KernelTiming]),
    options: &TestOptions,
) -> KernelComparison {
    let (mut base, mut cand): (Vec<_>, Vec<_>) = (base.iter().collect(), cand.iter().collect());
    let mut pairs = Vec::new();
    let keys: [KernelKey; 4] = [
        |one| Some((one.kernel.clone(), one.operands.clone())),
        |one| Some((without_numbers(&one.kernel), Some(one.operands.clone()?))),
        |one| Some((one.kernel.clone(), None)),
        |one| Some((without_numbers(&one.kernel), None)),
    ];
    for key in keys {
        take_pairs(&mut base, &mut cand, key, &mut pairs);
    }
    let mut rows: Vec<KernelChange> = pairs
        .into_iter()
        .map(|(base, cand)| both(base, cand, options))
        .collect();
    let size = |row: &KernelChange| {
        let change = row.cand_median_ps.zip(row.base_median_ps);
        let runs = row.cand_runs.unwrap_or(0) as f64;
        change.map_or(0.0, |(cand, base)| (cand - base).abs() * runs)
    };
    largest_number_first(&mut rows, size, |row| &row.base_kernel);
    rows.extend(base.into_iter().map(|one| only(Some(one), None)));
    rows.extend(cand.into_iter().map(|one| only(None, Some(one))));
    let assumed = Percent(options.assumed_spread_percent);
    KernelComparison {
        base: base_name.to_owned(),
        cand: cand_name.to_owned(),
        rows,
        notes: vec![
            format!("base: {base_name}; cand: {cand_name}"),
            "Times of executions on the chip. Kernels are matched by name and operands, else by the name \
             without its numbers, if it is the only one on both sides."
                .to_owned(),
            format!(
                "One run per side does not show how much runs differ: a standard deviation of {assumed:.0} between \
                 runs is assumed."
            ),
        ],
    }
}

/// Takes the kernels whose key occurs once on each side.
fn take_pairs<'a>(
    base: &mut Vec<&'a KernelTiming>,
    cand: &mut Vec<&'a KernelTiming>,
    key: impl Fn(&KernelTiming) -> Option<(String, Option<String>)>,
    pairs: &mut Vec<(&'a KernelTiming, &'a KernelTiming)>,
) {
    let by_key =
        |side: &[&'a KernelTiming]| grouped(side.iter().filter_map(|&one| Some((key(one)?, one))));
    let first = by_key(base);
    let second = by_key(cand);
    let begin = pairs.len();
    for (key, ones) in first {
        if let ([one], Some([other])) = (&ones[..], second.get(&key).map(Vec::as_slice)) {
            pairs.push((one, other));
        }
    }
    let taken = pairs.get(begin..).unwrap_or_default();
    base.retain(|one| !taken.iter().any(|(base, _)| std::ptr::eq(*base, *one)));
    cand.retain(|one| !taken.iter().any(|(_, cand)| std::ptr::eq(*cand, *one)));
}

fn both(base: &KernelTiming, cand: &KernelTiming, options: &TestOptions) -> KernelChange {
    let effect = base.median_ps * options.min_effect_percent / 100.0;
    let change = MetricChange::of_runs(
        std::slice::from_ref(&base.samples),
        std::slice::from_ref(&cand.samples),
        effect,
        options,
    );
    KernelChange {
        change_percent: change.change_percent,
        verdict: word_of_change(&change),
        ..only(Some(base), Some(cand))
    }
}

fn only(base: Option<&KernelTiming>, cand: Option<&KernelTiming>) -> KernelChange {
    KernelChange {
        base_kernel: base.map(|one| one.kernel.clone()),
        cand_kernel: cand.map(|one| one.kernel.clone()),
        base_median_ps: base.map(|one| one.median_ps),
        cand_median_ps: cand.map(|one| one.median_ps),
        change_percent: None,
        verdict: if cand.is_some() { "new" } else { "gone" }.to_owned(),
        base_runs: base.map(|one| one.occurrences),
        cand_runs: cand.map(|one| one.occurrences),
        operands: cand.or(base).and_then(|one| one.operands.clone()),
    }
}

impl Tabular for KernelComparison {
    fn tables(&self) -> Vec<Table> {
        let title = "Kernels of both runs: time of an execution on the chip";
        let table = Table::of("kernel_changes", title, &self.rows).remaining();
        vec![table.notes(self.notes.clone()).build()]
    }
}
