//! Parses lines of the log.

use importer_common::simulated::{amount, cycle};

use crate::chakra::graph::NodeKind;

/// The start or end of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NodeEvent<'a> {
    pub begins: bool,
    /// Whether a logger wrote it, with a head.
    pub is_logged: bool,
    pub sys: u32,
    /// Nanoseconds, although the log calls them cycles.
    pub tick: i64,
    pub node: u64,
    pub name: &'a str,
    pub kind: NodeKind,
}

/// Roofline data of the compute node in the previous line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AstraSimRoofline {
    /// Achieved rate, FLOP/s.
    pub flops_per_second: f64,
    /// Operations per byte.
    pub intensity: f64,
    /// Shares of the peaks.
    pub compute: f64,
    pub memory: f64,
    pub bytes: u64,
    pub flops: u64,
}

impl AstraSimRoofline {
    /// The peaks implied by rates and shares: FLOP/s and bytes/s.
    pub fn peaks(&self) -> (Option<f64>, Option<f64>) {
        let peak = |rate: f64, share: f64| {
            Some(rate / share).filter(|peak| peak.is_finite() && *peak > 0.0)
        };
        (
            peak(self.flops_per_second, self.compute),
            peak(self.flops_per_second / self.intensity, self.memory),
        )
    }
}

/// A relevant line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum AstraSimLine<'a> {
    Node(NodeEvent<'a>),
    Roofline(AstraSimRoofline),
    /// `sys[0] finished, 14992 cycles, exposed communication 5656 cycles.`
    Finished {
        sys: u32,
    },
    /// A statistic at the end: `sys[0], Wall time: 14992`.
    Statistic {
        sys: u32,
        name: &'a str,
        value: &'a str,
    },
    /// An unreadable line about a node.
    Broken,
}

/// Parses a line; `None` for irrelevant ones.
pub(super) fn parse(line: &str) -> Option<AstraSimLine<'_>> {
    let line = line.trim_end();
    // The text before it differs between versions of the logger.
    for (word, begins) in [("issue,sys->id=", true), ("callback,sys->id=", false)] {
        if let Some((head, rest)) = line.split_once(word) {
            let event = node(rest, (begins, !head.is_empty()));
            return Some(event.map_or(AstraSimLine::Broken, AstraSimLine::Node));
        }
    }
    if let Some((_, rest)) = line.split_once("operation_intensity=") {
        return Some(roofline(rest).map_or(AstraSimLine::Broken, AstraSimLine::Roofline));
    }
    let (_, rest) = line.split_once("] sys[")?;
    let (sys, rest) = rest.split_once(']')?;
    let sys = sys.parse().ok()?;
    if rest.trim_start().starts_with("finished") {
        return Some(AstraSimLine::Finished { sys });
    }
    let (name, value) = rest.strip_prefix(", ")?.split_once(": ")?;
    Some(AstraSimLine::Statistic {
        sys,
        name,
        value: value.trim(),
    })
}

/// Parses the text after `sys->id=`. The name is the only text and may contain anything.
fn node(rest: &str, (begins, is_logged): (bool, bool)) -> Option<NodeEvent<'_>> {
    let (sys, rest) = rest.split_once(", tick=")?;
    let (tick, rest) = rest.split_once(", node->id=")?;
    let (node, rest) = rest.split_once(", node->name=")?;
    let (name, kind) = rest.rsplit_once(", node->type=")?;
    let kind = NodeKind::from_number(kind.parse().ok()?)?;
    Some(NodeEvent {
        begins,
        is_logged,
        sys: sys.parse().ok()?,
        tick: cycle(tick)?,
        node: node.parse().ok()?,
        name,
        kind,
    })
}

fn roofline(rest: &str) -> Option<AstraSimRoofline> {
    let (intensity, rest) = rest.split_once(',')?;
    // Separated by spaces, with or without commas.
    let field = |name: &str| {
        let (_, value) = rest.split_once(&format!("{name}="))?;
        value.split([' ', ',']).next()
    };
    let number = |name: &str| amount(field(name)?);
    Some(AstraSimRoofline {
        flops_per_second: number("perf")?,
        intensity: intensity
            .trim()
            .parse()
            .ok()
            .filter(|value: &f64| *value >= 0.0)?,
        compute: number("compute_utilization")?,
        memory: number("memory_utilization")?,
        bytes: field("tensor_size")?.parse().ok()?,
        flops: field("num_ops")?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_contain_field_separators() {
        let line = "[x] [workload] [debug] issue,sys->id=3, tick=3664, node->id=2, node->name=a, node->type=9, node->type=4";
        let Some(AstraSimLine::Node(node)) = parse(line) else {
            panic!()
        };
        assert_eq!(
            (node.begins, node.sys, node.tick, node.node),
            (true, 3, 3664, 2)
        );
        assert_eq!(
            (node.name, node.kind),
            ("a, node->type=9", NodeKind::Compute)
        );
    }

    #[test]
    fn broken_lines_are_distinguished_from_foreign_lines() {
        for broken in [
            "issue,sys->id=3, tick=3664, node->id=2",
            "callback,sys->id=3, tick=-1, node->id=2, node->name=a, node->type=4",
            "callback,sys->id=3, tick=1, node->id=2, node->name=a, node->type=12",
            "operation_intensity=12.5, perf=nan compute_utilization=1 memory_utilization=0 tensor_size=1 num_ops=1",
        ] {
            assert_eq!(parse(broken), Some(AstraSimLine::Broken), "{broken}");
        }
        assert_eq!(
            parse("[system::topology::RingTopology] [info] ring of node 0"),
            None
        );
        let text = "[statistics] [info] sys[3], Total compute-communication overlap: 7002";
        let expected = AstraSimLine::Statistic {
            sys: 3,
            name: "Total compute-communication overlap",
            value: "7002",
        };
        assert_eq!(parse(text), Some(expected));
        assert_eq!(
            parse("[workload] [info] sys[1] finished, 5 cycles"),
            Some(AstraSimLine::Finished { sys: 1 })
        );
    }

    #[test]
    fn peaks_follow_from_rates_and_shares() {
        let text = "operation_intensity=124.12121212121212, perf=230000000000000, elapsed_time=2.33e-06 \
                    compute_utilization=1 memory_utilization=0.0926513671875 tensor_size=4325376 num_ops=536870912";
        let Some(AstraSimLine::Roofline(roofline)) = parse(text) else {
            panic!()
        };
        let (flops, bytes) = roofline.peaks();
        assert_eq!(
            (flops, roofline.flops, roofline.bytes),
            (Some(230e12), 536_870_912, 4_325_376)
        );
        assert!((bytes.unwrap() - 20e12).abs() < 1e3, "{bytes:?}");
        assert_eq!(
            AstraSimRoofline {
                compute: 0.0,
                ..roofline
            }
            .peaks()
            .0,
            None
        );
    }
}
