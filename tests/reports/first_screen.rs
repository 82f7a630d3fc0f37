//! The first screen of every sample and of every capture of the corpus, and what Markdown shows without unfolding: it
//! fits, and says what it says in full.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use analysis::compare::Summary;
use analysis::gates::{GateConfig, against};
use analysis::hints::{Hint, HintSeverity, Hints};
use analysis::{ANALYSES, Options, Scope};
use importers::{ImportOptions, Progress};
use render::{AnsiStyle, Document, DocumentView, GatedDocument, TextLayout, md};
use session::Session;

use crate::golden::samples;

/// Files above this size take too long to read without optimization.
const MOST_BYTES: u64 = 2_000_000;
/// Widths of terminals, and the lines that the screen may take.
const LAYOUTS: [(usize, usize); 4] = [(140, 30), (100, 30), (80, 36), (60, 60)];
/// Words of the sentence to read first.
const MOST_WORDS: usize = 20;

/// Lines and bytes of Markdown that is read without unfolding, and bytes of all of it.
pub const MARKDOWN: [usize; 3] = [40, 6_000, 60_000];

/// All files below `folder`, but not what another program says of them.
fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("xprof") {
            files_below(&path, found);
        } else if entry
            .metadata()
            .is_ok_and(|file| file.is_file() && file.len() <= MOST_BYTES)
        {
            found.push(path);
        }
    }
}

pub fn captures() -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus");
    let is_required = std::env::var_os("SYSTOLE_REQUIRE_CORPUS").is_some_and(|value| value == "1");
    assert!(corpus.is_dir() || !is_required, "there is no corpus");
    let mut found = samples();
    for folder in ["tpu", "planted", "regressions", "damaged", "simulators"] {
        files_below(&corpus.join(folder), &mut found);
    }
    found
}

/// What is read without unfolding anything: each line, and of a fold its title.
pub fn unfolded(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let mut shown = Vec::new();
    for line in text.lines() {
        if depth == 0 {
            shown.push(line);
        }
        depth += usize::from(line.starts_with("<details>"));
        if line == "</details>" {
            depth -= 1;
        }
    }
    assert_eq!(depth, 0, "{text}");
    shown
}

/// What is wrong with the HTML page of a judged run: it begins like the other first screens.
fn faults_of_page(document: &Document) -> Option<String> {
    let gated = document.gated.as_ref()?;
    let page = render::html::page(document, gated);
    let hints = document.session.report::<Hints>(document.scope).ok();
    let limit = hints.as_ref().and_then(|hints| hints.limit.as_ref());
    let is_hint = |hint: &Hint| hint.severity != HintSeverity::Health;
    let has_hints = hints
        .as_ref()
        .is_some_and(|hints| hints.hints.iter().any(is_hint));
    let open = hints.as_ref().and_then(|hints| hints.open_limit());
    let open = open.map_or_else(String::new, |open| {
        format!("<p>{}</p>", open.replace('>', "&gt;"))
    });
    let order = [
        limit.map(|limit| format!("<h1>{}", limit.share)),
        has_hints.then(|| format!("<h2>What to do</h2>{open}<details open>")),
        limit.map(|_| "<div class=\"uses\"".to_owned()),
    ];
    let mut from = page.find("<header>")?;
    for part in order.into_iter().flatten() {
        match page[from..].find(&part) {
            Some(at) => from += at,
            None => return Some(format!("the page lacks {part}, or has it elsewhere")),
        }
    }
    page[..from]
        .contains("<h2>All figures")
        .then(|| "all figures come first".to_owned())
}

