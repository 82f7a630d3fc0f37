//! The source of ops: the text of a file with the self time of each line beside it, and the stack of the selected op.

use super::prelude::*;
use analysis::counted;

use crate::panels::timed_lines::{TimedLine, timed_lines_ui};
use crate::panels::widgets::sentence_ui;
use view::panels::source::{
    FileTimes, SourcePlace, SourcePrefix, SourceText, files, is_library, locate, own_frame, read,
    stack_of, without_file,
};

pub const TAB: Tab = Tab {
    id: "source",
    title: "Source",
    also: &[Ops::ID],
    icon: "line 0.05 0.15 0.7 0.15; line 0.25 0.38 0.95 0.38; line 0.25 0.61 0.75 0.61; line 0.05 0.84 0.55 0.84",
    why_empty: |_, session, _| {
        let is_recorded = session.model().ops().iter().any(|op| op.source.is_some())
            || session
                .report::<Ops>(Scope::WholeTrace)
                .is_ok_and(|ops| ops.rows.iter().any(|row| row.source.is_some()));
        let reason = "the capture records no source of any op";
        Ok((!is_recorded).then(|| reason.to_owned()))
    },
    panel: |wake| Box::new(SourcePanel::new(wake)),
    ..TABLES
};

/// A file to look for.
#[derive(Clone, Debug, PartialEq)]
struct WantedFile {
    file: String,
    prefixes: Vec<SourcePrefix>,
    folder: PathBuf,
}

/// State between frames.
struct SourcePanel {
    /// The file and line that are shown.
    place: Option<(String, u32)>,
    /// The selection that was followed last.
    followed: Option<SliceId>,
    /// Whether the line must be scrolled into view.
    scrolls: bool,
    files: Option<Arc<[FileTimes]>>,
    stack: Worker<OpId, Vec<SourcePlace>>,
    text: Worker<WantedFile, Option<SourceText>>,
}

impl SourcePanel {
    /// Nothing is shown yet.
    fn new(wake: &WakeUi) -> Self {
        Self {
            place: None,
            followed: None,
            scrolls: false,
            files: None,
            stack: Worker::new("stack", wake),
            text: Worker::new("source", wake),
        }
    }

    /// Asks for the stack of the selected op when the selection changes, and for the text of the shown file.
    fn ask(&mut self, context: PanelContext<'_>) {
        if let Some(slice) = context.state.place.selection
            && self.followed.replace(slice) != Some(slice)
            && let Some(op) = context.selected_op()
        {
            let session = context.trace.session.clone();
            self.stack.ask(op, move |_| Ok(stack_of(&session, op)));
        }
        if let Some((file, _)) = &self.place {
            let folder = context
                .trace
                .path
                .parent()
                .unwrap_or(Path::new(""))
                .to_owned();
            let wanted = WantedFile {
                file: file.clone(),
                prefixes: context.prefixes.to_vec(),
                folder,
            };
            self.text.ask(wanted.clone(), move |_| {
                locate(&wanted.file, &wanted.prefixes, &wanted.folder)
                    .map(read)
                    .transpose()
            });
        }
    }
}

impl TabPanel for SourcePanel {
    fn poll(&mut self, _is_open: bool) {
        self.scrolls |= self.text.poll();
        if self.stack.poll()
            && let Some(first) = self.stack.latest().and_then(|stack| own_frame(stack))
        {
            (self.place, self.scrolls) = (Some((first.file.clone(), first.line)), true);
        }
    }

    fn is_settled(&self) -> bool {
        !self.stack.is_running() && !self.text.is_running()
    }

    fn forget_made(&mut self) {
        self.files = None;
    }

