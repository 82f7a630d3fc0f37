//! Steps on devices from annotations on their hosts: each step runs the programs that its annotation launched.
//!
//! ```text
//! host     |train 0  |         |train 1  |         |train 2  |
//! device       [micro][micro][apply] [micro][micro][apply] [micro]
//! step         0.....................1.....................2
//! ```
//!
//! A host may be several steps ahead of its devices, so the launch of a program tells its annotation, and not the time at
//! which it runs. Where launches are not recorded, programs that repeat once for each annotation are taken in order; else
//! the time at which they start has to do.

use engine::prelude::*;

use super::host::{self, HostAnnotations};
use super::marks::{MarkedSteps, NO_NEXT, StepMark, join};
use super::programs::{dominant, function_of};
use crate::clock_alignment::{ClocksReport, programs_on_host};

/// How the annotation of a program is known, the surest way first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum OwnedBy {
    Launch,
    Order,
    Time,
}

impl OwnedBy {
    fn title(self) -> &'static str {
        match self {
            Self::Launch => "their launches",
            Self::Order => "their order",
            Self::Time => "the times at which they start",
        }
    }
}

/// Steps from annotations with programs.
pub(super) fn find(cx: &Context<'_>, devices: &[GroupId]) -> Result<MarkedSteps, String> {
    let annotated = host::annotations(cx.model)?;
    let mut by_group = Vec::new();
    let mut owned_by = OwnedBy::Launch;
    for &device in devices {
        let programs = DevicePrograms::of(cx, device);
        let Some(marks) = annotated
            .of(cx.model, device)
            .filter(|_| !programs.all.is_empty())
        else {
            continue;
        };
        let (owners, by) = programs.owners(marks);
        owned_by = owned_by.max(by);
        let steps = programs.steps(&owners, marks);
        if !programs.are_regular(&steps, marks) {
            return Err(format!(
                "the host annotates {} as {}, but which programs they launch is not recorded",
                counted(marks.len(), "step"),
                annotated.name
            ));
        }
        by_group.push((device, programs.marks(&steps, marks)));
    }
    if by_group.is_empty() {
        return Err("no device recorded program executions".to_owned());
    }
    let HostAnnotations { name, .. } = annotated;
    let steps = join(cx.model, by_group);
    let count = counted(steps.len(), "step");
    let by = owned_by.title();
    Ok(MarkedSteps {
        why: format!(
            "the host annotates {count} as {name}, and the programs of each are known by {by}"
        ),
        marker: name,
        steps,
    })
}

/// The programs of one device.
struct DevicePrograms<'a> {
    device: GroupId,
    /// In time order, by the clock of the host.
    all: Vec<(SliceRef<'a>, TimeRange)>,
    launches: BTreeMap<SliceId, Timestamp>,
}

/// The programs of one step: an annotation, and the first and the number of its programs.
struct OwnedPrograms {
    mark: usize,
    first: usize,
    count: usize,
}

impl<'a> DevicePrograms<'a> {
    fn of(cx: &Context<'a>, device: GroupId) -> Self {
        let pairs = cx
            .fact::<ClocksReport>()
            .launches_of(device)
            .map(|launches| &launches.begins[..]);
        let launch = |host: SliceId| cx.model.slice(host).start();
        let launches = pairs
            .unwrap_or_default()
            .iter()
            .map(|pair| (pair.program, launch(pair.host)))
            .collect();
        Self {
            device,
            all: programs_on_host(cx, device),
            launches,
        }
    }

