//! Programs of real captures beside what `XProf` answers about them.

use std::collections::BTreeSet;

use analysis::Scope;
use analysis::hlo::HloModule;
use analysis::reports::hlo::{NodeRelation, ProgramOrigin, Reach, chosen, neighbourhood, programs};
use serde_json::Value;

use crate::capture::{corpus, open};

#[test]
fn program_list_matches_xprof() {
    let Some(corpus) = corpus() else { return };
    for name in ["tpu/v5e_matmul", "tpu/v6e_x4_host_offload"] {
        let capture = open(&format!("{name}.xplane.pb")).unwrap();
        let list = programs(&capture.cx(Scope::WholeTrace));
        let whole = list
            .rows
            .iter()
            .filter(|row| row.origin == Some(ProgramOrigin::Program));
        let own: BTreeSet<String> = whole.map(|row| row.program.clone()).collect();
        let (folder, file) = name.split_once('/').unwrap();
        let path = corpus
            .join(folder)
            .join("xprof")
            .join(file)
            .join("cli/list_hlo_modules.json");
        let answer: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let listed = answer["modules"]
            .as_array()
            .unwrap()
            .iter()
            .map(|title| title.as_str().unwrap().to_owned());
        assert_eq!(own, listed.collect(), "{name}");
    }
}

/// The compiler states the trip counts of its loops; without that, they follow from the constants of a program.
#[test]
fn trip_counts_follow_from_programs() {
    let Some(corpus) = corpus() else { return };
    let bytes = std::fs::read(corpus.join("host/tpuvm_cpu_backend.xplane.pb")).unwrap();
    let (stated, other) = (b"known_trip_count", b"other_trip_count");
    let mut silent = bytes.clone();
    while let Some(at) = silent.windows(stated.len()).position(|it| it == stated) {
        silent[at..at + stated.len()].copy_from_slice(other);
    }
    let counts = |bytes: Vec<u8>| {
        let source = importers::InputSource::from_bytes("host.xplane.pb", bytes).unwrap();
        let model = importers::import(&source, &importers::Progress::default()).unwrap();
        let mut counts = Vec::new();
        for program in model.program_ids() {
            let Ok(module) = HloModule::of_program(&model, program) else {
                continue;
            };
            let loops = module.iter().filter(|(_, it)| &*it.opcode == "while");
            counts.extend(loops.map(|(_, it)| (it.attributes().trip_count, module.trip_count(it))));
        }
        counts
    };
    let known = counts(bytes);
    let derived = counts(silent);
    assert!(derived.iter().all(|(stated, _)| stated.is_none()));
    // The tuple of the first loop comes from another computation, and is not followed.
    let counted =
        |all: &[(Option<u64>, Option<u64>)]| all.iter().map(|it| it.1).collect::<Vec<_>>();
    assert_eq!(counted(&known), [Some(5), Some(5)]);
    assert_eq!(counted(&derived), [None, Some(5)]);
}

/// `XProf` 2.24.2: `get_hlo_neighborhood --instruction_name broadcast_add_fusion.1 --radius 2 --follow_calls`.
#[test]
fn neighbourhood_matches_xprof() {
    let Some(capture) = open("tpu/v6e_x4_host_offload.xplane.pb") else {
        return;
    };
    let cx = capture.cx(Scope::WholeTrace);
    let program = chosen(&cx, Some("jit_f")).unwrap()[0];
    let found = neighbourhood(&cx, program, "broadcast_add_fusion.1", Reach::default()).unwrap();
    let of = |is_inside: bool| -> BTreeSet<(&str, u32)> {
        let own = found
            .nodes
            .iter()
            .filter(|node| (node.relation == NodeRelation::Inside) == is_inside);
        own.map(|node| (&*node.op.name, node.distance)).collect()
    };
    let around = [
        ("broadcast_add_fusion.1", 0),
        ("copy-done.2", 1),
        ("copy-start.3", 1),
        ("copy-done.3", 2),
        ("copy-start.2", 2),
    ];
    assert_eq!(of(false), around.into());
    let inside: BTreeSet<&str> = of(true).into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        inside,
        ["add.4", "broadcast.8", "constant.7", "param_0.1"].into()
    );
    let shape = |name: &str| {
        found
            .nodes
            .iter()
            .find(|node| &*node.op.name == name)
            .unwrap()
            .op
            .shape
            .clone()
            .unwrap()
    };
    assert_eq!(
        shape("broadcast_add_fusion.1"),
        "f32[5,1024,1024,256]{3,2,1,0:T(8,128)}"
    );
    assert_eq!(
        shape("copy-start.3"),
        "(f32[5,1024,1024,256]{3,2,1,0:T(8,128)S(5)}, f32[5,1024,1024,256]{3,2,1,0:T(8,128)}, u32[]{:S(2)})"
    );
}
