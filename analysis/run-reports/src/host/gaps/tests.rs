use engine::{Cell, Options, ReportCache, Scope, Tabular as _};
use proptest::prelude::*;
use sample_traces::text_trace;
use trace_model::{TimeRange, Timestamp, TraceModel};

use super::*;

fn ps(time: i64) -> Picos {
    Picos::from_ps(time)
}

fn report(model: &TraceModel, scope: Scope) -> Result<GapsReport> {
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model,
        scope,
        options: &options,
        reports: &reports,
    };
    cx.report::<Gaps>().map(|report| report.as_ref().clone())
}

fn whole(picture: &str) -> DeviceGaps {
    report(&text_trace(picture), Scope::WholeTrace)
        .unwrap()
        .devices[0]
        .clone()
}

/// Cause and nanoseconds.
fn parts(causes: &[CauseTime]) -> Vec<(IdleCause, i64)> {
    causes
        .iter()
        .map(|part| (part.cause, part.time_ps.ps() / 1000))
        .collect()
}

const NAMES: &str = "
    A = jit_f(1)
    B = jit_g(2)
    c = backend_compile
    d = PjitFunction(f)
    p = batched_device_put
    w = block_until_ready
    u = $train.py:3 log
    i = IteratorGetNext
    t = Acquire semaphore
    x = Wait for usage holds
    h = np.asarray(jax.Array)
    s = algsimp
";

fn picture(rows: &str) -> String {
    format!("{rows}\n{NAMES}")
}

#[test]
fn every_idle_instant_has_one_cause_and_location() {
    let device = whole(&picture(
        "
        modules  : ....AA..........BB....
        host main: ccc.....wwuu.dppp...hh
        ",
    ));
    assert_eq!(
        (device.window_ps, device.program_ps, device.idle_ps),
        (ps(22_000), ps(4_000), ps(18_000))
    );
    assert_eq!(
        parts(&device.before),
        [(IdleCause::Compile, 3), (IdleCause::Unknown, 1)]
    );
    let between = [
        (IdleCause::HostToDevice, 2),
        (IdleCause::Dispatch, 1),
        (IdleCause::User, 2),
        (IdleCause::Wait, 2),
        (IdleCause::Unknown, 3),
    ];
    assert_eq!(parts(&device.between), between);
    assert_eq!(
        parts(&device.after),
        [(IdleCause::DeviceToHost, 2), (IdleCause::Unknown, 2)]
    );
    assert_eq!((device.count, device.between_ps()), (1, ps(10_000)));
    let first = &device.gaps[0];
    assert_eq!(
        (first.place, first.start_ps, first.length_ps),
        (GapPlace::Between, Timestamp::from_ps(6_000), ps(10_000))
    );
    assert_eq!(
        (first.after.as_deref(), first.before.as_deref()),
        (Some("jit_f(1)"), Some("jit_g(2)"))
    );
}

/// A thread that waits, or whose event merely encloses others, hides no cause.
#[test]
fn innermost_known_event_of_the_best_thread_decides() {
    let device = whole(&picture(
        "
        modules  : AA..............BB
        host main: wwwwwwddddddddddww
                 : ......ppccccttuu..
                 : ........xxss......
        host pool: ....cc............
        ",
    ));
    let between = [
        (IdleCause::Compile, 6),
        (IdleCause::HostToDevice, 2),
        (IdleCause::Dispatch, 2),
        (IdleCause::Wait, 4),
    ];
    assert_eq!(parts(&device.between), between);
}

/// Pollers and idle pools are always active; loaders work ahead.
#[test]
fn other_threads_explain_only_the_remaining_time() {
    let device = whole(&picture(
        "
        modules    : AA..........BB
        host main  : ddwwwwuuuu..dd
        host poller: uuuuuuuuuuuuuu
        host loader: iiiiiiii...iii
        ",
    ));
    let between = [
        (IdleCause::Input, 5),
        (IdleCause::User, 4),
        (IdleCause::Unknown, 1),
    ];
    assert_eq!(parts(&device.between), between);
    assert_eq!(device.between[0].event.as_deref(), Some("IteratorGetNext"));
    assert_eq!(device.between[1].event_ps, Some(ps(4_000)));
}

