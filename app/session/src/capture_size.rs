//! What the bytes of a capture hold, how many steps fit into a file of a host, and what to leave out of the next one.

use analysis::reports::Steps;
use analysis::{Percent, Scope, Table, Tabular, Unit};
use importers::{ImportError, InputSource, PartSize, ProfilePart, Progress};
use schemars::JsonSchema;
use serde::Serialize;
use trace_model::Source;

use crate::number::{self, counted};
use crate::open::{Session, file_of, lost_on_import};

/// Largest size of a profile of one host: protobuf and gRPC have no larger messages, and profilers write an empty file
/// instead.
pub const LARGEST_BYTES: u64 = i32::MAX as u64;

/// The sizes of the parts of a capture.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CaptureSize {
    /// The largest file: only it can become too large.
    pub file: String,
    /// Its size, unpacked.
    pub bytes: u64,
    /// Number of files of the run.
    pub files: usize,
    /// Steps of the capture; `None` if there are none.
    pub steps: Option<u64>,
    /// Steps of this kind that fit into the largest possible file; `None` without steps.
    pub steps_that_fit: Option<u64>,
    /// Sentences about this.
    pub statements: Vec<String>,
    /// The parts of the largest file, the largest first.
    pub parts: Vec<SizeOfPart>,
}

/// The size of one part of a capture.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SizeOfPart {
    /// What was recorded.
    pub part: String,
    /// Number of events; `None` for parts that are not made of events.
    pub events: Option<u64>,
    /// Bytes in the largest file.
    pub bytes: u64,
    /// Share of that file.
    pub share_percent: Option<Percent>,
    /// Bytes per step, the mean over the steps of the capture; `None` without steps, and for what steps do not repeat.
    pub step_bytes: Option<u64>,
    /// Steps that fit into the largest possible file without this part.
    pub steps_without: Option<u64>,
    /// How to leave it out.
    pub option: Option<String>,
    /// What the capture does not tell then.
    pub lost: Option<String>,
}

impl CaptureSize {
    /// The size of an open capture; `None` if none of its files is an XLA profile.
    pub fn of(session: &Session, progress: &Progress) -> Result<Option<Self>, ImportError> {
        let model = session.model();
        let mut largest: Option<(&Source, Vec<PartSize>, u64)> = None;
        let mut files = 0;
        for source in model.sources() {
            let Some(path) = file_of(source) else {
                continue;
            };
            let parts = importers::part_sizes(&InputSource::open(path)?, progress)?;
            let Some(parts) = parts else { continue };
            files += 1;
            let bytes: u64 = parts.iter().map(|part| part.bytes).sum();
            if largest.as_ref().is_none_or(|(.., most)| bytes > *most) {
                largest = Some((source, parts, bytes));
            }
        }
        let Some((source, parts, bytes)) = largest else {
            return Ok(None);
        };
        // A capture that counts as one step says nothing of steps.
        let steps = session.report::<Steps>(Scope::WholeTrace).ok();
        let steps = steps.filter(|report| report.has_steps());
        let mut of_groups = model.groups().iter().map(|group| group.source);
        let id = of_groups.find(|&id| std::ptr::eq(model.source(id), source));
        let steps = steps.zip(id);
        let steps = steps.map(|(report, id)| report.of_file(model, id).count() as u64);
        let steps = steps.filter(|steps| *steps > 0);
        let file = source.name.clone();
        let mut size = Self::new(file, files, bytes, &parts, steps);
        let lost = model.import_log().lost();
        if lost > 0 {
            let lost = lost_on_import(lost);
            size.statements.push(format!(
                "{lost}: the figures are of the rest. Without --size, systole doctor \
                 says what."
            ));
        }
        Ok(Some(size))
    }

