//! Targets as traffic lights: how close a program comes to a well-tuned one.
//!
//! | target | green | red |
//! |---|---|---|
//! | speed of matrix ops in the steady steps, of peak FLOP/s | > 80 % | < 50 % |
//! | HBM bandwidth while busy, of peak | > 70 % | < 40 % |
//! | compiling, of the capture | < 5 % | > 15 % |
//! | waiting for input, of the time of a device | < 10 % | ≥ 20 % |
//! | links during collectives, of their published speed | > 85 % | < 50 % |
//!
//! Between green and red is amber. The first two are alternatives: a program that is close to one of its roofs is as
//! fast as the chip allows. So only the one that the work uses more is judged. If one of them is green the other one
//! is not judged, and neither is judged if the link to the host limits the work. A target without recorded data has
//! no light; the report gives the reason. Nor has a value that is known in part: a lower bound, because ops of unknown
//! work take more than a tenth of op time, or a range that reaches over two lights.
//!
//! All limits are thresholds in the user's configuration (`"targets.mxu_green_percent" = 75`).

mod measured;

use device_reports::{Expected, TimeLimit};
use engine::LowerBound;
use facts::prelude::*;
use hardware::limits::is_beyond_peak;
use trace_model::Caveat;

use measured::{MeasuredShare, compiling, input, links, metric, speed_of_matrix_ops};

/// The analysis `targets`.
pub struct Targets;

/// How close a program comes to its targets.
#[engine::reported]
pub struct TargetsReport {
    /// The missed targets, in a sentence.
    pub statement: String,
    /// Every target.
    pub targets: Vec<Target>,
}

/// One target.
#[engine::row(derived)]
pub struct Target {
    /// Stable name: `mxu`.
    pub id: &'static str,
    /// Short title.
    pub short: &'static str,
    /// Display name.
    #[column(id = "target")]
    pub title: &'static str,
    /// The light.
    #[column]
    pub light: TargetColor,
    /// The least value possible, where it is known as a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[column("At least", with = |target| target.low_percent.or(target.value_percent.filter(|_| target.is_lower_bound)))]
    pub low_percent: Option<Percent>,
    /// The achieved value; `None` if unknown.
    #[column("Reached", with = |target| target.value_percent.filter(|_| !target.is_lower_bound))]
    pub value_percent: Option<Percent>,
    /// Whether the value is a lower bound.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_lower_bound: bool,
    /// Values better than this are green.
    #[column(id = "green", with = Self::goal)]
    pub green_percent: Percent,
    /// Values worse than this are red.
    #[column(id = "red", with = Self::red)]
    pub red_percent: Percent,
    /// Whether higher values are better.
    pub is_at_least: bool,
    /// The denominator.
    #[column(non_empty)]
    pub of: String,
    /// Provenance of the value.
    #[column("From")]
    pub provenance: Provenance,
    /// Why there is no light, or a note.
    #[column]
    pub note: Option<String>,
}

/// The light of a value.
#[engine::titled]
pub enum TargetColor {
    /// Reached.
    Green,
    /// Nearly reached.
    Amber,
    /// Far from reached.
    Red,
    /// Not relevant for this program.
    NotJudged,
    /// Not recorded in the capture.
    Unknown,
}

/// The definition of a target, independent of any capture.
struct TargetDefinition {
    id: &'static str,
    short: &'static str,
    title: &'static str,
    is_at_least: bool,
    green: Threshold,
    red: Threshold,
}

static MXU: TargetDefinition = TargetDefinition {
    id: "mxu",
    short: "MXU",
    title: "Speed of matrix ops",
    is_at_least: true,
    green: Threshold::percent(
        "targets.mxu_green_percent",
        80.0,
        "large matmuls reach 80 to 90 % of the peak",
    ),
    red: Threshold::percent(
        "targets.mxu_red_percent",
        50.0,
        "below half of the peak, shapes or layouts are wrong",
    ),
};
static HBM: TargetDefinition = TargetDefinition {
    id: "hbm",
    short: "HBM",
    title: "HBM bandwidth while busy",
    is_at_least: true,
    green: Threshold::percent(
        "targets.hbm_green_percent",
        70.0,
        "streaming ops reach 70 to 90 % of the peak",
    ),
    red: Threshold::percent(
        "targets.hbm_red_percent",
        40.0,
        "below this, ops are near neither limit",
    ),
};
static COMPILE: TargetDefinition = TargetDefinition {
    id: "compile",
    short: "compile",
    title: "Compiling",
    is_at_least: false,
    green: Threshold::percent(
        "targets.compile_green_percent",
        5.0,
        "a warm loop compiles nothing; a capture may begin cold",
    ),
    red: Threshold::percent(
        "targets.compile_red_percent",
        15.0,
        "XProf's limit of a bottleneck is of this size",
    ),
};
static INPUT: TargetDefinition = TargetDefinition {
    id: "input",
    short: "input",
    title: "Waiting for input",
    is_at_least: false,
    green: Threshold::percent(
        "targets.input_green_percent",
        10.0,
        "prefetched input costs next to nothing",
    ),
    red: Threshold::percent(
        "targets.input_red_percent",
        20.0,
        "XProf calls a program highly input-bound from here on",
    ),
};
static ICI: TargetDefinition = TargetDefinition {
    id: "ici",
    short: "ICI",
    title: "Links during collectives",
    is_at_least: true,
    green: Threshold::percent(
        "targets.ici_green_percent",
        85.0,
        "large collectives reach 70 to 95 % of their links",
    ),
    red: Threshold::percent(
        "targets.ici_red_percent",
        50.0,
        "below half, messages are too small or wait for others",
    ),
};

