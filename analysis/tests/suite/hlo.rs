//! Programs of real and synthetic captures, and damaged ones.
#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::sync::Arc;

use analysis::hlo::{HeapEventKind, HloError, HloModule, HloOrigin, Instruction};
use analysis::reports::Matmuls;
use analysis::reports::ops::loops::Loops;
use analysis::reports::ops::matmuls::MatmulSizes;
use analysis::{Context, Options, ReportCache, Scope, TraceFacts as _};
use importers::Progress;
use proptest::prelude::*;
use sample_traces::synthetic::{DecodeSpec, SyntheticRun, TrainingSpec};
use trace_model::{OpId, ProgramBytes, TraceModel};

use crate::capture::open_model;

pub(super) fn with_context<R>(model: &TraceModel, ask: impl FnOnce(&Context<'_>) -> R) -> R {
    let (options, reports) = (Options::default(), ReportCache::default());
    ask(&Context {
        model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    })
}

fn op_named(model: &TraceModel, name: &str) -> OpId {
    model
        .op_ids()
        .find(|&op| model.str(model.op(op).name) == name)
        .unwrap()
}

fn blob(bytes: Vec<u8>) -> ProgramBytes {
    let all = 0..bytes.len();
    ProgramBytes::new(Arc::new(bytes), all)
}

/// The serialized programs of a synthetic run.
fn synthetic_programs() -> Vec<Vec<u8>> {
    let model = capture(&SyntheticRun::new(TrainingSpec::default()));
    model
        .programs()
        .iter()
        .filter_map(|program| Some(program.hlo.as_ref()?.bytes().to_vec()))
        .collect()
}

#[test]
fn v5e_matmul_is_a_convolution_inside_a_fusion() {
    let Some(model) = open_model("tpu/v5e_matmul.xplane.pb") else {
        return;
    };
    with_context(&model, |cx| {
        let fusion = cx.instruction(op_named(&model, "fusion")).unwrap();
        let module = fusion.module();
        assert_eq!(
            (module.origin, &*module.name, &*fusion.opcode),
            (HloOrigin::Proto, "jit_matmul", "fusion")
        );
        let root = module.root(module.body(&fusion).unwrap()).unwrap();
        assert_eq!((&*root.opcode, root.operands.len()), ("convolution", 2));
        let convolution = root.attributes().convolution.as_ref().unwrap();
        assert_eq!(
            (convolution.input_feature, convolution.kernel_input_feature),
            (1, 0)
        );
        let source = module.source(&fusion).unwrap();
        assert!(source.ends_with("run_jax_real_tpu.py:93"), "{source}");
        let stack = module.stack(&fusion);
        assert_eq!((stack.len(), stack[0].line), (5, 93));
        assert!(
            stack
                .iter()
                .all(|frame| !frame.file.is_empty() && !frame.function.is_empty())
        );
        let shapes: Vec<_> = module
            .parameters()
            .iter()
            .map(|(_, it)| it.shape.clone().unwrap())
            .collect();
        assert_eq!(
            shapes
                .iter()
                .map(|shape| shape.bytes().unwrap())
                .collect::<Vec<_>>(),
            [524_288, 524_288]
        );
        assert_eq!(module.devices.as_ref().unwrap().device(0, 0), Some(0));
        assert_eq!(module.instructions_of(module.entry.unwrap()).len(), 5);
        // Asked twice, parsed once.
        let again = cx.instruction(op_named(&model, "fusion")).unwrap();
        assert!(Arc::ptr_eq(module, again.module()));
    });
}

#[test]
fn buffers_of_the_v5e_matmul() {
    let Some(model) = open_model("tpu/v5e_matmul.xplane.pb") else {
        return;
    };
    with_context(&model, |cx| {
        let module = cx
            .instruction(op_named(&model, "fusion"))
            .unwrap()
            .module()
            .clone();
        let buffers = module.buffer_assignment("jit_matmul").unwrap().unwrap();
        let parameters: Vec<_> = buffers
            .allocations
            .iter()
            .filter_map(|it| Some((it.parameter?, it.size)))
            .collect();
        assert_eq!(parameters, [(1, 524_288), (0, 524_288)]);
        let named = |id| {
            module
                .instruction(module.instruction_by_compiler_id(id).unwrap())
                .unwrap()
                .name
                .clone()
        };
        assert!(
            buffers
                .buffers
                .iter()
                .all(|buffer| !named(buffer.instruction_id).is_empty())
        );
        for trace in &buffers.heap_traces {
            let mut live = 0i64;
            for event in &trace.events {
                let size = buffers.buffer(event.buffer).unwrap().size as i64;
                live += if event.kind == HeapEventKind::Free {
                    -size
                } else {
                    size
                };
            }
            assert_eq!(live, 0, "what is allocated is freed");
        }
    });
}

#[test]
fn every_v6e_op_is_an_instruction_of_its_program() {
    let Some(model) = open_model("tpu/v6e_x4_host_offload.xplane.pb") else {
        return;
    };
    with_context(&model, |cx| {
        let ops: Vec<_> = model
            .op_ids()
            .filter(|&op| model.op(op).program.is_some())
            .collect();
        assert_eq!(ops.len(), 17);
        for op in ops {
            let instruction = cx.instruction(op).unwrap();
            assert_eq!(&*instruction.name, model.str(model.op(op).name));
            assert_eq!(instruction.module().origin, HloOrigin::Proto);
        }
    });
}

#[test]
fn exported_json_has_the_text_only() {
    let Some(model) = open_model("tpu/v5e_matmul.trace.json.gz") else {
        return;
    };
    with_context(&model, |cx| {
        let op = op_named(&model, "fusion");
        let program = model.op(op).program.unwrap();
        assert!(
            matches!(cx.hlo(program), Err(HloError::NotRecorded(name)) if name.starts_with("jit_matmul"))
        );
        let fusion = cx.instruction(op).unwrap();
        assert_eq!(
            (fusion.module().origin, fusion.operands().count()),
            (HloOrigin::Text, 2)
        );
        assert_eq!(
            fusion.shape.as_ref().unwrap().array().unwrap().dims,
            [512, 512]
        );
        assert!(
            fusion
                .module()
                .root(fusion.module().body(&fusion).unwrap())
                .is_none()
        );
    });
}

#[test]
fn truncated_programs_are_errors_with_an_offset() {
    for program in synthetic_programs() {
        assert!(HloModule::from_proto(blob(program.clone()), "p").is_ok());
        for len in 0..program.len().min(3000) {
            match HloModule::from_proto(blob(program[..len].to_vec()), "p").unwrap_err() {
                HloError::Damaged {
                    at,
                    len: of,
                    message,
                    ..
                } => {
                    assert!(at <= len && of == len && !message.is_empty());
                }
                other => panic!("{other}"),
            }
        }
    }
}

proptest! {
    #[test]
    fn damaged_programs_never_panic(places in prop::collection::vec((any::<usize>(), any::<u8>()), 1..12)) {
        for mut program in synthetic_programs().into_iter().take(1) {
            for (place, byte) in places.clone() {
                let len = program.len();
                program[place % len] = byte;
            }
            if let Ok(module) = HloModule::from_proto(blob(program), "p") {
                for instruction in &module.instructions {
                    let _ = (module.stack(instruction), module.source(instruction), module.backend_config(instruction));
                    let groups = instruction.attributes().collective.as_ref().and_then(|it| it.groups.clone());
                    let _ = groups.map(|groups| (groups.size(), groups.expand()));
                }
            }
        }
    }
}

/// The capture of a synthetic run.
pub(super) fn capture(run: &SyntheticRun) -> TraceModel {
    let bytes = sample_traces::write::xspace_bytes(&run.session());
    let source = importers::InputSource::from_bytes("run.xplane.pb", bytes).unwrap();
    importers::import(&source, &Progress::default()).unwrap()
}

#[test]
fn loop_trip_counts_match_the_compiler() {
    let run = SyntheticRun::new(TrainingSpec::default());
    let model = capture(&run);
    with_context(&model, |cx| {
        let report = cx.report::<Loops>().unwrap();
        let [row] = report.rows.as_slice() else {
            panic!("{} loops", report.rows.len())
        };
        assert_eq!(
            (
                row.known_trip_count,
                row.measured_trip_count,
                row.measured_range
            ),
            (Some(3), Some(3.0), Some((3, 3)))
        );
        assert_eq!((row.occurrences, row.ops_per_iteration), (32, Some(1.0)));
    });
}

#[test]
fn decoding_loops_have_known_and_measured_trip_counts() {
    let decode = DecodeSpec {
        batch: 16,
        cache: 1024,
        tokens: 24,
    };
    let run = SyntheticRun::decoding(
        TrainingSpec {
            data: 1,
            model: 1,
            steps: 2,
            ..TrainingSpec::default()
        },
        decode,
    );
    let model = capture(&run);
    let time = |name: &str| {
        run.programs[0]
            .schedule
            .ops
            .iter()
            .find(|op| op.name == name)
            .unwrap()
            .dur_ps
    };
    with_context(&model, |cx| {
        let report = cx.report::<Loops>().unwrap();
        let [row] = report.rows.as_slice() else {
            panic!("{} loops", report.rows.len())
        };
        assert_eq!(
            (
                row.known_trip_count,
                row.measured_trip_count,
                row.occurrences
            ),
            (Some(24), Some(24.0), 2)
        );
        let own = run.programs[0].schedule.sums.loop_self / 24;
        assert_eq!(
            row.iteration_time_ps,
            Some((own + time("fusion.1") + time("fusion.2")) as f64)
        );
        assert_eq!(
            (row.iteration_own_time_ps, row.ops_per_iteration),
            (Some(own as f64), Some(2.0))
        );
        assert_eq!(row.longest_op.as_deref(), Some("fusion.1"));

        let outer = cx.instruction(op_named(&model, "while.3")).unwrap();
        let (body, condition) = outer.module().loop_body(&outer).unwrap();
        assert_eq!(&*outer.module().root(condition).unwrap().opcode, "compare");
        let update = cx.instruction(op_named(&model, "fusion.2")).unwrap();
        assert_eq!(update.computation, body);
        let root = update
            .module()
            .root(update.module().body(&update).unwrap())
            .unwrap();
        assert_eq!(
            (&*root.opcode, root.shape.as_ref().unwrap().bytes()),
            ("dynamic-update-slice", Some(2 * 16 * 1024 * 2048))
        );
        let matmuls = cx.report::<Matmuls>().unwrap();
        assert_eq!(
            matmuls
                .rows
                .iter()
                .map(|row| row.sizes.unwrap())
                .collect::<Vec<_>>(),
            [MatmulSizes {
                batch: 1,
                m: 16,
                k: 2048,
                n: 2048
            }]
        );
    });
}

#[test]
fn collectives_agree_in_program_and_text() {
    let model = capture(&SyntheticRun::new(TrainingSpec {
        overlap: true,
        ..TrainingSpec::default()
    }));
    with_context(&model, |cx| {
        let mut compared = 0;
        for op in model.op_ids().filter(|&op| model.op(op).program.is_some()) {
            let instruction = cx.instruction(op).unwrap();
            assert_eq!(
                instruction.module().origin,
                HloOrigin::Proto,
                "{}",
                instruction.name
            );
            let text = HloModule::from_text(model.str(model.op(op).hlo_text.unwrap())).unwrap();
            let text = text.instructions.last().unwrap();
            assert_eq!(text.shape, instruction.shape, "{}", instruction.name);
            assert_eq!(
                text.attributes().fusion_kind,
                instruction.attributes().fusion_kind
            );
            let groups = |it: &Instruction| {
                it.attributes()
                    .collective
                    .clone()
                    .map(|it| (it.channel_id, it.groups, it.uses_global_ids))
            };
            assert_eq!(groups(text), groups(&instruction), "{}", instruction.name);
            compared += usize::from(groups(text).is_some());
        }
        assert!(compared > 5, "{compared}");
        let module = cx
            .hlo(model.op(op_named(&model, "fusion.10")).program.unwrap())
            .unwrap();
        assert_eq!(module.devices.as_ref().unwrap().partitions, 8);
        assert!(module.instructions_of(module.entry.unwrap()).len() > 20);
    });
}
