//! Communication whose truth is known: rings in closed form, the tables of a model of
//! one, what a simulator says of its own runs, and a real capture counted by hand.
#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use analysis::hints::Hints;
use analysis::reports::communication::collectives::CollectivesReport;
use analysis::reports::steps::devices::Devices;
use analysis::reports::{CollectiveRow, Collectives, Overlap};
use analysis::{Context, OpGroup, Options, ReportCache, Scope};
use importers::{ImportOptions, InputSource, Progress};
use sample_traces::ring::{CHIPS, CHUNK_BYTES, REDUCE_BYTES, RingSpec};
use sample_traces::write::xspace_bytes;
use trace_model::{Picos, TraceModel};

use crate::capture::{corpus, model_at, open_model};

fn with<T>(model: &TraceModel, options: &Options, ask: impl FnOnce(&Context<'_>) -> T) -> T {
    let reports = ReportCache::default();
    ask(&Context {
        model,
        scope: Scope::WholeTrace,
        options,
        reports: &reports,
    })
}

fn collectives(model: &TraceModel, topology: Option<&str>) -> CollectivesReport {
    let options = Options {
        topology: topology.map(|text| text.parse().unwrap()),
        ..Options::default()
    };
    with(model, &options, |cx| {
        cx.report::<Collectives>().unwrap().as_ref().clone()
    })
}

fn row<'a>(report: &'a CollectivesReport, op: &str) -> &'a CollectiveRow {
    report.rows.iter().find(|row| row.op == op).unwrap()
}

fn near(value: f64, expected: f64, tolerance: f64) -> bool {
    (value - expected).abs() <= tolerance
}

const RING: RingSpec = RingSpec {
    overlapped: true,
    transfer_ps: 3_000_000,
    matmul_ps: 2_000_000,
    reduce_ps: 10_000_000,
    late_ps: 4_000_000,
    runs: 1,
};

fn build(spec: &RingSpec) -> TraceModel {
    let source = InputSource::from_bytes("ring.xplane.pb", xspace_bytes(&spec.session())).unwrap();
    importers::import(&source, &Progress::default()).unwrap()
}

#[test]
fn collective_matmul_hides_the_closed_form_share() {
    for spec in [
        RING,
        RingSpec {
            overlapped: false,
            ..RING
        },
        RingSpec {
            matmul_ps: 3_500_000,
            ..RING
        },
    ] {
        let model = build(&spec);
        let overlap = with(&model, &Options::default(), |cx| {
            cx.report::<Overlap>().unwrap()
        });
        for (chip, core) in (0..).zip(&overlap.cores) {
            assert_eq!(
                core.overlapped_ps.map(Picos::ps),
                Some(spec.hidden_ps()),
                "{spec:?}"
            );
            assert_eq!(core.exposed_ps.ps(), spec.exposed_ps(chip), "{spec:?}");
        }
        let report = collectives(&model, Some("2x2x1"));
        let permute = row(&report, "collective-permute-start.1");
        let hidden_by = permute.hidden_by.as_ref().unwrap();
        if spec.overlapped {
            assert_eq!(
                (
                    hidden_by.len(),
                    hidden_by[0].op.as_str(),
                    hidden_by[0].time_ps.ps()
                ),
                (1, "fusion.1", 4 * spec.matmul_ps)
            );
            assert!(permute.remarks.is_empty(), "{:?}", permute.remarks);
        } else {
            assert!(hidden_by.is_empty());
            assert_eq!(
                permute.remarks,
                [analysis::reports::communication::collectives::Remark::NothingBetween]
            );
        }
        assert_eq!(permute.message.bytes, Some(CHUNK_BYTES as u64));
        // A done op belongs to the transfer that its start began, and no time counts twice.
        let mut rows = report.rows.iter();
        assert!(rows.all(|row| !row.op.contains("done")), "{spec:?}");
        let exposed: i64 = (0..CHIPS).map(|chip| spec.exposed_ps(chip)).sum();
        let all = report.kinds.last().unwrap();
        assert_eq!(all.exposed_ps.ps(), exposed, "{spec:?}");
    }
}

