//! Programs beside times, on a small program with a known answer.

use std::sync::Arc;

use engine::{Options, ReportCache, Scope};
use trace_model::{
    GroupKind, Op, Picos, ProgramBytes, SliceSpec, TimeRange, Timestamp, TraceBuilder, TraceModel,
    TrackKind,
};

use super::*;

const TEXT: &str = "HloModule jit_f

%fused (p.1: bf16[8,4], p.2: bf16[4,16]) -> f32[8,16] {
  %p.1 = bf16[8,4]{1,0} parameter(0)
  %p.2 = bf16[4,16]{1,0} parameter(1)
  ROOT %conv = f32[8,16]{1,0} convolution(%p.1, %p.2), dim_labels=bf_io->bf
}

ENTRY %main (a: bf16[8,4], b: bf16[4,16]) -> f32[8,16] {
  %a = bf16[8,4]{1,0} parameter(0)
  %b = bf16[4,16]{1,0} parameter(1)
  %copy.1 = bf16[4,16]{1,0} copy(%b)
  %fusion.1 = f32[8,16]{1,0:T(8,128)} fusion(%a, %copy.1), kind=kOutput, calls=%fused, metadata={op_name=\"jit(f)/dot\"}
  %all-reduce.2 = f32[8,16]{1,0} all-reduce(%fusion.1), replica_groups={{0,1},{2,3}}, to_apply=%add
  ROOT %negate = f32[8,16]{1,0} negate(%all-reduce.2)
}
";

/// Ops of `jit_f` one after the other: name, category, length.
const RAN: [(&str, &str, i64); 3] = [
    ("copy.1", "copy", 10),
    ("fusion.1", "convolution fusion", 50),
    ("all-reduce.2", "all-reduce", 40),
];

/// The program with its text, or only with the lines of its ops.
fn trace(text: Option<&str>, lines: &str) -> TraceModel {
    let mut builder = TraceBuilder::new();
    let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
    let track = builder.track(core, TrackKind::Ops, 0, "XLA Ops");
    let program = builder.program("jit_f", Some(7));
    if let Some(text) = text {
        builder.set_program_hlo(
            program,
            ProgramBytes::new(Arc::new(text.to_owned()), 0..text.len()),
        );
    }
    let mut at = 0;
    for (name, category, length) in RAN {
        let line = lines
            .lines()
            .find(|line| line.trim_start().starts_with(&format!("%{name} =")));
        let op = Op {
            name: builder.intern(name),
            category: Some(builder.intern(category)),
            program: Some(program),
            hlo_text: line.map(|line| builder.intern(line.trim())),
            ..Op::default()
        };
        let op = builder.op(op);
        let label = builder.label(name, Some(op));
        let range = TimeRange::at(Timestamp::from_ps(at), Picos::from_ps(length));
        builder.add_slice(track, SliceSpec::new(range, label));
        at += length;
    }
    builder.finish()
}

fn with<T>(model: &TraceModel, ask: impl FnOnce(&Context<'_>, ProgramId) -> T) -> T {
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    let program = model.program_ids().next().unwrap();
    ask(&cx, program)
}

fn names(found: &Neighbourhood, relation: NodeRelation) -> Vec<(&str, u32)> {
    let own = found.nodes.iter().filter(|node| node.relation == relation);
    own.map(|node| (&*node.op.name, node.distance)).collect()
}

#[test]
fn neighbourhood_has_operands_users_and_body_with_times() {
    let model = trace(Some(TEXT), "");
    let reach = |radius| Reach {
        radius,
        ..Reach::default()
    };
    let found = with(&model, |cx, program| {
        neighbourhood(cx, program, "fusion.1", reach(2)).unwrap()
    });
    assert_eq!(names(&found, NodeRelation::Center), [("fusion.1", 0)]);
    assert_eq!(
        names(&found, NodeRelation::Operand),
        [("a", 1), ("copy.1", 1), ("b", 2)]
    );
    assert_eq!(
        names(&found, NodeRelation::User),
        [("all-reduce.2", 1), ("negate", 2)]
    );
    assert_eq!(
        names(&found, NodeRelation::Inside),
        [("p.1", 0), ("p.2", 0), ("conv", 0)]
    );
    assert_eq!(
        (found.called_by.len(), found.calls.as_slice()),
        (0, ["fused".to_owned()].as_slice())
    );
    let of = |name: &str| {
        &found
            .nodes
            .iter()
            .find(|node| &*node.op.name == name)
            .unwrap()
            .op
    };
    assert_eq!(
        (
            of("fusion.1").self_time_ps,
            of("fusion.1").self_of_op_time_percent
        ),
        (Some(Picos::from_ps(50)), Some(Percent(50.0)))
    );
    assert_eq!(
        of("fusion.1").shape.as_deref(),
        Some("f32[8,16]{1,0:T(8,128)}")
    );
    assert_eq!(
        (of("negate").self_time_ps, of("conv").self_time_ps),
        (None, None),
        "no slice is theirs"
    );
    assert_eq!(
        (of("all-reduce.2").exposed_ps, of("copy.1").exposed_ps),
        (Some(Picos::from_ps(40)), None)
    );
    let edge = |from: &str, to: &str| {
        let at = |name: &str| {
            found
                .nodes
                .iter()
                .position(|node| &*node.op.name == name)
                .unwrap()
        };
        found
            .edges
            .iter()
            .find(|edge| (edge.from, edge.to) == (at(from), at(to)))
            .map(|edge| edge.operand)
    };
    assert_eq!(
        (
            edge("copy.1", "fusion.1"),
            edge("p.2", "conv"),
            edge("a", "negate")
        ),
        (Some(1), Some(1), None)
    );

    let near = with(&model, |cx, program| {
        neighbourhood(cx, program, "fusion.1", Reach { radius: 2, most: 3 }).unwrap()
    });
    assert_eq!(
        (near.nodes.len(), near.left_out, near.left_out_inside),
        (6, 3, 0),
        "three around it and its body"
    );
    let inner = with(&model, |cx, program| {
        neighbourhood(cx, program, "conv", reach(1)).unwrap()
    });
    assert_eq!(inner.called_by, ["fusion.1"]);
    let error = with(&model, |cx, program| {
        neighbourhood(cx, program, "no such", reach(1)).unwrap_err()
    });
    assert!(
        error.to_string().contains("jit_f(7) has no instruction"),
        "{error}"
    );
}

#[test]
fn op_text_lines_replace_a_missing_program() {
    let model = trace(None, TEXT);
    let found = with(&model, |cx, program| {
        neighbourhood(cx, program, "fusion.1", Reach::default()).unwrap()
    });
    assert_eq!(found.known_from, ProgramOrigin::OpTexts);
    assert_eq!(
        names(&found, NodeRelation::Operand),
        [("copy.1", 1), ("a", 1), ("b", 2)]
    );
    assert_eq!(names(&found, NodeRelation::Inside), []);
    assert!(
        found.notes[0].contains("only the ops that ran"),
        "{:?}",
        found.notes
    );

    let nothing = trace(None, "");
    let error = with(&nothing, |cx, program| {
        neighbourhood(cx, program, "fusion.1", Reach::default()).unwrap_err()
    });
    assert!(error.to_string().contains("holds no HLO"), "{error}");
}

#[test]
fn programs_can_be_listed_searched_and_printed() {
    let model = trace(Some(TEXT), "");
    let list = with(&model, |cx, _| programs(cx));
    let row = &list.rows[0];
    assert_eq!(
        (row.program.as_str(), row.origin),
        ("jit_f(7)", Some(ProgramOrigin::Program))
    );
    assert_eq!(
        (row.runs, row.self_time_ps, row.self_of_op_time_percent),
        (None, Some(Picos::from_ps(100)), Some(Percent(100.0)))
    );

    let found = |query: &str| {
        let query = HloQuery::parse(query);
        let all = with(&model, |cx, program| find(cx, &[program], &query));
        all.rows
            .into_iter()
            .map(|row| row.op.name.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(found("opcode:parameter shape:bf16[4"), ["b", "p.2"]);
    assert_eq!(found("groups:{2,3}"), ["all-reduce.2"]);
    assert_eq!(found("JIT(F)/dot"), ["fusion.1"]);
    assert_eq!(found("no:such"), Vec::<String>::new());

    let text = with(&model, |cx, program| listing(cx, program).unwrap());
    assert_eq!(
        text.lines.len(),
        TEXT.lines().count(),
        "the text of the capture, line by line"
    );
    let line = text
        .lines
        .iter()
        .find(|line| line.instruction.as_deref() == Some("fusion.1"))
        .unwrap();
    assert_eq!(
        (line.self_time_ps, line.text.starts_with("  %fusion.1 = ")),
        (Some(Picos::from_ps(50)), true)
    );
    let written = with(&trace(None, TEXT), |cx, program| {
        listing(cx, program).unwrap()
    });
    let line = written
        .lines
        .iter()
        .find(|line| line.instruction.as_deref() == Some("fusion.1"))
        .unwrap();
    assert!(
        line.text
            .contains("fusion.1 = f32[8,16]{1,0:T(8,128)} fusion(a, copy.1), kind=output"),
        "{}",
        line.text
    );
}

#[test]
fn programs_are_chosen_by_their_name() {
    let model = trace(Some(TEXT), "");
    with(&model, |cx, program| {
        assert_eq!(chosen(cx, Some("jit_f")).unwrap(), [program]);
        assert_eq!(programs_with(cx, "conv", None).unwrap(), [program]);
        assert!(
            chosen(cx, Some("jit_g"))
                .unwrap_err()
                .to_string()
                .contains("the capture has jit_f(7)")
        );
        assert!(programs_with(cx, "no such", None).is_err());
    });
}

#[test]
fn program_diff_ignores_instruction_names() {
    let other = TEXT
        .replace("copy.1", "copy.9")
        .replace("%negate = f32[8,16]", "%negate = f32[8,32]");
    let other = other.replace("  %a = ", "  %new = f32[3]{0} iota()\n  %a = ");
    let (a, b) = (trace(Some(TEXT), ""), trace(Some(&other), ""));
    let (options, reports) = (
        Options::default(),
        [ReportCache::default(), ReportCache::default()],
    );
    let cx = |model, reports| Context {
        model,
        scope: Scope::WholeTrace,
        options: &options,
        reports,
    };
    let (first, second) = (cx(&a, &reports[0]), cx(&b, &reports[1]));
    let [one, two] = [&a, &b].map(|model| model.program_ids().next().unwrap());
    let found = diff((&first, one), (&second, two)).unwrap();
    let rows: Vec<_> = found
        .rows
        .iter()
        .map(|row| (row.difference, &*row.any().unwrap().name))
        .collect();
    assert_eq!(
        rows,
        [
            (Difference::Changed, "negate"),
            (Difference::OnlySecond, "new")
        ]
    );
    // What is inside the fusion belongs to it.
    assert_eq!(found.same, 5);
    assert!(diff((&first, one), (&first, one)).unwrap().rows.is_empty());
}

/// Differences between the programs of two captures.
fn diff_of(a: &TraceModel, b: &TraceModel) -> ProgramDiff {
    with(a, |first, one| {
        with(b, |second, two| diff((first, one), (second, two)).unwrap())
    })
}

#[test]
fn sums_of_a_program_that_a_capture_does_not_hold_are_unknown() {
    let (whole, ops) = (trace(Some(TEXT), ""), trace(None, TEXT));
    let found = diff_of(&whole, &ops);
    assert!(!found.sums.is_empty());
    for sum in &found.sums {
        let second = (sum.second, sum.second_bytes, sum.second_executions);
        assert_eq!(
            (second, sum.is_known),
            ((None, None, None), false),
            "{sum:?}"
        );
    }
    assert!(
        found
            .peak
            .ends_with("of the second: the capture does not hold it."),
        "{}",
        found.peak
    );
    assert!(
        found.notes[0].starts_with("Second program: the capture does not hold it"),
        "{:?}",
        found.notes
    );
    // Of two lists of ops, collectives are compared, and what is inside fusions is not.
    let found = diff_of(&ops, &ops);
    let known = |what: &str| {
        let mut sums = found.sums.iter();
        sums.any(|sum| sum.what.starts_with(what) && sum.is_known)
    };
    assert!(known("all-reduce") && !known("FLOPs") && !known("products"));
    let told = found.notes.iter();
    assert_eq!(
        told.filter(|note| note.contains("does not hold")).count(),
        1,
        "{:?}",
        found.notes
    );
}
