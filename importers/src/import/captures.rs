//! Finds run folders of a log directory that belong to one capture.
//!
//! Each host names its folder after its own clock at the start. Hosts that start in
//! different seconds, or whose clocks differ a little, therefore write to different
//! folders:
//!
//! ```text
//! plugins/profile/2026_01_31_04_47_36/host0.xplane.pb
//! plugins/profile/2026_01_31_04_47_38/host1.xplane.pb
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::SystemTime;

use crate::import::file_names::host_and_rank;

/// Runs of different hosts within this many seconds are one capture.
const ONE_CAPTURE_S: i64 = 15;
/// Runs within this many seconds may be one capture.
const NEARBY_S: i64 = 120;

/// One folder of a log directory.
pub(crate) struct CaptureRun {
    /// Path below the named directory, without `plugins/profile`: `train/2026_01_31_12_00_00`.
    pub name: String,
    pub files: Vec<PathBuf>,
    pub modified: SystemTime,
}

impl CaptureRun {
    /// Whether the last part of its name is `wanted`.
    pub fn is_called(&self, wanted: &str) -> bool {
        self.place().1 == wanted
    }

    /// The log directory, and the name of the run in it.
    fn place(&self) -> (&str, &str) {
        self.name.rsplit_once('/').unwrap_or(("", &self.name))
    }

    /// The timestamp in its name: `2026_01_31_12_00_00`.
    pub fn date(&self) -> Option<&str> {
        let last = self.place().1;
        seconds(last).map(|_| last)
    }

    /// The log directory, and the time in its name; `None` if it has none.
    fn time(&self) -> Option<(&str, i64)> {
        let (log, name) = self.place();
        Some((log, seconds(name)?))
    }

    /// Distance in seconds; `None` for other log directories and names without a date.
    fn seconds_from(&self, other: &Self) -> Option<i64> {
        let ((log, seconds), (other_log, other_at)) = (self.time()?, other.time()?);
        (log == other_log).then_some((seconds - other_at).abs())
    }

    /// Names of its hosts; `None` if a file does not name its host.
    fn hosts(&self) -> Option<BTreeSet<String>> {
        let host = |file: &PathBuf| {
            host_and_rank(file)
                .map(|(host, _)| host)
                .filter(|host| !host.is_empty())
        };
        self.files.iter().map(host).collect()
    }

    fn has_other_hosts_than(&self, other: &Self) -> bool {
        self.hosts()
            .zip(other.hosts())
            .is_some_and(|(ours, others)| ours.is_disjoint(&others))
    }
}

/// `2026_01_31_12_00_00`, in seconds.
fn seconds(name: &str) -> Option<i64> {
    let name = name.get(..19)?;
    let (date, time) = (
        name.get(..10)?.replace('_', "-"),
        name.get(11..)?.replace('_', ":"),
    );
    let time_of_name = humantime::parse_rfc3339_weak(&format!("{date} {time}")).ok()?;
    let since = time_of_name.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    (name.matches('_').count() == 5).then_some(since.as_secs() as i64)
}

/// The folders of one capture, the newest first.
#[derive(Default)]
pub(crate) struct CaptureFolder {
    pub runs: Vec<CaptureRun>,
}

impl CaptureFolder {
    /// Runs of other captures with other hosts that were written at about the same time.
    pub fn nearby(&self, others: &[Self]) -> Vec<String> {
        let is_near = |run: &CaptureRun, other: &CaptureRun| {
            run.seconds_from(other)
                .is_some_and(|apart| apart <= NEARBY_S)
        };
        let runs = others.iter().flat_map(|capture| &capture.runs);
        let near = runs.filter(|run| {
            self.runs.iter().any(|other| is_near(run, other))
                && self
                    .runs
                    .iter()
                    .all(|other| run.has_other_hosts_than(other))
        });
        near.map(|run| run.name.clone()).collect()
    }
}

/// Groups runs, newest first, into captures: runs close in time without common hosts. If a host is in two of them, it
/// is unclear to which run the others belong, so none are joined.
pub(crate) fn of(runs: Vec<CaptureRun>) -> Vec<CaptureFolder> {
    let mut logs: BTreeMap<&str, Vec<(i64, usize)>> = BTreeMap::new();
    for (index, run) in runs.iter().enumerate() {
        if let Some((log, seconds)) = run.time() {
            logs.entry(log).or_default().push((seconds, index));
        }
    }
    // To which capture each run belongs, named after its first run.
    let mut owner: Vec<usize> = (0..runs.len()).collect();
    for times in logs.values_mut() {
        times.sort_unstable_by_key(|&(seconds, index)| (Reverse(seconds), index));
        for group in groups(&runs, times) {
            let first = group
                .iter()
                .map(|&(_, index)| index)
                .min()
                .unwrap_or_default();
            for &(_, index) in group {
                owner[index] = first;
            }
        }
    }
    let mut captures: BTreeMap<usize, CaptureFolder> = BTreeMap::new();
    for (run, first) in runs.into_iter().zip(owner) {
        captures.entry(first).or_default().runs.push(run);
    }
    captures.into_values().collect()
}

/// The captures of one log directory, from its runs with their times, newest first. The runs close to the first one are
/// a window, which moves only forwards; hosts are counted while they are in it.
fn groups<'a>(runs: &[CaptureRun], times: &'a [(i64, usize)]) -> Vec<&'a [(i64, usize)]> {
    let hosts: Vec<_> = times
        .iter()
        .map(|&(_, index)| runs[index].hosts())
        .collect();
    let (mut groups, mut first, mut end) = (Vec::new(), 0, 0);
    let mut window = HostCounts::default();
    while first < times.len() {
        while end < times.len() && times[first].0 - times[end].0 <= ONE_CAPTURE_S {
            window.count(hosts[end].as_ref(), 1);
            end += 1;
        }
        let length = if window.is_one() { end - first } else { 1 };
        hosts[first..first + length]
            .iter()
            .for_each(|hosts| window.count(hosts.as_ref(), -1));
        groups.push(&times[first..first + length]);
        first += length;
    }
    groups
}

