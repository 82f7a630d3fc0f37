//! `systole query`: the tables of a trace in SQL, and what their rows hold.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;

use serde_json::Value;

use crate::outputs::{printed, recompile, refused, run, sample, text};
use crate::place::Place;

/// The rows of a result.
pub(crate) fn rows(path: &str, sql: &str) -> Vec<Vec<Value>> {
    let answer: Value = serde_json::from_str(&printed(&[
        "query", path, sql, "--format", "json", "--limit", "0",
    ]))
    .unwrap();
    assert_eq!(answer["truncated"], false);
    serde_json::from_value(answer["rows"].clone()).unwrap()
}

pub(super) fn number(path: &str, sql: &str) -> i64 {
    let rows = rows(path, sql);
    rows[0][0]
        .as_i64()
        .unwrap_or_else(|| panic!("{sql}: {rows:?}"))
}

#[test]
fn sums_over_slices_match_reports() {
    let path = &recompile();
    let by_slices = "SELECT name, count(*), sum(self_ps) FROM slices WHERE track_kind = 'ops' GROUP BY name ORDER BY name";
    let by_report = "SELECT name, sum(occurrences), sum(self_time_ps) FROM ops WHERE occurrences > 0 GROUP BY name ORDER BY name";
    let found = rows(path, by_slices);
    assert!(found.len() > 5, "{found:?}");
    assert_eq!(found, rows(path, by_report));
    assert_eq!(
        number(path, "SELECT count(*) FROM slices"),
        number(path, "SELECT sum(slices) FROM tracks")
    );
}

#[test]
fn pushed_down_filters_and_orders_keep_results() {
    let path = &recompile();
    let middle = number(
        path,
        "SELECT start_ps FROM slices ORDER BY +start_ps LIMIT 1 OFFSET 300",
    );
    let track = number(
        path,
        "SELECT track_id FROM tracks ORDER BY slices DESC LIMIT 1",
    );
    // The unary plus prevents SQLite from pushing the term down to the table.
    for term in [
        format!("start_ps >= {middle}"),
        format!("start_ps < {middle} AND track_id = {track}"),
        format!("slice_id BETWEEN 10 AND 20 AND start_ps > {middle} - 1000000000"),
        "slice_id = 17".to_owned(),
        "slice_id = -1".to_owned(),
        "slice_id > 9223372036854775806".to_owned(),
        "start_ps > 1.5 AND start_ps < 'text'".to_owned(),
        "name = 'fusion.1' AND category = 'Matmul'".to_owned(),
        "name = 'no such name'".to_owned(),
        "name = 'FUSION.1' COLLATE NOCASE".to_owned(),
        "device IS NULL AND depth > 0".to_owned(),
        "flops >= 1".to_owned(),
        "step = 2".to_owned(),
    ] {
        let mut plain = term.clone();
        for column in [
            "slice_id", "track_id", "start_ps", "name", "category", "depth", "flops", "step",
        ] {
            plain = plain.replace(column, &format!("+{column}"));
        }
        let of = |term: &str| {
            rows(
                path,
                &format!("SELECT slice_id FROM slices WHERE {term} ORDER BY +slice_id"),
            )
        };
        assert_eq!(of(&term), of(&plain), "{term}");
    }
    for (columns, direction) in [
        ("name", ""),
        ("name", "DESC"),
        ("device, category", ""),
        ("category", ""),
    ] {
        let pushed =
            format!("SELECT {columns}, count(*), sum(dur_ps) FROM slices GROUP BY {columns}");
        let plain = columns
            .split(", ")
            .map(|column| format!("+{column}"))
            .collect::<Vec<_>>()
            .join(", ");
        let plain = format!("SELECT {columns}, count(*), sum(dur_ps) FROM slices GROUP BY {plain}");
        let mut answers = [rows(path, &pushed), rows(path, &plain)];
        for rows in &mut answers {
            rows.sort_by_key(|row| format!("{row:?}"));
        }
        assert_eq!(answers[0], answers[1], "{columns}");
        let order = |columns: &str| {
            rows(
                path,
                &format!(
                    "SELECT {columns} FROM slices ORDER BY {} {direction}",
                    columns.replace('+', "")
                ),
            )
        };
        let unsorted = format!("SELECT {columns} FROM slices ORDER BY +{columns} {direction}");
        if !columns.contains(',') {
            assert_eq!(
                order(columns),
                rows(path, &unsorted),
                "{columns} {direction}"
            );
        }
    }
}

