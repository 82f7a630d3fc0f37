//! Why a step changed, on pairs of which one side was changed on purpose.

use facts::TimeUse;

use super::*;

/// A layer of a model: a product, an element-wise op, an all-reduce.
const LAYER: &str = "
    M = jit_step(7)
    m = fusion.1 [convolution fusion] tf=jit(f)/mlp/dot_general source=m.py:1 :: \
        %fusion.1 = bf16[8,16] fusion(bf16[8,32] %x, bf16[16,32] %w)
    v = fusion.2 [loop fusion] tf=jit(f)/norm/mul source=m.py:2 :: %fusion.2 = bf16[8,16] fusion(bf16[8,16] %p)
    a = all-reduce.1 [all-reduce] tf=jit(f)/reduce :: %all-reduce.1 = bf16[8,16] all-reduce(bf16[8,16] %p)
";
const PRODUCT: &str = "m = fusion.1 [convolution fusion] tf=jit(f)/mlp/dot_general source=m.py:1 :: \
        %fusion.1 = bf16[8,16] fusion(bf16[8,32] %x, bf16[16,32] %w)";

/// Two steps of these ops.
pub(super) fn steps_of(ops: &str, legend: &str) -> Summary {
    let line = |text: String| text.repeat(2);
    let ops = format!("{ops}.");
    let steps = |sign: &str| sign.repeat(ops.len());
    let modules = format!("{}.", "M".repeat(ops.len() - 1));
    summary(&format!(
        "
        steps: {}{}
        modules: {}
        ops  : {}
        {legend}
        ",
        steps("0"),
        steps("1"),
        line(modules),
        line(ops.clone()),
    ))
}

fn layer() -> Summary {
    steps_of("mmmmmmmmvvaa", LAYER)
}

/// Rows of the table as `name base → cand`, in whole nanoseconds, after checking that they add up.
fn rows(compared: &Comparison) -> Vec<String> {
    let attribution = compared.attribution.as_ref().unwrap();
    for most in 2..=WHY_ROWS {
        let rows = attribution.why(most);
        assert!(rows.len() <= most, "{rows:?}");
        let (step, parts) = rows.split_last().unwrap();
        let uses = parts.iter().filter(|row| !row.is_below);
        let sum: f64 = uses.clone().map(|row| row.change_ps).sum();
        assert!((sum - step.change_ps).abs() < 1.0, "{rows:?}");
        let bases: f64 = uses.filter_map(|row| row.base_ps).sum();
        assert!((bases - step.base_ps.unwrap()).abs() < 1.0, "{rows:?}");
        for (at, row) in parts.iter().enumerate().filter(|(_, row)| !row.is_below) {
            let below = parts[at + 1..].iter().take_while(|row| row.is_below);
            let below: Vec<f64> = below.map(|row| row.change_ps).collect();
            let sum: f64 = below.iter().sum();
            assert!(
                below.is_empty() || (sum - row.change_ps).abs() < 1.0,
                "{rows:?}"
            );
        }
    }
    let time = |ps: Option<f64>| ps.map_or("–".to_owned(), |ps| format!("{:.0}", ps / 1e3));
    attribution
        .why(WHY_ROWS)
        .iter()
        .map(|row| format!("{} {} → {}", row.name, time(row.base_ps), time(row.cand_ps)))
        .collect()
}

fn against(cand: Summary) -> Comparison {
    let options = CompareOptions {
        force: true,
        ..CompareOptions::default()
    };
    compare(&[layer()], &[cand], &options)
}

#[test]
fn narrower_weights_are_named() {
    let legend = LAYER.replace("bf16[16,32] %w", "s8[16,32] %w");
    let compared = against(steps_of("mmmmvvaa", &legend));
    assert_eq!(
        rows(&compared),
        [
            "matrix products 8 → 4",
            "– XLA bf16 fusions 8 → –",
            "– XLA s8 fusions – → 4",
            "all else 5 → 5",
            "the step 13 → 9"
        ]
    );
    let brief = &compared.brief;
    assert_eq!(
        brief.conclusion.as_deref(),
        Some("8-bit weights (s8 for bf16) save 4.000 ns of matrix products")
    );
    assert!(
        brief
            .differ
            .as_ref()
            .unwrap()
            .contains("weights (bf16 ↔ s8)")
    );
    assert_eq!(brief.look_first, None);
}

