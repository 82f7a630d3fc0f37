//! Changes that free memory, each with its bytes, from what is known of a shortage.

use facts::prelude::*;

use super::need::{MemoryFix, MemoryShortage, NeededBuffer};

/// Fixes that are named.
const MOST: usize = 6;
/// What frees less than this part of the need is not worth a change.
const WORTH_A_CHANGE: u64 = 100;
/// Padding of a buffer that is worth a change: this share of it.
const WORTH_PADDING: f64 = 0.25;
/// Elements of the last dimension of a tile.
const LANES: u64 = 128;
/// Ways to divide work or arrays that are tried.
const WAYS: [u64; 6] = [2, 4, 8, 16, 32, 64];

/// The fixes of a shortage: those that suffice first, of these the one that frees least; then the others, most bytes first.
pub(super) fn fixes(shortage: &MemoryShortage) -> Vec<MemoryFix> {
    if shortage.has_room() {
        return Vec::new();
    }
    let candidates = if ["vmem", "smem"].contains(&shortage.memory.as_str()) {
        vec![scoped(shortage), padding(shortage)]
    } else {
        vec![
            donate(shortage),
            padding(shortage),
            dtype(shortage),
            rematerialize(shortage),
            shard(shortage),
            microbatch(shortage),
            offload(shortage),
        ]
    };
    let over = shortage
        .over_bytes
        .filter(|over| *over > 0 && !(shortage.is_least || shortage.is_estimate));
    let least = shortage.needed_bytes.unwrap_or(0) / WORTH_A_CHANGE;
    let mut fixes: Vec<MemoryFix> = candidates
        .into_iter()
        .flatten()
        .filter(|fix| fix.frees_bytes > least)
        .collect();
    for fix in &mut fixes {
        fix.suffices = over.map(|over| fix.frees_bytes >= over);
    }
    fixes.sort_by_key(|fix| {
        let suffices = fix.suffices == Some(true);
        (
            !suffices,
            if suffices {
                fix.frees_bytes
            } else {
                u64::MAX - fix.frees_bytes
            },
        )
    });
    fixes.truncate(MOST);
    fixes
}

fn fix(id: &str, frees_bytes: u64, action: String) -> MemoryFix {
    MemoryFix {
        id: id.to_owned(),
        frees_bytes,
        suffices: None,
        action,
    }
}

/// Results that could be written where arguments are.
fn donate(of: &MemoryShortage) -> Option<MemoryFix> {
    let bytes = of
        .kind("arguments")?
        .saturating_sub(of.shared_bytes.unwrap_or(0))
        .min(of.kind("results")?);
    Some(fix(
        "donate",
        bytes,
        "Donate arguments that are not used afterwards: jax.jit(f, donate_argnums=…), so that results of the same shape \
         take their memory."
            .to_owned(),
    ))
}

/// The shape that wastes most.
fn padding(of: &MemoryShortage) -> Option<MemoryFix> {
    let wasted = |buffer: &NeededBuffer| buffer.padding_bytes.unwrap_or(0);
    let worst = of
        .buffers
        .iter()
        .filter(|buffer| {
            wasted(buffer) as f64 >= WORTH_PADDING * buffer.bytes as f64 && buffer.shape.is_some()
        })
        .max_by_key(|buffer| wasted(buffer))?;
    let alike = of
        .buffers
        .iter()
        .filter(|buffer| buffer.shape == worst.shape);
    let bytes = alike.map(wasted).fold(0, u64::saturating_add);
    let shape = worst.shape.as_deref()?;
    let last = worst.dims().and_then(|(_, dims, order)| {
        let minor = usize::try_from(*order.first()?).ok()?;
        dims.get(minor).copied().filter(|size| size % LANES != 0)
    });
    let why = match last {
        Some(size) => format!(
            "its fastest dimension has {} of a tile of {LANES}: merge it with another one, or let a dimension be last \
             that is a multiple of {LANES}",
            counted(usize::try_from(size).unwrap_or(usize::MAX), "element")
        ),
        None => "let its last two dimensions be multiples of the tile".to_owned(),
    };
    let place = worst.named();
    Some(fix(
        "padding",
        bytes,
        format!("Change the shape of {place}, {shape}: {why}."),
    ))
}

