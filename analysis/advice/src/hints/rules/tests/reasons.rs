//! Advice gives the cause of the ops that it is about, and nothing that what was seen excludes.

use std::fmt::Write as _;

use super::advice::{hint, remedy};
use super::{report, run};
use crate::hints::Hint;

/// How a program is drawn: the advice is the same.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// Ops of each kind.
    ops: usize,
    devices: usize,
    has_steps: bool,
}

const SHAPES: [Shape; 4] = [
    Shape {
        ops: 1,
        devices: 1,
        has_steps: false,
    },
    Shape {
        ops: 10,
        devices: 1,
        has_steps: false,
    },
    Shape {
        ops: 1,
        devices: 1,
        has_steps: true,
    },
    Shape {
        ops: 5,
        devices: 3,
        has_steps: true,
    },
];

/// Two times 1000 columns of 10 µs at this share of 1 GB/s: so many percent of a product of 8 rows, the others
/// element-wise.
struct Streams {
    matmuls: usize,
    hbm_percent: usize,
    /// Types of the arrays of both.
    dtype: &'static str,
    /// Shape and layout of the element-wise ops.
    vectors: &'static str,
}

impl Streams {
    fn draw(&self, shape: Shape) -> String {
        let Self {
            matmuls,
            hbm_percent,
            dtype,
            vectors,
        } = *self;
        let Shape {
            ops,
            devices,
            has_steps,
        } = shape;
        let (mut cells, mut legend) = (String::new(), String::new());
        let product = format!(
            "{dtype}[8,8192]{{1,0}} fusion({dtype}[8,8192]{{1,0}} %x, {dtype}[8192,8192]{{1,0}} %w)"
        );
        let stream = format!("{dtype}{vectors} fusion({dtype}{vectors} %a)");
        for (columns, name, category, text) in [
            (matmuls, "fusion", "convolution fusion", product),
            (100 - matmuls, "add_fusion", "loop fusion", stream),
        ] {
            for op in 0..ops {
                let letter = char::from_u32(0x4E00 + legend.lines().count() as u32).unwrap();
                let length = 10 * columns / ops;
                cells += &run(letter, length);
                let bytes = length * hbm_percent * 100;
                writeln!(
                    legend,
                    "{letter} = {name}.{op} [{category}] tf=jit(f)/x source=m.py:{columns} flops={bytes} hbm_read={bytes} \
                     hbm_write=0 :: %{name}.{op} = {text}, kind=kOutput, calls=%f").unwrap();
            }
        }
        let device = |at: usize| {
            let marks = format!("TPU:{at} steps: {}{}\n", run('0', 1001), run('1', 1001));
            let marks = if has_steps { marks } else { String::new() };
            format!("{marks}TPU:{at} ops: {cells}.{cells}\n")
        };
        let devices: Vec<String> = (0..devices).map(device).collect();
        format!(
            "@column 10us\n@device flops=1e12 hbm=1e9 TPU v5 lite\n{}{legend}",
            devices.concat()
        )
    }

    /// What a hint says about it, whatever its shape.
    fn told(&self, id: &str) -> (String, String) {
        let mut told = SHAPES
            .map(|shape| remedy(&self.draw(shape), id))
            .into_iter();
        let first = told.next().unwrap();
        for (other, shape) in told.zip(&SHAPES[1..]) {
            assert_eq!(other, first, "{shape:?}");
        }
        first
    }
}

fn assert_says(text: &str, words: &[&str], others: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is not said: {text}");
    }
    for other in others {
        assert!(!text.contains(other), "{other:?} is said: {text}");
    }
}

/// Of vector registers and of axes of reductions.
const OF_VECTORS: [&str; 5] = ["register", "minor", "Reduce", "reduction", "scalar"];

#[test]
fn products_far_below_memory_are_told_about_their_operands() {
    let slow = Streams {
        matmuls: 100,
        hbm_percent: 30,
        dtype: "bf16",
        vectors: "[4096,4096]{1,0}",
    };
    let (action, code) = slow.told("K14");
    assert_says(&action, &["operands", "strided pieces"], &OF_VECTORS);
    assert_eq!(code, "", "moving an axis is for vectors");
    let brief = super::brief(&report(&slow.draw(SHAPES[0])), "K14");
    assert_says(&brief, &["operands"], &OF_VECTORS);
}

