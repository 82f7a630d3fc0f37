//! Compilation in traces drawn as text.

mod lazy_tensors;

use engine::{Options, ReportCache, Scope, Tabular as _};
use sample_traces::{text_builder, text_trace};
use trace_model::TraceModel;

use super::*;

fn ps(time: i64) -> Picos {
    Picos::from_ps(time)
}

fn report(model: &TraceModel, scope: Scope) -> CompileReport {
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model,
        scope,
        options: &options,
        reports: &reports,
    };
    cx.report::<Compile>().unwrap().as_ref().clone()
}

/// `f` is traced, lowered and compiled; a worker does the work; a device runs meanwhile.
const ONE: &str = "
    host python: ..PPPPPPPPPPPPPPPP....
               : ..TTLLCCCCCCCC........
    host worker: .......WWWWWWWW.......
    modules    : ........MMMM......MMMM
    P = PjitFunction(f)
    T = trace_to_jaxpr_dynamic
    L = lower_sharding_computation
    C = backend_compile_and_load
    W = TfrtTpuCompiler::Compile
    M = jit_f(1)
";

/// The end of a file that is missing may hold compilations: none is not known to be 0.
#[test]
fn a_cut_file_does_not_show_that_nothing_was_compiled() {
    let is_recorded = |picture: &str, is_cut: bool| {
        let mut builder = text_builder(picture);
        if is_cut {
            builder.log(IssueKind::TruncatedFile, || "byte 9".to_owned());
        }
        let (model, options, reports) =
            (builder.finish(), Options::default(), ReportCache::default());
        let cx = Context {
            model: &model,
            scope: Scope::WholeTrace,
            options: &options,
            reports: &reports,
        };
        cx.report::<Compile>()
            .is_ok_and(|report| report.is_recorded)
    };
    let nothing = "host python: PPPP\nP = PjitFunction(f)";
    assert!(is_recorded(nothing, false) && !is_recorded(nothing, true));
    assert!(is_recorded(ONE, false) && is_recorded(ONE, true));
}

/// The sentence agrees with the list below it: what belongs to no compilation is named.
#[test]
fn phases_of_no_compilation_are_told_apart() {
    let said = |picture: &str| report(&text_trace(picture), Scope::WholeTrace).statement;
    let alone = said(ONE);
    assert!(!alone.contains("none of them"), "{alone}");
    let apart = said(&format!("{ONE}    host other : TT\n"));
    assert!(
        apart.ends_with(", 2.000 ns of it in phases that belong to none of them"),
        "{apart}"
    );
}

#[test]
fn threads_share_one_compilation() {
    let report = report(&text_trace(ONE), Scope::WholeTrace);
    // Columns are 1 ns; the worker outlives the call by one column.
    assert_eq!(report.wall_ps, Some(ps(13_000)));
    assert_eq!(
        (report.compile_ps, report.lower_ps, report.trace_ps),
        (Some(ps(9_000)), Some(ps(2_000)), Some(ps(2_000)))
    );
    assert_eq!(report.load_ps, None, "none was recorded");
    assert_eq!(report.thread_time_ps, Some(ps(20_000)));
    assert_eq!(report.exposed_ps, Some(ps(9_000)));
    assert_eq!((report.compilations, report.recompilations), (1, 0));
    assert_eq!(report.functions[0].function, "f");
    assert_eq!(report.execute_mean_ps, Some(ps(8_000)));
}

#[test]
fn phases_sum_to_the_compilation() {
    let report = report(&text_trace(ONE), Scope::WholeTrace);
    let phases = [
        report.compile_ps,
        report.lower_ps,
        report.trace_ps,
        report.load_ps,
    ];
    assert_eq!(
        phases.into_iter().flatten().sum::<Picos>(),
        report.wall_ps.unwrap()
    );
}

