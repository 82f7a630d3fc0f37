use std::fs;

use input::storage::LocalTree;
use sample_traces::write::ProtoMessage;
use trace_model::{Op, TraceModel};

use super::*;

/// A program as protobuf: an instruction of each name and size.
fn proto(name: &str, id: u64, instructions: &[(&str, u64)]) -> Vec<u8> {
    let mut file = ProtoMessage::default();
    file.message(1, |module| {
        module.text(1, name);
        module.message(3, |computation| {
            for (name, size) in instructions {
                computation.message(2, |instruction| {
                    instruction.text(1, name);
                    instruction.text(2, "negate");
                    instruction.message(3, |shape| {
                        shape.present(2, 11);
                        shape.packed(3, [*size]);
                    });
                });
            }
        });
        module.present(5, id);
    });
    file.into_bytes()
}

fn text(name: &str, size: u64) -> String {
    format!(
        "HloModule {name}, is_scheduled=true\n\nENTRY %main (p: f32[{size}]) -> f32[{size}] {{\n  %p = f32[{size}] \
         parameter(0)\n  ROOT %fusion.1 = f32[{size}] negate(%p)\n}}\n"
    )
}

/// A trace in which `fusion.1` of each program ran, with a result of eight numbers.
fn traced(programs: &[(&str, u64)]) -> TraceBuilder {
    let mut out = TraceBuilder::new();
    out.begin_source(trace_model::Source::default());
    for &(name, id) in programs {
        let program = Some(out.program(name, Some(id)));
        let name = out.intern("fusion.1");
        let hlo_text = Some(out.intern("%fusion.1 = f32[8]{0} fusion(f32[8]{0} %p), kind=kLoop"));
        out.op(Op {
            name,
            program,
            hlo_text,
            ..Op::default()
        });
    }
    out
}

struct LocalFiles;

impl DumpFiles for LocalFiles {
    fn tree(&self, _: &Path) -> Result<Box<dyn FileTree>, ImportError> {
        Ok(Box::new(LocalTree))
    }

    fn open(&mut self, path: &Path) -> Result<InputSource, ImportError> {
        InputSource::open(path)
    }
}

/// What the dump adds: programs with HLO, and what the log says.
fn add_dump(mut out: TraceBuilder, dump: &Path) -> Result<(Vec<String>, TraceModel), ImportError> {
    let progress = Progress::new();
    add(&[dump.to_owned()], &mut LocalFiles, &progress, &mut out)?;
    let model = out.finish();
    let with = model
        .programs()
        .iter()
        .filter(|program| program.hlo.is_some());
    let titles = with.map(|program| {
        format!(
            "{}({})",
            model.str(program.name),
            program.id.unwrap_or_default()
        )
    });
    Ok((titles.collect(), model))
}

fn said(model: &TraceModel, kind: IssueKind) -> String {
    let counts = model.import_log().counts().iter();
    counts
        .filter(|issue| issue.kind == kind)
        .flat_map(|issue| issue.examples.clone())
        .collect::<Vec<_>>()
        .join("; ")
}

#[test]
fn files_with_the_id_of_a_program_are_its_own() {
    let dir = tempfile::tempdir().unwrap();
    // XProf's cache has the id in its name; on CPUs the number of the module is the id.
    fs::write(
        dir.path().join("jit_f(11).hlo_proto.pb"),
        proto("jit_f", 3, &[("fusion.1", 8)]),
    )
    .unwrap();
    fs::write(
        dir.path().join("jit_f(13).hlo_proto.pb"),
        proto("jit_f", 12, &[("y", 1)]),
    )
    .unwrap();
    let ran = proto("jit_f", 12, &[("fusion.1", 8)]);
    fs::write(
        dir.path()
            .join("module_0012.jit_f.cpu_after_optimizations.hlo.pb"),
        ran,
    )
    .unwrap();
    fs::write(
        dir.path()
            .join("module_0005.jit_g.cpu_after_optimizations.hlo.pb"),
        proto("jit_g", 5, &[("z", 1)]),
    )
    .unwrap();
    fs::write(dir.path().join("README.txt"), "not a program").unwrap();
    let (with, model) = add_dump(
        traced(&[("jit_f", 11), ("jit_f", 12), ("jit_f", 14)]),
        dir.path(),
    )
    .unwrap();
    assert_eq!(with, ["jit_f(11)", "jit_f(12)"]);
    assert!(
        said(&model, IssueKind::ProgramFromDump)
            .contains("jit_f(11): jit_f(11).hlo_proto.pb by its id")
    );
    assert!(
        said(&model, IssueKind::ProgramNotInDump).starts_with("jit_f(14): 3 programs of the trace")
    );
    assert!(said(&model, IssueKind::DumpNotUsed).ends_with("programs: 4, used: 2"));
}

