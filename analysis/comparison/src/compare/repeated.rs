//! Captures that are given more than once.

use std::borrow::Cow;

use super::{Summary, SummaryInput};

/// Runs without those that are captures of another one already, by their bytes: given twice, one shows no more than given
/// once. What was left out, in words.
pub fn without_repeated(runs: &[Summary]) -> (Cow<'_, [Summary]>, Vec<String>) {
    let mut kept = Vec::<&Summary>::new();
    let mut said = Vec::new();
    for run in runs {
        let Some(first) = kept.iter().find(|first| is_same_capture(first, run)) else {
            kept.push(run);
            continue;
        };
        let first = first.title();
        let again = run.title();
        let text = if first == again {
            format!("{first} is given more than once: it counts once")
        } else {
            format!("{again} is the same capture as {first}: they count once")
        };
        if !said.contains(&text) {
            said.push(text);
        }
    }
    let runs = if kept.len() == runs.len() {
        Cow::Borrowed(runs)
    } else {
        kept.into_iter().cloned().collect()
    };
    (runs, said)
}

/// That a capture of several is on both sides, in words. One run against itself is asked for on purpose.
pub fn on_both_sides(base: &[Summary], cand: &[Summary]) -> Vec<String> {
    if base.len().max(cand.len()) < 2 {
        return Vec::new();
    }
    let is_base = |run: &&Summary| base.iter().any(|base| is_same_capture(base, run));
    let both = cand.iter().filter(is_base).map(Summary::title);
    both.map(|run| format!("{run} is on both sides: they look more alike than they are"))
        .collect()
}

/// Whether two runs were read from the same bytes.
pub fn is_same_capture(first: &Summary, second: &Summary) -> bool {
    let first = fingerprints(&first.inputs);
    first.is_some_and(|first| Some(first) == fingerprints(&second.inputs))
}

/// What identifies the bytes of a run; `None` if that is not known of all its files.
pub fn fingerprints(inputs: &[SummaryInput]) -> Option<Vec<&str>> {
    let files = inputs.iter().map(|input| input.fingerprint.as_deref());
    let files: Option<Vec<&str>> = files.collect();
    let mut files = files.filter(|files| !files.is_empty())?;
    files.sort_unstable();
    Some(files)
}
