//! Times of the transfers of one kind: what a device has in flight at the same time counts once.

use std::collections::BTreeMap;

use facts::category::OpClass;
use math::grouped;
use math::intervals::UnionBuilder;
use trace_model::{Picos, TimeRange};

use super::cores::CoreActivity;
use super::report::{KindTime, KindTotal, Transfer};

/// Which transfers of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum KindPart {
    /// Those on one device.
    Transfers,
    /// Those between devices.
    Collectives,
    /// Of these the ones that are fused with other work.
    Fused,
    /// Of these the others.
    Unfused,
}

impl KindPart {
    fn of(is_fused: bool) -> Self {
        if is_fused { Self::Fused } else { Self::Unfused }
    }
}

/// Of the core that is looked at: the spans, and the sum over them.
#[derive(Default)]
struct OnCore {
    spans: UnionBuilder,
    sum: KindTime,
}

/// The places of a transfer in [`KindTimes`]: of its kind, and of its part of the collectives of the kind.
pub(super) type KindPlaces = (usize, Option<usize>);

/// The times of all kinds.
#[derive(Default)]
pub(super) struct KindTimes {
    places: BTreeMap<(String, KindPart), usize>,
    times: Vec<KindTime>,
    on_core: Vec<OnCore>,
}

impl KindTimes {
    pub fn places(&mut self, kind: &str, class: OpClass) -> KindPlaces {
        let mut place = |part| {
            let next = self.places.len();
            *self.places.entry((kind.to_owned(), part)).or_insert(next)
        };
        if class.is_collective() {
            let part = KindPart::of(class.is_fused_collective());
            (place(KindPart::Collectives), Some(place(part)))
        } else {
            (place(KindPart::Transfers), None)
        }
    }

    /// Adds a span on the core that is looked at, of which a part is hidden.
    pub fn add(&mut self, (kind, part): KindPlaces, span: TimeRange, hidden: Picos) {
        self.on_core.resize_with(self.places.len(), OnCore::default);
        for place in [Some(kind), part].into_iter().flatten() {
            let on_core = &mut self.on_core[place];
            on_core.spans.add(span);
            on_core.sum.time += span.dur();
            on_core.sum.hidden += hidden;
        }
    }

    /// All spans of the core were added.
    pub fn end_core(&mut self, meanwhile: &CoreActivity) {
        self.times.resize(self.places.len(), KindTime::default());
        for (all, OnCore { spans, sum }) in self.times.iter_mut().zip(self.on_core.drain(..)) {
            let spans = spans.finish();
            let time = spans.measure();
            // Mostly no two spans overlap.
            let hidden = if time == sum.time {
                sum.hidden
            } else {
                let hidden = |span: &TimeRange| meanwhile.compute.measure_in(*span);
                spans.ranges().iter().map(hidden).sum()
            };
            (all.time, all.hidden) = (all.time + time, all.hidden + hidden);
        }
    }

    fn of(&self, kind: &str, part: KindPart) -> KindTime {
        let place = self.places.get(&(kind.to_owned(), part));
        let time = place.and_then(|&place| self.times.get(place)).copied();
        time.unwrap_or_default()
    }

    /// The collectives of a kind that are fused with other work, or the others.
    pub fn collectives(&self) -> BTreeMap<(String, bool), KindTime> {
        let parts = [false, true].map(|is_fused| (is_fused, KindPart::of(is_fused)));
        let keys = self.places.keys();
        keys.flat_map(|(kind, own)| {
            let is_own = move |(_, part): &(bool, KindPart)| part == own;
            let of = |(is_fused, part)| ((kind.clone(), is_fused), self.of(kind, part));
            parts.into_iter().filter(is_own).map(of)
        })
        .collect()
    }
}

/// The sum of the transfers of one pattern.
pub(super) fn kinds(transfers: &[Transfer], times: &KindTimes) -> Vec<KindTotal> {
    let by_kind = grouped(
        transfers
            .iter()
            .map(|transfer| ((&*transfer.kind, transfer.is_collective), transfer)),
    );
    let total = |((kind, is_collective), rows): ((&str, bool), Vec<&Transfer>)| {
        let part = if is_collective {
            KindPart::Collectives
        } else {
            KindPart::Transfers
        };
        let KindTime { time, hidden } = times.of(kind, part);
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
        let rank = |kind: &KindTotal| {
            (
                std::cmp::Reverse(kind.is_collective),
                std::cmp::Reverse(kind.exposed_ps),
            )
        };
        rank(a).cmp(&rank(b)).then_with(|| a.kind.cmp(&b.kind))
    });
    kinds
}
