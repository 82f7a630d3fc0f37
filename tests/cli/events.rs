//! `systole events`: a list of events, and their times in groups.

use std::path::Path;

use serde_json::Value;

use crate::outputs::{printed, recompile, refused, run, text};

fn lines(args: &[&str]) -> Vec<Value> {
    let text = printed(&[&["events"], args, &["--format", "ndjson"]].concat());
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn sql(path: &str, query: &str) -> Vec<Vec<Value>> {
    let text = printed(&["query", path, query, "--format", "json", "--limit", "0"]);
    let answer: Value = serde_json::from_str(&text).unwrap_or_default();
    serde_json::from_value(answer["rows"].clone()).unwrap_or_default()
}

#[test]
fn lists_and_groups_are_those_of_sql() {
    let path = &recompile();
    let found = sql(
        path,
        "SELECT start_ps, dur_ps, name FROM slices WHERE track_kind = 'ops' AND step = 2 AND dur_ps >= 1000000 ORDER BY start_ps, slice_id",
    );
    assert!(found.len() > 5, "{found:?}");
    let args = [
        path,
        "--kind",
        "ops",
        "--steps",
        "2",
        "--least",
        "1us",
        "--limit",
        "0",
        "--columns",
        "start,dur,name",
    ];
    let listed = lines(&args);
    let of = |event: &Value| {
        vec![
            event["start_ps"].clone(),
            event["dur_ps"].clone(),
            event["name"].clone(),
        ]
    };
    assert_eq!(listed.iter().map(of).collect::<Vec<_>>(), found);

    let query = "SELECT category, device, count(*), sum(dur_ps), sum(self_ps), min(dur_ps), max(dur_ps), median(dur_ps) \
                 FROM slices WHERE track_kind = 'ops' GROUP BY category, device";
    let by = |rows: Vec<Vec<Value>>| {
        let keyed = |row: Vec<Value>| {
            let (keys, figures) = row.split_at(2);
            let keys: Vec<String> = keys.iter().map(Value::to_string).collect();
            (keys, figures.iter().map(Value::as_f64).collect::<Vec<_>>())
        };
        rows.into_iter()
            .map(keyed)
            .collect::<std::collections::BTreeMap<_, _>>()
    };
    let groups = lines(&[
        path,
        "--kind",
        "ops",
        "--group-by",
        "category,device",
        "--limit",
        "0",
    ]);
    let columns = [
        "category", "device", "count", "total_ps", "self_ps", "min_ps", "max_ps", "p50_ps",
    ];
    let groups = groups
        .iter()
        .map(|row| columns.map(|column| row[column].clone()).to_vec())
        .collect();
    assert_eq!(by(groups), by(sql(path, query)));
}

#[test]
fn a_limit_is_said_aloud_and_the_rest_follows() {
    let path = &recompile();
    let all = lines(&[path, "--limit", "0", "--sort", "duration"]);
    let mut paged = Vec::new();
    let mut offset = 0;
    loop {
        let mut part = lines(&[
            path,
            "--limit",
            "97",
            "--sort",
            "duration",
            "--offset",
            &offset.to_string(),
        ]);
        let Some(next) = part.last().and_then(|last| last["next_offset"].as_u64()) else {
            paged.extend(part);
            break;
        };
        assert_eq!(
            part.pop().map(|last| last["total"].as_u64()),
            Some(Some(all.len() as u64))
        );
        assert_eq!(part.len(), 97);
        (offset, paged) = (next, [paged, part].concat());
    }
    assert_eq!(paged, all);
    let durations: Vec<i64> = all
        .iter()
        .filter_map(|event| event["dur_ps"].as_i64())
        .collect();
    assert!(durations.is_sorted_by(|a, b| a >= b) && durations.len() == all.len());
    let text = printed(&["events", path, "--limit", "2"]);
    assert!(
        text.contains("2 of ") && text.contains("--limit 0 shows all"),
        "{text}"
    );
}

#[test]
fn the_document_says_that_a_list_is_only_a_part() {
    let path = &recompile();
    let of = |args: &[&str]| -> Value {
        let text = printed(&[&["events", path, "--format", "json"], args].concat());
        serde_json::from_str(&text).unwrap()
    };
    for (args, list) in [(&[][..], "events"), (&["--group-by", "name"], "groups")] {
        let part = of(&[args, &["--limit", "2"]].concat());
        let place = format!("/reports/events/report/{list}/rows");
        assert_eq!(part["truncated"], true);
        assert_eq!(
            part["truncated_lists"],
            serde_json::json!([{
                "path": place,
                "shown": 2,
                "total": part["reports"]["events"]["report"]["total"],
            }])
        );
        assert_eq!(
            part.pointer(&place).and_then(Value::as_array).map(Vec::len),
            Some(2)
        );
        let whole = of(&[args, &["--limit", "0"]].concat());
        assert_eq!(whole["truncated"], false);
    }
}

#[test]
fn a_part_beyond_the_last_row_says_how_many_there_are() {
    let path = &recompile();
    let report: Value = serde_json::from_str(&printed(&[
        "events", path, "--limit", "1", "--format", "json",
    ]))
    .unwrap();
    let total = report["reports"]["events"]["report"]["total"]
        .as_u64()
        .unwrap();
    let past = ["events", path, "--offset", "9999999"];
    let words = "match: --offset 9,999,999 is past the last one";
    let with = |options: &[&'static str]| run(&[&past[..], options].concat());
    let said = with(&[]);
    assert!(text(&said.stdout).contains(words), "{}", text(&said.stdout));
    let count = text(&said.stdout)
        .split_once(" events match: ")
        .unwrap()
        .0
        .lines()
        .last()
        .unwrap()
        .replace(',', "");
    assert_eq!(count.trim().parse(), Ok(total));
    assert!(text(&with(&["--group-by", "name"]).stdout).contains(&format!("groups {words}")));
    for format in ["csv", "ndjson"] {
        let said = with(&["--format", format]);
        assert!(text(&said.stderr).contains(words), "{}", text(&said.stderr));
    }
    let json: Value = serde_json::from_str(text(&with(&["--format", "json"]).stdout)).unwrap();
    assert_eq!(json["reports"]["events"]["report"]["total"], total);
    assert!(
        !printed(&["events", path, "--name", "no such name", "--offset", "5"])
            .contains("past the last")
    );
}

#[test]
fn wrong_questions_are_refused_with_a_cure() {
    let path = &recompile();
    for (args, words) in [
        (&["--name", "re:("][..], "--name"),
        (&["--group-by", "colour"], "write one of name, category"),
        (&["--group-by", "name,step,device,host,track"], "at most 4"),
        (&["--columns", "colour"], "write one of start_ps"),
        (
            &["--sort", "total"],
            "a list has start, duration, self or name",
        ),
        (
            &["--group-by", "name", "--sort", "start"],
            "groups have total",
        ),
        (
            &["--least", "2us", "--most", "1us"],
            "--least: is more than the greatest length",
        ),
        (&["--least", "2 parsecs"], "length of time"),
        (&["--steps", "900"], "the trace has steps"),
        (&["--kind", "nosuch"], "kinds are steps, modules, ops"),
        (&["--device", "77"], "the trace has devices"),
        (
            &["--host", "ü"],
            "no host here has that name; there is synthetic",
        ),
        (
            &["--track", "nosuch"],
            "no track here has that name; there are ",
        ),
    ] {
        let message = refused(&[&["events", path], args].concat());
        assert!(message.contains(words), "{args:?}: {message}");
    }
    let none = lines(&[path, "--name", "no such name"]);
    assert!(none.is_empty(), "{none:?}");
}

/// XProf's own aggregates for these files, by `xprof aggregate_xplane_events`: number of distinct names, events, and the
/// sum of all durations on the timeline in picoseconds. It names ops by their whole HLO text.
#[test]
fn events_of_real_captures_are_those_that_xprof_counts() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/tpu");
    for (file, names, events, total) in XPROF {
        let path = corpus.join(file);
        if !path.exists() {
            assert!(
                std::env::var_os("SYSTOLE_REQUIRE_CORPUS").is_none(),
                "{} is missing",
                path.display()
            );
            println!("skipped: {} is not here", path.display());
            continue;
        }
        let path = path.to_string_lossy();
        let groups = lines(&[&path, "--group-by", "name", "--limit", "0"]);
        let sum = |column: &str| {
            groups
                .iter()
                .filter_map(|group| group[column].as_i64())
                .sum::<i64>()
        };
        assert_eq!((groups.len(), sum("count")), (names, events), "{file}");
        let query = "SELECT sum(timeline_dur_ps), sum(dur_ps) FROM slices";
        let [on_timeline, measured] = [0, 1].map(|column| sql(&path, query)[0][column].as_i64());
        assert_eq!(on_timeline, Some(total), "{file}");
        // What Systole reports is by the clock of the device.
        assert_eq!(Some(sum("total_ps")), measured, "{file}");
        let differs = (sum("total_ps") - total).abs();
        assert!(0 < differs && differs < 10_000, "{file}: {differs} ps");
    }
}

const XPROF: [(&str, usize, i64, i64); 1] =
    [("v5e_matmul.xplane.pb", 1077, 9776, 2_978_959_001_358)];
