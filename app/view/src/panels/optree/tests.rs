//! Trees of ops: their branches, sums and distance from the limit.

use analysis::reports::{Ops, OpsReport};
use analysis::{Cell, Options, Scope};
use sample_traces::text_trace;

use super::*;
use session::Session;

fn made(report: &OpsReport, levels: &[TreeGrouping]) -> OpNode {
    tree(
        &report.rows,
        &TreeSpec {
            levels: levels.to_vec(),
            time: TreeTime::SelfTime,
        },
        &|_| None,
    )
}

#[test]
fn transformed_scopes_stay_whole() {
    let parts = scopes_of;
    let name = "jit(f)/transpose(jvp(layer_2/mlp))/down/dot";
    assert_eq!(
        parts(name),
        ["jit(f)", "transpose(jvp(layer_2/mlp))", "down", "dot"]
    );
    assert_eq!(
        parts("a)/b/c(d/e"),
        ["a)", "b", "c(d/e"],
        "also where brackets are missing"
    );
}

#[test]
fn loop_length_includes_its_ops_only_in_total_time() {
    let trace = text_trace(
        "
        @column 1us
        ops: WWWWWWc
           : ffffff.

        W = while.1 [while]
        f = fusion.1 [loop fusion]
        ",
    );
    let session = Session::from_model(trace, Options::default());
    let report = session.report::<Ops>(Scope::WholeTrace).unwrap();
    let spec = TreeSpec {
        levels: vec![TreeGrouping::Category],
        time: TreeTime::Total,
    };
    let tree = tree(&report.rows, &spec, &|op| Some((op.index() as f64, 3.0)));
    let branch = |title: &str| {
        tree.children
            .iter()
            .find(|node| node.title == title)
            .unwrap()
    };
    assert_eq!(
        (
            branch("while").self_time_ps.ps(),
            branch("while").total_time_ps.ps()
        ),
        (0, 6_000_000)
    );
    assert_eq!(branch("loop fusion").total_time_ps.ps(), 6_000_000);
    assert!(
        tree.children
            .is_sorted_by(|a, b| a.total_time_ps >= b.total_time_ps)
    );
    assert_eq!(
        tree.compared.map(|(_, b)| b),
        Some(9.0),
        "the sum over its ops"
    );
}

#[test]
fn branch_sums_equal_their_ops() {
    let trace = text_trace(
        "
        @column 1us
        modules: MMMMMMMMM
        ops    : AAfffBBBc

        M = jit_step(7)
        A = add.3 [loop fusion]
        f = fusion.1 [convolution fusion] flops=2e9 hbm_read=4096
        ",
    );
    let session = Session::from_model(trace, Options::default());
    let report = session.report::<Ops>(Scope::WholeTrace).unwrap();
    let whole: Picos = report.rows.iter().map(|row| row.self_time_ps).sum();
    for (by, _) in TreeGrouping::ALL {
        let tree = made(&report, &[by]);
        assert_eq!(tree.self_time_ps, whole, "{by:?}");
        assert_eq!(
            tree.ops.len(),
            report.rows.iter().filter(|row| row.op.is_some()).count()
        );
        assert!(
            tree.children
                .is_sorted_by(|a, b| a.self_time_ps >= b.self_time_ps)
        );
    }
    let by_category = made(&report, &[TreeGrouping::Category]);
    let matmul = by_category
        .children
        .iter()
        .find(|node| node.title == "convolution fusion")
        .unwrap();
    assert_eq!(
        (matmul.self_time_ps.ps(), matmul.group),
        (3_000_000, OpGroup::MatMul)
    );
    assert_eq!(
        matmul.efficiency_percent(),
        None,
        "this device has no peaks"
    );
    assert_eq!(
        by_category.efficiency_percent(),
        None,
        "the work of its other ops is not known"
    );
    let table = by_category.table();
    assert!(
        table
            .rows
            .iter()
            .all(|row| row.len() == table.columns.len())
    );
    let place = |name: &str| {
        table
            .rows
            .iter()
            .find(|row| row[0] == Cell::text(name))
            .map(|row| row[1].clone())
    };
    assert_eq!(
        (place("All ops"), place("fusion.1")),
        (
            Some(Cell::text("")),
            Some(Cell::text("convolution fusion / "))
        )
    );
}

#[test]
fn mostly_waiting_program_is_far_from_its_limit() {
    let trace = text_trace(
        "
        @column 1us
        @device flops=1e12 hbm=1e9 TPU v5 lite
        modules: MMMMMMMMMM
        ops    : fwwwwwwwww

        M = jit_step(7)
        f = fusion.1 [loop fusion] flops=1 hbm_read=800 hbm_write=0
        w = copy-done.1 [copy-done]
        ",
    );
    let session = Session::from_model(trace, Options::default());
    let report = session.report::<Ops>(Scope::WholeTrace).unwrap();
    let by_program = made(&report, &[TreeGrouping::Program, TreeGrouping::Category]);
    let program = &by_program.children[0];
    let near =
        |node: &OpNode, percent: f64| (node.efficiency_percent().unwrap().0 - percent).abs() < 1e-9;
    assert!(near(&by_program, 8.0) && near(program, 8.0), "{program:?}");
    let category = |name: &str| {
        program
            .children
            .iter()
            .find(|node| node.title == name)
            .unwrap()
    };
    assert!(near(category("loop fusion"), 80.0));
    assert_eq!(
        category("copy-done").efficiency_percent(),
        None,
        "nothing binds an op that waits"
    );
}
