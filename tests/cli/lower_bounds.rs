//! A figure of which only a lower bound is known is one in every output, and decides no gate that it does not decide.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fmt::Write as _;

use serde_json::Value;

use crate::place::{Place, corpus, json, stderr, stdout};

/// Kernels of unknown work take 70 % of op time: HBM bandwidth is at least 9 %, and MFU is not known.
const PARTIAL: &str = "planted/kernel70_unknown.xplane.pb";
const WHOLE: &str = "planted/decode10.xplane.pb";

fn place_with(corpus: &std::path::Path) -> Place {
    let place = Place::empty();
    for (name, from) in [("partial.xplane.pb", PARTIAL), ("whole.xplane.pb", WHOLE)] {
        place.write(name, &std::fs::read(corpus.join(from)).unwrap());
    }
    place
}

fn budgets(place: &Place, budgets: &[(&str, &str)]) {
    let mut text = "version = 1\n".to_owned();
    for (metric, limit) in budgets {
        writeln!(text, "[[budget]]\nmetric = \"{metric}\"\n{limit}").unwrap();
    }
    place.write("b.toml", text.as_bytes());
}

#[test]
fn gates_leave_open_what_a_lower_bound_does_not_decide() {
    let Some(corpus) = corpus() else { return };
    let place = place_with(&corpus);
    budgets(
        &place,
        &[
            ("mfu_pct", "min = 30"),
            ("hbm_util_busy_pct", "max = 30"),
            ("hbm_util_steady_pct", "min = 5"),
        ],
    );
    let args = ["analyze", "partial.xplane.pb", "--budget", "b.toml"];
    let said = place.run(&[&args[..], &["-o", "junit=j.xml", "-o", "json=r.json"]].concat());
    assert_eq!(said.status.code(), Some(0), "{}", stderr(&said));
    let why = "of unknown traffic take 70.0 % of op time";
    let gates = json(&place.read("r.json"))["gates"]["gates"].clone();
    let gate = |metric: &str| {
        let all = gates.as_array().unwrap().iter();
        let own = all.clone().find(|gate| gate["metric"] == metric);
        own.unwrap_or_else(|| panic!("{gates}")).clone()
    };
    let hbm = gate("hbm_util_busy_pct");
    assert_eq!(hbm["status"], "inconclusive");
    assert_eq!(hbm["actual_is_lower_bound"], true);
    let message = hbm["message"].as_str().unwrap();
    assert!(
        message.starts_with("hbm_util_busy_pct is at least 9.000 %, allowed at most 30 %, but only a lower bound is known: ")
            && message.ends_with(why),
        "{message}"
    );
    let mfu = gate("mfu_pct");
    assert_eq!(
        (&mfu["status"], &mfu["actual"]),
        (&"inconclusive".into(), &Value::Null)
    );
    assert_eq!(gate("hbm_util_steady_pct")["status"], "pass");
    let junit = place.read("j.xml");
    assert!(
        junit.contains("<property name=\"hbm_util_busy_percent (at least)\""),
        "{junit}"
    );
    assert!(!junit.contains("mfu_steady_percent"), "{junit}");
}

#[test]
fn comparisons_and_histories_mark_lower_bounds() {
    let Some(corpus) = corpus() else { return };
    let place = place_with(&corpus);
    let args = ["compare", "whole.xplane.pb", "partial.xplane.pb", "--force"];
    let shares = [&args[..], &["--only", "run_percent", "--top", "0"]].concat();
    let row = |text: &str, what: &str| {
        let row = text.lines().find(|line| line.contains(what));
        row.unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    let text = stdout(&place.run(&shares)).to_owned();
    let hbm = row(&text, "hbm_util_bu");
    assert!(hbm.contains("at least 9.000 %"), "{hbm}");
    let note = "At least: only a lower bound is known, so how much it changed is not: ";
    assert!(text.contains(note), "{text}");
    let csv = [&args[..], &["--format", "csv", "--table", "run_percent"]].concat();
    let csv = stdout(&place.run(&csv)).to_owned();
    assert!(csv.starts_with("metric,base_bound,base_percent,"), "{csv}");
    let hbm = row(&csv, "hbm_util_busy_percent");
    assert!(hbm.contains(",at least,8.9999"), "{hbm}");
    let all = [&args[..], &["--format", "json"]].concat();
    let all = json(stdout(&place.run(&all)));
    let values = all["values"].as_array().unwrap();
    let hbm = values
        .iter()
        .find(|value| value["id"] == "hbm_util_busy_percent");
    let hbm = hbm.unwrap();
    assert_eq!(
        (&hbm["cand_is_lower_bound"], &hbm["change"]),
        (&true.into(), &Value::Null)
    );
    assert!(hbm.get("base_is_lower_bound").is_none(), "{hbm}");

    for name in ["whole.xplane.pb", "partial.xplane.pb"] {
        place.run(&["analyze", name, "--history", "h.jsonl", "--only", "verdict"]);
    }
    let lines = place.read("h.jsonl");
    let line = json(lines.lines().last().unwrap());
    let bounds = line["lower_bounds"].as_array().unwrap();
    assert!(
        bounds.contains(&"hbm_util_busy_percent".into()),
        "{bounds:?}"
    );
    assert!(
        json(lines.lines().next().unwrap())
            .get("lower_bounds")
            .is_none()
    );
    let list = stdout(&place.run(&["history", "h.jsonl", "--format", "csv"])).to_owned();
    assert!(list.contains(",mfu_bound,mfu_percent,"), "{list}");

    let said = |format: &str| {
        let args = ["analyze", "partial.xplane.pb", "--only", "utilization"];
        let output = place.run(&[&args[..], &["--format", format]].concat());
        stdout(&output).to_owned()
    };
    let md = said("md");
    let hbm = row(&md, "HBM bandwidth, steady steps");
    assert!(hbm.contains("at least 9.000 %"), "{hbm}");
    let mfu = row(&md, "MFU, steady steps");
    assert!(mfu.contains('–') && !mfu.contains("at least"), "{mfu}");
    assert!(said("text").contains("at least 9.000 %"));
    let csv = place.run(&[
        "analyze",
        "partial.xplane.pb",
        "--format",
        "csv",
        "--table",
        "utilization",
    ]);
    let hbm = row(stdout(&csv), "HBM bandwidth while busy");
    assert!(
        hbm.starts_with("HBM bandwidth while busy,at least,8.9999"),
        "{hbm}"
    );
}
