//! Files of simulators, whose times decide only what they can decide.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;

use crate::place::corpus;
use crate::simulated::{PREDICTED, file, reports, run, text};

/// Graphs written by hand give the order of nodes, no durations.
#[test]
fn lengths_that_are_placeholders_decide_nothing() {
    let Some(corpus) = corpus() else { return };
    let [overlap, serial] = ["overlap", "serial"].map(|name| {
        let path = corpus.join(format!("simulators/astra-sim/workload/ag_matmul_{name}"));
        path.to_str().unwrap().to_owned()
    });
    let compared = run(&["compare", &overlap, &serial]);
    let said = String::from_utf8_lossy(&compared.stdout).replace('\n', " ");
    assert_ne!(compared.status.code(), Some(0), "{said}");
    assert!(
        said.contains("times are placeholders")
            && !said.contains("faster")
            && !said.contains("TPU of"),
        "{said}"
    );
    let predicted = run(&["whatif", &overlap, "--hide-collectives"]);
    let said = String::from_utf8_lossy(&predicted.stderr);
    assert!(
        !predicted.status.success() && said.contains("placeholders"),
        "{said}"
    );
    let ops = text(&["analyze", &overlap, "--only", "ops", "--top", "0"]).replace('\n', " ");
    assert!(
        ops.contains("lengths are placeholders") && ops.contains("GFLOP") && !ops.contains("B/s"),
        "{ops}"
    );
}

fn of_corpus(name: &str) -> Option<String> {
    let path = corpus()?.join("simulators").join(name);
    Some(path.to_str().unwrap().to_owned())
}

/// The operations of the kernel are known to lack its products.
#[test]
fn kernel_of_unknown_work_has_no_bound() {
    let Some(path) = of_corpus("neusim/llama3-8b-tpuv5p-tp4_prefill.csv") else {
        return;
    };
    let ops = reports(&path, "ops")["ops"]["report"]["rows"].clone();
    let kernel = ops.as_array().unwrap().iter();
    let kernel = kernel.clone().find(|op| op["category"] == "custom-call");
    let kernel = kernel.unwrap();
    assert!(
        kernel["flops"].is_null() && kernel["bound_by"].is_null(),
        "{kernel}"
    );
    let faster = text(&["whatif", &path, "--hbm", "2x"]);
    assert!(faster.contains("ops without recorded costs"), "{faster}");
}

#[test]
fn predictions_from_computed_times_say_so() {
    let predicted = text(&["whatif", PREDICTED, "--ici", "2x"]);
    assert!(
        predicted.contains("As predicted") && !predicted.contains("Recorded"),
        "{predicted}"
    );
}

/// The lines of nodes, as the timeline visualizer of Chakra reads them.
#[test]
fn timeline_whose_nodes_all_end_is_whole() {
    let Some(path) = of_corpus("astra-sim/chakra_timeline/ag_matmul_overlap.csv") else {
        return;
    };
    let whole = text(&["doctor", &path]);
    assert!(!whole.contains("Q01"), "{whole}");
    let lines = fs::read_to_string(&path).unwrap();
    let (cut, _) = lines.trim_end().rsplit_once('\n').unwrap();
    let (_dir, path) = file("cut.csv", format!("{cut}\n").as_bytes());
    let cut = String::from_utf8(run(&["doctor", &path]).stdout).unwrap();
    assert!(cut.contains("Q01"), "{cut}");
}

#[test]
fn durations_that_a_graph_gives_are_not_called_computed() {
    let Some(path) = of_corpus("chakra/pytorch_rank0_chakra.0.et.tar.gz") else {
        return;
    };
    let screen = text(&["analyze", &path]);
    let screen = screen.replace('\n', " ");
    assert!(
        screen.contains("durations are those of the graph") && !screen.contains("was measured"),
        "{screen}"
    );
}

#[test]
fn batches_on_several_stages_are_told_apart() {
    let Some(path) = of_corpus("vidur/chrome_trace.json") else {
        return;
    };
    let serving = text(&["analyze", &path, "--only", "serving", "--top", "0"]);
    assert!(
        serving.contains("56 batches of 112") && !serving.contains("clock of the host"),
        "{serving}"
    );
}

