//! DRAM traces: one row per cycle and one cell per word, −1 for no word. They can have gigabytes, so they are counted
//! in one pass and never held in memory.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use importer_common::prelude::*;

use super::layer::{DramTraceCounts, STREAMS, ScaleSimLayer, ScaleSimTraffic};

/// Number of bins of one trace.
const BINS: i64 = 512;
/// Maximum length of a number.
const MAX_CELL: usize = 32;

/// Counts the words of the traces that exist beside the report.
pub(super) fn count(
    source: &InputSource,
    layers: &mut [ScaleSimLayer],
    progress: &Progress,
    out: &mut TraceBuilder,
) -> Result<()> {
    let Some(directory) = source.place().and_then(Path::parent) else {
        return Ok(());
    };
    for layer in layers {
        let folder = directory.join(format!("layer{}", layer.id));
        for (access, stream) in layer.access.iter_mut().flatten().zip(STREAMS) {
            let name = format!("{}_DRAM_TRACE.csv", stream.name);
            let path = folder.join(&name);
            let Some(file) = (path.is_file() && source.may_read(&path))
                .then(|| File::open(&path).ok())
                .flatten()
            else {
                continue;
            };
            let length = file.metadata().map_or(0, |metadata| metadata.len());
            progress.add_total(length);
            let mut counter = DramTraceReader::new(access.dram);
            counter.read(BufReader::with_capacity(1 << 16, file), progress)?;
            match counter.result() {
                Ok(counted) => access.counted = Some(counted),
                Err(what) => {
                    out.log(IssueKind::TruncatedFile, || {
                        format!("layer{}/{name}: {what}; not used", layer.id)
                    });
                }
            }
        }
    }
    Ok(())
}

/// Reads a trace byte by byte.
struct DramTraceReader {
    counted: DramTraceCounts,
    cell: Vec<u8>,
    line: u64,
    column: u64,
    cycle: Option<i64>,
    last_cycle: i64,
    wrong: Option<String>,
}

impl DramTraceReader {
    /// A reader for a trace with the cycles in the report.
    fn new(expected: ScaleSimTraffic) -> Self {
        let cycles = expected
            .last
            .saturating_sub(expected.first)
            .saturating_add(1)
            .max(1);
        let bin_cycles = cycles.div_euclid(BINS) + i64::from(cycles.rem_euclid(BINS) > 0);
        let bins = cycles.div_euclid(bin_cycles) + i64::from(cycles.rem_euclid(bin_cycles) > 0);
        let counted = DramTraceCounts {
            words: 0,
            first: expected.first,
            bin_cycles,
            bins: vec![0; bins as usize],
        };
        let cell = Vec::with_capacity(MAX_CELL);
        Self {
            counted,
            cell,
            line: 1,
            column: 0,
            cycle: None,
            last_cycle: i64::MIN,
            wrong: None,
        }
    }

    fn read(&mut self, mut reader: impl BufRead, progress: &Progress) -> Result<()> {
        loop {
            progress.check()?;
            let bytes = reader.fill_buf()?;
            if bytes.is_empty() || self.wrong.is_some() {
                return Ok(());
            }
            for &byte in bytes {
                self.byte(byte);
            }
            let read = bytes.len();
            progress.add_done(read as u64);
            reader.consume(read);
        }
    }

    fn byte(&mut self, byte: u8) {
        match byte {
            b',' => self.end_cell(),
            b'\n' => {
                self.end_cell();
                (self.line, self.column, self.cycle) = (self.line + 1, 0, None);
            }
            b' ' | b'\r' | b'\t' => {}
            _ if self.cell.len() < MAX_CELL => self.cell.push(byte),
            _ => self.complain("a value is too long for a number"),
        }
    }

    fn end_cell(&mut self) {
        if self.column == 0 {
            self.cycle = number(&self.cell);
            match self.cycle {
                Some(cycle) if cycle >= self.last_cycle => self.last_cycle = cycle,
                Some(_) => self.complain("cycles do not increase"),
                None if self.cell.is_empty() => {}
                None => self.complain("the cycle is not a whole number"),
            }
        } else if self.cell.first().is_some_and(u8::is_ascii_digit) {
            self.word();
        } else if !self.cell.is_empty() && self.cell.first() != Some(&b'-') {
            self.complain("an address is not a number");
        }
        self.cell.clear();
        self.column += 1;
    }

    fn word(&mut self) {
        let counted = &mut self.counted;
        counted.words += 1;
        let bin = self.cycle.map(|cycle| {
            cycle
                .saturating_sub(counted.first)
                .div_euclid(counted.bin_cycles)
        });
        let bin = bin
            .and_then(|bin_number| usize::try_from(bin_number).ok())
            .and_then(|bin_number| counted.bins.get_mut(bin_number));
        match bin {
            Some(bin) => *bin += 1,
            None => self.complain("a cycle outside those in DETAILED_ACCESS_REPORT.csv"),
        }
    }

    fn complain(&mut self, what: &str) {
        let line = self.line;
        self.wrong
            .get_or_insert_with(|| format!("line {line}: {what}"));
    }

    fn result(self) -> Result<DramTraceCounts, String> {
        match self.wrong {
            Some(wrong) => Err(wrong),
            None if self.column > 0 || !self.cell.is_empty() => {
                Err(format!("cut in line {}", self.line))
            }
            None => Ok(self.counted),
        }
    }
}

/// An integer, also as `-128.0`.
fn number(cell: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(cell).ok()?;
    let number = text.parse::<f64>().ok()?;
    (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(text: &str, first: i64, last: i64) -> Result<DramTraceCounts, String> {
        let mut counter = DramTraceReader::new(ScaleSimTraffic {
            first,
            last,
            words: 0,
        });
        counter.read(text.as_bytes(), &Progress::new()).unwrap();
        counter.result()
    }

    #[test]
    fn empty_address_cells_are_not_counted() {
        let counted = counted("-2.0,0.0,64.0,-1.0\n-1.0,7.0,-1.0,-1.0\n", -2, -1).unwrap();
        assert_eq!((counted.words, counted.bins), (3, vec![2, 1]));
    }

    #[test]
    fn long_traces_are_binned() {
        let text = (0..2000).fold(String::new(), |text, cycle| {
            text + &format!("{cycle},1,2,\n")
        });
        let counted = counted(&text, 0, 1999).unwrap();
        assert_eq!(
            (counted.words, counted.bin_cycles, counted.bins.len()),
            (4000, 4, 500)
        );
        assert!(counted.bins.iter().all(|&words| words == 8));
    }

    #[test]
    fn damaged_dram_trace_is_detected() {
        for (text, what) in [
            ("0,1\n1,2", "cut in line 2"),
            ("0,1\nx,2\n", "line 2"),
            ("0,1\n9,2\n", "outside"),
            ("5,1\n4,1\n", "do not increase"),
            ("0,nan\n", "address"),
            ("1e308,1\n", "cycle"),
            ("0,11111111111111111111111111111111111111\n", "too long"),
        ] {
            let error = counted(text, 0, 5).unwrap_err();
            assert!(error.contains(what), "{text}: {error}");
        }
        assert_eq!(counted("", 0, i64::MAX).map(|counted| counted.words), Ok(0));
        assert!(counted("0,1\n", i64::MIN, i64::MAX).is_ok());
    }
}
