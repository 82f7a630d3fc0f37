//! Memory of real captures, against what `XProf` says of them.
#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use analysis::reports::memory::buffers::{HBM, Purpose};
use analysis::reports::memory::hbm::MemoryReport;
use analysis::reports::{Buffers, Memory};
use analysis::{Context, Options, ReportCache, Scope};
use serde_json::Value;
use trace_model::TraceModel;

use crate::capture::{corpus, open_model};

fn memory(model: &TraceModel) -> Result<MemoryReport, analysis::AnalysisError> {
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    cx.report::<Memory>().map(|report| report.as_ref().clone())
}

/// `XProf`'s answer for each memory, by name.
fn xprof(path: &str) -> Option<Vec<(String, Value)>> {
    let text = std::fs::read_to_string(corpus()?.join(path)).unwrap();
    let answer: Value = serde_json::from_str(&text).unwrap();
    let memories = answer["memoryProfilePerAllocator"].as_object().unwrap();
    Some(
        memories
            .iter()
            .map(|(name, memory)| (name.clone(), memory.clone()))
            .collect(),
    )
}

fn int(value: &Value) -> i64 {
    value.as_str().unwrap().parse().unwrap()
}

/// Numbers come as numbers there, whole ones as text.
fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

fn agrees(name: &str, answer: &str, title: impl Fn(&str) -> String) {
    let (Some(model), Some(expected)) = (open_model(name), xprof(answer)) else {
        return;
    };
    let report = memory(&model).unwrap();
    assert_eq!(report.memories.len(), expected.len());
    for (memory, expected) in expected {
        let own = report
            .memories
            .iter()
            .find(|own| own.memory == title(&memory))
            .unwrap();
        let summary = &expected["profileSummary"];
        let peak = &summary["peakStats"];
        assert_eq!(own.peak_bytes, int(&peak["peakBytesInUse"]), "{memory}");
        assert_eq!(
            own.peak_reserved_bytes,
            int(&peak["stackReservedBytes"]),
            "{memory}"
        );
        assert_eq!(
            own.peak_heap_bytes,
            int(&peak["heapAllocatedBytes"]),
            "{memory}"
        );
        assert_eq!(
            own.peak_free_bytes,
            Some(int(&peak["freeMemoryBytes"])),
            "{memory}"
        );
        assert_eq!(
            own.capacity_bytes,
            Some(int(&summary["memoryCapacity"])),
            "{memory}"
        );
        // Of one GPU XProf shows an early record of the allocator; the last says 6,208,853,760.
        assert!(
            own.lifetime_peak_bytes >= Some(int(&summary["peakBytesUsageLifetime"])),
            "{memory}"
        );
        let fragmentation = own.peak_fragmentation_percent.unwrap().0;
        assert!(
            (fragmentation - 100.0 * number(&peak["fragmentation"])).abs() < 1e-3,
            "{memory}: {fragmentation}"
        );
        assert_eq!(
            own.at_peak.iter().map(|part| part.bytes).sum::<i64>(),
            own.peak_bytes,
            "{memory}"
        );
    }
}

#[test]
fn tpu_memory_peaks_match_xprof() {
    let answer = "tpu/xprof/v6e_x4_host_offload/memory_profile.json";
    agrees("tpu/v6e_x4_host_offload.xplane.pb", answer, |id| {
        format!("/device:TPU:{id}")
    });
}

#[test]
fn named_allocator_peaks_match_xprof() {
    agrees(
        "gpu/tf2_8xV100.xplane.pb",
        "gpu/xprof/tf2_8xV100/memory_profile.json",
        str::to_owned,
    );
}

#[test]
fn all_tpu_allocations_are_matched() {
    let Some(model) = open_model("tpu/v6e_x4_host_offload.xplane.pb") else {
        return;
    };
    let report = memory(&model).unwrap();
    let counts: Vec<_> = report
        .memories
        .iter()
        .map(|memory| {
            (
                memory.allocations,
                memory.releases,
                memory.kept_count,
                memory.unknown_releases,
            )
        })
        .collect();
    // Counted by hand: 117 on the first device, 112 on the others, all released.
    assert_eq!(
        counts
            .iter()
            .filter(|&&counts| counts == (112, 112, 0, 0))
            .count(),
        3,
        "{counts:?}"
    );
    assert_eq!(
        counts
            .iter()
            .filter(|&&counts| counts == (117, 117, 0, 0))
            .count(),
        1,
        "{counts:?}"
    );
    let curves = model
        .counters()
        .iter()
        .filter(|series| model.str(model.track(series.track()).name) == "HBM in use");
    let peaks: Vec<f64> = curves
        .map(|series| series.samples().map(|(_, value)| value).fold(0.0, f64::max))
        .collect();
    assert_eq!(peaks.len(), 4);
    let expected: Vec<i64> = report
        .memories
        .iter()
        .map(|memory| memory.peak_bytes)
        .collect();
    assert!(
        peaks.iter().all(|&peak| expected.contains(&(peak as i64))),
        "{peaks:?}"
    );
}

