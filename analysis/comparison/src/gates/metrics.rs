//! Names of metrics as users write them, with any fitting unit.

use engine::number::LEAST_PERCENT;
use facts::prelude::*;

use super::nearest;
use crate::compare::{METRICS, MetricScope, SummaryMetric};

/// A suffix of names: its unit, the factor to the summary's unit, and how the unit is written.
type Suffix = (&'static str, Unit, f64, &'static str);

const SUFFIXES: [Suffix; 14] = [
    ("_ps", Unit::Picoseconds, 1.0, "ps"),
    ("_ns", Unit::Picoseconds, 1e3, "ns"),
    ("_us", Unit::Picoseconds, 1e6, "µs"),
    ("_ms", Unit::Picoseconds, 1e9, "ms"),
    ("_s", Unit::Picoseconds, 1e12, "s"),
    ("_percent", Unit::Percent, 1.0, "%"),
    ("_pct", Unit::Percent, 1.0, "%"),
    ("_share", Unit::Percent, 100.0, ""),
    ("_bytes", Unit::Bytes, 1.0, "B"),
    ("_mib", Unit::Bytes, 1_048_576.0, "MiB"),
    ("_gib", Unit::Bytes, 1_073_741_824.0, "GiB"),
    ("_gb", Unit::Bytes, 1e9, "GB"),
    ("_bytes_per_second", Unit::BytesPerSecond, 1.0, "B/s"),
    ("_gb_per_s", Unit::BytesPerSecond, 1e9, "GB/s"),
];

/// A name without its unit; the longest matching suffix is removed.
fn split_suffix(name: &str) -> (&str, Option<&'static Suffix>) {
    let fitting = SUFFIXES
        .iter()
        .filter_map(|suffix| Some((name.strip_suffix(suffix.0)?, suffix)));
    fitting
        .min_by_key(|(stem, _)| stem.len())
        .map_or((name, None), |(stem, suffix)| (stem, Some(suffix)))
}

fn split_unit(name: &str) -> (&str, Option<(Unit, f64)>) {
    let (stem, suffix) = split_suffix(name);
    (stem, suffix.map(|&(_, unit, scale, _)| (unit, scale)))
}

/// The unit of a name as it is written behind a number: ` ms`; empty for counts.
pub(super) fn written_unit(name: &str) -> String {
    let (_, suffix) = split_suffix(name.strip_suffix("_per_step").unwrap_or(name));
    suffix
        .filter(|suffix| !suffix.3.is_empty())
        .map_or_else(String::new, |suffix| format!(" {}", suffix.3))
}

/// A value of a metric with the unit of its name.
pub(super) fn written(value: f64, name: &str) -> String {
    let unit = written_unit(name);
    if unit == " %" && value.abs() < LEAST_PERCENT {
        engine::number::value(value, Unit::Percent)
    } else {
        number(value) + &unit
    }
}

/// `usual`, which is a value as it is written, or the value with as many digits as tell it from the limits that it is judged
/// by: what fails must not look as if it passed.
pub(super) fn told_apart(
    value: f64,
    limits: [Option<f64>; 2],
    usual: String,
    unit: &str,
) -> String {
    let is_told = |text: &str| {
        let number = text
            .split(' ')
            .next()
            .and_then(|number| number.parse().ok());
        let shown: f64 = number.unwrap_or_default();
        let mut limits = limits.into_iter().flatten();
        limits.all(|limit| shown.partial_cmp(&limit) == value.partial_cmp(&limit))
    };
    if value.fract() == 0.0 || is_told(&usual) {
        return usual;
    }
    let sign = if usual.starts_with('+') { "+" } else { "" };
    let mut longer = (4..=17).map(|places| format!("{sign}{value:.places$}"));
    longer
        .find(|text| is_told(text))
        .map_or(usual, |text| text + unit)
}

/// The unit of a difference as it is written behind a number: percentages differ by points.
pub(super) fn written_difference(name: &str) -> String {
    let unit = written_unit(name);
    if unit == " %" {
        " points".to_owned()
    } else {
        unit
    }
}

