//! Tables divided into one directory per value of a column, as Hive, Spark, `BigQuery` and `DuckDB` read them:
//! `slices/run=R/device=D/data.parquet`. The columns are in the names of the directories, not in the files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use crate::tables::data::{DataTable, Value, picked};

/// What goes into one file.
pub struct FilePart {
    /// Directory below that of the export.
    pub directory: PathBuf,
    /// Name of the file without ending.
    pub stem: String,
    pub table: Arc<DataTable>,
    /// Its columns of `table`.
    pub columns: Vec<usize>,
}

/// What Hive calls the directory of rows without a value.
const MISSING: &str = "__HIVE_DEFAULT_PARTITION__";

/// The parts of a table by those columns of `by` that it has; `run` stands for the name of the run. Parts are in the
/// order of their values, rows keep their order.
pub fn of(table: &Arc<DataTable>, columns: &[usize], by: &[&str], run: &str) -> Vec<FilePart> {
    let column = |name: &str| table.columns.iter().position(|column| column.name == name);
    let by: Vec<(&str, Option<usize>)> = by
        .iter()
        .map(|&name| (name, column(name)))
        .filter(|(name, column)| *name == "run" || column.is_some())
        .collect();
    let inside: Vec<usize> = columns
        .iter()
        .copied()
        .filter(|column| by.iter().all(|(_, by)| *by != Some(*column)))
        .collect();
    let mut parts: BTreeMap<PathBuf, Vec<u32>> = BTreeMap::new();
    let mut last: Option<(Vec<Option<String>>, PathBuf)> = None;
    for row in 0..table.len {
        let values = by.iter().map(|(_, column)| {
            match column.map(|column| table.columns[column].value(row)) {
                None => Some(run.to_owned()),
                Some(Value::Text(text)) => Some(text.into_owned()),
                Some(Value::Int(number)) => Some(number.to_string()),
                Some(Value::Float(number)) => Some(number.to_string()),
                Some(Value::Missing) => None,
            }
        });
        let values: Vec<_> = values.collect();
        // Rows of one device follow each other.
        let directory = match last.take() {
            Some((same, directory)) if same == values => directory,
            _ => {
                let names = by
                    .iter()
                    .zip(&values)
                    .map(|((name, _), value)| format!("{name}={}", escaped(value.as_deref())));
                [table.name.clone()].into_iter().chain(names).collect()
            }
        };
        if let Ok(row) = u32::try_from(row) {
            match parts.get_mut(&directory) {
                Some(rows) => rows.push(row),
                None => drop(parts.insert(directory.clone(), vec![row])),
            }
        }
        last = Some((values, directory));
    }
    let parts = parts.into_iter().map(|(directory, rows)| {
        let (table, count) = (Arc::new(picked(table, &inside, Some(rows))), inside.len());
        FilePart {
            directory,
            stem: "data".to_owned(),
            table,
            columns: (0..count).collect(),
        }
    });
    parts.collect()
}

/// A value as the name of a directory: as Hive writes it, with `%2F` for `/`.
pub fn escaped(value: Option<&str>) -> String {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return MISSING.to_owned();
    };
    let mut name = String::new();
    for letter in value.chars() {
        if letter.is_ascii_control() || "\"#%'*/:=?\\{}[]^".contains(letter) {
            let _ = write!(name, "%{:02X}", u32::from(letter));
        } else {
            name.push(letter);
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use analysis::Scope;

    use super::*;
    use crate::tables::{Catalog, samples};

    #[test]
    fn every_row_is_in_one_part_and_columns_of_directories_are_not_in_files() {
        let (_, session) = samples::sessions()
            .find(|(file, _)| file.contains("recompile"))
            .expect("there is one");
        let table = Catalog::new(&session, Scope::WholeTrace)
            .table("slices")
            .expect("there is one");
        let all: Vec<usize> = (0..table.columns.len()).collect();
        let parts = of(&table, &all, &["run", "host", "device"], "a/b");
        assert_eq!(
            parts.iter().map(|part| part.table.len).sum::<usize>(),
            table.len
        );
        assert!(parts.len() > 8, "{}", parts.len());
        for part in &parts {
            assert!(
                part.directory.starts_with("slices/run=a%2Fb"),
                "{}",
                part.directory.display()
            );
            assert!(part.table.column("device").is_none() && part.table.column("name").is_some());
        }
        assert!(
            parts
                .iter()
                .any(|part| part.directory.ends_with(format!("device={MISSING}")))
        );
    }

    #[test]
    fn values_are_names_of_directories() {
        assert_eq!(
            escaped(Some("/device:TPU:0 (α)")),
            "%2Fdevice%3ATPU%3A0 (α)"
        );
        assert_eq!(escaped(None), MISSING);
    }
}
