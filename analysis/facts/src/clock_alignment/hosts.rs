//! Measures the offsets between the clocks of several hosts.
//!
//! Hosts of a run are aligned by the start times of their sessions, which is as good as the synchronisation of their
//! clocks. Collectives are more precise: all participants leave a synchronous one together, so the same execution
//! should end at the same time everywhere. The remaining difference is the offset between two hosts, as uncertain as
//! their device clocks. It tells which executions on several hosts belong together, and is applied to no duration.

use engine::prelude::*;
use math::quantile::quantile;
use trace_model::HostId;

use super::bounds::LEAST_FOR_THIRDS;
use crate::category::{AsyncRole, OpClass, OpClasses};

/// The clock of a host, compared with that of the first host.
#[engine::row(inferred)]
pub struct HostOffset {
    /// The host.
    #[column]
    pub host: String,
    /// The id of the host.
    #[serde(skip)]
    pub id: HostId,
    /// The host that it is compared with.
    #[column]
    pub against: String,
    /// Executions of collectives that both took part in.
    #[column]
    pub collectives: usize,
    /// Median of how much later they end on this host, on its clock.
    #[column("Ahead by")]
    pub offset_ps: Picos,
    /// Length of the interval that contains the middle 80 % of them.
    #[column("within")]
    pub spread_ps: Picos,
    /// Median of the first third; `None` for fewer than six.
    #[column]
    pub first_third_ps: Option<Picos>,
    /// Median of the last third; `None` for fewer than six.
    #[column]
    pub last_third_ps: Option<Picos>,
    /// How much faster this host's clock runs, if the thirds differ by more than the spread of each.
    #[column("Drift (ppm)")]
    pub drift_ppm: Option<f64>,
}

/// End times of the executions of one op, by host, one list per core.
type CollectiveEnds = BTreeMap<HostId, Vec<Vec<Timestamp>>>;

/// The offset of every host but the first against the first. Empty with one host, and if collectives cannot be
/// matched. `to_host` puts a span of a core on its host's clock.
pub(super) fn host_offsets(
    cx: &Context<'_>,
    to_host: impl Fn(GroupId, TimeRange) -> TimeRange,
) -> Vec<HostOffset> {
    let model = cx.model;
    let cores = model.tensor_cores();
    let mut hosts: Vec<HostId> = cores.iter().map(|&core| model.host_of(core)).collect();
    hosts.dedup();
    let [first, others @ ..] = &hosts[..] else {
        return Vec::new();
    };
    if others.is_empty() {
        return Vec::new();
    }
    let classes = cx.fact::<Arc<OpClasses>>();
    // Waiting for a transfer that ended long ago gives no information; such collectives are only used if there are no
    // others.
    let kinds: [fn(&OpClass) -> bool; 2] = [
        |class| class.role.is_none(),
        |class| class.role == Some(AsyncRole::Done),
    ];
    let find = |is_kind: fn(&OpClass) -> bool| -> Vec<HostOffset> {
        let wanted = |class: &OpClass| class.is_collective() && is_kind(class);
        let ends = ends(cx, &cores, classes, wanted, &to_host);
        others
            .iter()
            .filter_map(|&host| offset(model, &ends, *first, host))
            .collect()
    };
    kinds
        .into_iter()
        .map(find)
        .find(|offsets| !offsets.is_empty())
        .unwrap_or_default()
}

fn ends<'a>(
    cx: &Context<'a>,
    cores: &[GroupId],
    classes: &OpClasses,
    wanted: impl Fn(&OpClass) -> bool,
    to_host: &impl Fn(GroupId, TimeRange) -> TimeRange,
) -> BTreeMap<(Option<u64>, &'a str), CollectiveEnds> {
    let (model, mut out) = (
        cx.model,
        BTreeMap::<(Option<u64>, &str), CollectiveEnds>::new(),
    );
    for &core in cores {
        let host = model.host_of(core);
        let mut of_core: BTreeMap<(Option<u64>, &str), Vec<Timestamp>> = BTreeMap::new();
        for slice in cx.watched(model.slices_of_kind(core, TrackKind::Ops)) {
            let Some(op) = slice.op().filter(|&op| wanted(&classes.class(op))) else {
                continue;
            };
            let program = model
                .op(op)
                .program
                .and_then(|program| model.program(program).id);
            of_core
                .entry((program, slice.name()))
                .or_default()
                .push(to_host(core, slice.range()).end);
        }
        for (key, mut ends) in of_core {
            ends.sort_unstable();
            out.entry(key)
                .or_default()
                .entry(host)
                .or_default()
                .push(ends);
        }
    }
    out
}

/// The k-th execution is the same on all cores, provided that all cores of both hosts have equally many.
fn offset(
    model: &TraceModel,
    ends: &BTreeMap<(Option<u64>, &str), CollectiveEnds>,
    first: HostId,
    host: HostId,
) -> Option<HostOffset> {
    let mut seen: Vec<(i64, f64)> = Vec::new();
    for by_host in ends.values() {
        let (Some(here), Some(there)) = (by_host.get(&first), by_host.get(&host)) else {
            continue;
        };
        let count = here.first().map_or(0, Vec::len);
        if here.iter().chain(there).any(|core| core.len() != count) {
            continue;
        }
        let middle = |cores: &[Vec<Timestamp>], k: usize| {
            let ends: Vec<f64> = cores
                .iter()
                .filter_map(|core| core.get(k))
                .map(|end| end.ps() as f64)
                .collect();
            quantile(&ends, 0.5)
        };
        for k in 0..count {
            let (Some(a), Some(b)) = (middle(here, k), middle(there, k)) else {
                continue;
            };
            seen.push((a as i64, b - a));
        }
    }
    seen.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let share_of = |part: &[(i64, f64)], share| {
        quantile(&part.iter().map(|(_, off)| *off).collect::<Vec<_>>(), share)
    };
    let spread = |part: &[(i64, f64)]| Some(share_of(part, 0.9)? - share_of(part, 0.1)?);
    let third = seen.len() / 3;
    let thirds =
        (seen.len() >= LEAST_FOR_THIRDS).then(|| (&seen[..third], &seen[seen.len() - third..]));
    let drift = thirds.and_then(|(early, late)| {
        let from = share_of(early, 0.5)?;
        let to = share_of(late, 0.5)?;
        let when = |part: &[(i64, f64)]| {
            quantile(
                &part
                    .iter()
                    .map(|(time, _)| *time as f64)
                    .collect::<Vec<_>>(),
                0.5,
            )
        };
        let length = when(late)? - when(early)?;
        let noise = spread(early)?.max(spread(late)?);
        ((to - from).abs() > noise && length > 0.0).then(|| 1e6 * (to - from) / length)
    });
    let name = |host: HostId| model.host_name(host).to_owned();
    let whole = |ps: f64| Picos::from_ps(ps as i64);
    let middle_of =
        |part: Option<&[(i64, f64)]>| part.and_then(|part| share_of(part, 0.5)).map(whole);
    Some(HostOffset {
        host: name(host),
        id: host,
        against: name(first),
        collectives: seen.len(),
        offset_ps: whole(share_of(&seen, 0.5)?),
        spread_ps: whole(spread(&seen)?),
        first_third_ps: middle_of(thirds.map(|(early, _)| early)),
        last_third_ps: middle_of(thirds.map(|(_, late)| late)),
        drift_ppm: drift,
    })
}
