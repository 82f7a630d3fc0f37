//! What a run was built from and where it ran: versions, flags, chip, code. This is the one declaration of these fields:
//! what is written beside a profile, saved with a summary and compared.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Name of the file beside a profile.
pub const RUN_FILE: &str = "systole.run.json";
/// Fields may be added under the same number, never changed or removed.
pub const RUN_SCHEMA: &str = "systole.run/1";
/// Most entries and longest text that are taken from a file.
const MOST_ENTRIES: usize = 2000;
const MOST_BYTES: usize = 4096;
/// Digits of hashes that are shown.
const SHOWN_DIGITS: usize = 12;
/// What ids of flags begin with.
const FLAG: &str = "flag.";
/// Beginnings of the names of flags that libtpu takes, and not XLA.
const OF_TPU: [&str; 5] = [
    "xla_tpu",
    "xla_xprof",
    "xla_enable_custom_call",
    "xla_jf",
    "xla_sc",
];
/// Parts of names of flags whose values may be secrets.
const SECRETS: [&str; 7] = [
    "token",
    "secret",
    "password",
    "passwd",
    "credential",
    "auth",
    "_key",
];

/// What a run was built from and where it ran. What is not known is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(title = "systole.run.json")]
pub struct Environment {
    /// `systole.run/1`
    #[serde(default)]
    pub schema: String,
    /// The program that wrote it, and whose environment it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_by: Option<String>,
    /// Versions of Python and its packages: `jax`, `jaxlib`, `libtpu` and others that were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<BTreeMap<String, String>>,
    /// Flags of XLA and libtpu, without dashes, with their values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flags: Option<BTreeMap<String, String>>,
    /// Variables of the environment that change what is compiled or where it runs, from a list of allowed ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<BTreeMap<String, String>>,
    /// `TPU v6 Lite`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chip: Option<String>,
    /// The grid of chips: `2x2x1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<String>,
    /// The code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitState>,
    /// The file that pins all dependencies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<LockFile>,
    /// Ids of the fields that the profile itself records, as `version.jax`; the others are from the file beside it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub from_profile: BTreeSet<String>,
    /// Ids of the fields that the compiler wrote beside the programs that it dumped; `flag.` stands for all flags.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub from_dump: BTreeSet<String>,
    /// Whether `flags` has all flags of libtpu, also those that have their defaults: the list of a dump.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_default_flags: bool,
    /// Why there is less than the file beside the profile should say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
}

/// The state of a git checkout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GitState {
    /// Hash of the commit.
    pub commit: String,
    /// Whether files that git knows were changed; `None` if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_dirty: Option<bool>,
    /// First line of its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

/// A file that pins dependencies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LockFile {
    /// `uv.lock`.
    pub name: String,
    /// SHA-256 of its bytes.
    pub sha256: String,
}

/// One fact of an environment.
#[derive(Debug, PartialEq, Eq)]
pub struct EnvironmentFact {
    /// `version.jax`, `flag.xla_tpu_enable_latency_hiding_scheduler`, `git.commit`.
    pub id: String,
    /// What is shown: `jax`, `--flag`, `Commit`.
    pub title: String,
    pub value: String,
}

impl Environment {
    /// What a file beside a profile says, or why it says nothing.
    pub fn read(text: &[u8]) -> Self {
        let unreadable = |why: String| Self {
            unreadable: Some(format!("{RUN_FILE} {why}")),
            ..Self::default()
        };
        match serde_json::from_slice::<Self>(text) {
            Err(error) => unreadable(format!("cannot be read: {error}")),
            Ok(read) if read.schema != RUN_SCHEMA => unreadable(format!(
                "is of the format {:?}, and this program reads {RUN_SCHEMA:?}",
                short(&read.schema, 40)
            )),
            Ok(read) => Self {
                from_profile: BTreeSet::new(),
                from_dump: BTreeSet::new(),
                has_default_flags: false,
                ..read.bounded()
            },
        }
    }