/// The hosts of some runs.
#[derive(Default)]
struct HostCounts<'a> {
    runs: BTreeMap<&'a str, i32>,
    /// Hosts in several runs, and runs that do not name theirs.
    unclear: i32,
    all: i32,
}

impl<'a> HostCounts<'a> {
    fn count(&mut self, hosts: Option<&'a BTreeSet<String>>, change: i32) {
        self.all += change;
        let Some(hosts) = hosts else {
            self.unclear += change;
            return;
        };
        for host in hosts {
            let runs = self.runs.entry(host).or_default();
            self.unclear -= i32::from(*runs > 1);
            *runs += change;
            self.unclear += i32::from(*runs > 1);
        }
    }

    /// Whether these runs can be one capture.
    fn is_one(&self) -> bool {
        self.all > 1 && self.unclear == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, hosts: &str) -> CaptureRun {
        let files = hosts
            .split_whitespace()
            .map(|host| PathBuf::from(format!("{name}/{host}")))
            .collect();
        CaptureRun {
            name: name.to_owned(),
            files,
            modified: SystemTime::UNIX_EPOCH,
        }
    }

    /// Names of the captures, `+` between joined runs.
    fn captures(runs: &[(&str, &str)]) -> Vec<String> {
        let captures = of(runs.iter().map(|(name, hosts)| run(name, hosts)).collect());
        let names = |capture: &CaptureFolder| {
            capture
                .runs
                .iter()
                .map(|run| run.name.as_str())
                .collect::<Vec<_>>()
                .join("+")
        };
        captures.iter().map(names).collect()
    }

    const A: &str = "a.xplane.pb";
    const B: &str = "b.xplane.pb";

    #[test]
    fn seconds_between_dates_span_months_and_leap_years() {
        let apart = |a: &str, b: &str| run(a, A).seconds_from(&run(b, B));
        assert_eq!(apart("2026_01_31_04_47_36", "2026_01_31_04_47_38"), Some(2));
        assert_eq!(apart("2026_12_31_23_59_59", "2027_01_01_00_00_01"), Some(2));
        assert_eq!(
            apart("2028_02_28_23_59_59", "2028_03_01_00_00_00"),
            Some(86_401)
        );
        assert_eq!(
            apart("x/2026_01_31_04_47_36", "y/2026_01_31_04_47_36"),
            None
        );
        assert_eq!(apart("good_run", "2026_01_31_04_47_36"), None);
        assert_eq!(
            apart("2026_01_31_04_47_\u{e9}6", "2026_01_31_04_47_36"),
            None
        );
    }

    #[test]
    fn folders_seconds_apart_are_one_capture() {
        let (late, early) = ("2026_01_31_04_47_38", "2026_01_31_04_47_36");
        assert_eq!(
            captures(&[(late, A), (early, B)]),
            [format!("{late}+{early}")]
        );
        // The same host twice means two captures.
        assert_eq!(captures(&[(late, A), (early, A)]), [late, early]);
        assert_eq!(
            captures(&[(late, "a.xplane.pb b.xplane.pb"), (early, B)]),
            [late, early]
        );
        // A file without a host name.
        assert_eq!(
            captures(&[(late, A), (early, "perfetto_trace.json.gz")]),
            [late, early]
        );
        assert_eq!(
            captures(&[(late, A), ("2026_01_31_04_46_36", B)]),
            [late, "2026_01_31_04_46_36"]
        );
        assert_eq!(
            captures(&[("x/2026_01_31_04_47_38", A), ("y/2026_01_31_04_47_36", B)]).len(),
            2
        );
        // The folder of another log directory lies between them.
        let mixed = [
            ("x/2026_01_31_04_47_38", A),
            ("y/2026_01_31_04_47_37", A),
            ("x/2026_01_31_04_47_36", B),
        ];
        assert_eq!(
            captures(&mixed),
            [
                "x/2026_01_31_04_47_38+x/2026_01_31_04_47_36",
                "y/2026_01_31_04_47_37"
            ]
        );
    }

    #[test]
    fn ambiguous_run_is_reported_as_nearby() {
        let runs = [
            ("2026_01_31_04_47_40", A),
            ("2026_01_31_04_47_38", B),
            ("2026_01_31_04_47_36", A),
        ];
        let mut captures = of(runs.iter().map(|(name, hosts)| run(name, hosts)).collect());
        let newest = captures.remove(0);
        assert_eq!(newest.runs.len(), 1);
        assert_eq!(newest.nearby(&captures), ["2026_01_31_04_47_38"]);
        let far = of(vec![run("2026_01_31_04_57_40", B)]);
        assert_eq!(newest.nearby(&far), [""; 0]);
    }

    /// Folders of experiments hold no time in their names, or all the same: each is looked at once. In quadratic time,
    /// this would take hours.
    #[test]
    fn many_runs_take_linear_time() {
        const MANY: usize = 100_000;
        let named = |name: &dyn Fn(usize) -> String| {
            (0..MANY).map(|at| run(&name(at), A)).collect::<Vec<_>>()
        };
        let without_time = named(&|at| format!("experiment_{at}"));
        let at_once = named(&|at| format!("2026_01_31_04_47_36_{at}"));
        let of_many_logs = named(&|at| format!("log_{at}/2026_01_31_04_47_36"));
        for runs in [without_time, at_once, of_many_logs] {
            assert_eq!(of(runs).len(), MANY);
        }
    }
}
