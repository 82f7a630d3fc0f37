//! What a run was built from and where it ran: read from the file beside its profile, and written there. Only variables of
//! a list are looked at, and values that may be secrets are left out.

#[cfg(not(target_arch = "wasm32"))]
mod checkout;
#[cfg(not(target_arch = "wasm32"))]
mod packages;

use std::io::Read as _;
use std::path::Path;
#[cfg(not(target_arch = "wasm32"))]
use std::{collections::BTreeMap, io, path::PathBuf};

use analysis::Environment;
use analysis::engine::environment::RUN_FILE;
#[cfg(not(target_arch = "wasm32"))]
use analysis::engine::environment::{flags_of, without_secrets};
use trace_model::TraceModel;

#[cfg(not(target_arch = "wasm32"))]
use crate::files::write_file;
use crate::files::{directory_of, open_regular};

/// Largest file that is read.
const MAX_FILE: u64 = 1 << 20;
/// Variables that hold flags.
#[cfg(not(target_arch = "wasm32"))]
const FLAG_VARIABLES: [&str; 2] = ["XLA_FLAGS", "LIBTPU_INIT_ARGS"];
/// Variables that change what is compiled, or where and how it runs. No other is ever read.
#[cfg(not(target_arch = "wasm32"))]
const VARIABLES: [&str; 24] = [
    "JAX_DEFAULT_MATMUL_PRECISION",
    "JAX_DEFAULT_PRNG_IMPL",
    "JAX_DISABLE_JIT",
    "JAX_ENABLE_COMPILATION_CACHE",
    "JAX_ENABLE_X64",
    "JAX_NUMPY_DTYPE_PROMOTION",
    "JAX_PLATFORMS",
    "JAX_THREEFRY_PARTITIONABLE",
    "JAX_USE_SHARDY_PARTITIONER",
    "MEGASCALE_NUM_SLICES",
    "PJRT_DEVICE",
    "PT_XLA_DEBUG_LEVEL",
    "TPU_ACCELERATOR_TYPE",
    "TPU_CHIPS_PER_HOST_BOUNDS",
    "TPU_CHIPS_PER_PROCESS_BOUNDS",
    "TPU_HOST_BOUNDS",
    "TPU_MEGACORE",
    "TPU_PREMAPPED_BUFFER_SIZE",
    "TPU_PROCESS_BOUNDS",
    "TPU_TOPOLOGY",
    "TPU_VISIBLE_CHIPS",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "XLA_USE_BF16",
    "XLA_USE_SPMD",
];

/// What the file beside the profiles of a trace says, if there is one.
pub fn beside(model: &TraceModel) -> Option<Environment> {
    let paths = model
        .sources()
        .iter()
        .filter_map(|source| source.path.as_deref());
    let mut directories: Vec<&Path> = paths
        .filter(|path| !importers::is_remote(path))
        .map(directory_of)
        .collect();
    directories.dedup();
    directories.into_iter().find_map(read)
}

/// The file in a directory, if there is one.
fn read(directory: &Path) -> Option<Environment> {
    let file = open_regular(&directory.join(RUN_FILE)).ok()?;
    let mut text = Vec::new();
    let read = file.take(MAX_FILE + 1).read_to_end(&mut text);
    let why = match read {
        Err(error) => error.to_string(),
        Ok(_) if text.len() as u64 > MAX_FILE => "it is larger than 1 MiB".to_owned(),
        Ok(_) => return Some(Environment::read(&text)),
    };
    Some(Environment {
        unreadable: Some(format!("{RUN_FILE} cannot be read: {why}")),
        ..Environment::default()
    })
}

/// Whose environment is recorded.
#[cfg(not(target_arch = "wasm32"))]
#[derive(Debug, Default)]
pub struct ObservedProcess {
    /// Variables of its environment, of which only allowed ones are used.
    variables: BTreeMap<String, String>,
    /// Its working directory.
    directory: Option<PathBuf>,
    /// Folders with Python packages.
    packages: Vec<PathBuf>,
}

#[cfg(not(target_arch = "wasm32"))]
impl ObservedProcess {
    /// This process.
    pub fn this() -> Self {
        let variables = std::env::vars_os();
        let text = |text: std::ffi::OsString| text.into_string().ok();
        let variables: BTreeMap<String, String> = variables
            .filter_map(|(name, value)| Some((text(name)?, text(value)?)))
            .collect();
        Self {
            packages: packages::folders(&|name| variables.get(name).cloned()),
            directory: std::env::current_dir().ok(),
            variables,
        }
    }

    /// The same with Python packages in these folders.
    #[must_use]
    pub fn with_packages(self, packages: Vec<PathBuf>) -> Self {
        Self { packages, ..self }
    }