/// Arrays of 32 bits that could have 16.
fn dtype(of: &MemoryShortage) -> Option<MemoryFix> {
    let wide: Vec<&NeededBuffer> = of
        .buffers
        .iter()
        .filter(|buffer| buffer.dims().is_some_and(|(dtype, ..)| dtype == "f32"))
        .collect();
    let bytes: u64 = wide
        .iter()
        .map(|buffer| buffer.bytes / 2)
        .fold(0, u64::saturating_add);
    Some(fix(
        "dtype",
        bytes,
        format!(
            "Use bfloat16 where float32 is not needed: {} listed, the largest is {}.",
            counted(wide.len(), "f32 buffer"),
            wide.first()?.named()
        ),
    ))
}

/// Activations that are kept for the backward pass, by the scope that keeps most.
fn rematerialize(of: &MemoryShortage) -> Option<MemoryFix> {
    let mut scopes: BTreeMap<String, u64> = BTreeMap::new();
    for buffer in of.buffers.iter().filter(|buffer| buffer.is_temporary()) {
        let Some(scope) = buffer.op_name.as_deref().and_then(forward_scope) else {
            continue;
        };
        let sum = scopes.entry(scope).or_default();
        *sum = sum.saturating_add(buffer.bytes);
    }
    let (scope, bytes) = scopes.into_iter().max_by_key(|(_, bytes)| *bytes)?;
    Some(fix(
        "rematerialize",
        bytes,
        format!(
            "Compute activations of {scope} again in the backward pass (jax.checkpoint, nn.remat), instead of keeping its \
             listed temporaries. It costs the time of its forward pass."
        ),
    ))
}

