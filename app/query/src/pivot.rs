//! Pivot tables: the self time of ops, its share and its rates by one or two things, as a query that is written from their
//! names.

/// Something by which ops are summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PivotKey {
    pub name: &'static str,
    /// What rows are, in a few words.
    pub about: &'static str,
    /// The expression of a row of sums `s` or its instruction `i`.
    of: &'static str,
    /// The column of `op_slices` that the sums need for it, beside the op.
    column: Option<&'static str>,
}

impl PivotKey {
    const fn new(
        name: &'static str,
        about: &'static str,
        of: &'static str,
        column: Option<&'static str>,
    ) -> Self {
        Self {
            name,
            about,
            of,
            column,
        }
    }
}

/// All of them.
pub const PIVOT_KEYS: [PivotKey; 7] = [
    PivotKey::new("name", "names without their numbers", "stem(s.name)", None),
    PivotKey::new("category", "kinds of work", "s.category", None),
    PivotKey::new("source", "source lines", "i.source", None),
    PivotKey::new(
        "scope",
        "scopes of the framework",
        "scope(i.framework_name)",
        None,
    ),
    PivotKey::new("program", "programs", "s.program", None),
    PivotKey::new("device", "devices", "s.device", Some("device")),
    PivotKey::new("step", "steps", "s.step", Some("step")),
];

/// The word before the names of a pivot table.
pub(crate) const PIVOT: &str = "pivot";

/// The query of a pivot table by these keys, the outermost first.
pub fn pivot(keys: &[PivotKey]) -> String {
    let rows: Vec<String> = keys
        .iter()
        .map(|key| format!("{} AS {}", key.of, key.name))
        .collect();
    let columns: Vec<&str> = ["op_id", "name", "category", "program"]
        .into_iter()
        .chain(keys.iter().filter_map(|key| key.column))
        .collect();
    let columns = columns.join(", ");
    let numbers: Vec<String> = (1..=keys.len()).map(|number| number.to_string()).collect();
    format!(
        "SELECT {rows}, sum(s.n) AS executions, round(ms(sum(s.self_ps)), 6) AS self_ms,\n\
         round(100.0 * sum(s.self_ps) / sum(sum(s.self_ps)) OVER (), 4) AS self_percent,\n\
         round(1.0 * sum(s.flops) / sum(s.flops_ps), 4) AS tflop_per_s,\n\
         round(1000.0 * sum(s.bytes) / sum(s.bytes_ps), 4) AS gb_per_s\n\
         FROM (SELECT {columns}, count(*) AS n, sum(self_ps) AS self_ps,\n  \
         sum(flops) AS flops, sum(CASE WHEN flops IS NOT NULL THEN self_ps END) AS flops_ps,\n  \
         sum(moved) AS bytes, sum(CASE WHEN moved IS NOT NULL THEN self_ps END) AS bytes_ps\n  \
         FROM (SELECT *, CASE WHEN {synchronous} THEN bytes_accessed END AS moved FROM op_slices)\n  \
         GROUP BY {columns}) s\n\
         LEFT JOIN instructions i ON i.op_id = s.op_id\n\
         GROUP BY {numbers} ORDER BY sum(s.self_ps) DESC",
        rows = rows.join(", "),
        numbers = numbers.join(", "),
        // Transfers go on before their done half, and their bytes are not moved in its time.
        synchronous = "name NOT LIKE '%-done%'",
    )
}

/// The query that `pivot scope, device` stands for; `None` if a text is something else. The error is a sentence.
pub(crate) fn pivot_query(text: &str) -> Option<Result<String, String>> {
    let mut words = text
        .split([',', ' ', '\n', '\t'])
        .filter(|word| !word.is_empty());
    if words.next() != Some(PIVOT) {
        return None;
    }
    let keys = words.map(|word| {
        let mut all = PIVOT_KEYS.iter();
        all.find(|key| key.name == word).copied().ok_or(word)
    });
    Some(match keys.collect::<Result<Vec<_>, _>>() {
        Ok(keys) if keys.is_empty() => return None,
        Ok(keys) if keys.len() <= 2 && keys.first() != keys.get(1) => Ok(pivot(&keys)),
        Ok(_) => Err(format!("a pivot table is by one or two of {}", names())),
        Err(word) => Err(format!(
            "no pivot table is by {word}; there are {}",
            names()
        )),
    })
}

fn names() -> String {
    PIVOT_KEYS.map(|key| key.name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset;

    #[test]
    fn names_become_a_query() {
        let of = |text: &str| pivot_query(text);
        assert!(of("SELECT 1").is_none());
        assert!(of("pivot").is_none(), "that is a ready-made query");
        let [name, _, _, scope, _, device, _] = PIVOT_KEYS;
        assert_eq!(of("pivot scope, device"), Some(Ok(pivot(&[scope, device]))));
        assert_eq!(of("pivot name"), Some(Ok(pivot(&[name]))));
        for wrong in [
            "pivot nothing",
            "pivot name name",
            "pivot name, step, device",
        ] {
            let message = of(wrong).unwrap().unwrap_err();
            assert!(message.contains("category, source"), "{message}");
        }
    }

    #[test]
    fn ready_made_pivot_is_one() {
        let [_, category, _, _, _, device, _] = PIVOT_KEYS;
        let own = preset(PIVOT).and_then(|preset| pivot_query(preset.sql));
        assert_eq!(own, Some(Ok(pivot(&[category, device]))));
    }
}
