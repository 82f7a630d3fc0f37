//! Open tabs of reports: on the right, and below the timeline.

use super::{Panel, ViewState};

/// Id of the tab with the comparison of two traces.
pub const COMPARE_TAB: &str = "compare";

/// Id of the tab with search results.
pub const FOUND_TAB: &str = "found";

impl ViewState {
    /// The state for a window with these tabs, in their order; others that a saved view names are left out.
    #[must_use]
    pub fn with_tabs(mut self, tabs: &'static [&'static str]) -> Self {
        self.tabs = tabs;
        self.below.retain(|tab| tabs.contains(&&**tab));
        if !tabs.contains(&&*self.tab) {
            self.open_first();
        }
        self
    }

    /// Whether a tab is open on either side.
    pub fn shows_tab(&self, tab: &str) -> bool {
        self.shows(Panel::Reports) && (self.tab == tab || self.tab_below() == Some(tab))
    }

    /// The open tab below the timeline; `None` if there is none.
    pub fn tab_below(&self) -> Option<&str> {
        self.below
            .iter()
            .find(|tab| **tab == self.open_below)
            .or(self.below.first())
            .map(String::as_str)
    }

    /// Whether a tab was moved below.
    pub fn is_below(&self, tab: &str) -> bool {
        self.below.iter().any(|other| other == tab)
    }

    /// Opens a tab on its side.
    pub(super) fn open_tab(&mut self, tab: &str) {
        if tab == FOUND_TAB && !self.is_searching() {
            // There is nothing to list yet.
            self.panels.insert(Panel::Search);
            return;
        }
        if tab == FOUND_TAB && self.tab != FOUND_TAB {
            self.before_found.clone_from(&self.tab);
        }
        if self.is_below(tab) {
            tab.clone_into(&mut self.open_below);
        } else {
            tab.clone_into(&mut self.tab);
        }
        self.panels.insert(Panel::Reports);
    }

    /// Moves a tab to the other side, and opens it there.
    pub(super) fn move_tab(&mut self, tab: &str, below: bool) {
        self.below.retain(|other| other != tab);
        if below && self.tabs.contains(&tab) {
            self.below.push(tab.to_owned());
            if self.tab == tab {
                self.open_first();
            }
        }
        self.open_tab(tab);
    }

    /// Returns from the list of search results when nothing is searched any more.
    pub(super) fn leave_empty_found(&mut self) {
        if self.is_searching() {
            return;
        }
        self.below.retain(|tab| tab != FOUND_TAB);
        if self.tab == FOUND_TAB {
            let before = std::mem::take(&mut self.before_found);
            if self.tabs.contains(&&*before) && before != FOUND_TAB && !self.is_below(&before) {
                self.tab = before;
            } else {
                self.open_first();
            }
        }
    }

    /// Opens the first of the tabs at the right.
    fn open_first(&mut self) {
        let first = self.tabs.iter().find(|id| !self.is_below(id));
        self.tab = first.copied().unwrap_or_default().to_owned();
    }

    /// Closes the comparison tab, because there is no comparison any more.
    pub fn leave_comparison(&mut self) {
        self.below.retain(|other| other != COMPARE_TAB);
        if self.tab == COMPARE_TAB {
            self.open_first();
        }
    }
}
