//! The import log: issues of declared kinds, counted, with the first few examples of each.

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};

/// The name of an event whose own name is lost.
pub const UNKNOWN_EVENT: &str = "(unknown event)";

/// How much an issue matters.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is missing.
    Info,
    /// Repaired by a rule; the model may differ a little from the file.
    Warning,
    /// Data is missing from the model.
    Loss,
}

macro_rules! issue_kinds {
    ($($(#[doc = $doc:literal])+ $name:ident = $id:literal, $severity:ident;)+) => {
        /// Everything that can be wrong with a trace that can still be opened.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema, Deserialize)]
        pub enum IssueKind { $($(#[doc = $doc])+ #[serde(rename = $id)] $name,)+ }

        impl IssueKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];
            /// Stable name.
            pub fn id(self) -> &'static str { match self { $(Self::$name => $id),+ } }
            /// How much it matters.
            pub fn severity(self) -> Severity { match self { $(Self::$name => Severity::$severity),+ } }
            /// A sentence for the user.
            pub fn explain(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc,)+).trim_ascii()),+ }
            }
        }
    };
}

issue_kinds! {
    /// The file ends too early; what came before was read.
    TruncatedFile = "truncated-file", Loss;
    /// The file ends before all events of a device. Reports leave it out, unless there is no whole one or it is asked for:
    /// then they end with its last op.
    DeviceCut = "device-cut", Warning;
    /// A part of a file of records is damaged and was skipped; the records around it were read.
    DamagedRecords = "damaged-records", Loss;
    /// A part of a file is damaged and was skipped up to its end, with all events in it.
    DamagedPart = "damaged-part", Loss;
    /// An event could not be read and was skipped.
    MalformedEvent = "malformed-event", Loss;
    /// An event has no timestamp, or one that is not a number, and was skipped.
    BadTimestamp = "bad-timestamp", Loss;
    /// A duration is negative or not a number; it was read as zero.
    BadDuration = "bad-duration", Warning;
    /// A time does not fit into 64-bit picoseconds and was clipped.
    TimeOutOfRange = "time-out-of-range", Warning;
    /// A time does not fit into 64-bit picoseconds; its event was left out.
    BeyondTimeline = "beyond-timeline", Loss;
    /// A time is more than seven days away from most others of its file, longer than any capture; its event was left
    /// out.
    ImpossibleTime = "impossible-time", Loss;
    /// A slice begins in another one and ends after it; it moved to a deeper lane.
    OverlapSpilled = "overlap-spilled", Info;
    /// A slice has no span on the device clock, but others of its track have; its device time was derived from its
    /// neighbours, with the distances and the duration of the timeline.
    DeviceClockMissing = "device-clock-missing", Warning;
    /// An end event has no begin event.
    EndWithoutBegin = "end-without-begin", Loss;
    /// A begin event has no end event; the slice runs to the end of its track.
    BeginWithoutEnd = "begin-without-end", Warning;
    /// An event refers to metadata that the file lacks.
    UnknownMetadata = "unknown-metadata", Warning;
    /// An event's phase is not one that this importer knows; it was skipped.
    UnknownPhase = "unknown-phase", Loss;
    /// The file contains data that this program does not read, next to data that it reads.
    NotRead = "not-read", Loss;
    /// Something follows the end of the document, perhaps a second one; it was not read.
    ContentAfterEnd = "content-after-end", Loss;
    /// A string is not valid UTF-8; the invalid bytes were replaced.
    InvalidUtf8 = "invalid-utf8", Warning;
    /// A counter sample is longer than the time to the next sample, or than its op, and was clipped.
    CounterClipped = "counter-clipped", Warning;
    /// A flow has only one end in this trace.
    FlowWithoutEnd = "flow-without-end", Info;
    /// An asynchronous op has a start but no done; its span ends with its program.
    AsyncUnterminated = "async-unterminated", Warning;
    /// An asynchronous op has a done, but its start is not in the trace.
    AsyncWithoutStart = "async-without-start", Warning;
    /// A plane or line came in several parts, which were joined.
    ChunksMerged = "chunks-merged", Info;
    /// The profiler recorded an error in the trace.
    ProfilerError = "profiler-error", Warning;
    /// The profiler recorded a warning in the trace.
    ProfilerWarning = "profiler-warning", Info;
    /// The hardware or the runtime dropped events.
    DroppedTraces = "dropped-traces", Loss;
    /// The exporter stopped at its event limit: the end of the session is missing.
    ExportLimit = "export-limit", Loss;
    /// A file of the run could not be read and was left out.
    SourceSkipped = "source-skipped", Loss;
    /// The run is still being written: a file changed while it was read, or has no end and was written seconds ago.
    StillWritten = "still-written", Warning;
    /// Hosts could not be aligned: a file does not record when its session started.
    HostsNotAligned = "hosts-not-aligned", Warning;
    /// Files of one run started too far apart to be one session, or a host's clock is wrong. Each is drawn from its own
    /// start, and sums over devices mix different sessions.
    SessionsApart = "sessions-apart", Warning;
    /// Hosts of one capture were in several run folders, which were joined; open one folder by its path to read it
    /// alone.
    RunsJoined = "runs-joined", Info;
    /// Another run folder holds other hosts from about the same time. It may belong to this capture and was not read;
    /// select it with --run.
    RunNearby = "run-nearby", Warning;
    /// Profiles lie beside the runs of this directory and were not read; open one by its path.
    BesideRuns = "beside-runs", Warning;
    /// Two files of a run have the same content; they were counted once.
    SameContent = "same-content", Warning;
    /// A compiler dump was found next to a program; it was read, or the example gives the reason why not.
    FoundBeside = "found-beside", Info;
    /// Programs were read from the dump that was named; one of a profile that was recognized by its name may be of another
    /// compilation.
    ProgramFromDump = "program-from-dump", Info;
    /// Programs that the profile does not hold were not found in the dump that was named with certainty.
    ProgramNotInDump = "program-not-in-dump", Warning;
    /// Programs of the dump that was named belong to none of the profile.
    DumpNotUsed = "dump-not-used", Info;
    /// The same data is recorded twice; the second copy was left out.
    Duplicate = "duplicate", Info;
    /// The tool that exported the file left out events that were too short to be visible.
    Downsampled = "downsampled", Loss;
    /// The file counts cycles and no clock frequency was given; a frequency was assumed.
    AssumedClock = "assumed-clock", Warning;
    /// A simulator counts padding as memory accesses; the accesses in its trace were counted instead, or none.
    PaddedCounts = "padded-counts", Warning;
    /// A value cannot be right and was left out.
    ImplausibleValue = "implausible-value", Warning;
    /// The file gives this op no time; a model of latency and bandwidth does.
    CostModelled = "cost-modelled", Info;
    /// The compiler did not estimate this op; it takes no time on the timeline.
    CostMissing = "cost-missing", Warning;
    /// The work of an op is an approximation: an exact count would take too long.
    WorkUnknown = "work-unknown", Warning;
    /// The work of an op was counted roughly: counting it exactly would take too long.
    CostRounded = "cost-rounded", Info;
    /// A name or string exceeds the length limit and was truncated.
    TextCut = "text-cut", Info;
    /// The trip count of a loop is unknown; its body is drawn once.
    TripCountUnknown = "trip-count-unknown", Warning;
    /// A loop or call has more executions than are drawn; the remaining time counts as its self time.
    LoopFolded = "loop-folded", Warning;
    /// A loop or call could not be simulated, and its duration is not recorded; its time is missing.
    NotPlayed = "not-played", Loss;
    /// Stack frames of a program form a cycle; the stacks were cut there.
    FrameRing = "frame-ring", Warning;
    /// An instruction starts before the one scheduled before it has ended.
    ScheduleOverlaps = "schedule-overlaps", Warning;
}

