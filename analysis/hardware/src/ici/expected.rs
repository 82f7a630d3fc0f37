//! Expected time of a collective, from its size and the links.
//!
//! With `S` the message size by the convention of nccl-tests, `n` chips, and `L`
//! links over which the worst placed chip receives (two for each axis that wraps,
//! one for each that does not) of `w` bytes/s one way:
//!
//! | pattern | time |
//! |---|---|
//! | all-gather, reduce-scatter | `S·(n−1)/n ÷ L·w` |
//! | all-reduce | twice that |
//! | all-to-all | half of all chips' `S` through the middle of the longest axis |
//! | permute | `S ÷ w` |
//! | broadcast | `S ÷ L·w` |
//!
//! and never less than a microsecond a hop. It is the scaling book's `S ÷ k·W` with
//! `W = 2w` of each of `k` wrapped axes, twice that without wrap, except that the
//! book leaves out `(n−1)/n`, which would double the time of two chips. An
//! all-to-all is the book's quarter of an all-gather of all buffers, `n·S ÷ 4W`.

use serde::Serialize;

use super::{CollectiveKind, GroupLayout};
use crate::chips::Chip;

/// Latency of one hop if none is published: about a microsecond, by the scaling book.
pub const HOP_SECONDS: f64 = 1e-6;

/// Speed of the links: one direction of one link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LinkRate {
    /// Recorded, or else published by the cloud provider, bytes/s.
    #[serde(rename = "peak_bytes_per_second")]
    pub peak: f64,
    /// Achievable by programs, bytes/s.
    #[serde(rename = "achievable_bytes_per_second")]
    pub achievable: f64,
    /// Latency of a hop, seconds.
    pub hop_seconds: f64,
}

impl LinkRate {
    /// The rate of a generation; `None` if not published.
    pub fn of(chip: &Chip) -> Option<Self> {
        let links = chip.links?;
        let hop_seconds = links.hop_latency_s.unwrap_or(HOP_SECONDS);
        Some(Self {
            peak: links.peak_bytes,
            achievable: links.achievable_bytes,
            hop_seconds,
        })
    }
}

/// The expected range of a collective's duration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct ExpectedTime {
    /// On the best layout at the published speed.
    pub least_seconds: f64,
    /// On the worst layout at the achievable speed.
    pub usual_seconds: f64,
    /// Whether hop latency dominates, on every layout or (`false`) on none; `None` if it depends on the layout.
    pub latency_bound: Option<bool>,
}

/// The range over all layouts; `None` without layouts and for patterns whose time
/// does not follow from their size (ragged exchanges, send and receive).
pub fn expected_time(
    kind: CollectiveKind,
    bytes: u64,
    layouts: &[GroupLayout],
    rate: LinkRate,
) -> Option<ExpectedTime> {
    let mut out: Option<ExpectedTime> = None;
    for layout in layouts {
        let floor = latency_seconds(kind, layout, rate);
        let least = link_seconds(kind, bytes, layout, rate.peak)?;
        let usual = link_seconds(kind, bytes, layout, rate.achievable)?;
        let latency_bound = match (floor > least, floor > usual) {
            (true, true) => Some(true),
            (true, false) => None,
            (false, _) => Some(false),
        };
        let this = ExpectedTime {
            least_seconds: least.max(floor),
            usual_seconds: usual.max(floor),
            latency_bound,
        };
        out = Some(out.map_or(this, |so_far| {
            ExpectedTime {
                least_seconds: so_far.least_seconds.min(this.least_seconds),
                usual_seconds: so_far.usual_seconds.max(this.usual_seconds),
                latency_bound: so_far
                    .latency_bound
                    .filter(|_| this.latency_bound == so_far.latency_bound),
            }
        }));
    }
    out
}

/// Time in which the busiest link carries its bytes at `rate`, with the best
/// schedule and no latency. Over the time measured it is the share of link
/// speed that was achieved.
pub fn link_seconds(
    kind: CollectiveKind,
    bytes: u64,
    layout: &GroupLayout,
    rate: f64,
) -> Option<f64> {
    let (bytes, n) = (bytes as f64, layout.chips() as f64);
    let rate = rate / layout.groups_per_link() as f64;
    let gather = bytes * (n - 1.0) / n / (layout.links() * rate);
    let seconds = match kind {
        CollectiveKind::AllGather | CollectiveKind::ReduceScatter => gather,
        CollectiveKind::AllReduce => 2.0 * gather,
        CollectiveKind::AllToAll => exchange_seconds(bytes, layout, rate),
        CollectiveKind::CollectivePermute => bytes / rate,
        CollectiveKind::CollectiveBroadcast => bytes / (layout.links() * rate),
        CollectiveKind::RaggedAllToAll
        | CollectiveKind::Send
        | CollectiveKind::Recv
        | CollectiveKind::Unknown => {
            return None;
        }
    };
    Some(seconds).filter(|seconds| seconds.is_finite())
}

