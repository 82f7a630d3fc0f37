//! What hints advise fits the program, the chip and what ran.

#![expect(clippy::format_collect, reason = "texts of tests are short")]

use engine::HintOptions;
use sample_traces::{text_builder, text_trace};
use trace_model::{GroupKind, Picos, SliceAttr, SliceSpec, TimeRange, Timestamp, TrackKind};

use super::{
    about_program, cannot_tell, communicating, ids, matmul, mixed, report, report_of, run, saving,
};
use crate::hints::{Hint, HintSeverity, HintsReport};

pub(super) fn hint(report: &HintsReport, id: &str) -> Hint {
    report
        .hints
        .iter()
        .find(|hint| hint.id == id)
        .cloned()
        .unwrap_or_else(|| panic!("no {id}"))
}

/// What hint `id` says to do, and its code, as a hint or as a further remedy.
pub(super) fn remedy(picture: &str, id: &str) -> (String, String) {
    let report = report(picture);
    let also = report.hints.iter().flat_map(|hint| {
        let code = |other: &Option<String>| other.clone().or_else(|| hint.code.clone());
        // Below the advice of the hint, of which it repeats nothing.
        let read = |other: &str| format!("{} {other}", hint.action);
        hint.also
            .iter()
            .map(move |other| (other.id, read(&other.action), code(&other.code)))
    });
    let own = report
        .hints
        .iter()
        .map(|hint| (hint.id, hint.action.clone(), hint.code.clone()));
    own.chain(also)
        .find(|(own, ..)| *own == id)
        .map(|(_, action, code)| (action, code.unwrap_or_default()))
        .unwrap_or_default()
}

/// One token for each of four requests: 4 × 4096 by 4096 × 3584 on a v5e, for 50 µs.
fn decode(costs: &str) -> String {
    format!(
        "
        @column 5us
        @device flops=197e12 hbm=819e9 TPU v5 lite
        ops: xxxxxxxxxx
        x = fusion.1 [convolution fusion] {costs} :: %fusion.1 = bf16[4,3584]{{1,0}} fusion(bf16[4,4096]{{1,0}} %x, bf16[4096,3584]{{1,0}} %w), kind=kOutput, calls=%dense
        "
    )
}

#[test]
fn padding_is_free_where_reading_the_weights_takes_longer() {
    // 29.4 MB take 35.8 µs, the product on whole tiles 2.4 µs.
    for costs in [
        "flops=117440512",
        "flops=117440512 hbm_read=29360128 hbm_write=28672",
    ] {
        assert_eq!(ids(&decode(costs)).first(), Some(&"K16"), "{costs}");
        assert!(!ids(&decode(costs)).contains(&"K11"), "{costs}");
    }
    // As a simulator with other peaks: more bytes than the published peak could move.
    let beyond = decode("flops=117440512 hbm_read=99000000 hbm_write=0");
    assert!(!ids(&beyond).contains(&"K11"), "{:?}", ids(&beyond));
    // Where compute limits the product, padding costs what it did.
    assert_eq!(saving(&matmul(1024, 64, 1024, ""), "K11"), Some(50_000_000));
}

#[test]
fn the_size_that_wastes_most_is_named_in_code() {
    let (_, code) = remedy(&matmul(1024, 64, 1024, ""), "K11");
    assert_eq!(
        code,
        "K = 128  # 64 in fusion.1; multiples of 128 fill the matrix unit"
    );
}

#[test]
fn advice_about_the_same_time_repeats_no_sentence() {
    let found = report(&communicating(80, 20, "all-reduce", "")).hints;
    let hint = found.iter().find(|hint| !hint.also.is_empty()).unwrap();
    let sentence = hint.action.split(". ").next().unwrap();
    assert!(sentence.starts_with("Set the flags"), "{}", hint.action);
    for other in &hint.also {
        assert!(!other.action.contains(sentence), "{}", other.action);
        assert!(!other.action.is_empty());
    }
}

#[test]
fn names_in_a_statement_are_those_that_take_time() {
    let statement = |picture: &str| {
        report(picture)
            .hints
            .into_iter()
            .find(|hint| hint.id == "K19")
            .map(|hint| hint.statement)
            .unwrap_or_default()
    };
    let picture = |b: usize| {
        format!(
            "@column 10us\nops: {}{}{}\na = copy.1 [copy]\nb = copy.2 [copy]\nM = f [convolution fusion]",
            run('a', 40),
            run('b', b),
            run('M', 20)
        )
    };
    let (seldom, often) = (statement(&picture(1)), statement(&picture(10)));
    assert!(seldom.ends_with("(copy.1 and 1 more)"), "{seldom}");
    assert!(often.ends_with("(copy.1, copy.2)"), "{often}");
}

