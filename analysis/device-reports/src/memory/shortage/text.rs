//! A shortage in one sentence.

use engine::number;

use super::need::MemoryShortage;

/// Padding below this share of the need is not mentioned.
const WORTH_SAYING: f64 = 0.05;

impl MemoryShortage {
    /// The sentence with units of 1000, as the tables below it have; `statement` has those of the messages.
    pub fn decimal_statement(&self) -> String {
        statement(self, number::bytes)
    }
}

/// `jit_step needs 17.54 GiB of HBM and there are 15.75 GiB, 1.78 GiB too few; …`; `written` writes sizes.
pub(super) fn statement(of: &MemoryShortage, written: impl Fn(u64) -> String) -> String {
    let memory = match of.memory.as_str() {
        "main memory" => of.memory.clone(),
        name => name.to_uppercase(),
    };
    let what = match (&of.program, of.told_by.as_str()) {
        (Some(program), _) => program.clone(),
        (None, "the runtime") => "the next allocation".to_owned(),
        (None, _) => "the program".to_owned(),
    };
    let least = match (of.is_least, of.is_estimate) {
        (true, _) => "at least ",
        (_, true) => "about ",
        _ => "",
    };
    let needed = of.needed_bytes.map_or_else(
        || format!("{what} needs more {memory} than there is"),
        |bytes| format!("{what} needs {least}{} of {memory}", written(bytes)),
    );
    let there = match (of.capacity_bytes, of.over_bytes) {
        (Some(there), Some(0)) => match of.spare_bytes() {
            Some(spare) => format!(
                ", and there are {}: it fits, {} are free",
                written(there),
                written(spare)
            ),
            // It failed all the same.
            None => format!(", and there are {}", written(there)),
        },
        (Some(there), Some(over)) => format!(
            ", and there are {}: {least}{} too few",
            written(there),
            written(over)
        ),
        (Some(there), None) => format!(", and there are {}", written(there)),
        (None, Some(over)) => format!(", {} too much", written(over)),
        (None, None) => String::new(),
    };
    let padding = of.padding();
    let share = of
        .needed_bytes
        .map_or(0.0, |needed| padding as f64 / needed.max(1) as f64);
    let padding = if share >= WORTH_SAYING {
        let most = if of.shares_memory() { "at most " } else { "" };
        format!("; {most}{} of it is padding", written(padding))
    } else {
        String::new()
    };
    let largest = of.sources.first().map_or_else(String::new, |source| {
        let file = source.source.rsplit('/').next().unwrap_or_default();
        let listed = of
            .buffers
            .iter()
            .map(|buffer| buffer.bytes)
            .fold(0, u64::saturating_add);
        let how = if source.bytes > listed / 2 {
            "most of what is listed is"
        } else {
            "of what is listed, most bytes of one line are"
        };
        format!("; {how} from {file} ({})", written(source.bytes))
    });
    format!("{needed}{there}{padding}{largest}")
}