#[test]
fn late_chip_is_named_and_its_time_is_the_transfer() {
    let report = collectives(&build(&RING), Some("2x2x1"));
    let reduce = row(&report, "all-reduce.1");
    let skew = reduce.skew.as_ref().unwrap();
    assert_eq!(
        (skew.wait_ps.ps(), skew.transfer_ps.ps(), skew.instances),
        (RING.late_ps, RING.reduce_ps, 1)
    );
    assert_eq!(skew.waited_for.as_deref(), Some("/device:TPU:2"));
    // Twice three quarters, over two links of 100 GB/s one way.
    let sent = 1.5 * REDUCE_BYTES as f64;
    assert_eq!(reduce.message.sent_bytes, Some(sent));
    // That is 3.9 µs, but four hops take 4.
    assert!(near(reduce.expected.unwrap().least_seconds, 4e-6, 1e-15));
    let share = reduce.share.unwrap();
    assert!(
        near(share.low_percent.0, 100.0 * sent / 200e9 / 10e-6, 1e-6),
        "{share:?}"
    );
    assert!(near(share.high_percent.0, share.low_percent.0, 1e-9));
}

/// Exposed time, and time of the matrix unit of all time, as the model of the ring
/// computed them.
#[test]
fn modelled_ring_has_the_expected_exposed_time() {
    for (case, exposed_us, mxu_percent) in [
        ("ag_matmul_serial", 4.137, 69.3),
        ("ag_matmul_overlap", 0.090, 99.0),
        ("matmul_rs_serial", 4.137, 69.3),
        ("matmul_rs_overlap", 0.090, 99.0),
    ] {
        let Some(model) = open_model(&format!("simulators/lab11_model/trace_{case}.json")) else {
            return;
        };
        with(&model, &Options::default(), |cx| {
            let (overlap, devices) = (
                cx.report::<Overlap>().unwrap(),
                cx.report::<Devices>().unwrap(),
            );
            assert_eq!(overlap.cores.len(), 4);
            // Nobody can trace a simulated loop otherwise.
            let hints = cx.report::<Hints>().unwrap();
            let steps = hints.hints.iter().find(|hint| hint.id == "Q03");
            assert!(
                steps.is_none_or(|hint| !hint.action.contains("training loop")),
                "{steps:?}"
            );
            for (core, time) in overlap.cores.iter().zip(&devices.cores) {
                assert!(
                    near(core.exposed_ps.as_ps_f64() * 1e-6, exposed_us, 6e-4),
                    "{case}: {core:?}"
                );
                let mxu =
                    100.0 * time.time(OpGroup::MatMul).as_ps_f64() / time.window_ps.as_ps_f64();
                assert!(near(mxu, mxu_percent, 0.06), "{case}: {mxu}");
            }
        });
    }
}

