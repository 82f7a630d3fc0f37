//! What the compiler writes beside the programs that it dumps (`--xla_dump_to=DIR`): all flags with their values, and the
//! grid of chips that it compiled for.
//!
//! ```text
//! module_0003.jit_f.cl_933746096.after_optimizations.txt    the program, and the build of libtpu
//! module_0003.jit_f.cl_933746096.flagfile                   flags of libtpu: --name=value
//! module_0003.jit_f.cl_933746096.debug_options              flags of XLA that do not have their defaults: name: value
//! module_0003.jit_f.cl_933746096.target_arguments.txt       the grid of chips
//! ```
//!
//! Files seen of libtpu 0.0.44 and of XLA for CPUs (JAX 0.10.2).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use analysis::Environment;
use analysis::engine::environment::without_secrets;

use crate::files::directory_of;

/// Programs whose flags are read, the first ones by name: more are of the same kind.
const MOST_PROGRAMS: usize = 64;
/// Most flags of a program.
const MOST_FLAGS: usize = 10_000;
/// Length from which nothing is added to a value.
const MOST_VALUE: usize = 4096;
/// Most parts of the name of a file, divided by dots.
const MOST_PARTS: usize = 12;
/// Where a dump is written changes no program.
const OF_DUMPS: &str = "xla_dump_";

/// Adds what the compiler wrote beside dumped programs, or beside those of folders. A flag that programs have with different
/// values has all of them: `0 or 1`.
pub(super) fn add(paths: &[&Path], roots: &[PathBuf], known: &mut Environment) {
    let stems = paths.iter().flat_map(|path| {
        if path.is_dir() {
            stems_in(path)
        } else {
            stem_of(path).into_iter().collect()
        }
    });
    let stems: BTreeSet<PathBuf> = stems.collect();
    let stems = || stems.iter().take(MOST_PROGRAMS);
    let lists: Vec<DumpedFlags> = stems()
        .map(|stem| DumpedFlags::beside(stem, roots))
        .filter(|list| !list.flags.is_empty())
        .collect();
    let mut flags: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, value) in lists.iter().flat_map(|list| &list.flags) {
        flags.entry(name).or_default().insert(value);
    }
    let is_only_source = known.flags.as_ref().is_none_or(BTreeMap::is_empty);
    if is_only_source && !flags.is_empty() {
        known.from_dump.insert("flag.".to_owned());
    }
    known.has_default_flags = !lists.is_empty() && lists.iter().all(|list| list.has_defaults);
    for (name, mut values) in flags {
        if lists.iter().any(|list| !list.flags.contains_key(name)) {
            values.insert("not listed");
        }
        let values = values.into_iter();
        if !is_only_source {
            known.from_dump.insert(format!("flag.{name}"));
        }
        let known = known.flags.get_or_insert_default();
        known.insert(name.to_owned(), trace_model::joined(values, " or "));
    }
    let builds: BTreeSet<String> = stems().filter_map(|stem| build(stem)).collect();
    if !builds.is_empty() {
        let builds = builds.into_iter();
        let versions = known.versions.get_or_insert_default();
        versions.insert(
            "libtpu_build".to_owned(),
            trace_model::joined(builds, " or "),
        );
        known.from_dump.insert("version.libtpu_build".to_owned());
    }
    let targets = stems().filter_map(|stem| text(&beside(stem, "target_arguments.txt"), roots));
    let grids: BTreeSet<String> = targets.filter_map(|text| grid(&text)).collect();
    if known.topology.is_none() && grids.len() == 1 {
        known.topology = grids.into_iter().next();
        known.from_dump.insert("topology".to_owned());
    }
}

/// The name that all files of a dumped program begin with, if it has flags.
fn stem_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let ends = name.rmatch_indices('.').take(MOST_PARTS);
    let stems = ends.map(|(end, _)| path.with_file_name(&name[..end]));
    let mut stems = stems.filter(|stem| stem.file_name() != Some(OsStr::new("")));
    stems.find(|stem| {
        let is_there = |end| beside(stem, end).is_file();
        is_there("flagfile") || is_there("debug_options")
    })
}