    /// The text to write beside a profile.
    ///
    /// # Errors
    ///
    /// None in fact: every field can be written.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let written = Self {
            schema: RUN_SCHEMA.to_owned(),
            ..self.clone()
        };
        Ok(serde_json::to_string_pretty(&written)? + "\n")
    }

    /// Whether anything but the hardware is known.
    pub fn is_known(&self) -> bool {
        self.versions.is_some()
            || self.flags.is_some()
            || self.variables.is_some()
            || self.git.is_some()
            || self.lock.is_some()
            || self.unreadable.is_some()
    }

    /// Adds what a profile records under a name of its own: a version, or flags.
    pub fn add_recorded(&mut self, name: &str, value: &str) {
        let lower = name.to_ascii_lowercase();
        if lower.ends_with("flags") || lower == "libtpu_init_args" {
            let flags = self.flags.get_or_insert_default();
            for (flag, value) in flags_of(value) {
                self.from_profile.insert(format!("flag.{flag}"));
                flags.insert(flag, value);
            }
        } else if lower.contains("version") {
            let of = lower
                .strip_suffix("_version")
                .filter(|of| !of.is_empty())
                .unwrap_or(name);
            self.from_profile.insert(format!("version.{of}"));
            let versions = self.versions.get_or_insert_default();
            versions.insert(of.to_owned(), short(value, MOST_BYTES));
        }
    }

    /// All facts: hardware, versions, flags, variables, code.
    pub fn facts(&self) -> Vec<EnvironmentFact> {
        let fact = |id: &str, title: &str, value: &str| EnvironmentFact {
            id: id.to_owned(),
            title: title.to_owned(),
            value: value.to_owned(),
        };
        let mut facts = Vec::new();
        facts.extend(self.chip.iter().map(|chip| fact("chip", "Chip", chip)));
        let grids = self.topology.iter();
        facts.extend(grids.map(|grid| fact("topology", "Topology", grid)));
        for (group, dashes, entries) in [
            ("version", "", &self.versions),
            ("flag", "--", &self.flags),
            ("variable", "", &self.variables),
        ] {
            let entries = entries.iter().flatten();
            facts.extend(entries.map(|(name, value)| {
                fact(
                    &format!("{group}.{name}"),
                    &format!("{dashes}{name}"),
                    value,
                )
            }));
        }
        facts.extend(
            self.git
                .iter()
                .map(|git| fact("git", "Commit", &git.in_words())),
        );
        facts.extend(self.lock.iter().map(|lock| {
            let digest = short(&lock.sha256, SHOWN_DIGITS);
            fact("lock", "Lock file", &format!("{} {digest}", lock.name))
        }));
        facts
    }

    /// Whether the compiler wrote a field beside the programs that it dumped.
    pub fn is_from_dump(&self, id: &str) -> bool {
        self.from_dump.contains(id) || id.starts_with(FLAG) && self.from_dump.contains(FLAG)
    }

    /// Whether a fact that is missing was looked for, so that it has no value: a flag that is not set.
    pub fn has_looked_for(&self, id: &str) -> bool {
        let Some(wanted) = id.strip_prefix(FLAG) else {
            return id.starts_with("variable.") && self.variables.is_some();
        };
        // A file beside the profile has all flags; a profile those of the variables that it records: libtpu takes its
        // flags from LIBTPU_INIT_ARGS, XLA takes the others from XLA_FLAGS. A dump has those of XLA, and those of libtpu
        // where that wrote its list.
        let is_of_tpu = |flag: &str| OF_TPU.iter().any(|begin| flag.starts_with(begin));
        let shows = |flag: &String| {
            let id = format!("{FLAG}{flag}");
            if self.is_from_dump(&id) {
                self.has_default_flags || !is_of_tpu(wanted)
            } else {
                !self.from_profile.contains(&id) || is_of_tpu(flag) == is_of_tpu(wanted)
            }
        };
        self.flags
            .as_ref()
            .is_some_and(|flags| flags.is_empty() || flags.keys().any(shows))
    }

    /// No more than a file should hold: it may be anyone's.
    fn bounded(mut self) -> Self {
        for entries in [&mut self.versions, &mut self.flags, &mut self.variables] {
            let Some(entries) = entries else { continue };
            *entries = std::mem::take(entries)
                .into_iter()
                .take(MOST_ENTRIES)
                .map(|(name, value)| (short(&name, MOST_BYTES), short(&value, MOST_BYTES)))
                .collect();
        }
        let texts = [&mut self.recorded_by, &mut self.chip, &mut self.topology];
        for text in texts.into_iter().flatten() {
            *text = short(text, MOST_BYTES);
        }
        self
    }
}

impl GitState {
    /// `1a2b3c4d5e6f, with changes (Use bfloat16)`
    pub fn in_words(&self) -> String {
        let dirty = match self.is_dirty {
            Some(true) => ", with changes that are not committed",
            _ => "",
        };
        let subject = self.subject.as_deref();
        let subject =
            subject.map_or_else(String::new, |subject| format!(" ({})", short(subject, 72)));
        format!("{}{dirty}{subject}", short(&self.commit, SHOWN_DIGITS))
    }
}

