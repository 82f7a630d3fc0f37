//! The toolbar.

use super::prelude::*;
use egui::Grid;

use super::server_runs::ServerRuns;
use super::{icons, sessions};
use crate::command::ScaleChange;
use crate::keys::{action_of, menu_entry, shown_keys};
use crate::settings::ThemeChoice;
use crate::theme::{theme_in, theme_of};
use crate::workspace::Workspace;
use render::pictures::{PICTURES, PictureFormat};
use view::palette::Preset;
use view::state::{DerivedRows, MouseMode, TimelineLayer};

/// Name and path of a run that the server offers beside the open one.
type RunToOpen<'a> = (&'a str, PathBuf);

/// Width of the panel buttons.
const PANELS: f32 = 320.0;
/// In a narrower window, what opens files is one menu.
const ROOMY: f32 = 1060.0;

/// The toolbar: opening, navigation, panels.
pub fn toolbar_ui(
    ui: &mut Ui,
    open: Option<&Workspace>,
    settings: &Settings,
    sessions: &SessionStore,
    runs: &ServerRuns,
    out: &mut AppCommands,
) {
    let (state, trace) = open.map(|open| (&open.state, &open.trace)).unzip();
    // Beside the open run.
    let others = trace.map_or_else(Vec::new, |trace| runs.others(&trace.path));
    EguiPanel::top("toolbar").show(ui, |ui| {
        ui.add_space(2.0);
        ui.horizontal(|ui| {
            if state.is_some() && ui.available_width() < ROOMY {
                ui.menu_button("File", |ui| files_ui(ui, state, settings, &others, out));
            } else {
                files_ui(ui, state, settings, &others, out);
            }
            if let Some(open) = open {
                view_ui(ui, open, settings, out);
                keep_ui(ui, sessions, out);
            }
            let has_room = ui.available_width()
                >= PANELS + trace.map_or(0.0, |trace| width_of_title(ui, trace));
            at_right(ui, |ui| {
                if has_room || state.is_none() {
                    panels_ui(ui, state, settings, out);
                } else {
                    ui.menu_button("Panels", |ui| panels_ui(ui, state, settings, out));
                }
                if let Some(trace) = trace {
                    ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                        ui.separator();
                        title_ui(ui, trace);
                    });
                }
            });
        });
        ui.add_space(2.0);
    });
}

