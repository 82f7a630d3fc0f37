//! Opcode and operands of an instruction in HLO text.

/// The opcode and operands of `%name = shape opcode(operands), attributes`.
pub(super) struct OpcodeAndOperands<'a> {
    pub(super) opcode: &'a str,
    operands: &'a str,
}

impl<'a> OpcodeAndOperands<'a> {
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (_, right) = text.split_once(" = ")?;
        let shape = if right.starts_with('(') {
            balanced(right)?
        } else {
            right.find(' ')?
        };
        let call = right.get(shape..)?.trim_start();
        let open = call.find('(')?;
        let (opcode, rest) = call.split_at(open);
        let close = balanced(rest).unwrap_or(rest.len());
        Some(Self {
            opcode,
            operands: rest.get(..close)?,
        })
    }

    pub(super) fn operands(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.operands.split('%').skip(1).map(|rest| {
            let end = rest
                .find(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-' | '_')))
                .unwrap_or(rest.len());
            &rest[..end]
        })
    }
}

/// Position after the parenthesis that closes the one at the beginning of `text`.
fn balanced(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => open += 1,
            b')' => {
                open = open.checked_sub(1)?;
                if open == 0 {
                    return Some(i + 1);
                }
            }
            _ => {}
        }
    }
    None
}
