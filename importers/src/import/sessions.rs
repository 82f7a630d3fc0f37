//! Files that are not of one session, on one timeline, would be meaningless: they are refused unless a run folder holds
//! them.

use std::collections::BTreeMap;

use input::{ImportError, Result};
use trace_model::{Picos, Source, TraceModel, TrackKind, joined};

/// Rejects files of different sessions: hosts of one session start within seconds of each other.
pub(super) fn refuse_far_apart(model: &TraceModel) -> Result<()> {
    let starts = model.sources().iter().filter_map(Source::zero_unix_ns);
    let (Some(first), Some(last)) = (starts.clone().min(), starts.max()) else {
        return Ok(());
    };
    if last.saturating_sub(first) <= Source::MOST_APART_NS {
        return Ok(());
    }
    let minutes = last.saturating_sub(first) / 60_000_000_000;
    let apart = if minutes < 2 * 24 * 60 {
        format!("{minutes} minutes")
    } else {
        format!("{} days", minutes / (24 * 60))
    };
    refused(model, &format!("they began up to {apart} apart"))
}

/// Rejects files of which one does not record when it began, if neither runs the program that takes most of the other's
/// time. Hosts of one session run the same program, and its name holds a fingerprint.
pub(super) fn refuse_other_programs(model: &TraceModel) -> Result<()> {
    let sources = model.sources();
    if sources.len() < 2 || sources.iter().any(|source| source.simulator.is_some()) {
        return Ok(());
    }
    let programs = programs(model);
    let mut all = sources.iter().zip(&programs);
    let Some(first) = all.find(|(_, programs)| !programs.is_empty()) else {
        return Ok(());
    };
    let has_no_time = |source: &Source| source.zero_unix_ns().is_none();
    let is_other = |(source, programs): &(&Source, &Programs<'_>)| {
        let runs = |those: &Programs<'_>, most: &Programs<'_>| {
            longest(most).is_none_or(|name| those.contains_key(name))
        };
        (has_no_time(first.0) || has_no_time(source))
            && !runs(programs, first.1)
            && !runs(first.1, programs)
    };
    if !all.any(|other| is_other(&other)) {
        return Ok(());
    }
    refused(
        model,
        "they run different programs, and some do not record when they began",
    )
}

/// The time of each program that devices ran, by its name.
type Programs<'a> = BTreeMap<&'a str, Picos>;

/// The programs of each source.
fn programs(model: &TraceModel) -> Vec<Programs<'_>> {
    let mut all = vec![Programs::new(); model.sources().len()];
    for core in model.tensor_cores() {
        let Some(of_source) = all.get_mut(model.group(core).source.index()) else {
            continue;
        };
        for slice in model.slices_of_kind(core, TrackKind::Modules) {
            *of_source.entry(slice.name()).or_default() += slice.dur();
        }
    }
    all
}

fn longest<'a>(programs: &Programs<'a>) -> Option<&'a str> {
    let longest = programs.iter().max_by_key(|(_, time)| **time);
    longest.map(|(name, _)| *name)
}

fn refused(model: &TraceModel, why: &str) -> Result<()> {
    let names = model.sources().iter().map(|source| source.name.as_str());
    let what = format!(
        "these files are not hosts of one session, {why}; name one of {}",
        joined(names, ", ")
    );
    Err(ImportError::NothingFound { what })
}

#[cfg(test)]
mod tests {
    use trace_model::{GroupKind, SliceSpec, TimeRange, Timestamp, TraceBuilder};

    use super::*;

    /// When a file began, and the programs of its device, each with its length.
    type MadeFile<'a> = (Option<i64>, &'a [(&'a str, i64)]);

    fn model(files: &[MadeFile<'_>]) -> TraceModel {
        let mut builder = TraceBuilder::new();
        for (at, (began, programs)) in files.iter().enumerate() {
            builder.begin_source(Source {
                name: format!("host{at}"),
                started_unix_ns: *began,
                ..Source::default()
            });
            let kind = GroupKind::TensorCore { ordinal: 0 };
            let core = builder.group(None, kind, "/device:TPU:0");
            let track = builder.track(core, TrackKind::Modules, 2, "XLA Modules");
            let mut begin = 0;
            for (name, length) in *programs {
                let label = builder.label(name, None);
                let end = begin + length;
                let range = TimeRange::new(Timestamp::from_ps(begin), Timestamp::from_ps(end));
                builder.add_slice(track, SliceSpec::new(range, label));
                begin = end;
            }
        }
        builder.finish()
    }

    #[test]
    fn files_without_a_time_that_run_other_programs_are_not_one_session() {
        let small = ("jit_less(7)", 10);
        let (first, second) = ([("jit_step(1)", 100), small], [("jit_step(2)", 90), small]);
        let said = refuse_other_programs(&model(&[(None, &first), (Some(5), &second)]));
        let said = said.unwrap_err().to_string();
        assert!(said.contains("they run different programs"), "{said}");
        assert!(said.ends_with("name one of host0, host1"), "{said}");
        let other = [("jit_step(1)", 30), ("jit_eval(3)", 50)];
        for files in [
            // Hosts of one session; one runs other programs, too; the times say that it is one session.
            [(None, &first[..]), (None, &first)],
            [(None, &first), (None, &other)],
            [(Some(4), &first), (Some(5), &second)],
            [(None, &first), (None, &[])],
        ] {
            assert!(refuse_other_programs(&model(&files)).is_ok());
        }
    }
}