    fn new(file: String, files: usize, bytes: u64, parts: &[PartSize], steps: Option<u64>) -> Self {
        let repeated: u64 = parts
            .iter()
            .filter(|part| is_repeated(part.part))
            .map(|part| part.bytes)
            .sum();
        let fit = |fixed: u64, repeated: u64| {
            let room = LARGEST_BYTES.saturating_sub(fixed);
            (u128::from(room) * u128::from(steps?)).checked_div(u128::from(repeated))
        };
        let fit = |fixed, repeated| fit(fixed, repeated).map(|steps| steps as u64);
        let fixed = bytes - repeated;
        let mut rows: Vec<SizeOfPart> = parts
            .iter()
            .map(|part| {
                let is_repeated = is_repeated(part.part);
                let remedy = remedy(part.part);
                let without = remedy.map(|_| {
                    let bytes_if = |is_own: bool| if is_own { part.bytes } else { 0 };
                    fit(
                        fixed - bytes_if(!is_repeated),
                        repeated - bytes_if(is_repeated),
                    )
                });
                SizeOfPart {
                    part: words(part),
                    events: (part.events > 0).then_some(part.events),
                    bytes: part.bytes,
                    share_percent: (bytes > 0)
                        .then(|| Percent::of_fraction(part.bytes as f64 / bytes as f64)),
                    step_bytes: steps
                        .filter(|_| is_repeated)
                        .and_then(|steps| part.bytes.checked_div(steps)),
                    steps_without: without.flatten(),
                    option: remedy.map(|(option, _)| option.to_owned()),
                    lost: remedy.map(|(_, lost)| lost.to_owned()),
                }
            })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.bytes));
        let mut size = Self {
            file,
            bytes,
            files,
            steps,
            steps_that_fit: fit(fixed, repeated),
            statements: Vec::new(),
            parts: rows,
        };
        size.statements = size.sentences(parts, fixed, repeated);
        size
    }

    /// Size of the largest file with another number of steps; `None` without steps.
    pub fn bytes_of(&self, steps: u64) -> Option<u64> {
        self.steps?;
        let of = |part: &SizeOfPart| {
            part.step_bytes
                .map_or(part.bytes, |step| step.saturating_mul(steps))
        };
        Some(
            self.parts
                .iter()
                .fold(0, |sum: u64, part| sum.saturating_add(of(part))),
        )
    }

    fn sentences(&self, parts: &[PartSize], fixed: u64, repeated: u64) -> Vec<String> {
        let of = match self.files {
            1 => String::new(),
            files => format!(", the largest of {files} files,"),
        };
        let mut said = vec![format!(
            "{}{of} has {}: {} of events, {} of names, programs and facts.",
            self.file,
            number::bytes(self.bytes),
            number::bytes(repeated),
            number::bytes(fixed)
        )];
        let (Some(steps), Some(fitting)) = (self.steps, self.steps_that_fit) else {
            said.push(format!(
                "How many steps fit into a file is not known: the capture has no steps. The profile of one host must stay \
                 below {}.",
                number::bytes(LARGEST_BYTES)
            ));
            return said;
        };
        said.push(format!(
            "{} of this kind fit into a file, with {} of events a step, the mean of {}. The profile of one host must stay \
             below {}: a larger one is written as an empty file.",
            counted(fitting, "step"),
            number::bytes(repeated / steps),
            counted(steps, "step"),
            number::bytes(LARGEST_BYTES)
        ));
        let devices: u64 = parts
            .iter()
            .filter(|part| part.part == ProfilePart::DeviceEvents)
            .map(|part| part.bytes)
            .sum();
        if devices > repeated / 2 {
            let share = Percent::of_fraction(devices as f64 / repeated as f64);
            said.push(format!(
                "{share:.1} of the events are of devices: record fewer steps, or fewer chips of each host with systole \
                 capture --option tpu_num_chips_to_profile_per_task=1."
            ));
        }
        let best = self
            .parts
            .iter()
            .filter(|part| part.steps_without > Some(fitting + fitting / WORTH_IT))
            .max_by_key(|part| part.steps_without);
        if let Some(SizeOfPart {
            part,
            steps_without: Some(without),
            option: Some(option),
            lost: Some(lost),
            ..
        }) = best
        {
            said.push(format!(
                "Without {part}, at most {} fit: {option}. Then {lost}.",
                counted(*without, "step")
            ));
        }
        said
    }
}

/// More steps by less than this part are not worth to be named.
const WORTH_IT: u64 = 20;

/// Whether every step adds to it.
fn is_repeated(part: ProfilePart) -> bool {
    matches!(
        part,
        ProfilePart::DeviceEvents | ProfilePart::PythonCalls | ProfilePart::HostEvents
    )
}

