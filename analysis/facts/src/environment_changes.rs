//! In what the environments of two runs differ: versions, flags, chip, code.

use std::collections::{BTreeMap, BTreeSet};

use engine::environment::RUN_FILE;
use engine::{Environment, Table, counted};
use serde::Serialize;

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
const FLAG: &str = "flag.";
/// More flags than these that only one side knows are not listed.
const MOST_ONE_SIDED: usize = 20;
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

/// What is known of one side of a comparison.
pub struct EnvironmentSide {
    /// Titles and values by id; runs of one side may differ.
    facts: BTreeMap<String, (String, BTreeSet<String>)>,
    environments: Vec<Environment>,
}

impl EnvironmentSide {
    /// The side of runs with these environments and chips, which profiles tell whatever else is known.
    pub fn new(environments: Vec<Environment>, chips: impl IntoIterator<Item = String>) -> Self {
        let mut facts: BTreeMap<String, (String, BTreeSet<String>)> = BTreeMap::new();
        let chips = chips.into_iter().map(|chip| Environment {
            chip: Some(chip),
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

/// In what two sides differ: what both know first. Empty if neither knows anything.
pub fn environment_changes(base: EnvironmentSide, cand: EnvironmentSide) -> Vec<EnvironmentChange> {
    let sides = [base, cand];
    if sides.iter().all(|side| side.environments.is_empty()) {
        return Vec::new();
    }
    let all = sides.iter().flat_map(|side| &side.facts);
    let titles: BTreeMap<&String, &String> = all.map(|(id, (title, _))| (id, title)).collect();
    let one_sided = one_sided_flags(&sides);
    let is_listed = one_sided.is_none();
    let listed = titles
        .into_iter()
        .filter(|(id, _)| is_listed || !id.starts_with(FLAG));
    let mut changes: Vec<EnvironmentChange> = listed
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
        .chain(one_sided)
        .collect();
    changes.sort_by_key(|change| (!change.is_known(), place(&change.id)));
    changes
}

/// All flags as one change, if one side has many (a compiler's own list) and the other knows of none.
fn one_sided_flags(sides: &[EnvironmentSide; 2]) -> Option<EnvironmentChange> {
    let counts = sides.each_ref().map(|side| {
        let ids = side.facts.keys().filter(|id| id.starts_with(FLAG));
        ids.count()
    });
    let is_known = sides.each_ref().map(|side| {
        let mut all = side.environments.iter();
        all.any(|environment| environment.flags.is_some())
    });
    if counts.iter().sum::<usize>() <= MOST_ONE_SIDED || is_known == [true, true] {
        return None;
    }
    let shown = |side: usize| (counts[side] > 0).then(|| counted(counts[side], "known value"));
    let unknown = if is_known[0] { "cand" } else { "base" };
    Some(EnvironmentChange {
        id: "flags".to_owned(),
        title: "Flags".to_owned(),
        base: shown(0),
        cand: shown(1),
        note: Some(format!("{unknown} does not record flags")),
    })
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

/// The table of all that differs; `None` if nothing is known or nothing differs.
pub fn environment_table(changes: &[EnvironmentChange]) -> Option<Table> {
    (!changes.is_empty()).then(|| {
        Table::of("environment", "Environment: versions, flags, code", changes)
            .declared(["what", "base", "cand", "note"])
            .remaining()
            .build()
    })
}