/// The module whose forward pass made a value that waits for the backward pass: `jit(f)/jvp(Model)/layers/dot` gives
/// `Model/layers`. `None` for other values, and for those that are computed again already.
fn forward_scope(op_name: &str) -> Option<String> {
    if op_name.contains("transpose(")
        || op_name.contains("rematted_computation")
        || op_name.contains("checkpoint")
    {
        return None;
    }
    let (_, inside) = op_name.split_once("jvp(")?;
    let mut open = 1;
    let end = inside.find(|c| {
        open += i32::from(c == '(') - i32::from(c == ')');
        open == 0
    });
    let (module, rest) = inside.split_at(end?);
    // Names of functions around it end here, too.
    let rest = rest.trim_start_matches(')').trim_start_matches('/');
    let rest = rest.rfind('/').and_then(|end| rest.get(..end));
    let parts: Vec<&str> = [Some(module), rest]
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// The largest buffer over more devices.
fn shard(of: &MemoryShortage) -> Option<MemoryFix> {
    let largest = of.buffers.iter().find(|buffer| {
        buffer
            .dims()
            .is_some_and(|(_, dims, _)| dims.iter().any(|dim| *dim > 1))
    })?;
    let (_, dims, _) = largest.dims()?;
    let alike = of
        .buffers
        .iter()
        .filter(|buffer| buffer.shape == largest.shape);
    let all = alike
        .map(|buffer| buffer.bytes)
        .fold(0, u64::saturating_add);
    let largest_dim = *dims.iter().max()?;
    let (ways, bytes) = divided(all, of.over_bytes, |ways| largest_dim.is_multiple_of(ways));
    Some(fix(
        "shard",
        bytes,
        format!(
            "Shard the dimension of {largest_dim} of {} in {ways} parts, over as many devices: {} and all of this shape.",
            largest.shape.as_deref()?,
            largest.named()
        ),
    ))
}

/// Temporaries of a part of the batch.
fn microbatch(of: &MemoryShortage) -> Option<MemoryFix> {
    let (ways, bytes) = divided(of.kind("temporaries")?, of.over_bytes, |_| true);
    Some(fix(
        "microbatch",
        bytes,
        format!(
            "Divide the batch into {ways} parts, one after the other, and add their gradients up, if the temporaries grow \
             with the batch."
        ),
    ))
}

/// State of the optimizer in the memory of the host.
fn offload(of: &MemoryShortage) -> Option<MemoryFix> {
    let state = of
        .buffers
        .iter()
        .filter(|buffer| buffer.is_optimizer_state());
    let bytes = state
        .map(|buffer| buffer.bytes)
        .fold(0, u64::saturating_add);
    (bytes > 0).then(|| {
    fix(
        "offload",
        bytes,
        "Keep the state of the optimizer in the memory of the host between steps (memory kind pinned_host). It costs two copies a step."
            .to_owned(),
    )
    })
}

/// Vector memory of chips since v5e: the least and the most.
const LEAST_VMEM: u64 = 64 << 20;
const MOST_VMEM: u64 = 128 << 20;

/// A kernel's own memory.
fn scoped(of: &MemoryShortage) -> Option<MemoryFix> {
    let is_scoped =
        of.buffers.iter().any(|buffer| buffer.kind == "scoped") || of.kind("scoped").is_some();
    let over = of.over_bytes.filter(|_| is_scoped && of.memory == "vmem")?;
    let needed = of.needed_bytes?.div_ceil(1024);
    let largest = of.buffers.first().map_or_else(String::new, |buffer| {
        format!(" (the largest buffer is {})", buffer.named())
    });
    // A limit of this size is all that a chip has.
    let is_all = of.capacity_bytes.is_some_and(|there| there >= LEAST_VMEM);
    let more = if is_all || needed > MOST_VMEM >> 10 {
        String::new()
    } else {
        format!(
            ", or allow it more of the VMEM, if the chip has it: \
             LIBTPU_INIT_ARGS=\"--xla_tpu_scoped_vmem_limit_kib={needed}\""
        )
    };
    let text = format!("Use smaller blocks in the kernel{largest}{more}.");
    Some(fix("vmem-limit", over, text))
}

/// In how many parts to divide bytes so that what remains fits, and what that frees. If no number suffices, the largest.
fn divided(all: u64, over: Option<u64>, may: impl Fn(u64) -> bool) -> (u64, u64) {
    let freed = |ways: u64| all - all / ways;
    let possible = || WAYS.into_iter().filter(|ways| may(*ways));
    let enough = over.and_then(|over| possible().find(|ways| freed(*ways) >= over));
    let ways = enough.or_else(|| {
        if over.is_some() {
            possible().last()
        } else {
            possible().next()
        }
    });
    ways.map_or((1, 0), |ways| (ways, freed(ways)))
}

#[cfg(test)]
mod tests {
    use super::super::finish::finished;
    use super::super::need::NeededKind;
    use super::*;

    #[test]
    fn scopes_of_the_forward_pass_are_found() {
        for (name, scope) in [
            (
                "jit(step)/jvp(Model)/layers/mlp/dot_general",
                Some("Model/layers/mlp"),
            ),
            (
                "jit(step)/jvp(Model)/layers/jit(relu)/max",
                Some("Model/layers/jit(relu)"),
            ),
            ("jit(step)/jvp(layer_0/mlp)/up/dot", Some("layer_0/mlp/up")),
            ("jit(step)/vmap(jvp(Model))/x/y", Some("Model/x")),
            ("jit(step)/jvp()/while/body/dot", Some("while/body")),
            ("jit(step)/transpose(jvp(Model))/layers/dot", None),
            (
                "jit(step)/jvp(Model)/checkpoint/rematted_computation/dot",
                None,
            ),
            ("jit(step)/add", None),
            ("jvp(", None),
        ] {
            assert_eq!(forward_scope(name).as_deref(), scope, "{name}");
        }
    }

    #[test]
    fn what_fits_with_room_to_spare_needs_no_change() {
        let fixes_of = |needed: u64, told_by: &str, is_estimate| {
            let temporaries = NeededKind {
                kind: "temporaries".to_owned(),
                bytes: needed << 30,
                padding_bytes: None,
            };
            let found = finished(MemoryShortage {
                told_by: told_by.to_owned(),
                memory: "hbm".to_owned(),
                needed_bytes: Some(needed << 30),
                capacity_bytes: Some(16 << 30),
                kinds: vec![temporaries],
                is_estimate,
                ..MemoryShortage::default()
            });
            (found.fixes.len(), found.statement)
        };
        let plan = "the compiler's plan";
        let (fixes, said) = fixes_of(12, plan, false);
        assert!(
            fixes == 0 && said.ends_with("16.00 GiB: it fits, 4.00 GiB are free"),
            "{said}"
        );
        let some = |(fixes, _)| fixes > 0;
        assert!(some(fixes_of(15, plan, false)) && some(fixes_of(17, plan, false)));
        assert!(some(fixes_of(12, plan, true)) && !some(fixes_of(6, plan, true)));
        let (_, said) = fixes_of(6, plan, true);
        assert!(
            !said.contains("fits"),
            "padding comes on top of an estimate: {said}"
        );
        let (fixes, said) = fixes_of(12, "the runtime", false);
        assert!(fixes > 0 && !said.contains("fits"), "{said}");
    }

    #[test]
    fn parts_are_as_few_as_suffice() {
        assert_eq!(divided(1000, Some(400), |_| true), (2, 500));
        assert_eq!(divided(1000, Some(800), |_| true), (8, 875));
        assert_eq!(divided(1000, Some(999), |_| true), (64, 985));
        assert_eq!(divided(1000, None, |_| true), (2, 500));
        assert_eq!(divided(1000, Some(1), |_| false), (1, 0));
    }
}
