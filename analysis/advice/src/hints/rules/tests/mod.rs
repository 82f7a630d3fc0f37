//! Each rule just above and just below its threshold, and without what it needs.

mod advice;
mod clock;
mod communication;
mod compile;
mod compute;
mod cut;
mod devices;
mod exact;
mod hardware;
mod health;
mod idle;
mod limit;
mod reasons;
mod sent;
mod sizes;
mod step_time;
mod waits;

use engine::{Context, HintOptions, Options, ReportCache, Scope, Suppression};
use facts::Framework;
use sample_traces::{text_builder, text_trace};
use trace_model::{
    GroupKind, Picos, SliceAttr, SliceSpec, TimeRange, Timestamp, TraceModel, TrackKind,
};

use super::rules;
use crate::hints::{Hint, HintSeverity, Hints, HintsReport, Page, SECTIONS};

fn report_with(picture: &str, hints: HintOptions) -> HintsReport {
    report_of(&text_trace(picture), hints)
}

fn report_of(model: &TraceModel, hints: HintOptions) -> HintsReport {
    let (options, reports) = (
        Options {
            hints,
            ..Options::default()
        },
        ReportCache::default(),
    );
    let cx = Context {
        model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    cx.report::<Hints>().unwrap().as_ref().clone()
}

fn report(picture: &str) -> HintsReport {
    report_with(picture, HintOptions::default())
}

/// Ids of the hints of a report and of other remedies for the same time, those about the capture left out.
fn about_program(report: &HintsReport) -> Vec<&'static str> {
    let hints = report
        .hints
        .iter()
        .filter(|hint| hint.severity != HintSeverity::Health);
    hints
        .flat_map(|hint| std::iter::once(hint.id).chain(hint.also.iter().map(|other| other.id)))
        .collect()
}

/// Ids of the hints about a picture.
fn ids(picture: &str) -> Vec<&'static str> {
    about_program(&report(picture))
}

/// Whether rule `id` says that it cannot tell.
fn cannot_tell(report: &HintsReport, id: &str) -> bool {
    report
        .cannot_tell
        .iter()
        .any(|rule| rule.id == id && !rule.reason.is_empty())
}

/// What hint `id` saves at most, ps; `None` if the rule does not speak.
fn saving(picture: &str, id: &str) -> Option<i64> {
    let has = |hint: &&Hint| hint.id == id || hint.also.iter().any(|other| other.id == id);
    Some(report(picture).hints.iter().find(has)?.saving_ps?.ps())
}

/// The first thing that hint `id` says to do, as a hint or as a further remedy.
fn brief(report: &HintsReport, id: &str) -> String {
    let also = report.hints.iter().flat_map(|hint| &hint.also);
    let own = report.hints.iter().map(|hint| (hint.id, &hint.brief));
    let mut all = own.chain(also.map(|other| (other.id, &other.brief)));
    let found = all.find(|(own, _)| *own == id);
    found.unwrap_or_else(|| panic!("no {id}")).1.clone()
}

/// So many columns of a letter.
fn run(letter: char, columns: usize) -> String {
    letter.to_string().repeat(columns)
}

/// A hundred columns of ops of 10 µs each, with so many of letter `x` as `category`.
fn mixed(columns: usize, name: &str, category: &str) -> String {
    let rest = run('M', 100 - columns);
    let some = run('x', columns);
    format!(
        "
        @column 10us
        ops: {rest}{some}
        M = fusion.1 [convolution fusion]
        x = {name} [{category}]
        "
    )
}

/// Compute and a collective, so many columns of 10 µs each, and devices that do the same.
fn communicating(compute: usize, wait: usize, op: &str, text: &str) -> String {
    let ops = format!("{}{}", run('M', compute), run('R', wait));
    let devices = [0, 1, 2, 3]
        .map(|device| format!("TPU:{device} ops: {ops}"))
        .join("\n");
    format!(
        "@column 10us\n@device flops=197e12 hbm=819e9 TPU v5 lite\n{devices}\nM = f [convolution fusion]\nR = {op}.1 [{op}]{text}"
    )
}

