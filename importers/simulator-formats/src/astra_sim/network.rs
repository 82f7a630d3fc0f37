//! The network of a run, from the configuration of the analytical network:
//!
//! ```yaml
//! topology: [ Ring, Ring ]
//! npus_count: [ 4, 2 ]
//! bandwidth: [ 92.0, 92.0 ]   # GB/s: of 2^30 bytes
//! latency: [ 1000.0, 1000.0 ] # ns
//! ```
//!
//! Lists may also follow below their key with one item per line (`- Ring`).
//!
//! The configuration is searched in the same places as the graphs of a run. It is used only
//! if it has the same number of NPUs as the run.

use importer_common::prelude::*;
use importer_common::simulated::amount;
use input::source::{file_name, small_text};
use trace_model::DeviceLinks;

/// Maximum number of NPUs.
const MAX_NPUS: u64 = 1 << 20;
/// The simulator's "GB".
const GIB: f64 = (1_u64 << 30) as f64;

/// A network, by its dimensions.
#[derive(Debug, PartialEq)]
pub(super) struct AstraSimNetwork {
    file: String,
    dimensions: Vec<NetworkDimension>,
}

#[derive(Debug, PartialEq)]
struct NetworkDimension {
    kind: String,
    npus: u64,
    /// Bandwidth of one direction of one link, in the simulator's unit.
    gigabytes: f64,
    latency_ns: f64,
}

impl AstraSimNetwork {
    /// Parses a configuration; `None` if it is not a network configuration.
    fn parse(file: &str, text: &str) -> Option<Result<Self, String>> {
        let values = |key: &str| values(text, key);
        let (kinds, npus) = (values("topology")?, values("npus_count")?);
        let numbers = |key: &str| {
            values(key)
                .unwrap_or_default()
                .iter()
                .map(|text| amount(text))
                .collect::<Option<Vec<f64>>>()
        };
        let count = |text: &String| {
            text.parse::<u64>()
                .ok()
                .filter(|count| (1..=MAX_NPUS).contains(count))
        };
        let counts: Option<Vec<u64>> = npus.iter().map(count).collect();
        let (Some(counts), Some(rates), Some(latencies)) =
            (counts, numbers("bandwidth"), numbers("latency"))
        else {
            return Some(Err("a value that is not a number".to_owned()));
        };
        let lens = [counts.len(), rates.len(), latencies.len()];
        if kinds.is_empty() || lens.iter().any(|len| *len != kinds.len()) || rates.contains(&0.0) {
            let what = "topology, npus_count, bandwidth and latency need one value per dimension: write lists as [ a, b ], \
                        or one item per line";
            return Some(Err(what.to_owned()));
        }
        let rest = counts.into_iter().zip(rates.into_iter().zip(latencies));
        let dimensions = kinds.into_iter().zip(rest);
        let dimensions = dimensions
            .map(|(kind, (npus, (gigabytes, latency_ns)))| NetworkDimension {
                kind,
                npus,
                gigabytes,
                latency_ns,
            })
            .collect();
        Some(Ok(Self {
            file: file.to_owned(),
            dimensions,
        }))
    }

    fn npus(&self) -> Option<u64> {
        self.dimensions
            .iter()
            .try_fold(1_u64, |npus, dimension| npus.checked_mul(dimension.npus))
    }

    /// A description like `Ring of 4: 92 GiB/s per link and direction, 1000 ns per hop`.
    pub fn describe(&self) -> String {
        let describe = |it: &NetworkDimension| {
            format!(
                "{} of {}: {} GiB/s per link and direction, {} ns per hop",
                it.kind, it.npus, it.gigabytes, it.latency_ns
            )
        };
        format!(
            "{} ({})",
            joined(self.dimensions.iter().map(describe), "; "),
            self.file
        )
    }

    /// The links, if all are equal and at least approximately form rings. For other networks there are no expected
    /// times.
    pub fn links(&self) -> Option<DeviceLinks> {
        let used: Vec<&NetworkDimension> = self
            .dimensions
            .iter()
            .filter(|dimension| dimension.npus > 1)
            .collect();
        let (first, rest) = used.split_first()?;
        let alike = |it: &&&NetworkDimension| {
            (it.gigabytes, it.latency_ns) == (first.gigabytes, first.latency_ns)
        };
        let are_rings = used.iter().all(|it| it.kind.eq_ignore_ascii_case("ring"));
        (are_rings && rest.iter().filter(alike).count() == rest.len()).then(|| DeviceLinks {
            rings: used.iter().map(|it| it.npus as u32).collect(),
            bytes_per_second: first.gigabytes * GIB,
            hop_seconds: first.latency_ns / 1e9,
        })
    }
}

