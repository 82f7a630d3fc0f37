//! Versions of Python packages, from the names of the folders that installers leave beside them: no Python is run.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

/// Packages that are always looked for.
const PACKAGES: [&str; 18] = [
    "flax",
    "jax",
    "jaxlib",
    "libtpu",
    "libtpu-nightly",
    "maxtext",
    "ml-dtypes",
    "numpy",
    "optax",
    "orbax-checkpoint",
    "qwix",
    "tensorflow",
    "tensorflow-tpu",
    "tokamax",
    "torch",
    "torch-xla",
    "transformers",
    "vllm",
];
/// Entries of a folder that are looked at.
const MOST_ENTRIES: usize = 20_000;
/// Bytes of a list of mapped files that are read.
const MOST_MAPS: u64 = 16 << 20;

/// Folders with the packages of the Python that a shell with these variables would start.
pub(super) fn folders(variable: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let set = ["VIRTUAL_ENV", "CONDA_PREFIX"]
        .into_iter()
        .filter_map(variable);
    let mut roots: Vec<PathBuf> = set
        .filter(|root| !root.is_empty())
        .map(PathBuf::from)
        .collect();
    if roots.is_empty() {
        let path = variable("PATH").unwrap_or_default();
        let with_python =
            std::env::split_paths(&path).find(|folder| folder.join("python3").is_file());
        roots.extend(with_python.and_then(|folder| Some(folder.parent()?.to_owned())));
    }
    let libraries = roots.iter().flat_map(|root| entries(&root.join("lib")));
    let libraries = libraries.filter(|path| name_of(path).starts_with("python3"));
    libraries
        .flat_map(|library| ["site-packages", "dist-packages"].map(|name| library.join(name)))
        .filter(|folder| folder.is_dir())
        .collect()
}

/// Folders of packages of which a process has mapped a file.
pub(super) fn mapped(maps: &Path) -> Vec<PathBuf> {
    let Ok(file) = std::fs::File::open(maps) else {
        return Vec::new();
    };
    let mut folders = BTreeSet::new();
    for line in BufReader::new(file.take(MOST_MAPS))
        .lines()
        .map_while(Result::ok)
    {
        let path = line
            .find('/')
            .and_then(|start| line.get(start..))
            .unwrap_or_default();
        for name in ["/site-packages/", "/dist-packages/"] {
            if let Some(slash) = path.find(name) {
                folders.extend(path.get(..slash + name.len() - 1).map(PathBuf::from));
            }
        }
    }
    folders.into_iter().collect()
}

/// Versions of known packages and those of `more` in these folders; the first that has one counts.
pub(super) fn versions(folders: &[PathBuf], more: &[String]) -> BTreeMap<String, String> {
    let wanted: BTreeSet<String> = PACKAGES
        .into_iter()
        .map(str::to_owned)
        .chain(more.iter().map(|name| normal(name)))
        .collect();
    let mut versions = BTreeMap::new();
    for entry in folders.iter().flat_map(|folder| entries(folder)) {
        let name = name_of(&entry);
        let package = name
            .strip_suffix(".dist-info")
            .and_then(|name| name.rsplit_once('-'));
        if let Some((package, version)) = package
            && wanted.contains(&normal(package))
        {
            versions
                .entry(normal(package))
                .or_insert_with(|| version.to_owned());
        }
    }
    versions
}

/// As package indexes compare names.
fn normal(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '.'], "-")
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Sorted, so that the result does not depend on the file system.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .take(MOST_ENTRIES);
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    paths
}