#[test]
fn kernel_that_replaces_a_fusion_is_the_same_work() {
    // Nothing in its names says what it computes, only its operands.
    let kernel = "m = fast_64_128.3 [custom-call] tf=jit(f)/mlp/shard_map/fast/pallas_call source=k.py:9 :: \
        %fast_64_128.3 = bf16[8,16] custom-call(bf16[8,32] %x, bf16[16,32] %w)";
    let compared = against(steps_of("mmmmmvvaa", &LAYER.replace(PRODUCT, kernel)));
    assert_eq!(
        rows(&compared),
        [
            "matrix products 8 → 5",
            "– XLA bf16 fusions 8 → –",
            "– fast bf16 – → 5",
            "all else 5 → 5",
            "the step 13 → 10"
        ]
    );
    let pair = compared
        .ops
        .iter()
        .find(|op| op.cand_name.as_deref() == Some("fast_64_128.3"));
    let pair = pair.unwrap();
    assert_eq!(pair.base_name.as_deref(), Some("fusion.1"));
    assert_eq!(pair.how, Some(MatchedBy::SameWork));
    assert_eq!(
        compared.brief.conclusion.as_deref(),
        Some("3.000 ns less in matrix products")
    );
}

#[test]
fn other_blocks_of_a_kernel_are_one_row() {
    let with = |name: &str| {
        let kernel = format!(
            "m = {name}.1 [custom-call] tf=jit(f)/attention/{name}/pallas_call :: \
             %{name}.1 = bf16[8,4,16] custom-call(bf16[8,4,16] %q, bf16[64,2,16] %k)"
        );
        LAYER.replace(PRODUCT, &kernel)
    };
    let base = steps_of("mmmmmmmmvvaa", &with("flash_attention_64_128"));
    let cand = steps_of("mmmmmmmmmmvvaa", &with("flash_attention_128_256"));
    let compared = compare(&[base], &[cand], &CompareOptions::default());
    assert_eq!(
        rows(&compared),
        [
            "custom kernels: flash_attention 8 → 10",
            "all else 5 → 5",
            "the step 13 → 15"
        ]
    );
    let look = compared.brief.look_first.unwrap();
    assert_eq!(
        look,
        "flash_attention (custom kernels): +2.000 ns a step, 8.000 ns before"
    );
}

#[test]
fn renamed_and_rolled_ops_did_not_change() {
    let renamed = LAYER
        .replace("all-reduce.1", "psum.77")
        .replace("fusion.2", "multiply_fusion.5");
    let unrolled = steps_of(
        "mmmmnnnnvvaa",
        &format!(
            "{LAYER}n = fusion.3 [convolution fusion] tf=jit(f)/mlp/dot_general source=m.py:1 :: %fusion.3 = bf16[8,16] fusion(bf16[8,32] %x, bf16[16,32] %w)"
        ),
    );
    for other in [steps_of("mmmmmmmmvvaa", &renamed), unrolled] {
        let compared = against(other);
        assert_eq!(rows(&compared), ["all uses 13 → 13", "the step 13 → 13"]);
        assert_eq!(compared.brief.conclusion, None);
    }
}

#[test]
fn other_batch_is_other_work_in_the_same_rows() {
    let legend = LAYER.replace("bf16[8,", "bf16[16,");
    let compared = against(steps_of("mmmmmmmmmmmmmmmmvvvvaaaa", &legend));
    assert!(
        compared
            .brief
            .work
            .starts_with("not the same work: the runs differ in op time in shapes"),
        "{}",
        compared.brief.work
    );
    assert_eq!(
        rows(&compared),
        [
            "matrix products: XLA bf16 fusions 8 → 16",
            "waiting for communication: all-reduce 2 → 4",
            "element-wise: norm/mul 2 → 4",
            "all else 1 → 1",
            "the step 13 → 25"
        ]
    );
    let uses = &compared.attribution.as_ref().unwrap().uses;
    assert_eq!(uses[0].id, TimeUse::MatMul);
    assert_eq!(
        compared.brief.conclusion.as_deref(),
        Some(
            "8.000 ns more in matrix products (XLA bf16 fusions at m.py:1); 4.000 ns more elsewhere, most in waiting for \
             communication (all-reduce, +2.000 ns)"
        )
    );
}