#[test]
fn adjacent_ranges_sum_to_the_idle_time() {
    let model = text_trace(&picture(
        "modules  : ..AA.......BB..\nhost main: cc..wwuuddpp.hh",
    ));
    let at = Timestamp::from_ps;
    let part = |from, to| {
        report(&model, Scope::Range(TimeRange::new(at(from), at(to))))
            .unwrap()
            .devices[0]
            .clone()
    };
    let (all, head, tail) = (
        report(&model, Scope::WholeTrace).unwrap().devices[0].clone(),
        part(0, 6_500),
        part(6_500, 15_000),
    );
    for cause in IdleCause::ALL {
        assert_eq!(
            all.time_ps(cause),
            head.time_ps(cause) + tail.time_ps(cause),
            "{cause:?}"
        );
    }
    assert_eq!((head.gaps.len(), tail.gaps.len()), (2, 2));
    // The remaining part of a gap starts at the start of the range.
    assert_eq!(
        tail.gaps.iter().map(|gap| gap.start_ps).min(),
        Some(Timestamp::from_ps(6_500))
    );
}

#[test]
fn idle_time_is_split_over_steps() {
    let device = whole(&picture(
        "
        steps    : 00000011111122
        modules  : AA....AA....AA
        host main: ddwwwwddppppww
        ",
    ));
    let steps: Vec<_> = device
        .steps
        .iter()
        .map(|step| (step.step, parts(&step.causes)))
        .collect();
    assert_eq!(
        steps,
        [
            (0, vec![(IdleCause::Wait, 4)]),
            (1, vec![(IdleCause::HostToDevice, 4)]),
            (2, vec![])
        ]
    );
    assert_eq!(
        device.gaps.iter().map(|gap| gap.step).collect::<Vec<_>>(),
        [Some(0), Some(1)]
    );
}

#[test]
fn idle_time_within_programs_uses_the_device_clock() {
    let device = whole(&picture(
        "
        @device-clock 500ns
        modules: AAAAAAAA..AAAA
        ops    : .ee...e...ee.e
        e = fusion.1 [loop fusion]
        ",
    ));
    let inside = device.inside.unwrap();
    assert_eq!(
        (inside.program_ps, inside.idle_ps, inside.edges_ps),
        (ps(12_000), ps(6_000), ps(2_000))
    );
    assert_eq!(
        (inside.longest_ps, inside.longest_after.as_deref()),
        (ps(3_000), Some("fusion.1"))
    );
    assert_eq!(inside.long_gaps, 0);
}

/// A gap in which mostly nothing was recorded names what was.
#[test]
fn unexplained_gaps_name_what_overlaps_them() {
    let rows = "
        modules  : AA....................BB
        host main: ..ccc.....hh............
        ";
    let device = whole(&picture(rows));
    assert_eq!(
        parts(&device.gaps[0].causes),
        [
            (IdleCause::Compile, 3),
            (IdleCause::DeviceToHost, 2),
            (IdleCause::Unknown, 15)
        ]
    );
    let report = report(&text_trace(&picture(rows)), Scope::WholeTrace).unwrap();
    let table = Tabular::tables(&report)
        .into_iter()
        .find(|table| table.id == "gaps")
        .unwrap();
    let cell = |id: &str| {
        let column = table
            .columns
            .iter()
            .position(|column| column.id == id)
            .unwrap();
        format!("{:?}", table.rows[0][column])
    };
    assert!(
        cell("cause").contains("compiling") && cell("event").contains("backend_compile"),
        "{:?}",
        table.rows
    );
    assert!(
        cell("also").contains("device to host 2.000 ns (np.asarray(jax.Array))"),
        "{}",
        cell("also")
    );
    assert!(
        cell("cause_percent").contains("15.0") && cell("unexplained_percent").contains("75.0"),
        "{:?}",
        table.rows
    );
    let said = "of that the host shows compiling 15.0 %, device to host 10.0 %, nothing for 75.0 %";
    assert!(report.statement.ends_with(said), "{}", report.statement);
    let main = "with nothing recorded on the host (75.0 % of it; 15.0 % while the host compiles (backend_compile))";
    assert_eq!(report.main_cause().as_deref(), Some(main));
}

