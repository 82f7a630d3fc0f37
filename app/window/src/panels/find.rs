//! What the command palette finds besides commands: steps, times, reports, hints, tracks and ops.

use analysis::ANALYSES;
use trace_model::StringId;

use super::prelude::*;
use super::tabs::hints::{self as hints_tab, can_show, evidence_commands};
use super::tabs::tab_of_report;
use view::time_format;

/// Most entries of one kind.
const MOST: usize = 8;

#[derive(Clone, Debug)]
pub struct PaletteEntry {
    /// What it is called.
    pub title: String,
    /// The keys of a command, or what kind of thing it is.
    pub note: String,
    /// What choosing it does.
    pub commands: AppCommands,
}

impl PaletteEntry {
    fn new<C: Into<AppCommand>>(
        title: String,
        note: String,
        commands: impl IntoIterator<Item = C>,
    ) -> Self {
        Self {
            title,
            note,
            commands: commands.into_iter().map(Into::into).collect(),
        }
    }
}

/// Whether a text has all words, in any case.
pub fn fits(text: &str, words: &[String]) -> bool {
    let text = text.to_lowercase();
    words.iter().all(|word| text.contains(word.as_str()))
}

/// Whether words of a text begin with all words, in any case.
pub fn begins(text: &str, words: &[String]) -> bool {
    let text = text.to_lowercase();
    let own_words = text.split(|c: char| !c.is_alphanumeric() && c != '-');
    words
        .iter()
        .all(|word| own_words.clone().any(|own| own.starts_with(word.as_str())))
}

/// Everything in a trace that matches a text; nothing for an empty text.
pub fn find(text: &str, trace: &OpenTrace, steps: &[StepBand]) -> Vec<PaletteEntry> {
    let words: Vec<String> = text
        .to_lowercase()
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    if words.is_empty() {
        return Vec::new();
    }
    let mut entries = Vec::new();
    entries.extend(place_in_time(text, trace));
    entries.extend(steps_named(&words, steps));
    entries.extend(reports(&words));
    entries.extend(tracks(&words, trace));
    entries.extend(names(&words, trace));
    entries
}

/// The place of a time as on the ruler.
fn place_in_time(text: &str, trace: &OpenTrace) -> Option<PaletteEntry> {
    let wanted = time_format::read(text.trim())?;
    let instant = Timestamp::ZERO + wanted;
    let extent = trace.model.extent();
    let is_inside = extent.start <= instant && instant <= extent.end;
    is_inside.then(|| {
        PaletteEntry::new(
            format!("Go to {}", time(wanted)),
            "time on the ruler".to_owned(),
            [ViewCommand::Center(instant)],
        )
    })
}

/// Steps by their number: `step 40`, `40`.
fn steps_named(words: &[String], steps: &[StepBand]) -> Vec<PaletteEntry> {
    let number = words.iter().find(|word| word.as_str() != "step");
    let is_wanted = |step: &&StepBand| match number {
        Some(number) => step.short_name() == number.as_str(),
        None => true,
    };
    let is_asked =
        words.len() <= 2 && (words.len() == 1 || words.iter().any(|word| word == "step"));
    let entry = |step: &StepBand| {
        let commands = [
            ViewCommand::Show(step.range),
            ViewCommand::Scope(ReportScope::step(step.number)),
        ];
        PaletteEntry::new(step.name(), format!("step, {}", time(step.time)), commands)
    };
    steps
        .iter()
        .filter(|_| is_asked)
        .filter(is_wanted)
        .take(MOST)
        .map(entry)
        .collect()
}

/// Reports by their titles.
fn reports(words: &[String]) -> Vec<PaletteEntry> {
    let entries = ANALYSES
        .iter()
        .filter(|entry| fits(entry.title, words))
        .take(MOST);
    let entry = |entry: &analysis::AnalysisEntry| {
        let tab = tab_of_report(entry.id);
        PaletteEntry::new(
            entry.title.to_owned(),
            format!("report in {}", tab.title),
            [AppCommand::ShowReport(entry.id)],
        )
    };
    entries.map(entry).collect()
}

