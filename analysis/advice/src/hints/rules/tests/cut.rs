//! How a program is cut into ops says nothing about how well it runs: the same work as one op or as sixty gives the
//! same advice.

use std::fmt::Write as _;

use engine::{Context, Options, ReportCache, Scope};
use run_reports::summary::targets::Targets;
use run_reports::summary::verdict::{RunVerdict, VerdictReport};
use sample_traces::text_trace;
use trace_model::Picos;

use super::about_program;
use crate::hints::{Hints, HintsReport};

/// An op before it is cut.
struct WholeOp {
    /// Name without number.
    name: &'static str,
    category: &'static str,
    us: u64,
    /// Share of the peaks of the device, in percent: operations and bytes of HBM; `None` if not recorded.
    uses: Option<[u64; 2]>,
    /// A product of `rows × depth` by `depth × 61440`, whose columns are cut.
    product: Option<[u64; 2]>,
}

const fn op(name: &'static str, category: &'static str, us: u64, uses: [u64; 2]) -> WholeOp {
    WholeOp {
        name,
        category,
        us,
        uses: Some(uses),
        product: None,
    }
}

const fn silent(name: &'static str, category: &'static str, us: u64) -> WholeOp {
    WholeOp {
        name,
        category,
        us,
        uses: None,
        product: None,
    }
}

/// Columns of all products.
const COLUMNS: u64 = 61_440;
/// Into how many parts all ops can be cut.
const CUTS: [u64; 5] = [1, 2, 6, 10, 60];

/// Three steps of these ops on a chip of 200 TFLOP/s and 800 GB/s, each op cut into so many equal ones.
fn picture(ops: &[WholeOp], parts: u64) -> String {
    const STEPS: usize = 3;
    let (mut cells, mut legend) = (String::new(), String::new());
    let mut letters = (0x4E00..).filter_map(char::from_u32);
    for (line, op) in ops.iter().enumerate() {
        for part in 0..parts {
            let (letter, number) = (letters.next().unwrap(), line as u64 * 100 + part);
            // A column is half a microsecond.
            cells.extend(std::iter::repeat_n(letter, (2 * op.us / parts) as usize));
            let costs = op.uses.map(|[flops, bytes]| {
                let [flops, bytes] = [
                    flops * op.us * 2_000_000 / parts,
                    bytes * op.us * 8_000 / parts,
                ];
                format!(" flops={flops} hbm_read={bytes} hbm_write=0")
            });
            let text = op.product.map(|[m, k]| {
                let n = COLUMNS / parts;
                format!(
                    " :: %{}.{number} = bf16[{m},{n}]{{1,0}} dot(bf16[{m},{k}]{{1,0}} %a, bf16[{k},{n}]{{1,0}} %b), \
                     lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}",
                    op.name
                )
            });
            let (costs, text) = (costs.unwrap_or_default(), text.unwrap_or_default());
            let (name, category) = (op.name, op.category);
            writeln!(
                legend,
                "{letter} = {name}.{number} [{category}] source=model.py:{line}{costs}{text}"
            )
            .unwrap();
        }
    }
    // Ops of one name that touch would be one slice.
    cells.push('.');
    let length = cells.chars().count();
    let steps: String = (0..STEPS)
        .flat_map(|step| std::iter::repeat_n(step.to_string(), length))
        .collect();
    let modules: String = (0..STEPS)
        .flat_map(|step| std::iter::repeat_n(["M", "N"][step % 2], length))
        .collect();
    format!(
        "@column 500ns\n@device flops=200e12 hbm=800e9 TPU v5 lite\nsteps: {steps}\nmodules: {modules}\nops: {}\n{legend}\
         M = jit_step(7)\nN = jit_step(7)",
        cells.repeat(STEPS)
    )
}

/// The advice about a program cut into so many parts.
struct Advice {
    hints: HintsReport,
    verdict: VerdictReport,
    lights: Vec<&'static str>,
}

fn advice(ops: &[WholeOp], parts: u64) -> Advice {
    let (model, options, reports) = (
        text_trace(&picture(ops, parts)),
        Options::default(),
        ReportCache::default(),
    );
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    let lights = cx
        .report::<Targets>()
        .unwrap()
        .targets
        .iter()
        .map(|target| target.light.title())
        .collect();
    let verdict = cx.report::<RunVerdict>().unwrap().as_ref().clone();
    Advice {
        hints: cx.report::<Hints>().unwrap().as_ref().clone(),
        verdict,
        lights,
    }
}

fn near(a: Picos, b: Picos) -> bool {
    (a.max(b) - a.min(b)).as_ps_f64() <= 0.01 * a.max(b).as_ps_f64()
}

