//! The framework of the profiled program, so that advice uses its API, and the names that it gives to ops.

use engine::prelude::*;

/// A front end of XLA.
#[engine::titled]
#[derive(Default)]
pub enum Framework {
    /// JAX, and libraries built on it. Also the default, as the most common one.
    #[default]
    Jax = "JAX",
    /// `PyTorch/XLA`.
    PyTorchXla = "PyTorch/XLA",
    /// TensorFlow.
    TensorFlow = "TensorFlow",
    /// A simulator or another tool that names no framework: advice for all frameworks.
    Any = "Fix",
}

impl Framework {
    /// Determines the framework from facts of the session, else from names that only one framework writes.
    pub fn of(model: &TraceModel) -> Self {
        let fact = |name: &str| {
            model
                .sources()
                .iter()
                .any(|source| source.facts.iter().any(|(key, _)| key == name))
        };
        if fact("jax_version") {
            return Self::Jax;
        }
        let marks = [
            ("XLAGraphExecutor", Self::PyTorchXla),
            ("SyncTensorsGraph", Self::PyTorchXla),
            ("torch_xla", Self::PyTorchXla),
            ("PjitFunction", Self::Jax),
            ("jit(", Self::Jax),
            ("tf_function", Self::TensorFlow),
            ("TpuExecuteOp", Self::TensorFlow),
        ];
        // Labels of ops are names of instructions, which do not reveal the framework.
        let names = model
            .labels()
            .iter()
            .filter(|label| label.op.is_none())
            .map(|label| model.str(label.name));
        let framework_names = model
            .ops()
            .iter()
            .filter_map(|op| Some(model.str(op.framework_name?)));
        let named = names
            .chain(framework_names)
            .find_map(|name| marks.iter().find(|(mark, _)| name.contains(mark)));
        // A capture of a simulator of XLA programs contains the program.
        let is_simulated = || {
            model.simulator().is_some()
                && model.programs().iter().all(|program| program.hlo.is_none())
        };
        let is_foreign = || {
            model
                .groups()
                .iter()
                .any(|group| matches!(group.kind, GroupKind::Process { .. }))
        };
        match named {
            Some(&(_, framework)) => framework,
            None if is_simulated() || is_foreign() => Self::Any,
            None => Self::default(),
        }
    }
}

/// The parts of a framework name between slashes that are not empty. A transformation of several scopes is one part:
/// `jit(f)/transpose(jvp(layer/mlp))/dot` has three.
pub fn scopes_of(name: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = name.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == '/' && depth == 0
    });
    parts.filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_model::{ProgramBytes, TraceBuilder};

    #[test]
    fn advice_is_general_without_a_framework() {
        let of = |picture: &str, change: fn(&mut TraceBuilder)| {
            let mut builder = sample_traces::text_builder(picture);
            change(&mut builder);
            Framework::of(&builder.finish())
        };
        let ops = "ops: MM\nM = fusion.1 [convolution fusion]";
        assert_eq!(of(ops, |_| {}), Framework::Jax);
        let simulate = |builder: &mut TraceBuilder| {
            builder.source_mut().simulator = Some("a model".to_owned());
        };
        assert_eq!(of(ops, simulate), Framework::Any);
        let program = format!(
            "{ops} :: %fusion.1 = f32[8]{{0}} fusion(f32[8]{{0}} %p), kind=kOutput, calls=%c"
        );
        // Shapes in HLO syntax are not an XLA program.
        assert_eq!(of(&program, simulate), Framework::Any);
        let predict = |builder: &mut TraceBuilder| {
            builder.source_mut().simulator = Some("a model".to_owned());
            let (id, text) = (builder.program("jit_f", None), "HloModule jit_f".to_owned());
            let len = text.len();
            builder.set_program_hlo(id, ProgramBytes::new(Arc::new(text), 0..len));
        };
        assert_eq!(of(&program, predict), Framework::Jax);
        assert_eq!(
            of(
                "ops: MM\nhost main: p\nM = fusion.1 [convolution fusion]\np = PjitFunction(f)",
                simulate
            ),
            Framework::Jax
        );
        let process = |builder: &mut TraceBuilder| {
            builder.group(None, GroupKind::Process { pid: 7 }, "python");
        };
        assert_eq!(of("host main: h\nh = aten::add", process), Framework::Any);
    }
}