/// The flags in a text such as `XLA_FLAGS`, by their names without dashes. Other words are left out, and so are values of
/// flags that may be secrets.
pub fn flags_of(text: &str) -> impl Iterator<Item = (String, String)> {
    text.split_whitespace().filter_map(|word| {
        let flag = word.strip_prefix("--")?;
        let (name, value) = flag.split_once('=').unwrap_or((flag, "true"));
        let is_name = |name: &str| {
            name.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
        };
        (!name.is_empty() && is_name(name))
            .then(|| (short(name, MOST_BYTES), without_secrets(name, value)))
    })
}

/// A value that is safe to write to a file that others read.
pub fn without_secrets(name: &str, value: &str) -> String {
    let lower = name.to_ascii_lowercase();
    // An address may hold a password or a signature.
    let is_signed = value.contains("://") && value.contains(['@', '?']);
    if is_signed || SECRETS.iter().any(|secret| lower.contains(secret)) {
        "(not recorded)".to_owned()
    } else {
        short(value, MOST_BYTES)
    }
}

/// The beginning of a text, at most `most` bytes.
fn short(text: &str, most: usize) -> String {
    let end = (0..=most.min(text.len()))
        .rev()
        .find(|&end| text.is_char_boundary(end));
    text.get(..end.unwrap_or(0)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_environment_is_read_again() {
        let environment = Environment {
            versions: Some([("jax".to_owned(), "0.10.2".to_owned())].into()),
            flags: Some(flags_of("--xla_a=1 junk --xla_b").collect()),
            git: Some(GitState {
                commit: "1a2b3c4d5e6f7".to_owned(),
                is_dirty: Some(true),
                subject: None,
            }),
            ..Environment::default()
        };
        let read = Environment::read(environment.to_json().unwrap().as_bytes());
        assert_eq!(read.facts(), environment.facts());
        let titles: Vec<_> = read
            .facts()
            .into_iter()
            .map(|fact| (fact.title, fact.value))
            .collect();
        let expected = [
            ("jax", "0.10.2"),
            ("--xla_a", "1"),
            ("--xla_b", "true"),
            (
                "Commit",
                "1a2b3c4d5e6f, with changes that are not committed",
            ),
        ];
        assert_eq!(
            titles,
            expected.map(|(title, value)| (title.to_owned(), value.to_owned()))
        );
    }

    #[test]
    fn hostile_files_say_why_they_are_not_read() {
        for (text, why) in [
            ("", "cannot be read"),
            ("[1]", "cannot be read"),
            ("{}", "is of the format \"\""),
            (r#"{"schema": "systole.run/9"}"#, "systole.run/9"),
            (
                r#"{"schema": "systole.run/1", "versions": {"a": 7}}"#,
                "cannot be read",
            ),
        ] {
            let read = Environment::read(text.as_bytes());
            assert!(
                read.unreadable.is_some_and(|said| said.contains(why)),
                "{text}"
            );
        }
        let long = format!(
            r#"{{"schema": "systole.run/1", "chip": "{}"}}"#,
            "ü".repeat(9000)
        );
        assert!(Environment::read(long.as_bytes()).chip.unwrap().len() <= MOST_BYTES);
    }

    #[test]
    fn secrets_in_flags_are_left_out() {
        let flags: Vec<_> =
            flags_of("hf_abc --xla_dump_to=gs://b/x?sig=hf_abc --auth_token=hf_abc --xla_c=2")
                .collect();
        assert_eq!(flags.len(), 3);
        assert!(!format!("{flags:?}").contains("hf_abc"), "{flags:?}");
        assert_eq!(flags[2], ("xla_c".to_owned(), "2".to_owned()));
    }

    #[test]
    fn recorded_facts_are_versions_and_flags() {
        let mut environment = Environment::default();
        environment.add_recorded("jaxlib_version", "0.10.2");
        environment.add_recorded("XLA_FLAGS", "--xla_a=1");
        environment.add_recorded("clock", "940 MHz");
        let ids: Vec<_> = environment
            .facts()
            .into_iter()
            .map(|fact| fact.id)
            .collect();
        assert_eq!(ids, ["version.jaxlib", "flag.xla_a"]);
        assert_eq!(environment.from_profile.len(), 2);
        assert!(
            environment.has_looked_for("flag.xla_b"),
            "XLA_FLAGS is recorded: it is not set"
        );
        assert!(
            !environment.has_looked_for("flag.xla_tpu_b"),
            "it may be in LIBTPU_INIT_ARGS"
        );
        assert!(!environment.has_looked_for("version.jax"));
    }
}