#[test]
fn each_kind_of_slow_op_has_its_own_cause() {
    let told = |matmuls, vectors| {
        let mixed = Streams {
            matmuls,
            hbm_percent: 30,
            dtype: "bf16",
            vectors,
        };
        mixed.told("K14").0
    };
    let (full, narrow) = ("[4096,4096]{1,0}", "[4096,3]{1,0}");
    // The larger part comes first.
    for (matmuls, first) in [(70, "operands"), (30, "registers")] {
        let said = told(matmuls, full);
        let sentence = said.split(". ").next().unwrap();
        assert_says(sentence, &[first], &[]);
        assert_says(
            &said,
            &["operands", "registers of 8 × 128 already", "scalar"],
            &["below 128", "Change shape"],
        );
        assert_says(
            &told(matmuls, narrow),
            &["operands", "below 128"],
            &["already"],
        );
    }
    // What takes next to nothing has no say.
    assert_says(
        &told(5, full),
        &["registers of 8 × 128 already"],
        &["operands"],
    );
    assert_says(&told(95, full), &["operands"], &OF_VECTORS);
}

#[test]
fn weights_are_not_to_be_fused_with_what_writes_them() {
    let told = |matmuls, dtype| {
        let full = Streams {
            matmuls,
            hbm_percent: 90,
            dtype,
            vectors: "[4096,4096]{1,0}",
        };
        full.told("K13").0
    };
    let fusing = ["fuse", "producer"];
    let narrowing = ["bfloat16", "narrower types"];
    let only = told(100, "bf16");
    assert_says(&only, &["int8 or fp8"], &[fusing, narrowing].concat());
    assert_says(&told(100, "f32"), &["int8 or fp8", "bfloat16"], &fusing);
    // 75 % of the time in products, as in decoding.
    let most = told(75, "bf16");
    assert_says(&most, &["int8 or fp8", "fuse"], &narrowing);
    assert!(most.find("int8") < most.find("fuse"), "{most}");
    let few = told(25, "bf16");
    assert!(few.find("int8") > few.find("fuse"), "{few}");
    let none = told(0, "bf16");
    assert_says(&none, &["fuse"], &["weight", "int8", "bfloat16"]);
    assert_says(&told(0, "f32"), &["fuse", "bfloat16"], &["weight"]);
}

#[test]
fn a_reason_is_not_followed_by_what_it_excludes() {
    let product = |dtype: &str| {
        let text = format!(
            "@column 10us\n@device flops=1e12 hbm=1e9 TPU v5 lite\nops: xxxxxxxxxx\n\
             x = fusion.1 [convolution fusion] tf=jit(f)/dot flops=40e6 hbm_read=1 hbm_write=1 :: %fusion.1 = f32[512,512]{{1,0}} \
             fusion({dtype}[512,512]{{1,0}} %a, {dtype}[512,512]{{1,0}} %b), kind=kOutput, calls=%f"
        );
        remedy(&text, "K12").0
    };
    assert_says(
        &product("bf16"),
        &["16 bits", "einsum"],
        &["float32", "bfloat16"],
    );
    assert_says(&product("f32"), &["float32"], &["already"]);

    let slices = |more: &str, op: &str| {
        let picture = format!(
            "@column 10us\nops: {}{}{}\nM = f [convolution fusion]\nx = dynamic-update-slice.1 [dynamic-update-slice] tf={op}\n{more}",
            run('M', 75),
            run('x', 15),
            run('r', 10),
        );
        remedy(&picture, "K20").0
    };
    let (remat, trains) = (
        "r = add.2.remat [loop fusion]",
        "jit(train)/transpose(jvp(while))/body/dynamic_update_slice",
    );
    let kept = ["Donate", "two minor dimensions"];
    let both = slices(remat, trains);
    assert_says(
        &both,
        &kept,
        &["save less per layer", "Serving", "Training:"],
    );
    let training = slices("r = add.2 [convolution fusion]", trains);
    assert_says(&training, &kept, &["Serving", "Training:"]);
    let neither = slices("r = add.2 [convolution fusion]", "jit(f)/x");
    assert_says(
        &neither,
        &[&kept[..], &["Training:", "Serving:"]].concat(),
        &[],
    );
}