#[test]
fn comparisons_with_null_match_nothing() {
    let path = &recompile();
    let join = |condition: &str| {
        format!(
            "SELECT count(*) FROM slices a JOIN slices b ON b.parent_id = a.slice_id {condition}"
        )
    };
    let children = number(path, "SELECT count(parent_id) FROM slices");
    assert!(children > 0);
    // Without an index, each row without a parent would read all rows: 800 thousand squared in a capture of a host.
    assert_eq!(number(path, &join("")), children);
    assert_eq!(
        number(path, &join("WHERE b.parent_id IS NOT NULL")),
        children
    );
    // All rows, those without children, too: each asks for its own.
    let outer = "slices a LEFT JOIN slices b ON b.parent_id = a.slice_id";
    let with = |condition: &str| {
        number(
            path,
            &format!("SELECT count(*) FROM {outer} WHERE {condition}"),
        )
    };
    assert_eq!(with("b.slice_id IS NOT NULL"), children);
    let parents = number(path, "SELECT count(DISTINCT parent_id) FROM slices");
    let all = number(path, "SELECT count(*) FROM slices");
    assert_eq!(with("b.slice_id IS NULL"), all - parents);
    for condition in ["slice_id = NULL", "name = NULL", "start_ps > NULL"] {
        let sql = format!("SELECT count(*) FROM slices WHERE {condition}");
        assert_eq!(number(path, &sql), 0, "{condition}");
    }
}

#[test]
fn columns_of_one_table_are_listed() {
    let path = &recompile();
    for (table, column) in [
        ("ops", "  self_time_ps  "),
        (
            "op_slices",
            "  self_ps         integer  picoseconds  length without that of the ops inside",
        ),
    ] {
        let listed = printed(&["query", path, "--list", table]);
        assert!(
            listed.starts_with(&format!("{table} (")) && listed.contains(column),
            "{listed}"
        );
        let json = printed(&["query", path, table, "--list", "--format", "json"]);
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["name"], table);
        assert!(
            json["columns"]
                .as_array()
                .unwrap()
                .iter()
                .all(|column| column["about"].is_string())
        );
    }
    let said = refused(&["query", path, "--list", "opps"]);
    assert!(
        said.contains("no table \"opps\": slices") && said.contains("op_slices"),
        "{said}"
    );
}

#[test]
fn texts_are_whole_without_a_terminal() {
    let sql = "SELECT printf('%.*c', 300, 'x') AS long, 1 AS one UNION ALL SELECT 'y', 2";
    let all = printed(&["query", &recompile(), sql]);
    let lines: Vec<&str> = all.lines().collect();
    assert_eq!(lines[1], format!("{}    1", "x".repeat(300)));
    assert!(lines[2].starts_with('y') && lines[2].len() < 80, "{all}");
    let told = std::process::Command::new(env!("CARGO_BIN_EXE_systole"))
        .args(["query", &recompile(), sql])
        .env("COLUMNS", "80")
        .output()
        .unwrap();
    assert!(
        text(&told.stdout)
            .lines()
            .all(|line| line.chars().count() <= 80)
    );
}

#[test]
fn query_errors_point_at_the_wrong_word() {
    let path = &recompile();
    let said = refused(&["query", path, "SELECT nme FROM slices"]);
    assert!(
        said.contains("no such column: nme\n  SELECT nme FROM slices\n         ^"),
        "{said}"
    );
    assert!(
        said.contains("columns of slices: slice_id, track_id"),
        "{said}"
    );
    let said = refused(&["query", path, "SELECT * FROM opps"]);
    assert!(
        said.contains("no such table: opps") && said.contains("hint_ops"),
        "{said}"
    );
    let said = refused(&["query", path, "SELECT nanoseconds(1)"]);
    assert!(
        said.contains("no such function") && said.contains("us(ps)"),
        "{said}"
    );
    assert!(
        refused(&["query", path, "SELECT percentile(dur_ps, 101) FROM slices"])
            .contains("0 to 100")
    );
    assert!(refused(&["query", path, "SELECT us('text')"]).contains("takes numbers"));
    assert!(refused(&["query", path]).contains("SQL"));
}

