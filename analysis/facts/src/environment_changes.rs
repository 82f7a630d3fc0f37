//! In what the environments of two runs differ: versions, flags, chip, code.

use engine::Environment;
use engine::environment::RUN_FILE;
use engine::prelude::*;

/// A fact of the environment that is not the same on both sides.
#[engine::row(derived)]
pub struct EnvironmentChange {
    /// Stable name: `version.jax`, `flag.xla_…`, `git`.
    #[column]
    pub id: String,
    /// Display name.
    #[column(id = "what")]
    pub title: String,
    /// Value of the first side; `None` if it is not known.
    #[column("Base", id = "base", with = |row| Self::shown(row.base.as_ref()))]
    pub base: Option<String>,
    /// Value of the second side; `None` if it is not known.
    #[column("Cand", id = "cand", with = |row| Self::shown(row.cand.as_ref()))]
    pub cand: Option<String>,
    /// Why a side is not known.
    #[column]
    pub note: Option<String>,
}

/// A flag or a variable that is not set.
const NOT_SET: &str = "not set";
const FLAG: &str = "flag.";
/// Id of the flags that only one side knows, where that is no difference.
const FOLDED: &str = "flags";
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
        let chips: Vec<Environment> = chips
            .into_iter()
            .map(|chip| Environment {
                chip: Some(chip),
                ..Environment::default()
            })
            .collect();
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
    let folded = folded_flags(&sides);
    let is_folded = folded.is_some();
    let is_of_both = |id: &str| sides.iter().all(|side| side.facts.contains_key(id));
    let listed = titles
        .into_iter()
        .filter(|(id, _)| !is_folded || !id.starts_with(FLAG) || is_of_both(id));
    let mut changes: Vec<EnvironmentChange> = listed
        .filter_map(|(id, title)| {
            let values = [sides[0].value(id, "base"), sides[1].value(id, "cand")];
            let note = values
                .iter()
                .find_map(|value| value.as_ref().err().cloned());
            let [base, cand] = values.map(Result::ok);
            // `2x2` and `2x2x1` are the same grid.
            let plain = |value: &Option<String>| {
                let value = value.as_deref()?;
                Some(
                    if id == "topology" {
                        value.trim_end_matches("x1")
                    } else {
                        value
                    }
                    .to_owned(),
                )
            };
            (plain(&base) != plain(&cand)).then(|| EnvironmentChange {
                id: id.clone(),
                title: title.clone(),
                base,
                cand,
                note,
            })
        })
        .chain(folded)
        .collect();
    changes.sort_by_key(|change| (!change.is_known(), place(&change.id)));
    changes
}

/// Flags of one side only as one change, where they are no difference: a compiler's own list has also those that have their
/// defaults, another record only those that were set, or none.
fn folded_flags(sides: &[EnvironmentSide; 2]) -> Option<EnvironmentChange> {
    let has_defaults = sides.each_ref().map(|side| {
        let mut all = side.environments.iter();
        !side.environments.is_empty() && all.all(|environment| environment.has_default_flags)
    });
    let has_flags = sides.each_ref().map(|side| {
        let mut all = side.environments.iter();
        all.any(|environment| environment.flags.is_some())
    });
    let counts = [0, 1].map(|side: usize| {
        let other = &sides[1 - side].facts;
        let flags = sides[side].facts.keys().filter(|id| id.starts_with(FLAG));
        flags.filter(|&id| !other.contains_key(id)).count()
    });
    let is_list_of_one = has_defaults[0] != has_defaults[1];
    let is_unknown = has_flags[0] != has_flags[1] && counts.iter().sum::<usize>() > MOST_ONE_SIDED;
    if !is_list_of_one && !is_unknown {
        return None;
    }
    let shown = |side: usize| (counts[side] > 0).then(|| counted(counts[side], "value"));
    let without = usize::from(has_flags[0] && !has_defaults[1]);
    let name = ["base", "cand"][without];
    let note = if has_flags[without] {
        format!("{name} records only flags that were set")
    } else {
        let why = sides[without].value(FLAG, name).err();
        why.unwrap_or_else(|| format!("{name} does not record flags"))
    };
    (counts != [0, 0]).then(|| EnvironmentChange {
        id: FOLDED.to_owned(),
        title: "Flags of one side only".to_owned(),
        base: shown(0),
        cand: shown(1),
        note: Some(note),
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
    let id = if id == FOLDED { FLAG } else { id };
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