    fn ui(&mut self, ui: &mut Ui, tab: TabContent<'_>) {
        let TabContent {
            context, out, view, ..
        } = tab;
        let Some(report) = context.report_ui::<Ops>(ui) else {
            return;
        };
        let all = Arc::clone(self.files.get_or_insert_with(|| files(&report.rows).into()));
        if all.is_empty() {
            return drop(ui.label("No op records its source."));
        }
        if self.place.is_none() {
            let of_user = all.iter().find(|file| !is_library(&file.file));
            let first = of_user.or(all.first());
            self.place = first.map(|file| (file.file.clone(), file.hottest()));
        }
        self.ask(context);
        stack_ui(ui, context, self);
        let shares = OpTimes {
            sums: report.sums_over.text(),
            all: report.op_time_ps,
        };
        head_ui(ui, self, (&all, &shares), out);
        let sums = &shares.sums;
        ui.label(remark(format!("Times: self time of ops, sums over {sums}")));
        let unknown = without_file(&report.rows, &all);
        if unknown > Picos::ZERO {
            let part = shares.text(unknown);
            sentence_ui(ui, &format!("No source line recorded: {part}"), |text| text);
        }
        let Some((file, line)) = self.place.clone() else {
            return;
        };
        let empty = FileTimes::default();
        let times = all
            .iter()
            .find(|listed| listed.file == file)
            .unwrap_or(&empty);
        match self.text.memo() {
            JobAnswer::Failed { error, .. } => drop(ui.label(format!("The file {error}"))),
            JobAnswer::Ready(text) => {
                if text.is_none() {
                    missing_ui(ui, &file, !times.lines.is_empty(), out);
                }
                let scrolls = std::mem::take(&mut self.scrolls);
                if let Some(clicked) = lines_ui(ui, (text.as_ref(), times), &shares, line, scrolls)
                {
                    self.place = Some((file, clicked));
                    if let Some(line) = times.lines.get(&clicked) {
                        let labels = context.trace.labels_of(&line.ops);
                        let title = SourcePlace {
                            file: times.file.clone(),
                            line: clicked,
                            function: String::new(),
                        }
                        .short();
                        view.extend(
                            RowTarget::Slices(HighlightedLabels::new(title, labels))
                                .commands(context.trace),
                        );
                    }
                    // The line stays when another op of it is selected.
                    self.followed = None;
                }
            }
            _ => computing_ui(ui),
        }
    }
}

/// What times of lines are parts of.
struct OpTimes {
    /// What they are sums over.
    sums: String,
    /// The self time of all ops.
    all: Picos,
}

impl OpTimes {
    /// `304.0 s, 96.52 % of op time`
    fn text(&self, part: Picos) -> String {
        let share = Percent::of(part, self.all);
        let share = share.map(|share| format!("{} of op time", number(share.0, Unit::Percent)));
        joined([Some(time(part)), share].into_iter().flatten(), ", ")
    }
}

/// The stack of the selected op; a click shows the line of a frame.
fn stack_ui(ui: &mut Ui, context: PanelContext<'_>, panel: &mut SourcePanel) {
    let Some(op) = context.selected_op() else {
        return;
    };
    let Some(stack) = panel
        .stack
        .latest()
        .filter(|_| panel.stack.key() == Some(&op))
    else {
        return;
    };
    let name = context.trace.model.str(context.trace.model.op(op).name);
    let mut next = None;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        ui.strong(name);
        if stack.is_empty() {
            ui.weak("records no source");
        }
        for (index, frame) in stack.iter().enumerate() {
            if index > 0 {
                ui.weak("‹");
            }
            let is_shown = panel
                .place
                .as_ref()
                .is_some_and(|(file, line)| (file, line) == (&frame.file, &frame.line));
            let text = RichText::new(frame.short());
            let link = ui.link(if is_shown { text.strong() } else { text });
            let function = if frame.function.is_empty() {
                String::new()
            } else {
                format!("\nin {}", frame.function)
            };
            if link
                .on_hover_text(format!("{}:{}{function}", frame.file, frame.line))
                .clicked()
            {
                next = Some((frame.file.clone(), frame.line));
            }
        }
    });
    if next.is_some() {
        (panel.place, panel.scrolls) = (next, true);
    }
}

/// The choice of the file, and the button that opens it in an editor.
fn head_ui(
    ui: &mut Ui,
    panel: &mut SourcePanel,
    (all, shares): (&[FileTimes], &OpTimes),
    out: &mut AppCommands,
) {
    let Some((file, line)) = panel.place.clone() else {
        return;
    };
    let short = |file: &str| file.rsplit(['/', '\\']).next().unwrap_or(file).to_owned();
    ui.horizontal_wrapped(|ui| {
        let list = ComboBox::from_id_salt("source file")
            .width(220.0)
            .height(420.0)
            .selected_text(short(&file))
            .show_ui(ui, |ui| {
                for listed in all {
                    let times = shares.text(listed.self_time_ps);
                    let text = format!("{}  {times}", short(&listed.file));
                    if ui
                        .selectable_label(listed.file == file, text)
                        .on_hover_text(&listed.file)
                        .clicked()
                    {
                        (panel.place, panel.scrolls) =
                            (Some((listed.file.clone(), listed.hottest())), true);
                    }
                }
            });
        list.response
            .labeled(Role::ComboBox, format_args!("Source file: {file}"));
        list.response.on_hover_text(&file);
        if let Some(own) = all.iter().find(|own| own.file == file) {
            ui.label(remark(shares.text(own.self_time_ps)));
        }
        if let Some(text) = panel.text.latest().and_then(Option::as_ref) {
            let button = ui
                .button("Open in editor")
                .on_hover_text("With $VISUAL, $EDITOR or Visual Studio Code");
            if button.clicked() {
                out.push(AppCommand::Edit {
                    path: text.path.clone(),
                    line,
                });
            }
        }
    });
}