/// Buttons, or entries of a menu, that open files.
fn files_ui(
    ui: &mut Ui,
    state: Option<&ViewState>,
    settings: &Settings,
    others: &[RunToOpen<'_>],
    out: &mut AppCommands,
) {
    let open = ui.add(Button::new("Open…").shortcut_text(in_menu(ui, "open")));
    open.labeled(Role::Button, "Open…");
    open.hint("Open a profile", "open")
        .chooses(ui, out, AppCommand::OpenDialog);
    recent_ui(ui, settings, out);
    // Buttons beside those of an open trace would leave no room for its name; the palette has it, too.
    #[cfg(not(target_arch = "wasm32"))]
    if (state.is_none() || ui.layout().is_vertical()) && ui.button("Capture…").clicked() {
        out.push(AppCommand::CaptureDialog);
        ui.close();
    }
    if state.is_some() {
        compare_ui(ui, settings, others, out);
    }
}

/// The keys of an action, which menus show beside their entries.
fn in_menu(ui: &Ui, id: &str) -> String {
    if ui.layout().is_vertical() {
        shown_keys(ui.ctx(), id)
    } else {
        String::new()
    }
}

/// Buttons that show and hide panels, from the right.
fn panels_ui(ui: &mut Ui, state: Option<&ViewState>, settings: &Settings, out: &mut AppCommands) {
    let Some(state) = state else {
        theme_ui(ui, settings.theme, out);
        ui.button("Help")
            .hint("Keys and mouse", "help")
            .sends(out, ViewCommand::ShowPanel(Panel::Help, true));
        return;
    };
    for (label, panel, about, id) in [
        ("Help", Panel::Help, "Keys and mouse", "help"),
        ("Details", Panel::Details, "The selected slice", "details"),
        ("Notes", Panel::Notes, "Notes about times", "notes"),
        (
            "Commands",
            Panel::Palette,
            "Commands, reports, hints, tracks, ops, steps and times",
            "palette",
        ),
        ("Search", Panel::Search, "Find slices", "search"),
    ] {
        let button =
            ui.add(Button::selectable(state.shows(panel), label).shortcut_text(in_menu(ui, id)));
        button.labeled_choice(Role::Button, state.shows(panel), label);
        button
            .hint(about, id)
            .sends(out, ViewCommand::ShowPanel(panel, !state.shows(panel)));
    }
}

/// The badge of times that were not measured, and the name of the file.
fn title_ui(ui: &mut Ui, trace: &OpenTrace) {
    if let Some(badge) = trace.model.badge() {
        ui.label(
            RichText::new(badge)
                .strong()
                .color(ui.visuals().warn_fg_color),
        )
        .on_hover_text(trace.model.badge_in_words().unwrap_or_default());
    }
    let path = trace.path.display().to_string();
    let name = Label::new(RichText::new(trace.name()).strong()).truncate();
    ui.add(name.show_tooltip_when_elided(false))
        .on_hover_text(path);
}

/// Width of the title beside the buttons: the whole badge and the beginning of the name.
fn width_of_title(ui: &Ui, trace: &OpenTrace) -> f32 {
    const NAME: f32 = 80.0;
    let font = egui::TextStyle::Body.resolve(ui.style());
    let badge = trace.model.badge().unwrap_or_default();
    ui.painter()
        .layout_no_wrap(badge, font, Color32::PLACEHOLDER)
        .size()
        .x
        + NAME
}

/// The menu that opens a second file to compare with.
fn compare_ui(ui: &mut Ui, settings: &Settings, others: &[RunToOpen<'_>], out: &mut AppCommands) {
    let menu = ui.menu_button("Compare with…", |ui| {
        for (name, path) in others {
            ui.button(*name)
                .chooses(ui, out, AppCommand::Compare(path.clone()));
        }
        let choose = if others.is_empty() {
            "Choose a file…"
        } else {
            "Choose a run or a file…"
        };
        menu_entry(ui, choose, "compare").chooses(ui, out, AppCommand::CompareDialog);
        if !settings.recent.is_empty() {
            ui.separator();
        }
        for path in &settings.recent {
            ui.button(path.display().to_string()).chooses(
                ui,
                out,
                AppCommand::Compare(path.clone()),
            );
        }
    });
    menu.response
        .on_hover_text("Open a second profile beside this one");
}

fn recent_ui(ui: &mut Ui, settings: &Settings, out: &mut AppCommands) {
    if settings.recent.is_empty() {
        return;
    }
    ui.menu_button("Recent", |ui| {
        for path in &settings.recent {
            ui.button(path.display().to_string())
                .chooses(ui, out, AppCommand::Open(path.clone()));
        }
    });
}

/// Sessions and pictures.
fn keep_ui(ui: &mut Ui, sessions: &SessionStore, out: &mut AppCommands) {
    ui.menu_button("Save", |ui| {
        sessions::keep_ui(ui, sessions, out);
        sessions::sessions_ui(ui, sessions, out);
        ui.separator();
        for picture in PICTURES {
            ui.horizontal(|ui| {
                for (format, name) in [(PictureFormat::Svg, "SVG"), (PictureFormat::Png, "PNG")] {
                    ui.button(format!("{} as {name}…", picture.title)).chooses(
                        ui,
                        out,
                        AppCommand::SavePicture(picture, format),
                    );
                }
            });
        }
        menu_entry(ui, "Copy a link to this view", "copy-view").chooses(
            ui,
            out,
            AppCommand::CopyView,
        );
        menu_entry(ui, "Window as PNG…", "save-png").chooses(ui, out, AppCommand::SaveWindow);
    });
}

fn view_ui(ui: &mut Ui, open: &Workspace, settings: &Settings, out: &mut AppCommands) {
    let state = &open.state;
    ui.separator();
    ui.spacing_mut().item_spacing.x = 4.0;
    for (label, command, enabled, about, id) in [
        (
            "Back",
            ViewCommand::Undo,
            state.can_undo(),
            "Back to the previous view",
            "undo",
        ),
        (
            "Forward",
            ViewCommand::Redo,
            state.can_redo(),
            "Forward again",
            "redo",
        ),
    ] {
        let icon = icons::arrow(id == "redo");
        let button = icons::button(ui, (label, enabled, false), 13.0, icon);
        button.hint(about, id).sends(out, command);
    }
    let about = hint(
        ui.ctx(),
        "Show what the devices do; again: the whole trace",
        "fit",
    );
    ui.button("Fit")
        .on_hover_text(about)
        .sends(out, ViewCommand::Fit);
    ui.menu_button("View", |ui| {
        let room = (ui.ctx().content_rect().bottom() - ui.cursor().top() - 16.0).max(80.0);
        ScrollArea::vertical()
            .max_height(room)
            .min_scrolled_height(room)
            .show(ui, |ui| view_menu(ui, open, settings, out));
    });
    ui.spacing_mut().item_spacing.x = 1.0;
    for (mode, label) in MouseMode::ALL {
        let is_on = state.mouse == mode;
        let title = format!("Drag: {label}");
        icons::button(ui, (&title, true, is_on), 14.0, icons::mouse_mode(mode))
            .hint(mode.about(), mode.action())
            .sends(out, ViewCommand::Mouse(mode));
    }
    ui.spacing_mut().item_spacing.x = 8.0;
}

fn view_menu(ui: &mut Ui, open: &Workspace, settings: &Settings, out: &mut AppCommands) {
    let state = &open.state;
    for id in ["fold-all", "unfold-all", "hide-empty", "show-all"] {
        if action_button(ui, id).clicked() {
            out.extend(action_of(id).and_then(|action| Some(action.run?(state))));
            ui.close();
        }
    }
    ui.separator();
    ui.horizontal_wrapped(|ui| {
        ui.weak("Devices");
        for (order, label) in DeviceOrder::all(open.device_places()) {
            ui.radio(state.device_order == order, label)
                .sends(out, ViewCommand::OrderDevices(order));
        }
    });
    ui.separator();
    for (layer, label) in TimelineLayer::ALL {
        let mut draws = state.draws(layer);
        ui.horizontal(|ui| {
            if check_box(ui, &mut draws, label).changed() {
                out.push(ViewCommand::ShowLayer(layer, draws).into());
            }
            ui.weak(shown_keys(ui.ctx(), &label.to_lowercase()));
        });
    }
    ui.separator();
    for (rows, label) in DerivedRows::ALL {
        let mut is_on = state.derived.contains(&rows);
        if check_box(ui, &mut is_on, label).changed() {
            out.push(ViewCommand::ShowRows(rows, is_on).into());
        }
    }
    ui.separator();
    ui.weak(hint(ui.ctx(), "Times", "times"));
    ui.horizontal_wrapped(|ui| {
        for (format, label) in TimeFormat::ALL {
            let button = ui.radio(settings.times == format, label);
            button.labeled_choice(
                Role::RadioButton,
                settings.times == format,
                format_args!("Times: {label}"),
            );
            button.sends(out, AppCommand::Times(format));
        }
    });
    ui.separator();
    ui.horizontal(|ui| {
        ui.weak("Theme");
        for (choice, label) in [
            (ThemeChoice::Dark, "dark"),
            (ThemeChoice::Light, "light"),
            (ThemeChoice::System, "system default"),
        ] {
            ui.radio(settings.theme == choice, label)
                .sends(out, AppCommand::Theme(choice));
        }
    });
    ui.horizontal(|ui| {
        ui.weak("Size");
        for scale in [0.8, 1.0, 1.25, 1.5, 2.0] {
            let label = format!("{:.0}", Percent(f64::from(scale) * 100.0));
            let is_on = (settings.scale - scale).abs() < 0.01;
            let button = ui.radio(is_on, &label);
            button.labeled_choice(Role::RadioButton, is_on, format_args!("Size: {label}"));
            button.sends(out, AppCommand::Scale(ScaleChange::To(scale)));
        }
    });
    ui.menu_button("Colours", |ui| colors_ui(ui, state.colors, out));
    menu_entry(ui, "Change keys…", "keys").chooses(
        ui,
        out,
        ViewCommand::ShowPanel(Panel::Keys, true),
    );
}

/// The entry of an action in a menu, with its keys.
fn action_button(ui: &mut Ui, id: &str) -> Response {
    menu_entry(ui, action_of(id).map_or("", |action| action.title), id)
}

/// All colour presets with their category colours.
fn colors_ui(ui: &mut Ui, current: Preset, out: &mut AppCommands) {
    let dark = ui.visuals().dark_mode;
    Grid::new("colours")
        .num_columns(2)
        .spacing([14.0, 4.0])
        .show(ui, |ui| {
            for (preset, title) in Preset::all() {
                let is_on = preset == current;
                let button = ui.radio(is_on, title);
                button.labeled_choice(Role::RadioButton, is_on, format_args!("Colours: {title}"));
                button.sends(out, AppCommand::Colors(preset));
                let fills: Vec<Color32> = theme_in(dark, preset).work().collect();
                let (rect, _) =
                    ui.allocate_exact_size(vec2(16.0 * fills.len() as f32, 12.0), Sense::hover());
                for (i, fill) in fills.into_iter().enumerate() {
                    let corner = rect.left_top() + vec2(16.0 * i as f32, 0.0);
                    ui.painter().rect_filled(
                        Rect::from_min_size(corner, vec2(14.0, 12.0)),
                        2.0,
                        fill,
                    );
                }
                ui.end_row();
            }
        });
}

fn theme_ui(ui: &mut Ui, current: ThemeChoice, out: &mut AppCommands) {
    let dark = ui.visuals().dark_mode;
    let (label, choice) = if dark {
        ("Light", ThemeChoice::Light)
    } else {
        ("Dark", ThemeChoice::Dark)
    };
    let text = RichText::new(label).color(theme_of(dark).text_weak);
    let response = ui.add(Button::new(text).frame(false));
    response.labeled(Role::Button, format_args!("{label} theme"));
    if response
        .on_hover_text(format!("Use the {} theme", label.to_lowercase()))
        .clicked()
        && current != choice
    {
        out.push(AppCommand::Theme(choice));
    }
}