/// The class of an event is inherited by what nests in it, and by nothing else.
#[test]
fn overlapping_events_inherit_nothing() {
    // Each event from the second on begins in the one before it and ends after it.
    let device = whole(&picture(
        "
        modules  : AA................BB
        host main: ..cccc....pppp......
                 : .....uuuuuu..........
                 : ....................d
        ",
    ));
    let between = [
        (IdleCause::Compile, 3),
        (IdleCause::HostToDevice, 4),
        (IdleCause::User, 5),
        (IdleCause::Unknown, 4),
    ];
    assert_eq!(parts(&device.between), between);
}

#[test]
fn inapplicable_analysis_gives_a_reason() {
    let error = |picture: &str| {
        report(&text_trace(picture), Scope::WholeTrace)
            .unwrap_err()
            .to_string()
    };
    assert!(error("host main: aa").contains("no TPU device"));
    assert!(error("ops: aa.bb").contains("XLA Modules"));
    let device_only = report(
        &text_trace("modules: AA.AA\n A = jit_f(1)"),
        Scope::WholeTrace,
    )
    .unwrap();
    assert!(
        device_only
            .statement
            .ends_with("no host thread was recorded, so the reasons are not known")
    );
    assert_eq!(
        parts(&device_only.devices[0].between),
        [(IdleCause::Unknown, 1)]
    );
}

#[test]
fn tables_are_rectangular() {
    let picture =
        picture("steps: 0011\nmodules: A.A.\nops: e.e.\nTPU:1 modules: A..A\nhost main: ddcc");
    let report = report(&text_trace(&picture), Scope::WholeTrace).unwrap();
    for table in Tabular::tables(&report) {
        assert!(
            table
                .rows
                .iter()
                .all(|row| row.len() == table.columns.len()),
            "{}",
            table.id
        );
    }
}

/// One of two devices waits for the host: time and event are means over both.
#[test]
fn events_take_no_longer_than_the_causes_that_they_are_part_of() {
    let model = text_trace(&picture(
        "
        TPU:0 modules: AA....BB
        TPU:1 modules: AABBBBBB
        host main    : ddpppp..
        ",
    ));
    let tables = report(&model, Scope::WholeTrace).unwrap().tables();
    let place = |id: &str| tables[0].columns.iter().position(|column| column.id == id);
    let cell = |row: &[Cell], id: &str| row[place(id).unwrap()].clone();
    let of_host = Cell::text("host to device");
    let mut rows = tables[0].rows.iter();
    let row = rows.find(|row| cell(row, "cause") == of_host).unwrap();
    assert_eq!(cell(row, "time_ps"), Cell::Int(2_000));
    assert_eq!(cell(row, "event_ps"), Cell::Int(2_000));
}

proptest! {
    /// Whether the host is read while programs run makes no difference.
    #[test]
    fn gaps_are_the_same_if_busy_spans_are_skipped(
        devices in prop::collection::vec("[.AAABBB]{1,40}", 2),
        threads in prop::collection::vec("[.ccdpwuuihs]{1,40}", 2),
        inner in "[....dpwuh]{1,40}",
    ) {
        let model = text_trace(&picture(&format!(
            "TPU:0 modules: {}\nTPU:1 modules: {}\nhost main: {}\n: {inner}\nhost pool: {}",
            devices[0], devices[1], threads[0], threads[1]
        )));
        let (options, reports) = (Options::default(), ReportCache::default());
        let cx = Context { model: &model, scope: Scope::WholeTrace, options: &options, reports: &reports };
        let cores = cx.tensor_cores();
        let gaps = |worth: i64| format!("{:?}", devices_of(&cx, model.host_of(cores[0]), &cores, None, ps(worth)));
        prop_assert_eq!(gaps(0), gaps(i64::MAX));
    }
}
