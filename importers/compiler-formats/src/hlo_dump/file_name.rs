//! What the name of a file tells about the program in it.

use importer_common::names::program_name;

/// The name of a file that may hold a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DumpName {
    /// The part that all files of one program share.
    pub stem: String,
    /// The id of the program, if XProf wrote the file.
    pub program_id: Option<u64>,
    /// The number of the module in its process, if XLA dumped it.
    pub module_number: Option<u64>,
    /// How much the file says; of the files of one program the lowest says most.
    pub rank: u8,
}

/// Stages of the compiler in which a program has its final instructions. The earlier one has the plan of the memory:
/// libtpu writes none after it.
const STAGES: [&str; 2] = ["after_optimizations", "after_codegen"];

impl DumpName {
    /// Takes a name apart; `None` for files that hold no program, or one that the compiler still changed.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.strip_suffix(".gz").unwrap_or(name);
        if let Some(stem) = name.strip_suffix(".hlo_proto.pb") {
            let program_id = program_name(stem).1;
            return Some(Self {
                stem: stem.to_owned(),
                program_id,
                module_number: None,
                rank: 0,
            });
        }
        // The protobuf also holds the buffers.
        let (rest, form) = match name.strip_suffix(".hlo.pb") {
            Some(rest) => (rest, 0),
            None => (
                name.strip_suffix(".txt")
                    .or_else(|| name.strip_suffix(".hlo"))?,
                1,
            ),
        };
        let staged = rest.rsplit_once('.').and_then(|(stem, stage)| {
            // `cpu_after_optimizations`: some compilers put their platform before it.
            let stage = STAGES.iter().position(|known| stage.ends_with(known))?;
            Some((stem, stage as u8))
        });
        let module_number = module_number(rest);
        let (stem, rank) = match staged {
            // A text has no plan: the later stage says more.
            Some((stem, stage)) if form > 0 => (stem, 3 - stage),
            Some((stem, stage)) => (stem, stage),
            None if module_number.is_some() => return None,
            None => (rest, form),
        };
        Some(Self {
            stem: stem.to_owned(),
            program_id: None,
            module_number,
            rank,
        })
    }

    /// Whether it may be of a program of this name, as far as the name of the file tells.
    pub fn may_be_of(&self, program: &str) -> bool {
        let kept = |c: char| {
            if c.is_ascii_alphanumeric() || "_.-".contains(c) {
                c
            } else {
                '_'
            }
        };
        let sanitized: String = program.chars().map(kept).collect();
        self.stem.contains(program) || self.stem.contains(&sanitized)
    }
}

/// The number in a name that XLA chose: `module_0003.jit_f`, perhaps after a prefix.
fn module_number(name: &str) -> Option<u64> {
    name.match_indices("module_").find_map(|(start, mark)| {
        let rest = &name[start + mark.len()..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        (digits >= 4).then(|| rest[..digits].parse().ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_final_programs_are_taken_apart() {
        for (name, stem, program_id, module_number, rank) in [
            ("jit_f(42).hlo_proto.pb", "jit_f(42)", Some(42), None, 0),
            ("jit_f.hlo_proto.pb", "jit_f", None, None, 0),
            (
                "module_0003.jit_f.cpu_after_optimizations.hlo.pb",
                "module_0003.jit_f",
                None,
                Some(3),
                0,
            ),
            (
                "module_0003.jit_f.after_codegen.hlo.pb",
                "module_0003.jit_f",
                None,
                Some(3),
                1,
            ),
            (
                "module_0003.jit_f.after_codegen.txt.gz",
                "module_0003.jit_f",
                None,
                Some(3),
                2,
            ),
            ("step_v5p.txt", "step_v5p", None, None, 1),
        ] {
            let expected = DumpName {
                stem: stem.to_owned(),
                program_id,
                module_number,
                rank,
            };
            assert_eq!(DumpName::parse(name), Some(expected), "{name}");
        }
        for other in [
            "module_0003.jit_f.before_optimizations.hlo.pb",
            "module_0003.jit_f.cpu_after_optimizations-buffer-assignment.txt",
            "module_0003.jit_f.0004.simplification.after_dce.before_cse.txt",
            "module_0003.jit_f.schedule.txt",
            "module_0003.jit_f.debug_options",
            "host.xplane.pb",
        ] {
            assert_eq!(DumpName::parse(other), None, "{other}");
        }
    }

    #[test]
    fn file_of_a_bucket_is_read_only_if_its_name_fits() {
        let name = DumpName::parse("module_0003.jit_f_x_.after_codegen.txt").unwrap();
        assert!(name.may_be_of("jit_f<x>") && !name.may_be_of("jit_g"));
    }
}
