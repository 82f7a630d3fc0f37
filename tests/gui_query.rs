//! SQL in the window.

use super::*;

fn click(window: &mut Harness<'static, App>, label: &str) {
    window.get_by_label(label).click();
    settle(window);
}

fn write(window: &mut Harness<'static, App>, sql: &str) {
    window.get_by_label("SQL").focus();
    window.step();
    press(window, Modifiers::COMMAND, Key::A);
    window.event(Event::Text(sql.to_owned()));
    settle(window);
}

fn query_tab() -> Harness<'static, App> {
    let mut window = opened();
    want(&mut window, ViewCommand::ShowTab("query".to_owned()));
    window
}

#[test]
fn ready_made_query_rows_lead_to_ops() {
    let mut window = query_tab();
    click(&mut window, "Run");
    window.get_by_label("Sort by name");
    click(&mut window, "Row fusion.1");
    assert_eq!(selected(&window).as_deref(), Some("fusion.1"));
    click(&mut window, "Ready-made queries");
    window.get_by_label_contains("longest: ").click();
    settle(&mut window);
    window.get_by_label("Sort by slice_id");
}

#[test]
fn query_row_leads_to_its_slice() {
    let mut window = query_tab();
    write(
        &mut window,
        "SELECT slice_id, name FROM slices WHERE name = 'B'",
    );
    press(&mut window, Modifiers::COMMAND, Key::Enter);
    window.get_by_label("1 row");
    let row = window
        .state()
        .trace()
        .and_then(|trace| trace.model.all_slices().find(|slice| slice.name() == "B"));
    let row = row.expect("it is in the picture").id().index();
    click(&mut window, &format!("Row {row}"));
    assert_eq!(selected(&window).as_deref(), Some("B"));
}

#[test]
fn query_error_names_the_word_and_limit_is_reported() {
    let mut window = query_tab();
    write(&mut window, "SELECT naem FROM slices");
    click(&mut window, "Run");
    window.get_by_label_contains("o such column: naem");
    window.get_by_label("at “naem” in line 1");
    window.get_by_label_contains("columns of slices: slice_id");
    write(
        &mut window,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000) SELECT i FROM n",
    );
    click(&mut window, "Run");
    window.get_by_label("Only the first 1,000 rows: there are more.");
    write(&mut window, "DELETE FROM slices");
    click(&mut window, "Run");
    window.get_by_label_contains("able slices may not be modified");
}

#[test]
fn endless_query_can_be_stopped() {
    let mut window = query_tab();
    write(
        &mut window,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    );
    window.get_by_label("Run").click();
    window.run_steps(3);
    window.get_by_label("Stop").click();
    settle(&mut window);
    window.get_by_label_contains("he query was stopped");
}

#[test]
fn pivot_menu_writes_and_runs_a_query() {
    let mut window = query_tab();
    click(&mut window, "Pivot");
    click(&mut window, "by category");
    click(&mut window, "then by device");
    window.get_by_label("Sort by category");
    window.get_by_label("Sort by device");
    window.get_by_label("Sort by self_ms");
}
