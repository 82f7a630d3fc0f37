//! Tests of the lights of targets.

use engine::{Options, ReportCache, Scope};
use sample_traces::{text_builder, text_trace};
use trace_model::IssueKind;

use super::*;

fn report_with(picture: &str, options: &Options) -> TargetsReport {
    let (model, reports) = (text_trace(picture), ReportCache::default());
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options,
        reports: &reports,
    };
    cx.report::<Targets>().unwrap().as_ref().clone()
}

fn light(picture: &str, id: &str) -> TargetColor {
    report_with(picture, &Options::default())
        .targets
        .into_iter()
        .find(|target| target.id == id)
        .unwrap()
        .light
}

/// A matmul of 100 µs on a chip of 1 TFLOP/s and 1 GB/s.
fn matmul(flops: u64, bytes: u64) -> String {
    format!(
        "@column 10us\n@device flops=1e12 hbm=1e9 TPU v5 lite\nops: xxxxxxxxxx\n\
         x = fusion.1 [convolution fusion] flops={flops} hbm_read={bytes} hbm_write=0"
    )
}

#[test]
fn target_colors_change_at_their_limits() {
    for (flops, is) in [
        (81_000_000, TargetColor::Green),
        (79_000_000, TargetColor::Amber),
        (51_000_000, TargetColor::Amber),
        (49_000_000, TargetColor::Red),
    ] {
        assert_eq!(light(&matmul(flops, 1), "mxu"), is, "{flops}");
    }
    for (bytes, is) in [
        (71_000, TargetColor::Green),
        (69_000, TargetColor::Amber),
        (39_000, TargetColor::Red),
    ] {
        assert_eq!(light(&matmul(1, bytes), "hbm"), is, "{bytes}");
    }
}

/// What prepared input may have been recorded after the end of what is left of a file.
#[test]
fn a_cut_file_does_not_tell_that_nothing_waits_for_input() {
    let light = |host: &str, is_cut: bool| {
        let mut builder = text_builder(&format!(
            "modules: AAA...AAA...\nops: fff...fff...\nhost main: {host}\nA = jit_f(1)\nf = fusion.1 [loop fusion]\n\
             I = IteratorGetNext\np = batched_device_put"
        ));
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
        let report = cx.report::<Targets>().unwrap();
        let target = report.targets.iter().find(|target| target.id == "input");
        target.map(|target| (target.light, target.value_percent.is_some()))
    };
    let idle = "p...........";
    assert_eq!(light(idle, false), Some((TargetColor::Green, true)));
    assert_eq!(light(idle, true), Some((TargetColor::Unknown, false)));
    // It waits for at least what was recorded.
    assert_eq!(light("...III......", true), Some((TargetColor::Red, true)));
}

#[test]
fn only_the_nearer_roof_is_judged() {
    // At its memory roof, a slow matmul is acceptable.
    assert_eq!(
        light(&matmul(20_000_000, 80_000), "mxu"),
        TargetColor::NotJudged
    );
    assert_eq!(
        light(&matmul(90_000_000, 30_000), "hbm"),
        TargetColor::NotJudged
    );
    // If it is far from both, only the nearer roof is reported.
    let far = matmul(20_000_000, 30_000);
    assert_eq!(
        (light(&far, "mxu"), light(&far, "hbm")),
        (TargetColor::NotJudged, TargetColor::Red)
    );
}

#[test]
fn compiling_and_input_have_upper_limits() {
    let picture = |columns: usize| {
        format!(
            "host python: {}{}\nc = backend_compile",
            "c".repeat(columns),
            "x".repeat(100 - columns)
        )
    };
    for (columns, is) in [
        (4, TargetColor::Green),
        (5, TargetColor::Amber),
        (14, TargetColor::Amber),
        (15, TargetColor::Red),
    ] {
        assert_eq!(light(&picture(columns), "compile"), is, "{columns}");
    }
    let loading = |gap: usize| {
        let (program, idle) = ("A".repeat(50 - gap / 2), ".".repeat(gap));
        format!(
            "@column 1us\nmodules: {program}{idle}{program}\nhost main: {}{}\nA = jit_f(1)\ni = IteratorGetNext",
            ".".repeat(50 - gap / 2),
            "i".repeat(gap)
        )
    };
    for (gap, is) in [
        (8, TargetColor::Green),
        (12, TargetColor::Amber),
        (20, TargetColor::Red),
    ] {
        assert_eq!(light(&loading(gap), "input"), is, "{gap}");
    }
}

