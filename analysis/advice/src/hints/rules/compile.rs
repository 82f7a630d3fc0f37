//! Rules about compilation.

use super::prelude::*;
use engine::listed_to;
use facts::Framework;
use facts::steps::annotated_number;
use run_reports::host::compile::Compilation;
use run_reports::{Compile, CompilePlace, CompileReport};
use trace_model::time::PS_PER_S;

pub(super) static RULES: &[Rule] = &[
    rule!(
        "K36",
        "Compilation in the loop",
        High,
        [LOOP_SHARE],
        in_loop
    ),
    rule!("K37", "Functions are recompiled", High, [AGAIN], again),
    rule!(
        "K38",
        "No compilation cache is used",
        Medium,
        [COLD],
        cold_cache
    ),
    rule!(
        "K49",
        "Much of the time is compilation",
        High,
        [WARM_UP_SHARE],
        warm_up
    ),
];

static WARM_UP_SHARE: Threshold = Threshold::percent(
    "K49.compile_percent",
    5.0,
    "a profile of a warm loop compiles nothing",
);
static LOOP_SHARE: Threshold = Threshold::percent(
    "K36.compile_percent",
    5.0,
    "a loop whose shapes stay the same compiles nothing; up to 5 % a capture of few steps forgives",
);
static AGAIN: Threshold = Threshold::new(
    "K37.compilations",
    1.0,
    Unit::Count,
    "a function is compiled once for each set of shapes; one more in a short capture is many in a run",
);
static COLD: Threshold = Threshold::new(
    "K38.compile_s",
    10.0,
    Unit::None,
    "below this a cache is not worth the effort",
);

/// A step that compiles is slow, and devices idle meanwhile.
const COMPILING: &[TimeUse] = &[TimeUse::Compile, TimeUse::Idle, TimeUse::SlowSteps];
/// Compilations that a sentence names.
const NAMED: usize = 3;

/// Longest first.
fn longest<'r>(list: impl Iterator<Item = &'r Compilation>) -> Vec<&'r Compilation> {
    let mut list: Vec<&Compilation> = list.collect();
    list.sort_by_key(|compilation| (Reverse(compilation.wall_ps), compilation.start_ps));
    list
}

/// `once`, `3 times`.
fn times(count: usize) -> String {
    if count == 1 {
        "once".to_owned()
    } else {
        format!("{count} times")
    }
}

/// Where to look.
fn spots(facts: &HintFacts<'_>, list: &[&Compilation]) -> Vec<FindingPlace> {
    list.iter()
        .filter_map(|compilation| compilation.slice)
        .map(|slice| facts.cx.model.slice(slice).into())
        .collect()
}

/// Where they happened, the longest first: `steps 14 (15 on the host), 9 and 5`. A step of a device lasts until the next
/// one begins, so it ends with what the host does in the step after it.
fn places(model: &TraceModel, list: &[&Compilation]) -> String {
    let mut seen = BTreeSet::new();
    let places: Vec<(CompilePlace, &Compilation)> = list
        .iter()
        .filter_map(|compilation| Some((compilation.place?, *compilation)))
        .filter(|(place, _)| seen.insert(place.title()))
        .collect();
    let steps: Vec<String> = places
        .iter()
        .enumerate()
        .filter_map(|(index, (place, compilation))| match place {
            CompilePlace::InStep(step) => {
                // To find it takes a pass over the annotations.
                let on_host = (index < NAMED)
                    .then(|| number_on_host(model, compilation))
                    .flatten();
                let on_host = on_host
                    .filter(|number| number != step)
                    .map(|number| format!(" ({number} on the host)"));
                Some(format!("{step}{}", on_host.unwrap_or_default()))
            }
            _ => None,
        })
        .collect();
    if !steps.is_empty() && steps.len() == places.len() {
        let plural = if steps.len() == 1 { "step" } else { "steps" };
        return format!(" in {plural} {}", listed_to(&steps, NAMED));
    }
    if places.is_empty() {
        return String::new();
    }
    let places: Vec<String> = places.iter().map(|(place, _)| place.title()).collect();
    format!(" ({})", listed_to(&places, NAMED))
}

