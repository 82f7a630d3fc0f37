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

use std::collections::BTreeSet;
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
    pub(crate) name: String,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) modified: SystemTime,
}

impl CaptureRun {
    /// Whether the last part of its name is `wanted`.
    pub(crate) fn is_called(&self, wanted: &str) -> bool {
        self.place().1 == wanted
    }

    /// The log directory, and the name of the run in it.
    fn place(&self) -> (&str, &str) {
        self.name.rsplit_once('/').unwrap_or(("", &self.name))
    }

    /// The timestamp in its name: `2026_01_31_12_00_00`.
    pub(crate) fn date(&self) -> Option<&str> {
        let last = self.place().1;
        seconds(last).map(|_| last)
    }

    /// Distance in seconds; `None` for other log directories and names without a date.
    fn seconds_from(&self, other: &Self) -> Option<i64> {
        let ((log, name), (other_log, other_name)) = (self.place(), other.place());
        (log == other_log).then_some(())?;
        seconds(name)?.checked_sub(seconds(other_name)?).map(i64::abs)
    }

    /// Names of its hosts; `None` if a file does not name its host.
    fn hosts(&self) -> Option<BTreeSet<String>> {
        let host = |file: &PathBuf| host_and_rank(file).map(|(host, _)| host).filter(|host| !host.is_empty());
        self.files.iter().map(host).collect()
    }

    fn has_other_hosts_than(&self, other: &Self) -> bool {
        self.hosts().zip(other.hosts()).is_some_and(|(own, others)| own.is_disjoint(&others))
    }
}

/// Seconds of `2026_01_31_12_00_00` since an arbitrary day.
fn seconds(name: &str) -> Option<i64> {
    let name = name.get(..19)?;
    let parts: Vec<i64> = name
        .split('_')
        .zip([4, 2, 2, 2, 2, 2])
        .map(|(part, digits)| {
            let is_number = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| part.parse().ok()).flatten()
        })
        .collect::<Option<_>>()?;
    let &[year, month, day, hour, minute, second] = &parts[..] else { return None };
    // Count years from March, so that the leap day is the last day of a year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

/// The folders of one capture, the newest first.
#[derive(Default)]
pub(crate) struct CaptureFolder {
    pub(crate) runs: Vec<CaptureRun>,
}

impl CaptureFolder {
    /// Runs of other captures with other hosts that were written at about the same time.
    pub(crate) fn nearby(&self, others: &[Self]) -> Vec<String> {
        let is_near = |run: &CaptureRun, own: &CaptureRun| run.seconds_from(own).is_some_and(|apart| apart <= NEARBY_S);
        let runs = others.iter().flat_map(|capture| &capture.runs);
        let near = runs.filter(|run| {
            self.runs.iter().any(|own| is_near(run, own)) && self.runs.iter().all(|own| run.has_other_hosts_than(own))
        });
        near.map(|run| run.name.clone()).collect()
    }
}