#[test]
fn unrecorded_targets_give_a_reason() {
    let report = report_with(
        "ops: xx\nx = fusion.1 [convolution fusion]\nhost python: p\np = PjitFunction(f)",
        &Options::default(),
    );
    let unknown = report
        .targets
        .iter()
        .filter(|target| target.light == TargetColor::Unknown);
    assert!(
        unknown
            .clone()
            .all(|target| target.note.as_ref().is_some_and(|note| !note.is_empty()))
    );
    assert_eq!(
        unknown.map(|target| target.id).collect::<Vec<_>>(),
        ["mxu", "hbm", "input", "ici"]
    );
    assert!(
        report
            .statement
            .starts_with("1 of 5 targets is judged, it is met"),
        "{}",
        report.statement
    );
}

#[test]
fn unknown_targets_are_missing_not_zero() {
    let target = |picture: &str, id: &str| {
        let targets = report_with(picture, &Options::default()).targets;
        let target = targets.into_iter().find(|target| target.id == id).unwrap();
        (target.light, target.value_percent)
    };
    let unknown = (TargetColor::Unknown, None);
    // No runtime records events, as in traces of PyTorch.
    let ops = matmul(81_000_000, 1);
    assert_eq!(
        target(
            &format!("{ops}\nhost python: aaaa\na = aten::add"),
            "compile"
        ),
        unknown
    );
    assert_eq!(
        target(
            &format!("{ops}\nhost python: aaaa\na = PjitFunction(f)"),
            "compile"
        )
        .0,
        TargetColor::Green
    );
    // No host at all, as in traces of simulators.
    assert_eq!(
        (target(&ops, "compile"), target(&ops, "input")),
        (unknown, unknown)
    );
}

#[test]
fn impossible_rate_is_not_judged() {
    assert_eq!(light(&matmul(166_000_000, 1), "mxu"), TargetColor::Unknown);
    assert_eq!(light(&matmul(100_010_000, 1), "mxu"), TargetColor::Green);
}

#[test]
fn user_limits_apply() {
    let mut options = Options::default();
    options
        .hints
        .thresholds
        .insert("targets.mxu_green_percent".to_owned(), 50.0);
    let report = report_with(&matmul(60_000_000, 1), &options);
    assert_eq!(
        (report.targets[0].light, report.targets[0].goal().as_str()),
        (TargetColor::Green, "> 50 %")
    );
    assert!(thresholds().all(|limit| limit.id.starts_with("targets.") && !limit.why.is_empty()));
}

/// Ten columns of 10 µs, the last ones in a kernel that does not say what it moves.
fn with_silent_kernel(columns: usize) -> String {
    format!(
        "@column 10us\n@device flops=1e12 hbm=1e9 TPU v5 lite\nops: {}{}\n\
         x = fusion.1 [convolution fusion] flops=100_000 hbm_read=3_000 hbm_write=0\nk = kernel.1 [custom-call]",
        "x".repeat(10 - columns),
        "k".repeat(columns)
    )
}