#[test]
fn recompilations_are_counted_by_function() {
    let model = text_trace(
        "
        host python: PPPPPP.PPPPPP.QQQQQ.QQQQQ.RRRRR
                   : .CCCC..CCCC.........CCCC..CCC
        P = PjitFunction(f)
        Q = PjitFunction(g)
        R = PjitFunction(h)
        C = backend_compile
        ",
    );
    let report = report(&model, Scope::WholeTrace);
    let of = |name: &str| {
        report
            .functions
            .iter()
            .find(|function| function.function == name)
            .unwrap()
    };
    // f: compiled for the second time. g: ran once without compiling, so its first compilation is a recompilation. h:
    // compiled for the first time.
    assert_eq!((of("f").compilations, of("f").recompilations), (2, 1));
    assert_eq!((of("g").compilations, of("g").recompilations), (1, 1));
    assert_eq!(of("h").recompilations, 0);
    assert_eq!((report.compilations, report.recompilations), (4, 2));
    assert_eq!(report.functions[0].function, "f");
    assert_eq!(of("f").longest_ps, ps(4_000));
}

#[test]
fn absent_compilation_is_not_zero_time() {
    let report = report(
        &text_trace("host python: PPPP\n P = PjitFunction(f)"),
        Scope::WholeTrace,
    );
    assert_eq!(report.statement, "no compilation in the captured window");
    assert_eq!(
        (report.wall_ps, report.compile_ps, report.share_percent),
        (None, None, None)
    );
    assert_eq!(report.exposed_ps, None);
    assert!(
        report.tables()[0]
            .rows
            .iter()
            .all(|row| row[1] == engine::Cell::Missing)
    );
}

#[test]
fn short_program_loads_are_ignored() {
    let picture =
        "@column 1us\n host python: LLLL.KKKKKKKKKKKKKKKK\n L = LoadProgram\n K = LoadProgram";
    assert_eq!(
        report(&text_trace(picture), Scope::WholeTrace).load_ps,
        None
    );
    let long = picture.replace("1us", "1ms");
    assert_eq!(
        report(&text_trace(&long), Scope::WholeTrace).load_ps,
        Some(ps(20_000_000_000))
    );
}

#[test]
fn window_clips_compilation() {
    let range = TimeRange::new(Timestamp::from_ps(10_000), Timestamp::from_ps(14_000));
    let report = report(&text_trace(ONE), Scope::Range(range));
    assert_eq!(
        (report.window_ps, report.wall_ps),
        (ps(4_000), Some(ps(4_000)))
    );
}

/// Two programs of one function on a device, the second compiled in step 1, with
/// ops of the same provenance: `changed` is the text of the second one's.
fn two_programs(changed: &str, provenance: &str) -> CompileReport {
    let picture = format!(
        "
        steps      : 0000000000111111111111111111112222222222
        modules    : ....MMMM..................NNNN..........
        ops        : ....aaab..................cccd..........
        host python: PPP.......PPPPPPPPPPPPPPPPPPPP...........
                   : ...........TTLLCCCCCCCCCCC...............
        P = PjitFunction(f)
        T = trace_to_jaxpr_dynamic
        L = lower_sharding_computation
        C = backend_compile_and_load
        M = jit_f(1)
        N = jit_f(2)
        a = fusion.1 [convolution fusion] tf=jit(f)/dot :: %fusion.1 = bf16[8,128]{{1,0}} fusion(bf16[8,128]{{1,0}} %param.0, bf16[128,128]{{1,0}} %param.1), kind=kOutput
        b = fusion.2 [loop fusion] tf=jit(f)/add :: %fusion.2 = bf16[8,128]{{1,0}} fusion(bf16[8,128]{{1,0}} %fusion.1), kind=kLoop
        c = fusion.1 [convolution fusion] tf={provenance}/dot :: {changed}
        d = fusion.2 [loop fusion] tf={provenance}/add :: %fusion.2 = bf16[8,160]{{1,0}} fusion(bf16[8,160]{{1,0}} %fusion.1), kind=kLoop
        "
    );
    report(&text_trace(&picture), Scope::WholeTrace)
}

