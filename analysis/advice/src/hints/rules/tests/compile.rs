//! Compilation, lazy tensors and many small programs.

use trace_model::Picos;

use super::{cannot_tell, ids, report, run, saving};

/// Twenty steps of 10 ms on a host; in step 9 a compilation of so many columns of 1 ms.
pub(super) fn host_loop(columns: usize, function: &str) -> String {
    let step = |number: usize| {
        run(
            char::from(b'A' + number as u8),
            if number == 9 { 10 + columns } else { 10 },
        )
    };
    let steps: String = (0..20).map(step).collect();
    let legend: Vec<_> = (0..20)
        .map(|n| format!("{} = train step={n}\n", char::from(b'A' + n as u8)))
        .collect();
    let legend = legend.concat();
    let before = run('.', 92);
    format!(
        "
        @column 1ms
        host python: {steps}
                   : {before}{}
                   : {before}{}
        host other: d
        {legend}
        d = PjitFunction(other)
        p = PjitFunction({function})
        c = backend_compile
        ",
        run('p', columns),
        run('c', columns),
    )
}

#[test]
fn recompiling_steps_are_named() {
    // 11 of 211 ms.
    let found = report(&host_loop(11, "f"));
    let hint = found.hints.iter().find(|hint| hint.id == "K36").unwrap();
    assert!(
        hint.statement.contains("f in step 9") && hint.statement.contains("once"),
        "{}",
        hint.statement
    );
    // Of twenty steps one is 11 ms longer.
    assert_eq!(hint.saving_ps, Some(Picos::from_ps(550_000_000)));
    assert!(
        hint.spots
            .iter()
            .any(|spot| spot.name == "backend_compile" && spot.slice.is_some()),
        "{:?}",
        hint.spots
    );
    assert!(!ids(&host_loop(10, "f")).contains(&"K36"));
    // Nothing was compiled: nothing to say, though one could have seen it.
    let quiet = report(&host_loop(0, "f"));
    assert!(
        ["K36", "K37", "K38"]
            .iter()
            .all(|id| quiet.quiet.contains(id)),
        "{:?}",
        quiet.quiet
    );
    let no_host = report("ops: MMMM\nM = fusion.1 [convolution fusion]");
    assert!(
        ["K36", "K37", "K38"]
            .iter()
            .all(|id| cannot_tell(&no_host, id))
    );
}

/// A call that compiles does more than that: all by which its step is longer than the others is saved.
#[test]
fn what_compiling_costs_is_what_its_step_takes_longer() {
    let picture = host_loop(30, "f").replace(
        &format!("{}{}", run('.', 92), run('c', 30)),
        &format!("{}{}", run('.', 92), run('c', 20)),
    );
    assert_eq!(saving(&picture, "K36"), Some(1_500_000_000));
    let found = report(&picture);
    let hint = found.hints.iter().find(|hint| hint.id == "K36").unwrap();
    assert!(
        hint.statement
            .ends_with("f in step 9, which takes 30.00 ms longer than the others"),
        "{}",
        hint.statement
    );
}

/// Two threads compile at once for the 20 ms by which their step is longer.
#[test]
fn compiling_on_several_threads_saves_the_time_once() {
    let picture = host_loop(20, "f").replace(
        "host other: d\n",
        &format!(
            "host other: d\n                   : {0}{1}\n                   : {0}{2}\n",
            run('.', 92),
            run('q', 20),
            run('c', 20)
        ),
    ) + "\nq = PjitFunction(g)\n";
    let found = report(&picture);
    let hint = found.hints.iter().find(|hint| hint.id == "K36").unwrap();
    assert!(
        hint.statement.contains("compiling takes 20.00 ms"),
        "{}",
        hint.statement
    );
    assert!(!hint.statement.contains("longer"), "{}", hint.statement);
    assert_eq!(hint.saving_ps, Some(Picos::from_ps(1_000_000_000)));
}

#[test]
fn compilation_in_the_first_steps_is_warm_up() {
    let picture = "
        @column 1ms
        host python: AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDDDDDDDDD
                   : .ppppppp
                   : .ccccccc
        A = train step=0
        B = train step=1
        C = train step=2
        D = train step=3
        p = PjitFunction(f)
        c = backend_compile
        ";
    let found = report(picture);
    assert_eq!(super::about_program(&found), ["K49"]);
    let hint = found.hints.iter().find(|hint| hint.id == "K49").unwrap();
    // 7 of 40 ms, once: a warm step is not shorter for it.
    assert_eq!(
        (hint.once_ps, hint.saving_ps, hint.saving_percent),
        (Some(Picos::from_ps(7_000_000_000)), None, None)
    );
    assert!(
        hint.statement.contains("7.000 ms, 17.5 % of the capture"),
        "{}",
        hint.statement
    );
    assert!(hint.statement.contains("f in step 0"), "{}", hint.statement);
}

