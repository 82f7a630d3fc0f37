//! The lines of the instructions of a module, as HLO text has them.

use std::fmt::{Display, Write as _};

use hlo::{Convolution, HloModule, HloText, Instruction, WindowDimension};
use importer_common::prelude::*;

use super::proto::{TextProtoMessage, unquoted};

/// The parts of a line that are not in the program.
pub(super) struct LineTexts {
    shape: String,
    values: String,
    attributes: String,
    is_root: bool,
}

impl LineTexts {
    /// The texts of each instruction of `module`, which was read from `message`.
    pub fn all(module: &HloModule, message: &TextProtoMessage<'_>) -> Vec<Self> {
        let computations = message.all("computations").zip(&module.computations);
        let messages = computations.flat_map(|(message, computation)| {
            let all = message.all("instructions");
            all.map(|message| (message, computation.root))
        });
        let instructions = module.iter().zip(messages);
        instructions
            .map(|((id, instruction), (message, root))| Self {
                shape: instruction
                    .shape
                    .as_ref()
                    .map_or_else(|| "()".to_owned(), ToString::to_string),
                values: match &*instruction.opcode {
                    "parameter" => instruction.parameter_number.unwrap_or(0).to_string(),
                    "constant" => "{...}".to_owned(),
                    _ => String::new(),
                },
                attributes: attributes(module, instruction, message),
                is_root: root == Some(id),
            })
            .collect()
    }

    pub fn line<'t>(&'t self, instruction: &'t Instruction) -> HloText<'t> {
        HloText {
            name: &instruction.name,
            shape: &self.shape,
            opcode: &instruction.opcode,
            operands: &self.values,
            attributes: &self.attributes,
            is_root: self.is_root,
            is_cut: false,
        }
    }
}

/// A text between quotes.
fn quoted(text: &str) -> String {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
        .replace('\r', "\\r");
    format!("\"{escaped}\"")
}

/// `{0,1}`; nothing for an empty list.
fn braces(items: impl IntoIterator<Item: Display>) -> String {
    let items = joined(items, ",");
    if items.is_empty() {
        items
    } else {
        format!("{{{items}}}")
    }
}

fn attributes(
    module: &HloModule,
    instruction: &Instruction,
    message: &TextProtoMessage<'_>,
) -> String {
    let mut out = String::new();
    let mut add = |key: &str, value: String| {
        if !value.is_empty() {
            let separator = if out.is_empty() { "" } else { ", " };
            let _ = write!(out, "{separator}{key}={value}");
        }
    };
    add("kind", message.text("fusion_kind").into_owned());
    called(module, instruction, &mut add);
    if let Some(collective) = &instruction.attributes().collective {
        add("channel_id", joined(collective.channel_id, ""));
        let groups = collective.groups.iter().filter(|it| !it.is_everybody());
        add("replica_groups", joined(groups, ""));
        let pairs = collective.pairs.iter();
        let pairs = pairs.map(|(source, target)| format!("{{{source},{target}}}"));
        add("source_target_pairs", braces(pairs));
    }
    for key in ["dimensions", "dynamic_slice_sizes"] {
        add(key, braces(message.numbers(key)));
    }
    if &*instruction.opcode == "get-tuple-element" {
        add(
            "index",
            message.number("tuple_index").unwrap_or(0_u64).to_string(),
        );
    }
    if let Some(dot) = &instruction.attributes().dot {
        add("lhs_contracting_dims", braces(&dot.lhs_contracting));
        add("rhs_contracting_dims", braces(&dot.rhs_contracting));
        add("lhs_batch_dims", braces(&dot.lhs_batch));
        add("rhs_batch_dims", braces(&dot.rhs_batch));
    }
    if let Some(convolution) = &instruction.attributes().convolution {
        dimensions(convolution, &mut add);
    }
    let target = message.scalars("custom_call_target").next();
    add(
        "custom_call_target",
        joined(target.map(|target| quoted(&unquoted(target))), ""),
    );
    if let Some(metadata) = message.message("metadata") {
        let cells = metadata
            .every_scalar()
            .filter_map(|(key, value)| match key {
                "op_name" | "source_file" => Some(format!("{key}={}", quoted(&unquoted(value)))),
                "stack_frame_id" | "source_line" => Some(format!("{key}={value}")),
                _ => None,
            });
        let cells = joined(cells, " ");
        add(
            "metadata",
            braces(Some(cells).filter(|cells| !cells.is_empty())),
        );
    }
    let config = message.text("backend_config");
    if config.starts_with('{') {
        add("backend_config", config.replace(['\n', '\r'], " "));
    }
    out
}

fn called(module: &HloModule, instruction: &Instruction, add: &mut impl FnMut(&str, String)) {
    let called = instruction.called.iter().copied();
    let mut names = called
        .filter_map(|id| module.computation(id))
        .map(|computation| format!("%{}", computation.name));
    match &*instruction.opcode {
        "while" => {
            let body = names.next().unwrap_or_default();
            add("condition", names.next().unwrap_or_default());
            add("body", body);
        }
        "conditional" => add(
            "branch_computations",
            format!("{{{}}}", joined(names, ", ")),
        ),
        opcode if opcode == "fusion" || opcode.starts_with("async-") => {
            add("calls", names.next().unwrap_or_default());
        }
        _ => add("to_apply", names.next().unwrap_or_default()),
    }
}

fn dimensions(convolution: &Convolution, add: &mut impl FnMut(&str, String)) {
    let each = |value: &dyn Fn(&WindowDimension) -> String| {
        joined(convolution.window.iter().map(value), "x")
    };
    if !convolution.window.is_empty() {
        add(
            "window",
            format!(
                "{{size={} stride={} pad={} lhs_dilate={} rhs_dilate={}}}",
                each(&|it| it.size.to_string()),
                each(&|it| it.stride.to_string()),
                each(&|it| format!("{}_{}", it.padding_low, it.padding_high)),
                each(&|it| it.base_dilation.to_string()),
                each(&|it| it.window_dilation.to_string()),
            ),
        );
    }
    let labels = |letters: [(u64, char); 2], spatial: &[u64]| {
        let digits = spatial.iter().copied().zip('0'..);
        let mut places: Vec<(u64, char)> = letters.into_iter().chain(digits).collect();
        places.sort_unstable();
        places
            .into_iter()
            .map(|(_, label)| label)
            .collect::<String>()
    };
    let it = convolution;
    let input = labels(
        [(it.input_batch, 'b'), (it.input_feature, 'f')],
        &it.input_spatial,
    );
    let kernel = [
        (it.kernel_input_feature, 'i'),
        (it.kernel_output_feature, 'o'),
    ];
    let kernel = labels(kernel, &it.kernel_spatial);
    let output = labels(
        [(it.output_batch, 'b'), (it.output_feature, 'f')],
        &it.output_spatial,
    );
    add("dim_labels", format!("{input}_{kernel}->{output}"));
    for (key, count) in [
        ("feature_group_count", it.feature_groups),
        ("batch_group_count", it.batch_groups),
    ] {
        add(key, joined(Some(count).filter(|&count| count > 1), ""));
    }
}