#[test]
fn other_chip_is_not_compared_unless_asked() {
    let mut other = layer();
    let mut this = layer();
    this.facts.device_type = Some("TPU v5 Lite".to_owned());
    other.facts.device_type = Some("TPU v6 Lite".to_owned());
    let compared = compare(&[this], &[other], &CompareOptions::default());
    assert!(!compared.is_comparable && compared.attribution.is_none());
    assert!(
        compared
            .brief
            .work
            .contains("device (TPU v5 Lite against TPU v6 Lite); alike: 1 device"),
        "{}",
        compared.brief.work
    );
}

#[test]
fn what_to_record_follows_from_the_doubt() {
    let say = |base: Summary, cand: Summary| {
        compare(&[base], &[cand], &CompareOptions::default())
            .brief
            .record_next
    };
    assert_eq!(
        say(made(20.0, 0.1, 4, 0), made(21.0, 0.1, 5, 3)).as_deref(),
        Some("record at least 6 steady steps per side, to tell changes from noise (now 4 and 5)")
    );
    // 4.5 standard errors of 1 % each: 6.4 % for one run per side, 4.5 % for two.
    let five = say(made(20.0, 0.1, 20, 0), made(21.0, 0.1, 20, 3)).unwrap();
    assert!(
        five.starts_with("record 2 runs per side, to tell a change of 5.0 %"),
        "{five}"
    );
    let one = say(made(20.0, 0.1, 20, 0), made(20.2, 0.1, 20, 3)).unwrap();
    assert!(
        one.starts_with("record more than 30 runs per side"),
        "{one}"
    );
    assert_eq!(say(made(20.0, 0.1, 20, 0), made(26.0, 0.1, 20, 3)), None);
}

/// The row that names ops has their times, and not those of others with the same use.
#[test]
fn rows_with_the_name_of_ops_have_their_times_alone() {
    let legend = format!(
        "{LAYER}g = all-gather.1 [all-gather] tf=jit(f)/gather :: %all-gather.1 = bf16[8,16] all-gather(bf16[8,8] %p)"
    );
    let base = steps_of("mmmmmmmmvvaag", &legend);
    let cand = steps_of("mmmmmmmmvvaaaag", &legend);
    let compared = compare(&[base], &[cand], &CompareOptions::default());
    assert_eq!(
        rows(&compared),
        [
            "waiting for communication 3 → 5",
            "– all-reduce 2 → 4",
            "all else 11 → 11",
            "the step 14 → 16"
        ]
    );
    let look = compared.brief.look_first.unwrap();
    assert!(
        look.ends_with("+2.000 ns a step, 2.000 ns before"),
        "{look}"
    );
}

/// A line of source is named for a group if its ops make up most of the change, however long the group takes.
#[test]
fn the_line_that_a_group_changed_at_is_named() {
    let legend = format!(
        "{LAYER}n = fusion.3 [convolution fusion] tf=jit(f)/mlp/dot_general source=m.py:3 :: \
         %fusion.3 = bf16[8,16] fusion(bf16[8,32] %x, bf16[16,32] %w)"
    );
    let base = || steps_of("mmmmmmmmnnvvaa", &legend);
    let said = |cand: &str| {
        let options = CompareOptions::default();
        let compared = compare(&[base()], &[steps_of(cand, &legend)], &options);
        compared.brief.look_first.unwrap()
    };
    let fusions = "XLA bf16 fusions";
    assert_eq!(
        said("mmmmmmmmnnnnvvaa"),
        format!("{fusions} at m.py:3 (matrix products): +2.000 ns a step, 10.00 ns before")
    );
    assert_eq!(
        said("mmmmmmmmmmnnnnvvaa"),
        format!("{fusions} (matrix products): +4.000 ns a step, 10.00 ns before")
    );
}

/// Ops that replaced others are new with all of their time, of which only what is more than before is a loss.
#[test]
fn ops_that_replace_others_are_named_with_what_all_took() {
    let legend = LAYER.replace("bf16[16,32] %w", "s8[16,32] %w");
    let compared = against(steps_of("mmmmmmmmmmmmvvaa", &legend));
    let look = compared.brief.look_first.unwrap();
    assert!(
        look.ends_with("(matrix products): +12.00 ns a step, new; all matrix products +4.000 ns"),
        "{look}"
    );
}

