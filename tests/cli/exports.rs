//! `systole export`: the tables of a trace as files, and timelines for other programs.

use std::fs::{self, File};

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::RowAccessor as _;
use serde_json::Value;

use crate::outputs::{printed, recompile, refused, run, sample, text};
use crate::place::corpus;
use crate::tables::{number, rows};

#[test]
fn exported_files_equal_sql_results() {
    let path = &recompile();
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("new/tables");
    let out = out.to_str().unwrap();
    printed(&["export", path, "-o", out]);
    let reader =
        SerializedFileReader::new(File::open(format!("{out}/slices.parquet")).unwrap()).unwrap();
    let names: Vec<String> = reader
        .metadata()
        .file_metadata()
        .schema()
        .get_fields()
        .iter()
        .map(|field| field.name().to_owned())
        .collect();
    assert_eq!(names[..4], ["run", "slice_id", "track_id", "start_ps"]);
    assert!(!names.contains(&"args".to_owned()));
    let (mut count, mut sum) = (0, 0);
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        assert_eq!(
            row.get_string(0).unwrap(),
            "synthetic_v5e_8chip_recompile.xplane.pb"
        );
        count += 1;
        sum += row.get_long(4).unwrap();
    }
    assert_eq!(count, number(path, "SELECT count(*) FROM slices"));
    assert_eq!(sum, number(path, "SELECT sum(dur_ps) FROM slices"));
    for table in [
        "tracks",
        "counters",
        "flows",
        "instructions",
        "sources",
        "runs",
        "steps",
        "ops",
        "collectives",
        "hints",
    ] {
        assert!(
            fs::metadata(format!("{out}/{table}.parquet"))
                .unwrap()
                .len()
                > 100,
            "{table}"
        );
    }

    printed(&[
        "export",
        path,
        "--to",
        "csv",
        "--tables",
        "ops,tracks",
        "--run-name",
        "a,b",
        "-o",
        out,
    ]);
    let ops = fs::read_to_string(format!("{out}/ops.csv")).unwrap();
    assert!(
        ops.starts_with("run,name,self_time_each_ps") && ops.contains("\n\"a,b\","),
        "{ops}"
    );
    printed(&[
        "export", path, "--to", "arrow", "--tables", "hints", "-o", out,
    ]);
    assert!(
        fs::read(format!("{out}/hints.arrow"))
            .unwrap()
            .starts_with(b"ARROW1")
    );
    assert!(
        refused(&["export", path, "--tables", "opps", "-o", out])
            .contains("there is no table \"opps\"")
    );
    fs::write(directory.path().join("file"), "").unwrap();
    let taken = run(&[
        "export",
        path,
        "-o",
        directory.path().join("file").to_str().unwrap(),
    ]);
    assert_eq!(taken.status.code(), Some(3), "{}", text(&taken.stderr));
}

#[test]
fn exported_chrome_events_import_to_the_same_timeline() {
    for file in [
        "synthetic_v5e_8chip_overlap.xplane.pb",
        "synthetic_v6e_4chip_padded.trace.json.gz",
        "jax_cpu_small.xplane.pb",
    ] {
        let path = &sample(file);
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().to_str().unwrap();
        printed(&["export", path, "--to", "chrome-json", "--args", "-o", out]);
        let again = directory.path().join("trace.json");
        let again = again.to_str().unwrap();
        // Detected steps add one track.
        let by_name = "SELECT name, count(*), sum(dur_ps), min(start_ps) - (SELECT min(start_ps) FROM slices) FROM slices \
                       WHERE track <> 'Steps of Systole' GROUP BY name ORDER BY name";
        assert_eq!(rows(again, by_name), rows(path, by_name), "{file}");
        let counters =
            "SELECT name, count(*), sum(value) FROM counters GROUP BY name ORDER BY name";
        assert_eq!(rows(again, counters), rows(path, counters), "{file}");
        let json: Value = serde_json::from_str(&fs::read_to_string(again).unwrap()).unwrap();
        let ends = |phase: &str| {
            json["traceEvents"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|event| event["ph"] == phase)
                .count()
        };
        let flows = number(path, "SELECT count(*) FROM flows");
        assert_eq!([ends("s") as i64, ends("f") as i64], [flows; 2], "{file}");
    }
}

