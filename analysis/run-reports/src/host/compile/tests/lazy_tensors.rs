//! Graphs of lazy tensors, and their counts.

use super::*;

#[test]
fn lazy_tensors_are_counted_by_step_and_graph() {
    // Three steps; the second also needs a value in its middle, which splits the graph.
    let model = text_trace(
        "
        host main: SSSSSS..AAAAAF.SSSSSS..SSSSSS
                 : LLLLLL..CCCC...LLLLLL..LLLLLL
                 : AAAAAA.........AAAAAA..AAAAAA
                 : BBBB...........D.......D.....
        S = StepMarker
        L = SyncLiveTensorsGraph
        A = SyncTensorsGraphInternal
        B = XLAGraphExecutor::Compile#graph_hash=aa#
        C = XLAGraphExecutor::Compile#graph_hash=bb#
        D = ScheduleSyncTensorsGraph
        F = PjRtComputationClient::TransferFromDevice
        ",
    );
    let report = report(&model, Scope::WholeTrace);
    let lazy = report.lazy.as_ref().unwrap();
    let fact = |id: &str| lazy.facts.iter().find(|fact| fact.id == id).unwrap();
    assert_eq!(fact("step_markers").value, Some(3.0));
    assert_eq!(
        (fact("graphs_compiled").value, fact("compilations").value),
        (Some(2.0), Some(2.0))
    );
    // Fewer than eleven steps: the limit does not apply yet.
    assert_eq!(
        (
            fact("compilations_per_step").value,
            fact("compilations_per_step").statement.as_ref()
        ),
        (None, None)
    );
    assert_eq!(fact("early_syncs_per_step").value, Some(1.0 / 3.0));
    assert_eq!(
        (fact("fetches_per_step").value, fact("executions").value),
        (Some(1.0 / 3.0), Some(2.0))
    );
    assert_eq!(fact("longest_sync_ps").value, Some(6_000.0));
    let graphs: Vec<_> = lazy
        .graphs
        .iter()
        .map(|graph| (graph.hash.as_deref(), graph.after_steps))
        .collect();
    assert_eq!(graphs, [(Some("aa"), 0), (Some("bb"), 1)]);
    // Different graphs are different functions, not one that is compiled again.
    let functions: Vec<_> = report
        .functions
        .iter()
        .map(|f| (f.function.as_str(), f.recompilations))
        .collect();
    assert_eq!(functions, [("graph aa", 0), ("graph bb", 0)]);
    assert_eq!(report.tables()[3].id, "lazy_tensors");
}

#[test]
fn lazy_tensor_counts_above_limits_are_reported() {
    let (steps, compiles) = ("A.AFS.".repeat(12), "B.....".repeat(12));
    let picture = format!(
        "
        host main: {steps}
                 : {compiles}
        S = StepMarker
        A = SyncTensorsGraph
        B = XLAGraphExecutor::Compile
        F = IfrtComputationClient::TransferFromDevice
        "
    );
    let found = report(&text_trace(&picture), Scope::WholeTrace);
    let lazy = found.lazy.as_ref().unwrap();
    let above: Vec<_> = lazy
        .facts
        .iter()
        .filter_map(|fact| Some((fact.id, fact.value?, fact.statement.as_deref()?)))
        .collect();
    assert_eq!(
        above,
        [
            (
                "compilations_per_step",
                1.0,
                "12 compilations during 12 steps"
            ),
            (
                "late_compilations_per_step",
                1.0,
                "2 compilations in the 2 steps after the first 10"
            ),
            (
                "early_syncs_per_step",
                2.0,
                "24 times a graph was cut before the end of the step (a value was asked for), 24.00 ns in all"
            ),
            (
                "fetches_per_step",
                1.0,
                "12 transfers from the device during 12 steps, 12.00 ns in all"
            ),
        ]
    );
    // The hash is not recorded: all compilations are of unknown graphs.
    assert_eq!((lazy.graphs.len(), lazy.graphs[0].compilations), (1, 12));
    let unmarked = text_trace("host main: AA.AA\n A = SyncTensorsGraph");
    let unmarked = report(&unmarked, Scope::WholeTrace).lazy.unwrap();
    assert_eq!(
        unmarked.facts[0].statement.as_deref(),
        Some("2 graphs ran and no step was marked (mark_step)")
    );
    let annotated = text_trace("host main: SS\n S = StepMarker");
    assert!(report(&annotated, Scope::WholeTrace).lazy.is_none());
}