/// One issue, with its place.
#[derive(Debug, Serialize, Deserialize)]
pub struct Issue {
    /// What.
    pub kind: IssueKind,
    /// Place and value: `event 512 at byte 90,117: "dur": -3`.
    pub example: String,
}

/// All issues of one kind.
#[derive(Clone, Debug, PartialEq, Eq, schemars::JsonSchema, Deserialize)]
pub struct IssueCount {
    /// What.
    pub kind: IssueKind,
    /// How often.
    pub count: u64,
    /// Bytes that were not read where a part of a file was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped_bytes: Option<u64>,
    /// The first few.
    pub examples: Vec<String>,
}

/// Bytes that are not known are left out of what people and their programs read. A snapshot has no names of fields, so it
/// needs all of them.
impl Serialize for IssueCount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let has_bytes = self.skipped_bytes.is_some() || !serializer.is_human_readable();
        let mut fields = serializer.serialize_struct("IssueCount", 3 + usize::from(has_bytes))?;
        fields.serialize_field("kind", &self.kind)?;
        fields.serialize_field("count", &self.count)?;
        if has_bytes {
            fields.serialize_field("skipped_bytes", &self.skipped_bytes)?;
        }
        fields.serialize_field("examples", &self.examples)?;
        fields.end()
    }
}

