//! Times of the transfers of one kind: what a device has in flight at the same time counts once.

use facts::GroupPlace;
use facts::prelude::*;
use math::intervals::UnionBuilder;

use super::cores::CoreActivity;
use super::report::{KindTotal, Transfer};
use super::times::{KindTime, TransferSet, TransferTimes};

/// What the core that is looked at spends on a kind of transfers.
#[derive(Default)]
struct KindOnCore {
    spans: UnionBuilder,
    sum: KindTime,
}

/// The places in [`KindTimes`] of the sets that a transfer is in.
pub(super) type KindPlaces = [Option<usize>; 3];

/// The times of all sets of transfers, while cores are added.
#[derive(Default)]
pub(super) struct KindTimes {
    places: BTreeMap<TransferSet, usize>,
    times: Vec<KindTime>,
    on_core: Vec<KindOnCore>,
}

impl KindTimes {
    /// The places of a transfer, of a collective with what its groups lie along.
    pub fn places(&mut self, kind: &str, class: OpClass, along: Option<GroupPlace>) -> KindPlaces {
        let kind = kind.to_owned();
        let sets = match along {
            Some(along) => [
                Some(TransferSet::Collectives(kind.clone())),
                Some(TransferSet::Part(kind, class.is_fused_collective())),
                Some(TransferSet::Along(along)),
            ],
            None => [Some(TransferSet::Copies(kind)), None, None],
        };
        sets.map(|set| {
            let next = self.places.len();
            set.map(|set| *self.places.entry(set).or_insert(next))
        })
    }

    /// Adds a span on the core that is looked at, of which a part is hidden.
    pub fn add(&mut self, places: KindPlaces, span: TimeRange, hidden: Picos) {
        self.on_core
            .resize_with(self.places.len(), KindOnCore::default);
        for place in places.into_iter().flatten() {
            let on_core = &mut self.on_core[place];
            on_core.spans.add(span);
            on_core.sum.time += span.dur();
            on_core.sum.hidden += hidden;
        }
    }

    /// All spans of the core were added.
    pub fn end_core(&mut self, meanwhile: &CoreActivity) {
        self.times.resize(self.places.len(), KindTime::default());
        for (all, KindOnCore { spans, sum }) in self.times.iter_mut().zip(self.on_core.drain(..)) {
            let spans = spans.finish();
            let time = spans.measure();
            // Mostly no two spans overlap.
            let hidden = if time == sum.time {
                sum.hidden
            } else {
                spans
                    .ranges()
                    .iter()
                    .map(|span| meanwhile.compute.measure_in(*span))
                    .sum()
            };
            (all.time, all.hidden) = (all.time + time, all.hidden + hidden);
        }
    }

    /// All cores were added.
    pub fn finish(self) -> TransferTimes {
        let Self { places, times, .. } = self;
        let time = |place: usize| times.get(place).copied().unwrap_or_default();
        TransferTimes(
            places
                .into_iter()
                .map(|(set, place)| (set, time(place)))
                .collect(),
        )
    }
}

/// The sum of the transfers of one pattern.
pub(super) fn kinds(transfers: &[Transfer], times: &TransferTimes) -> Vec<KindTotal> {
    let by_kind = grouped(
        transfers
            .iter()
            .map(|transfer| ((&*transfer.kind, transfer.is_collective), transfer)),
    );
    let total = |((kind, is_collective), rows): ((&str, bool), Vec<&Transfer>)| {
        let set = if is_collective {
            TransferSet::Collectives
        } else {
            TransferSet::Copies
        };
        let KindTime { time, hidden } = times.of(&set(kind.to_owned()));
        KindTotal {
            kind: kind.to_owned(),
            is_collective,
            ops: rows.len(),
            occurrences: rows.iter().map(|row| row.occurrences).sum(),
            time_ps: time,
            hidden_ps: hidden,
            exposed_ps: time - hidden,
            blocking_ps: rows.iter().map(|row| row.blocking_ps).sum(),
        }
    };
    let mut kinds: Vec<KindTotal> = by_kind.into_iter().map(total).collect();
    kinds.sort_by(|a, b| {
        let rank = |kind: &KindTotal| (Reverse(kind.is_collective), Reverse(kind.exposed_ps));
        rank(a).cmp(&rank(b)).then_with(|| a.kind.cmp(&b.kind))
    });
    kinds
}