/// What a row says of an op that one side lacks, the row of its use says, too.
#[test]
fn a_use_that_one_side_lacks_is_new_or_gone() {
    let without = || steps_of("vvaa", LAYER);
    let options = CompareOptions {
        force: true,
        ..CompareOptions::default()
    };
    let said = |base: Summary, cand: Summary| {
        let compared = compare(&[base], &[cand], &options);
        let rows = rows(&compared);
        let first = compared.attribution.unwrap().why(WHY_ROWS).swap_remove(0);
        (rows[0].clone(), first.verdict)
    };
    let row = |times: &str| format!("matrix products: XLA bf16 fusions {times}");
    assert_eq!(said(without(), layer()), (row("– → 8"), "new"));
    assert_eq!(said(layer(), without()), (row("8 → –"), "gone"));
    // A use of several groups.
    let with_kernel = LAYER.replace("a = ", "k = kern.1 [custom-call] tf=jit(f)/k/pallas_call :: %kern.1 = f32[8] custom-call()\nl = other.1 [custom-call] tf=jit(f)/l/pallas_call :: %other.1 = f32[8] custom-call()\na = ");
    let (first, verdict) = said(without(), steps_of("kkkkkkklllvvaa", &with_kernel));
    assert_eq!((first.as_str(), verdict), ("custom kernels – → 10", "new"));
}

#[test]
fn idle_time_is_divided_by_the_causes_that_are_known() {
    const LAUNCH: &str = "idle while the host launches programs";
    const COPY: &str = "idle while the host copies to the device";
    // Microseconds without a known cause, and of two causes.
    let run = |times: [f64; 3]| {
        let mut run = made(20.0, 0.0, 6, 0);
        let causes = [None, Some(LAUNCH), Some(COPY), Some("input wait")];
        let times = times.into_iter().chain([5.0]);
        let rest = causes.iter().zip(times).map(|(cause, us)| RestTimes {
            part: StepPart::Idle,
            shape: None,
            cause: cause.map(str::to_owned),
            middle_ps: us * 1e6,
        });
        run.rest = rest.collect();
        let idle: f64 = run.rest.iter().map(|rest| rest.middle_ps).sum();
        run.steps.middle_ps = run.ops[0].middle_ps + idle;
        run
    };
    let said = |base, cand| {
        let compared = compare(&[run(base)], &[run(cand)], &CompareOptions::default());
        let rows = rows(&compared);
        // Means alone are not tested, which the table says.
        let table = compared.attribution.as_ref().unwrap().why_table(WHY_ROWS);
        let notes = table.notes.join(" ");
        assert!(notes.contains("one number on each side"), "{notes}");
        let look = compared.brief.look_first.unwrap();
        (rows[..rows.len() - 2].to_vec(), look)
    };
    // What has no known cause is not a part of idle time that explains it.
    let (rows_of_unknown, look) = said([100.0, 10.0, 0.0], [1600.0, 20.0, 0.0]);
    assert_eq!(rows_of_unknown, ["idle 110000 → 1620000"]);
    assert_eq!(look, "idle: +1.510 ms a step, 110.0 µs before");
    let (rows_of_two, look) = said([100.0, 10.0, 0.0], [600.0, 1010.0, 0.0]);
    assert_eq!(
        look,
        format!("{LAUNCH} (idle): +1.000 ms a step, 10.00 µs before")
    );
    assert_eq!(
        rows_of_two,
        [
            "idle 110000 → 1610000".to_owned(),
            format!("– {LAUNCH} 10000 → 1010000"),
            "– other causes 100000 → 600000".to_owned()
        ]
    );
    // The rest is one cause.
    assert_eq!(
        said([0.0, 10.0, 10.0], [0.0, 1010.0, 20.0]).0,
        [
            "idle 20000 → 1030000".to_owned(),
            format!("– {LAUNCH} 10000 → 1010000"),
            format!("– {COPY} 10000 → 20000"),
        ]
    );
}

#[test]
fn what_rounding_leaves_is_no_change() {
    use super::uses::TimesOfSides;
    let parts = [(0.1, 0.3), (0.2, 0.0)].map(|(base, cand)| TimesOfSides::new(base, cand));
    let sum: TimesOfSides = parts.into_iter().sum();
    assert_ne!(sum.cand_ps - sum.base_ps, 0.0);
    assert_eq!(sum.change_ps, 0.0);
    assert_eq!(TimesOfSides::new(4.0, 3.0).change_ps, -1.0);
}