/// `finished, 16990 cycles, exposed communication 7654 cycles`, `GPU time: 9336`,
/// `Comm time: 14656` and `overlap: 7002` of each node, which a simulator prints at the end.
#[test]
fn simulated_run_parts_match_the_simulator() {
    let Some(corpus) = corpus() else { return };
    let mut runs = 0;
    for out in std::fs::read_dir(corpus.join("simulators/astra-sim/out"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        let model = model_at(&out);
        assert_eq!(model.import_log().counts(), [], "{}", out.display());
        let said = std::fs::read_to_string(out.join("stdout.txt")).unwrap();
        let overlap = with(&model, &Options::default(), |cx| {
            cx.report::<Overlap>().unwrap()
        });
        assert_eq!(overlap.cores.len(), 4);
        for (sys, core) in overlap.cores.iter().enumerate() {
            // 0 if it prints nothing.
            let of = |key: &str| {
                let line = said
                    .lines()
                    .find(|line| line.contains(&format!("sys[{sys}]")) && line.contains(key));
                let digits = |rest: &str| {
                    rest.chars()
                        .take_while(char::is_ascii_digit)
                        .collect::<String>()
                };
                let ns = line.and_then(|line| digits(line.split_once(key)?.1).parse().ok());
                Picos::from_ps(1000 * ns.unwrap_or(0_i64))
            };
            let at = format!("{} {sys}", out.display());
            assert_eq!(core.window_ps, of("Wall time: "), "{at}");
            assert_eq!(core.exposed_ps, of("exposed communication "), "{at}");
            assert_eq!(
                core.overlapped_ps,
                Some(of("communication overlap: ")),
                "{at}"
            );
            assert_eq!(
                (core.comm_total_ps, core.compute_ps),
                (of("Comm time: "), of("GPU time: ")),
                "{at}"
            );
        }
        runs += 1;
    }
    assert_eq!(runs, 16);
}

/// f32[5,1024,1024,256] reduced in pairs {0,4} {1,5} {2,6} {3,7} of eight chips of v6e,
/// of which four were captured: 5.37 GB in 121.7 ms are 44.1 GB/s.
#[test]
fn real_all_reduces_match_hand_count() {
    let Some(model) = open_model("tpu/v6e_x4_host_offload.xplane.pb") else {
        return;
    };
    let report = collectives(&model, None);
    let [row] = &report.rows[..] else {
        panic!("{:?}", report.rows)
    };
    let bytes = 5 * 1024 * 1024 * 256 * 4_u64;
    assert_eq!(
        (row.occurrences, row.message.bytes, row.message.participants),
        (12, Some(bytes), Some(2))
    );
    assert_eq!(row.message.sent_bytes, Some(bytes as f64));
    assert!(near(row.mean_time_ps.unwrap(), 121.7e9, 0.05e9));
    assert!(near(row.bus_bandwidth.unwrap(), 44.1e9, 0.05e9) && row.skew.is_none());
    // On a grid of 2×4 the pairs are two hops apart and share links with others; on
    // any other they have a link of their own, or would have taken longer.
    let share = row.share.unwrap();
    assert!(
        near(share.low_percent.0, 44.1, 0.1) && near(share.high_percent.0, 88.2, 0.2),
        "{share:?}"
    );
    let expected = row.expected.unwrap();
    assert!(near(expected.least_seconds, bytes as f64 / 100e9, 1e-6));
    assert!(near(expected.usual_seconds, bytes as f64 / 45e9, 1e-6));
    let known = collectives(&model, Some("4x2")).rows[0].share.unwrap();
    assert!(near(known.low_percent.0, 44.1, 0.1) && near(known.high_percent.0, 44.1, 0.1));
}

/// The run's own network: a ring of four with 92 GiB/s one way of a link. Its collectives
/// use one direction, so the largest come to half of both.
#[test]
fn simulated_collective_is_compared_with_the_simulated_network() {
    let Some(corpus) = corpus() else { return };
    let astra = corpus.join("simulators/astra-sim");
    let folder = std::env::temp_dir().join(format!("systole-astra-network-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let run = "reduce_scatter_4096x8x128";
    let log = std::fs::read(astra.join("out").join(run).join("log/log.log")).unwrap();
    std::fs::write(folder.join("log.log"), log).unwrap();
    let graphs = std::fs::read_dir(astra.join("workload").join(run))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    for path in graphs.chain([astra.join("cfg/ring4_v5p.yml")]) {
        std::fs::write(
            folder.join(path.file_name().unwrap()),
            std::fs::read(&path).unwrap(),
        )
        .unwrap();
    }
    let model =
        importers::import_path(&folder, &ImportOptions::default(), &Progress::default()).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let report = collectives(&model, None);
    let row = &report.rows[0];
    // Three quarters of 16 MiB over two links.
    let least = 12_582_912.0 / (2.0 * 92.0 * 1_073_741_824.0);
    assert!(
        near(row.expected.unwrap().least_seconds, least, 1e-12),
        "{row:?}"
    );
    let share = row.share.as_ref().unwrap();
    assert!(
        report.links.recorded && near(share.high_percent.0, 49.5, 0.3),
        "{share:?}"
    );
}