/// Programs with gaps between, in which the host does something for so many of 10 columns.
fn gaps(host: char, columns: usize, event: &str) -> String {
    let gap = format!("{}{}", run(host, columns), run('.', 10 - columns));
    let (program, idle) = (run('A', 30), run('.', 10));
    format!(
        "
        @column 10us
        modules: {program}{idle}{program}{idle}{program}
        ops: {0}{idle}{0}{idle}{0}
        host main: {1}{gap}{1}{gap}
        A = jit_step(7)
        a = fusion.1 [convolution fusion]
        {host} = {event}
        ",
        run('a', 30),
        run('.', 30),
    )
}

/// One op of ten columns of 10 µs on a chip of 1 TFLOP/s and 1 GB/s.
fn one_op(category: &str, costs: &str) -> String {
    format!(
        "
        @column 10us
        @device flops=1e12 hbm=1e9 TPU v5 lite
        ops: xxxxxxxxxx
        x = fusion.1 [{category}] {costs}
        "
    )
}

#[test]
fn op_share_thresholds_trigger_hints() {
    let cases = [
        ("K19", "copy.1", "copy", 5),
        ("K19", "transpose_fusion.3", "loop fusion", 5),
        ("K20", "dynamic-update-slice.1", "dynamic-update-slice", 5),
        ("K21", "gather.1", "gather fusion", 10),
        ("K24", "add.2.remat", "loop fusion", 5),
        ("K25", "copy-done.1", "copy-done", 3),
        ("K29", "flash_attention.1", "custom-call", 5),
        ("K45", "fusion.9", "megacore fusion", 2),
    ];
    for (id, name, category, limit) in cases {
        assert!(
            ids(&mixed(limit, name, category)).contains(&id),
            "{id}: silent at its limit"
        );
        assert!(
            !ids(&mixed(limit - 1, name, category)).contains(&id),
            "{id}: speaks below its limit"
        );
    }
}

#[test]
fn removable_ops_save_their_full_time() {
    assert_eq!(
        saving(&mixed(10, "copy.1", "copy"), "K19"),
        Some(100_000_000)
    );
    assert_eq!(
        saving(&mixed(10, "gather.1", "gather"), "K21"),
        Some(50_000_000)
    );
    assert_eq!(
        saving(&mixed(10, "add.2.remat", "loop fusion"), "K24"),
        Some(100_000_000)
    );
    // Nothing can be said in time about a kernel without costs.
    assert_eq!(saving(&mixed(10, "kernel.1", "custom-call"), "K29"), None);
}

#[test]
fn full_memory_suppresses_the_rematerialisation_hint() {
    let k24 = |used: i64| {
        let mut builder = text_builder(&mixed(10, "add.2.remat", "loop fusion"));
        let host = builder.group(None, GroupKind::Host, "text");
        let track = builder.track(host, TrackKind::HostThread, 9, "allocator");
        let label = builder.label("MemoryAllocation", None);
        let at = TimeRange::new(Timestamp::ZERO, Timestamp::ZERO);
        let key = builder.add_slice(track, SliceSpec::new(at, label));
        builder.set_attr(key, SliceAttr::MemoryAllocated, used);
        builder.set_attr(key, SliceAttr::MemoryAvailable, 100 - used);
        report_of(&builder.finish(), HintOptions::default())
            .hints
            .iter()
            .find(|hint| hint.id == "K24")
            .unwrap()
            .clone()
    };
    assert_eq!(k24(79).saving_ps, Some(Picos::from_ps(100_000_000)));
    let full = k24(80);
    assert_eq!(full.saving_ps, None);
    assert!(full.statement.contains("80 % full"), "{}", full.statement);
}

#[test]
fn loop_hint_uses_self_time() {
    let picture = |own: usize| {
        format!(
            "
            @column 10us
            ops: {}
               : {}
            W = while.1 [while]
            M = fusion.1 [convolution fusion]
            ",
            run('W', 100),
            run('M', 100 - own),
        )
    };
    assert_eq!(saving(&picture(2), "K22"), Some(20_000_000));
    assert_eq!(saving(&picture(1), "K22"), None);
}