/// Every limit that users can change.
pub fn thresholds() -> impl Iterator<Item = &'static Threshold> {
    [&MXU, &HBM, &COMPILE, &INPUT, &ICI]
        .into_iter()
        .flat_map(|goal| [&goal.green, &goal.red])
}

impl TargetDefinition {
    /// The target with what was measured, or the reason why nothing was.
    fn target(&self, cx: &Context<'_>, measured: Result<MeasuredShare, String>) -> Target {
        let [green, red] = [&self.green, &self.red].map(|limit| Percent(limit.of(cx.options)));
        let mut target = Target {
            id: self.id,
            short: self.short,
            title: self.title,
            value_percent: None,
            low_percent: None,
            is_lower_bound: false,
            of: String::new(),
            provenance: Provenance::Derived,
            light: TargetColor::Unknown,
            is_at_least: self.is_at_least,
            green_percent: green,
            red_percent: red,
            note: None,
        };
        match measured {
            Err(why) => target.note = Some(why),
            Ok(measured) if self.is_at_least && is_beyond_peak(measured.value.0) => {
                let value = measured.value;
                target.note = Some(format!("the result is {value:.1}, which is impossible"));
            }
            Ok(measured) => {
                let light = |value: Percent| match self.is_at_least {
                    true if value > green => TargetColor::Green,
                    true if value < red => TargetColor::Red,
                    false if value < green => TargetColor::Green,
                    false if value >= red => TargetColor::Red,
                    _ => TargetColor::Amber,
                };
                target.light = light(measured.value);
                if measured.at_least_because.is_some() {
                    (target.light, target.note) =
                        (TargetColor::NotJudged, measured.at_least_because);
                    target.is_lower_bound = true;
                } else if measured.low.is_some_and(|low| light(low) != target.light) {
                    let why = "the light depends on the layout of the links, which is not recorded";
                    (target.light, target.note) = (TargetColor::NotJudged, Some(why.to_owned()));
                }
                (target.value_percent, target.low_percent) = (Some(measured.value), measured.low);
                (target.of, target.provenance) = (measured.of, measured.provenance);
            }
        }
        target
    }
}

impl Analysis for Targets {
    type Report = TargetsReport;
    const ID: &str = "targets";
    const TITLE: &str = "Targets";

    fn run(cx: &Context<'_>) -> Result<TargetsReport> {
        let mut targets = vec![
            MXU.target(cx, speed_of_matrix_ops(cx)),
            HBM.target(cx, metric(cx, &["hbm_util_busy_percent", "hbm_hw_percent"])),
            COMPILE.target(cx, compiling(cx)),
            INPUT.target(cx, input(cx)),
            ICI.target(cx, links(cx)),
        ];
        one_roof(cx, &mut targets);
        leave_modelled(cx, &mut targets);
        if targets
            .iter()
            .all(|target| target.light == TargetColor::Unknown)
            && cx.tensor_cores().is_empty()
        {
            let why = "nothing with a target is recorded: no TPU activity and no compilations";
            return Err(why.into());
        }
        Ok(TargetsReport {
            statement: statement(&targets),
            targets,
        })
    }
}