/// What takes a part of the time of products is wrong with a part of them.
#[test]
fn a_hint_about_a_part_is_named_where_the_rest_has_none() {
    let picture = |slow: usize| {
        format!(
            "@column 10us\n@device flops=1e12 hbm=1e9 TPU v5 lite\nops: {}{}\n\
             a = fusion.1 [convolution fusion] flops={} hbm_read=1 hbm_write=1\n\
             b = fusion.2 [convolution fusion] flops={} hbm_read={} hbm_write=1",
            run('a', 100 - slow),
            run('b', slow),
            (100 - slow) * 9_500_000,
            slow * 10_000,
            slow * 3_000,
        )
    };
    let reason = |slow: usize| {
        let report = report(&picture(slow));
        report.unanswered.first().map(|open| open.reason.clone())
    };
    assert_eq!(
        reason(10).as_deref(),
        Some("K14 is about a part of it; no rule finds anything wrong with the rest")
    );
    assert_eq!(
        reason(30).as_deref(),
        Some("K14 is about a part of it; no rule knows why the rest misses its target, MXU > 80 %")
    );
    assert_eq!(
        reason(0).as_deref(),
        Some("no rule finds anything wrong with it")
    );
    assert_eq!(reason(60), None);
}

/// Slices at a fifth of the bandwidth, and other ops at as much, in parts of 100 columns.
fn slow_slices(slices: usize, others: usize, parts: usize) -> Vec<(&'static str, Hint)> {
    let (mut cells, mut legend) = (String::new(), String::new());
    for (columns, name, category) in [
        (slices, "dynamic-update-slice", "dynamic-update-slice"),
        (others, "add_fusion", "loop fusion"),
    ] {
        for part in 0..parts {
            let letter = char::from_u32(0x4E00 + legend.lines().count() as u32).unwrap();
            let (columns, number) = (columns / parts, part + 1);
            cells += &run(letter, columns);
            writeln!(
                legend,
                "{letter} = {name}.{number} [{category}] flops=1 hbm_read={} hbm_write=0",
                columns * 2_000
            )
            .unwrap();
        }
    }
    let picture = format!(
        "@column 10us\n@device flops=1e12 hbm=1e9 TPU v5 lite\nops: {}{cells}\nM = f [convolution fusion]\n{legend}",
        run('M', 100 - slices - others)
    );
    let hints = report(&picture).hints.into_iter();
    hints.map(|hint| (hint.id, hint)).collect()
}

#[test]
fn slices_are_told_once() {
    for parts in [1, 4] {
        let of = |slices, others, id: &str| {
            let found = slow_slices(slices, others, parts);
            found
                .into_iter()
                .find(|(own, _)| *own == id)
                .map(|(_, hint)| hint)
        };
        assert!(
            of(20, 0, "K20").is_some() && of(20, 0, "K14").is_none(),
            "{parts}"
        );
        let (slices, others) = (of(20, 12, "K20").unwrap(), of(20, 12, "K14").unwrap());
        assert!(
            slices.overlaps_with.is_empty(),
            "{:?}",
            slices.overlaps_with
        );
        assert!(
            others
                .ops
                .iter()
                .all(|op| op.name.starts_with("add_fusion"))
        );
        // Slices that take too little for their own rule are slow ops like others.
        let together = of(4, 12, "K14").unwrap();
        assert!(together.ops.iter().any(|op| op.name.starts_with("dynamic")));
    }
}

/// More rows give throughput; what makes the step shorter are narrower weights.
#[test]
fn a_saving_names_the_remedy_that_it_is_of() {
    let saved_by = |weights: &str| {
        let picture = super::sizes::few_rows(45, 16).replace("bf16[4096,4096]", weights);
        let hint = hint(&report(&picture), "K16");
        (hint.saving_ps.is_some(), hint.saved_by)
    };
    assert_eq!(
        saved_by("bf16[4096,4096]"),
        (true, Some("weights in int8 or fp8"))
    );
    assert_eq!(saved_by("s8[4096,4096]"), (false, None));
}