fn words(part: &PartSize) -> String {
    match part.part {
        ProfilePart::DeviceEvents => format!("events of devices, {}", part.line),
        ProfilePart::DeviceOps => "names, costs and texts of ops".to_owned(),
        ProfilePart::PythonCalls => "calls of Python functions".to_owned(),
        ProfilePart::HostEvents => "other events of host threads".to_owned(),
        ProfilePart::HostNames => "names of host events".to_owned(),
        ProfilePart::Programs => "programs of the compiler".to_owned(),
        ProfilePart::Other => "everything else".to_owned(),
    }
}

/// How to leave a part out, and what is lost by that.
fn remedy(part: ProfilePart) -> Option<(&'static str, &'static str)> {
    Some(match part {
        ProfilePart::PythonCalls => (
            "jax.profiler.ProfileOptions().python_tracer_level = 0, or systole capture --python-level 0",
            "idle time and waits for input are not explained by Python functions",
        ),
        ProfilePart::HostEvents => (
            "jax.profiler.ProfileOptions().host_tracer_level = 1, or systole capture --host-level 1; a part of them remains",
            "transfers have no sizes, and steps may lack the launches that they are found by",
        ),
        ProfilePart::Programs => (
            "jax.profiler.ProfileOptions().enable_hlo_proto = False",
            "operands, sources and memory plans are only known with --hlo and a dump of the compiler",
        ),
        ProfilePart::DeviceEvents
        | ProfilePart::DeviceOps
        | ProfilePart::HostNames
        | ProfilePart::Other => return None,
    })
}

impl Tabular for CaptureSize {
    fn tables(&self) -> Vec<Table> {
        let table = Table::of("size", format!("Parts of {}", self.file), &self.parts)
            .recorded("part", "Part", Unit::None, |row| row.part.clone())
            .recorded("events", "Events", Unit::Count, |row| {
                row.events.map(|events| events as f64)
            })
            .recorded("bytes", "Size", Unit::Bytes, |row| Some(row.bytes as f64))
            .derived("share_percent", "Of the file", Unit::Percent, |row| {
                row.share_percent
            })
            .derived("step_bytes", "A step", Unit::Bytes, |row| {
                row.step_bytes.map(|bytes| bytes as f64)
            })
            .derived("steps_without", "Fit at most without", Unit::Count, |row| {
                row.steps_without.map(|steps| steps as f64)
            })
            .derived("option", "How to leave it out", Unit::None, |row| {
                row.option.clone()
            })
            .derived("lost", "What is lost", Unit::None, |row| row.lost.clone())
            .build();
        vec![table]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(part: ProfilePart, bytes: u64) -> PartSize {
        PartSize {
            part,
            line: "XLA Ops".to_owned(),
            events: 1,
            bytes,
        }
    }

    #[test]
    fn steps_that_fit_are_what_room_there_is() {
        let parts = [
            part(ProfilePart::DeviceEvents, 400_000_000),
            part(ProfilePart::PythonCalls, 400_000_000),
            part(ProfilePart::Programs, 147_483_647),
        ];
        let bytes = parts.iter().map(|part| part.bytes).sum();
        let size = CaptureSize::new("a".to_owned(), 1, bytes, &parts, Some(4));
        // 200 MB a step, and 2,000 MB beside the programs.
        assert_eq!(size.steps_that_fit, Some(10));
        let without = |text: &str| {
            let row = size.parts.iter().find(|row| row.part.contains(text));
            row.unwrap().steps_without
        };
        assert_eq!((without("Python"), without("devices")), (Some(20), None));
        assert_eq!(without("programs"), Some(10));
        assert_eq!(
            (size.bytes_of(4), size.bytes_of(10)),
            (Some(bytes), Some(2_147_483_647))
        );
        assert!(
            size.statements
                .iter()
                .any(|said| said.contains("at most 20 steps fit")),
            "{size:?}"
        );
    }

    #[test]
    fn without_steps_nothing_is_promised() {
        let parts = [part(ProfilePart::HostEvents, 100)];
        let size = CaptureSize::new("a".to_owned(), 1, 100, &parts, None);
        assert_eq!((size.steps_that_fit, size.bytes_of(1)), (None, None));
        assert!(size.statements[1].contains("not known"), "{size:?}");
        let parts = [part(ProfilePart::Programs, 100)];
        let size = CaptureSize::new("a".to_owned(), 1, 100, &parts, Some(3));
        assert_eq!(size.steps_that_fit, None, "no event at all");
    }
}