/// All-to-all: through the middle of each axis, `f` of the chips on one side and
/// `1 − f` on the other, goes `n·S·f·(1−f)` each way, over the links of all rows.
fn exchange_seconds(bytes: f64, layout: &GroupLayout, rate: f64) -> f64 {
    let buffer = bytes * layout.devices_per_chip as f64;
    let across = |axis: &super::Axis| {
        let half = (axis.len / 2) as f64 / axis.len as f64;
        let links_per_row = if axis.wraps { 2.0 } else { 1.0 };
        axis.len as f64 * half * (1.0 - half) * buffer / (links_per_row * rate)
    };
    let leaving =
        buffer * (layout.chips() as f64 - 1.0) / layout.chips() as f64 / (layout.links() * rate);
    layout.axes.iter().map(across).fold(leaving, f64::max)
}

fn latency_seconds(kind: CollectiveKind, layout: &GroupLayout, rate: LinkRate) -> f64 {
    let hops = match kind {
        CollectiveKind::AllReduce => 2 * layout.hops(),
        CollectiveKind::CollectivePermute => layout.spacing,
        _ => layout.hops(),
    };
    hops as f64 * rate.hop_seconds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ici::{Axis, Topology, layouts};

    const MIB_256: u64 = 256 << 20;

    fn ring(len: u64, wraps: bool) -> GroupLayout {
        GroupLayout {
            axes: vec![Axis { len, wraps }],
            devices_per_chip: 1,
            groups_per_chip: 1,
            spacing: 1,
        }
    }

    fn time_on(
        kind: CollectiveKind,
        bytes: u64,
        n: u64,
        chip: &Chip,
        topology: Option<&Topology>,
    ) -> Option<ExpectedTime> {
        expected_time(
            kind,
            bytes,
            &layouts(n, chip, topology),
            LinkRate::of(chip).unwrap(),
        )
    }

    fn near(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 1e-3
    }

    /// 256 MiB over one wrapped axis of 8 chips of v5p, 180 GB/s both ways: the
    /// scaling book says 1.491 ms, of which an eighth of the bytes is there already.
    #[test]
    fn all_gather_over_one_wrapped_axis_of_v5p() {
        let v5p = LinkRate::of(Chip::named("v5p").unwrap()).unwrap();
        let time = |kind, layout| expected_time(kind, MIB_256, &[layout], v5p).unwrap();
        let gather = time(CollectiveKind::AllGather, ring(8, true));
        assert!(
            near(gather.usual_seconds, 1.491e-3 * 7.0 / 8.0),
            "{gather:?}"
        );
        assert!(near(
            gather.least_seconds,
            MIB_256 as f64 * 7.0 / 8.0 / 200e9
        ));
        assert_eq!(gather.latency_bound, Some(false));
        let many = time(CollectiveKind::AllGather, ring(256, true));
        assert!((many.usual_seconds / 1.491e-3 - 1.0).abs() < 0.005);
        let reduce = time(CollectiveKind::AllReduce, ring(8, true));
        assert!(near(reduce.usual_seconds, 2.0 * gather.usual_seconds));
        let line = time(CollectiveKind::ReduceScatter, ring(8, false));
        assert!(near(line.usual_seconds, 2.0 * gather.usual_seconds));
    }

    #[test]
    fn small_messages_take_a_microsecond_per_hop() {
        let rate = LinkRate {
            peak: 100e9,
            achievable: 90e9,
            hop_seconds: 1e-6,
        };
        let time = |kind, layout| expected_time(kind, 8, &[layout], rate).unwrap();
        let gather = time(CollectiveKind::AllGather, ring(8, true));
        assert_eq!(
            (
                gather.least_seconds,
                gather.usual_seconds,
                gather.latency_bound
            ),
            (4e-6, 4e-6, Some(true))
        );
        assert!(near(
            time(CollectiveKind::AllGather, ring(8, false)).least_seconds,
            7e-6
        ));
        assert!(near(
            time(CollectiveKind::AllReduce, ring(8, true)).least_seconds,
            8e-6
        ));
    }

    /// On a ring an all-to-all takes a quarter of an all-gather of all buffers.
    #[test]
    fn all_to_all_is_bound_by_bisection_of_the_longest_axis() {
        let seconds =
            |kind, bytes, layout: &GroupLayout| link_seconds(kind, bytes, layout, 1e9).unwrap();
        let gather = 8e9 / 2e9; // S ÷ W
        assert!(near(
            seconds(CollectiveKind::AllToAll, 1_000_000_000, &ring(8, true)),
            gather / 4.0
        ));
        assert!(near(
            seconds(CollectiveKind::AllToAll, 1_000_000_000, &ring(8, false)),
            gather / 2.0
        ));
        // 2×2: half of each buffer crosses one link; its three quarters have two.
        let square = GroupLayout {
            axes: vec![
                Axis {
                    len: 2,
                    wraps: false
                };
                2
            ],
            ..ring(2, false)
        };
        assert!(near(
            seconds(CollectiveKind::AllToAll, 1_000_000_000, &square),
            0.5
        ));
        // On 16×4 the axis of 16 decides, not the number of chips.
        let torus = GroupLayout {
            axes: vec![
                Axis {
                    len: 16,
                    wraps: true,
                },
                Axis {
                    len: 4,
                    wraps: true,
                },
            ],
            ..ring(2, false)
        };
        assert!(near(
            seconds(CollectiveKind::AllToAll, 1_000_000_000, &torus),
            16.0 / 8.0
        ));
    }

    #[test]
    fn unknown_topology_widens_the_range() {
        let v6e = Chip::named("v6e").unwrap();
        let range = time_on(CollectiveKind::AllReduce, MIB_256, 4, v6e, None).unwrap();
        let square: Topology = "2x2".parse().unwrap();
        let known = time_on(CollectiveKind::AllReduce, MIB_256, 4, v6e, Some(&square)).unwrap();
        assert!(
            near(range.least_seconds, known.least_seconds)
                && near(range.usual_seconds, 2.0 * known.usual_seconds)
        );
        assert!(near(known.least_seconds, MIB_256 as f64 * 1.5 / 200e9));
        assert_eq!(time_on(CollectiveKind::Send, 8, 4, v6e, None), None);
        assert_eq!(time_on(CollectiveKind::AllReduce, 8, 1, v6e, None), None);
    }

    #[test]
    fn two_devices_share_the_links_of_their_chip() {
        let v7x = Chip::named("v7x").unwrap();
        let line: Topology = "4x1x1".parse().unwrap();
        let both: Vec<f64> = layouts(4, v7x, Some(&line))
            .iter()
            .map(|layout| link_seconds(CollectiveKind::AllGather, MIB_256, layout, 100e9).unwrap())
            .collect();
        // Four chips with half of the link each, or both devices of two chips.
        assert!(
            near(both[0], MIB_256 as f64 * 0.75 / 50e9)
                && near(both[1], MIB_256 as f64 * 0.5 / 100e9)
        );
    }

    /// The model that the lab exercise on a 2×2 of v5p is computed with: 92 GB/s a
    /// link, a shard of a quarter, a microsecond a hop. Its bytes are ours; it adds
    /// the latency of hops that ours, like the scaling book, takes as a floor.
    #[test]
    fn ring_of_four_matches_closed_forms() {
        let square = GroupLayout {
            axes: vec![
                Axis {
                    len: 2,
                    wraps: false
                };
                2
            ],
            ..ring(2, false)
        };
        let rate = LinkRate {
            peak: 92e9,
            achievable: 92e9,
            hop_seconds: 1e-6,
        };
        for (shard, bandwidth_us, pipelined_us, two_step_us) in [
            (16_384, 0.267, 2.178, 2.267),
            (131_072, 2.137, 3.425, 4.137),
            (4_194_304, 68.385, 69.385, 70.385),
        ] {
            for kind in [CollectiveKind::AllGather, CollectiveKind::ReduceScatter] {
                let bytes = link_seconds(kind, 4 * shard, &square, rate.peak).unwrap();
                let hops = latency_seconds(kind, &square, rate);
                assert!((bytes * 1e6 - bandwidth_us).abs() < 5e-4);
                assert!(((bytes + hops) * 1e6 - two_step_us).abs() < 5e-4);
                let least = expected_time(kind, 4 * shard, std::slice::from_ref(&square), rate)
                    .unwrap()
                    .least_seconds;
                assert!(least * 1e6 <= pipelined_us);
            }
        }
    }
}
