//! Classifies ops by their kind of work.
//!
//! XLA's categories are many and differ by version; everything here reduces them to eleven [`OpGroup`]s and a few facts
//! that the analyses need: whether an op is communication, which half of an asynchronous pair it is, whether it
//! contains other ops. [`OpClasses`] computes this once per distinct op of a trace, so that loops over millions of
//! slices only index an array.
//!
//! The first source that decides wins: the recorded category, the opcode in the HLO text (with the kind of a fusion),
//! the op's name up to its number. Fusions of kind "custom" are named after how they are compiled, not after what they
//! do: their own name, the computation that they call and the framework's name decide.
//!
//! The `-done` of a collective belongs to [`OpGroup::Collective`], that of a copy or slice to [`OpGroup::AsyncWait`].
//! Both are waiting, as [`OpClass::role`] shows.

mod class;
mod collective;
mod fusion;

use engine::prelude::*;
use hlo::{HloModule, HloText};
use math::parallel;
use trace_model::Op;

use super::programs::hlo_for_now;
use class::{OpFlags, group_of, split_role};

pub use class::{AsyncRole, OpClass, OpGroup};
pub(crate) use collective::resized;
pub use hardware::ici::CollectiveKind;

/// The classes and categories of all ops of a model.
#[derive(Clone, Debug, Default)]
pub struct OpClasses {
    classes: Vec<OpClass>,
    /// By op; each name once, because there are few.
    categories: Vec<Arc<str>>,
}

impl OpClasses {
    /// Classifies every op of `model`.
    pub fn new(model: &TraceModel) -> Self {
        Self::with_programs(model, |program| {
            HloModule::of_program(model, program).ok().map(Arc::new)
        })
    }

    /// Classifies all ops with programs that are already parsed or cached.
    pub(crate) fn with_programs(
        model: &TraceModel,
        hlo: impl Fn(ProgramId) -> Option<Arc<HloModule>>,
    ) -> Self {
        let mut names: BTreeMap<String, Arc<str>> = BTreeMap::new();
        let mut shared = |name: String| {
            let text = name.as_str().into();
            Arc::clone(names.entry(name).or_insert(text))
        };
        let mut classified =
            parallel::map(model.ops(), model.ops().len(), |op| classify(model, op));
        fusion::look_inside(model, &mut classified, hlo);
        fusion::pair_up(model, &mut classified);
        let (classes, categories) = classified
            .into_iter()
            .map(|(class, name)| (class, shared(name)))
            .unzip();
        Self {
            classes,
            categories,
        }
    }

    /// The class of an op.
    #[inline]
    pub fn class(&self, op: OpId) -> OpClass {
        self.classes.get(op.index()).copied().unwrap_or_default()
    }

    /// The class of a slice's op; the default for slices without one.
    #[inline]
    pub fn class_of(&self, op: Option<OpId>) -> OpClass {
        op.map(|op| self.class(op)).unwrap_or_default()
    }

    /// The category, recorded or inferred.
    pub fn category(&self, op: OpId) -> &str {
        self.categories.get(op.index()).map_or("", |name| name)
    }

    /// The category of an op, shared, for a row that keeps it.
    pub fn shared_category(&self, op: Option<OpId>) -> Arc<str> {
        op.and_then(|op| self.categories.get(op.index()))
            .cloned()
            .unwrap_or_default()
    }
}

/// Classifies one op; the second value is its category, recorded or inferred.
fn classify(model: &TraceModel, op: &Op) -> (OpClass, String) {
    let name = model.str(op.name);
    let text = op.hlo_text.map(|text| model.str(text)).unwrap_or_default();
    let recorded = op
        .category
        .map(|category| model.str(category))
        .filter(|category| !category.is_empty());
    let framework = op
        .framework_name
        .map(|name| model.str(name))
        .unwrap_or_default();
    let (mut class, category) = classify_texts(recorded, text, name);
    if class.group == OpGroup::Other && category == fusion::CUSTOM && fusion::moves_data(framework)
    {
        class.group = OpGroup::DataMovement;
    }
    if framework
        .split_once("rematted_computation")
        .is_some_and(|(_, inside)| !is_backward(inside))
    {
        class.traits |= OpFlags::REMAT;
    }
    (class, category)
}

/// Words in names of kernels that compute gradients …
const BACKWARD: [&str; 5] = ["backward", "bwd", "dkdv", "dkv", "dq"];
/// … unless these stand beside them: names of kernels hold options of both directions.
const FORWARD: [&str; 2] = ["forward", "fwd"];

/// Whether a path of the framework within a checkpoint is that of a kernel of the backward pass, which JAX marks as
/// recomputed with all that belongs to its `custom_vjp`, although it runs once.
fn is_backward(path: &str) -> bool {
    // Letters of an einsum (`bd,dq->bq`) are no words.
    let mut names = path.split('/').filter(|part| !part.contains("->"));
    names.any(|part| {
        let has = |wanted: &[&str]| {
            part.split(|c: char| !c.is_ascii_alphanumeric())
                .any(|word| wanted.contains(&word))
        };
        has(&BACKWARD) && !has(&FORWARD)
    })
}