/// Devices of one number are told apart by their hosts, whose clocks are compared.
#[test]
fn exported_chrome_events_keep_their_hosts() {
    let mut files = vec![sample("synthetic_two_hosts")];
    let apart = corpus().map(|corpus| corpus.join("planted/mh_skew5"));
    files.extend(apart.map(|path| path.to_str().unwrap().to_owned()));
    for path in &files {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().to_str().unwrap();
        printed(&["export", path, "--to", "chrome-json", "-o", out]);
        let again = directory.path().join("trace.json");
        let again = again.to_str().unwrap();
        let hosts =
            "SELECT DISTINCT host, device FROM tracks WHERE device IS NOT NULL ORDER BY 1, 2";
        assert_eq!(rows(again, hosts), rows(path, hosts), "{path}");
        let clocks = |path: &str| {
            let health = printed(&["doctor", path]);
            let mut lines = health.lines();
            lines
                .find(|line| line.contains("clocks of hosts"))
                .map(str::to_owned)
        };
        assert_eq!(clocks(again), clocks(path), "{path}");
        assert!(clocks(again).is_some(), "{path}");
    }
}

#[test]
fn exported_chrome_events_keep_the_name_of_their_only_host() {
    let path = &sample("jax_cpu_small.xplane.pb");
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    printed(&["export", path, "--to", "chrome-json", "-o", out]);
    let again = directory.path().join("trace.json");
    let host = "SELECT DISTINCT host FROM tracks";
    assert_eq!(rows(again.to_str().unwrap(), host), rows(path, host));
}

#[test]
fn exported_chrome_events_have_the_same_ops() {
    let mut files = [
        "synthetic_v5e_8chip_overlap.xplane.pb",
        "synthetic_two_hosts",
    ]
    .map(sample)
    .to_vec();
    // Its ops overlap on the timeline, by rounding.
    let overlapping = corpus().map(|corpus| corpus.join("tpu/v6e_x4_host_offload.xplane.pb"));
    files.extend(overlapping.map(|path| path.to_str().unwrap().to_owned()));
    for path in &files {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().to_str().unwrap();
        printed(&["export", path, "--to", "chrome-json", "-o", out]);
        let again = directory.path().join("trace.json");
        // The file holds no sums by memory, so limits and what follows from them differ.
        let ops = "SELECT name, category, occurrences, total_time_ps, self_time_ps FROM ops ORDER BY 1, 2, 3, 4, 5";
        let again = again.to_str().unwrap();
        assert_eq!(rows(again, ops), rows(path, ops), "{path}");
    }
}

#[test]
fn exported_times_of_a_simulator_stay_simulated() {
    let path = &sample("synthetic_v5e_layer_predicted.txt");
    let directory = tempfile::tempdir().unwrap();
    printed(&[
        "export",
        path,
        "--to",
        "chrome-json",
        "-o",
        directory.path().to_str().unwrap(),
    ]);
    let again = directory.path().join("trace.json");
    let badge = |path: &str| -> Value {
        let asked = run(&["query", path, "SELECT 1", "--format", "json"]);
        serde_json::from_slice::<Value>(&asked.stdout).unwrap()["badge"].take()
    };
    assert_eq!(badge(path), "PREDICTED by XLA's cost model");
    assert_eq!(badge(again.to_str().unwrap()), badge(path));
}

#[test]
fn files_are_divided_by_run_host_and_device() {
    let directory = tempfile::tempdir().unwrap();
    let (path, out) = (&recompile(), directory.path().to_str().unwrap());
    let partitioned = [
        "export",
        path,
        "--partition",
        "run,device",
        "--tables",
        "slices,steps",
        "--run-name",
        "a/b",
    ];
    printed(&[&partitioned[..], &["-o", out]].concat());
    let of_run = directory.path().join("slices").join("run=a%2Fb");
    let (mut rows, mut devices) = (0, 0);
    for device in fs::read_dir(of_run).unwrap() {
        let file = SerializedFileReader::new(
            File::open(device.unwrap().path().join("data.parquet")).unwrap(),
        )
        .unwrap();
        let fields = file.metadata().file_metadata().schema().get_fields();
        assert!(
            fields
                .iter()
                .all(|field| field.name() != "run" && field.name() != "device"),
            "{fields:?}"
        );
        assert!(fields.iter().any(|field| field.name() == "host"));
        rows += file.metadata().file_metadata().num_rows();
        devices += 1;
    }
    assert_eq!(rows, number(path, "SELECT count(*) FROM slices"));
    assert_eq!(
        devices,
        number(
            path,
            "SELECT count(DISTINCT coalesce(device, '')) FROM slices"
        )
    );
    // Steps have no column `device`.
    assert!(
        directory
            .path()
            .join("steps/run=a%2Fb/data.parquet")
            .is_file()
    );
    let said = refused(&[
        "export",
        path,
        "--to",
        "perfetto",
        "--partition",
        "run",
        "-o",
        out,
    ]);
    assert!(said.contains("--partition is for parquet"), "{said}");
    assert!(refused(&["export", path, "--partition", "lane", "-o", out]).contains("device"));
}
