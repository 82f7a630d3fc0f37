//! Matches classes of steps of both sides.
//!
//! ```text
//! base   train ×90   eval ×10                   train ↔ train, eval ↔ eval, most time first
//! cand   eval ×10    train ×90   checkpoint ×3  checkpoint is only in cand
//! ```
//!
//! Steps are of one class if they run the same functions. If several classes of a run do (one program for each shape),
//! those of the same compiled program are matched first, then those with the most time.

use std::borrow::Cow;

use facts::largest_number_first;

use super::summary::{ClassTimes, StepFacts, Summary, SummaryFacts};

/// Runs of both sides, each with steps of one class.
pub struct MatchedClasses<'a> {
    /// Runs of the first side.
    pub base: Cow<'a, [Summary]>,
    /// Runs of the second side.
    pub cand: Cow<'a, [Summary]>,
}

/// Classes of both sides, most time first, and classes of the first run of a side only.
#[derive(Default)]
pub(super) struct ClassPairing<'a> {
    pub matched: Vec<MatchedClasses<'a>>,
    pub base_only: Vec<&'a StepFacts>,
    pub cand_only: Vec<&'a StepFacts>,
}

/// Matches the classes. If none match, the main ones are compared.
pub(super) fn classes<'a>(base: &'a [Summary], cand: &'a [Summary]) -> ClassPairing<'a> {
    let (Some(first), Some(second)) = (base.first(), cand.first()) else {
        return ClassPairing::default();
    };
    let mut pairs = pairs(first, second);
    if pairs.is_empty() {
        pairs.push((0, 0));
    }
    let time = |&(one, other): &(usize, usize)| time_of(first, one) + time_of(second, other);
    largest_number_first(&mut pairs, time, |pair| pair);
    let only = |run: &'a Summary, taken: &dyn Fn(usize) -> bool| -> Vec<&'a StepFacts> {
        (0..=run.classes.len())
            .filter(|&class| !taken(class))
            .filter_map(|class| facts_of(run, class))
            .collect()
    };
    ClassPairing {
        base_only: only(first, &|class| pairs.iter().any(|pair| pair.0 == class)),
        cand_only: only(second, &|class| pairs.iter().any(|pair| pair.1 == class)),
        matched: pairs
            .into_iter()
            .map(|(one, other)| MatchedClasses {
                base: of_class(base, one),
                cand: of_class(cand, other),
            })
            .collect(),
    }
}

/// The runs of a side, restricted to the class with this index in the first of them.
fn of_class(runs: &[Summary], class: usize) -> Cow<'_, [Summary]> {
    let Some((first, others)) = runs.split_first() else {
        return Cow::Borrowed(runs);
    };
    let place = |run: &Summary| {
        let paired = pairs(first, run)
            .into_iter()
            .find(|pair| pair.0 == class)
            .map(|pair| pair.1);
        // Runs with a single class are runs of one program, even if its names differ.
        paired.or((first.classes.is_empty() && run.classes.is_empty()).then_some(0))
    };
    let places: Vec<Option<usize>> = std::iter::once(Some(class))
        .chain(others.iter().map(place))
        .collect();
    if places.iter().all(|place| *place == Some(0)) {
        return Cow::Borrowed(runs);
    }
    runs.iter()
        .zip(places)
        .filter_map(|(run, place)| Some(run.of_class(place?)))
        .collect::<Vec<_>>()
        .into()
}

/// Pairs of class indices; 0 is the main class.
fn pairs(base: &Summary, cand: &Summary) -> Vec<(usize, usize)> {
    type Key = fn(&StepFacts, Option<&str>) -> Option<(String, String)>;
    const KEYS: [Key; 3] = [
        |steps, program| Some((steps.class.clone(), program?.to_owned())),
        |steps, _| Some((steps.class.clone(), String::new())),
        // One side may be split by times and the other not.
        |steps, _| {
            Some((
                steps
                    .class
                    .trim_end_matches(", long")
                    .trim_end_matches(", short")
                    .to_owned(),
                String::new(),
            ))
        },
    ];
    let by_time = |run: &Summary| {
        let mut places: Vec<usize> = (0..=run.classes.len()).collect();
        largest_number_first(&mut places, |&place| time_of(run, place), |place| place);
        places
    };
    let mut first = by_time(base);
    let mut second = by_time(cand);
    let mut pairs = Vec::new();
    for key in KEYS {
        let key_of =
            |run: &Summary, class: usize| key(facts_of(run, class)?, program_of(run, class));
        first.retain(|&one| {
            let wanted = key_of(base, one);
            let position = second
                .iter()
                .position(|&other| wanted.is_some() && key_of(cand, other) == wanted);
            pairs.extend(position.map(|position| (one, second.remove(position))));
            position.is_none()
        });
    }
    pairs
}

