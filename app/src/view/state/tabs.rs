//! Which reports are looked at together.

use analysis::ANALYSES;

/// A group of reports.
#[derive(Debug, PartialEq, Eq)]
pub struct Tab {
    /// Stable name, kept in saved views.
    pub id: &'static str,
    /// For people.
    pub title: &'static str,
    /// Ids of analyses, most important first.
    pub reports: &'static [&'static str],
}

const fn tab(id: &'static str, title: &'static str, reports: &'static [&'static str]) -> Tab {
    Tab { id, title, reports }
}

/// All tabs but the one for what none of them has.
pub const TABS: [Tab; 11] = [
    tab("overview", "Overview", &["verdict", "targets", "utilization", "devices"]),
    tab("hints", "Hints", &["hints"]),
    tab("ops", "Ops", &["ops", "expected", "matmuls", "loops"]),
    tab("roofline", "Roofline", &["roofline"]),
    tab("collectives", "Collectives", &["collectives", "overlap", "dcn"]),
    tab("steps", "Steps", &["steps", "step_parts", "balance"]),
    tab("compile", "Compile", &["compile"]),
    tab("memory", "Memory", &["memory", "buffers"]),
    tab("kernels", "Kernels", &["kernels", "hardware_counters", "sparse_cores"]),
    tab("host", "Host", &["gaps", "dispatch", "input"]),
    tab("health", "Health", &["doctor", "clocks"]),
];

/// Id of the tab for the comparison with another trace, which is no report of this one.
pub const COMPARE: &str = "compare";

/// Id of the tab that lists what was found.
pub const FOUND: &str = "found";

/// Id of the tab for every other report.
pub const MORE: &str = "more";

/// Whether the reports of a tab are about the chosen part of the trace. Steps are what is chosen from, and the health
/// of a capture is that of all of it.
pub fn follows_scope(tab: &str) -> bool {
    !["steps", "health", COMPARE, FOUND].contains(&tab)
}

/// The analyses of a tab.
pub fn reports_of(tab: &str) -> Vec<&'static str> {
    match TABS.iter().find(|known| known.id == tab) {
        Some(known) => known.reports.to_vec(),
        None if tab == COMPARE || tab == FOUND => Vec::new(),
        None => others(),
    }
}

/// Analyses that no tab names.
pub fn others() -> Vec<&'static str> {
    let named = |id: &str| TABS.iter().any(|tab| tab.reports.contains(&id));
    ANALYSES.iter().map(|entry| entry.id).filter(|id| !named(id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_name_analyses_that_exist() {
        for id in TABS.iter().flat_map(|tab| tab.reports) {
            assert!(ANALYSES.iter().any(|entry| entry.id == *id), "{id}");
        }
        assert_eq!(reports_of("no such tab"), others());
    }
}
