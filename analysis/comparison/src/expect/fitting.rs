//! Which instructions an expectation is about.

use engine::glob;
use hlo::{Instruction, InstructionId};
use run_reports::hlo::HloOp;

use super::condition::CountBounds;

/// Instructions named in a message.
const NAMED: usize = 3;

/// Instructions that fit an expectation, and how many may but do not tell.
#[derive(Default)]
pub(super) struct Fitting {
    pub ids: Vec<InstructionId>,
    pub without_scope: usize,
    pub without_source: usize,
}

impl Fitting {
    /// Why there may be more.
    pub fn hidden(&self) -> Option<String> {
        let (count, what) = match (self.without_scope, self.without_source) {
            (0, 0) => return None,
            (0, count) => (count, "source line"),
            (count, _) => (count, "framework name"),
        };
        let such = engine::counted(count, "such instruction");
        let have = if count == 1 { "has" } else { "have" };
        Some(format!("{such} {have} no {what}"))
    }
}

pub(super) fn some_or_none(is_wanted: bool) -> CountBounds {
    CountBounds {
        min: is_wanted.then_some(1),
        max: (!is_wanted).then_some(0),
    }
}

/// Whether a custom call is of this target, name, or framework name.
pub(super) fn is_kernel(it: &Instruction, name: &str) -> bool {
    let target = it.attributes().custom_call_target.as_deref();
    let fits = |text: &str| glob(name, text);
    &*it.opcode == "custom-call"
        && (target.is_some_and(fits) || fits(&it.name) || it.op_name.split('/').any(fits))
}

/// Whether `a/b/model.py:12` is `model.py:12` or `model.py`.
pub(super) fn is_from(source: &str, wanted: &str) -> bool {
    let ends = |place: &str| {
        place
            .strip_suffix(wanted)
            .is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    ends(source) || source.rsplit_once(':').is_some_and(|(file, _)| ends(file))
}

/// `: all-gather.3 (model.py:12, 4.0 ms), …`
pub(super) fn names(ops: &[HloOp]) -> String {
    let one = |op: &HloOp| {
        let facts: Vec<String> = [
            op.source.clone(),
            op.self_time_ps.map(|time| time.to_string()),
        ]
        .into_iter()
        .flatten()
        .collect();
        if facts.is_empty() {
            op.name.to_string()
        } else {
            format!("{} ({})", op.name, facts.join(", "))
        }
    };
    let mut sorted: Vec<&HloOp> = ops.iter().collect();
    sorted.sort_by_key(|op| std::cmp::Reverse(op.self_time_ps));
    let some: Vec<String> = sorted.into_iter().take(NAMED).map(one).collect();
    let more = if ops.len() > NAMED { ", …" } else { "" };
    if some.is_empty() {
        String::new()
    } else {
        format!(": {}{more}", some.join(", "))
    }
}
