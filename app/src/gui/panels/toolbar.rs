//! The bar at the top.

use egui::{Align, Button, Layout, Panel as EguiPanel, RichText, Ui};

use crate::gui::settings::{Settings, ThemeChoice};
use crate::gui::state::{Panel, ViewCommand, ViewState};
use crate::gui::trace::OpenTrace;
use crate::gui::{Command, theme::Theme};

/// Opening, where one is, and what is shown.
pub fn toolbar_ui(
    ui: &mut Ui,
    state: Option<&ViewState>,
    settings: &Settings,
    trace: Option<&OpenTrace>,
    out: &mut Vec<Command>,
) {
    EguiPanel::top("toolbar").show(ui, |ui| {
        ui.add_space(2.0);
        ui.horizontal(|ui| {
            if ui.button("Open…").on_hover_text("Open a profile (Ctrl+O)").clicked() {
                out.push(Command::OpenDialog);
            }
            recent_ui(ui, settings, out);
            if let Some(state) = state {
                view_ui(ui, state, out);
            }
            if let Some(trace) = trace {
                ui.separator();
                let path = trace.path.display().to_string();
                ui.add(egui::Label::new(RichText::new(trace.name()).strong()).truncate()).on_hover_text(path);
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                theme_ui(ui, settings.theme, out);
                if let Some(state) = state {
                    for (label, panel, hint) in [
                        ("Help", Panel::Help, "Keys and mouse (?)"),
                        ("Details", Panel::Details, "The selected slice (Q)"),
                        ("Overview", Panel::Overview, "Headline numbers and tables (Ctrl+B)"),
                        ("Search", Panel::Search, "Find slices (/)"),
                    ] {
                        if ui.selectable_label(state.shows(panel), label).on_hover_text(hint).clicked() {
                            out.push(ViewCommand::ShowPanel(panel, !state.shows(panel)).into());
                        }
                    }
                }
            });
        });
        ui.add_space(2.0);
    });
}

fn recent_ui(ui: &mut Ui, settings: &Settings, out: &mut Vec<Command>) {
    if settings.recent.is_empty() {
        return;
    }
    ui.menu_button("Recent", |ui| {
        for path in &settings.recent {
            if ui.button(path.display().to_string()).clicked() {
                out.push(Command::Open(path.clone()));
                ui.close();
            }
        }
    });
}

fn view_ui(ui: &mut Ui, state: &ViewState, out: &mut Vec<Command>) {
    ui.separator();
    for (label, command, enabled, hint) in [
        ("Back", ViewCommand::Undo, state.can_undo(), "To where the view was (Alt+Left, Backspace)"),
        ("Forth", ViewCommand::Redo, state.can_redo(), "Alt+Right"),
        ("Fit", ViewCommand::Fit, true, "Show the whole trace (0)"),
        ("Fold all", ViewCommand::FoldAll(true), true, "Show only the top lane of every track"),
        ("Unfold all", ViewCommand::FoldAll(false), true, "Show every lane of every track"),
    ] {
        if ui.add_enabled(enabled, Button::new(label)).on_hover_text(hint).clicked() {
            out.push(command.into());
        }
    }
}

fn theme_ui(ui: &mut Ui, current: ThemeChoice, out: &mut Vec<Command>) {
    let dark = ui.visuals().dark_mode;
    let (label, choice) = if dark { ("Light", ThemeChoice::Light) } else { ("Dark", ThemeChoice::Dark) };
    let text = RichText::new(label).color(Theme::of(dark).text_weak);
    let response = ui.add(Button::new(text).frame(false));
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("{label} theme")));
    if response.on_hover_text(format!("Use the {} theme", label.to_lowercase())).clicked() && current != choice {
        out.push(Command::Theme(choice));
    }
}
