//! Rules about the sizes and types of matrix multiplications.

use super::prelude::*;
use device_reports::Matmuls;
use device_reports::ops::matmuls::{MatmulRow, MatmulsReport};
use facts::framework::Framework;
use hardware::padding::Dimension;
use hardware::peaks::NO_PEAK;
use math::stats;

pub(super) static RULES: &[Rule] = &[
    rule!(
        "K11",
        "Matmuls are padded",
        Medium,
        [PADDING_SHARE, PADDING_EFFICIENCY],
        padding
    ),
    rule!(
        "K16",
        "Matmuls read their weights for a small batch",
        Medium,
        [SMALL_BATCH, READING],
        small_batch
    ),
    rule!(
        "K18",
        "Matmuls could use a narrower type",
        Low,
        [NARROW, NARROW_PEAK],
        narrower
    ),
    rule!(
        "K17",
        "Matmuls are computed in several passes",
        Medium,
        [PASSES_SHARE],
        passes
    ),
];

static PADDING_SHARE: Threshold = Threshold::percent(
    "K11.op_percent",
    1.0,
    "less than 1 % of the time is not worth examining",
);
static PADDING_EFFICIENCY: Threshold = Threshold::percent(
    "K11.useful_percent",
    90.0,
    "a dimension of nine tiles or more loses less than a tenth",
);
static PASSES_SHARE: Threshold = Threshold::percent(
    "K17.op_percent",
    1.0,
    "less than 1 % of the time is not worth examining",
);

static SMALL_BATCH: Threshold = Threshold::percent(
    "K16.ops_percent",
    30.0,
    "a larger batch costs latency: it pays where such matmuls are a large part of the time",
);
static READING: Threshold = Threshold::percent(
    "K16.hbm_percent",
    25.0,
    "below, something else than reading takes most of the time: other hints come first",
);
static NARROW: Threshold = Threshold::percent(
    "K18.ops_percent",
    40.0,
    "another type is a change of the model: it pays where matmuls dominate",
);
static NARROW_PEAK: Threshold = Threshold::percent(
    "K18.peak_percent",
    50.0,
    "a matmul far below the peak has another cause, which a narrower type does not fix (K12)",
);

const UNKNOWN_SIZES: &str = "no matmul has known sizes: capture the HLO of the programs (an .xplane.pb holds it by default)";

/// The text of an op may show types and not which of its operands are multiplied: the most frequent reason says what is
/// missing.
fn unknown_types(matmuls: &MatmulsReport) -> String {
    let most = matmuls.missing.iter().max_by_key(|(_, ops)| **ops);
    let why = most.map_or_else(String::new, |(reason, _)| format!(": {reason}"));
    format!("which types matmuls multiply is not known{why}")
}

/// Some matmuls, most time first, with what would be left of each, and their share of the time of devices.
type ShrinkingMatmuls = (Vec<OpId>, BTreeMap<OpId, f64>, Percent);

/// The matmuls for which `factor` says what would be left of their time; none where together they take less than
/// `share` percent.
fn shrinking(
    facts: &HintFacts<'_>,
    rows: &[MatmulRow],
    share: f64,
    factor: impl Fn(&MatmulRow) -> Option<f64>,
) -> Result<ShrinkingMatmuls> {
    let devices = facts.devices()?;
    let times: BTreeMap<OpId, Picos> = facts
        .ops()?
        .rows
        .iter()
        .filter_map(|row| Some((row.op?, devices.self_time(row))))
        .collect();
    let percent = |row: &MatmulRow| {
        let time = row.op.and_then(|op| times.get(&op)).copied();
        devices.share(time.unwrap_or_default())
    };
    let mut shrinkable: Vec<(&MatmulRow, OpId, f64)> = rows
        .iter()
        .filter_map(|row| Some((row, row.op?, factor(row)?)))
        .collect();
    shrinkable.sort_by_key(|(row, ..)| Reverse(row.self_time_ps));
    let sum: Percent = shrinkable.iter().map(|(row, ..)| percent(row)).sum();
    if sum.0 < share {
        shrinkable.clear();
    }
    let ops = shrinkable.iter().map(|&(_, op, _)| op).collect();
    Ok((
        ops,
        shrinkable
            .into_iter()
            .map(|(_, op, factor)| (op, factor))
            .collect(),
        sum,
    ))
}

