//! Begin and end events of a thread, which may be in any order.

use importer_common::prelude::*;
use trace_model::{FlowEnd, SliceKey};

/// A begin or end event.
pub(super) struct StackEvent {
    pub at: Timestamp,
    /// The name of a begin; that of an end, if it has one.
    pub label: Option<LabelId>,
    pub begins: bool,
    pub offset: u64,
    pub has_args: bool,
    pub attrs: Vec<(SliceAttr, i64)>,
}

/// The result of converting the stack of a thread.
pub(super) struct StackedEvents {
    /// The slice of each begin, by its index as collected.
    pub begun: Vec<Option<SliceKey>>,
    /// Positions of additional arguments: `(of the begin, of the end)`.
    pub end_args: Vec<(u64, u64)>,
}

/// Opens and closes slices in time order; equal times keep the file order.
pub(super) fn build(
    builder: &mut TraceBuilder,
    track: TrackId,
    events: &[StackEvent],
) -> StackedEvents {
    let mut order: Vec<usize> = (0..events.len()).collect();
    order.sort_by_key(|&i| events[i].at);
    let mut stacked = StackedEvents {
        begun: vec![None; events.len()],
        end_args: Vec::new(),
    };
    let mut offset_of = HashMap::new();
    for i in order {
        let event = &events[i];
        if let (true, Some(label)) = (event.begins, event.label) {
            let key = builder.begin_slice(track, event.at, label, Some(event.offset));
            for &(attr, value) in &event.attrs {
                builder.set_attr(key, attr, value);
            }
            offset_of.insert(key, event.offset);
            stacked.begun[i] = Some(key);
            continue;
        }
        let name = event
            .label
            .map(|label| builder.label_name(label).to_owned());
        let Some(key) = builder.end_slice(track, event.at, name.as_deref()) else {
            continue;
        };
        if let (Some(&begin), true) = (offset_of.get(&key), event.has_args) {
            stacked.end_args.push((begin, event.offset));
        }
    }
    stacked
}

impl StackedEvents {
    /// The slice of a begin event, as the end of a flow.
    pub fn flow_end(&self, index: u32) -> Option<FlowEnd> {
        self.begun
            .get(index as usize)
            .copied()
            .flatten()
            .map(FlowEnd::Slice)
    }
}