#[test]
fn captures_without_allocations_name_what_to_open() {
    let Some(model) = open_model("tpu/v5e_matmul.trace.json.gz") else {
        return;
    };
    let error = memory(&model).unwrap_err().to_string();
    assert!(error.contains("open the *.xplane.pb"), "{error}");
}

/// What `XProf` says each program needs of HBM, MiB, and the largest buffers of it.
fn planned(name: &str, answer: &str) -> Option<TraceModel> {
    let (model, text) = (
        open_model(name)?,
        std::fs::read_to_string(corpus()?.join(answer)).unwrap(),
    );
    let answer: Value = serde_json::from_str(&text).unwrap();
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    let report = cx.report::<Buffers>().unwrap();
    let modules = answer["modules"].as_array().unwrap();
    assert_eq!(report.programs.len(), modules.len());
    for module in modules {
        let own = report
            .programs
            .iter()
            .find(|own| own.program == module["module_name"].as_str().unwrap())
            .unwrap();
        let plan = own.plan(HBM).unwrap();
        let expected = module["total_hbm_mib"].as_f64().unwrap() * f64::from(1 << 20);
        assert!(
            (plan.total_bytes as f64 - expected).abs() < 0.5,
            "{}: {} {expected}",
            own.program,
            plan.total_bytes
        );
        assert_eq!(
            plan.at_peak.iter().map(|buffer| buffer.bytes).sum::<u64>(),
            plan.total_bytes
        );
        assert_eq!(plan.odd_events, 0, "{}", own.program);
        for buffer in module["top_buffers"].as_array().unwrap() {
            let (name, mib) = (
                buffer["instruction"].as_str().unwrap(),
                buffer["size_mib"].as_f64().unwrap(),
            );
            if name.starts_with("Others") {
                continue;
            }
            let own = plan
                .at_peak
                .iter()
                .find(|own| own.instruction == name)
                .unwrap();
            assert!(
                (own.bytes as f64 / f64::from(1 << 20) - mib).abs() < 1e-6,
                "{name}"
            );
        }
    }
    Some(model)
}

#[test]
fn memory_plans_match_xprof() {
    planned(
        "tpu/v5e_matmul.xplane.pb",
        "tpu/xprof/v5e_matmul/cli/get_peak_allocations.json",
    );
    let answer = "tpu/xprof/v6e_x4_host_offload/cli/get_peak_allocations.json";
    let Some(model) = planned("tpu/v6e_x4_host_offload.xplane.pb", answer) else {
        return;
    };
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    let report = cx.report::<Buffers>().unwrap();
    // Counted by hand: four arrays of 5 GiB are live at once, of six that share the heap.
    let plan = report.programs[0].plan(HBM).unwrap();
    assert_eq!(
        (plan.heap_bytes, plan.temporary_bytes),
        (21_474_934_784, 21_474_934_784)
    );
    assert_eq!(plan.fragmentation_bytes, 98_304 - 6 * 32);
    assert_eq!(
        plan.at_peak
            .iter()
            .filter(|buffer| buffer.bytes == 5 << 30)
            .count(),
        4
    );
    assert_eq!(
        plan.at_peak
            .iter()
            .filter(|buffer| buffer.purpose == Purpose::Output)
            .count(),
        1
    );
    // Arguments are in the memory of the host, donated.
    assert_eq!(
        report.programs[0].plan(5).unwrap().donated_bytes,
        3 * (5 << 30)
    );
    // The runtime sets aside 16 MiB more than the program plans.
    let set_aside = report.set_aside.as_ref().unwrap();
    assert_eq!(set_aside.bytes - set_aside.planned_bytes, 16 << 20);
    assert!(
        set_aside.program.starts_with("jit_f("),
        "{}",
        set_aside.program
    );
    assert_eq!(report.capacity.as_ref().unwrap().bytes, 33_550_237_696);
}
