"""Perfetto's own messages read what is exported for it."""

from collections import Counter

import pytest
import systole_tpu
from conftest import SAMPLES, command

messages = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")


@pytest.mark.parametrize("name", ["synthetic_v5e_8chip_overlap.xplane.pb", "jax_cpu_small.xplane.pb"])
def test_slices_counters_and_flows_are_exported(name, tmp_path):
    run = systole_tpu.open(SAMPLES / name, progress=False)
    command("export", SAMPLES / name, "--to", "perfetto", "-o", tmp_path)
    trace = messages.Trace()
    trace.ParseFromString((tmp_path / "trace.perfetto-trace").read_bytes())
    names, tracks, begun, open_slices, flows, ended = {}, {}, Counter(), {}, Counter(), Counter()
    last = {}
    for packet in trace.packet:
        for event_name in packet.interned_data.event_names:
            names[event_name.iid] = event_name.name
        if packet.HasField("track_descriptor"):
            descriptor = packet.track_descriptor
            tracks[descriptor.uuid] = descriptor.name
            assert descriptor.HasField("process") or descriptor.parent_uuid in tracks
        if packet.HasField("track_event"):
            event = packet.track_event
            assert event.track_uuid in tracks
            if event.type == event.TYPE_SLICE_BEGIN:
                assert packet.timestamp >= last.get(event.track_uuid, 0)
                open_slices[event.track_uuid] = open_slices.get(event.track_uuid, 0) + 1
                if tracks[event.track_uuid] != "Steps of Systole":
                    begun[names[event.name_iid]] += 1
                flows.update(event.flow_ids)
                ended.update(event.terminating_flow_ids)
            elif event.type == event.TYPE_SLICE_END:
                open_slices[event.track_uuid] -= 1
                assert open_slices[event.track_uuid] >= 0
            last[event.track_uuid] = packet.timestamp
    assert set(open_slices.values()) <= {0}
    assert begun == Counter(run.slices(["name"])["name"])
    assert flows == ended and len(flows) == len(run.table("flows"))