fn assert_same(name: &str, whole: &Advice, cut: &Advice, parts: u64) {
    let name = format!("{name} in {parts} parts");
    assert_eq!(
        about_program(&cut.hints),
        about_program(&whole.hints),
        "{name}"
    );
    for (one, other) in whole.hints.hints.iter().zip(&cut.hints.hints) {
        assert_eq!((one.id, one.severity), (other.id, other.severity), "{name}");
        match (one.saving_ps, other.saving_ps) {
            (Some(a), Some(b)) => assert!(near(a, b), "{name}: {} saves {a}, then {b}", one.id),
            (a, b) => assert_eq!(a, b, "{name}: {}", one.id),
        }
    }
    let all = |advice: &Advice| advice.hints.combined_saving_ps.unwrap_or_default();
    assert!(
        near(all(whole), all(cut)),
        "{name}: {} and {}",
        all(whole),
        all(cut)
    );
    assert_eq!(cut.verdict.statement, whole.verdict.statement, "{name}");
    let shares = |advice: &Advice| -> Vec<_> {
        advice
            .verdict
            .findings
            .iter()
            .map(|finding| (finding.id, finding.time_ps, finding.is_named))
            .collect()
    };
    assert_eq!(shares(cut), shares(whole), "{name}");
    assert_eq!(cut.lights, whole.lights, "{name}");
}

/// Programs with what they must be told.
fn programs() -> Vec<(&'static str, Vec<WholeOp>, Vec<&'static str>)> {
    let matmul = |rows, depth, us, uses| WholeOp {
        product: Some([rows, depth]),
        ..op("convolution", "convolution", us, uses)
    };
    vec![
        (
            "slow matmuls",
            vec![
                op("fusion", "convolution fusion", 1800, [20, 1]),
                op("dot_fusion", "convolution fusion", 180, [80, 1]),
            ],
            vec!["K12"],
        ),
        (
            "slow streams",
            vec![
                op("fusion", "loop fusion", 1800, [1, 20]),
                op("add_fusion", "loop fusion", 180, [1, 60]),
            ],
            vec!["K14"],
        ),
        // Matmuls that memory limits, and that are far from this limit, too.
        (
            "matmuls far below memory",
            vec![op("fusion", "convolution fusion", 1800, [5, 20])],
            vec!["K14"],
        ),
        (
            "slow decoding",
            vec![matmul(16, 4096, 720, [2, 30])],
            vec!["K14", "K16"],
        ),
        // Parts of three microseconds.
        (
            "short slow streams",
            vec![op("fusion", "loop fusion", 180, [1, 20])],
            vec!["K14"],
        ),
        // Parts of one microsecond at their roof do not lose their time by starting.
        (
            "streams at their roof",
            vec![op("fusion", "loop fusion", 60, [1, 90])],
            vec!["K13"],
        ),
        // 16 rows of 4096 × 61440: 503 MB.
        (
            "decoding",
            vec![matmul(16, 4096, 720, [5, 88])],
            vec!["K16", "K13"],
        ),
        // Half of each tile is empty.
        (
            "padding",
            vec![
                matmul(2048, 64, 120, [55, 1]),
                silent("add", "loop fusion", 240),
            ],
            vec!["K11"],
        ),
        (
            "many causes",
            vec![
                op("fusion", "convolution fusion", 600, [20, 1]),
                op("add_fusion", "loop fusion", 480, [1, 20]),
                op("multiply_fusion", "loop fusion", 240, [1, 90]),
                silent("all-reduce", "all-reduce", 240),
                silent("copy", "copy", 180),
                silent("gather", "gather fusion", 300),
            ],
            vec!["K12", "K14", "K01", "K02", "K19", "K21", "K13"],
        ),
    ]
}

#[test]
fn advice_does_not_depend_on_how_a_program_is_cut_into_ops() {
    for (name, ops, told) in programs() {
        let whole = advice(&ops, 1);
        let mut ids = about_program(&whole.hints);
        assert!(
            told.iter().all(|id| ids.contains(id)),
            "{name}: {ids:?} lacks one of {told:?}"
        );
        ids.retain(|id| !told.contains(id));
        assert!(ids.is_empty(), "{name}: {ids:?} besides {told:?}");
        for parts in CUTS {
            assert_same(name, &whole, &advice(&ops, parts), parts);
        }
    }
}

/// Unrolled layers whose speeds lie around a threshold are judged as the loop over them would be.
#[test]
fn unrolled_layers_are_judged_as_their_loop() {
    let layer = |number: usize, us: usize| {
        let letter = char::from(b'a' + number as u8);
        (
            letter.to_string().repeat(us),
            format!(
                "{letter} = fusion.{number} [convolution fusion] source=m.py:1 flops=48e6 hbm_read=1 hbm_write=1\n"
            ),
        )
    };
    // 48 µs at the peak: 46 to 51 %, together 48.5 %.
    let layers: Vec<_> = [104, 94, 104, 94]
        .into_iter()
        .enumerate()
        .map(|(number, us)| layer(number, us))
        .collect();
    let cells: String = layers.iter().map(|(cells, _)| cells.as_str()).collect();
    let legend: String = layers.iter().map(|(_, legend)| legend.as_str()).collect();
    let picture =
        format!("@column 1us\n@device flops=1e12 hbm=1e9 TPU v5 lite\nops: {cells}\n{legend}");
    let report = super::report(&picture);
    let hint = report.hints.iter().find(|hint| hint.id == "K12").unwrap();
    assert_eq!(hint.ops.len(), 4, "{}", hint.statement);
}
