//! Budgets, comparisons and memory of programs that never ran.

use crate::place::{Place, json, stderr, stdout};

/// A product and a sum over eight devices, before compilation.
const LOWERED: &str = "module @jit_f attributes {mhlo.num_partitions = 8 : i32} {\n  \
    func.func public @main(%arg0: tensor<64x128xf32>, %arg1: tensor<128x32xf32>) -> tensor<64x32xf32> {\n    \
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : \
    (tensor<64x128xf32>, tensor<128x32xf32>) -> tensor<64x32xf32>\n    \
    return %0 : tensor<64x32xf32>\n  }\n}\n";

/// `f32[1024]` is 4 KiB. The copy to vector memory is read from main memory once.
const SCHEDULED: &str = "HloModule jit_g, is_scheduled=true\n\n\
    ENTRY %main (a: f32[1024]) -> f32[1024] {\n  %a = f32[1024]{0} parameter(0)\n  \
    %s = (f32[1024]{0:S(1)}, f32[1024]{0}, u32[]{:S(2)}) copy-start(%a)\n  \
    %d = f32[1024]{0:S(1)} copy-done(%s)\n  \
    %t = f32[4096]{0} broadcast(%a), dimensions={0}, metadata={op_name=\"jit(g)/grow\" source_file=\"/u/g.py\" source_line=7}\n  \
    %u = f32[1024]{0} slice(%t), slice={[0:1024]}\n  \
    ROOT %r = f32[1024]{0} add(%u, %d)\n}\n";

fn programs() -> Place {
    let place = Place::empty();
    place.write("base.mlir", LOWERED.as_bytes());
    place.write("wide.mlir", LOWERED.replace("x32x", "x64x").as_bytes());
    place.write("g.txt", SCHEDULED.as_bytes());
    place
}

#[test]
fn budgets_of_programs_need_no_run() {
    let place = programs();
    let flops = 2 * 64 * 128 * 32;
    let budget = |most: u64| {
        format!(
            "[[budget]]\nmetric = \"program.flops\"\nmax = {most}\n\n\
             [[budget]]\nmetric = \"program.collectives.all-gather.count\"\nmax = 0\n"
        )
    };
    // What the compiler makes is not there yet.
    let unclear = "inconclusive: program.collectives.all-gather.count: the program is not compiled";
    for (most, code) in [(flops, 0), (flops - 1, 10)] {
        place.write("systole.toml", budget(most).as_bytes());
        let output = place.run(&["analyze", "base.mlir", "--budget", "systole.toml"]);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        let text = stdout(&output);
        assert!(text.contains("program.flops"), "{text}");
        assert!(text.contains("No times"), "{text}");
        assert!(
            code > 0 || stderr(&output).contains(unclear),
            "{}",
            stderr(&output)
        );
    }
    let compiled = place.run(&["analyze", "g.txt", "--budget", "systole.toml"]);
    assert_eq!(compiled.status.code(), Some(0), "{}", stderr(&compiled));
    assert!(stderr(&compiled).is_empty(), "{}", stderr(&compiled));
}

