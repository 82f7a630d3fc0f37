//! The importer of cost tables, whoever writes them.

use importer_common::prelude::*;
use importer_common::simulated::describe;
use input::sniffing::contains;
use trace_model::Caveat;

use super::program::{CostedDevice, CostedProgram};
use super::timeline::write;

/// Facts that cost tables do not contain.
const CANNOT_KNOW: [&str; 4] = [
    "start times of the parts of an op",
    "overlap between ops",
    "dependencies of ops",
    "directions of memory accesses",
];

/// What a cost table contains.
pub(super) type CostTableContent = (Vec<CostedProgram>, CostedDevice);

/// The cost tables of a simulator.
#[derive(Debug)]
pub struct OpCostTable {
    pub(super) format: &'static TraceFormat,
    pub(super) simulator: &'static str,
    /// Columns that distinguish the table from others.
    pub(super) columns: &'static [&'static [u8]],
    /// See [`Importer::beside`].
    pub(super) beside: fn(&str) -> Vec<String>,
    pub(super) read: fn(&InputSource, &Progress, &mut TraceBuilder) -> Result<CostTableContent>,
}

impl Importer for OpCostTable {
    fn format(&self) -> &'static TraceFormat {
        self.format
    }

    fn detect(&self, head: &[u8]) -> DetectionConfidence {
        let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let has = |name: &&[u8]| contains(line, name);
        DetectionConfidence::certain_if(self.columns.iter().all(has))
    }

    fn beside(&self, name: &str) -> Vec<String> {
        (self.beside)(name)
    }

    fn import(
        &self,
        source: &InputSource,
        _options: &ImportOptions,
        progress: &Progress,
        out: &mut TraceBuilder,
    ) -> Result<()> {
        let (programs, device) = (self.read)(source, progress, out)?;
        describe(self.simulator, &CANNOT_KNOW, out);
        out.source_mut().caveats = vec![Caveat::Predicted];
        write(programs, device, out);
        Ok(())
    }
}
