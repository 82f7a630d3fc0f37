//! What a Pallas kernel spends its time on, from the scopes that it records.
//!
//! With kernel tracing on, the software pipeline of a kernel shows as scopes
//! inside of the custom call: waiting for input blocks, running the body, waiting
//! for output blocks. Waiting for DMA as a share of the call says whether the
//! kernel is bound by memory.

use serde::Serialize;
use trace_model::{Picos, SliceRef, TrackKind};

use crate::category::OpClasses;
use crate::{AnalysisError, Context};

/// Time of one custom call by pipeline scope, over all its executions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KernelScopes {
    /// Name of the op.
    pub kernel: String,
    /// Executions that recorded scopes.
    pub executions: u64,
    /// Their total time.
    pub time_ps: i64,
    /// Waiting for input blocks (`ep_wait_in`).
    pub wait_in_ps: i64,
    /// Running the body (`ep_run_kernel`).
    pub run_ps: i64,
    /// Waiting for output blocks (`ep_wait_out`).
    pub wait_out_ps: i64,
    /// Issuing copies (`ep_copy_in`, `ep_copy_out`).
    pub issue_ps: i64,
}

impl KernelScopes {
    /// Waiting for DMA, of the kernel's time.
    pub fn dma_wait_percent(&self) -> Option<f64> {
        let waiting = Picos::from_ps(self.wait_in_ps + self.wait_out_ps);
        waiting.fraction_of(Picos::from_ps(self.time_ps)).map(|share| 100.0 * share)
    }

    fn add(&mut self, scope: &str, time: Picos) {
        let sum = match scope {
            "ep_wait_in" => &mut self.wait_in_ps,
            "ep_run_kernel" => &mut self.run_ps,
            "ep_wait_out" => &mut self.wait_out_ps,
            "ep_copy_in" | "ep_copy_out" => &mut self.issue_ps,
            _ => return,
        };
        *sum = sum.saturating_add(time.ps());
    }
}

/// Every custom call of the scope that recorded pipeline scopes, longest first.
pub fn kernel_scopes(cx: &Context<'_>) -> Result<Vec<KernelScopes>, AnalysisError> {
    let model = cx.model;
    let classes = OpClasses::new(model);
    let mut kernels: std::collections::BTreeMap<String, KernelScopes> = std::collections::BTreeMap::new();
    for core in cx.tensor_cores() {
        let Some(window) = cx.window(core)? else { continue };
        let tracks = |kind| model.tracks_of(core).into_iter().filter(move |&track| model.track(track).kind == kind);
        let slices = |kind| tracks(kind).flat_map(|track| model.slices_on(track));
        let mut scopes: Vec<SliceRef<'_>> =
            slices(TrackKind::DeviceScopes).filter(|scope| scope.name().starts_with("ep_")).collect();
        scopes.sort_by_key(|scope| scope.start());
        let calls =
            slices(TrackKind::Ops).filter(|op| window.contains(*op) && classes.class_of(op.op()).is_custom_call);
        for call in calls {
            let from = scopes.partition_point(|scope| scope.start() < call.start());
            let inside = scopes[from..].iter().take_while(|scope| call.range().contains(scope.start()));
            let mut inside = inside.peekable();
            if inside.peek().is_none() {
                continue;
            }
            let kernel = kernels.entry(call.name().to_owned()).or_default();
            kernel.executions += 1;
            kernel.time_ps = kernel.time_ps.saturating_add(call.measured_dur().ps());
            inside.for_each(|scope| kernel.add(scope.name(), scope.measured_dur()));
        }
    }
    let mut kernels: Vec<KernelScopes> =
        kernels.into_iter().map(|(kernel, scopes)| KernelScopes { kernel, ..scopes }).collect();
    kernels.sort_by(|a, b| b.time_ps.cmp(&a.time_ps).then_with(|| a.kernel.cmp(&b.kernel)));
    Ok(kernels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, ReportCache, Scope};
    use trace_model::{GroupKind, Op, SliceSpec, TimeRange, Timestamp, TraceBuilder, TraceModel};

    /// A custom call with pipeline scopes of these lengths, and one without any.
    fn kernel(call_ps: i64, scopes: &[(&str, i64)]) -> TraceModel {
        let mut builder = TraceBuilder::new();
        let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
        let ops = builder.track(core, TrackKind::Ops, 0, "XLA Ops");
        let trace_me = builder.track(core, TrackKind::DeviceScopes, 1, "XLA TraceMe");
        let at = |start: i64, len: i64| TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(len));
        let category = Some(builder.intern("custom-call"));
        for (name, start) in [("kernel.1", 0), ("other.1", call_ps)] {
            let name_id = builder.intern(name);
            let op = builder.op(Op { name: name_id, category, ..Op::default() });
            let label = builder.label(name, Some(op));
            builder.add_slice(ops, SliceSpec::new(at(start, call_ps), label));
        }
        let mut now = 0;
        for &(name, len) in scopes {
            let label = builder.label(name, None);
            builder.add_slice(trace_me, SliceSpec::new(at(now, len), label));
            now += len;
        }
        builder.finish()
    }

    fn scopes_of(model: &TraceModel) -> Vec<KernelScopes> {
        let (options, reports) = (Options::default(), ReportCache::default());
        kernel_scopes(&Context { model, scope: Scope::WholeTrace, options: &options, reports: &reports }).unwrap()
    }

    /// 173.374 µs of 227.262 µs.
    #[test]
    fn a_kernel_that_waits_for_its_input() {
        let scopes = [
            ("ep_copy_in", 1_000_000),
            ("ep_wait_in", 100_000_000),
            ("ep_run_kernel", 40_000_000),
            ("ep_wait_in", 73_374_000),
        ];
        let found = scopes_of(&kernel(227_262_000, &scopes));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].kernel.as_str(), found[0].executions, found[0].wait_in_ps), ("kernel.1", 1, 173_374_000));
        assert_eq!((found[0].run_ps, found[0].wait_out_ps, found[0].issue_ps), (40_000_000, 0, 1_000_000));
        assert!((found[0].dma_wait_percent().unwrap() - 76.288).abs() < 0.001);
    }

    #[test]
    fn calls_without_scopes_are_not_listed() {
        assert_eq!(scopes_of(&kernel(1_000, &[])), []);
    }
}