/// Groups runs, newest first, into captures: runs close in time without common hosts. If a host is in two of them, it
/// is unclear to which run the others belong, so none are joined.
pub(crate) fn of(runs: Vec<CaptureRun>) -> Vec<CaptureFolder> {
    let mut captures = Vec::new();
    let mut left = std::collections::VecDeque::from(runs);
    while let Some(first) = left.pop_front() {
        let near = left.iter().take_while(|run| first.seconds_from(run).is_none_or(|apart| apart <= ONE_CAPTURE_S));
        let near: Vec<usize> = near
            .enumerate()
            .filter(|(_, run)| first.seconds_from(run).is_some_and(|apart| apart <= ONE_CAPTURE_S))
            .map(|(at, _)| at)
            .collect();
        let group: Vec<&CaptureRun> =
            std::iter::once(&first).chain(near.iter().filter_map(|&at| left.get(at))).collect();
        let is_one = group
            .iter()
            .enumerate()
            .all(|(at, run)| group.iter().skip(at + 1).all(|other| run.has_other_hosts_than(other)));
        let mut runs = vec![first];
        if is_one {
            let mut found: Vec<CaptureRun> = near.iter().rev().filter_map(|&at| left.remove(at)).collect();
            found.reverse();
            runs.extend(found);
        }
        captures.push(CaptureFolder { runs });
    }
    captures
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, hosts: &str) -> CaptureRun {
        let files = hosts.split_whitespace().map(|host| PathBuf::from(format!("{name}/{host}"))).collect();
        CaptureRun { name: name.to_owned(), files, modified: SystemTime::UNIX_EPOCH }
    }

    /// Names of the captures, `+` between joined runs.
    fn captures(runs: &[(&str, &str)]) -> Vec<String> {
        let captures = of(runs.iter().map(|(name, hosts)| run(name, hosts)).collect());
        let names =
            |capture: &CaptureFolder| capture.runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>().join("+");
        captures.iter().map(names).collect()
    }

    const A: &str = "a.xplane.pb";
    const B: &str = "b.xplane.pb";

    #[test]
    fn seconds_between_dates_span_months_and_leap_years() {
        let apart = |a: &str, b: &str| run(a, A).seconds_from(&run(b, B));
        assert_eq!(apart("2026_01_31_04_47_36", "2026_01_31_04_47_38"), Some(2));
        assert_eq!(apart("2026_12_31_23_59_59", "2027_01_01_00_00_01"), Some(2));
        assert_eq!(apart("2028_02_28_23_59_59", "2028_03_01_00_00_00"), Some(86_401));
        assert_eq!(apart("x/2026_01_31_04_47_36", "y/2026_01_31_04_47_36"), None);
        assert_eq!(apart("good_run", "2026_01_31_04_47_36"), None);
        assert_eq!(apart("2026_01_31_04_47_\u{e9}6", "2026_01_31_04_47_36"), None);
    }

    #[test]
    fn folders_seconds_apart_are_one_capture() {
        let (late, early) = ("2026_01_31_04_47_38", "2026_01_31_04_47_36");
        assert_eq!(captures(&[(late, A), (early, B)]), [format!("{late}+{early}")]);
        // The same host twice means two captures.
        assert_eq!(captures(&[(late, A), (early, A)]), [late, early]);
        assert_eq!(captures(&[(late, "a.xplane.pb b.xplane.pb"), (early, B)]), [late, early]);
        // A file without a host name.
        assert_eq!(captures(&[(late, A), (early, "perfetto_trace.json.gz")]), [late, early]);
        assert_eq!(captures(&[(late, A), ("2026_01_31_04_46_36", B)]), [late, "2026_01_31_04_46_36"]);
        assert_eq!(captures(&[("x/2026_01_31_04_47_38", A), ("y/2026_01_31_04_47_36", B)]).len(), 2);
        // The folder of another log directory lies between them.
        let mixed = [("x/2026_01_31_04_47_38", A), ("y/2026_01_31_04_47_37", A), ("x/2026_01_31_04_47_36", B)];
        assert_eq!(captures(&mixed), ["x/2026_01_31_04_47_38+x/2026_01_31_04_47_36", "y/2026_01_31_04_47_37"]);
    }

    #[test]
    fn ambiguous_run_is_reported_as_nearby() {
        let runs = [("2026_01_31_04_47_40", A), ("2026_01_31_04_47_38", B), ("2026_01_31_04_47_36", A)];
        let mut captures = of(runs.iter().map(|(name, hosts)| run(name, hosts)).collect());
        let newest = captures.remove(0);
        assert_eq!(newest.runs.len(), 1);
        assert_eq!(newest.nearby(&captures), ["2026_01_31_04_47_38"]);
        let far = of(vec![run("2026_01_31_04_57_40", B)]);
        assert_eq!(newest.nearby(&far), [""; 0]);
    }
}