#[test]
fn flags_are_those_of_the_collectives_that_ran_on_this_chip() {
    let on = |op: &str, chip: &str| {
        let picture = communicating(80, 20, op, "").replace("TPU v5 lite", chip);
        [remedy(&picture, "K01"), remedy(&picture, "K02")]
    };
    for (advice, code) in on("all-reduce", "TPU v5 lite") {
        assert_eq!(
            code,
            "export LIBTPU_INIT_ARGS=\"$LIBTPU_INIT_ARGS \\\n  \
             --xla_enable_async_all_reduce=true \\\n  \
             --xla_tpu_enable_async_collective_fusion_fuse_all_reduce=true\""
        );
        assert!(
            advice.contains("all-reduce") && !advice.contains("--xla"),
            "{advice}"
        );
    }
    // The flags of v5e make other chips fail or compute wrong results.
    let [_, (_, code)] = on("all-reduce", "TPU v6 lite");
    assert!(
        code.contains("--xla_tpu_enable_sparse_core_collective_offload_all_reduce=true\""),
        "{code}"
    );
    assert!(!code.contains("fusion"), "{code}");
    for (op, chip, word) in [
        ("all-gather", "TPU v5 lite", "by default"),
        ("all-to-all", "TPU v6 lite", "no flag is known"),
        // Which chip it is nobody says.
        ("all-reduce", "TPU x", "Give the compiler"),
    ] {
        let [_, (advice, code)] = on(op, chip);
        assert!(advice.contains(word), "{advice}");
        assert!(!code.contains("--xla") && !code.is_empty(), "{code}");
    }
}

/// The flag of a kind that takes next to nothing of the exposed time does not belong to it.
#[test]
fn flags_are_those_of_kinds_with_much_of_the_exposed_time() {
    let code = |reduce: usize, gather: usize| {
        let ops = format!("{}{}{}", run('M', 100), run('R', reduce), run('G', gather));
        let device = |at: usize| format!("TPU:{at} ops: {ops}\n");
        let picture = format!(
            "@column 10us\n@device flops=918e12 hbm=1638e9 TPU v6 lite\n{}M = f [convolution fusion]\n\
             R = all-reduce.1 [all-reduce]\nG = all-gather.1 [all-gather]",
            (0..4).map(device).collect::<String>()
        );
        remedy(&picture, "K01").1
    };
    assert!(code(5, 45).contains("offload_all_reduce"));
    assert!(!code(4, 46).contains("all_reduce"));
}

/// Four devices gather; all but the last are there so many columns early.
fn late_gather(early: usize, transfer: usize, elements: u64) -> String {
    let ops = |wait: usize| {
        format!(
            "{}{}",
            run('M', 100 + early - wait),
            run('R', wait + transfer)
        )
    };
    let text = format!(
        "%all-gather.1 = bf16[{elements}]{{0}} all-gather(bf16[{}]{{0}} %p), replica_groups={{{{0,1,2,3}}}}, dimensions={{0}}",
        elements / 4
    );
    let devices = [early, early, early, 0]
        .into_iter()
        .enumerate()
        .map(|(at, wait)| format!("TPU:{at} ops: {}\n", ops(wait)));
    format!(
        "@column 10us\n@device flops=197e12 hbm=819e9 TPU v5 lite\n{}M = f [convolution fusion]\nR = all-gather.1 [all-gather] :: {text}",
        devices.collect::<String>()
    )
}

#[test]
fn waiting_for_a_late_device_is_not_slow_links() {
    // 12 MB in 100 µs use the links well, and 1.2 MB do not, however long the others waited before.
    assert!(!ids(&late_gather(50, 10, 6_000_000)).contains(&"K03"));
    let (with, without) = (
        saving(&late_gather(50, 10, 600_000), "K03"),
        saving(&late_gather(0, 10, 600_000), "K03"),
    );
    assert_eq!(with, without);
    assert!(
        with < Some(100_000_000) && with > Some(50_000_000),
        "{with:?}"
    );
    // Of the four devices of the group one was captured: whether it waited is not known.
    let alone = late_gather(50, 10, 600_000);
    let alone: Vec<&str> = alone
        .lines()
        .filter(|line| {
            !["TPU:1", "TPU:2", "TPU:3"]
                .iter()
                .any(|own| line.starts_with(own))
        })
        .collect();
    assert!(cannot_tell(&report(&alone.join("\n")), "K03"));
}

