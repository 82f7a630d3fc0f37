//! A host that waits for the results of each step, drawn in many shapes: the advice is always the same.

use engine::HintOptions;
use sample_traces::text_trace;

use super::{about_program, report_of, run};
use crate::hints::HintsReport;

const STEPS: usize = 10;

/// Where steps are recorded.
#[derive(Clone, Copy, Debug)]
enum Marked {
    Nowhere,
    OnDevices,
    OnHost,
}

/// One shape of the loop.
#[derive(Clone, Copy, Debug)]
struct Shape {
    devices: usize,
    ops: usize,
    marked: Marked,
}

/// Steps of 20 ms: the host launches a program of 14 ms, is in `outer` and inside it in `inner` until 5 ms after its end,
/// and launches the next for 1 ms.
fn waiting_loop(shape: Shape, outer: &str, inner: Option<&str>) -> HintsReport {
    let digits: String = (0..STEPS).map(|step| step.to_string().repeat(20)).collect();
    let each = |step: String| step.repeat(STEPS);
    let ops: String = (0..shape.ops)
        .map(|op| run(if op % 2 == 0 { 'M' } else { 'N' }, 14 / shape.ops))
        .collect();
    let mut rows = vec!["@column 1ms".to_owned()];
    for device in 0..shape.devices {
        if matches!(shape.marked, Marked::OnDevices) {
            rows.push(format!("TPU:{device} steps: {digits}"));
        }
        rows.push(format!(
            "TPU:{device} modules: {}",
            each(format!(".{}.....", run('P', 14)))
        ));
        rows.push(format!(
            "TPU:{device} ops: {}",
            each(format!(".{ops}....."))
        ));
    }
    let mut above = "host main";
    if matches!(shape.marked, Marked::OnHost) {
        let letters: String = (0..STEPS)
            .map(|step| run(char::from(b'a' + step as u8), 20))
            .collect();
        rows.push(format!("{above}: {letters}"));
        above = "";
    }
    rows.push(format!("{above}: {}", each(format!("D{}", run('O', 19)))));
    if inner.is_some() {
        rows.push(format!(": {}", each(format!("..{}", run('I', 18)))));
    }
    rows.extend(
        (0..STEPS).map(|step| format!("{} = train step={step}", char::from(b'a' + step as u8))),
    );
    rows.push("P = jit_train(1)".to_owned());
    rows.push("M = fusion.1 [convolution fusion]\nN = fusion.2 [convolution fusion]".to_owned());
    rows.push(format!(
        "D = PjitFunction(train)\nO = {outer}\nI = {}",
        inner.unwrap_or("none")
    ));
    report_of(&text_trace(&rows.join("\n")), HintOptions::default())
}

fn shapes() -> Vec<Shape> {
    let marked = [Marked::Nowhere, Marked::OnDevices, Marked::OnHost];
    let of = |devices| {
        move |ops| {
            marked.map(|marked| Shape {
                devices,
                ops,
                marked,
            })
        }
    };
    [1, 4]
        .into_iter()
        .flat_map(|devices| [1, 2, 14].into_iter().flat_map(of(devices)))
        .collect()
}

#[test]
fn every_wait_for_results_gives_the_same_advice_in_every_shape() {
    let waits = [
        ("$api.py:2551 block_until_ready", None),
        (
            "$api.py:2551 block_until_ready",
            Some("$api.py:2562 try_to_block"),
        ),
        ("$array.py:600 block_until_ready", Some("PjRtFuture::Await")),
        ("$<frozen>:1 __float__", Some("$array.py:300 _value")),
        ("$train.py:9 log", Some("np.asarray(jax.Array)")),
        ("$<unknown> item", None),
        (
            "$xla_model.py:1251 wait_device_ops",
            Some("$<unknown> _xla_wait_device_ops"),
        ),
        ("$ops.py:393 numpy", None),
        ("BlockHostUntilDone", None),
    ];
    for (outer, inner) in waits {
        for shape in shapes() {
            let found = waiting_loop(shape, outer, inner);
            assert_eq!(
                about_program(&found).first(),
                Some(&"K33"),
                "{outer} {inner:?} {shape:?}: {found:#?}"
            );
            let hint = &found.hints.iter().find(|hint| hint.id == "K33").unwrap();
            // Five of the six milliseconds without a program, between ten programs.
            let saving = hint.saving_ps.unwrap().as_ps_f64() / 1e9;
            assert!(
                (4.5..=5.0).contains(&saving),
                "{outer} {inner:?} {shape:?}: {saving} ms"
            );
            assert!(
                !about_program(&found).contains(&"K31"),
                "{outer} {inner:?} {shape:?}"
            );
        }
    }
}

#[test]
fn code_of_the_program_is_no_wait_for_results() {
    for name in [
        "$fifo.py:12 item",
        "$train.py:30 log",
        "$units.py:3 __float__",
    ] {
        for shape in shapes() {
            let found = waiting_loop(shape, name, None);
            assert!(
                !about_program(&found).contains(&"K33"),
                "{name} {shape:?}: {found:#?}"
            );
            let idle = found.hints.iter().find(|hint| hint.id == "K31").unwrap();
            assert!(
                idle.statement.contains("code of its own"),
                "{name} {shape:?}: {}",
                idle.statement
            );
        }
    }
}

/// Ten steps of 15 ms with 5 ms between, in which the host does something; before them, it does so for longer.
fn loop_after(before: usize, event: &str) -> HintsReport {
    let rows = |device: char, host: char| {
        let early = if before > 0 {
            format!("{}{}", run(device, 15), run(host, before))
        } else {
            String::new()
        };
        early + &format!("{}{}", run(device, 15), run(host, 5)).repeat(STEPS)
    };
    let digits: String = (0..STEPS).map(|step| step.to_string().repeat(20)).collect();
    let waits = if before > 0 { 15 + before } else { 0 };
    let picture = format!(
        "@column 1ms\nsteps: {}{digits}\nmodules: {}\nops: {}\nhost main: {}\nP = jit_train(1)\nM = fusion.1 [convolution \
         fusion]\nh = {event}",
        run('.', waits),
        rows('P', '.'),
        rows('M', '.'),
        rows('.', 'h')
    );
    report_of(&text_trace(&picture), HintOptions::default())
}

#[test]
fn waits_outside_of_the_steps_are_no_part_of_them() {
    let cases = [
        ("K31", "something"),
        ("K32", "tpu::System::Execute"),
        ("K33", "np.asarray(jax.Array)"),
        ("K34", "IteratorGetNext"),
        ("K35", "DevicePut"),
    ];
    for (id, event) in cases {
        let saving = |before| {
            let found = loop_after(before, event);
            found
                .hints
                .iter()
                .find(|hint| hint.id == id)
                .and_then(|hint| Some(hint.saving_ps?.ps()))
        };
        let own = saving(0).unwrap_or_else(|| panic!("{id} is silent about {event}"));
        assert!(
            (4_500_000_000..=5_000_000_000).contains(&own),
            "{id}: {own}"
        );
        assert_eq!(saving(200), Some(own), "{id}");
    }
}