#[test]
fn work_known_in_part_is_a_lower_bound_without_a_light() {
    let judged = |columns: usize, id: &str| {
        let report = report_with(&with_silent_kernel(columns), &Options::default());
        let target = report
            .targets
            .into_iter()
            .find(|target| target.id == id)
            .unwrap();
        (target, report.statement)
    };
    // A tenth unknown is little: HBM is the tighter limit, and red.
    let (hbm, statement) = judged(1, "hbm");
    assert_eq!((hbm.light, hbm.is_lower_bound), (TargetColor::Red, false));
    assert!(statement.contains("HBM"), "{statement}");
    let (hbm, statement) = judged(2, "hbm");
    assert_eq!(
        (hbm.light, hbm.is_lower_bound),
        (TargetColor::NotJudged, true)
    );
    assert!(
        hbm.note
            .unwrap()
            .contains("ops of unknown traffic take 20.0 % of op time")
    );
    assert!(
        hbm.value_percent.is_some() && !statement.contains("HBM"),
        "{statement}"
    );
    // What a part needs more of says nothing about the whole.
    let (mxu, _) = judged(2, "mxu");
    assert_eq!(mxu.light, TargetColor::NotJudged);
    assert!(
        mxu.note
            .as_ref()
            .unwrap()
            .starts_with("which limit is the tighter one is not known"),
        "{mxu:?}"
    );
}

fn links(ops: &str, topology: Option<&str>) -> Target {
    let picture = format!(
        "@column 100us\nops: {ops}\n\
         g = all-gather.1 [all-gather] :: %all-gather.1 = f32[10000000]{{0}} all-gather(f32[2500000]{{0}} %p), replica_groups={{{{0,1,2,3}}}}\n\
         s = all-gather-start.2 [all-gather-start] done=all-gather-done.2 :: %all-gather-start.2 = (f32[2500000]{{0}}, f32[10000000]{{0}}) all-gather-start(f32[2500000]{{0}} %p), replica_groups={{{{0,1,2,3}}}}\n\
         d = all-gather-done.2 [all-gather-done]\nC = fusion.1 [loop fusion]"
    );
    let topology = topology.map(|text| text.parse().unwrap());
    let options = Options {
        device_spec: Some("v6e".to_owned()),
        topology,
        ..Options::default()
    };
    report_with(&picture, &options)
        .targets
        .into_iter()
        .find(|target| target.id == "ici")
        .unwrap()
}

/// 40 MB over a group of four in 500 µs: 30 % of the links of a square, 60 % of those of a line.
#[test]
fn links_of_unknown_layout_are_a_range() {
    let range = links("gggggC", None);
    assert_eq!(range.reached().unwrap(), "30.0 % to 60.0 %");
    assert_eq!(
        range.light,
        TargetColor::NotJudged,
        "red for a square, amber for a line"
    );
    let known = links("gggggC", Some("2x2"));
    assert_eq!(
        (known.reached().unwrap().as_str(), known.light),
        ("30.0 %", TargetColor::Red)
    );
}

#[test]
fn speed_of_hidden_transfers_is_a_lower_bound() {
    let hidden = links(&format!("s{}d", "C".repeat(28)), Some("2x2"));
    assert!(
        hidden.is_lower_bound && hidden.reached().unwrap().starts_with("at least"),
        "{hidden:?}"
    );
    assert_eq!(hidden.light, TargetColor::NotJudged);
    // The core waits for it, so the time is that of the transfer.
    let awaited = links("sCCddddddd", Some("2x2"));
    assert!(
        !awaited.is_lower_bound && awaited.light != TargetColor::NotJudged,
        "{awaited:?}"
    );
}

/// A product takes ten times as long before the loop as in it.
#[test]
fn matrix_ops_are_judged_in_the_steady_steps() {
    let report = report_with(
        "@column 1us
@device flops=1e12 hbm=1e12 TPU v5 lite
steps: 0000000000112233
\
         ops  : pppppppppp m m m
p = fusion.1 [convolution fusion] flops=1e6
\
         m = fusion.2 [convolution fusion] flops=9e5",
        &Options {
            warmup_steps: 1,
            ..Options::default()
        },
    );
    let target = report.targets.iter().find(|target| target.id == "mxu");
    let target = target.unwrap();
    assert_eq!(target.reached().as_deref(), Some("90.0 %"), "{target:?}");
    assert_eq!(target.light, TargetColor::Green);
    let of = "time of matrix ops in steps 1–3";
    assert!(target.of.starts_with(of), "{}", target.of);
}