/// The values of a key: `[ a, b ]` on one or several lines, `a` alone, or one item per line below.
fn values(text: &str, key: &str) -> Option<Vec<String>> {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    let mut lines = lines.filter(|line| !line.is_empty());
    let value = lines
        .by_ref()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == key)?
        .1
        .trim();
    let mut value = value.to_owned();
    if value.is_empty() {
        value = joined(lines.map_while(|line| line.strip_prefix("- ")), ",");
    } else if value.starts_with('[') {
        let mut is_closed = value.contains(']');
        while !is_closed {
            let line = lines.next()?;
            is_closed = line.contains(']');
            value.push_str(line);
        }
    }
    let inner = value.strip_prefix('[').map_or(value.as_str(), |value| {
        value.strip_suffix(']').unwrap_or(value)
    });
    let plain = |value: &str| value.trim().trim_matches(['"', '\'']).to_owned();
    Some(
        inner
            .split(',')
            .map(plain)
            .filter(|value| !value.is_empty())
            .collect(),
    )
}

/// The network for this number of NPUs, from a configuration next to the log or in its parent directory; configurations
/// that do not fit are logged.
pub(super) fn find(
    source: &InputSource,
    npus: usize,
    out: &mut TraceBuilder,
) -> Option<AstraSimNetwork> {
    let mut first: Option<AstraSimNetwork> = None;
    let paths = source
        .folders()
        .flat_map(|folder| source.files_in(folder, &["yml", "yaml"], usize::MAX));
    for path in paths {
        let file = file_name(&path);
        let text = small_text(&path);
        let Some(parsed) = text.and_then(|text| AstraSimNetwork::parse(&file, &text)) else {
            continue;
        };
        let network = parsed.and_then(|network| match network.npus() {
            Some(of) if of == npus as u64 => Ok(network),
            _ => Err(format!(
                "it is of another number of NPUs than the {npus} that ran"
            )),
        });
        match (network, &first) {
            (Err(why), _) => out.log(IssueKind::SourceSkipped, || format!("{file}: {why}")),
            (Ok(network), Some(other)) if network.dimensions != other.dimensions => {
                let other = &other.file;
                out.log(IssueKind::SourceSkipped, || {
                    format!("{other} and {file} are different networks: none was read")
                });
                return None;
            }
            (Ok(network), _) => first = Some(network),
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidth_gigabyte_is_two_to_the_30() {
        let text = "# comment\ntopology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 92.0 ]  # GB/s\nlatency: [ 1000.0 ]\n";
        let network = AstraSimNetwork::parse("ring.yml", text).unwrap().unwrap();
        let links = network.links().unwrap();
        assert_eq!(
            (links.rings, links.bytes_per_second, links.hop_seconds),
            (vec![4], 92.0 * 1_073_741_824.0, 1e-6)
        );
        assert_eq!(
            network.describe(),
            "Ring of 4: 92 GiB/s per link and direction, 1000 ns per hop (ring.yml)"
        );
    }

    #[test]
    fn lists_may_span_lines() {
        let text = "topology:\n\n  - Ring # first\n  - \"Ring\"\nnpus_count:\n- 4\n- 2\nbandwidth: [ 50.0,\n  50.0 ]\n\
                    latency: [500, 500]\n";
        let links = AstraSimNetwork::parse("n.yml", text)
            .unwrap()
            .unwrap()
            .links();
        assert_eq!(links.map(|links| links.rings), Some(vec![4, 2]));
        let nested = "topology:\n  first: Ring\nnpus_count:\n  first: 4\n";
        let why = AstraSimNetwork::parse("n.yml", nested)
            .unwrap()
            .unwrap_err();
        assert!(why.contains("[ a, b ]"), "{why}");
    }

    #[test]
    fn only_uniform_rings_have_links() {
        let network = |kinds: &str, npus: &str, rates: &str| {
            let text = format!(
                "topology: [{kinds}]\nnpus_count: [{npus}]\nbandwidth: [{rates}]\nlatency: [500, 500]\n"
            );
            AstraSimNetwork::parse("n.yml", &text).unwrap()
        };
        let rings = |kinds, npus, rates| {
            network(kinds, npus, rates)
                .unwrap()
                .links()
                .map(|links| links.rings)
        };
        assert_eq!(rings("Ring, Ring", "4, 2", "50, 50"), Some(vec![4, 2]));
        assert_eq!(rings("Ring, Switch", "4, 1", "50, 25"), Some(vec![4]));
        assert_eq!(rings("Ring, Ring", "4, 2", "50, 25"), None);
        assert_eq!(rings("Switch, Ring", "4, 2", "50, 50"), None);
        assert_eq!(rings("Ring, Ring", "1, 1", "50, 50"), None);
        for (npus, rates) in [
            ("4", "50, 50"),
            ("4, x", "50, 50"),
            ("4, 0", "50, 50"),
            ("4, 4", "50, nan"),
            ("4, 4", "0, 0"),
        ] {
            assert!(
                network("Ring, Ring", npus, rates).is_err(),
                "{npus} {rates}"
            );
        }
        assert_eq!(
            AstraSimNetwork::parse("other.yml", "topology: none\n"),
            None
        );
    }
}
