//! Reports of a capture that was imported for reports only are those of the whole capture.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::path::{Path, PathBuf};

use analysis::reports::hlo::{HloQuery, chosen, find, listing, programs_called};
use analysis::{ANALYSES, Options, Report as _, Scope, host_event_use};
use importers::{HostEvents, ImportOptions, InputSource, Progress};
use sample_traces::write::ProtoMessage;
use trace_model::TraceModel;
use trace_model::wire::{WireCursor, WireValue};

use crate::capture::{Capture, corpus};

/// Captures of hosts, and of devices with their hosts.
const CAPTURES: [&str; 9] = [
    "big/jax_cpu_808k_events.xplane.pb.gz",
    "gpu/tf2_8xV100.xplane.pb",
    "host/jax_cpu_8dev_collectives.xplane.pb",
    "host/jax_cpu_transformer_recompiles.xplane.pb",
    "host/tpuvm_cpu_backend.xplane.pb",
    "planted/cIN.xplane.pb",
    "planted/decode10.xplane.pb",
    "tpu/v5e_matmul.xplane.pb",
    "tpu/v6e_x4_host_offload_steps_added.xplane.pb",
];

fn imported(source: &InputSource, for_reports: Option<HostEvents>) -> TraceModel {
    let options = ImportOptions {
        for_reports,
        ..ImportOptions::default()
    };
    importers::import_source(source, &options, &Progress::new()).unwrap()
}

/// The planes of a capture without those of devices.
fn without_devices(file: &[u8]) -> Vec<u8> {
    let mut space = ProtoMessage::default();
    let mut cursor = WireCursor::new(file, 0..file.len());
    while let Ok(Some(field)) = cursor.next() {
        let (1, WireValue::Bytes(plane)) = field else {
            continue;
        };
        let mut fields = WireCursor::new(file, plane.clone());
        let mut name: &[u8] = b"";
        while let Ok(Some(field)) = fields.next() {
            if let (2, WireValue::Bytes(range)) = field {
                name = &file[range];
            }
        }
        if name.starts_with(b"/host:") || name == b"Task Environment" {
            space.bytes(1, &file[plane]);
        }
    }
    space.into_bytes()
}

/// Checks all reports of a file; returns whether events were left out.
fn check(name: &str, source: &InputSource) -> bool {
    let wanted = HostEvents::new(|name| host_event_use(name, &Options::default()));
    let (whole, part) = (imported(source, None), imported(source, Some(wanted)));
    assert_eq!(part.recorded_slices(), whole.recorded_slices(), "{name}");
    assert_eq!(part.extent(), whole.extent(), "{name}");
    let logs = |model: &TraceModel| format!("{:?}", model.import_log().counts());
    assert_eq!(logs(&part), logs(&whole), "{name}");
    let is_partial = part.is_partial();
    let (whole, part) = (Capture::new(whole), Capture::new(part));
    let scopes = [Scope::WholeTrace, Scope::Steps { first: 1, last: 2 }];
    for (analysis, scope) in ANALYSES
        .iter()
        .flat_map(|entry| scopes.map(|scope| (entry, scope)))
    {
        let shown = |capture: &Capture| match (analysis.run)(&capture.cx(scope)) {
            Ok(report) => {
                let mut report = report.json();
                // How much memory the model takes, which is what differs.
                if let Some(fields) = report.as_object_mut() {
                    fields.retain(|name, _| name != "memory" && name != "bytes_per_slice");
                }
                report.to_string()
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(
            shown(&part),
            shown(&whole),
            "{name}: {}, {scope:?}",
            analysis.id
        );
    }
    is_partial
}

/// What questions about programs are answered from.
const OF_PROGRAMS: [&str; 4] = ["buffers", "ops", "overlap", "steps"];

/// All profiles below a folder.
fn profiles(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| {
        if path.is_dir() {
            profiles(&path)
        } else {
            vec![path]
        }
    };
    let mut all: Vec<PathBuf> = paths.flat_map(of).collect();
    all.retain(|path| path.to_string_lossy().contains(".xplane.pb"));
    all.sort();
    all
}

#[test]
fn programs_need_no_events_of_hosts_beside_devices() {
    let Some(corpus) = corpus() else { return };
    let mut partial = Vec::new();
    // Those have no devices, and take long.
    let has_devices = |path: &PathBuf| !path.starts_with(corpus.join("big"));
    for path in profiles(&corpus).into_iter().filter(has_devices) {
        let Ok(source) = InputSource::open(&path) else {
            continue;
        };
        let wanted = HostEvents::new(|name| host_event_use(name, &Options::default()));
        let import = |for_reports| {
            let options = ImportOptions {
                programs_only: true,
                for_reports,
                ..ImportOptions::default()
            };
            importers::import_source(&source, &options, &Progress::new())
        };
        let (Ok(whole), Ok(part)) = (import(None), import(Some(wanted))) else {
            continue;
        };
        let name = path.display().to_string();
        assert_eq!(part.recorded_slices(), whole.recorded_slices(), "{name}");
        assert_eq!(part.extent(), whole.extent(), "{name}");
        let logs = |model: &TraceModel| format!("{:?}", model.import_log().counts());
        assert_eq!(logs(&part), logs(&whole), "{name}");
        if !part.unread().is_empty() && !part.tensor_cores().is_empty() {
            partial.push(name.clone());
        }
        let (whole, part) = (Capture::new(whole), Capture::new(part));
        for scope in [Scope::WholeTrace, Scope::Steps { first: 1, last: 2 }] {
            let shown = |capture: &Capture| {
                let cx = capture.cx(scope);
                let reports = ANALYSES
                    .iter()
                    .filter(|entry| OF_PROGRAMS.contains(&entry.id));
                let reports = reports.map(|entry| (entry.run)(&cx).map(|report| report.json()));
                let mut shown: Vec<_> = reports.collect();
                let programs = chosen(&cx, None).unwrap_or_default();
                shown.push(programs_called(&cx, None).map(|list| list.json()));
                let texts = programs.iter().map(|&program| listing(&cx, program));
                shown.extend(texts.map(|text| text.map(|text| text.json())));
                shown.push(Ok(find(&cx, &programs, &HloQuery::parse("fusion")).json()));
                shown
            };
            assert_eq!(shown(&part), shown(&whole), "{name}: {scope:?}");
        }
    }
    assert!(
        !partial.is_empty(),
        "in no capture of devices a host was left out"
    );
}

#[test]
fn reports_need_no_events_that_they_do_not_name() {
    let Some(corpus) = corpus() else { return };
    let mut partial = Vec::new();
    for name in CAPTURES {
        let source = InputSource::open(&corpus.join(name)).unwrap();
        if check(name, &source) {
            partial.push(name);
        }
        if name.starts_with("big/") {
            // It has no devices, and takes long.
            continue;
        }
        let content = source.content(&Progress::new()).unwrap();
        let hosts = without_devices((*content.bytes).as_ref());
        let hosts = InputSource::from_bytes("hosts.xplane.pb", hosts).unwrap();
        check(&format!("hosts of {name}"), &hosts);
    }
    assert!(partial.contains(&CAPTURES[0]), "{partial:?}");
}