const LONGER: &str = "%fusion.1 = bf16[8,160]{1,0} fusion(bf16[8,160]{1,0} %param.0, bf16[128,128]{1,0} %param.1), kind=kOutput";

#[test]
fn recompilation_names_step_program_and_dimension() {
    let report = two_programs(LONGER, "jit(f)");
    let [row] = &report.list[..] else {
        panic!("{:?}", report.list)
    };
    assert_eq!(
        (row.function.as_str(), row.number, row.place),
        ("f", 1, Some(CompilePlace::InStep(1)))
    );
    assert_eq!(
        (row.program_before.as_deref(), row.program.as_deref()),
        (Some("jit_f(1)"), Some("jit_f(2)"))
    );
    assert_eq!(
        (row.again, row.ops_alike_percent),
        (Some(CompileEvidence::RanBefore), Some(Percent(100.0)))
    );
    assert_eq!(
        (row.wall_ps, row.exposed_ps, row.call_ps),
        (ps(15_000), Some(ps(15_000)), Some(ps(20_000)))
    );
    assert_eq!(
        (row.trace_ps, row.lower_ps, row.compile_ps, row.load_ps),
        (Some(ps(2_000)), Some(ps(2_000)), ps(11_000), None)
    );
    // Steps 0 and 2 take 10 columns, this one 20.
    assert_eq!(row.step_extra_ps, Some(ps(10_000)));
    assert_eq!(row.changed_in, Some(ChangeSource::OpText));
    let sentences: Vec<_> = row.changes.iter().map(ShapeChange::sentence).collect();
    assert_eq!(
        sentences,
        ["param.0 bf16[8,128] → bf16[8,160]: dim 1 128 → 160"]
    );
    let [function] = &report.functions[..] else {
        panic!("{:?}", report.functions)
    };
    assert_eq!(
        (function.calls, function.wall_steps, function.exposed_ps),
        (Some(2), Some(1.5), Some(ps(15_000)))
    );
    let runs: Vec<_> = function
        .programs
        .iter()
        .map(|run| (run.program.as_str(), run.executions))
        .collect();
    assert_eq!(runs, [("jit_f(1)", 1), ("jit_f(2)", 1)]);
}

#[test]
fn functions_sharing_a_name_are_not_recompilations() {
    let report = two_programs(LONGER, "jit(other)");
    let [row] = &report.list[..] else {
        panic!("{:?}", report.list)
    };
    assert_eq!(
        (row.again, row.ops_alike_percent, row.changed_in),
        (None, Some(Percent(0.0)), None)
    );
    assert_eq!(report.recompilations, 0);
}

#[test]
fn variants_of_a_function_are_found_without_compile_events() {
    let model = text_trace(
        "
        modules: MMMM.NNNN.MMMM.GG
        ops    : aaaa.cccc.aaaa.gg
        host python: x
        M = jit_f(1)
        N = jit_f(2)
        G = jit_g(3)
        a = fusion.1 [loop fusion] tf=jit(f)/add :: %fusion.1 = f32[8]{0} fusion(f32[8]{0} %fusion.3), kind=kLoop
        c = fusion.1 [loop fusion] tf=jit(f)/add :: %fusion.1 = f32[9]{0} fusion(f32[9]{0} %fusion.3), kind=kLoop
        g = fusion.1 [loop fusion] tf=jit(g)/add
        ",
    );
    let report = report(&model, Scope::WholeTrace);
    let [function] = &report.functions[..] else {
        panic!("{:?}", report.functions)
    };
    assert_eq!(
        (
            function.function.as_str(),
            function.compilations,
            function.first_ps
        ),
        ("f", 0, None)
    );
    assert_eq!(
        function
            .programs
            .iter()
            .map(|run| run.executions)
            .collect::<Vec<_>>(),
        [2, 1]
    );
    assert_eq!(
        function.changes[0].dims,
        [DimChange {
            dim: 0,
            from: 8,
            to: 9
        }]
    );
    assert_eq!((report.is_recorded, report.compilations), (false, 0));
    assert!(
        report.statement.contains("not known"),
        "{}",
        report.statement
    );
}

