//! A neighbourhood of a program as a graph for Graphviz.

use std::fmt::Write as _;

use analysis::is_printable;
use analysis::reports::hlo::{Neighbourhood, NodeRelation};

/// The graph; the body of the instruction in the middle is a cluster.
pub fn graph(found: &Neighbourhood) -> String {
    let mut out =
        String::from("digraph hlo {\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n");
    let _ = writeln!(
        out,
        "  label={};",
        quoted(&format!("{} in {}", found.center, found.program))
    );
    let node = |out: &mut String, at: usize| {
        let Some(node) = found.nodes.get(at) else {
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
        let _ = writeln!(out, "  n{at} [label={}{style}];", quoted(&lines.join("\n")));
    };
    let is_inside = |&at: &usize| {
        found
            .nodes
            .get(at)
            .is_some_and(|node| node.relation == NodeRelation::Inside)
    };
    let (inside, around): (Vec<usize>, Vec<usize>) = (0..found.nodes.len()).partition(is_inside);
    for at in around {
        node(&mut out, at);
    }
    if !inside.is_empty() {
        let _ = writeln!(
            out,
            "  subgraph cluster_inside {{\n  label={};",
            quoted(&format!("inside {}", found.center))
        );
        for at in inside {
            node(&mut out, at);
        }
        out.push_str("  }\n");
    }
    for edge in &found.edges {
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
