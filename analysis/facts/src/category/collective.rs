//! Classifies ops that communicate between devices.

use hardware::ici::CollectiveKind;
use hlo::{HloText, Shape};

use super::class::AsyncRole;

/// The class of a collective op.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CollectiveClass {
    pub kind: Option<CollectiveKind>,
    /// Its role in an asynchronous pair, if the category does not show it.
    pub role: Option<AsyncRole>,
    /// Fused with other work.
    pub is_fused: bool,
}

impl CollectiveClass {
    const NONE: Self = Self {
        kind: None,
        role: None,
        is_fused: false,
    };

    fn plain(kind: Option<CollectiveKind>) -> Self {
        Self { kind, ..Self::NONE }
    }

    fn fused(kind: CollectiveKind) -> Self {
        Self {
            kind: Some(kind),
            is_fused: true,
            ..Self::NONE
        }
    }
}

/// The communication pattern, and whether it is fused with other work.
pub(super) fn find(base: &str, hlo: &HloText<'_>, name: &str) -> CollectiveClass {
    if let Some(kind) = base
        .strip_suffix(" fusion")
        .and_then(CollectiveKind::from_opcode)
    {
        return CollectiveClass::fused(kind);
    }
    if let Some(kind) = CollectiveKind::from_opcode(base) {
        return CollectiveClass::plain(Some(kind));
    }
    let calls = hlo.attribute("calls").unwrap_or_default();
    let spells_fusion = |text: &str| {
        text.contains("async-collective-fusion") || text.contains("async_collective_fusion")
    };
    let kind_named = |name: &str| CollectiveKind::from_name(name).map(|(kind, _)| kind);
    match base {
        // The op that an async wrapper wraps shows in the computation that it calls, else in its name.
        "async" => CollectiveClass::plain(kind_named(calls).or_else(|| kind_named(name))),
        // The compiler can put the halves of an asynchronous collective into fusions.
        "custom fusion" | "fusion" => match half_named(name).or_else(|| half_named(hlo.name)) {
            Some((kind, role)) => {
                let kind = Some(kind)
                    .filter(|&kind| kind != CollectiveKind::Unknown)
                    .or_else(|| kind_by_shapes(hlo, role));
                CollectiveClass {
                    kind: Some(kind.unwrap_or(CollectiveKind::Unknown)),
                    role: Some(role),
                    is_fused: false,
                }
            }
            None => match kind_named(calls) {
                Some(kind) => CollectiveClass::fused(kind),
                None if spells_fusion(name) || spells_fusion(calls) => {
                    CollectiveClass::fused(CollectiveKind::Unknown)
                }
                None => CollectiveClass::NONE,
            },
        },
        _ if spells_fusion(name) => CollectiveClass::fused(CollectiveKind::Unknown),
        _ => CollectiveClass::NONE,
    }
}

/// The op of which `async-collective-start.3` and `all-gather-done` are halves.
fn half_named(name: &str) -> Option<(CollectiveKind, AsyncRole)> {
    let (kind, rest) = CollectiveKind::from_name(name)?;
    let rest = rest.get(1..)?;
    let word = rest.split('.').next().unwrap_or(rest);
    let role = match word {
        "start" => AsyncRole::Start,
        "update" => AsyncRole::Update,
        "done" => AsyncRole::Done,
        _ => return None,
    };
    Some((kind, role))
}

/// The pattern of one half of an asynchronous collective from the shapes in its text:
///
/// ```text
/// %async-collective-start = (operand, result, contexts …) fusion(operand)
/// %async-collective-done  = result fusion(operand, result, contexts …)
/// ```
fn kind_by_shapes(hlo: &HloText<'_>, role: AsyncRole) -> Option<CollectiveKind> {
    let operands = hlo.operand_list();
    let operand = operands.first()?.shape.as_ref()?;
    let result = hlo.result()?;
    let result = match (role, result.parts()) {
        (AsyncRole::Start, [first, second, ..]) if first == operand => second,
        (AsyncRole::Done, [one]) => one,
        _ => return None,
    };
    resized(operand, result).map(|(kind, _)| kind)
}

/// The patterns that change the size of their operand, and the number of devices: an all-gather makes one dimension `n`
/// times as long, a reduce-scatter divides it by `n`. `None` for shapes that do not differ in this way.
pub(crate) fn resized(operand: &Shape<'_>, result: &Shape<'_>) -> Option<(CollectiveKind, u64)> {
    let operand = operand.array()?;
    let result = result.array()?;
    if operand.dtype != result.dtype || operand.dims.len() != result.dims.len() {
        return None;
    }
    let mut different = operand
        .dims
        .iter()
        .zip(&result.dims)
        .filter(|(before, after)| before != after);
    let (&before, &after) = different.next().filter(|_| different.next().is_none())?;
    let times = |large: u64, small: u64| {
        large
            .checked_div(small)
            .filter(|n| n.checked_mul(small) == Some(large))
    };
    if after > before {
        times(after, before).map(|n| (CollectiveKind::AllGather, n))
    } else {
        times(before, after).map(|n| (CollectiveKind::ReduceScatter, n))
    }
}