#[test]
fn concurrent_threads_are_separate_compilations() {
    let model = text_trace(
        "
        host one: PPPPPPPP....
                : .CCCCC......
        host two: ..QQQQQQQQ..
                : ...CCCCCC...
        host worker: ..WW......
        P = PjitFunction(f)
        Q = PjitFunction(g)
        C = backend_compile
        W = XlaCompile:#module=jit_g,program_id=3#
        ",
    );
    let report = report(&model, Scope::WholeTrace);
    let rows: Vec<_> = report
        .list
        .iter()
        .map(|row| (row.function.as_str(), row.compile_ps))
        .collect();
    assert_eq!(rows, [("f", ps(5_000)), ("g", ps(7_000))]);
    assert_eq!(
        (report.compilations, report.compile_ps),
        (2, Some(ps(8_000)))
    );
    let threads = |row: &Compilation| {
        row.threads
            .iter()
            .map(|thread| thread.thread.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (threads(&report.list[0]), threads(&report.list[1])),
        (
            vec!["one".to_owned()],
            vec!["two".to_owned(), "worker".to_owned()]
        )
    );
}

#[test]
fn ahead_of_time_compilation_has_phases() {
    let model = text_trace(
        "
        host python: TTLLL.CCCC....TLCC
        T = trace_to_jaxpr_dynamic
        L = lower_sharding_computation
        C = backend_compile#module=jit_f#
        ",
    );
    let report = report(&model, Scope::WholeTrace);
    let rows: Vec<_> = report
        .list
        .iter()
        .map(|row| {
            (
                row.start_ps.ps(),
                row.trace_ps,
                row.lower_ps,
                row.compile_ps,
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            (0, Some(ps(2_000)), Some(ps(3_000)), ps(4_000)),
            (14_000, Some(ps(1_000)), Some(ps(1_000)), ps(2_000))
        ]
    );
    let [function] = &report.functions[..] else {
        panic!("{:?}", report.functions)
    };
    assert_eq!(
        (
            function.function.as_str(),
            function.compilations,
            function.recompilations
        ),
        ("jit_f", 2, 1)
    );
}

#[test]
fn tensorflow_function_tracing_is_reported() {
    let model = text_trace(
        "
        host main: AAAAAAAAAA.BB.CCCCCCCC.EE
                 : ..DDDD...................
        A = increment#tf_function_call=traced-nonXla,tracing_count=1#
        B = increment#tf_function_call=notTraced-nonXla,tracing_count=1#
        C = increment#tf_function_call=traced-xla,tracing_count=2#
        D = inner#tf_function_call=eager#
        E = other#tf_function_call=concrete#
        ",
    );
    let report = report(&model, Scope::WholeTrace);
    let [increment, inner, other] = &report.tf_functions[..] else {
        panic!("{:?}", report.tf_functions)
    };
    assert_eq!(increment.function, "increment");
    assert_eq!(
        (increment.traced.calls, increment.traced.self_ps),
        (2, ps(14_000))
    );
    assert_eq!(
        (increment.not_traced.calls, increment.not_traced.self_ps),
        (1, ps(2_000))
    );
    assert_eq!((increment.tracing_count, increment.xla_calls), (Some(2), 1));
    assert_eq!(
        (increment.expensive_percent, increment.is_expensive),
        (Some(Percent(87.5)), true)
    );
    assert_eq!((inner.eager.self_ps, inner.is_expensive), (ps(4_000), true));
    assert_eq!((other.concrete.calls, other.is_expensive), (1, false));
    assert!(
        report
            .tables()
            .iter()
            .any(|table| table.id == "tf_functions")
    );
}