#[test]
fn links_of_a_configuration_are_not_judged() {
    let Some(corpus) = corpus() else { return };
    let astra = corpus.join("simulators/astra-sim");
    let dir = tempfile::tempdir().unwrap();
    let run = astra.join("out/all_gather_1024x8x128");
    fs::create_dir(dir.path().join("log")).unwrap();
    fs::copy(run.join("log/log.log"), dir.path().join("log/log.log")).unwrap();
    let network = fs::read_dir(astra.join("cfg")).unwrap();
    let network = network.map(|entry| entry.unwrap().path());
    let mut network = network.filter(|path| path.ends_with("ring4_v5p.yml"));
    fs::copy(network.next().unwrap(), dir.path().join("ring4_v5p.yml")).unwrap();
    let graphs = astra.join("workload/all_gather_1024x8x128");
    for graph in fs::read_dir(graphs).unwrap() {
        let graph = graph.unwrap();
        fs::copy(graph.path(), dir.path().join(graph.file_name())).unwrap();
    }
    let found = reports(dir.path().to_str().unwrap(), "targets");
    let targets = found["targets"]["report"]["targets"].clone();
    let ici = targets.as_array().unwrap().iter();
    let ici = ici.clone().find(|target| target["id"] == "ici").unwrap();
    assert_eq!(ici["light"], "not-judged", "{ici}");
    assert!(!ici["of"].as_str().unwrap().contains("published"), "{ici}");
}

#[test]
fn configuration_of_a_run_has_its_dataflow() {
    let Some(path) = of_corpus("scalesim/v3.0.0_decoder_ws") else {
        return;
    };
    let told = text(&["doctor", &path, "--top", "0"]);
    assert!(
        told.contains("128x128_ws.cfg and 1 more that fit") && !told.contains("_is.cfg"),
        "{told}"
    );
}

/// Each operand counts once, however often tiles read it.
#[test]
fn bytes_that_are_the_least_make_lower_bounds() {
    let Some(path) = of_corpus("onnxim") else {
        return;
    };
    let screen = text(&["analyze", &path]).replace('\n', " ");
    assert!(
        screen.contains("at least 47.57 %")
            && !screen.contains("at 47.6 %")
            && !screen.contains("K14"),
        "{screen}"
    );
    assert!(!screen.contains("missed"), "{screen}");
    let programs = String::from_utf8(run(&["hlo", &path]).stdout).unwrap();
    assert!(!programs.contains("names no"), "{programs}");
    let memory = run(&["memory", &path]);
    let said = String::from_utf8_lossy(&memory.stderr);
    assert!(
        said.contains("ONNXim") && !said.contains("xplane"),
        "{said}"
    );
    let log = std::path::Path::new(&path).join("mlp3_tpuv4_debug.log");
    let memory = run(&["memory", log.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&memory.stderr);
    assert!(said.contains("no message about memory"), "{said}");
}

#[test]
fn transfers_that_nothing_awaits_ran_all_the_same() {
    let Some(path) = of_corpus("xla_tpu_aot/ring_v5p/overlap_scheduled_hlo.txt") else {
        return;
    };
    let slower = run(&["whatif", &path, "--ici", "0.25x"]);
    let said = String::from_utf8_lossy(&slower.stdout).replace('\n', " ");
    assert_eq!(slower.status.code(), Some(11), "{said}");
    assert!(said.contains("in flight"), "{said}");
    let astra = of_corpus("astra-sim/out/ag_matmul_overlap").unwrap();
    let slower = text(&["whatif", &astra, "--ici", "0.5x"]);
    let slower = slower.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(slower.contains("slower ones cost more"), "{slower}");
    let shares = text(&["analyze", &path, "--only", "utilization", "--top", "0"]);
    assert!(shares.contains("at least 42.78 %"), "{shares}");
}

/// A copy and three permutes move bytes beside the fusions.
#[test]
fn awaited_transfers_count_their_bytes_once() {
    let Some(path) = of_corpus("xla_tpu_aot/ring_v5p/overlap_scheduled_hlo.txt") else {
        return;
    };
    let ops = reports(&path, "ops")["ops"]["report"]["rows"].clone();
    let copy = ops.as_array().unwrap().iter();
    let copy = copy.clone().find(|op| op["name"] == "copy-done").unwrap();
    assert_eq!(
        (
            &copy["memory"]["hbm_read_bytes"],
            &copy["memory"]["vmem_write_bytes"]
        ),
        (&33_554_432_u64.into(), &33_554_432_u64.into()),
        "{copy}"
    );
}

#[test]
fn program_that_ran_once_is_no_loop() {
    let Some(path) = of_corpus("neusim/llama3-8b-tpuv5p-tp4.csv") else {
        return;
    };
    let screen = text(&["analyze", &path]);
    assert!(
        !screen.contains("The loop") && !screen.contains("each step"),
        "{screen}"
    );
}
