//! `systole query PATH "pivot A, B"`.

use crate::outputs::{recompile, refused};
use crate::tables::rows;

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