/// Three arrays of 1 GiB are loaded and stored, and so much of 16 GiB is free at the peak.
fn offload(free_gib: i64) -> Hint {
    let shape = |space: &str| format!("f32[1024,1024,256]{{2,1,0:T(8,128){space}}}");
    let pair = |from: &str, to: &str| format!("({}, {}, u32[]{{:S(2)}})", shape(to), shape(from));
    let done = |at: usize, from: &str, to: &str| {
        format!(
            "copy-done.{at} [copy-done] :: %copy-done.{at} = {} copy-done({} %copy-start.{at})\n",
            shape(to),
            pair(from, to)
        )
    };
    let lines: String = ['a', 'b', 'c']
        .iter()
        .enumerate()
        .map(|(at, letter)| format!("{letter} = {}", done(at, "S(5)", "")))
        .collect();
    let picture = format!(
        "@column 20ms\n@device flops=197e12 hbm=819e9 TPU v5 lite\nops: {}aabbccdd\nM = fusion.1 [convolution fusion]\n\
         {lines}d = {}",
        run('M', 6),
        done(9, "", "S(5)")
    );
    let mut builder = text_builder(&picture);
    let host = builder.group(None, GroupKind::Host, "text");
    let track = builder.track(host, TrackKind::HostThread, 9, "allocator");
    let label = builder.label("MemoryAllocation", None);
    let key = builder.add_slice(
        track,
        SliceSpec::new(TimeRange::new(Timestamp::ZERO, Timestamp::ZERO), label),
    );
    builder.set_attr(key, SliceAttr::MemoryAllocated, (16 - free_gib) << 30);
    builder.set_attr(key, SliceAttr::MemoryAvailable, free_gib << 30);
    hint(&report_of(&builder.finish(), HintOptions::default()), "K26")
}

#[test]
fn offloaded_arrays_that_fit_are_counted_before_anything_else() {
    let all = offload(3).action;
    assert!(
        all.starts_with(
            "The 3 arrays loaded from the host (3.221 GB) fit into HBM: 3.221 GB are free"
        ),
        "{all}"
    );
    assert!(all.contains("jax.memory.Space.Device"), "{all}");
    let some = offload(2).action;
    assert!(
        some.starts_with("2 of the 3 arrays loaded from the host (2.147 GB of 3.221 GB) fit"),
        "{some}"
    );
    let none = offload(0).action;
    assert!(
        none.starts_with("No array loaded from the host (3.221 GB in all) fits"),
        "{none}"
    );
    assert!(!none.contains("Keep on the device what fits"), "{none}");
}

/// Three loads of 1 GiB need 214.7 ms of 280 ms at 15 GB/s, one 71.58 ms: the rest bounds what keeping two saves.
#[test]
fn savings_of_offload_are_those_of_its_advice() {
    let ms = |hint: Hint| (hint.saving_ps.unwrap().as_ps_f64() / 1e9, hint.statement);
    let (none, said) = ms(offload(0));
    assert!((65.2..65.3).contains(&none), "{none} ms");
    assert!(said.ends_with("(280.0 ms) until less is copied"), "{said}");
    let (some, said) = ms(offload(2));
    assert!((some - 160.0).abs() < 0.1, "{some} ms: all waits");
    assert!(
        said.ends_with(
            "; the link needs 214.7 ms in the window, 71.58 ms if what fits in HBM is never copied"
        ),
        "{said}"
    );
}

/// A device that runs next to nothing has no part in what the link of each of the others needs.
#[test]
fn the_link_of_busy_devices_is_theirs_alone() {
    let busy: String = (0..3)
        .map(|at| format!("TPU:{at} ops: {}{}\n", run('M', 60), run('a', 20)))
        .collect();
    let picture = format!(
        "@column 2ms\n@device flops=197e12 hbm=819e9 TPU v5 lite\n{busy}TPU:3 ops: z\n\
         M = fusion.1 [convolution fusion]\nz = add.9 [loop fusion]\n\
         a = copy-done.0 [copy-done] :: %copy-done.0 = f32[268435456]{{0}} copy-done((f32[268435456]{{0}}, \
         f32[268435456]{{0:S(5)}}, u32[]) %copy-start.0)"
    );
    let hint = hint(
        &report_of(&text_trace(&picture), HintOptions::default()),
        "K26",
    );
    assert!(
        hint.statement
            .contains("the link needs 71.58 ms of the window (160.0 ms)"),
        "{}",
        hint.statement
    );
    let least = &hint.evidence[1];
    assert_eq!(least.of, "window, mean of busy devices");
}

