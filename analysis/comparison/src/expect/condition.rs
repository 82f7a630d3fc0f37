//! What is expected, as read from TOML.

use facts::prelude::*;
use serde::Deserialize;

use crate::gates::nearest;

/// One expectation: a name, one condition, and what narrows it.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["name"]))]
pub struct Expectation {
    /// What is said of it: `one all-gather per layer`.
    pub name: String,
    /// The program, by the beginning of its name; the one that ran longest if absent.
    pub program: Option<String>,
    /// Condition: instructions of this opcode, a pattern with `*`.
    pub op: Option<String>,
    /// Condition: collectives of this kind (`all-gather`), or `any`.
    pub collective: Option<String>,
    /// Condition: matrix products whose operands all have this type (`bf16`).
    pub product: Option<String>,
    /// Condition: a custom call of this target, name or framework name, a pattern with `*`.
    pub kernel: Option<String>,
    /// Condition: a fusion that contains all these opcodes.
    pub fusion_of: Vec<String>,
    /// Condition: whether values are computed again.
    pub rematerialized: Option<bool>,
    /// Condition: whether the program copies between the device and the host.
    pub host_copies: Option<bool>,
    /// Condition: whether the host compiles during the steps of the loop, after warm-up.
    pub compiles_in_steps: Option<bool>,
    /// Condition: the share of ops of this framework name, a pattern with `*`, in the self time of all ops.
    pub share_of: Option<String>,
    /// Condition: the program needs at most this much main memory at one time.
    pub max_peak_bytes: Option<u64>,
    /// Condition: one execution of the program counts at most this many operations.
    pub max_flops: Option<u64>,
    /// Condition: one execution of the program reads and writes at most this many bytes of main memory.
    pub max_traffic_bytes: Option<u64>,
    /// Condition: parameters of this name, a pattern with `*`, give their memory to a result.
    pub donated: Option<String>,
    /// Only instructions of this name, a pattern with `*`.
    pub named: Option<String>,
    /// Only instructions from this source: the end of `file:line`, or of the file.
    pub source: Option<String>,
    /// Only instructions whose framework name fits this pattern with `*`.
    pub scope: Option<String>,
    /// Whether a kernel or fusion must be there; true if absent.
    pub present: Option<bool>,
    /// Fewest instructions.
    pub min: Option<u64>,
    /// Most instructions.
    pub max: Option<u64>,
    /// Exactly this many instructions.
    pub exactly: Option<u64>,
    /// Fewest bytes of all messages in one execution of the program.
    pub min_bytes: Option<u64>,
    /// Most bytes of all messages in one execution of the program.
    pub max_bytes: Option<u64>,
    /// Smallest share in percent.
    pub min_percent: Option<f64>,
    /// Largest share in percent.
    pub max_percent: Option<f64>,
}

/// What an expectation asks for.
#[derive(Debug)]
pub enum Condition {
    /// Instructions of an opcode.
    Op(String),
    /// Collectives of a kind, or of all.
    Collective(Option<CollectiveKind>),
    /// Types of the operands of products.
    Product(String),
    /// A custom call.
    Kernel(String),
    /// A fusion that contains all of these.
    FusionOf(Vec<String>),
    /// Whether values are computed again.
    Rematerialized(bool),
    /// Whether it copies between device and host.
    HostCopies(bool),
    /// Whether the host compiles in steps.
    CompilesInSteps(bool),
    /// Share of a scope.
    ShareOf(String),
    /// Most memory.
    PeakMemory(u64),
    /// Most operations.
    Flops(u64),
    /// Most bytes from and to main memory.
    Traffic(u64),
    /// Donated parameters.
    Donated(String),
}

/// A mistake in an expectation.
#[derive(Debug, thiserror::Error)]
#[error("the expectation {name:?}: {why}")]
pub struct ExpectationError {
    name: String,
    why: String,
}

/// Fewest and most of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CountBounds {
    pub min: Option<u64>,
    pub max: Option<u64>,
}

impl CountBounds {
    /// `at least 1`, `at most 3`, `exactly 2`, `2 to 4`.
    pub fn in_words(self, number: impl Fn(u64) -> String) -> String {
        match (self.min, self.max) {
            (Some(min), Some(max)) if min == max => format!("exactly {}", number(min)),
            (Some(min), Some(max)) => format!("{} to {}", number(min), number(max)),
            (Some(min), None) => format!("at least {}", number(min)),
            (None, Some(0)) => "none".to_owned(),
            (None, Some(max)) => format!("at most {}", number(max)),
            (None, None) => "any number".to_owned(),
        }
    }
}

impl Expectation {
    /// The condition.
    ///
    /// # Errors
    ///
    /// There is none, there are several, or bounds contradict each other or do not belong to it.
    pub fn condition(&self) -> Result<Condition, ExpectationError> {
        let wrong = |why: String| ExpectationError {
            name: self.name.clone(),
            why,
        };
        if self.name.trim().is_empty() {
            return Err(wrong("it has no name: add name = \"…\"".to_owned()));
        }
        let mut conditions = self.conditions().map_err(wrong)?;
        let condition = match (conditions.pop(), conditions.is_empty()) {
            (Some(only), true) => only,
            (None, _) => {
                return Err(wrong(format!(
                    "it has no condition: add one of {}",
                    CONDITIONS.join(", ")
                )));
            }
            _ => {
                return Err(wrong(
                    "it has several conditions: write one expectation for each".to_owned(),
                ));
            }
        };
        self.check_bounds(&condition).map_err(wrong)?;
        Ok(condition)
    }