/// The evidence of hints on the timeline by their titles; the hints themselves where there is none.
pub fn hints(words: &[String], trace: &OpenTrace, hints: &[Hint]) -> Vec<PaletteEntry> {
    let entry = |hint: &Hint| {
        let (what, commands) = if can_show(hint) {
            ("Show evidence", evidence_commands(trace, hint))
        } else {
            ("Hint", vec![hints_tab::TAB.show()])
        };
        let title = format!("{what}: {}", hint.title);
        PaletteEntry::new(title, format!("hint {}", hint.id), commands)
    };
    let is_wanted = |entry: &PaletteEntry| fits(&format!("{} {}", entry.title, entry.note), words);
    let any = hints.iter().filter(|_| !words.is_empty());
    any.map(entry).filter(is_wanted).take(MOST).collect()
}

/// Tracks by their names and those of their groups.
fn tracks(words: &[String], trace: &OpenTrace) -> Vec<PaletteEntry> {
    let entries = trace
        .tree
        .nodes()
        .iter()
        .enumerate()
        .filter_map(|(node_id, node)| {
            let TreeItem::Track(track) = node.item else {
                return None;
            };
            let group = trace
                .tree
                .group_of(node_id)
                .map_or("", |group| trace.tree.node(group).title.as_str());
            let is_wanted = fits(&format!("{group} {}", node.title), words);
            is_wanted.then(|| {
                let note = format!("track of {group}, {}", node.note);
                PaletteEntry::new(node.title.clone(), note, [ViewCommand::RevealTrack(track)])
            })
        });
    entries.take(MOST).collect()
}

/// Ops and functions of the host by their names: those with ops first.
fn names(words: &[String], trace: &OpenTrace) -> Vec<PaletteEntry> {
    let model = &trace.model;
    let mut seen: BTreeSet<StringId> = BTreeSet::new();
    let mut entries = Vec::new();
    for is_op in [true, false] {
        for label in model
            .labels()
            .iter()
            .filter(|label| label.op.is_some() == is_op)
        {
            let name = model.str(label.name);
            if entries.len() >= MOST || !fits(name, words) || !seen.insert(label.name) {
                continue;
            }
            let labels = trace.labels_named(name);
            let note = label.op.map_or("function", |op| trace.classes.category(op));
            let longest = trace.longest(labels).map(ViewCommand::GoTo);
            let highlight = ViewCommand::highlight(name, labels.iter().copied());
            let commands = std::iter::once(highlight).chain(longest);
            entries.push(PaletteEntry::new(
                name.to_owned(),
                note.to_owned(),
                commands,
            ));
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use analysis::hints::Hints;
    use analysis::{Options, Scope};
    use importers::{ImportOptions, Progress};
    use session::Session;

    use super::*;

    #[test]
    fn evidence_of_hints_is_found_by_their_titles() {
        let sample = "/../../assets/samples/synthetic_v5e_8chip_straggler.xplane.pb";
        let path = format!("{}{sample}", env!("CARGO_MANIFEST_DIR"));
        let session = Session::open(
            path.as_ref(),
            &ImportOptions::default(),
            Options::default(),
            &Progress::new(),
        );
        let session = session.unwrap();
        let report = session.report::<Hints>(Scope::WholeTrace).unwrap();
        let trace = OpenTrace::new("trace".into(), session);
        let hint = report.hints.iter().find(|hint| can_show(hint)).unwrap();
        let words = |text: &str| text.to_lowercase().split(' ').map(str::to_owned).collect();
        let of = |words: Vec<String>| hints(&words, &trace, &report.hints);
        let found = of(words(&format!("evidence {}", hint.title)));
        assert_eq!(found[0].title, format!("Show evidence: {}", hint.title));
        assert!(!found[0].commands.is_empty());
        assert!(of(words("no such hint")).is_empty() && of(Vec::new()).is_empty());
    }
}
