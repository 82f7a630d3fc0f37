//! What answers to programs say beside their numbers: arguments without effect, files that were not read, rows left out.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::mcp::{Client, RECOMPILE, SAMPLES, at_samples};
use crate::outputs::text;
use crate::place::{Place, corpus, stderr, stdout};
use crate::serve_client::Server;

/// A bound is its lower end, and a range has both.
#[test]
fn figures_of_a_verdict_are_bounds_as_in_reports() {
    let Some(corpus) = corpus() else { return };
    let mut client = Client::below(&corpus);
    let mut links = |path: &str| {
        let answer = client.tool("verdict", &json!({"path": path}));
        let table = &answer["tables"][0];
        let columns = table["columns"].as_array().unwrap();
        let at = |id: &str| columns.iter().position(|column| column["id"] == id);
        let rows = table["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row[0] == "Links during collectives");
        let row = row.unwrap_or_else(|| panic!("{answer}")).clone();
        let cell = |id: &str| at(id).map_or(Value::Null, |at| row[at].clone());
        let number = |id: &str| cell(id).as_f64().map(|number| (number * 100.0).round());
        (
            cell("bound").as_str().unwrap_or_default().to_owned(),
            number("value"),
            number("up_to"),
        )
    };
    assert_eq!(
        links("planted/norec_v6e.xplane.pb"),
        ("at least".to_owned(), Some(3523.0), None)
    );
    assert_eq!(
        links("simulators/xla_tpu_aot/lab11_v5p/scheduled_hlo.txt"),
        ("from".to_owned(), Some(4752.0), Some(9505.0))
    );
}

/// Whoever asks: a grid that cannot be is refused, and what changes nothing is said.
#[test]
fn arguments_without_effect_are_told_to_programs() {
    const GRID: &str = "slices of v5e have 2 axes, not 3";
    let cases = [
        (
            json!({"clock": "940MHz"}),
            "clock=940MHz",
            "clock changes nothing",
        ),
        (
            json!({"serving": ["decode=zzz"]}),
            "serving=decode%3Dzzz",
            "serving changes nothing: ",
        ),
    ];
    let place = Place::empty();
    place.write(
        "logs/a.xplane.pb",
        &fs::read(Path::new(SAMPLES).join(RECOMPILE)).unwrap(),
    );
    let server = Server::of(&place.path("logs"), &[]);
    let id = &server.ids()[0];
    let mut client = at_samples();
    for (assume, query, words) in cases {
        let answer = client.tool("steps", &json!({"path": RECOMPILE, "assume": assume}));
        let notes = answer["notes"].to_string();
        assert!(notes.contains(words), "{assume}: {notes}");
        for address in [
            "reports/steps?",
            "tables?",
            "tables/steps?",
            "query?sql=SELECT+1&",
        ] {
            let answer = server.json(&format!("/api/v1/runs/{id}/{address}{query}"));
            let notes = answer["notes"].to_string();
            assert!(notes.contains(words), "{address}: {notes}");
        }
        let both = server.json(&format!("/api/v1/compare?base={id}&new={id}&{query}"));
        assert!(both["notes"][1].as_str().unwrap().contains(words), "{both}");
        let both = json!({"base": RECOMPILE, "cand": RECOMPILE, "assume": assume});
        let both = client.tool("compare", &both);
        assert!(both["notes"][1].as_str().unwrap().contains(words), "{both}");
    }
    let grid = json!({"path": RECOMPILE, "assume": {"topology": "2x2x2"}});
    assert_eq!(
        client.refused("verdict", &grid),
        format!("topology: {GRID}")
    );
    let refused = server.get(&format!("/api/v1/runs/{id}/reports?topology=2x2x2"), &[]);
    assert_eq!(refused.status, 400);
    assert!(text(&refused.body).contains(GRID));
    let plain = client.tool("verdict", &json!({"path": RECOMPILE}));
    assert!(plain["notes"].is_null(), "{plain}");
}

/// A directory of profiles and of runs: those that are not read are named, and have addresses of their own.
#[test]
fn profiles_beside_runs_are_named() {
    const SAID: &str = "were not read; open one by its path. 2: one.xplane.pb, two.xplane.pb";
    let profile = fs::read(Path::new(SAMPLES).join(RECOMPILE)).unwrap();
    let place = Place::empty();
    for name in [
        "logs/plugins/profile/2026_01_01_00_00_00/host.xplane.pb",
        "logs/one.xplane.pb",
        "logs/two.xplane.pb",
    ] {
        place.write(name, &profile);
    }
    let said = place.run(&["analyze", "logs"]);
    assert!(stderr(&said).contains(SAID), "{}", stderr(&said));
    let listed = place.run(&["runs", "logs", "--verdicts", "0"]);
    assert!(
        stderr(&listed).contains("2 profiles beside the runs not listed"),
        "{} {}",
        stdout(&listed),
        stderr(&listed)
    );
    let answer = Client::below(&place.path(".")).tool("verdict", &json!({"path": "logs"}));
    assert!(answer["notes"].to_string().contains(SAID), "{answer}");
    let server = Server::of(&place.path("logs"), &[]);
    let ids = server.ids();
    assert_eq!(ids.len(), 3);
    let answer = server.json(&format!("/api/v1/runs/{}/reports/steps", ids[1]));
    assert!(
        answer["notes"].is_null() && answer["input"].to_string().contains("one.xplane.pb"),
        "{answer}"
    );
}

#[test]
fn counts_of_an_answer_agree() {
    let mut client = at_samples();
    for (tool, arguments) in [
        ("verdict", json!({"path": RECOMPILE})),
        ("ops", json!({"path": RECOMPILE, "top": 1})),
        ("hints", json!({"path": RECOMPILE, "top": 1})),
        ("steps", json!({"path": RECOMPILE, "top": 0})),
    ] {
        let result = client.call(tool, &arguments)["result"].clone();
        let answer = &result["structuredContent"];
        let tables = answer["tables"].as_array().unwrap();
        let all: u64 = tables
            .iter()
            .map(|table| table["total_rows"].as_u64().unwrap())
            .sum();
        let (shown, total) = (
            answer["shown"].as_u64().unwrap(),
            answer["total"].as_u64().unwrap(),
        );
        assert_eq!(
            (total, answer["truncated"] == true),
            (all, shown < all),
            "{tool}: {answer}"
        );
        let said = result["content"][0]["text"].as_str().unwrap();
        assert!(said.contains(&format!("{shown} of {total} rows")), "{said}");
    }
    let arguments = json!({"base": RECOMPILE, "cand": "synthetic_v5e_8chip_overlap.xplane.pb", "max_bytes": 2000});
    let result = client.call("compare", &arguments)["result"].clone();
    assert_eq!(result["isError"], false, "{result}");
    assert!(
        result.to_string().len() <= 2000,
        "{}",
        result.to_string().len()
    );
}

#[test]
fn unknown_peaks_are_said_where_a_prediction_needs_them() {
    let Some(corpus) = corpus() else { return };
    let path = corpus.join("simulators/scalesim/v3.0.0_decoder_ws");
    let said = Place::empty().run(&["whatif", path.to_str().unwrap(), "--hbm", "2"]);
    let (said, why) = (stdout(&said).to_owned(), stderr(&said));
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("the peak HBM bandwidth is not known"),
        "{said} {why}"
    );
}