fn padding(facts: &HintFacts<'_>) -> RuleResult {
    let matmuls = facts.report::<Matmuls>()?;
    let time = facts.devices()?.time();
    let share = facts.limit(&PADDING_SHARE);
    let limit = facts.limit(&PADDING_EFFICIENCY);
    // Where memory limits the op, or its speed shows that the compiler found a better
    // way, padding costs nothing.
    let left = |row: &MatmulRow| {
        row.padding_efficiency_percent
            .filter(|useful| useful.0 < limit)?;
        row.padding_loss_ps
            .filter(|&loss| loss > 0.0)
            .map(|loss| 1.0 - loss / row.total_time_ps.as_ps_f64())
    };
    if matmuls
        .rows
        .iter()
        .all(|row| row.padding_efficiency_percent.is_none())
    {
        return Err(UNKNOWN_SIZES.into());
    }
    let (ops, factors, percent) = shrinking(facts, &matmuls.rows, share, left)?;
    let first = ops.first().ok_or(Nothing)?;
    let row = matmuls.rows.iter().find(|row| row.op == Some(*first));
    let what = row
        .and_then(|row| Some((row, row.sizes.as_ref()?)))
        .map_or_else(String::new, |(row, sizes)| {
            let name = short_name(&row.name);
            format!(": {name} is {} × {} × {}", sizes.m, sizes.k, sizes.n)
        });
    let code = row
        .zip(matmuls.tile)
        .and_then(|(row, tile)| tiled(row, tile));
    let padded = matmuls
        .rows
        .iter()
        .filter(|row| row.op.is_some_and(|op| factors.contains_key(&op)));
    let least = padded
        .filter_map(|row| Some(row.padding_efficiency_percent?.0))
        .fold(100.0, f64::min);
    Ok(Finding {
        statement: format!(
            "matmuls that take {percent:.1} of {time} fill the matrix units only in part{what}"
        ),
        evidence: vec![
            HintEvidence::percent(
                "useful work of the worst of them",
                least,
                "work with padding",
                Some(limit),
            )
            .by(Provenance::Derived),
            HintEvidence::percent("padded matmuls", percent.0, time, Some(share)),
        ],
        code,
        ops,
        saving: PossibleSaving::ops("padded matmuls", factors),
        ..Finding::default()
    })
}

/// The size to choose for the dimension of a matmul that wastes most, in Python.
fn tiled(row: &MatmulRow, tile: u64) -> Option<String> {
    let sizes = row.sizes.as_ref()?;
    let dimension = row.pad_first?;
    let size = match dimension {
        Dimension::M => sizes.m,
        Dimension::K => sizes.k,
        Dimension::N => sizes.n,
    };
    Some(format!(
        "{} = {}  # {size} in {}; multiples of {tile} fill the matrix unit",
        dimension.title(),
        size.checked_next_multiple_of(tile)?,
        short_name(&row.name)
    ))
}

fn passes(facts: &HintFacts<'_>) -> RuleResult {
    let matmuls = facts.report::<Matmuls>()?;
    let time = facts.devices()?.time();
    let counts: Vec<f64> = matmuls
        .rows
        .iter()
        .filter_map(|row| row.passes)
        .map(f64::from)
        .collect();
    if stats::median(&counts).is_none() {
        let why = "how many passes a matmul takes is not recorded: capture the HLO of the programs";
        return Err(why.into());
    }
    let share = facts.limit(&PASSES_SHARE);
    let factor = |row: &MatmulRow| {
        row.passes
            .filter(|&passes| passes > 1)
            .map(|passes| 1.0 / f64::from(passes))
    };
    let (ops, factors, percent) = shrinking(facts, &matmuls.rows, share, factor)?;
    if ops.is_empty() {
        return Err(Nothing);
    }
    let most = factors.values().copied().fold(1.0, f64::min).recip();
    Ok(Finding {
        statement: format!(
            "matmuls that take {percent:.1} of {time} are computed in up to {most:.0} bfloat16 passes"
        ),
        evidence: vec![
            HintEvidence::percent("matmuls of several passes", percent.0, time, Some(share)),
            HintEvidence::count("passes", most, "of the one with most", Some(1.0))
                .by(Provenance::StaticCost),
        ],
        ops,
        saving: PossibleSaving::ops("matmuls in one pass", factors),
        ..Finding::default()
    })
}

/// The number of rows from which a matmul is no longer bound by
/// reading its weights: half as many rows where weights are a byte wide.
fn rows_at_ridge(ridge: f64, row: &MatmulRow) -> f64 {
    let narrow = row.types.as_deref().is_some_and(|types| {
        ["s8", "f8", "u8"]
            .iter()
            .any(|narrow| types.contains(narrow))
    });
    if narrow { ridge / 2.0 } else { ridge }
}