    /// For each program the annotation that it belongs to, which never decreases; `None` before the first.
    fn owners(&self, marks: &[StepMark]) -> (Vec<Option<usize>>, OwnedBy) {
        let mark_at = |start: Timestamp| {
            marks
                .partition_point(|mark| mark.range.start <= start)
                .checked_sub(1)
        };
        let mut latest = None;
        let mut owner = |annotation: Option<usize>| {
            latest = latest.max(annotation);
            latest
        };
        if !self.launches.is_empty() {
            // Without a launch of its own, a program belongs to the one before it.
            let launched = |program: SliceRef<'_>| {
                self.launches
                    .get(&program.id())
                    .and_then(|&launch| mark_at(launch))
            };
            return (
                self.all
                    .iter()
                    .map(|&(program, _)| owner(launched(program)))
                    .collect(),
                OwnedBy::Launch,
            );
        }
        if let Some(each) = self.period(marks.len()) {
            return (
                (0..self.all.len()).map(|k| Some(k / each)).collect(),
                OwnedBy::Order,
            );
        }
        (
            self.all
                .iter()
                .map(|(_, range)| owner(mark_at(range.start)))
                .collect(),
            OwnedBy::Time,
        )
    }

    /// The number of programs in each step if the same ones run in every one of `steps`.
    fn period(&self, steps: usize) -> Option<usize> {
        let each = self.all.len() / steps.max(1);
        let name = |(program, _): &(SliceRef<'a>, TimeRange)| function_of(program.name());
        let repeats = || {
            self.all
                .iter()
                .zip(self.all.iter().skip(each))
                .all(|(one, next)| name(one) == name(next))
        };
        (each > 0 && self.all.len() == each * steps && repeats()).then_some(each)
    }

    fn steps(&self, owners: &[Option<usize>], marks: &[StepMark]) -> Vec<OwnedPrograms> {
        let mut steps: Vec<OwnedPrograms> = Vec::new();
        for (first, mark) in owners
            .iter()
            .enumerate()
            .filter_map(|(first, owner)| Some((first, (*owner)?)))
        {
            match steps.last_mut().filter(|last| last.mark == mark) {
                Some(last) => last.count += 1,
                None => steps.push(OwnedPrograms {
                    mark,
                    first,
                    count: 1,
                }),
            }
        }
        // What is launched after the last annotation may belong to anything.
        let before = steps
            .len()
            .checked_sub(2)
            .and_then(|before| steps.get(before))
            .map(|before| before.count);
        if let Some(last) = steps.last_mut() {
            let end = marks
                .get(last.mark)
                .map_or(Timestamp::MAX, |mark| mark.range.end);
            let programs = self.all.iter().skip(last.first).take(last.count);
            last.count = before
                .unwrap_or_else(|| {
                    programs
                        .take_while(|(program, range)| {
                            self.launches
                                .get(&program.id())
                                .copied()
                                .unwrap_or(range.start)
                                < end
                        })
                        .count()
                        .max(1)
                })
                .min(last.count);
        }
        steps
    }

    /// Whether most annotations have programs, and most of these the same number of executions of the dominant function.
    fn are_regular(&self, steps: &[OwnedPrograms], marks: &[StepMark]) -> bool {
        let all = [(
            self.device,
            self.all
                .iter()
                .map(|&(program, _)| program)
                .collect::<Vec<_>>(),
        )];
        let marker = dominant(&all, function_of);
        let mut counts: Vec<usize> = steps
            .iter()
            .map(|step| {
                let programs = self.all.iter().skip(step.first).take(step.count);
                programs
                    .filter(|(program, _)| function_of(program.name()) == marker)
                    .count()
            })
            .collect();
        counts.sort_unstable();
        let usual = counts.get(counts.len() / 2).copied().unwrap_or(0);
        let same = counts.iter().filter(|&&count| count == usual).count();
        usual > 0 && 2 * same >= counts.len() && 2 * steps.len() >= marks.len()
    }

    /// From the first program of a step to the first of the next. The last one ends with its own programs.
    fn marks(&self, steps: &[OwnedPrograms], marks: &[StepMark]) -> Vec<StepMark> {
        let program = |index: usize| self.all.get(index).map(|(program, _)| program.range());
        let mark = |(k, step): (usize, &OwnedPrograms)| {
            let annotation = marks.get(step.mark)?;
            let start = program(step.first)?.start;
            let next = steps
                .get(k + 1)
                .and_then(|next| program(next.first))
                .map(|next| next.start);
            let program_ends = (step.first..step.first + step.count)
                .filter_map(program)
                .map(|range| range.end);
            let end = next.or_else(|| program_ends.max())?;
            Some(StepMark {
                number: annotation.number.or_else(|| u32::try_from(step.mark).ok()),
                label: annotation.label.clone(),
                range: TimeRange::new(start, end),
                partial: (next.is_none() && k > 0).then_some(NO_NEXT),
            })
        };
        steps.iter().enumerate().filter_map(mark).collect()
    }
}