#[test]
fn wrong_names_are_told_with_those_that_there_are() {
    let mut client = at_samples();
    for (tool, arguments, words) in [
        (
            "verdict",
            json!({"path": RECOMPILE, "foo": 1}),
            "no argument \"foo\"; it has assume, ",
        ),
        (
            "verdict",
            json!({"path": RECOMPILE, "assume": {"foo": 1}}),
            "assume: it has no \"foo\"; it has clock, ",
        ),
        (
            "query",
            json!({"path": RECOMPILE, "sql": "top_ops"}),
            "top-ops",
        ),
    ] {
        let said = client.refused(tool, &arguments);
        assert!(said.contains(words), "{arguments}: {said}");
    }
    for filter in ["name", "category"] {
        let none = client.tool("events", &json!({"path": RECOMPILE, filter: ["nope*"]}));
        let notes = none["tables"][0]["notes"].to_string();
        assert!(notes.contains("there are "), "{filter}: {none}");
    }
    let set_aside = client.tool(
        "verdict",
        &json!({"path": RECOMPILE, "assume": {"warmup": 1}}),
    );
    let said = set_aside["statement"].as_str().unwrap();
    assert!(!said.contains("once:"), "{said}");
    let server = Server::of(&Path::new(SAMPLES).join(RECOMPILE), &[]);
    let id = &server.ids()[0];
    let missing = server.get(&format!("/api/v1/runs/{id}/tables/op_slices"), &[]);
    let said = text(&missing.body).to_owned();
    assert!(
        missing.status == 404
            && said.contains("SELECT * FROM op_slices")
            && said.contains("slices, "),
        "{said}"
    );
    let cut = server.json(&format!(
        "/api/v1/runs/{id}/query?sql=SELECT+slice_id+FROM+slices&limit=2"
    ));
    assert!(
        cut["truncated"] == true && cut["notes"].to_string().contains("OFFSET"),
        "{cut}"
    );
}

/// Vidur names its trace as many programs do.
#[test]
fn a_trace_among_other_json_is_named() {
    let Some(corpus) = corpus() else { return };
    let mut client = Client::below(&corpus);
    let said = client.refused("verdict", &json!({"path": "simulators/vidur"}));
    assert!(
        said.contains("chrome_trace.json") && !said.contains("config.json"),
        "{said}"
    );
}
