//! Lines of the program for ops that were recorded without one: from their own stack, their own text, or the op that
//! started what they wait for.

use hlo::HloText;
use trace_model::{Op, OpId, TraceBuilder};

/// Fills in `source` of ops where something else in the capture tells it.
pub fn fill_source_lines(out: &mut TraceBuilder) {
    let told: Vec<(OpId, String)> = without_line(out)
        .filter_map(|(id, op)| Some((id, own_line(out, op)?)))
        .collect();
    add(out, told);
    let started: Vec<(OpId, String)> = without_line(out)
        .filter_map(|(id, op)| Some((id, line_of_start(out, op)?)))
        .collect();
    add(out, started);
}

fn without_line(out: &TraceBuilder) -> impl Iterator<Item = (OpId, &Op)> {
    out.ops().filter(|(_, op)| op.source.is_none())
}

fn add(out: &mut TraceBuilder, lines: Vec<(OpId, String)>) {
    for (id, line) in lines {
        let (name, program) = (out.op_ref(id).name, out.op_ref(id).program);
        let source = Some(out.intern(&line));
        out.op(Op {
            name,
            program,
            source,
            ..Op::default()
        });
    }
}

/// The innermost frame of its stack, which is the last one, else what its text says.
fn own_line(out: &TraceBuilder, op: &Op) -> Option<String> {
    let stack = op.source_stack.map(|stack| out.str(stack));
    let frame = stack.and_then(|stack| stack.lines().map(str::trim).rfind(|line| !line.is_empty()));
    let of_frame = frame.map(|frame| without_column(frame).to_owned());
    of_frame.or_else(|| {
        let text = HloText::parse(out.str(op.hlo_text?))?;
        let file = text
            .metadata("source_file")
            .filter(|file| !file.is_empty())?;
        Some(match text.metadata("source_line") {
            Some(line) => format!("{file}:{line}"),
            None => file.into_owned(),
        })
    })
}

/// `file:line` of `file:line:column`.
fn without_column(frame: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let of = |text| {
        str::rsplit_once(text, ':').filter(|(rest, last)| !rest.is_empty() && is_number(last))
    };
    match of(frame) {
        Some((rest, _)) if of(rest).is_some() => rest,
        _ => frame,
    }
}

/// The line of the start op that a done op waits for: `copy-done(… %copy-start.3)`.
fn line_of_start(out: &TraceBuilder, op: &Op) -> Option<String> {
    let text = out.str(op.hlo_text?);
    if !text.contains("-done(") {
        return None;
    }
    let text = HloText::parse(text).filter(|text| text.opcode.ends_with("-done"))?;
    let start = text.operand_names().next()?;
    let start = out.find_op(op.program, out.known(start)?)?;
    Some(out.str(out.op_ref(start).source?).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(out: &mut TraceBuilder, name: &str) -> Option<String> {
        let (program, name) = (Some(out.program("jit_f", None)), out.intern(name));
        let op = out.find_op(program, name)?;
        Some(out.str(out.op_ref(op).source?).to_owned())
    }

    fn add_op(out: &mut TraceBuilder, name: &str, text: &str, source: &str, stack: &str) {
        let told =
            |out: &mut TraceBuilder, text: &str| (!text.is_empty()).then(|| out.intern(text));
        let op = Op {
            name: out.intern(name),
            program: Some(out.program("jit_f", None)),
            hlo_text: told(out, text),
            source: told(out, source),
            source_stack: told(out, stack),
            ..Op::default()
        };
        out.op(op);
    }

    #[test]
    fn lines_come_from_frames_texts_and_start_ops() {
        let mut out = TraceBuilder::new();
        let stack = "main.py:80:0\nC:\\m.py:7:12\n";
        add_op(&mut out, "framed", "", "", stack);
        add_op(&mut out, "told", "", "a.py:1", stack);
        add_op(&mut out, "no-line", "", "", "m.py\n");
        add_op(
            &mut out,
            "ar-start",
            "%ar-start = f32[8] all-reduce-start(f32[8] %x), metadata={op_name=\"f\" source_file=\"b.py\" source_line=3}",
            "",
            "",
        );
        add_op(
            &mut out,
            "ar-done",
            "%ar-done = f32[8] all-reduce-done(f32[8] %ar-start)",
            "",
            "",
        );
        add_op(
            &mut out,
            "cut-done",
            "%cut-done = f32[8] copy-done(f32[8] %none",
            "",
            "",
        );
        add_op(
            &mut out,
            "add",
            "%add = f32[8] add(f32[8] %ar-start)",
            "",
            "",
        );
        fill_source_lines(&mut out);
        for (op, line) in [
            ("framed", Some("C:\\m.py:7")),
            ("told", Some("a.py:1")),
            ("no-line", Some("m.py")),
            ("ar-start", Some("b.py:3")),
            ("ar-done", Some("b.py:3")),
            ("cut-done", None),
            ("add", None),
        ] {
            assert_eq!(source(&mut out, op).as_deref(), line, "{op}");
        }
    }
}
