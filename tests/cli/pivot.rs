//! `systole query PATH "pivot A, B"`.

use crate::outputs::{recompile, refused, sample};
use crate::place::corpus;
use crate::tables::{number, rows};

#[test]
fn pivot_tables_add_up_to_all_ops() {
    let path = &recompile();
    let all = rows(
        path,
        "SELECT sum(self_ps), sum(flops), count(*) FROM op_slices",
    );
    let all = |at: usize| all[0][at].as_f64().unwrap();
    let keys = [
        "name", "category", "source", "scope", "program", "device", "step",
    ];
    for (at, key) in keys.iter().enumerate() {
        let other = keys[(at + 1) % keys.len()];
        let query = format!("pivot {key}, {other}");
        let found = rows(path, &query);
        assert!(!found.is_empty(), "{query}");
        let sum = |at: usize| found.iter().filter_map(|row| row[at].as_f64()).sum::<f64>();
        assert!((sum(2) - all(2)).abs() < 0.5, "{query}: executions");
        // Each row is rounded to a femtosecond.
        assert!((sum(3) - all(0) / 1e9).abs() < 1e-3, "{query}: self time");
        assert!((sum(4) - 100.0).abs() < 0.1, "{query}: shares");
    }
    // A rate is of the executions whose operations are known.
    let own = rows(path, "pivot category");
    let rate = rows(
        path,
        "SELECT round(1.0 * sum(flops) / sum(self_ps), 4) FROM op_slices WHERE category = 'Matmul'",
    );
    let matmul = own.iter().find(|row| row[0] == "Matmul").unwrap();
    assert_eq!(matmul[4], rate[0][0]);
    let message = refused(&["query", path, "pivot nothing"]);
    assert!(
        message.contains("no pivot table is by nothing"),
        "{message}"
    );
}

#[test]
fn kernels_without_costs_have_no_rates() {
    let Some(corpus) = corpus() else { return };
    let path = corpus.join("planted/kernel70_unknown.xplane.pb");
    let found = rows(path.to_str().unwrap(), "pivot name");
    let kernel = found.iter().find(|row| row[0] == "kern").unwrap();
    assert!(kernel[4].is_null() && kernel[5].is_null(), "{kernel:?}");
    let other = found.iter().find(|row| row[0] == "fusion").unwrap();
    assert!(other[5].as_f64() > Some(0.0), "{other:?}");
}

#[test]
fn op_slices_can_be_summed() {
    for file in [
        "synthetic_v5e_8chip_recompile.xplane.pb",
        "synthetic_v6e_4chip_padded.trace.json.gz",
    ] {
        let path = &sample(file);
        let all = number(
            path,
            "SELECT sum(self_time_ps) FROM ops WHERE category <> 'IDLE'",
        );
        assert_eq!(
            number(path, "SELECT sum(self_ps) FROM op_slices"),
            all,
            "{file}"
        );
        let twice = "SELECT count(*) FROM op_slices a JOIN op_slices b ON b.parent_id = a.slice_id WHERE a.flops > 0";
        assert_eq!(number(path, twice), 0, "{file}");
    }
    let path = &recompile();
    let said = refused(&["query", path, "SELECT dur_ps FROM op_slices"]);
    assert!(
        said.contains("columns of op_slices: slice_id, name, category, self_ps"),
        "{said}"
    );
}

/// Both halves of a copy record its bytes.
#[test]
fn bytes_of_copies_count_once() {
    let Some(corpus) = corpus() else { return };
    let path = corpus.join("tpu/v6e_x4_host_offload_steps_added.xplane.pb");
    let sum = |of: &str| {
        let sql = format!("SELECT sum(bytes_accessed) FROM {of} AND name LIKE 'copy-%'");
        number(path.to_str().unwrap(), &sql)
    };
    let both = sum("slices WHERE track_kind = 'ops'");
    assert_eq!(2 * sum("op_slices WHERE true"), both);
}