/// What is wrong with the Markdown of a session, alone and beside itself as a baseline.
fn faults_of_markdown(session: &Session) -> Vec<String> {
    let ids: Vec<_> = ANALYSES.iter().map(|entry| entry.id).collect();
    let scope = Scope::WholeTrace;
    let mut document = Document::new(session, scope, &ids, DocumentView::Summary);
    let layout = TextLayout {
        width: 100,
        top: 0,
        entries: 0,
        style: AnsiStyle::PLAIN,
    };
    let mut faults = Vec::new();
    let mut texts = vec![md::document(&document, &layout)];
    if let Ok(run) = Summary::of(&session.context(scope)) {
        let base = [run.clone()];
        let (report, comparison) = against(&run, &base, &GateConfig::default());
        document.gated = Some(GatedDocument {
            are_set: true,
            report,
            run,
            comparison,
        });
        texts.push(md::document(&document, &layout));
        texts.push(md::step_summary(&document));
        faults.extend(faults_of_page(&document));
    }
    for text in texts {
        let shown = unfolded(&text);
        let bytes: usize = shown.iter().map(|line| line.len() + 1).sum();
        let sizes = [shown.len(), bytes, text.len()];
        if sizes.iter().zip(MARKDOWN).any(|(&size, most)| size > most) {
            faults.push(format!(
                "Markdown of {sizes:?} lines and bytes:\n{}",
                shown.join("\n")
            ));
        }
        // Names of runs may be shortened, sentences not.
        let is_name = |line: &&&str| {
            ["- Run: ", "- Baseline: "]
                .iter()
                .any(|is| line.starts_with(is))
        };
        let cut = shown
            .iter()
            .filter(|line| !is_name(line))
            .find(|line| line.contains('…'));
        faults.extend(cut.map(|line| format!("a sentence of Markdown is cut: {line}")));
        let is_headline = |line: &&str| line.starts_with("## ") && line.len() > 5;
        if !shown.first().is_some_and(is_headline) {
            faults.push(format!("no headline: {:?}", shown.first()));
        }
    }
    faults
}

/// What is wrong with the screens of a session.
fn faults(session: &Session) -> Vec<String> {
    let document = Document::new(session, Scope::WholeTrace, &[], DocumentView::Summary);
    let mut faults = Vec::new();
    for (width, most) in LAYOUTS {
        let layout = TextLayout {
            width,
            top: 10,
            entries: 0,
            style: AnsiStyle::PLAIN,
        };
        let screen = render::text::document(&document, &layout);
        let lines: Vec<&str> = screen.lines().collect();
        if lines.len() > most {
            faults.push(format!(
                "{} lines of {width} columns:\n{screen}",
                lines.len()
            ));
        }
        // Names in the first line and in the table of ops may be shortened, sentences not.
        let of_table = lines
            .iter()
            .position(|line| line.starts_with("Top ops"))
            .unwrap_or(lines.len());
        let cut = lines[..of_table]
            .iter()
            .skip(1)
            .find(|line| line.contains('…'));
        faults.extend(cut.map(|line| format!("a sentence is cut at {width} columns: {line}")));
    }
    faults.extend(faults_of_markdown(session));
    if let Some(limit) = session
        .report::<Hints>(Scope::WholeTrace)
        .ok()
        .and_then(|hints| hints.limit.clone())
    {
        let words = limit.statement.split_whitespace().count();
        if words > MOST_WORDS {
            faults.push(format!("{words} words: {}", limit.statement));
        }
        let sum: f64 = limit.parts.iter().map(|part| part.time_ps).sum();
        if (sum - limit.of_ps).abs() > 1e-6 * limit.of_ps {
            faults.push(format!(
                "parts of a step add up to {sum} of {}",
                limit.of_ps
            ));
        }
    }
    faults
}

#[test]
fn first_screens_fit_and_cut_no_sentence() {
    let captures = captures();
    let opened = AtomicUsize::new(0);
    let of_capture = |path: &PathBuf| {
        let (import, options) = (ImportOptions::default(), Options::default());
        // Refused files are the subject of other tests.
        let session = Session::open(path, &import, options, &Progress::new()).ok()?;
        opened.fetch_add(1, Ordering::Relaxed);
        let faults = faults(&session);
        (!faults.is_empty()).then(|| format!("{}:\n{}", path.display(), faults.join("\n")))
    };
    let (first, second) = captures.split_at(captures.len() / 2);
    let faults: Vec<String> = thread::scope(|scope| {
        let other = scope.spawn(|| second.iter().filter_map(of_capture).collect::<Vec<_>>());
        let mut faults: Vec<String> = first.iter().filter_map(of_capture).collect();
        faults.extend(other.join().expect("no panic"));
        faults
    });
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    let (opened, least) = (opened.into_inner(), samples().len());
    assert!(opened >= least, "{opened} of {least} samples were opened");
}
