//! What the environment says about clouds: the variables that their own tools read, and ours.

use std::collections::BTreeMap;
use std::path::PathBuf;

use input::network::AllowedHosts;

/// Attempts after the first, with doubling pauses.
pub(crate) const RETRIES: usize = 4;

/// The environment, as it was when an address was opened.
pub(crate) struct CloudSettings {
    variables: BTreeMap<String, String>,
    pub hosts: AllowedHosts,
}

impl CloudSettings {
    /// The environment of the process. Unit tests never ask other machines.
    pub fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self::of(std::env::vars_os().filter_map(text).collect())
    }

    /// These variables.
    pub fn of(variables: BTreeMap<String, String>) -> Self {
        Self {
            variables,
            hosts: if cfg!(test) {
                AllowedHosts::Loopback
            } else {
                AllowedHosts::of_process()
            },
        }
    }

    /// A variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// The first of several variables that is set.
    pub fn first(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.get(name))
    }

    /// Variables whose names begin so.
    pub fn beginning_with(&self, prefix: &str) -> impl Iterator<Item = (&str, &str)> {
        let all = self
            .variables
            .iter()
            .filter(move |(name, value)| name.starts_with(prefix) && !value.is_empty());
        all.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The user's home directory.
    pub fn home(&self) -> Option<PathBuf> {
        let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        self.get(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    }
}