/// It is enough to be close to one of the two roofs.
fn one_roof(cx: &Context<'_>, targets: &mut [Target]) {
    let light = |targets: &[Target], id: &str| {
        targets
            .iter()
            .find(|target| target.id == id)
            .map(|target| target.light)
    };
    let skip = |targets: &mut [Target], id: &str, why: &str| {
        let known = targets
            .iter_mut()
            .find(|target| target.id == id && target.light != TargetColor::Unknown);
        if let Some(target) = known {
            (target.light, target.note) = (TargetColor::NotJudged, Some(why.to_owned()));
        }
    };
    for (one, other, near) in [
        ("mxu", "hbm", "matrix ops are near their peak"),
        ("hbm", "mxu", "HBM is near its peak"),
    ] {
        if light(targets, one) == Some(TargetColor::Green)
            && light(targets, other) != Some(TargetColor::Green)
        {
            return skip(targets, other, &format!("{near}, which is enough"));
        }
    }
    let hbm = targets
        .iter()
        .find(|target| target.id == HBM.id && target.is_lower_bound);
    if let Some(why) = hbm.and_then(|target| target.note.clone()) {
        return skip(
            targets,
            "mxu",
            &format!("which limit is the tighter one is not known: HBM is a lower bound: {why}"),
        );
    }
    let Ok(expected) = cx.report::<Expected>() else {
        return;
    };
    let least = |bound| {
        expected
            .limits
            .iter()
            .find(|row| row.limit == TimeLimit::Device(bound))
            .map_or(0.0, |row| row.least_ps)
    };
    let compute = least(BoundBy::Compute);
    let hbm = least(BoundBy::Hbm);
    let of_host = expected
        .limits
        .iter()
        .filter(|row| matches!(row.limit, TimeLimit::HostRead | TimeLimit::HostWrite));
    if of_host
        .map(|row| row.least_ps)
        .any(|link| link > compute.max(hbm))
    {
        let why = "the link to the host is the tightest limit of the work";
        skip(targets, "mxu", why);
        return skip(targets, "hbm", why);
    }
    if compute > hbm {
        skip(
            targets,
            "hbm",
            "the work needs more compute than HBM bandwidth",
        );
    } else if hbm > compute {
        skip(
            targets,
            "mxu",
            "the work needs more HBM bandwidth than compute",
        );
    }
}

/// A value that a model computed from its own limits does not show how close a program comes to them.
fn leave_modelled(cx: &Context<'_>, targets: &mut [Target]) {
    for target in targets
        .iter_mut()
        .filter(|target| target.light != TargetColor::Unknown)
    {
        let why = if cx.model.has_caveat(Caveat::PlaceholderTimes) {
            "times are placeholders"
        } else if target.id == ICI.id && cx.model.has_caveat(Caveat::ModelledLinks) {
            "the times of transfers were computed from the speed of the links"
        } else if [INPUT.id, COMPILE.id].contains(&target.id) && cx.model.simulator().is_some() {
            "no host was simulated"
        } else {
            continue;
        };
        (target.light, target.note) = (TargetColor::NotJudged, Some(why.to_owned()));
    }
}

fn statement(targets: &[Target]) -> String {
    let count = |light| {
        targets
            .iter()
            .filter(|target| target.light == light)
            .count()
    };
    let missed: Vec<String> = targets
        .iter()
        .filter(|target| target.is_missed())
        .filter_map(|target| {
            Some(format!(
                "{} {} (target: {})",
                target.short,
                target.reached()?,
                target.goal()
            ))
        })
        .collect();
    let judged = count(TargetColor::Green) + missed.len();
    if judged == 0 {
        return "no target is judged".to_owned();
    }
    let what = if missed.is_empty() {
        String::new()
    } else {
        format!("; not met: {}", missed.join(", "))
    };
    let met = match count(TargetColor::Green) {
        0 => "none is met".to_owned(),
        1 if judged == 1 => "it is met".to_owned(),
        2 if judged == 2 => "both are met".to_owned(),
        all if all == judged => "all are met".to_owned(),
        1 => "1 is met".to_owned(),
        some => format!("{some} are met"),
    };
    let verb = if judged == 1 { "is" } else { "are" };
    format!(
        "{judged} of {} {verb} judged, {met}{what}",
        counted(targets.len(), "target")
    )
}

impl Target {
    /// Whether it is not met: a value that is not known misses none.
    pub fn is_missed(&self) -> bool {
        matches!(self.light, TargetColor::Red | TargetColor::Amber)
    }

    /// Whether it has a light.
    pub fn is_judged(&self) -> bool {
        self.is_missed() || self.light == TargetColor::Green
    }

    /// The achieved value with what is known of it: `30.0 % to 60.0 %`, `at least 8.2 %`.
    pub fn reached(&self) -> Option<String> {
        let value = self.value_percent?;
        Some(match self.low_percent {
            low if self.is_lower_bound => {
                LowerBound(true).of(format!("{:.1}", low.unwrap_or(value)))
            }
            Some(low) => format!("{low:.1} to {value:.1}"),
            None => format!("{value:.1}"),
        })
    }

    /// The condition for green: `> 80 %`.
    pub fn goal(&self) -> String {
        format!(
            "{} {} %",
            if self.is_at_least { '>' } else { '<' },
            self.green_percent.0
        )
    }

    fn red(&self) -> String {
        format!(
            "{} {} %",
            if self.is_at_least { "<" } else { "≥" },
            self.red_percent.0
        )
    }
}

impl Tabular for TargetsReport {
    fn tables(&self) -> Vec<Table> {
        vec![
            Table::of("targets", "Targets", &self.targets)
                .remaining()
                .note(format!("{}.", self.statement))
                .note(
                    "Either matrix ops or HBM near its peak is enough. Limits can be changed in systole.toml: \
                 \"targets.mxu_green_percent\" = 75.",
                )
                .build(),
        ]
    }
}

#[cfg(test)]
mod tests;
