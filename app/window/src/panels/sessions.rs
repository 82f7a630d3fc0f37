//! Saving and opening sessions.

use super::prelude::*;

/// Saves the view as a session.
pub fn keep_ui(ui: &mut Ui, sessions: &SessionStore, out: &mut AppCommands) {
    let id = Id::unique("session name");
    let mut name: String = kept(ui, id).unwrap_or_default();
    let mut done = false;
    ui.horizontal(|ui| {
        let usual = sessions.open_name().unwrap_or("name of the session");
        text_field(ui, &mut name, "Session name", usual, 180.0);
        if ui
            .button("Save session")
            .hint("The view, pinned tracks and notes", "save-session")
            .clicked()
        {
            out.push(AppCommand::SaveSession(name.clone()));
            done = true;
        }
        if let Some(open) = sessions.open_name() {
            let rename = ui.add_enabled(!name.trim().is_empty(), Button::new("Rename"));
            if rename
                .on_hover_text(format!("Rename “{open}” to this"))
                .clicked()
            {
                out.push(AppCommand::RenameSession(open.to_owned(), name.clone()));
                done = true;
            }
        }
    });
    if done {
        name.clear();
        ui.close();
    }
    keep(ui, id, name);
}

/// The list of sessions, to open or delete.
pub fn sessions_ui(ui: &mut Ui, sessions: &SessionStore, out: &mut AppCommands) {
    for name in sessions.names() {
        ui.horizontal(|ui| {
            let is_open = sessions.open_name() == Some(name);
            let open = ui.selectable_label(is_open, name);
            open.labeled(Role::Button, format_args!("Open session {name}"));
            open.on_hover_text("Open this session").chooses(
                ui,
                out,
                AppCommand::OpenSession(name.clone()),
            );
            let delete = ui.menu_button("×", |ui| {
                ui.button(format!("Delete “{name}” permanently")).chooses(
                    ui,
                    out,
                    AppCommand::DeleteSession(name.clone()),
                );
            });
            delete
                .response
                .labeled(Role::Button, format_args!("Delete session {name}"));
        });
    }
}