/// Classifies by category, HLO text (may be empty) and name.
pub fn classify_texts(category: Option<&str>, text: &str, name: &str) -> (OpClass, String) {
    let hlo = HloText::parse(text).unwrap_or_default();
    let category_text = category.map_or_else(|| conclude_category(&hlo, name), str::to_owned);
    let (base, role) = split_role(&category_text);
    let is_host_transfer = base.starts_with("host ")
        || hlo
            .attribute("is_host_transfer")
            .is_some_and(|value| value == "true");
    let collective_class = if is_host_transfer {
        collective::CollectiveClass::default()
    } else {
        collective::find(base, &hlo, name)
    };
    let collective = collective_class.kind;
    let is_fused_collective = collective_class.is_fused;
    let role = role.or(collective_class.role);
    let may_have_inner_ops = matches!(base, "while" | "conditional" | "call" | "megacore fusion");
    let is_off_duty = matches!(
        base,
        "infeed" | "outfeed" | "host send" | "host recv" | "megacore fusion"
    ) || category_text == "async-done";
    let group = if collective.is_some() {
        OpGroup::Collective
    } else if is_host_transfer {
        OpGroup::HostIo
    } else if role == Some(AsyncRole::Done) {
        OpGroup::AsyncWait
    } else {
        group_of(base)
    };
    let is_remat = text
        .split('=')
        .next()
        .is_some_and(|head| head.contains(".remat"))
        || name.contains(".remat");
    let traits = [
        (OpFlags::FUSED_COLLECTIVE, is_fused_collective),
        (OpFlags::OFF_DUTY, is_off_duty),
        (OpFlags::MAY_HAVE_INNER_OPS, may_have_inner_ops),
        (OpFlags::REMAT, is_remat),
        (OpFlags::CUSTOM_CALL, category_text == "custom-call"),
        (OpFlags::CATEGORY_RECORDED, category.is_some()),
    ];
    let traits = traits
        .into_iter()
        .filter(|&(_, is_so)| is_so)
        .map(|(what, _)| what)
        .collect();
    let class = OpClass {
        group,
        collective,
        role,
        traits,
    };
    (class, category_text)
}

/// Infers the category of an op without one.
fn conclude_category(hlo: &HloText<'_>, name: &str) -> String {
    let opcode = if hlo.opcode.is_empty() {
        opcode_of_framework(opcode_in_name(name))
    } else {
        hlo.opcode
    };
    let category = match opcode {
        "fusion" => match hlo.attribute("kind") {
            Some("kLoop") => "loop fusion",
            Some("kInput") => "input fusion",
            Some("kOutput") => "output fusion",
            Some("kCustom") => "custom fusion",
            _ => "fusion",
        },
        "copy" | "transpose" | "reshape" => "data formatting",
        "convert" | "add" | "subtract" | "multiply" | "divide" | "maximum" | "minimum"
        | "negate" | "exponential" | "tanh" | "compare" | "and" | "or" | "not" | "xor"
        | "power" | "rsqrt" | "sqrt" | "log" | "abs" | "clamp" => "non-fusion elementwise",
        "send-done" | "recv-done" | "send" | "recv"
            if hlo.attribute("is_host_transfer") == Some("true") =>
        {
            return format!("host {opcode}");
        }
        other => other,
    };
    category.to_owned()
}

/// The compiler names an instruction after the op of JAX that it was: `psum.1` is an all-reduce.
fn opcode_of_framework(name: &str) -> &str {
    match name {
        "psum" | "psum_invariant" | "pmax" | "pmin" => "all-reduce",
        "all_gather" | "all_gather_invariant" => "all-gather",
        "reduce_scatter" => "reduce-scatter",
        "all_to_all" => "all-to-all",
        "ppermute" => "collective-permute",
        other => other,
    }
}

/// `fusion` of `fusion.12`, `loop_add_fusion.3.remat` and `%fusion`: the name up to
/// its number, where names that end in `fusion` are fusions of unknown kind.
fn opcode_in_name(name: &str) -> &str {
    let name = name.trim_start_matches('%');
    let number = name.match_indices('.').find(|(dot, _)| {
        name.as_bytes().get(dot + 1).is_some_and(u8::is_ascii_digit)
            || name.get(dot + 1..).is_some_and(|r| r == "remat")
    });
    let stem = number.and_then(|(dot, _)| name.get(..dot)).unwrap_or(name);
    if stem.ends_with("_fusion") {
        "fusion"
    } else {
        stem
    }
}

#[cfg(test)]
mod tests;

impl Fact for OpClasses {
    fn find(cx: &Context<'_>) -> Self {
        Self::with_programs(cx.model, |program| hlo_for_now(cx, program).ok())
    }
}
