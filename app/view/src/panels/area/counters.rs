//! What the counters of a marked area measured.

use crate::prelude::*;

use super::MarkedArea;
use crate::timeline::counter_text::counter_value;

/// A sentence about each counter that was marked: its least, mean and largest value in the area. Only about those that were
/// marked themselves: an area of all tracks has many.
pub(super) fn counters_in(model: &TraceModel, area: &MarkedArea) -> Vec<String> {
    let about = |&track: &TrackId| {
        let series = model.counter(track)?;
        let values = || series.samples_in(area.range).map(|(_, value)| value);
        let (least, most) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
        let mean = series.mean(area.range)?;
        let unit = series.unit().map_or("", |unit| model.str(unit));
        let [least, mean, most] = [least, mean, most].map(|value| counter_value(value, unit));
        let track = model.track(track);
        let (group, name) = (
            model.str(model.group(track.group).name),
            model.str(track.name),
        );
        Some(format!(
            "{group} · {name}: least {least}, mean over time {mean}, most {most}"
        ))
    };
    area.tracks.iter().filter_map(about).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use trace_model::{GroupKind, Picos, TimeRange, Timestamp, TraceBuilder, TrackKind};

    use super::*;
    use crate::panels::area::AreaGrouping;

    #[test]
    fn marked_counters_have_their_values_in_the_area() {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let track = builder.track(host, TrackKind::Counter, 0, "queue");
        let at = Timestamp::from_ps;
        for (start, end, value) in [
            (0, 10, 100.0),
            (10, 40, 1.0),
            (40, 50, 5.0),
            (50, 60, 100.0),
        ] {
            let length = Picos::from_ps(end - start);
            builder.add_counter_sample(track, at(start), Some(length), value);
        }
        let model = builder.finish();
        let mut area = MarkedArea {
            range: TimeRange::new(at(10), at(50)),
            tracks: Arc::new(BTreeSet::from([track])),
            pivot: AreaGrouping::Name,
        };
        let expected = "host · queue: least 1, mean over time 2, most 5";
        assert_eq!(counters_in(&model, &area), [expected]);
        area.tracks = Arc::default();
        assert!(counters_in(&model, &area).is_empty());
    }
}