fn missing_ui(ui: &mut Ui, file: &str, has_ops: bool, out: &mut AppCommands) {
    let rest = if has_ops {
        "; the lines with ops:"
    } else {
        ", and no op is on a line of it."
    };
    ui.small(format!("{file} is not on this machine{rest}"));
    if platform::IN_BROWSER {
        return;
    }
    ui.button("Find it…")
        .on_hover_text("Choose the folder where it lies now")
        .sends(out, AppCommand::FindSource(file.to_owned()));
    // Beside the button, a folder that is longer than the line would widen the panel to the left.
    remark_ui(ui, &format!("next time: `{}`", prefix_option(file)));
}

/// The option that tells where a file is; a file that is recorded without its folder has an empty beginning.
fn prefix_option(file: &str) -> String {
    let folder = file
        .rsplit_once(['/', '\\'])
        .map_or("", |(folder, _)| folder);
    format!("systole open --src-prefix {folder}=FOLDER")
}

/// The lines with their times; without a text only those with ops. Returns the line that was clicked.
fn lines_ui(
    ui: &mut Ui,
    (text, times): (Option<&SourceText>, &FileTimes),
    shares: &OpTimes,
    line: u32,
    scrolls: bool,
) -> Option<u32> {
    let numbers: Vec<u32> = match text {
        Some(text) => (1..=u32::try_from(text.lines.len()).unwrap_or(u32::MAX)).collect(),
        None => times.lines.keys().copied().collect(),
    };
    let longest = times
        .lines
        .values()
        .map(|line| line.self_time_ps)
        .max()
        .unwrap_or_default()
        .max(Picos::from_ps(1));
    let of_text = |text: &SourceText| text.lines.iter().map(String::len).max();
    let letters = text.and_then(of_text).unwrap_or(0);
    let place = || numbers.iter().position(|&number| number == line);
    let scrolls_to = scrolls.then(place).flatten();
    let size = (numbers.len(), letters);
    let clicked = timed_lines_ui(ui, "source", size, scrolls_to, |index| {
        let number = numbers.get(index).copied().unwrap_or_default();
        let code = text.and_then(|text| text.lines.get((number as usize).checked_sub(1)?));
        let shown = TimedLine {
            text: code.map_or("", String::as_str),
            number: Some(number),
            is_shown: number == line,
            ..TimedLine::default()
        };
        let Some(line_times) = times.lines.get(&number) else {
            return shown;
        };
        let (length, ops) = (
            time(line_times.self_time_ps),
            counted(line_times.ops.len(), "op"),
        );
        let part = Percent::of(line_times.self_time_ps, shares.all);
        let (all, sums) = (shares.text(line_times.self_time_ps), &shares.sums);
        TimedLine {
            time: Some((
                line_times.self_time_ps,
                line_times.self_time_ps.ps() as f32 / longest.ps() as f32,
            )),
            share: part.map(|part| format!("{part:.1}")),
            label: Some(format!("Line {number}, self {length}")),
            about: format!("self {all} in {ops}, sum over {sums}"),
            ..shown
        }
    });
    clicked.and_then(|index| numbers.get(index).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advised_prefix_finds_the_file() {
        assert_eq!(
            prefix_option("/home/runner/train.py"),
            "systole open --src-prefix /home/runner=FOLDER"
        );
        assert_eq!(
            prefix_option("train.py"),
            "systole open --src-prefix =FOLDER"
        );
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("train.py"), "import jax").unwrap();
        let prefix: SourcePrefix = format!("={}", folder.path().display()).parse().unwrap();
        assert!(locate("train.py", &[prefix], Path::new("/no such folder")).is_some());
    }
}