/// The weights of products of few rows.
struct Weights {
    elements: f64,
    bytes_each: f64,
}

/// The larger operands of the products of an op, as if all had the sizes of the largest; `None` if their type is not known.
fn weights_of(row: &MatmulRow) -> Option<Weights> {
    let sizes = row.sizes?;
    let mut types = row.types.as_deref()?.split(" → ").next()?.split(" × ");
    let left = types.next()?;
    let right = types.next()?;
    let (weights, columns) = if sizes.m <= sizes.n {
        (right, sizes.n)
    } else {
        (left, sizes.m)
    };
    Some(Weights {
        elements: row.products.max(1) as f64 * sizes.k as f64 * columns as f64,
        bytes_each: hlo::element_bits(weights)? as f64 / 8.0,
    })
}

/// Percentage up to which reading takes all of the time of an op, because peaks and times are not exact.
const ALL_OF_THE_TIME: f64 = 105.0;

impl Weights {
    /// The time that the peak needs to read them, as a share of the time of the op; `None` if that is longer, so that they
    /// were in part read before.
    fn percent_of_time(&self, row: &MatmulRow, bytes_per_second: f64) -> Option<f64> {
        let read_ps = 1e12 * self.elements * self.bytes_each / bytes_per_second * row.executions;
        let percent = 100.0 * read_ps / row.total_time_ps.as_ps_f64().max(1.0);
        (percent <= ALL_OF_THE_TIME).then_some(percent)
    }

    /// What would be left of the time of the op, of which reading takes this share, if their elements had a byte; `None` if
    /// they have no more.
    fn left_with_a_byte(&self, reading_percent: f64) -> Option<f64> {
        let spared = reading_percent.min(100.0) / 100.0;
        let left = 1.0 - spared * (self.bytes_each - 1.0) / self.bytes_each;
        (self.bytes_each > 1.0 && left > 0.0).then_some(left)
    }
}

fn small_batch(facts: &HintFacts<'_>) -> RuleResult {
    let matmuls = facts.report::<Matmuls>()?;
    let time = facts.devices()?.time();
    let peaks = &facts.ops()?.peaks;
    let (Some(flops), Some(hbm)) = (peaks.flops, peaks.hbm.filter(|hbm| hbm.per_second > 0.0))
    else {
        return Err(facts.ops()?.why_no_peaks().unwrap_or(NO_PEAK).into());
    };
    if matmuls.rows.iter().all(|row| row.sizes.is_none()) {
        return Err(UNKNOWN_SIZES.into());
    }
    let ridge = flops.per_second / hbm.per_second;
    let least = facts.limit(&READING);
    let recorded: BTreeMap<OpId, f64> = facts
        .ops()?
        .rows
        .iter()
        .filter_map(|row| Some((row.op?, row.rates.hbm_percent?.0)))
        .collect();
    // Batched products (attention) have no weights that a larger batch would share.
    let tokens = |row: &MatmulRow| {
        let sizes = row
            .sizes
            .as_ref()
            .filter(|sizes| sizes.batch == 1 && !row.is_convolution)?;
        let (rows, field) = (sizes.m, "M").min((sizes.n, "N"));
        let is_small = (rows as f64) < rows_at_ridge(ridge, row);
        (is_small && row.bound_by == Some(BoundBy::Hbm)).then_some((rows as f64, field))
    };
    // Whether reading is what takes the time: by the recorded bytes, else by the weights.
    let recorded = |row: &MatmulRow| row.op.and_then(|op| recorded.get(&op).copied());
    let by_weights = |row: &MatmulRow| weights_of(row)?.percent_of_time(row, hbm.per_second);
    let reads = |row: &MatmulRow| {
        let percent = recorded(row).or_else(|| by_weights(row));
        percent.is_some_and(|percent| percent >= least)
    };
    let limit = facts.limit(&SMALL_BATCH);
    let (ops, _, percent) = shrinking(facts, &matmuls.rows, limit, |row| Some(tokens(row)?.0))?;
    let first = ops
        .first()
        .and_then(|op| matmuls.rows.iter().find(|row| row.op == Some(*op)));
    let (first, (rows, field)) = first
        .and_then(|row| Some((row, tokens(row)?)))
        .ok_or(Nothing)?;
    let at_ridge = rows_at_ridge(ridge, first);
    let by_speed = first
        .flops_percent
        .filter(|percent| percent.0 > 0.0)
        .map_or(f64::INFINITY, |percent| 100.0 / percent.0);
    let gain = (at_ridge / rows).min(by_speed);
    let narrow: BTreeMap<OpId, f64> = matmuls
        .rows
        .iter()
        .filter(|row| row.op.is_some_and(|op| ops.contains(&op)) && reads(row))
        .filter_map(|row| {
            // Weights that are read are part of what is recorded.
            let percent = recorded(row).unwrap_or(f64::INFINITY);
            let percent = by_weights(row)?.min(percent);
            Some((row.op?, weights_of(row)?.left_with_a_byte(percent)?))
        })
        .collect();
    Ok(Finding {
        statement: format!(
            "matmuls that take {percent:.1} of {time} read their weights for a small batch: {field} of {} (sequences × \
             tokens) is {rows:.0}, up to {at_ridge:.0} would take hardly longer, for up to {gain:.0} × the throughput",
            short_name(&first.name)
        ),
        evidence: vec![
            HintEvidence::percent(
                "matmuls of a small batch, bound by HBM",
                percent.0,
                time,
                Some(limit),
            ),
            HintEvidence::count(
                format!("{field} of the longest, sequences × tokens"),
                rows,
                "product",
                Some(at_ridge.round()),
            ),
            HintEvidence::number(
                "throughput with as large a batch as the chip balances",
                gain,
                "throughput now",
                None,
            )
            .by(Provenance::Derived),
        ],
        ops,
        explains: &["K13"],
        is_minor: !reads(first),
        // With more rows the step does not get shorter, it does more; with narrower weights it does.
        saved_by: Some("weights in int8 or fp8"),
        saving: if narrow.is_empty() {
            PossibleSaving::Unknown
        } else {
            PossibleSaving::ops("weights of one byte", narrow)
        },
        ..Finding::default()
    })
}