impl IssueCount {
    fn skip(&mut self, bytes: Option<u64>) {
        let all = [self.skipped_bytes, bytes].into_iter().flatten();
        self.skipped_bytes = all.reduce(u64::saturating_add);
    }
}

/// The issues found by an import: what was lost, repaired or noticed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(transparent)]
pub struct ImportLog {
    counts: Vec<IssueCount>,
}

impl ImportLog {
    /// How many examples are kept of each kind.
    pub const MAX_EXAMPLES: usize = 5;

    /// Counts one issue. `example` is only called while examples are still kept.
    pub fn add(&mut self, kind: IssueKind, example: impl FnOnce() -> String) {
        self.add_many(kind, 1, example);
    }

    /// Counts a part of a file that was not read, of so many bytes.
    pub fn add_skipped(&mut self, bytes: usize, example: impl FnOnce() -> String) {
        self.add_many(IssueKind::DamagedPart, 1, example);
        self.entry(IssueKind::DamagedPart).skip(Some(bytes as u64));
    }

    /// Counts `count` issues with one example.
    pub fn add_many(&mut self, kind: IssueKind, count: u64, example: impl FnOnce() -> String) {
        if count == 0 {
            return;
        }
        let entry = self.entry(kind);
        entry.count += count;
        if entry.examples.len() < Self::MAX_EXAMPLES {
            entry.examples.push(example());
        }
    }

    fn entry(&mut self, kind: IssueKind) -> &mut IssueCount {
        let index = match self.counts.binary_search_by_key(&kind, |entry| entry.kind) {
            Ok(index) => index,
            Err(index) => {
                self.counts.insert(
                    index,
                    IssueCount {
                        kind,
                        count: 0,
                        skipped_bytes: None,
                        examples: Vec::new(),
                    },
                );
                index
            }
        };
        &mut self.counts[index]
    }

    /// Adds all of `other`, for logs kept by worker threads.
    pub fn merge(&mut self, other: Self) {
        for other in other.counts {
            let entry = self.entry(other.kind);
            entry.count += other.count;
            entry.skip(other.skipped_bytes);
            let room = Self::MAX_EXAMPLES.saturating_sub(entry.examples.len());
            entry.examples.extend(other.examples.into_iter().take(room));
        }
    }

    /// Every kind that occurred, in the order of [`IssueKind::ALL`].
    pub fn counts(&self) -> &[IssueCount] {
        &self.counts
    }

    /// How often `kind` occurred.
    pub fn count(&self, kind: IssueKind) -> u64 {
        self.counts
            .iter()
            .find(|entry| entry.kind == kind)
            .map_or(0, |entry| entry.count)
    }

    /// How many events, files and damaged parts of files are missing from the model: as many events at least.
    pub fn lost(&self) -> u64 {
        self.counts
            .iter()
            .filter(|e| e.kind.severity() == Severity::Loss)
            .map(|e| e.count)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_first_examples_and_counts_all_issues() {
        let mut log = ImportLog::default();
        for i in 0..100 {
            log.add(IssueKind::BadTimestamp, || format!("event {i}"));
        }
        let mut other = ImportLog::default();
        other.add(IssueKind::OverlapSpilled, || "op".into());
        other.add_many(IssueKind::BadTimestamp, 7, || "late".into());
        log.merge(other);
        assert_eq!(log.count(IssueKind::BadTimestamp), 107);
        assert_eq!(log.counts().len(), 2);
        assert_eq!(log.counts()[0].examples.len(), ImportLog::MAX_EXAMPLES);
        assert_eq!(log.lost(), 107);
    }

    #[test]
    fn bytes_of_skipped_parts_add_up() {
        let mut log = ImportLog::default();
        log.add_skipped(10, || "byte 5".into());
        let mut other = ImportLog::default();
        other.add_skipped(32, || "byte 70".into());
        other.add(IssueKind::MalformedEvent, || "byte 90".into());
        log.merge(other);
        let skipped: Vec<_> = log
            .counts()
            .iter()
            .map(|entry| (entry.count, entry.skipped_bytes))
            .collect();
        assert_eq!(skipped, [(2, Some(42)), (1, None)]);
        assert_eq!(log.counts()[0].examples, ["byte 5", "byte 70"]);
    }

    #[test]
    fn issue_kinds_have_unique_ids_and_a_sentence() {
        let mut ids: Vec<_> = IssueKind::ALL.iter().map(|kind| kind.id()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), IssueKind::ALL.len());
        assert!(
            IssueKind::ALL
                .iter()
                .all(|kind| kind.explain().ends_with('.'))
        );
    }
}
