//! Programs of real and synthetic captures, and damaged ones.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test says what is wrong by failing")]

use std::path::PathBuf;
use std::sync::Arc;

use analysis::hlo::{HeapEventKind, HloError, HloModule, Origin};
use analysis::{Context, Options, ReportCache, Scope};
use importers::{ImportOptions, Progress};
use proptest::prelude::*;
use sample_traces::synthetic::{Run, TrainingSpec};
use trace_model::{Blob, OpId, TraceModel};

/// A real capture, or `None`, said once, where this machine has none.
fn open(name: &str) -> Option<TraceModel> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus").join(name);
    if !path.is_file() {
        let required = std::env::var_os("SYSTOLE_REQUIRE_CORPUS").is_some_and(|value| value == "1");
        assert!(!required, "{} is required but absent", path.display());
        println!("skipped: {} is absent", path.display());
        return None;
    }
    Some(importers::import_path(&path, &ImportOptions::default(), &Progress::default()).unwrap())
}

fn with_context<R>(model: &TraceModel, ask: impl FnOnce(&Context<'_>) -> R) -> R {
    let (options, reports) = (Options::default(), ReportCache::default());
    ask(&Context { model, scope: Scope::WholeTrace, options: &options, reports: &reports })
}

fn op_named(model: &TraceModel, name: &str) -> OpId {
    model.op_ids().find(|&op| model.str(model.op(op).name) == name).unwrap()
}

fn blob(bytes: Vec<u8>) -> Blob {
    let all = 0..bytes.len();
    Blob::new(Arc::new(bytes), all)
}

/// The serialized programs of a synthetic run.
fn synthetic_programs() -> Vec<Vec<u8>> {
    let bytes = sample_traces::write::xspace_bytes(&Run::new(TrainingSpec::default()).session());
    let model =
        importers::import(&importers::Source::from_bytes("run.xplane.pb", bytes).unwrap(), &Progress::default())
            .unwrap();
    model.programs().iter().filter_map(|program| Some(program.hlo.as_ref()?.bytes().to_vec())).collect()
}

#[test]
fn the_matmul_of_v5e_is_a_convolution_inside_a_fusion() {
    let Some(model) = open("tpu/v5e_matmul.xplane.pb") else { return };
    with_context(&model, |cx| {
        let fusion = cx.instruction(op_named(&model, "fusion")).unwrap();
        let module = fusion.module();
        assert_eq!((module.origin, &*module.name, &*fusion.opcode), (Origin::Proto, "jit_matmul", "fusion"));
        let root = module.root(module.body(&fusion).unwrap()).unwrap();
        assert_eq!((&*root.opcode, root.operands.len()), ("convolution", 2));
        let convolution = root.attributes().convolution.as_ref().unwrap();
        assert_eq!((convolution.input_feature, convolution.kernel_input_feature), (1, 0));
        let source = module.source(&fusion).unwrap();
        assert!(source.ends_with("run_jax_real_tpu.py:93"), "{source}");
        let stack = module.stack(&fusion);
        assert_eq!((stack.len(), stack[0].line), (5, 93));
        assert!(stack.iter().all(|frame| !frame.file.is_empty() && !frame.function.is_empty()));
        let shapes: Vec<_> = module.parameters().iter().map(|(_, it)| it.shape.clone().unwrap()).collect();
        assert_eq!(shapes.iter().map(|shape| shape.bytes().unwrap()).collect::<Vec<_>>(), [524_288, 524_288]);
        assert_eq!(module.devices.as_ref().unwrap().device(0, 0), Some(0));
        assert_eq!(module.computation(module.entry.unwrap()).unwrap().schedule.len(), 5);
        // Asked twice, parsed once.
        let again = cx.instruction(op_named(&model, "fusion")).unwrap();
        assert!(Arc::ptr_eq(module, again.module()));
    });
}

#[test]
fn buffers_of_the_v5e_matmul() {
    let Some(model) = open("tpu/v5e_matmul.xplane.pb") else { return };
    with_context(&model, |cx| {
        let module = cx.instruction(op_named(&model, "fusion")).unwrap().module().clone();
        let buffers = module.buffers.as_ref().unwrap();
        let parameters: Vec<_> = buffers.allocations.iter().filter_map(|it| Some((it.parameter?, it.size))).collect();
        assert_eq!(parameters, [(1, 524_288), (0, 524_288)]);
        let named = |id| module.instruction(module.instruction_by_compiler_id(id).unwrap()).unwrap().name.clone();
        assert!(buffers.buffers.iter().all(|buffer| !named(buffer.instruction_id).is_empty()));
        for trace in &buffers.heap_traces {
            let mut live = 0i64;
            for event in &trace.events {
                let size = buffers.buffer(event.buffer).unwrap().size as i64;
                live += if event.kind == HeapEventKind::Free { -size } else { size };
            }
            assert_eq!(live, 0, "what is allocated is freed");
        }
    });
}

#[test]
fn every_op_of_the_v6e_capture_is_an_instruction_of_its_program() {
    let Some(model) = open("tpu/v6e_x4_host_offload.xplane.pb") else { return };
    with_context(&model, |cx| {
        let ops: Vec<_> = model.op_ids().filter(|&op| model.op(op).program.is_some()).collect();
        assert_eq!(ops.len(), 17);
        for op in ops {
            let instruction = cx.instruction(op).unwrap();
            assert_eq!(&*instruction.name, model.str(model.op(op).name));
            assert_eq!(instruction.module().origin, Origin::Proto);
        }
    });
}

#[test]
fn exported_json_has_the_text_only() {
    let Some(model) = open("tpu/v5e_matmul.trace.json.gz") else { return };
    with_context(&model, |cx| {
        let op = op_named(&model, "fusion");
        let program = model.op(op).program.unwrap();
        assert!(matches!(cx.hlo(program), Err(HloError::NotRecorded(name)) if name.starts_with("jit_matmul")));
        let fusion = cx.instruction(op).unwrap();
        assert_eq!((fusion.module().origin, fusion.operands().count()), (Origin::Text, 2));
        assert_eq!(fusion.shape.as_ref().unwrap().array().unwrap().dims, [512, 512]);
        assert!(fusion.module().root(fusion.module().body(&fusion).unwrap()).is_none());
    });
}

#[test]
fn cut_programs_are_errors_that_say_where() {
    for program in synthetic_programs() {
        assert!(HloModule::from_proto(blob(program.clone()), "p").is_ok());
        for len in 0..program.len().min(3000) {
            match HloModule::from_proto(blob(program[..len].to_vec()), "p").unwrap_err() {
                HloError::Damaged { at, len: of, message, .. } => {
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