#[test]
fn recompilation_counts_functions_that_had_run() {
    let picture = |second: &str| {
        format!(
            "
            @column 1ms
            host python: pppp{}{second}{}
                       : .cc.{}ccc
            p = PjitFunction(f)
            q = PjitFunction(f)
            r = PjitFunction(g)
            c = backend_compile
            ",
            run('.', 20),
            run('.', 20),
            run('.', 21),
        )
    };
    // The same compilation and the same time as that of the loop: one hint, two remedies.
    let hint = report(&picture("qqqqq"))
        .hints
        .iter()
        .find(|hint| hint.id == "K36")
        .cloned()
        .unwrap();
    let [again] = &hint.also[..] else {
        panic!("{:?}", hint.also)
    };
    assert_eq!(again.id, "K37");
    assert!(
        again.statement.contains("compiled again: f once"),
        "{}",
        again.statement
    );
    assert!(
        again.statement.contains("not recorded"),
        "{}",
        again.statement
    );
    assert_eq!(ids(&picture("qqqqq")), ["K36", "K37"]);
    assert!(!ids(&picture("rrrrr")).contains(&"K37"));
}

#[test]
fn long_compilation_suggests_a_cache() {
    let picture = |seconds: usize, event: &str| {
        format!(
            "@column 1s\nhost python: {}..h\nc = backend_compile\nh = {event}",
            run('c', seconds)
        )
    };
    assert_eq!(ids(&picture(10, "x")), ["K49", "K38"]);
    assert!(!ids(&picture(9, "x")).contains(&"K38"));
    assert!(!ids(&picture(10, "TfrtTpuClient::DeserializeExecutable")).contains(&"K38"));
    assert_eq!(saving(&picture(10, "x"), "K38"), None);
}

/// Graphs of lazy tensors, each so many columns, with or without a mark around each.
pub(super) fn lazy(marks: bool, columns: usize, extra: &str) -> String {
    let one = format!("{}{extra}.", run('s', columns));
    let around = format!(
        "{}{}.",
        run(if marks { 'm' } else { '.' }, columns),
        ".".repeat(extra.len())
    );
    format!(
        "
        @column 1s
        host python: {}
                   : {}
        m = StepMarker
        s = SyncTensorsGraph
        e = SyncLiveTensorsGraph
        ",
        around.repeat(4),
        one.repeat(4)
    )
}

#[test]
fn lazy_tensors_need_step_marks() {
    assert!(ids(&lazy(false, 2, "")).contains(&"K39"));
    assert!(!ids(&lazy(true, 29, "")).contains(&"K39"));
    let long = report(&lazy(true, 30, ""));
    let hint = long.hints.iter().find(|hint| hint.id == "K39").unwrap();
    assert!(
        hint.statement.contains("more than a step"),
        "{}",
        hint.statement
    );
    assert!(
        report(&host_loop(0, "f")).quiet.contains(&"K39"),
        "no lazy tensors, nothing to mark"
    );
}

#[test]
fn lazy_tensor_reads_within_steps_are_counted() {
    let cut = report(&lazy(true, 2, ".e"));
    let hint = cut.hints.iter().find(|hint| hint.id == "K40").unwrap();
    assert!(
        hint.statement.contains("graphs are cut 1.0 times"),
        "{}",
        hint.statement
    );
    assert!(!ids(&lazy(true, 2, "")).contains(&"K40"));
    assert!(cannot_tell(&report(&lazy(false, 2, "")), "K40"));
}

/// So many programs, each of one op of so many µs, with gaps of 20 µs.
pub(super) fn programs(count: usize, us: usize) -> String {
    let letter = |k: usize| {
        char::from(if k < 26 {
            b'A' + k as u8
        } else {
            b'a' + (k - 26) as u8
        })
    };
    let modules: Vec<_> = (0..count)
        .map(|k| format!("{}{}", run(letter(k), us), run('.', 20)))
        .collect();
    let legend: Vec<_> = (0..count)
        .map(|k| format!("{} = jit_f{k}({k})\n", letter(k)))
        .collect();
    let (modules, legend) = (modules.concat(), legend.concat());
    let ops = format!("{}{}", run('z', us), run('.', 20)).repeat(count);
    format!("@column 1us\nmodules: {modules}\nops: {ops}\nz = fusion.1 [loop fusion]\n{legend}")
}

#[test]
fn many_small_programs_cost_launch_time() {
    assert!(ids(&programs(10, 49)).contains(&"K41"));
    assert_eq!(saving(&programs(10, 49), "K41"), Some(9 * 20_000_000));
    assert!(!ids(&programs(9, 49)).contains(&"K41"));
    assert!(!ids(&programs(10, 50)).contains(&"K41"));
    assert!(cannot_tell(
        &report("ops: MMMM\nM = fusion.1 [convolution fusion]"),
        "K41"
    ));
}
