//! The tabs with reports. To add one: a file here with its declaration, and a line in [`TABS`].

mod collectives;
mod compare;
mod compile;
mod found;
pub mod health;
pub mod hints;
mod hlo;
mod host;
mod kernels;
mod memory;
mod more;
pub mod ops;
mod overview;
mod prelude;
#[cfg(not(target_arch = "wasm32"))]
mod query;
mod roofline;
mod serving;
pub mod source;
mod steps;
pub mod tab;

use analysis::ANALYSES;

use self::tab::Tab;
use super::context::PanelContext;

/// All tabs, in the order of the rail.
pub const TABS: &[Tab] = &[
    overview::TAB,
    hints::TAB,
    ops::TAB,
    roofline::TAB,
    hlo::TAB,
    source::TAB,
    collectives::TAB,
    steps::TAB,
    compile::TAB,
    memory::TAB,
    kernels::TAB,
    serving::TAB,
    host::TAB,
    health::TAB,
    #[cfg(not(target_arch = "wasm32"))]
    query::TAB,
    more::TAB,
    compare::TAB,
    found::TAB,
];

/// The ids of all tabs.
pub const TAB_IDS: [&str; TABS.len()] = {
    let mut ids = [""; TABS.len()];
    let mut at = 0;
    while at < ids.len() {
        ids[at] = TABS[at].id;
        at += 1;
    }
    ids
};

/// The tab with this id; the first one for an id that no tab has.
pub fn tab(id: &str) -> &'static Tab {
    TABS.iter().find(|tab| tab.id == id).unwrap_or(&TABS[0])
}

/// The tab with the tables of an analysis.
pub fn tab_of_report(id: &str) -> &'static Tab {
    let names = |tab: &&Tab| tab.reports.is_none_or(|reports| reports.contains(&id));
    TABS.iter().find(names).unwrap_or(&TABS[0])
}

/// The tabs that can be opened.
pub fn offered(context: PanelContext<'_>) -> impl Iterator<Item = &'static Tab> {
    let has_reports = |tab: &&Tab| tab.reports.is_some() || !reports_of(tab).is_empty();
    TABS.iter()
        .filter(move |tab| (tab.is_offered)(context))
        .filter(has_reports)
}

/// The ids of the analyses whose tables a tab shows.
pub fn reports_of(tab: &Tab) -> Vec<&'static str> {
    tab.reports.map_or_else(unlisted_reports, <[_]>::to_vec)
}

/// The ids of the analyses that a tab needs for the selected scope.
pub fn wanted(tab: &Tab) -> impl Iterator<Item = &'static str> {
    reports_of(tab).into_iter().chain(tab.also.iter().copied())
}

/// Analyses that no other tab names.
fn unlisted_reports() -> Vec<&'static str> {
    ANALYSES
        .iter()
        .map(|entry| entry.id)
        .filter(|id| {
            !TABS
                .iter()
                .filter_map(|tab| tab.reports)
                .flatten()
                .any(|named| named == id)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn tabs_name_analyses_that_exist() {
        for id in TABS
            .iter()
            .flat_map(|tab| wanted(tab).chain(tab.of_whole.iter().copied()))
        {
            assert!(ANALYSES.iter().any(|entry| entry.id == id), "{id}");
        }
        assert_eq!(TAB_IDS.iter().collect::<BTreeSet<_>>().len(), TABS.len());
    }

    fn sources(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
        let below = folders.iter().flat_map(|folder| sources(folder));
        files.into_iter().chain(below).collect()
    }

    #[test]
    fn tabs_are_named_in_their_declarations_only() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let here = root.join("src/panels/tabs");
        let others = [root.join("src"), root.join("../view/src")]
            .iter()
            .flat_map(|folder| sources(folder))
            .filter(|path| !path.starts_with(&here) && !path.ends_with("tests.rs"))
            .collect::<Vec<_>>();
        assert!(others.len() > 100, "{}", others.len());
        for path in others {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let lines = code.lines().filter(|line| !line.contains("_TAB: &str"));
            for line in lines {
                let about = line.to_lowercase().replace("table", "");
                let named = TAB_IDS
                    .iter()
                    .find(|id| line.contains(&format!("\"{id}\"")));
                assert!(
                    named.is_none() || !about.contains("tab"),
                    "{}: {line}",
                    path.display()
                );
            }
        }
    }
}