#[test]
fn host_offload_copies_are_recognized_by_memory_space() {
    let picture = |memory: &str| {
        format!(
            "
            @column 10us
            ops: {}xx
            M = fusion.1 [convolution fusion]
            x = copy-done.1 [copy-done] :: %copy-done.1 = f32[8]{{0{memory}}} copy-done(%copy-start.1)
            ",
            run('M', 60),
        )
    };
    assert_eq!(ids(&picture(":S(5)")), ["K26"]);
    // Nothing is offloaded where the copy stays within the device.
    let within = report(&picture(""));
    let action = within.hints.first().map(|hint| hint.action.to_lowercase());
    assert_eq!(ids(&picture("")), ["K25"]);
    assert!(action.is_some_and(
        |action| action.contains("between start and done") && !action.contains("offload")
    ));
}

#[test]
fn copies_between_unknown_memories_are_not_said_to_stay_within_the_device() {
    let of = |name: &str| {
        let found = report(&mixed(10, name, "copy-done"));
        let hint = found
            .hints
            .into_iter()
            .find(|hint| hint.id == "K25")
            .unwrap();
        (hint.statement, hint.action)
    };
    let (statement, action) = of("copy-done.1");
    assert!(!statement.contains("within the device"), "{statement}");
    assert!(statement.contains("not recorded"), "{statement}");
    assert!(
        action.contains("K26") && !action.contains("The compiler issues"),
        "{action}"
    );
}

/// Of some copies the memories are recorded, of others not.
#[test]
fn copies_between_unknown_memories_are_counted() {
    let picture = format!(
        "@column 10us\nops: {}xxyyzz\nM = fusion.1 [convolution fusion]\nx = copy-done.1 [copy-done]\n\
         y = copy-done.2 [copy-done]\n\
         z = copy-done.3 [copy-done] :: %copy-done.3 = f32[8]{{0}} copy-done(%copy-start.3)",
        run('M', 60),
    );
    let found = report(&picture);
    let hint = found.hints.iter().find(|hint| hint.id == "K25").unwrap();
    let said = "; for 2 of these 3 copies it is not recorded between which memories";
    assert!(hint.statement.ends_with(said), "{}", hint.statement);
}

#[test]
fn user_thresholds_and_suppressions_apply() {
    let picture = mixed(10, "copy.1", "copy");
    let mut options = HintOptions::default();
    options
        .thresholds
        .insert("K19.layout_percent".to_owned(), 11.0);
    assert_eq!(about_program(&report_with(&picture, options)), [""; 0]);
    let known = Suppression {
        hint: "K19".to_owned(),
        reason: "known".to_owned(),
        ..Suppression::default()
    };
    let report = report_with(
        &picture,
        HintOptions {
            suppressions: vec![known],
            ..HintOptions::default()
        },
    );
    assert_eq!(about_program(&report), [""; 0]);
    assert_eq!(
        report
            .suppressed
            .iter()
            .map(|hint| hint.id)
            .collect::<Vec<_>>(),
        ["K19"]
    );
}

#[test]
fn overlapping_hints_are_linked_and_counted_once() {
    let picture = mixed(10, "copy.2.remat", "copy");
    let report = report(&picture);
    let copy = report.hints.iter().find(|hint| hint.id == "K19").unwrap();
    assert_eq!(
        copy.also.iter().map(|other| other.id).collect::<Vec<_>>(),
        ["K24"]
    );
    assert!(copy.overlaps_with.is_empty() && report.hints.iter().all(|hint| hint.id != "K24"));
    assert_eq!(report.combined_saving_ps, Some(Picos::from_ps(100_000_000)));
}

#[test]
fn threshold_ids_are_unique() {
    let mut seen = std::collections::BTreeSet::new();
    for threshold in rules().iter().flat_map(|rule| rule.thresholds) {
        assert!(seen.insert(threshold.id), "{} is used twice", threshold.id);
    }
}

#[test]
fn every_rule_has_an_id_a_page_and_reasons() {
    let rules = rules();
    assert!(
        rules.windows(2).all(|pair| pair[0].id < pair[1].id),
        "an id is used twice"
    );
    for rule in rules {
        let page = Page(rule.page);
        assert!(
            rule.page.starts_with(&format!("# {} ", rule.id)),
            "{}: title of the page",
            rule.id
        );
        for heading in SECTIONS {
            let text = page.section(heading);
            assert!(
                text.is_some_and(|text| !text.is_empty()),
                "{}: the page says nothing under {heading}",
                rule.id
            );
        }
        for framework in [
            Framework::Jax,
            Framework::PyTorchXla,
            Framework::TensorFlow,
            Framework::Any,
        ] {
            assert!(
                page.action(framework).ends_with('.'),
                "{}: no sentence for {framework:?}",
                rule.id
            );
        }
        for threshold in rule.thresholds {
            assert!(
                threshold.id.starts_with(rule.id) && !threshold.why.is_empty(),
                "{}",
                threshold.id
            );
            let percent = threshold.unit == math::unit::Unit::Percent;
            assert!(
                !percent || threshold.id.ends_with("_percent"),
                "{}",
                threshold.id
            );
        }
    }
}

