//! Runs made to show one thing: exactly the hints that belong to it, and no other.

use trace_model::Picos;

use super::{
    about_program, compile, gaps, hardware, ids, matmul, mixed, one_op, report, run, sent, sizes,
    uneven,
};

#[test]
fn each_sample_triggers_exactly_its_hints() {
    let cases: Vec<(&str, String, &[&str])> = vec![
        ("layout", mixed(10, "copy.1", "copy"), &["K19"]),
        (
            "slices",
            mixed(10, "dynamic-update-slice.1", "dynamic-update-slice"),
            &["K20"],
        ),
        ("gather", mixed(10, "gather.1", "gather fusion"), &["K21"]),
        ("remat", mixed(10, "add.2.remat", "loop fusion"), &["K24"]),
        ("copies", mixed(10, "copy-done.1", "copy-done"), &["K25"]),
        (
            "kernel",
            mixed(10, "flash_attention.1", "custom-call"),
            &["K29"],
        ),
        (
            "megacore",
            mixed(10, "fusion.9", "megacore fusion"),
            &["K45"],
        ),
        (
            "slow matmul",
            one_op("convolution fusion", "flops=40e6 hbm_read=1 hbm_write=1"),
            &["K12"],
        ),
        (
            "memory roof",
            one_op("loop fusion", "flops=1 hbm_read=80_000 hbm_write=0"),
            &["K13"],
        ),
        (
            "slow op",
            one_op("loop fusion", "flops=1 hbm_read=40_000 hbm_write=0"),
            &["K14"],
        ),
        (
            "matmul far from memory",
            one_op(
                "convolution fusion",
                "flops=10e6 hbm_read=40_000 hbm_write=0",
            ),
            &["K14"],
        ),
        ("padding", matmul(1024, 64, 1024, ""), &["K11", "K12"]),
        ("launches", gaps('h', 10, "tpu::System::Execute"), &["K32"]),
        ("reading", gaps('h', 10, "np.asarray(jax.Array)"), &["K33"]),
        ("input", gaps('h', 10, "IteratorGetNext"), &["K34"]),
        ("upload", gaps('h', 10, "DevicePut"), &["K35"]),
        ("unknown gaps", gaps('h', 10, "something"), &["K31"]),
        ("imbalance", uneven(20), &["K07", "K31"]),
        ("few rows", sizes::few_rows(45, 16), &["K16", "K13"]),
        ("narrow types", sizes::dense(90, ("bf16", "bf16")), &["K18"]),
        ("short loops", sizes::looping(64, 19), &["K23", "K22"]),
        (
            "sent twice",
            sent::gathers(20, "w.1"),
            &["K01", "K02", "K05"],
        ),
        ("slices of a machine", sent::slices(10, 80, 8), &["K10"]),
        ("calls", sent::calls(10), &["K42"]),
        ("stalls", hardware::stalled(20_000_000), &["K28"]),
        ("waiting kernel", hardware::kernel(40, 100), &["K28", "K29"]),
        ("compiling loop", compile::host_loop(30, "f"), &["K36"]),
        ("many programs", compile::programs(12, 20), &["K41", "K31"]),
        ("no marks", compile::lazy(false, 2, ""), &["K39"]),
        ("early syncs", compile::lazy(true, 2, ".e"), &["K40"]),
    ];
    let mut wrong = Vec::new();
    for (name, picture, expected) in cases {
        let mut found = ids(&picture);
        let mut expected = expected.to_vec();
        found.sort_unstable();
        expected.sort_unstable();
        if found != expected {
            wrong.push(format!("{name}: {found:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn run_without_problems_has_no_hint() {
    let picture = one_op("convolution fusion", "flops=90e6 hbm_read=1 hbm_write=1");
    let report = report(&picture);
    assert_eq!(about_program(&report), [""; 0]);
    assert_eq!(
        (report.combined_saving_ps, report.not_combined.len()),
        (None, 0)
    );
}

/// Half of the time communicates synchronously; twenty columns of compute could hide it.
#[test]
fn combined_savings_stay_within_shared_bounds() {
    let picture = format!(
        "@column 10us\nops: {}{}{}\nM = f [convolution fusion]\nR = all-reduce.1 [all-reduce]\nx = copy.1 [copy]",
        "M".repeat(20),
        "R".repeat(70),
        "x".repeat(10),
    );
    let report = report(&picture);
    let saving = |id: &str| {
        report
            .hints
            .iter()
            .find(|hint| hint.id == id)
            .and_then(|hint| hint.saving_ps)
            .unwrap()
            .ps()
    };
    // Compute that hides nothing yet bounds both, copies count as work that can hide.
    let free = saving("K01");
    assert_eq!(saving("K19"), 100_000_000);
    let exposed = report.hints.iter().find(|hint| hint.id == "K01").unwrap();
    assert_eq!(
        exposed
            .also
            .iter()
            .map(|other| other.id)
            .collect::<Vec<_>>(),
        ["K02"]
    );
    assert!(!exposed.overlaps_with.contains(&"K19"));
    // What no compute can hide stays once, whichever hint says so.
    assert_eq!(
        report.combined_saving_ps.map(Picos::ps),
        Some(free + 100_000_000)
    );
}

/// A saving by formula is no part of the replay, even where it is the largest.
#[test]
fn combined_savings_name_what_they_count() {
    let row = |busy: &str, gap: char| format!("{busy}{}", run(gap, 20)).repeat(5);
    let picture = format!(
        "@column 10us\nmodules: {}\nops: {}\nhost main: {}\nP = jit_f(1)\nM = f [convolution fusion]\n\
         R = all-reduce.1 [all-reduce]\nx = copy.1 [copy]\ni = IteratorGetNext",
        row(&run('P', 30), '.'),
        row(
            &format!("{}{}{}", run('M', 16), run('R', 8), run('x', 6)),
            '.'
        ),
        row(&run('.', 30), 'i'),
    );
    let report = report(&picture);
    let saving = |id: &str| report.hints.iter().find(|hint| hint.id == id)?.saving_ps;
    assert_eq!(report.combined, ["K01", "K19"]);
    assert_eq!(report.not_combined, ["K34"]);
    let together = report.combined_saving_ps.unwrap();
    assert!(Some(together) >= saving("K01") && Some(together) < saving("K34"));
    let said = report.all_together(|time| time.to_string()).unwrap();
    let (whole, input) = (Picos::rounded(report.step_ps), saving("K34").unwrap());
    assert_eq!(
        said,
        format!(
            "Together K01 and K19 save at most {together} ({:.1} of {whole}): from one replay with all their changes. Not counted: K34 ({input} by formula).",
            report.combined_saving_percent.unwrap()
        )
    );
}
