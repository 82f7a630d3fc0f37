//! In what the environments of two runs differ: versions, flags, chip, code.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use engine::environment::RUN_FILE;
use engine::{Environment, Table};
use serde::Serialize;

use super::summary::{RunFacts, Summary};

/// A fact of the environment that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, engine::Columns)]
#[columns(derived)]
pub struct EnvironmentChange {
    /// Stable name: `version.jax`, `flag.xla_…`, `git`.
    #[column("Id")]
    pub id: String,
    /// Display name.
    #[column("What", id = "what")]
    pub title: String,
    /// Of the first side; `None` if it is not known.
    #[column("Base", id = "base", with = |row| Self::shown(row.base.as_ref()))]
    pub base: Option<String>,
    /// Of the second side; `None` if it is not known.
    #[column("Cand", id = "cand", with = |row| Self::shown(row.cand.as_ref()))]
    pub cand: Option<String>,
    /// Why a side is not known.
    #[column("Note")]
    pub note: Option<String>,
}

/// A flag or a variable that is not set.
const NOT_SET: &str = "not set";
/// What is shown of a side that is not known.
const UNKNOWN: &str = "unknown";

impl EnvironmentChange {
    fn shown(side: Option<&String>) -> String {
        side.map_or_else(|| UNKNOWN.to_owned(), String::clone)
    }

    /// Whether both sides are known: only then it may be a cause.
    pub fn is_known(&self) -> bool {
        self.base.is_some() && self.cand.is_some()
    }

    /// `libtpu 0.0.24 → 0.0.25`
    pub fn in_words(&self) -> String {
        let [base, cand] = [&self.base, &self.cand].map(|side| Self::shown(side.as_ref()));
        format!("{} {base} → {cand}", self.title)
    }
}

impl RunFacts {
    /// `SIMULATED by ASTRA-sim`; `None` if times were measured.
    pub fn badge(&self) -> Option<String> {
        self.simulator
            .as_deref()
            .map(|by| trace_model::badge(by, self.is_predicted))
    }

    /// The versions that its files record.
    pub(super) fn versions_in_words(&self) -> Option<String> {
        let texts: Vec<String> = self
            .versions
            .iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    /// The environment; of a summary without one what its versions tell.
    pub(super) fn environment(&self) -> Option<Cow<'_, Environment>> {
        if let Some(known) = &self.environment {
            return Some(Cow::Borrowed(known));
        }
        let mut found = Environment::default();
        for (name, value) in &self.versions {
            found.add_recorded(name, value);
        }
        found.is_known().then_some(Cow::Owned(found))
    }
}

/// What the runs of one side say.
struct SideFacts {
    /// Titles and values by id; runs of one side may differ.
    facts: BTreeMap<String, (String, BTreeSet<String>)>,
    environments: Vec<Environment>,
}

impl SideFacts {
    fn of(runs: &[Summary]) -> Self {
        let known = runs.iter().filter_map(|run| run.facts.environment());
        let environments: Vec<Environment> = known.map(Cow::into_owned).collect();
        let mut facts: BTreeMap<String, (String, BTreeSet<String>)> = BTreeMap::new();
        // Profiles tell the chip, whatever else is known.
        let chips = runs.iter().map(|run| Environment {
            chip: run.facts.device_type.clone(),
            ..Environment::default()
        });
        let chips: Vec<Environment> = chips.collect();
        for fact in environments
            .iter()
            .chain(&chips)
            .flat_map(Environment::facts)
        {
            let (_, values) = facts
                .entry(fact.id)
                .or_insert_with(|| (fact.title, BTreeSet::new()));
            values.insert(fact.value);
        }
        Self {
            facts,
            environments,
        }
    }

    /// The value, and why it is not known.
    fn value(&self, id: &str, side: &str) -> Result<String, String> {
        if let Some((_, values)) = self.facts.get(id) {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            return Ok(values.join(" or "));
        }
        let mut all = self.environments.iter();
        if !self.environments.is_empty() && all.all(|one| one.has_looked_for(id)) {
            return Ok(NOT_SET.to_owned());
        }
        let broken = self
            .environments
            .iter()
            .find_map(|one| one.unreadable.as_ref());
        Err(match broken {
            Some(why) => format!("{side}: {why}"),
            None if self.environments.is_empty() => {
                format!("{side} has no {RUN_FILE} beside its profile, which records no versions")
            }
            None => format!("{side} does not record it"),
        })
    }
}

/// In what the environments differ: what both sides know first. Empty if neither side knows anything.
pub(super) fn changes(base: &[Summary], cand: &[Summary]) -> Vec<EnvironmentChange> {
    let sides = [SideFacts::of(base), SideFacts::of(cand)];
    if sides.iter().all(|side| side.environments.is_empty()) {
        return Vec::new();
    }
    let all = sides.iter().flat_map(|side| &side.facts);
    let titles: BTreeMap<&String, &String> = all.map(|(id, (title, _))| (id, title)).collect();
    let mut changes: Vec<EnvironmentChange> = titles
        .into_iter()
        .filter_map(|(id, title)| {
            let values = [sides[0].value(id, "base"), sides[1].value(id, "cand")];
            let note = values
                .iter()
                .find_map(|value| value.as_ref().err().cloned());
            let [base, cand] = values.map(Result::ok);
            (base != cand).then(|| EnvironmentChange {
                id: id.clone(),
                title: title.clone(),
                base,
                cand,
                note,
            })
        })
        .collect();
    changes.sort_by_key(|change| (!change.is_known(), place(&change.id)));
    changes
}

/// Versions before flags, these before code: what is most often looked for first.
fn place(id: &str) -> usize {
    const ORDER: [&str; 7] = [
        "version.jax",
        "version.jaxlib",
        "version.libtpu",
        "version.",
        "flag.",
        "variable.",
        "git",
    ];
    let is_it = |name: &str| id == name || name.ends_with('.') && id.starts_with(name);
    ORDER
        .iter()
        .position(|name| is_it(name))
        .unwrap_or(ORDER.len())
}

/// Versions and flags that differ, of each side.
pub(super) fn versions(base: &Summary, cand: &Summary) -> Option<[String; 2]> {
    let mut sides: [Vec<String>; 2] = [Vec::new(), Vec::new()];
    for change in changes(std::slice::from_ref(base), std::slice::from_ref(cand)) {
        if !change.id.starts_with("version.") && !change.id.starts_with("flag.") {
            continue;
        }
        if let (Some(base), Some(cand)) = (change.base, change.cand) {
            sides[0].push(format!("{} {base}", change.title));
            sides[1].push(format!("{} {cand}", change.title));
        }
    }
    (!sides[0].is_empty()).then(|| sides.map(|texts| texts.join(", ")))
}

/// The table of all that differs; `None` if nothing is known or nothing differs.
pub(super) fn table(changes: &[EnvironmentChange]) -> Option<Table> {
    (!changes.is_empty()).then(|| {
        Table::of("environment", "Environment: versions, flags, code", changes)
            .declared(["what", "base", "cand", "note"])
            .remaining()
            .build()
    })
}
