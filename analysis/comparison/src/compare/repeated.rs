//! Captures that are given more than once.

use std::borrow::Cow;

use super::Summary;

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

/// Whether two runs were read from the same bytes.
fn is_same_capture(first: &Summary, second: &Summary) -> bool {
    let bytes = |run: &Summary| -> Option<Vec<String>> {
        let files: Option<Vec<String>> = run
            .inputs
            .iter()
            .map(|input| input.fingerprint.clone())
            .collect();
        let mut files = files.filter(|files| !files.is_empty())?;
        files.sort();
        Some(files)
    };
    bytes(first).is_some_and(|first| Some(first) == bytes(second))
}
