//! What a process was built from and where it runs, written beside its profile.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use analysis::Environment;
use analysis::engine::environment::{RUN_FILE, flags_of, without_secrets};

use super::{checkout, packages};
use crate::files::write_file;

/// Variables that hold flags.
const FLAG_VARIABLES: [&str; 2] = ["XLA_FLAGS", "LIBTPU_INIT_ARGS"];
/// Variables that change what is compiled, or where and how it runs. No other is ever read.
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

/// Whose environment is recorded.
#[derive(Debug, Default)]
pub struct ObservedProcess {
    /// Variables of its environment, of which only allowed ones are used.
    variables: BTreeMap<String, String>,
    /// Its working directory.
    directory: Option<PathBuf>,
    /// Folders with Python packages.
    packages: Vec<PathBuf>,
}

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

    /// Looks for Python packages in these folders.
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
        let mut all_versions = packages::versions(&self.packages, more);
        all_versions.extend(versions.clone());
        let text = |name: &&str| Some(((*name).to_owned(), self.variables.get(*name)?.clone()));
        let flags = FLAG_VARIABLES.iter().filter_map(text);
        let variables = VARIABLES.iter().filter_map(text);
        let directory = self.directory.as_deref();
        Environment {
            recorded_by: Some(by.to_owned()),
            versions: (!all_versions.is_empty()).then_some(all_versions),
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
pub fn write(environment: &Environment, directory: &Path) -> io::Result<PathBuf> {
    let path = directory.join(RUN_FILE);
    write_file(&path, environment.to_json()?)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::read;

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
}