fn facts_of(run: &Summary, class: usize) -> Option<&StepFacts> {
    class.checked_sub(1).map_or(Some(&run.steps), |class| {
        run.classes.get(class).map(|class| &class.steps)
    })
}

fn program_of(run: &Summary, class: usize) -> Option<&str> {
    let programs = match class.checked_sub(1) {
        Some(class) => &run.classes.get(class)?.programs,
        None => &run.facts.programs,
    };
    programs.first()?.id.as_deref()
}

/// Approximate total time of its steps.
fn time_of(run: &Summary, class: usize) -> f64 {
    facts_of(run, class).map_or(0.0, |steps| steps.middle_ps * steps.counted as f64)
}

impl Summary {
    /// The run with the steps of one class only: 0 is the main class, 1 the first of the others. Numbers of the whole
    /// run are kept.
    pub(crate) fn of_class(&self, class: usize) -> Self {
        match class.checked_sub(1) {
            None => Self {
                classes: Vec::new(),
                ..self.clone()
            },
            Some(index) => {
                let one = self.classes.get(index).cloned().unwrap_or_default();
                Self {
                    schema: self.schema.clone(),
                    tool: self.tool.clone(),
                    inputs: self.inputs.clone(),
                    facts: self.facts.clone(),
                    loop_series: self.loop_series.clone(),
                    values: self.values.clone(),
                    ..Self::default()
                }
                .with_steps(one)
            }
        }
    }

    /// The class whose steps run this program. Numbers of the whole run are kept only for the main class, because they
    /// mostly describe it.
    pub(crate) fn of_module(&self, module: &str) -> Option<Cow<'_, Self>> {
        let is_of = |programs: &[super::ProgramFacts]| {
            programs
                .first()
                .is_some_and(|program| program.name == module)
        };
        if is_of(&self.facts.programs) {
            return Some(Cow::Borrowed(self));
        }
        let index = self
            .classes
            .iter()
            .position(|class| is_of(&class.programs))?;
        Some(Cow::Owned(Self {
            values: Vec::new(),
            loop_series: Vec::new(),
            ..self.of_class(index + 1)
        }))
    }

    /// Names of the main programs of all classes.
    pub(crate) fn modules(&self) -> impl Iterator<Item = &str> {
        let classes = self.classes.iter().map(|class| class.programs.first());
        std::iter::once(self.facts.programs.first())
            .chain(classes)
            .flatten()
            .map(|program| program.name.as_str())
    }

    /// This run with the steps of `class` as its main class.
    pub(super) fn with_steps(self, class: ClassTimes) -> Self {
        let ClassTimes {
            programs,
            steps,
            series,
            ops,
            rest,
            ops_not_listed,
        } = class;
        Self {
            facts: SummaryFacts {
                programs,
                ..self.facts
            },
            steps,
            series,
            ops,
            rest,
            ops_not_listed,
            ..self
        }
    }

    /// Only its steps.
    pub(super) fn into_class(self) -> ClassTimes {
        let Self {
            facts,
            steps,
            series,
            ops,
            rest,
            ops_not_listed,
            ..
        } = self;
        ClassTimes {
            programs: facts.programs,
            steps,
            series,
            ops,
            rest,
            ops_not_listed,
        }
    }

    /// Applies a change to the steps of every class.
    pub(super) fn each_class(self, change: impl Fn(Self) -> Self) -> Self {
        let classes = self
            .classes
            .into_iter()
            .map(|class| change(Self::default().with_steps(class)).into_class())
            .collect();
        Self {
            classes,
            ..change(Self {
                classes: Vec::new(),
                ..self
            })
        }
    }
}

/// Classes of steps that both sides have, in the order of a comparison: the class of the headline first.
pub fn matched_classes<'a>(base: &'a [Summary], cand: &'a [Summary]) -> Vec<MatchedClasses<'a>> {
    classes(base, cand).matched
}