/// The stems of all programs of a folder.
fn stems_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let stem = |entry: std::fs::DirEntry| {
        let path = entry.path();
        let name = path.file_name()?.to_str()?;
        let stem = name
            .strip_suffix(".debug_options")
            .or_else(|| name.strip_suffix(".flagfile"))?;
        Some(path.with_file_name(stem))
    };
    entries.filter_map(stem).collect()
}

fn beside(stem: &Path, end: &str) -> PathBuf {
    let mut name = stem.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(end);
    directory_of(stem).join(name)
}

/// The text of a file, if it is there, is not too large and lies in a folder that may be read.
fn text(path: &Path, roots: &[PathBuf]) -> Option<String> {
    importers::is_within(path, roots)
        .then(|| importers::small_text(path))
        .flatten()
}

/// The flags of one program.
#[derive(Default)]
struct DumpedFlags {
    flags: BTreeMap<String, String>,
    /// Whether libtpu wrote its list.
    has_defaults: bool,
}

impl DumpedFlags {
    fn beside(stem: &Path, roots: &[PathBuf]) -> Self {
        let mut facts = Self::default();
        let options = text(&beside(stem, "debug_options"), roots).unwrap_or_default();
        for (name, value) in fields(&options) {
            facts.add(name, value);
        }
        let flag_file = text(&beside(stem, "flagfile"), roots);
        facts.has_defaults = flag_file.is_some();
        let flag_file = flag_file.unwrap_or_default();
        let lines = flag_file.lines().filter_map(|line| line.strip_prefix("--"));
        let mut of_libtpu = Self::default();
        for (name, value) in lines.filter_map(|line| line.split_once('=')) {
            of_libtpu.add(name, value.trim_matches('\''));
        }
        facts.flags.extend(of_libtpu.flags);
        facts
    }

    /// Adds a value; a field that is repeated has several.
    fn add(&mut self, name: &str, value: &str) {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_flag = !name.is_empty() && name.bytes().all(is_word) && !name.starts_with(OF_DUMPS);
        if !is_flag || self.flags.len() >= MOST_FLAGS {
            return;
        }
        let value = without_secrets(name, value);
        self.flags
            .entry(name.to_owned())
            .and_modify(|known| {
                if known.len() < MOST_VALUE {
                    known.extend([",", &value]);
                }
            })
            .or_insert(value);
    }
}

/// The fields of a message as text that are no messages themselves: `name: value`.
fn fields(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut depth = 0_usize;
    text.lines().filter_map(move |line| {
        let line = line.trim();
        if line.ends_with('{') {
            depth += 1;
        } else if line == "}" {
            depth = depth.saturating_sub(1);
        }
        let (name, value) = line.split_once(": ").filter(|_| depth == 0)?;
        Some((name, value.trim_matches('"')))
    })
}