#[test]
fn slices_of_training_and_of_serving_have_their_own_advice() {
    let slices_and_code = |more: &str, program: &str| {
        let picture = mixed(
            10,
            "dynamic-update-slice.1",
            &format!("dynamic-update-slice] {more} [x"),
        )
        .replace(" [x]", "");
        remedy(
            &format!(
                "{picture}\n        modules: {}\n        P = {program}(1)\n",
                run('P', 100)
            ),
            "K20",
        )
    };
    let (training, code) = slices_and_code(
        "tf=jit(train)/transpose(jvp(while))/body/dynamic_update_slice",
        "jit_train",
    );
    assert!(training.starts_with("In training"), "{training}");
    assert!(code.contains("unroll=2"), "{code}");
    let (serving, code) = slices_and_code("", "jit_decode_step");
    assert!(serving.starts_with("In serving"), "{serving}");
    assert!(code.contains("donate_argnums"), "{code}");
    let (neither, _) = slices_and_code("", "jit_f");
    assert!(neither.starts_with("Donate"), "{neither}");
}

/// To keep less for the backward pass shortens slices and computes more again; to keep more does the contrary.
#[test]
fn slices_and_recomputation_are_not_had_together() {
    let picture = format!(
        "@column 10us\nops: {}{}{}\nM = f [convolution fusion]\n\
         x = dynamic-update-slice.1 [dynamic-update-slice] tf=jit(train)/transpose(jvp(while))/body/dynamic_update_slice\n\
         r = add.2.remat [loop fusion]",
        run('M', 75),
        run('x', 15),
        run('r', 10),
    );
    let report = report(&picture);
    let (slices, remat) = (hint(&report, "K20"), hint(&report, "K24"));
    assert_ne!(slices.code, remat.code);
    for (own, other) in [(&slices, &remat), (&remat, &slices)] {
        assert!(own.action.contains(other.id), "{}", own.action);
    }
    assert_eq!(
        (report.combined, report.not_combined),
        (vec!["K20"], vec!["K24"])
    );
    assert_eq!(report.combined_saving_ps, slices.saving_ps);
}

#[test]
fn corrections_of_numbers_come_after_hints_that_save_time() {
    // Kernels take half of the time, tiny ops and idle time the rest: the kernels correct numbers only.
    let picture = format!(
        "@column 10us\nops: {}{}{}\nk = flash.1 [custom-call]\nz = copy.1 [copy]\nM = f [convolution fusion]",
        run('k', 60),
        run('z', 10),
        run('M', 30)
    );
    assert_eq!(about_program(&report(&picture)), ["K19", "K29"]);
    // Hints without a saving come before it as well.
    let many = |mut report: HintsReport| {
        report
            .hints
            .drain(..)
            .map(|hint| hint.id)
            .collect::<Vec<_>>()
    };
    let served = many(report(&format!(
        "{}k = flash.1 [custom-call]\n",
        decode("flops=117440512").replace("xxxxx\n", "xxxkk\n        ")
    )));
    let place = |id: &str| served.iter().position(|own| *own == id);
    assert!(
        place("K16").is_some() && place("K16") < place("K29"),
        "{served:?}"
    );
}

#[test]
fn compilation_before_the_loop_matters_by_its_share_of_the_capture() {
    let severity = |columns: usize| {
        let rest = "A".repeat(19 - columns);
        let picture = format!(
            "@column 1ms\nhost python: AA{0}{rest}BBBCCCDDD\n           : .{1}\n           : .{2}\nA = train step=0\n\
             B = train step=1\nC = train step=2\nD = train step=3\np = PjitFunction(f)\nc = backend_compile",
            run('A', columns),
            run('p', columns),
            run('c', columns)
        );
        let found = report(&picture);
        found
            .hints
            .iter()
            .find(|hint| hint.id == "K49")
            .map(|hint| (hint.severity, hint.once_ps.map(Picos::ps)))
    };
    // Of 30 ms.
    assert_eq!(severity(1), None);
    assert_eq!(severity(3), Some((HintSeverity::High, Some(3_000_000_000))));
    assert_eq!(
        severity(18),
        Some((HintSeverity::Critical, Some(18_000_000_000)))
    );
}

#[test]
fn short_steps_of_a_host_are_no_matter_of_weight() {
    let severity = |column: &str| {
        let letters = ['A', 'B', 'C', 'D', 'E'];
        let steps: String = letters
            .iter()
            .zip([9, 9, 9, 11, 12])
            .map(|(&letter, n)| run(letter, n))
            .collect();
        let legend: String = letters
            .iter()
            .enumerate()
            .map(|(at, letter)| format!("{letter} = train step={at}\n"))
            .collect();
        hint(
            &report(&format!("@column {column}\nhost python: {steps}\n{legend}")),
            "K48",
        )
        .severity
    };
    assert_eq!(
        (severity("1us"), severity("1ms")),
        (HintSeverity::Low, HintSeverity::High)
    );
}