#[test]
fn queries_are_read_only_without_file_access() {
    let path = &recompile();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("x.db");
    for sql in [
        format!("ATTACH '{}' AS x", file.display()),
        format!("VACUUM INTO '{}'", file.display()),
        "CREATE TABLE t(a)".to_owned(),
        "CREATE TEMP TABLE t(a)".to_owned(),
        "INSERT INTO slices(name) VALUES ('x')".to_owned(),
        "DELETE FROM slices".to_owned(),
        "PRAGMA writable_schema = 1".to_owned(),
        "SELECT load_extension('x')".to_owned(),
        "SELECT 1; SELECT 2".to_owned(),
        String::new(),
    ] {
        let said = refused(&["query", path, &sql]);
        assert!(!said.contains("internal"), "{sql}: {said}");
    }
    assert!(!file.exists());
}

#[test]
fn endless_query_is_stopped() {
    let endless =
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
    let said = refused(&["query", &recompile(), endless, "--timeout", "0.3"]);
    assert!(said.contains("stopped after 0.3 s"), "{said}");
}

#[test]
fn rows_beyond_the_limit_are_reported() {
    let path = &recompile();
    let output = run(&["query", path, "SELECT slice_id FROM slices", "--limit", "3"]);
    assert_eq!(text(&output.stdout).lines().count(), 4);
    assert!(
        text(&output.stderr).contains("first 3 rows; --limit 0"),
        "{}",
        text(&output.stderr)
    );
    let json: Value = serde_json::from_str(&printed(&[
        "query",
        path,
        "SELECT slice_id FROM slices",
        "--limit",
        "3",
        "--format",
        "json",
    ]))
    .unwrap();
    assert_eq!(
        (
            json["truncated"].as_bool(),
            json["rows"].as_array().unwrap().len()
        ),
        (Some(true), 3)
    );
    let exact = run(&[
        "query",
        path,
        "SELECT slice_id FROM slices LIMIT 3",
        "--limit",
        "3",
    ]);
    assert!(exact.stderr.is_empty(), "{}", text(&exact.stderr));
}

#[test]
fn ready_made_queries_work_on_every_sample() {
    let list: Value = serde_json::from_str(&printed(&[
        "query",
        &recompile(),
        "--list",
        "--format",
        "json",
    ]))
    .unwrap();
    let queries: Vec<&str> = list["queries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert!(queries.len() > 5);
    for file in [
        "synthetic_v5e_8chip_recompile.xplane.pb",
        "synthetic_v6e_4chip_padded.trace.json.gz",
    ] {
        for query in &queries {
            let lines = printed(&["query", &sample(file), query, "--format", "ndjson"]);
            assert!(
                lines
                    .lines()
                    .all(|line| serde_json::from_str::<Value>(line).unwrap().is_object()),
                "{file} {query}"
            );
        }
    }
    let top = printed(&["query", &recompile(), "top-ops", "--format", "csv"]);
    assert!(
        top.starts_with("name,category,executions,self_ms,mean_self_ms\n")
            && top.lines().count() > 3,
        "{top}"
    );
}

#[test]
fn arguments_of_slices_are_read_on_demand() {
    let path = &recompile();
    let found = rows(
        path,
        "SELECT slice_id, args FROM slices WHERE args IS NOT NULL LIMIT 1",
    );
    let args: Value = serde_json::from_str(found[0][1].as_str().unwrap()).unwrap();
    let (key, value) = args.as_object().unwrap().iter().next().unwrap();
    let one = rows(path, &format!("SELECT arg({}, '{key}')", found[0][0]));
    assert_eq!(&one[0][0], value);
}

#[test]
fn columns_sharing_a_name_are_all_kept() {
    let twice = "SELECT 1 AS name, 2 AS name, 3 AS name_2";
    let line = printed(&["query", &recompile(), twice, "--format", "ndjson"]);
    let row: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        row,
        serde_json::json!({"name": 1, "name_2": 2, "name_2_2": 3})
    );
}