/// `cl_933746096`, the build of libtpu in the name of the file.
fn build(stem: &Path) -> Option<String> {
    let name = stem.file_name()?.to_str()?;
    let mut parts = name.split('.');
    let is_build = |part: &&str| {
        let digits = part.strip_prefix("cl_").unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    parts.find(is_build).map(str::to_owned)
}

/// `2x2x2`: the chips of all hosts, from the chips of a host and the grid of hosts.
fn grid(text: &str) -> Option<String> {
    let bounds = |name: &str| -> Option<[u64; 3]> {
        let begin = format!("{name} {{");
        let lines = text
            .lines()
            .map(str::trim)
            .skip_while(|line| *line != begin);
        let lines: Vec<&str> = lines.skip(1).take_while(|line| *line != "}").collect();
        let size = |axis: &str| {
            let mut fields = lines.iter().filter_map(|line| line.split_once(": "));
            let (_, value) = fields.find(|(name, _)| *name == axis)?;
            value.parse::<u64>().ok()
        };
        Some([size("x")?, size("y")?, size("z")?])
    };
    let (chips, hosts) = (bounds("chips_per_host_bounds")?, bounds("host_bounds")?);
    let sizes: Option<Vec<String>> = chips
        .into_iter()
        .zip(hosts)
        .map(|(chips, hosts)| Some(chips.checked_mul(hosts)?.to_string()))
        .collect();
    Some(sizes?.join("x"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: &str = "replica_count: 1\ntpu_topology_args {\n  version: TPU_VERSION_VIPERFISH\n  \
        chips_per_host_bounds {\n    x: 2\n    y: 2\n    z: 1\n  }\n  host_bounds {\n    x: 1\n    y: 1\n    z: 2\n  }\n}\n";

    fn dump(folder: &Path, module: &str, flags: &str) -> PathBuf {
        let write = |end: &str, text: &str| {
            let path = folder.join(format!("{module}.cl_933746096.{end}"));
            std::fs::write(&path, text).unwrap();
            path
        };
        write("flagfile", flags);
        write(
            "debug_options",
            "xla_cpu_enable_fast_math: true\nxla_dump_to: \"/tmp/x\"\nxla_map {\n  key: 1\n}\n",
        );
        write("target_arguments.txt", TARGET);
        write("after_optimizations.txt", "HloModule m\n")
    }

    #[test]
    fn flags_build_and_grid_are_read_beside_a_dumped_program() {
        let dir = tempfile::tempdir().unwrap();
        let flags = "--xla_tpu_a=1\n--xla_tpu_b='false'\n";
        let program = dump(dir.path(), "module_0000.jit_f", flags);
        let mut known = Environment::default();
        add(&[&program], &[], &mut known);
        let shown: Vec<String> = known
            .facts()
            .iter()
            .map(|fact| format!("{} {}", fact.id, fact.value))
            .collect();
        assert_eq!(
            shown,
            [
                "topology 2x2x2",
                "version.libtpu_build cl_933746096",
                "flag.xla_cpu_enable_fast_math true",
                "flag.xla_tpu_a 1",
                "flag.xla_tpu_b false"
            ]
        );
        assert!(known.has_looked_for("flag.xla_tpu_c"));
        // Another program has its own value of one flag, and repeats another.
        dump(
            dir.path(),
            "module_0001.jit_g",
            "--xla_tpu_a=2\n--xla_tpu_b='false'\n--xla_tpu_c='a b'\n--xla_tpu_c=d --xla_evil=1\n",
        );
        let mut both = Environment::default();
        add(&[dir.path(), &program], &[], &mut both);
        let flags = both.flags.iter().flatten();
        let flags: Vec<String> = flags
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        assert_eq!(
            flags,
            [
                "xla_cpu_enable_fast_math true",
                "xla_tpu_a 1 or 2",
                "xla_tpu_b false",
                "xla_tpu_c a b,d --xla_evil=1 or not listed"
            ]
        );
        assert!(both.has_default_flags && both.from_profile.is_empty());
        assert!(both.is_from_dump("flag.xla_tpu_a") && !both.is_from_dump("version.jax"));
        // Beside flags from elsewhere each has its source.
        let mut mixed = Environment {
            flags: Some([("xla_own".to_owned(), "1".to_owned())].into()),
            ..Environment::default()
        };
        add(&[&program], &[], &mut mixed);
        assert!(mixed.is_from_dump("flag.xla_tpu_a") && !mixed.is_from_dump("flag.xla_own"));
        // Files of other programs say nothing.
        let other = dir.path().join("program.txt");
        std::fs::write(&other, "HloModule m\n").unwrap();
        let mut none = Environment::default();
        add(&[&other], &[], &mut none);
        assert_eq!(none, Environment::default());
    }

    #[test]
    fn damaged_descriptions_of_targets_say_nothing() {
        for damaged in [
            "",
            "chips_per_host_bounds {",
            "host_bounds { x: 1 }",
            "\u{0}",
        ] {
            assert_eq!(grid(damaged), None);
        }
        let huge = TARGET
            .replace("x: 2", &format!("x: {}", u64::MAX))
            .replace("z: 2", "z: 3");
        assert_eq!(grid(&huge.replace("x: 1\n", "x: 9\n")), None);
    }
}
