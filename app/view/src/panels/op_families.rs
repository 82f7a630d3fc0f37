//! Ops that differ only in their number, such as layers of a model or iterations of an unrolled loop: `fusion.1`,
//! `fusion.2`, … of one category.

use crate::prelude::*;
use analysis::reports::OpRow;
use trace_model::without_number;

/// Ops of one name without number, and of one category. Kernels are grouped only if they are called at the same source
/// line, because unnamed ones share their name.
pub struct OpFamily<'a> {
    pub name: &'a str,
    /// Its ops, by self time; at least one.
    pub rows: Vec<&'a OpRow>,
    /// Where they are in the report.
    pub places: Vec<usize>,
    pub self_time_ps: Picos,
}

impl<'a> OpFamily<'a> {
    /// The op alone, or the common name.
    pub fn title(&self) -> &'a str {
        if let [only] = &self.rows[..] {
            &only.name
        } else {
            self.name
        }
    }

    /// Executions of all ops.
    pub fn occurrences(&self) -> u64 {
        self.rows.iter().map(|row| row.occurrences).sum()
    }

    /// The least time that the limits of the device allow as a share of the time taken; `None` unless the share is known
    /// of all ops.
    pub fn efficiency_percent(&self) -> Option<Percent> {
        let least = |row: &&OpRow| {
            row.rates
                .ideal_time_ps
                .filter(|_| row.rates.efficiency_percent.is_some())
        };
        let ideal: f64 = self.rows.iter().map(least).sum::<Option<f64>>()?;
        let total: f64 = self
            .rows
            .iter()
            .map(|row| row.total_time_ps.as_ps_f64())
            .sum();
        (total > 0.0).then(|| Percent((100.0 * ideal / total).min(100.0)))
    }
}

/// Families by self time; `rows` come in that order, so ties keep it.
pub fn families(rows: &[OpRow]) -> Vec<OpFamily<'_>> {
    let mut index = BTreeMap::new();
    let mut families: Vec<OpFamily<'_>> = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let name = without_number(&row.name);
        let place = row.source.as_deref().filter(|_| row.is_custom_call);
        let family = *index
            .entry((name, &*row.category, place))
            .or_insert_with(|| {
                families.push(OpFamily {
                    name,
                    rows: Vec::new(),
                    places: Vec::new(),
                    self_time_ps: Picos::ZERO,
                });
                families.len() - 1
            });
        families[family].rows.push(row);
        families[family].places.push(number);
        families[family].self_time_ps += row.self_time_ps;
    }
    families.sort_by_key(|family| Reverse(family.self_time_ps));
    families
}

#[cfg(test)]
mod tests {
    use analysis::reports::Ops;
    use analysis::{Options, Scope};

    use super::*;
    use session::Session;

    #[test]
    fn ops_differing_only_in_number_are_one_family() {
        let trace = sample_traces::text_trace(
            "
            ops: bbbbbffffggggFh
            b = big [copy]
            f = f.1 [copy]
            g = f.2 [copy]
            F = f [copy]
            h = f.3 [loop fusion]
            ",
        );
        let session = Session::from_model(trace, Options::default());
        let report = session.report::<Ops>(Scope::WholeTrace).unwrap();
        let families = families(&report.rows);
        let shown: Vec<_> = families
            .iter()
            .map(|family| (family.title(), family.rows.len(), family.self_time_ps.ps()))
            .collect();
        assert_eq!(
            shown,
            [("f", 3, 9_000), ("big", 1, 5_000), ("f.3", 1, 1_000)]
        );
        assert_eq!(families[0].occurrences(), 3);
        assert_eq!(
            families[0].efficiency_percent(),
            None,
            "the device has no limits"
        );
    }
}