/// Every process counts its modules, so a dump of another one has the same numbers.
#[test]
fn the_number_of_a_module_does_not_decide_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name);
    fs::write(
        file("one.hlo_proto.pb"),
        proto("jit_f", 12, &[("fusion.1", 8)]),
    )
    .unwrap();
    let refused = |why: &str| {
        let (with, model) = add_dump(traced(&[("jit_f", 12)]), dir.path()).unwrap();
        let said = said(&model, IssueKind::ProgramNotInDump);
        assert!(with.is_empty() && said.contains(why), "{with:?} {said}");
    };
    assert_eq!(
        add_dump(traced(&[("jit_f", 12)]), dir.path()).unwrap().0,
        ["jit_f(12)"]
    );
    fs::write(
        file("two.hlo_proto.pb"),
        proto("jit_f", 12, &[("other.1", 8)]),
    )
    .unwrap();
    refused("different programs have this id, name one of one.hlo_proto.pb, two.hlo_proto.pb");
    fs::remove_file(file("one.hlo_proto.pb")).unwrap();
    refused("two.hlo_proto.pb has 0 of 1 ops that ran");
}

#[test]
fn a_name_decides_where_only_one_program_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let file = |number: u32| {
        dir.path()
            .join(format!("module_{number:04}.jit_f.after_codegen.txt"))
    };
    fs::write(file(3), text("jit_f", 8)).unwrap();
    // The same program, compiled again.
    fs::write(file(4), text("jit_f", 8)).unwrap();
    let (with, model) = add_dump(traced(&[("jit_f", 11)]), dir.path()).unwrap();
    assert_eq!(with, ["jit_f(11)"]);
    let how = said(&model, IssueKind::ProgramFromDump);
    assert!(
        how.ends_with("module_0003.jit_f.after_codegen.txt by its name, with 1 of 1 ops that ran"),
        "{how}"
    );
    let two = add_dump(traced(&[("jit_f", 11), ("jit_f", 12)]), dir.path()).unwrap();
    assert_eq!(
        (
            two.0.len(),
            two.1.import_log().count(IssueKind::ProgramNotInDump)
        ),
        (0, 2)
    );
    // A different one of the same name.
    fs::write(file(5), text("jit_f", 16)).unwrap();
    let (with, model) = add_dump(traced(&[("jit_f", 11)]), dir.path()).unwrap();
    assert_eq!(with, [""; 0]);
    let why = said(&model, IssueKind::ProgramNotInDump);
    assert!(
        why.contains("name one of module_0003.jit_f.after_codegen.txt, module_0004"),
        "{why}"
    );
    // The user names one.
    assert_eq!(
        add_dump(traced(&[("jit_f", 11)]), &file(3)).unwrap().0,
        ["jit_f(11)"]
    );
    let (with, model) = add_dump(traced(&[("jit_f", 11)]), &file(5)).unwrap();
    assert_eq!(with, [""; 0]);
    assert!(said(&model, IssueKind::ProgramNotInDump).contains("has another shape of fusion.1"));
}

#[test]
fn a_program_with_other_instructions_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("jit_f.hlo_proto.pb");
    fs::write(&file, proto("jit_f", 3, &[("other.1", 8)])).unwrap();
    let (with, model) = add_dump(traced(&[("jit_f", 11)]), dir.path()).unwrap();
    assert_eq!(with, [""; 0]);
    assert!(said(&model, IssueKind::ProgramNotInDump).contains("has 0 of 1 ops that ran"));
}

#[test]
fn folders_without_programs_and_damaged_files_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("host.xplane.pb"), "x").unwrap();
    let error = add_dump(traced(&[("jit_f", 11)]), dir.path())
        .unwrap_err()
        .to_string();
    assert!(error.contains("--xla_dump_hlo_as_proto"), "{error}");
    let whole = proto("jit_f", 11, &[("fusion.1", 8)]);
    for end in 0..whole.len() {
        fs::write(dir.path().join("jit_f(11).hlo_proto.pb"), &whole[..end]).unwrap();
        match add_dump(traced(&[("jit_f", 11)]), dir.path()) {
            Ok((with, model)) => {
                assert_eq!(
                    (
                        with.len(),
                        model.import_log().count(IssueKind::SourceSkipped)
                    ),
                    (0, 1),
                    "{end}"
                );
            }
            Err(error) => assert!(
                error.to_string().contains("no program there"),
                "{end}: {error}"
            ),
        }
    }
}
