//! One table: how many issue slots of each unit every bundle uses.

use importer_common::prelude::*;
use input::lines;
use trace_model::UnitSlots;

/// Maximum number of units.
const MAX_UNITS: usize = 64;
/// Maximum number of slots of a bundle.
const MAX_SLOTS: u64 = 1 << 16;

/// The sums of a table.
#[derive(Debug, Default)]
pub(super) struct UnitTotals {
    /// Number of rows.
    pub bundles: u64,
    pub units: Vec<UnitUsage>,
}

/// The sums of one column.
#[derive(Debug, Default)]
pub(super) struct UnitUsage {
    pub name: String,
    /// Slots per bundle.
    pub capacity: u64,
    /// Slots used in total.
    pub used: u64,
}

/// State of the parser.
#[derive(Clone, Copy, PartialEq)]
enum TableState {
    Head,
    Names,
    Capacities,
    Body,
    Rows,
}

/// Reads a table. The inner error describes a defect of the file, with its line.
pub(super) fn read(
    source: &InputSource,
    progress: &Progress,
) -> Result<Result<UnitTotals, String>> {
    let mut table = UnitTotals::default();
    let mut next = TableState::Head;
    let mut wrong = None;
    let seen = lines::read(source, progress, |line| {
        if wrong.is_none()
            && let Err(what) = table.take(line.message.trim(), &mut next)
        {
            wrong = Some(format!("line {}: {what}", line.number));
        }
        Ok(())
    })?;
    let unended = seen
        .unended
        .map(|line| format!("line {line} is unterminated"));
    let too_long = (seen.too_long > 0).then(|| "a line that is too long".to_owned());
    let wrong = wrong
        .or(seen.damage)
        .or(unended)
        .or(too_long)
        .or((next != TableState::Rows).then(|| "the table header is missing".to_owned()));
    Ok(match wrong {
        Some(what) => Err(what),
        None if table.bundles == 0 => Err("no rows".to_owned()),
        None => Ok(table),
    })
}

impl UnitTotals {
    fn take(&mut self, line: &str, next: &mut TableState) -> Result<(), String> {
        *next = match *next {
            // The compiler writes CAPACTIY; a later version may correct the spelling.
            TableState::Head if matches!(line, "== CAPACTIY:" | "== CAPACITY:") => {
                TableState::Names
            }
            TableState::Head => return Err("no capacity line".to_owned()),
            TableState::Names => {
                let unit = |name: &str| UnitUsage {
                    name: name.trim().to_owned(),
                    ..UnitUsage::default()
                };
                self.units = line.split(',').take(MAX_UNITS + 1).map(unit).collect();
                if self.units.len() > MAX_UNITS
                    || self.units.iter().any(|unit| unit.name.is_empty())
                {
                    return Err("no unit names".to_owned());
                }
                TableState::Capacities
            }
            TableState::Capacities => {
                let capacities = numbers(line, self.units.len())?;
                for (unit, capacity) in self.units.iter_mut().zip(capacities) {
                    unit.capacity = capacity;
                }
                TableState::Body
            }
            TableState::Body if line == "== UTILIZATION:" => TableState::Rows,
            TableState::Body => return Err("no header before the rows".to_owned()),
            TableState::Rows => {
                if !line.is_empty() {
                    self.row(line)?;
                }
                TableState::Rows
            }
        };
        Ok(())
    }

    fn row(&mut self, line: &str) -> Result<(), String> {
        let row = numbers(line, self.units.len())?;
        for (unit, used) in self.units.iter_mut().zip(row) {
            if used > unit.capacity {
                return Err(format!(
                    "{used} slots of {}, which has {}",
                    unit.name, unit.capacity
                ));
            }
            unit.used += used;
        }
        self.bundles += 1;
        Ok(())
    }

    /// The units in the form that the model stores.
    pub fn slots(&self, mut intern: impl FnMut(&str) -> StringId) -> Vec<UnitSlots> {
        let slots = |unit: &UnitUsage| UnitSlots {
            unit: intern(&unit.name),
            used: unit.used,
            per_bundle: unit.capacity,
        };
        self.units.iter().map(slots).collect()
    }
}

fn numbers(line: &str, width: usize) -> Result<Vec<u64>, String> {
    let number = |text: &str| {
        text.parse::<u64>()
            .ok()
            .filter(|number| *number <= MAX_SLOTS)
    };
    let values: Option<Vec<u64>> = line
        .split_whitespace()
        .take(MAX_UNITS + 1)
        .map(number)
        .collect();
    let values = values.ok_or_else(|| "a value that is not a slot count".to_owned())?;
    if values.len() == width {
        Ok(values)
    } else {
        Err(format!("{} values for {width} units", values.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn parse(text: &str) -> Result<UnitTotals, String> {
        let source = InputSource::from_bytes("t.txt", text.as_bytes().to_vec()).unwrap();
        read(&source, &Progress::new()).unwrap()
    }

    const HEAD: &str =
        "== CAPACTIY:\nMATMUL, VLOAD, VSTORE:SPILL\n    4     3     1\n== UTILIZATION:\n";

    #[test]
    fn slots_are_summed() {
        let table = parse(&format!("{HEAD}4 0 0\n2 3 1\n0 0 0\n")).unwrap();
        assert_eq!(table.bundles, 3);
        let units: Vec<_> = table
            .units
            .iter()
            .map(|unit| (unit.name.as_str(), unit.capacity, unit.used))
            .collect();
        assert_eq!(
            units,
            [("MATMUL", 4, 6), ("VLOAD", 3, 3), ("VSTORE:SPILL", 1, 1)]
        );
    }

    #[test]
    fn incomplete_table_is_an_error_with_its_line() {
        let wrong = |text: &str| parse(text).unwrap_err();
        assert_eq!(wrong("MATMUL, VLOAD\n4 3\n"), "line 1: no capacity line");
        assert_eq!(
            wrong("== CAPACTIY:\nA, B\n4\n== UTILIZATION:\n"),
            "line 3: 1 values for 2 units"
        );
        assert_eq!(
            wrong(&format!("{HEAD}1 1 1\n1 1\n")),
            "line 6: 2 values for 3 units"
        );
        assert_eq!(
            wrong(&format!("{HEAD}1 1 x\n")),
            "line 5: a value that is not a slot count"
        );
        assert_eq!(
            wrong(&format!("{HEAD}5 0 0\n")),
            "line 5: 5 slots of MATMUL, which has 4"
        );
        assert_eq!(wrong("== CAPACTIY:\nA\n1\n"), "the table header is missing");
        assert_eq!(wrong(HEAD), "no rows");
        assert_eq!(wrong(""), "the table header is missing");
    }
}