#[test]
fn loops_of_unknown_length_make_gates_inconclusive() {
    let place = programs();
    let looped = SCHEDULED.replace(
        "ENTRY",
        "%cond (c: f32[1024]) -> pred[] {\n  %c = f32[1024]{0} parameter(0)\n  ROOT %go = pred[] custom-call(%c), \
         custom_call_target=\"go\"\n}\n\n%body (b: f32[1024]) -> f32[1024] {\n  %b = f32[1024]{0} parameter(0)\n  \
         ROOT %n = f32[1024]{0} negate(%b)\n}\n\nENTRY",
    );
    let looped = looped.replace("add(%u, %d)", "while(%u), condition=%cond, body=%body");
    place.write("looped.txt", looped.as_bytes());
    place.write(
        "systole.toml",
        b"[[budget]]\nmetric = \"program.flops\"\nmax = 1000000\n\n\
          [[budget]]\nmetric = \"program.custom_calls\"\nmax = 0\nlevel = \"warn\"\n",
    );
    let output = place.run(&["analyze", "looped.txt", "--budget", "systole.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("program.flops: it is a lower limit"),
        "{}",
        stderr(&output)
    );
    // The text has one, however often it runs.
    let said = "program.custom_calls is 1";
    assert!(stderr(&output).contains(said), "{}", stderr(&output));
}

/// Padding is known to the compiler only: of 24 KiB of elements, 30 KiB may be too little.
#[test]
fn estimated_memory_passes_no_near_limit() {
    let place = programs();
    for (kib, said) in [
        (1.0, "program.peak_memory_gib is"),
        (30.0, "inconclusive: program.peak_memory_gib"),
        (1e6, ""),
    ] {
        let max = kib / f64::from(1 << 20);
        let budget = format!("[[budget]]\nmetric = \"program.peak_memory_gib\"\nmax = {max:.9}\n");
        place.write("systole.toml", budget.as_bytes());
        let output = place.run(&["analyze", "g.txt", "--budget", "systole.toml"]);
        let code = if kib < 2.0 { 10 } else { 0 };
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        let found = stderr(&output);
        assert!(
            found.contains(said) && found.is_empty() == said.is_empty(),
            "{found}"
        );
    }
}

/// A kernel without costs is not one without work.
#[test]
fn kernels_without_costs_leave_gates_open() {
    let place = programs();
    let kernel = SCHEDULED.replace(
        "add(%u, %d)",
        "custom-call(%u, %d), custom_call_target=\"tpu_custom_call\"CONFIG",
    );
    let config =
        ", backend_config={\"custom_call_config\":{\"cost_estimate\":{\"flops\":\"5000\"}}}";
    place.write(
        "systole.toml",
        b"[[budget]]\nmetric = \"program.flops\"\nmax = 1000\n",
    );
    for (config, code) in [("", 0), (config, 10)] {
        place.write("k.txt", kernel.replace("CONFIG", config).as_bytes());
        let output = place.run(&["analyze", "k.txt", "--budget", "systole.toml"]);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        let open = stderr(&output).contains("inconclusive: program.flops");
        assert_eq!(open, config.is_empty(), "{}", stderr(&output));
    }
}

#[test]
fn limits_of_programs_are_written_and_kept() {
    let place = programs();
    assert_eq!(place.code(&["init", "g.txt", "-o", "init.toml"]), 0);
    let written = place.read("init.toml");
    assert!(written.contains("program.traffic_gib"), "{written}");
    // There is no plan of its memory, only an estimate, which is compared with another one only.
    let (budgets, regressions) = written.split_once("# Against a baseline").unwrap();
    let memory = "program.peak_memory_gib";
    assert!(
        !budgets.contains(memory) && regressions.contains(memory),
        "{written}"
    );
    let judged = [
        "analyze",
        "g.txt",
        "--budget",
        "init.toml",
        "-o",
        "md=a.md",
        "-o",
        "html=a.html",
    ];
    let output = place.run(&judged);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for name in ["a.md", "a.html"] {
        let page = place.read(name);
        assert!(page.contains("traffic of main memory"), "{name}: {page}");
        assert!(!page.contains("captured"), "{name}: {page}");
    }
}

#[test]
fn growth_of_programs_is_judged() {
    let place = programs();
    place.write(
        "systole.toml",
        b"[[regression]]\nmetric = \"program.flops\"\nmax_increase_pct = 50\n",
    );
    let judged =
        |cand: &str| place.run(&["compare", "base.mlir", cand, "--budget", "systole.toml"]);
    let same = judged("base.mlir");
    assert_eq!(same.status.code(), Some(0), "{}", stderr(&same));
    let grown = judged("wide.mlir");
    assert_eq!(grown.status.code(), Some(10), "{}", stderr(&grown));
}

#[test]
fn transfers_between_memories_count_once() {
    let place = programs();
    let output = place.run(&["analyze", "g.txt", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = json(stdout(&output));
    let rows = said["reports"]["hlo"]["report"]["rows"]
        .as_array()
        .unwrap()
        .clone();
    let traffic = rows
        .iter()
        .find(|row| row["what"] == "traffic of main memory");
    // The copy reads 4 KiB; broadcast 4 and 16, slice 16 and 4 (what is read of it counts), add 4 and 4.
    let bytes = traffic.unwrap()["bytes"].as_u64().unwrap();
    assert_eq!(bytes % 4096, 0, "{bytes}");
    assert!(bytes <= 4096 * (1 + 5 + 5 + 2), "{bytes}");
}

#[test]
fn memory_of_a_program_without_a_plan_is_an_estimate() {
    let place = programs();
    let output = place.run(&["memory", "g.txt", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = json(stdout(&output));
    let need = &said["shortages"][0];
    // The argument, the long row and its first part.
    assert_eq!(need["needed_bytes"], 4096 + 16384 + 4096);
    assert_eq!(need["is_estimate"], true);
    assert_eq!(need["buffers"][0]["instruction"], "t");
    assert_eq!(need["sources"][0]["source"], "/u/g.py:7");
    let text = stdout(&place.run(&["memory", "g.txt"])).to_owned();
    assert!(text.contains("about 24.00 KiB"), "{text}");
    let lowered = place.run(&["memory", "base.mlir"]);
    assert_ne!(lowered.status.code(), Some(0));
    assert!(
        stderr(&lowered).contains("no order of execution"),
        "{}",
        stderr(&lowered)
    );
}

#[test]
fn flags_beside_dumped_programs_are_compared_and_differences_stand_beside_gates() {
    let place = Place::empty();
    let grown = SCHEDULED.replace("f32[4096]", "f32[8192]");
    for (folder, flag, program) in [("base", "true", SCHEDULED), ("cand", "false", &grown)] {
        let name = |end: &str| format!("{folder}/module_0000.jit_g.cl_9.{end}");
        place.write(&name("after_optimizations.txt"), program.as_bytes());
        let flags = format!("--xla_tpu_scheduler={flag}\n--xla_tpu_other=1\n");
        place.write(&name("flagfile"), flags.as_bytes());
        place.write(
            &name("debug_options"),
            format!("xla_dump_to: \"/tmp/{folder}\"\n").as_bytes(),
        );
    }
    place.write(
        "systole.toml",
        b"[[budget]]\nmetric = \"program.flops\"\nmax = 1e9\n",
    );
    let file = |folder: &str| format!("{folder}/module_0000.jit_g.cl_9.after_optimizations.txt");
    let (base, cand) = (file("base"), file("cand"));
    let sides = [["base", "cand"], [&base, &cand]];
    for [base, cand] in sides {
        let plain = place.run(&["compare", base, cand]);
        let plain = stdout(&plain);
        assert!(plain.contains("--xla_tpu_scheduler"), "{plain}");
        assert!(
            !plain.contains("xla_dump_to") && !plain.contains("xla_tpu_other"),
            "{plain}"
        );
    }
    let judged = place.run(&["compare", &base, &cand, "--budget", "systole.toml"]);
    let judged = stdout(&judged);
    let order = [
        "gates",
        "--xla_tpu_scheduler true → false",
        "differ: jit_g",
        "broadcast",
        "Sums that differ",
    ];
    let places: Vec<Option<usize>> = order.iter().map(|text| judged.find(text)).collect();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{places:?} {judged}"
    );
    let only = place.run(&["compare", &base, &cand, "--only", "program_sums"]);
    let only = stdout(&only);
    assert!(
        only.contains("Sums that differ") && !only.contains("xla_tpu_scheduler"),
        "{only}"
    );
    let why = place.run(&["compare", &base, &cand, "--why"]);
    let why = stdout(&why);
    assert!(
        why.contains("--xla_tpu_scheduler") && why.contains("broadcast"),
        "{why}"
    );
    assert!(!why.contains("Whole run"), "{why}");
    // A dump lists every flag that there is.
    let flags: Vec<String> = (0..100)
        .map(|flag| format!("--xla_flag_{flag}=1"))
        .collect();
    let many = flags.join("\n");
    place.write("many/module_0000.jit_g.cl_9.flagfile", many.as_bytes());
    let program = "many/module_0000.jit_g.cl_9.after_optimizations.txt";
    place.write(program, SCHEDULED.as_bytes());
    let screen = place.run(&["environment", "many"]);
    let screen = stdout(&screen);
    assert!(screen.lines().count() <= 30, "{screen}");
    assert!(screen.contains("more facts: --format json"), "{screen}");
    let shown = place.run(&["environment", &base, "--format", "json"]);
    assert_eq!(
        json(stdout(&shown))["versions"]["libtpu_build"],
        "cl_9",
        "{}",
        stdout(&shown)
    );
}

/// What is computed has no noise: a step says what many would.
#[test]
fn predicted_steps_are_judged_one_by_one() {
    let place = Place::empty();
    let sample = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../assets/samples/synthetic_v5e_layer_predicted.txt"
    );
    for (most, code) in [(2.0, 0), (1.5, 10)] {
        let budget = format!("[[budget]]\nmetric = \"step.time_ms\"\nmax = {most}\n");
        place.write("systole.toml", budget.as_bytes());
        let output = place.run(&["analyze", sample, "--budget", "systole.toml"]);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(
            !stderr(&output).contains("inconclusive"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn of_several_programs_the_judged_one_is_named() {
    let place = Place::empty();
    for (at, name) in [(0, "jit_g"), (1, "jit_other")] {
        let file = format!("dump/module_000{at}.{name}.after_optimizations.txt");
        place.write(&file, SCHEDULED.replace("jit_g", name).as_bytes());
    }
    let expected = "[[expect]]\nname = \"a slice\"\nop = \"slice\"\n";
    place.write("expect.toml", expected.as_bytes());
    let said = place.run(&["expect", "expect.toml", "dump"]);
    let said: Vec<&str> = stdout(&said).split_whitespace().collect();
    let said = said.join(" ");
    assert!(
        said.contains("about jit_other(1), the largest of 2 that they fit"),
        "{said}"
    );
    assert!(!said.contains(" 0 B"), "{said}");
}
