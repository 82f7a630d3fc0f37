//! Compilation on drawn traces.

use super::*;
use crate::{Options, ReportCache, Scope, Tabular as _};
use sample_traces::text_trace;
use trace_model::TraceModel;

fn report(model: &TraceModel, scope: Scope) -> CompileReport {
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context { model, scope, options: &options, reports: &reports };
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

#[test]
fn threads_share_one_compilation() {
    let report = report(&text_trace(ONE), Scope::WholeTrace);
    // Columns are 1 ns; the worker outlives the call by one column.
    assert_eq!(report.wall_ps, Some(13_000));
    assert_eq!((report.compile_ps, report.lower_ps, report.trace_ps), (Some(9_000), Some(2_000), Some(2_000)));
    assert_eq!(report.load_ps, Some(0));
    assert_eq!(report.thread_time_ps, Some(20_000));
    assert_eq!(report.exposed_ps, Some(9_000));
    assert_eq!((report.compilations, report.recompilations), (1, 0));
    assert_eq!(report.functions[0].function, "f");
    assert_eq!(report.execute_mean_ps, Some(8_000));
}

#[test]
fn phases_add_up_to_the_whole() {
    let report = report(&text_trace(ONE), Scope::WholeTrace);
    let phases = [report.compile_ps, report.lower_ps, report.trace_ps, report.load_ps];
    assert_eq!(phases.into_iter().flatten().sum::<i64>(), report.wall_ps.unwrap());
}

#[test]
fn compiling_again_is_counted_by_function() {
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
    let of = |name: &str| report.functions.iter().find(|function| function.function == name).unwrap();
    // f: the second time. g: ran once without compiling, so its first is one too. h: for the first time.
    assert_eq!((of("f").compilations, of("f").recompilations), (2, 1));
    assert_eq!((of("g").compilations, of("g").recompilations), (1, 1));
    assert_eq!(of("h").recompilations, 0);
    assert_eq!((report.compilations, report.recompilations), (4, 2));
    assert_eq!(report.functions[0].function, "f");
    assert_eq!(of("f").longest_ps, 4_000);
}

#[test]
fn nothing_compiled_is_said_and_not_zero() {
    let report = report(&text_trace("host python: PPPP\n P = PjitFunction(f)"), Scope::WholeTrace);
    assert_eq!(report.statement, "no compilation in the captured window");
    assert_eq!((report.wall_ps, report.compile_ps, report.share_percent), (None, None, None));
    assert_eq!(report.exposed_ps, None);
    assert!(report.tables()[0].rows.iter().all(|row| row[1] == crate::Cell::Missing));
}

#[test]
fn short_loads_are_checks() {
    let picture = "@column 1us\n host python: LLLL.KKKKKKKKKKKKKKKK\n L = LoadProgram\n K = LoadProgram";
    assert_eq!(report(&text_trace(picture), Scope::WholeTrace).load_ps, None);
    let long = picture.replace("1us", "1ms");
    assert_eq!(report(&text_trace(&long), Scope::WholeTrace).load_ps, Some(20_000_000_000));
}

#[test]
fn a_window_cuts_compilation_off() {
    let range = TimeRange::new(trace_model::Timestamp::from_ps(10_000), trace_model::Timestamp::from_ps(14_000));
    let report = report(&text_trace(ONE), Scope::Range(range));
    assert_eq!((report.window_ps, report.wall_ps), (4_000, Some(4_000)));
}
