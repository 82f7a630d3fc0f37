//! Expectations on a small program with a known answer.

use std::sync::Arc;

use engine::{Context, Options, ReportCache, Scope};
use trace_model::{ProgramBytes, TraceBuilder, TraceModel};

use super::*;

const TEXT: &str = "HloModule jit_f, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }

%fused (p.1: bf16[8,4], p.2: bf16[4,16]) -> f32[8,16] {
  %p.1 = bf16[8,4]{1,0} parameter(0)
  %p.2 = bf16[4,16]{1,0} parameter(1)
  %conv = f32[8,16]{1,0} convolution(%p.1, %p.2), dim_labels=bf_io->bf, metadata={op_name=\"jit(f)/mlp/dot\" source_file=\"a/m.py\" source_line=3}
  ROOT %t = f32[8,16]{1,0} tanh(%conv)
}

ENTRY %main (a: bf16[8,4], b: bf16[4,16]) -> f32[8,16] {
  %a = bf16[8,4]{1,0} parameter(0), metadata={op_name=\"state\"}
  %b = bf16[4,16]{1,0} parameter(1), metadata={op_name=\"weights\"}
  %fusion.1 = f32[8,16]{1,0} fusion(%a, %b), kind=kOutput, calls=%fused, metadata={op_name=\"jit(f)/mlp/dot\" source_file=\"a/m.py\" source_line=3}
  %ar.2 = f32[8,16]{1,0} all-reduce(%fusion.1), replica_groups={{0,1},{2,3}}, to_apply=%add
  ROOT %k = f32[8,16]{1,0} custom-call(%ar.2), custom_call_target=\"tpu_custom_call\", metadata={op_name=\"jit(f)/flash_attention\"}
}
";

fn trace(text: &str) -> TraceModel {
    let mut builder = TraceBuilder::new();
    let program = builder.program("jit_f", None);
    let bytes = ProgramBytes::new(Arc::new(text.to_owned()), 0..text.len());
    builder.set_program_hlo(program, bytes);
    builder.finish()
}

fn with<T>(text: &str, ask: impl FnOnce(&Context<'_>) -> T) -> T {
    let (model, options, reports) = (trace(text), Options::default(), ReportCache::default());
    ask(&Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    })
}

fn read(toml: &str) -> Expectation {
    toml::from_str(&format!("name = \"it\"\n{toml}")).unwrap()
}

/// The answer on a text, with its message.
fn answer(text: &str, toml: &str) -> (Verdict, String) {
    let report = with(text, |cx| judge(cx, &[read(toml)]).unwrap());
    let row = &report.rows[0];
    (row.verdict, row.message.clone())
}

#[test]
fn each_condition_has_its_answers() {
    use Verdict::{Met, NotMet, Unknown};
    for (toml, expected) in [
        ("op = \"fusion\"", Met),
        ("op = \"fusion\"\nmax = 0", NotMet),
        ("op = \"*\"\nsource = \"m.py:3\"\nexactly = 2", Met),
        ("op = \"*\"\nsource = \"other.py\"", NotMet),
        ("op = \"convolution\"\nscope = \"*/mlp/*\"", Met),
        (
            "collective = \"all-reduce\"\nexactly = 1\nmax_bytes = 512",
            Met,
        ),
        ("collective = \"all-reduce\"\nmax_bytes = 511", NotMet),
        ("collective = \"any\"\nmax = 0", NotMet),
        ("collective = \"all-gather\"\nmax = 0", Met),
        ("product = \"bf16\"", Met),
        ("product = \"bfloat16\"", Met),
        ("product = \"f32\"", NotMet),
        ("product = \"bf16\"\nsource = \"no.py\"", NotMet),
        ("kernel = \"tpu_custom_call\"", Met),
        ("kernel = \"flash_*\"", Met),
        ("kernel = \"flash_*\"\npresent = false", NotMet),
        ("fusion_of = [\"convolution\", \"tanh\"]", Met),
        ("fusion_of = [\"convolution\", \"exponential\"]", NotMet),
        ("rematerialized = false", Met),
        ("host_copies = false", Met),
        ("host_copies = true", NotMet),
        ("compiles_in_steps = false", Unknown),
        ("share_of = \"*/mlp/*\"\nmax_percent = 50", Unknown),
        // Two parameters of 64 and 128 bytes, a fusion and its sum of 512, of which the last has the memory of a parameter;
        // without the compiler's padding.
        ("max_peak_bytes = 1216", Unknown),
        ("max_peak_bytes = 1215", Unknown),
        ("max_peak_bytes = 2_000_000", Met),
        ("max_peak_bytes = 100", NotMet),
        // 8 × 4 × 16 products of two operations each, the elements of tanh do not count, those of the sum do; the kernel
        // declares no costs.
        ("max_flops = 1152", Unknown),
        ("max_flops = 1151", NotMet),
        ("max_traffic_bytes = 100_000", Met),
        ("max_traffic_bytes = 1", NotMet),
        ("donated = \"state\"", Met),
        ("donated = \"*\"", NotMet),
        ("donated = \"none\"", NotMet),
        ("program = \"jit_g\"\nop = \"fusion\"", Unknown),
    ] {
        let (found, message) = answer(TEXT, toml);
        assert_eq!(found, expected, "{toml}: {message}");
        assert!(!message.is_empty());
    }
}

/// A kernel costs what it declares.
#[test]
fn declared_operations_are_counted() {
    let config = ", backend_config={\"custom_call_config\":{\"cost_estimate\":{\"flops\":\"48\"}}}, metadata={op_name=\"jit(f)/flash";
    let text = TEXT.replace(", metadata={op_name=\"jit(f)/flash", config);
    assert_eq!(answer(&text, "max_flops = 1200").0, Verdict::Met);
    assert_eq!(answer(&text, "max_flops = 1199").0, Verdict::NotMet);
    let text = with(&text, |cx| expectations_of(cx, None).unwrap());
    assert!(text.contains("max_flops = 1200"), "{text}");
    assert!(!text.contains("max_peak_bytes"), "{text}");
    let text = with(TEXT, |cx| expectations_of(cx, None).unwrap());
    assert!(!text.contains("max_flops"), "{text}");
}

/// Products in branches, of values from outside.
#[test]
fn products_of_unknown_types_are_not_of_a_wanted_one() {
    let text = "module @jit_f {\n  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<8x8xf32>) -> tensor<8x8xf32> {\n    \
        %0 = \"stablehlo.case\"(%arg0) ({\n      %2 = stablehlo.dot_general %arg1, %arg1, contracting_dims = [1] x [0] : \
        (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>\n      stablehlo.return %2 : tensor<8x8xf32>\n    }) : \
        (tensor<i32>) -> tensor<8x8xf32>\n    return %0 : tensor<8x8xf32>\n  }\n}\n";
    for dtype in ["bf16", "f32"] {
        let (verdict, message) = answer(text, &format!("product = \"{dtype}\""));
        assert_eq!(verdict, Verdict::Unknown, "{message}");
    }
    let init = with(text, |cx| expectations_of(cx, None).unwrap_or_default());
    assert!(!init.contains("product ="), "{init}");
}

#[test]
fn instructions_are_named_with_their_source() {
    let (_, message) = answer(TEXT, "op = \"fusion\"\nmax = 0");
    assert_eq!(message, "1 found, expected none: fusion.1 (a/m.py:3)");
    let report = with(TEXT, |cx| {
        judge(cx, &[read("op = \"fusion\"\nmax = 0")]).unwrap()
    });
    assert_eq!(report.rows[0].source.as_deref(), Some("a/m.py:3"));
    assert_eq!(report.statement, "1 expectation: 1 not met");
    assert_eq!(report.gates().gates.len(), 1);
}

/// What is missing is never taken for absent.
#[test]
fn a_cut_program_leaves_open_what_it_may_still_hold() {
    use Verdict::{Met, NotMet, Unknown};
    let cut = &TEXT[..TEXT.find("  ROOT %k").unwrap()];
    for (toml, expected) in [
        ("kernel = \"*\"", Unknown),
        ("kernel = \"*\"\npresent = false", Unknown),
        ("op = \"fusion\"", Met),
        ("op = \"fusion\"\nmax = 0", NotMet),
        ("op = \"fusion\"\nmax = 1", Unknown),
        ("collective = \"all-reduce\"\nmin_bytes = 1", Met),
        ("collective = \"all-reduce\"\nmax_bytes = 1", NotMet),
        ("product = \"bf16\"", Unknown),
        ("product = \"f32\"", NotMet),
        ("max_peak_bytes = 1", Unknown),
        ("max_flops = 1", NotMet),
        ("max_flops = 1_000_000", Unknown),
    ] {
        let (found, message) = answer(cut, toml);
        assert_eq!(found, expected, "{toml}: {message}");
    }
}

/// What the compiler adds is not absent from a program that is not compiled yet.
#[test]
fn a_program_that_is_not_compiled_leaves_open_what_the_compiler_adds() {
    use Verdict::{Met, NotMet, Unknown};
    let lowered = &TEXT.replace(", is_scheduled=true", "");
    assert!(lowered.len() < TEXT.len());
    for (toml, expected) in [
        ("kernel = \"no_such_*\"", Unknown),
        ("kernel = \"no_such_*\"\npresent = false", Unknown),
        ("fusion_of = [\"sort\"]", Unknown),
        ("op = \"fusion\"", Met),
        ("op = \"fusion\"\nmax = 0", NotMet),
        ("op = \"copy-start\"\nmax = 0", Unknown),
        ("op = \"dot\"\nmin = 100", NotMet),
        ("host_copies = false", Unknown),
    ] {
        let (found, message) = answer(lowered, toml);
        assert_eq!(found, expected, "{toml}: {message}");
    }
}

/// An instruction without a scope or a source may be the one that is meant.
#[test]
fn what_narrows_an_expectation_must_be_recorded() {
    use Verdict::{Met, NotMet, Unknown};
    let bare = &TEXT
        .lines()
        .map(|line| line.split(", metadata=").next().unwrap_or(line))
        .collect::<Vec<_>>()
        .join("\n");
    for (toml, whole, without) in [
        (
            "op = \"fusion\"\nscope = \"*mlp*\"\nmax = 0",
            NotMet,
            Unknown,
        ),
        (
            "op = \"fusion\"\nscope = \"*attention*\"\nmax = 0",
            Met,
            Unknown,
        ),
        (
            "op = \"fusion\"\nsource = \"m.py:3\"\nexactly = 0",
            NotMet,
            Unknown,
        ),
        ("product = \"bf16\"\nsource = \"m.py:3\"", Met, Unknown),
        ("rematerialized = false", Met, Unknown),
        ("op = \"fusion\"\nmax = 0", NotMet, NotMet),
        ("op = \"sort\"\nscope = \"*mlp*\"\nmax = 0", Met, Met),
    ] {
        for (text, expected) in [(TEXT, whole), (bare.as_str(), without)] {
            let (found, message) = answer(text, toml);
            assert_eq!(found, expected, "{toml}: {message}");
        }
    }
}

#[test]
fn mistakes_are_refused() {
    for (toml, why) in [
        ("", "it has no condition"),
        ("op = \"a\"\nkernel = \"b\"", "several conditions"),
        ("collective = \"all-gathr\"", "did you mean \"all-gather\""),
        ("kernel = \"a\"\nmax = 1", "belong to op and collective"),
        ("share_of = \"a\"", "min_percent"),
        ("share_of = \"a\"\nmin_percent = 200", "0 to 100"),
        ("op = \"a\"\nmin = 3\nmax = 2", "above the largest"),
        ("op = \"a\"\nexactly = 3\nmax = 2", "write exactly, or"),
    ] {
        let error = read(toml).condition().unwrap_err().to_string();
        assert!(
            error.contains(why) && error.contains("\"it\""),
            "{toml}: {error}"
        );
    }
    assert!(toml::from_str::<Expectation>("nme = \"a\"").is_err());
    assert!(Expectation::default().condition().is_err());
}

#[test]
fn what_is_written_as_expected_is_met() {
    let text = with(TEXT, |cx| expectations_of(cx, None).unwrap());
    let list: toml::Table = toml::from_str(&text).unwrap();
    let list = list["expect"]
        .clone()
        .try_into::<Vec<Expectation>>()
        .unwrap();
    assert!(list.len() >= 6, "{text}");
    let report = with(TEXT, |cx| judge(cx, &list).unwrap());
    assert!(
        report.rows.iter().all(|row| row.verdict == Verdict::Met),
        "{report:?}"
    );
    // Another program does not meet them.
    let other = TEXT
        .replace("bf16", "f32")
        .replace("all-reduce(", "all-to-all(");
    let report = with(&other, |cx| judge(cx, &list).unwrap());
    assert!(report.with(Verdict::NotMet).count() >= 2, "{report:?}");
}
