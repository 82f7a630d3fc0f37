//! How long cores wait for each other inside a collective.
//!
//! All participants leave a collective together, so the one that enters last takes the shortest time: that time is
//! the transfer, and the *skew wait* of another participant is how much longer it took. For an asynchronous
//! collective only the time in which its core was blocked can be waiting. Who enters early waits first and transfers
//! then: of an execution that a border of the scope cuts, that part of the waiting counts that lies inside.
//!
//! Executions are matched by the instance id that the runtime recorded, or else by order (the k-th with the k-th).
//! Real ids are only unique on their own core (on v6e they contain the core's count of programs), so matched
//! executions must also overlap in time: one collective runs everywhere at once. If no way of matching satisfies
//! this on all hosts, those of each host are matched by themselves, because the clocks of hosts may differ; if that does
//! not either, there is no result rather than a wrong one.

use facts::prelude::*;
use trace_model::SourceId;

/// One execution of a collective on one core.
#[derive(Clone, Copy, Debug)]
pub struct CollectiveExecution {
    /// Key for lookups: the slice, unless noted otherwise.
    pub key: u32,
    /// By a clock that all cores share.
    pub range: TimeRange,
    /// By the clock of the ops.
    pub dur: Picos,
    /// Whether it begins in the scope.
    pub begins_inside: bool,
    /// How much of the time in which its core was blocked lies before the scope.
    pub before: Picos,
    /// The part of it inside the scope in which its core was blocked.
    pub blocked: Picos,
    /// What the profiler numbered it with, on all participants the same.
    pub instance: Option<i64>,
}

impl CollectiveExecution {
    /// An execution that lies inside the scope.
    pub fn of(slice: SliceRef<'_>, dur: Picos, blocked: Picos) -> Self {
        Self {
            key: slice.id().index() as u32,
            range: slice.range(),
            dur,
            begins_inside: true,
            before: Picos::ZERO,
            blocked,
            instance: slice.attr(SliceAttr::CollectiveInstance),
        }
    }

    /// An execution that lies outside the scope as a whole.
    pub(super) fn beyond(slice: SliceRef<'_>) -> Self {
        Self {
            begins_inside: false,
            ..Self::of(slice, slice.measured_dur(), Picos::ZERO)
        }
    }

    /// The part inside the scope of a wait at its begin.
    fn inside(&self, wait: Picos) -> Picos {
        (wait - self.before).clamped().min(self.blocked)
    }
}

/// The result of matching the executions of one collective on several cores.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MatchedCollective {
    /// Executions that were matched over cores, and whose transfer begins inside the scope.
    pub instances: u64,
    /// Sum over them of the shortest time on any core.
    pub transfer: Picos,
    /// The core that waits most, and its total wait.
    pub most: (usize, Picos),
    /// The core that waits least: the others wait for it.
    pub least: (usize, Picos),
    /// How long each core that took part waits.
    pub waits: BTreeMap<usize, Picos>,
    /// How long the others wait for each core that arrived last at an execution.
    pub caused: BTreeMap<usize, Picos>,
}

/// Executions of the same collective instance, each with its core.
pub(crate) type MatchedExecutions<'a> = [(usize, &'a CollectiveExecution)];

/// Many of them, one after the other in one list.
#[derive(Default)]
pub struct MatchedInstances<'a> {
    executions: Vec<(usize, &'a CollectiveExecution)>,
    /// End of each in `executions`.
    ends: Vec<usize>,
}

impl<'a> MatchedInstances<'a> {
    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &MatchedExecutions<'a>> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts
            .zip(&self.ends)
            .map(|(&start, &end)| &self.executions[start..end])
    }

    fn add(&mut self, instance: &MatchedExecutions<'a>) {
        self.executions.extend_from_slice(instance);
        self.ends.push(self.executions.len());
    }
}

/// Matches executions over cores; `None` if that is impossible.
pub(super) fn matched(
    mut by_core: BTreeMap<usize, Vec<CollectiveExecution>>,
    groups: Option<&[Vec<u64>]>,
    hosts: &[SourceId],
) -> Option<MatchedCollective> {
    let cores = by_core.last_key_value().map_or(0, |(&core, _)| core + 1);
    let (mut waits, mut caused): (Vec<Option<Picos>>, Vec<Option<Picos>>) =
        (vec![None; cores], vec![None; cores]);
    let mut count = 0;
    let mut transfer = Picos::ZERO;
    for instance in instances(&mut by_core, groups, hosts)?.iter() {
        let last = instance
            .iter()
            .min_by_key(|(core, execution)| (execution.dur, *core));
        let Some(&(last, shortest)) = last else {
            continue;
        };
        if shortest.begins_inside {
            count += 1;
            transfer += shortest.dur;
        }
        for &(core, execution) in instance {
            let wait = execution.inside(execution.dur - shortest.dur);
            *waits[core].get_or_insert_default() += wait;
            *caused[last].get_or_insert_default() += wait;
        }
    }
    let by_core = |times: Vec<Option<Picos>>| -> BTreeMap<usize, Picos> {
        times
            .into_iter()
            .enumerate()
            .filter_map(|(core, time)| Some((core, time?)))
            .collect()
    };
    let waits = by_core(waits);
    let caused = by_core(caused);
    let most = waits
        .iter()
        .map(|(&core, &wait)| (core, wait))
        .min_by_key(|&(_, wait)| Reverse(wait))?;
    let least = waits
        .iter()
        .map(|(&core, &wait)| (core, wait))
        .min_by_key(|&(_, wait)| wait)?;
    Some(MatchedCollective {
        instances: count,
        transfer,
        most,
        least,
        waits,
        caused,
    })
}