/// Steps of two devices; the second works so many columns longer.
fn uneven(extra: usize) -> String {
    let step = |work: usize| format!("{}{}", run('w', work), run('.', 130 - work));
    let two = |work: usize| format!("{}{}", step(work), step(work));
    let steps = format!("{}{}", run('0', 130), run('1', 130));
    format!(
        "
        @column 1us
        TPU:0 steps: {steps}
        TPU:1 steps: {steps}
        TPU:0 ops: {}
        TPU:1 ops: {}
        w = fusion.1 [convolution fusion]
        ",
        two(100),
        two(100 + extra)
    )
}

#[test]
fn uneven_work_is_relative_to_the_median_device() {
    // The median of two is their mean: 12 more are 5.7 % above it.
    assert_eq!(saving(&uneven(12), "K07"), Some(6_000_000));
    assert_eq!(saving(&uneven(8), "K07"), None);
    let one_device = report(&mixed(5, "copy.1", "copy"));
    assert!(
        ["K06", "K07", "K08", "K09", "K46"]
            .iter()
            .all(|id| one_device.cannot_tell.iter().any(|rule| rule.id == *id))
    );
}

#[test]
fn device_idle_while_others_work_is_named() {
    const OPS: &str = "w = fusion.1 [convolution fusion]\nv = fusion.2 [convolution fusion]";
    let work = |ops: &str, busy: usize| {
        let busy = run('w', busy);
        format!("@column 1us\nTPU:0 ops: {ops}\nTPU:1 ops: {busy}\n{OPS}")
    };
    // Who is unused is not compared with the others.
    let one = run('w', 100);
    assert_eq!(ids(&work(&one, 4)), ["K46"]);
    assert!(!ids(&work(&one, 6)).contains(&"K46"));
    // Half of the work of the other, in one op or many, of the window or of a step.
    let many = "wv".repeat(50);
    for ops in [&one, &many] {
        assert_eq!(saving(&work(ops, 4), "K46"), Some(50_000_000));
    }
    let steps: String = ['0', '1', '2', '3', '4'].map(|step| run(step, 20)).concat();
    for ops in [run('w', 100), many] {
        let marked = format!("{}\nTPU:0 steps: {steps}", work(&ops, 4));
        assert_eq!(saving(&marked, "K46"), Some(10_000_000));
    }
}

#[test]
fn step_jitter_needs_enough_steps_and_spread() {
    let picture = |lengths: &[usize]| {
        let steps: String = lengths
            .iter()
            .enumerate()
            .map(|(k, &n)| run(char::from(b'0' + k as u8), n))
            .collect();
        format!(
            "@column 10us\nsteps: {steps}\nops: {}\nw = fusion.1 [convolution fusion]",
            run('w', steps.len())
        )
    };
    // Mean 10, standard deviation 1.2.
    assert_eq!(
        saving(&picture(&[9, 9, 9, 11, 12]), "K48"),
        Some(10_000_000)
    );
    assert_eq!(saving(&picture(&[10, 10, 9, 10, 11]), "K48"), None);
    assert_eq!(ids(&picture(&[9, 9, 9, 11, 12])), ["K48"]);
    let short = report(&picture(&[9, 12]));
    assert!(short.cannot_tell.iter().any(|rule| rule.id == "K48"));
}

/// A matmul of 100 µs whose text tells its sizes.
fn matmul(m: u64, k: u64, n: u64, more: &str) -> String {
    one_op(
        "convolution",
        &format!(
            "flops=1e7 hbm_read=1 hbm_write=1 :: %fusion.1 = f32[{m},{n}]{{1,0}} dot(f32[{m},{k}]{{1,0}} %a, f32[{k},{n}]{{1,0}} %b), \
             lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}{more}"
        ),
    )
}
