//! Programs without times: serialized (`xla.HloProto`), as XLA dumps them and XProf keeps them, and `StableHLO` text before
//! compilation, as JAX prints it. They are read for questions about programs only; nothing of them runs.

use hlo::{HloModule, is_mlir, mlir_name};
use importer_common::prelude::*;
use trace_model::ProgramBytes;

use crate::hlo_dump::module_name;

/// Reads programs of one kind.
#[derive(Debug)]
pub struct ProgramFile {
    format: &'static TraceFormat,
    is_mlir: bool,
}

/// Serialized programs.
pub static HLO_PROTO: ProgramFile = ProgramFile {
    format: &TraceFormat {
        id: "hlo-proto",
        title: "serialized HLO",
        extensions: &["hlo.pb", "hlo_proto.pb"],
        markers: &[],
        about: "A program as XLA dumps it (--xla_dump_hlo_as_proto), XProf keeps it, and \
                as_serialized_hlo_module_proto() makes it in JAX: instructions and, where the file has it, the plan of memory, without times. For analyze, hlo, compare, expect and memory.",
    },
    is_mlir: false,
};

/// Programs before compilation.
pub static STABLEHLO: ProgramFile = ProgramFile {
    format: &TraceFormat {
        id: "stablehlo",
        title: "StableHLO text",
        extensions: &["mlir"],
        markers: &[],
        about: "A program before compilation (lowered.as_text()): instructions, without times. For analyze, hlo, \
                compare and expect.",
    },
    is_mlir: true,
};

impl Importer for ProgramFile {
    fn format(&self) -> &'static TraceFormat {
        self.format
    }

    fn detect(&self, head: &[u8]) -> DetectionConfidence {
        DetectionConfidence::certain_if(if self.is_mlir {
            is_mlir(head)
        } else {
            head.first() == Some(&0x0a) && module_name(head).is_some()
        })
    }

    fn import(
        &self,
        source: &InputSource,
        options: &ImportOptions,
        progress: &Progress,
        out: &mut TraceBuilder,
    ) -> Result<()> {
        if !options.programs_only {
            return Err(self.format.unusable(
                "it is a program and has no times; the commands systole analyze, hlo, compare, expect and memory read it",
            ));
        }
        let content = source.content(progress)?;
        if let Some(damage) = content.damage {
            out.log(IssueKind::TruncatedFile, || damage);
        }
        let len = (*content.bytes).as_ref().len();
        let blob = ProgramBytes::new(content.bytes, 0..len);
        let (name, id) = if self.is_mlir {
            let text = String::from_utf8_lossy(blob.bytes());
            (mlir_name(&text).unwrap_or("module").to_owned(), None)
        } else {
            let module = HloModule::from_proto(blob.clone(), source.name());
            let module = module.map_err(|error| self.format.unusable(error.to_string()))?;
            if module.instructions.is_empty() {
                return Err(self.format.unusable("it has no instructions"));
            }
            (module.name, module.id)
        };
        let program = out.program(&name, id);
        out.set_program_hlo(program, blob);
        out.source_mut().cannot_know = vec!["times: a program was read, not a run of it"];
        Ok(())
    }
}
