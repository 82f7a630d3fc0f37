use engine::{Options, ReportCache, Scope};
use trace_model::{
    GroupKind, Op, SliceSpec, TimeRange, Timestamp, TraceBuilder, TraceModel, TrackKind, UnitSlots,
};

use super::*;

fn report_of(model: &TraceModel) -> Result<CodeReport> {
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    cx.report::<Code>().map(|report| report.as_ref().clone())
}

/// Ops one after the other, with the given lengths, and the code of `dot` where given.
fn trace(ops: &[(&str, i64, Option<[u64; 3]>)]) -> TraceModel {
    let mut builder = TraceBuilder::new();
    let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
    let track = builder.track(core, TrackKind::Ops, 0, "XLA Ops");
    let mut now = 0;
    for (name, len, used) in ops {
        let units = ["MATMUL", "VSTORE", "VSTORE:SPILL"].map(|unit| builder.intern(unit));
        let slots = |(unit, (used, per_bundle))| UnitSlots {
            unit,
            used,
            per_bundle,
        };
        let emitted_for = builder.intern("dot");
        let bundles = used.map(|used| Bundles {
            count: 10,
            units: units
                .into_iter()
                .zip(used.into_iter().zip([4, 1, 1]))
                .map(slots)
                .collect(),
            emitted_for,
            ..Bundles::default()
        });
        let name_id = builder.intern(name);
        let op = builder.op(Op {
            name: name_id,
            bundles: bundles.map(Box::new),
            ..Op::default()
        });
        let label = builder.label(name, Some(op));
        let range = TimeRange::new(Timestamp::from_ps(now), Timestamp::from_ps(now + len));
        builder.add_slice(track, SliceSpec::new(range, label));
        now += len;
    }
    builder.finish()
}

#[test]
fn shares_are_of_the_bundle_slots() {
    let report = report_of(&trace(&[
        ("dot", 30, Some([38, 5, 5])),
        ("add", 60, Some([0, 6, 0])),
        ("copy", 10, None),
    ]))
    .unwrap();
    let row = |at: usize| {
        let row: &CodeRow = &report.rows[at];
        (
            &*row.name,
            row.busiest.as_deref(),
            row.busiest_percent.map(|share| share.0),
            row.spills,
            row.fills,
        )
    };
    assert_eq!(row(0), ("add", Some("VSTORE"), Some(60.0), Some(0), None));
    // Spills are stores: 5 of 10 slots, and all of them due to a lack of registers.
    assert_eq!(row(1), ("dot", Some("MATMUL"), Some(95.0), Some(5), None));
    assert_eq!(report.rows[0].shares_code_of.as_deref(), Some("dot"));
    assert_eq!(
        (report.rows[1].shares_code_of.as_deref(), report.rows.len()),
        (None, 2)
    );
    assert!(
        report.notes.iter().any(|note| note.contains("90.0 %")),
        "{:?}",
        report.notes
    );
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("1 of 2 ops (dot) run out of registers")),
        "{:?}",
        report.notes
    );
}

#[test]
fn not_applicable_without_a_dump() {
    let error = report_of(&trace(&[("dot", 1, None)]))
        .unwrap_err()
        .to_string();
    assert!(error.contains("--llo"), "{error}");
    // Code without bundles has no shares.
    let mut model = trace(&[("dot", 1, Some([0, 0, 0]))]);
    assert_eq!(report_of(&model).unwrap().rows[0].busiest, None);
    model = trace(&[]);
    assert!(report_of(&model).is_err());
}

/// The same code, with what its text and the report on memory say.
#[test]
fn limit_follows_from_registers_memory_waiting_and_units() {
    let limit = |used: [u64; 3], empty: u64, vmem: u64| {
        let mut builder = TraceBuilder::new();
        let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
        let track = builder.track(core, TrackKind::Ops, 0, "XLA Ops");
        let units = ["MXU", "VALU", "VSTORE:SPILL", "VSTORE"].map(|unit| builder.intern(unit));
        let units = units.into_iter().zip(used.into_iter().chain([10]));
        let slots = |(unit, used)| UnitSlots {
            unit,
            used,
            per_bundle: 4,
        };
        let (name, after) = (builder.intern("dot"), builder.intern("sbr.rel"));
        let bundles = Bundles {
            count: 10,
            units: units.map(slots).collect(),
            emitted_for: name,
            text: Some(trace_model::CodeText {
                empty,
                matmuls: used[0],
                dma_waits: 3,
                stalls: vec![trace_model::EmptyRuns {
                    after,
                    runs: 1,
                    bundles: empty,
                }],
            }),
            vmem: Some(trace_model::VmemUse {
                bytes: vmem,
                spill_bytes: 0,
                limit_bytes: Some(1000),
            }),
            live_registers: Some(70),
        };
        let op = builder.op(Op {
            name,
            bundles: Some(Box::new(bundles)),
            ..Op::default()
        });
        let label = builder.label("dot", Some(op));
        let range = TimeRange::new(Timestamp::from_ps(0), Timestamp::from_ps(5));
        builder.add_slice(track, SliceSpec::new(range, label));
        report_of(&builder.finish()).unwrap()
    };
    let of = |report: &CodeReport| (report.rows[0].limit, report.rows[0].most);
    let (limited, most) = (
        |limit| (Some(limit), None::<CodeLimit>),
        |most| (None::<CodeLimit>, Some(most)),
    );
    let report = limit([24, 4, 0], 1, 500);
    let row = &report.rows[0];
    assert_eq!(
        (
            row.empty_bundles,
            row.matmuls,
            row.dma_waits,
            row.empty_after.as_deref()
        ),
        (Some(1), Some(24), Some(3), Some("sbr.rel"))
    );
    assert_eq!(
        (row.vmem_bytes, row.vmem_percent, row.empty_percent),
        (Some(500), Some(Percent(50.0)), Some(Percent(10.0)))
    );
    // Of 40 slots of a unit, and 10 bundles.
    for (used, empty, vmem, expected) in [
        ([24, 4, 0], 1, 500, limited(CodeLimit::MatrixUnits)),
        ([20, 4, 0], 1, 500, most(CodeLimit::MatrixUnits)),
        ([4, 24, 0], 1, 500, limited(CodeLimit::Elementwise)),
        ([4, 1, 0], 3, 500, most(CodeLimit::Waiting)),
        ([4, 1, 0], 6, 500, limited(CodeLimit::Waiting)),
        ([4, 1, 0], 6, 900, limited(CodeLimit::Vmem)),
        ([4, 1, 0], 1, 900, limited(CodeLimit::Vmem)),
        // Six of ten stores are spills, or five; a busier unit limits the code all the same.
        ([4, 1, 6], 1, 900, limited(CodeLimit::Registers)),
        ([4, 1, 5], 1, 500, most(CodeLimit::LoadsAndStores)),
        ([4, 1, 6], 6, 500, limited(CodeLimit::Waiting)),
        ([24, 4, 6], 1, 900, limited(CodeLimit::MatrixUnits)),
    ] {
        assert_eq!(
            of(&limit(used, empty, vmem)),
            expected,
            "{used:?} {empty} {vmem}"
        );
    }
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.starts_with("matrix units: "))
    );
    // What has no majority is no limit that could be moved.
    let most = limit([20, 4, 0], 1, 500);
    assert!(
        !most.notes.iter().any(|note| note.contains("matrix units")),
        "{:?}",
        most.notes
    );
}