/// The suffixes that a metric of this unit can have.
pub fn suffixes(unit: Unit) -> impl Iterator<Item = &'static str> {
    SUFFIXES
        .iter()
        .filter(move |suffix| suffix.1 == unit)
        .map(|suffix| suffix.0)
}

/// A metric with the name that the user wrote.
#[derive(Debug)]
pub(super) struct WantedMetric {
    pub metric: &'static SummaryMetric,
    /// The id in a summary, without `*`.
    pub id: String,
    /// Factor from the name's unit to the summary's unit.
    pub scale: f64,
}

/// Finds the metric with a name; the error suggests the nearest one.
pub(super) fn find(name: &str) -> Result<WantedMetric, String> {
    METRICS
        .iter()
        .find_map(|metric| wanted(metric, name))
        .ok_or_else(|| {
            let names = METRICS.iter().flat_map(|metric| {
                metric
                    .aliases
                    .iter()
                    .copied()
                    .chain([metric.name, metric.id])
            });
            let nearest = nearest::of(name, names)
                .map(|name| format!("; did you mean {name:?}?"))
                .unwrap_or_default();
            format!("there is no metric {name:?}{nearest} (`systole metrics` lists them)")
        })
}

fn wanted(metric: &'static SummaryMetric, name: &str) -> Option<WantedMetric> {
    let name_in_summary = |id: &str| WantedMetric {
        metric,
        id: id.to_owned(),
        scale: 1.0,
    };
    if metric.per == MetricScope::Op {
        let (stem, unit) = split_unit(name.strip_suffix("_per_step").unwrap_or(name));
        let (unit, scale) = unit?;
        return (stem == metric.id && unit == metric.unit).then(|| WantedMetric {
            scale,
            ..name_in_summary(stem)
        });
    }
    if name == metric.id {
        return Some(name_in_summary(metric.id));
    }
    let (stem, unit) = split_unit(name);
    let (unit, scale) = match unit {
        Some(known) => known,
        // Counts have no unit.
        None if suffixes(metric.unit).next().is_none() => (metric.unit, 1.0),
        None => return None,
    };
    if unit != metric.unit {
        return None;
    }
    let (id_stem, _) = split_unit(metric.id);
    let is_named = |other: &str| split_unit(other).0 == stem;
    if metric.aliases.iter().any(|alias| is_named(alias))
        || is_named(metric.name)
        || id_stem == stem
    {
        return Some(WantedMetric {
            scale,
            ..name_in_summary(metric.id)
        });
    }
    // `collectives.all-reduce.bus`, of `collectives.*.bus`.
    let (before, after) = id_stem.split_once('*')?;
    let kind = stem.strip_prefix(before)?.strip_suffix(after)?;
    let is_kind = kind == "all"
        || CollectiveKind::from_opcode(kind).is_some_and(|known| known.name() == kind);
    is_kind.then(|| {
        let suffix = suffixes(unit)
            .find(|suffix| metric.id.ends_with(suffix))
            .unwrap_or_default();
        WantedMetric {
            scale,
            ..name_in_summary(&format!("{stem}{suffix}"))
        }
    })
}

impl WantedMetric {
    /// Whether it is a time.
    pub(crate) fn is_time(&self) -> bool {
        self.metric.unit == Unit::Picoseconds
    }
}

/// What a metric of this name is; empty for unknown names.
pub fn meaning(name: &str) -> &'static str {
    find(name).map_or("", |wanted| wanted.metric.meaning)
}

/// Whether a number of a summary is a listed metric with this unit.
pub fn is_listed(id: &str, unit: Unit) -> bool {
    find(id).is_ok_and(|wanted| wanted.id == id && wanted.metric.unit == unit)
}