/// The number that the host gives to the step in which it compiles.
fn number_on_host(model: &TraceModel, compilation: &Compilation) -> Option<u32> {
    let track = model.slice(compilation.slice?).track_ref();
    annotated_number(model, model.host_of(track.group), compilation.start_ps)
}

/// How much longer than a usual step those of these compilations are, where each lies in one: calls that compile do more
/// than that.
fn extra_of_steps(list: &[&Compilation]) -> Option<Picos> {
    let mut steps: BTreeMap<u32, Picos> = BTreeMap::new();
    for compilation in list {
        let Some(CompilePlace::InStep(step)) = compilation.place else {
            return None;
        };
        let extra = steps.entry(step).or_default();
        *extra = (*extra).max(compilation.step_extra_ps.unwrap_or_default());
    }
    Some(steps.into_values().sum())
}

/// Time in which the host compiles in the counted steps, these compilations at most: threads compile at once.
fn time_of(facts: &HintFacts<'_>, of: &[&Compilation]) -> Picos {
    let sum = of.iter().map(|compilation| compilation.wall_ps).sum();
    let all = facts.in_steps::<Compile>();
    all.ok().and_then(|all| all.wall_ps).unwrap_or(sum).min(sum)
}

/// The compilations of `of` between the first counted step and the last.
fn in_counted<'r>(facts: &HintFacts<'_>, of: &[&'r Compilation]) -> Vec<&'r Compilation> {
    let inside = counted_range(facts);
    of.iter()
        .filter(|compilation| inside.is_none_or(|inside| inside.contains(compilation.start_ps)))
        .copied()
        .collect()
}

/// What a run without these compilations saves: never more than the time that the sentence about them names.
fn saving(facts: &HintFacts<'_>, of: &[&Compilation]) -> Result<PossibleSaving> {
    let step = facts.step()?;
    let of = in_counted(facts, of);
    let most = time_of(facts, &of);
    if facts.ops().is_err() {
        return Ok(PossibleSaving::PerStep(
            step.each(longer_than_compiling(facts, &of).unwrap_or(most)),
        ));
    }
    let exposed = of
        .iter()
        .map(|compilation| compilation.exposed_ps.unwrap_or(compilation.wall_ps))
        .sum::<Picos>();
    Ok(PossibleSaving::Replay {
        changes: vec![Scenario::NoCompile],
        at_most: Some(step.each(exposed.min(most))),
    })
}

/// How much longer than the others the steps of a host are, where that is more than their compilations take.
fn longer_than_compiling(facts: &HintFacts<'_>, counted: &[&Compilation]) -> Option<Picos> {
    let longer = extra_of_steps(counted).filter(|_| facts.ops().is_err())?;
    (longer > time_of(facts, counted)).then_some(longer)
}

/// `, which take 32.94 s longer than the others`.
fn longer_steps(facts: &HintFacts<'_>, of: &[&Compilation]) -> String {
    let of = in_counted(facts, of);
    let longer = longer_than_compiling(facts, &of);
    let take = if of.len() == 1 { "takes" } else { "take" };
    longer.map_or_else(String::new, |longer| {
        format!(", which {take} {longer} longer than the others")
    })
}

/// From the start of the first counted step to the end of the last, on the host.
fn counted_range(facts: &HintFacts<'_>) -> Option<TimeRange> {
    let steps = facts.steps()?;
    steps
        .counted()
        .filter_map(|step| facts::steps::on_host(facts.cx, &step.spans))
        .reduce(TimeRange::hull)
}

/// Compilations that a warm loop does not do: after the first two steps of the trace,
/// or of a function that was compiled before.
fn late<'r>(facts: &HintFacts<'_>, report: &'r CompileReport) -> Vec<&'r Compilation> {
    let steps = facts
        .cx
        .whole()
        .report::<Steps>()
        .ok()
        .filter(|steps| steps.has_steps());
    let first: Vec<u32> = steps
        .iter()
        .flat_map(|steps| &steps.steps)
        .map(|step| step.number)
        .take(2)
        .collect();
    longest(
        report
            .list
            .iter()
            .filter(|compilation| match compilation.place {
                Some(CompilePlace::InStep(step) | CompilePlace::AfterStep(step))
                    if !first.contains(&step) =>
                {
                    true
                }
                _ => compilation.number > 1,
            }),
    )
}

pub(super) fn in_loop(facts: &HintFacts<'_>) -> RuleResult {
    let report = facts.report::<Compile>()?;
    let (wall, share) = report.wall_ps.zip(report.share_percent).ok_or(Nothing)?;
    let limit = facts.reached(&LOOP_SHARE, share.0)?;
    let late = late(facts, &report);
    let scope = facts.cx.scope.title();
    if late.is_empty() {
        return Err(Nothing);
    }
    let mut seen = BTreeSet::new();
    let functions: Vec<String> = late
        .iter()
        .map(|compilation| compilation.function.clone())
        .filter(|name| seen.insert(name.clone()))
        .collect();
    let count = times(late.len());
    // Without steps nobody knows what the loop is.
    let has_steps = facts.steps().is_some();
    let again = if has_steps {
        "the loop compiles"
    } else {
        "functions are compiled again"
    };
    Ok(Finding {
        statement: format!(
            "compiling takes {wall}, {share:.1} of the {scope}; {again} {count}: {}{}{}",
            listed_to(&functions, NAMED),
            places(facts.cx.model, &late),
            longer_steps(facts, &late)
        ),
        evidence: vec![
            HintEvidence::percent(
                "tracing, lowering, compiling and loading",
                share.0,
                scope,
                Some(limit),
            ),
            HintEvidence::count(
                "compilations after the first two steps, or of a function compiled before",
                late.len() as f64,
                scope,
                Some(1.0),
            ),
        ],
        code: one_shape(facts.framework, &late),
        about: COMPILING,
        spots: spots(facts, &late),
        saving: saving(facts, &late)?,
        ..Finding::default()
    })
}

/// Compiling that is no fault of the loop, but makes the capture one of compiling.
pub(super) fn warm_up(facts: &HintFacts<'_>) -> RuleResult {
    let report = facts.report::<Compile>()?;
    let (wall, share) = report.wall_ps.zip(report.share_percent).ok_or(Nothing)?;
    let limit = facts.reached(&WARM_UP_SHARE, share.0)?;
    if !late(facts, &report).is_empty() {
        return Err(Nothing);
    }
    let list = longest(report.list.iter());
    let names = functions(&list);
    let what = if names.is_empty() {
        places(facts.cx.model, &list)
    } else {
        format!(": {names}{}", places(facts.cx.model, &list))
    };
    let what = if what.is_empty() {
        step_that_compiles(facts)
    } else {
        what
    };
    let whole = facts.cx.scope.title();
    Ok(Finding {
        statement: format!(
            "compiling takes {wall}, {share:.1} of the {whole}, before the loop is warm{what}"
        ),
        evidence: vec![HintEvidence::percent(
            "tracing, lowering, compiling and loading",
            share.0,
            whole,
            Some(limit),
        )],
        about: COMPILING,
        spots: spots(facts, &list),
        saving: PossibleSaving::Once {
            time: wall,
            percent: share,
        },
        ..Finding::default()
    })
}

/// The step that compiles longest, where no compilation is told apart.
fn step_that_compiles(facts: &HintFacts<'_>) -> String {
    let most = facts.steps().and_then(|steps| {
        let compiling = steps
            .steps
            .iter()
            .filter(|step| step.compile_ps > Picos::ZERO);
        compiling
            .max_by_key(|step| (step.compile_ps, Reverse(step.number)))
            .map(|step| step.number)
    });
    most.map_or_else(String::new, |step| format!(" (step {step})"))
}

/// Which functions are compiled, each once.
fn functions(list: &[&Compilation]) -> String {
    let mut seen = BTreeSet::new();
    let names = list
        .iter()
        .map(|compilation| compilation.function.clone())
        .filter(|name| !name.starts_with('(') && seen.insert(name.clone()));
    listed_to(&names.collect::<Vec<_>>(), NAMED)
}

/// How to give an argument of these compilations the same size each time, in JAX, where it is known which size changes.
fn one_shape(framework: Framework, list: &[&Compilation]) -> Option<String> {
    let changes = || list.iter().flat_map(|compilation| &compilation.changes);
    let first = changes().find(|change| !change.dims.is_empty())?;
    let dim = first.dims.first()?.dim;
    let dims = changes()
        .filter(|change| change.what == first.what)
        .flat_map(|change| &change.dims)
        .filter(|changed| changed.dim == dim);
    let most = dims.map(|dim| dim.from.max(dim.to)).max()?;
    (framework == Framework::Jax).then(|| {
        format!(
            "pad = [(0, 0)] * x.ndim  # x: {}\npad[{dim}] = (0, {most} - x.shape[{dim}])\nx = jnp.pad(x, pad)",
            short_name(&first.what)
        )
    })
}

fn again(facts: &HintFacts<'_>) -> RuleResult {
    let report = facts.report::<Compile>()?;
    let list = longest(
        report
            .list
            .iter()
            .filter(|compilation| compilation.again.is_some()),
    );
    let limit = facts.limit(&AGAIN);
    let first = list
        .first()
        .filter(|_| list.len() as f64 >= limit)
        .ok_or(Nothing)?;
    let of_first: Vec<&Compilation> = list
        .iter()
        .copied()
        .filter(|compilation| compilation.function == first.function)
        .collect();
    let others = list.len() - of_first.len();
    let time: Picos = list.iter().map(|compilation| compilation.wall_ps).sum();
    let longer = longer_steps(facts, &list);
    let mut seen = BTreeSet::new();
    let changes: Vec<String> = of_first
        .iter()
        .filter_map(|compilation| compilation.changes.first())
        .map(run_reports::host::compile::ShapeChange::sentence)
        .filter(|text| seen.insert(text.clone()))
        .collect();
    let changed = if changes.is_empty() {
        "; what changed is not recorded".to_owned()
    } else {
        let most = if longer.is_empty() { NAMED } else { 1 };
        format!("; what changed: {}", listed_to(&changes, most))
    };
    let count = times(of_first.len());
    let more = if others > 0 {
        format!(", other functions {others} times")
    } else {
        String::new()
    };
    Ok(Finding {
        statement: format!(
            "the same function is compiled again: {} {count}{}{more}{longer}{changed}",
            short_name(&first.function),
            places(facts.cx.model, &of_first),
        ),
        evidence: vec![
            HintEvidence::count(
                "compilations of what had been compiled or run",
                list.len() as f64,
                "capture",
                Some(limit),
            )
            .by(Provenance::Inferred),
            HintEvidence::time("they take", time.as_ps_f64(), "capture, on the host"),
        ],
        code: one_shape(facts.framework, &of_first),
        about: COMPILING,
        spots: spots(facts, &list),
        saving: saving(facts, &list)?,
        ..Finding::default()
    })
}

fn cold_cache(facts: &HintFacts<'_>) -> RuleResult {
    let report = facts.report::<Compile>()?;
    let (compile, cache) = (report.compile_ps.ok_or(Nothing)?, &report.cache);
    let limit = facts.limit(&COLD) * PS_PER_S as f64;
    let hit = [cache.hits, cache.deserialized]
        .into_iter()
        .flatten()
        .any(|count| count > 0);
    if hit || compile.as_ps_f64() < limit {
        return Err(Nothing);
    }
    let known = if cache.lookups.is_some() {
        "none was found in a cache"
    } else {
        "the capture shows no cache"
    };
    let evidence = HintEvidence::time(
        "a compiler ran",
        compile.as_ps_f64(),
        "capture, on the host",
    );
    Ok(Finding {
        statement: format!("compilers run for {compile}, and {known}"),
        evidence: vec![HintEvidence {
            threshold: Some(limit),
            ..evidence
        }],
        about: &[TimeUse::Compile, TimeUse::Idle],
        spots: spots(facts, &longest(report.list.iter())),
        // The next start saves it, this loop does not.
        saving: PossibleSaving::Unknown,
        ..Finding::default()
    })
}