/// A narrower type is worth it where the chip computes it at nearly twice the rate.
const TWICE: f64 = 1.9;

/// As that of the page, for chips that are fast in fp8 alone.
const FP8_CODE: &str =
    "y = jax.lax.dot(x_float8_e4m3fn, w_float8_e4m3fn, preferred_element_type=jnp.float32)
y = y * (x_scale * w_scale)";

fn narrower(facts: &HintFacts<'_>) -> RuleResult {
    let matmuls = facts.report::<Matmuls>()?;
    let time = facts.devices()?.time();
    let ops = facts.ops()?;
    let Some(chip) = facts.cx.options.chip().or_else(|| ops.peaks.published()) else {
        let why = "what the chip does with narrower types is not known: name it with --device-spec";
        return Err(why.into());
    };
    let rates = [("int8", chip.int8_ops), ("fp8", chip.fp8_flops)];
    let fast: Vec<&str> = rates
        .iter()
        .filter(|(_, rate)| rate.is_some_and(|rate| rate >= TWICE * chip.bf16_flops))
        .map(|(name, _)| *name)
        .collect();
    if fast.is_empty() {
        return Err(Nothing);
    }
    let limit = facts.limit(&NARROW);
    let peak = facts.limit(&NARROW_PEAK);
    let half = |row: &MatmulRow| {
        let wide = row
            .types
            .as_deref()
            .is_some_and(|types| types.starts_with("bf16 × bf16"));
        let near = row.flops_percent.is_some_and(|percent| percent.0 >= peak);
        (wide && near && row.bound_by == Some(BoundBy::Compute)).then_some(0.5)
    };
    if matmuls.rows.iter().all(|row| row.types.is_none()) {
        return Err(unknown_types(&matmuls).into());
    }
    let (ops, factors, percent) = shrinking(facts, &matmuls.rows, limit, half)?;
    if ops.is_empty() {
        return Err(Nothing);
    }
    Ok(Finding {
        statement: format!(
            "bfloat16 matmuls at {peak} % or more of the peak take {percent:.1} of {time}; {} computes {} twice as fast",
            chip.id,
            fast.join(" and ")
        ),
        evidence: vec![
            HintEvidence::percent(
                "bfloat16 matmuls bound by compute",
                percent.0,
                time,
                Some(limit),
            ),
            HintEvidence::number(
                "peak of narrow types",
                rates
                    .iter()
                    .filter_map(|(_, rate)| *rate)
                    .fold(0.0, f64::max)
                    / chip.bf16_flops,
                "peak of bfloat16",
                Some(TWICE),
            )
            .by(Provenance::AssumedPeak),
        ],
        ops,
        // The page multiplies int8, which fits where the chip is fast in it.
        code: (!fast.contains(&"int8")).then(|| match facts.framework {
            Framework::Jax => FP8_CODE.to_owned(),
            _ => String::new(),
        }),
        saving: PossibleSaving::ops("matmuls in a narrower type", factors),
        ..Finding::default()
    })
}