/// Executions on cores that communicate with each other.
type ExecutionsByCore<'a> = BTreeMap<usize, &'a [CollectiveExecution]>;

/// Executions of the same instance on all cores; `None` if they cannot be matched. `hosts` has the host of each core of the
/// capture.
pub fn instances<'a>(
    by_core: &'a mut BTreeMap<usize, Vec<CollectiveExecution>>,
    groups: Option<&[Vec<u64>]>,
    hosts: &[SourceId],
) -> Option<MatchedInstances<'a>> {
    if by_core.len() < 2 {
        return None;
    }
    for executions in by_core.values_mut() {
        executions.sort_by_key(|execution| execution.range.start);
    }
    let by_core = &*by_core;
    let mut out = MatchedInstances::default();
    let mut find = |part: &ExecutionsByCore<'a>| by_id(part, &mut out) || in_order(part, &mut out);
    for cores in parts(by_core, groups, hosts.len())? {
        let part: ExecutionsByCore<'a> = cores
            .iter()
            .filter_map(|core| Some((*core, by_core.get(core)?.as_slice())))
            .collect();
        if part.is_empty() || find(&part) {
            continue;
        }
        let mut by_host: BTreeMap<Option<SourceId>, ExecutionsByCore<'a>> = BTreeMap::new();
        for (core, executions) in part {
            by_host
                .entry(hosts.get(core).copied())
                .or_default()
                .insert(core, executions);
        }
        let several = || by_host.values().filter(|executions| executions.len() > 1);
        if by_host.len() < 2 || several().count() == 0 || !several().all(&mut find) {
            return None;
        }
    }
    Some(out)
}

/// Cores that communicate with each other. Ids in replica groups are used as core numbers if possible; otherwise
/// `None`.
fn parts(
    by_core: &BTreeMap<usize, Vec<CollectiveExecution>>,
    groups: Option<&[Vec<u64>]>,
    captured: usize,
) -> Option<Vec<Vec<usize>>> {
    let Some(groups) = groups.filter(|groups| groups.len() > 1) else {
        return Some(vec![by_core.keys().copied().collect()]);
    };
    let in_range = groups.iter().flatten().all(|&id| (id as usize) < captured);
    in_range.then(|| {
        groups
            .iter()
            .map(|group| group.iter().map(|&id| id as usize).collect())
            .collect()
    })
}

/// Adds the executions with the same id; `false`, and adds none, if they have no ids or cannot be the same.
fn by_id<'a>(part: &ExecutionsByCore<'a>, out: &mut MatchedInstances<'a>) -> bool {
    let Some(mut all) = part
        .iter()
        .flat_map(|(&core, executions)| {
            executions
                .iter()
                .map(move |execution| Some((execution.instance?, (core, execution))))
                .collect::<Vec<_>>()
        })
        .collect::<Option<Vec<_>>>()
    else {
        return false;
    };
    // Ids grow on each core: a merge of sorted lists.
    all.sort_by_key(|(id, _)| *id);
    let (ids, all): (Vec<i64>, Vec<_>) = all.into_iter().unzip();
    let mut instances = Vec::new();
    let mut start = 0;
    for same in ids.chunk_by(|a, b| a == b) {
        let instance = &all[start..start + same.len()];
        start += same.len();
        if instance.len() > 1 {
            if !simultaneous(instance) {
                return false;
            }
            instances.push(instance);
        }
    }
    for instance in &instances {
        out.add(instance);
    }
    !instances.is_empty()
}