    fn conditions(&self) -> Result<Vec<Condition>, String> {
        let collective = self.collective.as_deref().map(collective).transpose()?;
        let fusion = Some(&self.fusion_of).filter(|list| !list.is_empty());
        let all = [
            self.op.clone().map(Condition::Op),
            collective.map(Condition::Collective),
            self.product
                .as_deref()
                .map(element_type)
                .transpose()?
                .map(Condition::Product),
            self.kernel.clone().map(Condition::Kernel),
            fusion.cloned().map(Condition::FusionOf),
            self.rematerialized.map(Condition::Rematerialized),
            self.host_copies.map(Condition::HostCopies),
            self.compiles_in_steps.map(Condition::CompilesInSteps),
            self.share_of.clone().map(Condition::ShareOf),
            self.max_peak_bytes.map(Condition::PeakMemory),
            self.max_flops.map(Condition::Flops),
            self.max_traffic_bytes.map(Condition::Traffic),
            self.donated.clone().map(Condition::Donated),
        ];
        Ok(all.into_iter().flatten().collect())
    }

    fn check_bounds(&self, condition: &Condition) -> Result<(), String> {
        let counts = self.min.is_some() || self.max.is_some() || self.exactly.is_some();
        let bytes = self.min_bytes.is_some() || self.max_bytes.is_some();
        let shares = self.min_percent.is_some() || self.max_percent.is_some();
        let is_counted = matches!(condition, Condition::Op(_) | Condition::Collective(_));
        if counts && !is_counted {
            return Err("min, max and exactly belong to op and collective".to_owned());
        }
        if bytes && !matches!(condition, Condition::Collective(_)) {
            return Err("min_bytes and max_bytes belong to collective".to_owned());
        }
        if shares != matches!(condition, Condition::ShareOf(_)) {
            return Err("share_of goes with min_percent or max_percent".to_owned());
        }
        let is_optional = matches!(condition, Condition::Kernel(_) | Condition::FusionOf(_));
        if self.present.is_some() && !is_optional {
            return Err("present belongs to kernel and fusion_of".to_owned());
        }
        if self.exactly.is_some() && (self.min.is_some() || self.max.is_some()) {
            return Err("write exactly, or min and max".to_owned());
        }
        let crossed = |min: Option<u64>, max: Option<u64>| min.zip(max).is_some_and(|(a, b)| a > b);
        if crossed(self.min, self.max) || crossed(self.min_bytes, self.max_bytes) {
            return Err("the smallest number allowed is above the largest".to_owned());
        }
        let percents = [self.min_percent, self.max_percent];
        let is_share = |percent: f64| (0.0..=100.0).contains(&percent);
        if percents
            .into_iter()
            .flatten()
            .any(|percent| !is_share(percent))
        {
            return Err("a share is from 0 to 100 percent".to_owned());
        }
        Ok(())
    }

    /// The number of instructions that is allowed: at least one if nothing is said.
    pub(super) fn bounds(&self) -> CountBounds {
        if let Some(exactly) = self.exactly {
            return CountBounds {
                min: Some(exactly),
                max: Some(exactly),
            };
        }
        let is_open = self.min.is_none() && self.max.is_none();
        let has_bytes = self.min_bytes.is_some() || self.max_bytes.is_some();
        CountBounds {
            min: self.min.or((is_open && !has_bytes).then_some(1)),
            max: self.max,
        }
    }
}

/// The keys of conditions.
const CONDITIONS: [&str; 13] = [
    "op",
    "collective",
    "product",
    "kernel",
    "fusion_of",
    "rematerialized",
    "host_copies",
    "compiles_in_steps",
    "share_of",
    "max_peak_bytes",
    "max_flops",
    "max_traffic_bytes",
    "donated",
];

/// The name of an element type in HLO, of it or of its long name.
fn element_type(name: &str) -> Result<String, String> {
    let short = match name {
        "bfloat16" => "bf16",
        "float16" => "f16",
        "float32" => "f32",
        "float64" => "f64",
        "int8" => "s8",
        "uint8" => "u8",
        "int32" => "s32",
        other => other,
    };
    if hlo::is_dtype(short) {
        Ok(short.to_owned())
    } else {
        Err(format!(
            "product: {name:?} is no element type: write bf16, f32, f8e4m3fn, s8 …"
        ))
    }
}

fn collective(kind: &str) -> Result<Option<CollectiveKind>, String> {
    const KINDS: [&str; 9] = [
        "all-reduce",
        "all-gather",
        "reduce-scatter",
        "all-to-all",
        "ragged-all-to-all",
        "collective-permute",
        "collective-broadcast",
        "send",
        "recv",
    ];
    if kind == "any" {
        return Ok(None);
    }
    let known = CollectiveKind::from_opcode(kind).filter(|_| KINDS.contains(&kind));
    known.map(Some).ok_or_else(|| {
        let near = nearest::of(kind, KINDS);
        let near = near.map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
        format!(
            "no collective is called {kind:?}; write any, or one of {}{near}",
            KINDS.join(", ")
        )
    })
}