/// Formats a value with four digits, small ones without zeros at the end.
pub fn number(value: f64) -> String {
    let magnitude = value.abs();
    if value.fract() == 0.0 && magnitude < 1e6 {
        format!("{value:.0}")
    } else if value.fract() == 0.0 && magnitude < 1e15 {
        engine::number::count(value)
    } else if magnitude >= 1000.0 {
        format!("{value:.1}")
    } else if magnitude >= 0.01 {
        format!("{value:.3}")
    } else if magnitude >= 1e-6 {
        let places = (3.0 - magnitude.log10().floor()) as usize;
        let text = format!("{value:.places$}");
        text.trim_end_matches('0').to_owned()
    } else {
        format!("{value:.3e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_beside_its_limit_is_told_from_it() {
        let beside = |value: f64, limit: f64| {
            told_apart(
                value,
                [Some(limit), None],
                written(value, "hbm_util_pct"),
                " %",
            )
        };
        assert_eq!(beside(14.3, 50.0), "14.300 %");
        assert_eq!(beside(14.329_3, 14.329), "14.3293 %");
        assert_eq!(beside(0.025_178, 0.0251), "0.0252 %");
        assert_eq!(beside(0.025_178, 0.025_18), "0.025 %");
        assert_eq!(beside(0.025_212, 0.025_21), "0.025212 %");
        assert_eq!(beside(0.000_56, 0.000_1), "0.0006 %");
        assert_eq!(beside(0.000_56, 5.0), "nearly 0 %");
        assert_eq!(
            told_apart(5.000_1, [Some(5.0), None], "+5.00 %".to_owned(), " %"),
            "+5.0001 %"
        );
    }

    fn id(name: &str) -> String {
        find(name).map_or_else(
            |why| why,
            |wanted| format!("{} / {}", wanted.id, wanted.scale),
        )
    }

    #[test]
    fn every_name_and_alias_finds_its_metric() {
        for metric in METRICS {
            for name in metric.aliases.iter().chain([&metric.name]) {
                let name = name.replace('*', "all-reduce");
                assert_eq!(
                    find(&name).map(|wanted| wanted.metric.id),
                    Ok(metric.id),
                    "{name}"
                );
            }
            assert_eq!(
                METRICS
                    .iter()
                    .filter(|other| other.id == metric.id || other.name == metric.name)
                    .count(),
                1
            );
        }
    }

    #[test]
    fn metric_unit_matches_its_name() {
        assert_eq!(id("step.time_us"), "step.time_ps / 1000000");
        assert_eq!(id("compile.count_in_window"), "compile.count / 1");
        assert_eq!(id("time.idle_share"), "step.idle_percent / 100");
        assert_eq!(id("op.exposed_ms_per_step"), "op.exposed / 1000000000");
        assert_eq!(
            id("collectives.all-gather.bus_gb_per_s"),
            "collectives.all-gather.bus_bytes_per_second / 1000000000"
        );
        assert_eq!(
            id("program.collectives.all-gather.count"),
            "program.collectives.all-gather.count / 1"
        );
        for unknown in ["allgather", "foo"] {
            let said = id(&format!("program.collectives.{unknown}.count"));
            assert!(said.starts_with("there is no metric"), "{said}");
        }
        assert_eq!(
            id("program.collectives.all_mib"),
            "program.collectives.all_bytes / 1048576"
        );
        assert_eq!(id("program.flops"), "program.flops / 1");
        for wrong in [
            "step.time",
            "step.time_pct",
            "step.time_gib",
            "compile.count_ms",
            "collectives.bus_gb_per_s",
        ] {
            assert!(find(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn misspelt_name_gets_a_suggestion() {
        for (wrong, right) in [
            ("step.tiem_ms", "step.time_ms"),
            ("steptime_ms", "step.time_ms"),
            ("compile.cuont", "compile.count"),
            ("mfu", "mfu_pct"),
            ("memory.peek_gib", "memory.peak_gib"),
        ] {
            assert!(
                find(wrong)
                    .unwrap_err()
                    .contains(&format!("did you mean {right:?}")),
                "{}",
                id(wrong)
            );
        }
        assert!(
            !find("colour").unwrap_err().contains("did you mean"),
            "{}",
            id("colour")
        );
    }
}