/// Adds the k-th executions of all cores; `false`, and adds none, if they cannot be the same.
fn in_order<'a>(part: &ExecutionsByCore<'a>, out: &mut MatchedInstances<'a>) -> bool {
    let count = part
        .values()
        .map(|executions| executions.len())
        .max()
        .unwrap_or(0);
    if part.values().any(|executions| executions.len() != count) {
        return false;
    }
    let nth = |k: usize| {
        part.iter()
            .filter_map(move |(&core, executions)| Some((core, executions.get(k)?)))
    };
    let mut instance: Vec<(usize, &'a CollectiveExecution)> = Vec::with_capacity(part.len());
    let fits = (0..count).all(|k| {
        instance.clear();
        instance.extend(nth(k));
        simultaneous(&instance)
    });
    if fits {
        for k in 0..count {
            instance.clear();
            instance.extend(nth(k));
            out.add(&instance);
        }
    }
    fits
}

/// Whether all executions overlap at some instant.
fn simultaneous(instance: &MatchedExecutions<'_>) -> bool {
    let latest_start = instance
        .iter()
        .map(|(_, execution)| execution.range.start)
        .max();
    let first_end = instance
        .iter()
        .map(|(_, execution)| execution.range.end)
        .min();
    latest_start <= first_end
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_model::Timestamp;

    fn one_host(cores: usize) -> Vec<SourceId> {
        let mut builder = trace_model::TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        vec![builder.finish().group(host).source; cores]
    }

    fn execution(start: i64, end: i64, instance: Option<i64>) -> CollectiveExecution {
        let range = TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
        let (dur, before) = (range.dur(), Picos::ZERO);
        CollectiveExecution {
            key: 0,
            range,
            dur,
            begins_inside: true,
            before,
            blocked: dur,
            instance,
        }
    }

    fn wait(cores: &[&[(i64, i64, Option<i64>)]]) -> Option<i64> {
        let by_core = cores
            .iter()
            .map(|list| list.iter().map(|&(a, b, id)| execution(a, b, id)).collect());
        matched(by_core.enumerate().collect(), None, &one_host(cores.len()))
            .map(|matched| matched.most.1.ps())
    }

    #[test]
    fn core_that_enters_first_waits() {
        assert_eq!(
            wait(&[
                &[(0, 10, Some(1))],
                &[(6, 10, Some(1))],
                &[(3, 10, Some(1))]
            ]),
            Some(6)
        );
        assert_eq!(
            wait(&[
                &[(0, 10, None), (20, 30, None)],
                &[(6, 10, None), (19, 30, None)]
            ]),
            Some(6)
        );
    }

    #[test]
    fn last_core_is_named_and_its_time_is_the_transfer() {
        let by_core =
            [(0, 2), (1, 6), (2, 0)].map(|(core, start)| (core, vec![execution(start, 10, None)]));
        let matched = matched(by_core.into_iter().collect(), None, &one_host(3)).unwrap();
        assert_eq!(
            (matched.transfer.ps(), matched.least.0, matched.most),
            (4, 1, (2, Picos::from_ps(6)))
        );
    }

    /// Two cores started 6 apart, but the first computed meanwhile and was blocked for 2.
    #[test]
    fn unblocked_core_does_not_wait() {
        let hidden = CollectiveExecution {
            blocked: Picos::from_ps(2),
            ..execution(0, 10, None)
        };
        let by_core = BTreeMap::from([(0, vec![hidden]), (1, vec![execution(6, 10, None)])]);
        assert_eq!(
            matched(by_core, None, &one_host(2)).unwrap().most,
            (0, Picos::from_ps(2))
        );
    }

    #[test]
    fn collective_ids_far_apart_in_time_are_not_matched() {
        // The second core counts from 2: its id 2 is the other's 1.
        let first: &[_] = &[(0, 10, Some(1)), (20, 30, Some(2))];
        let second: &[_] = &[(4, 10, Some(2)), (22, 30, Some(3))];
        assert_eq!(wait(&[first, second]), Some(6));
    }

    #[test]
    fn unmatched_collectives_have_no_skew() {
        assert_eq!(wait(&[&[(0, 10, None)], &[(50, 60, None)]]), None);
        assert_eq!(
            wait(&[&[(0, 10, None), (20, 30, None)], &[(6, 10, None)]]),
            None
        );
        assert_eq!(wait(&[&[(0, 10, None)]]), None);
    }

    #[test]
    fn skew_is_within_each_replica_group() {
        let by_core = |starts: [i64; 4]| {
            starts
                .iter()
                .enumerate()
                .map(|(core, &start)| (core, vec![execution(start, 10, None)]))
                .collect()
        };
        let groups = vec![vec![0, 1], vec![2, 3]];
        let pairs = matched(by_core([0, 0, 8, 7]), Some(&groups), &one_host(4)).unwrap();
        assert_eq!(pairs.most, (3, Picos::from_ps(1)));
        assert_eq!((pairs.instances, pairs.transfer), (2, Picos::from_ps(12)));
        let no_cores = [vec![0, 9], vec![3, 4]];
        assert_eq!(
            matched(by_core([0, 0, 8, 7]), Some(&no_cores), &one_host(4)),
            None
        );
    }
}
