//! A neighbourhood of a program as a graph for Graphviz.

use std::fmt::Write as _;

use analysis::is_printable;
use analysis::reports::hlo::{Neighbourhood, NodeRelation};

/// The graph; the body of the instruction in the middle is a cluster.
pub fn graph(neighbourhood: &Neighbourhood) -> String {
    let mut out =
        String::from("digraph hlo {\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n");
    let _ = writeln!(
        out,
        "  label={};",
        quoted(&format!(
            "{} in {}",
            neighbourhood.center, neighbourhood.program
        ))
    );
    let node = |out: &mut String, index: usize| {
        let Some(node) = neighbourhood.nodes.get(index) else {
            return;
        };
        let mut lines = vec![node.op.name.to_string(), node.op.opcode.to_string()];
        lines.extend(node.op.shape.clone());
        lines.extend(node.op.self_time_ps.map(|time| format!("self {time}")));
        lines.extend(node.op.exposed_ps.map(|time| format!("exposed {time}")));
        lines.retain(|line| !line.is_empty());
        let style = if node.relation == NodeRelation::Center {
            ", style=bold"
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "  n{index} [label={}{style}];",
            quoted(&lines.join("\n"))
        );
    };
    let is_inside = |&index: &usize| {
        neighbourhood
            .nodes
            .get(index)
            .is_some_and(|node| node.relation == NodeRelation::Inside)
    };
    let (inside, around): (Vec<usize>, Vec<usize>) =
        (0..neighbourhood.nodes.len()).partition(is_inside);
    for index in around {
        node(&mut out, index);
    }
    if !inside.is_empty() {
        let _ = writeln!(
            out,
            "  subgraph cluster_inside {{\n  label={};",
            quoted(&format!("inside {}", neighbourhood.center))
        );
        for index in inside {
            node(&mut out, index);
        }
        out.push_str("  }\n");
    }
    for edge in &neighbourhood.edges {
        let _ = writeln!(out, "  n{} -> n{};", edge.from, edge.to);
    }
    out.push_str("}\n");
    out
}

/// A quoted text of the DOT language, a line break for each line.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if !is_printable(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn text_cannot_escape_its_quotes() {
        assert_eq!(quoted("a\"b\\c\nd\u{1}"), "\"a\\\"b\\\\c\\nd \"");
    }
}