#[test]
fn computed_times_are_marked_in_every_row() {
    let path = &sample("synthetic_v5e_layer_predicted.txt");
    let asked = run(&[
        "query",
        path,
        "SELECT count(*) FROM slices",
        "--format",
        "json",
    ]);
    let answer: Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert_eq!(answer["badge"], "PREDICTED by XLA's cost model");
    assert!(
        text(&asked.stderr).contains("PREDICTED by XLA's cost model"),
        "{}",
        text(&asked.stderr)
    );
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    printed(&[
        "export", path, "--to", "csv", "--tables", "tracks", "-o", out,
    ]);
    let tracks = fs::read_to_string(directory.path().join("tracks.csv")).unwrap();
    assert!(tracks.starts_with("run,times_from,track_id"), "{tracks}");
    assert!(
        tracks
            .lines()
            .skip(1)
            .all(|line| line.contains(",PREDICTED by XLA's cost model,")),
        "{tracks}"
    );
}

#[test]
fn the_run_is_one_row_of_key_figures() {
    let path = &recompile();
    let verdict = rows(path, "SELECT verdict, devices, steps FROM runs");
    assert!(
        verdict[0][0]
            .as_str()
            .unwrap()
            .starts_with("The loop waits for compilation 53.2 % of the mean step"),
        "{verdict:?}"
    );
    assert_eq!(verdict[0][1..], [Value::from(8), Value::from(4)]);
    let idle = "SELECT idle_ps - (SELECT self_time_ps FROM ops WHERE category = 'IDLE') FROM runs";
    assert_eq!(number(path, idle), 0);
}

#[test]
fn lost_bytes_are_those_of_damaged_parts() {
    let mut bytes = fs::read(recompile()).unwrap();
    let middle = bytes.len() * 62 / 100;
    bytes[middle..middle + 20].fill(0xff);
    let place = Place::empty();
    place.write("damaged.xplane.pb", &bytes);
    let path = place.path("damaged.xplane.pb");
    let lost = rows(
        path.to_str().unwrap(),
        "SELECT lost_events, lost_bytes > 1000 FROM runs",
    );
    assert_eq!(lost, [[Value::from(1), Value::from(1)]]);
    let whole = rows(&recompile(), "SELECT lost_events, lost_bytes FROM runs");
    assert_eq!(whole, [[Value::from(0), Value::Null]]);
}

#[test]
fn a_remark_of_nothing_is_missing() {
    let path = &recompile();
    let missing = number(path, "SELECT count(*) FROM steps WHERE remark IS NULL");
    assert!(missing > 0);
    assert_eq!(
        number(path, "SELECT count(*) FROM steps WHERE remark = ''"),
        0
    );
}

#[test]
fn slices_are_those_of_the_chosen_part() {
    let path = &recompile();
    let count = |condition: &str| {
        number(
            path,
            &format!("SELECT count(*) FROM slices WHERE {condition}"),
        )
    };
    let chosen = |options: &[&str], sql: &str| {
        let args = [
            &["query", path, sql, "--format", "json", "--limit", "0"],
            options,
        ]
        .concat();
        let answer: Value = serde_json::from_str(&printed(&args)).unwrap();
        answer["rows"].clone()
    };
    let all = "SELECT count(*) FROM slices";
    assert_eq!(
        chosen(&["--steps", "1..2"], all)[0][0],
        count("step BETWEEN 1 AND 2")
    );
    assert_eq!(
        chosen(&["--range", "0..1s"], all)[0][0],
        count("start_ps >= 0 AND start_ps < 1000000000000")
    );
    assert_eq!(
        chosen(&["--device", "0"], all)[0][0],
        count("device LIKE '%TPU:0%'")
    );
    assert!(count("step BETWEEN 1 AND 2") > 0 && count("step BETWEEN 1 AND 2") < count("1"));
    // A slice keeps its number, and is found by it.
    let id = number(path, "SELECT max(slice_id) FROM slices WHERE step = 1");
    let named = format!("SELECT slice_id, name FROM slices WHERE slice_id = {id}");
    assert_eq!(
        chosen(&["--steps", "1..1"], &named),
        serde_json::json!(rows(path, &named))
    );
    assert_eq!(chosen(&["--steps", "2..2"], &named), serde_json::json!([]));
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    printed(&[
        "export", path, "--tables", "slices", "--to", "csv", "--steps", "1..2", "-o", out,
    ]);
    let lines = fs::read_to_string(directory.path().join("slices.csv"))
        .unwrap()
        .lines()
        .count() as i64;
    assert_eq!(lines - 1, count("step BETWEEN 1 AND 2"));
}
