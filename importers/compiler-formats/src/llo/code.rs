//! The text of an op's final code, a bundle a line.
//!
//! ```text
//!   0x45   : > { %2180 = dma.done.wait (%p2385_p6), %s197_s6, 4096 /* pipeline-emitter-dma-wait */ }
//!   0x4c   : > { %s26 = scalar_lea.vmem [#allocation8], %s15  ;;  %246 = sbr.rel (%p2) target = $region40 } /* End region 37 */
//!   0x4d   :  {}
//! ```
//!
//! Instructions of a bundle stand between `;;`. Comments nest, and those of copies have many lines. A bundle without any is issued while the core waits: for the slots after a
//! branch, or for a result that takes longer than what there is to do.

use importer_common::prelude::*;

/// Most names of instructions before empty bundles that are kept.
const MOST_STALLS: usize = 4;

/// What a text shows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct BundleTexts {
    /// Bundles.
    pub all: u64,
    pub empty: u64,
    pub matmuls: u64,
    pub dma_waits: u64,
    /// Instruction before, runs, bundles; the most bundles first.
    pub stalls: Vec<(String, u64, u64)>,
}

impl BundleTexts {
    /// Reads the text of one op; lines that are no bundles are passed over.
    pub fn read(text: &str) -> Self {
        let mut out = Self::default();
        let text = without_comments(text);
        let mut stalls: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        let (mut last, mut is_in_run) = ("", false);
        for inside in text.lines().filter_map(bundle) {
            out.all += 1;
            let mut instructions = inside.split(";;").filter_map(opcode).peekable();
            if instructions.peek().is_none() {
                out.empty += 1;
                // Bundles before the first instruction wait for none.
                if last.is_empty() {
                    continue;
                }
                let (runs, bundles) = stalls.entry(last).or_default();
                *runs += u64::from(!is_in_run);
                *bundles += 1;
                is_in_run = true;
                continue;
            }
            is_in_run = false;
            for opcode in instructions {
                out.matmuls += u64::from(opcode.starts_with("vmatmul"));
                out.dma_waits += u64::from(opcode.starts_with("dma.done.wait"));
                last = opcode;
            }
        }
        out.stalls = stalls
            .into_iter()
            .map(|(after, (runs, bundles))| (after.to_owned(), runs, bundles))
            .collect();
        out.stalls
            .sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
        out.stalls.truncate(MOST_STALLS);
        out
    }
}

/// The text without comments, which may stand in each other and run over lines.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut depth) = (text, 0_usize);
    while let Some(start) = rest.find(['/', '*']) {
        let (before, mark) = rest.split_at(start);
        let (kept, change): (usize, isize) = match mark.get(..2) {
            Some("/*") => (2, 1),
            Some("*/") if depth > 0 => (2, -1),
            _ => (1, 0),
        };
        if depth == 0 {
            out.push_str(before);
            if change == 0 {
                out.push_str(&mark[..kept]);
            }
        }
        depth = depth.saturating_add_signed(change);
        rest = &mark[kept..];
    }
    if depth == 0 {
        out.push_str(rest);
    }
    out
}

/// The instructions of a line that is a bundle: after its number, between braces.
fn bundle(line: &str) -> Option<&str> {
    let (number, rest) = line.trim_start().split_once(' ')?;
    let digits = number.strip_prefix("0x").unwrap_or(number);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (before, inside) = rest.split_once('{').filter(|_| is_number)?;
    let (inside, _) = inside.rsplit_once('}')?;
    before.contains(':').then_some(inside)
}

/// The name of an instruction: `dma.done.wait` of `%2180 = dma.done.wait (%p), %s6, 4096`.
fn opcode(instruction: &str) -> Option<&str> {
    let text = instruction.trim();
    let text = text.split_once(" = ").map_or(text, |(_, text)| text);
    text.split([' ', '('])
        .next()
        .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundles_are_counted_by_what_they_hold() {
        let text = "= control target key start\nLH: loop header\n= control target key end\n\n     \
            0   :  { %s0 = inlined_call_operand.hbm [shape: bf16[512,512], index: 0] /* a window */ } /* entry bundle: %m = f() */\n  \
            0x1 LB: > { %1 = vmatmul.bf16.gmra.mxu0 %v1  ;;  %2 = vmatmul.bf16.vlgmr.msra.gmra.mxu1 %v2 }\n  \
            0x2   : > { %3 = dma.done.wait (%p1), %s6, 4096 /* wait */ }\n  \
            0x3   : > { %4 = sbr.rel (%p2) target = $region40 } /* End region 37 */\n  \
            0x4   :  {}\n  0x5   :  {} /* End region 38 */\n  \
            0x6   : > { %5 = vst [vmem:[#allocation2 + $0xb0] sm:$0xff] %v0 }\n  0x7   :  {}\n  \
            0x8   : > { %6 = sbr.rel target = $region41 }\n  0x9   :  {}\n";
        let found = BundleTexts::read(text);
        assert_eq!(
            (found.all, found.empty, found.matmuls, found.dma_waits),
            (10, 4, 2, 1)
        );
        assert_eq!(
            found.stalls,
            [("sbr.rel".to_owned(), 2, 3), ("vst".to_owned(), 1, 1)]
        );
    }

    #[test]
    fn empty_bundles_at_the_begin_come_after_no_instruction() {
        let text = "  0x0  :  {}\n  0x1  :  {}\n  0x2  :  { %1 = vst %v0 }\n  0x3  :  {}\n";
        let found = BundleTexts::read(text);
        assert_eq!((found.all, found.empty), (4, 3));
        assert_eq!(found.stalls, [("vst".to_owned(), 1, 1)]);
    }

    /// The comment of a copy, and one of a check with that comment in it.
    #[test]
    fn comments_of_many_lines_belong_to_their_bundle() {
        let copy = "dma.hbm_to_vmem /*hbm=*/%s1, /*stride=*/%s2 /*\nbounds: (64, 4)\nfactor: 1 */";
        let text = format!(
            "  0x1   : > {{ %1 = {copy} }} /* End region 25 */\n  0x2   : > {{ %2 = shalt.err /* check {copy}\nhlo: m\n */ }}\n  \
             0x3   :  {{}}\n"
        );
        let found = BundleTexts::read(&text);
        assert_eq!((found.all, found.empty), (3, 1));
        assert_eq!(found.stalls, [("shalt.err".to_owned(), 1, 1)]);
        for (text, expected) in [
            ("a/b*c", "a/b*c"),
            ("a /* b */ c */", "a  c */"),
            ("a /* b /* c */", "a "),
            ("a/", "a/"),
        ] {
            assert_eq!(without_comments(text), expected);
        }
    }

    #[test]
    fn other_texts_have_no_bundles() {
        for text in [
            "",
            "{}",
            "0x1 {}",
            "0x1 : {",
            "zz : {}",
            "0x : {}",
            "0x1 : } {",
        ] {
            assert_eq!(BundleTexts::read(text).all, 0, "{text}");
        }
        let cut = "0x1 : { %1 = vst %v ";
        for at in 0..cut.len() {
            assert_eq!(BundleTexts::read(&cut[..at]).all, 0);
        }
    }
}
