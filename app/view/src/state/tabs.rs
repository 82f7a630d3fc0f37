//! Tabs: groups of reports.

use analysis::ANALYSES;

/// A group of reports.
#[derive(Debug, PartialEq, Eq)]
pub struct Tab {
    /// Stable name, stored in saved views.
    pub id: &'static str,
    pub title: &'static str,
    /// Ids of analyses, most important first.
    pub reports: &'static [&'static str],
}

const fn tab(id: &'static str, title: &'static str, reports: &'static [&'static str]) -> Tab {
    Tab { id, title, reports }
}

/// All tabs except the one for the remaining reports.
pub const TABS: &[Tab] = &[
    tab(
        "overview",
        "Overview",
        &["verdict", "targets", "utilization", "devices"],
    ),
    tab("hints", "Hints", &["hints"]),
    tab("ops", "Ops", &["ops", "expected", "matmuls", "loops"]),
    tab("roofline", "Roofline", &["roofline"]),
    tab(HLO, "HLO", &[]),
    tab(SOURCE, "Source", &[]),
    tab(
        "collectives",
        "Collectives",
        &["collectives", "overlap", "dcn"],
    ),
    tab("steps", "Steps", &["steps", "step_parts", "balance"]),
    tab("compile", "Compile", &["compile"]),
    tab("memory", "Memory", &["memory", "buffers"]),
    tab(
        "kernels",
        "Kernels",
        &["kernels", "hardware_counters", "sparse_cores"],
    ),
    tab("serving", "Serving", &["serving"]),
    tab("host", "Host", &["gaps", "dispatch", "input"]),
    tab("health", "Health", &["doctor", "clocks"]),
    #[cfg(not(target_arch = "wasm32"))]
    tab(QUERY, "Query", &[]),
];

/// Id of the tab with the programs of the compiler, which answers about one op.
pub const HLO: &str = "hlo";

/// Id of the tab with the source of ops.
pub const SOURCE: &str = "source";

/// Id of the tab with SQL over all tables.
pub const QUERY: &str = "query";

/// Id of the tab with the comparison, which is not a report of one trace.
pub const COMPARE: &str = "compare";

/// Id of the tab with search results.
pub const FOUND: &str = "found";

/// Id of the tab with the remaining reports.
pub const MORE: &str = "more";

/// Whether the reports of a tab follow the scope. The list of steps and the data quality always cover the whole
/// capture.
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

/// Ids and titles of all tabs with reports of one trace.
pub fn report_tabs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let more = (!others().is_empty()).then_some((MORE, "More"));
    TABS.iter().map(|tab| (tab.id, tab.title)).chain(more)
}

/// Analyses that are in no other tab.
pub fn others() -> Vec<&'static str> {
    let named = |id: &str| TABS.iter().any(|tab| tab.reports.contains(&id));
    ANALYSES
        .iter()
        .map(|entry| entry.id)
        .filter(|id| !named(id))
        .collect()
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