    /// Another process of this machine; `None` if it cannot be looked at.
    pub fn other(process: i64) -> Option<Self> {
        let folder = PathBuf::from(format!("/proc/{process}"));
        let environ = std::fs::read(folder.join("environ")).ok()?;
        let variables = environ.split(|byte| *byte == 0).filter_map(|entry| {
            let (name, value) = std::str::from_utf8(entry).ok()?.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        });
        Some(Self {
            variables: variables.collect(),
            directory: std::fs::read_link(folder.join("cwd")).ok(),
            packages: packages::mapped(&folder.join("maps")),
        })
    }

    /// What is known of it. `versions` are those that are known already; `more` are names of packages to look for besides
    /// those that are always looked for.
    pub fn environment(
        &self,
        by: &str,
        versions: &BTreeMap<String, String>,
        more: &[String],
    ) -> Environment {
        let mut found = packages::versions(&self.packages, more);
        found.extend(versions.clone());
        let text = |name: &&str| Some(((*name).to_owned(), self.variables.get(*name)?.clone()));
        let flags = FLAG_VARIABLES.iter().filter_map(text);
        let variables = VARIABLES.iter().filter_map(text);
        let directory = self.directory.as_deref();
        Environment {
            recorded_by: Some(by.to_owned()),
            versions: (!found.is_empty()).then_some(found),
            flags: Some(
                flags
                    .flat_map(|(_, text)| flags_of(&text).collect::<Vec<_>>())
                    .collect(),
            ),
            variables: Some(
                variables
                    .map(|(name, value)| (without_secrets(&name, &value), name))
                    .map(|(value, name)| (name, value))
                    .collect(),
            ),
            topology: self.variables.get("TPU_TOPOLOGY").cloned(),
            git: directory.and_then(checkout::state),
            lock: directory.and_then(checkout::lock_file),
            ..Environment::default()
        }
    }
}

/// Writes the file into the directory of a run.
///
/// # Errors
///
/// The directory cannot be written to.
#[cfg(not(target_arch = "wasm32"))]
pub fn write(environment: &Environment, directory: &Path) -> io::Result<PathBuf> {
    let path = directory.join(RUN_FILE);
    write_file(&path, environment.to_json()?)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(variables: &[(&str, &str)], directory: &Path) -> ObservedProcess {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        ObservedProcess {
            variables: variables.iter().map(own).collect(),
            directory: Some(directory.to_owned()),
            packages: vec![directory.to_owned()],
        }
    }

    #[test]
    fn only_allowed_variables_and_no_secrets_are_written() {
        let dir = tempfile::tempdir().unwrap();
        let secret = "hf_0123456789abcdef";
        let variables = [
            ("HF_TOKEN", secret),
            ("AWS_SECRET_ACCESS_KEY", secret),
            ("WANDB_API_KEY", secret),
            ("JAX_PLATFORMS", "tpu"),
            (
                "XLA_FLAGS",
                "--xla_a=1 --xla_auth_token=hf_0123456789abcdef hf_0123456789abcdef",
            ),
            (
                "LIBTPU_INIT_ARGS",
                "--xla_dump_to=https://u:hf_0123456789abcdef@host/x",
            ),
        ];
        let found = process(&variables, dir.path()).environment("test", &BTreeMap::new(), &[]);
        let path = write(&found, dir.path()).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        assert!(
            !text.contains(secret) && !text.contains("HF_TOKEN"),
            "{text}"
        );
        let read = read(dir.path()).unwrap();
        assert_eq!(read.variables.unwrap()["JAX_PLATFORMS"], "tpu");
        let flags = read.flags.unwrap();
        assert_eq!((flags["xla_a"].as_str(), flags.len()), ("1", 3));
    }

    #[test]
    fn lock_file_and_packages_are_found() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("uv.lock"), "abc").unwrap();
        for name in [
            "jax-0.10.2.dist-info",
            "my_model-1.2.dist-info",
            "secret_lib-3.dist-info",
        ] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let found = process(&[], dir.path()).environment(
            "test",
            &BTreeMap::new(),
            &["My-Model".to_owned()],
        );
        let lock = found.lock.unwrap();
        assert!(
            lock.name == "uv.lock" && lock.sha256.starts_with("ba7816bf"),
            "{lock:?}"
        );
        let versions: Vec<_> = found.versions.unwrap().into_iter().collect();
        let expected = [("jax", "0.10.2"), ("my-model", "1.2")];
        assert_eq!(
            versions,
            expected.map(|(name, version)| (name.to_owned(), version.to_owned()))
        );
        assert_eq!(found.git, None, "the folder is no checkout");
    }

    #[test]
    fn broken_files_are_said_to_be_broken() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path()), None);
        std::fs::write(dir.path().join(RUN_FILE), vec![b' '; (1 << 20) + 1]).unwrap();
        let why = read(dir.path()).unwrap().unreadable.unwrap();
        assert!(why.contains("larger than 1 MiB"), "{why}");
    }
}
