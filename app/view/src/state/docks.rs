//! Open tabs of reports: on the right, and below the timeline.

use super::{Panel, ViewState};
use crate::state::tabs::{COMPARE, FOUND, MORE, TABS};

impl ViewState {
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
        if tab == FOUND && !self.is_searching() {
            // There is nothing to list yet.
            self.panels.insert(Panel::Search);
            return;
        }
        if tab == FOUND && self.tab != FOUND {
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
        if below && is_known(tab) {
            self.below.push(tab.to_owned());
            if self.tab == tab {
                // A tab must be open at the right: the first one that remains there.
                let left = TABS.iter().map(|tab| tab.id).find(|id| !self.is_below(id));
                left.unwrap_or(MORE).clone_into(&mut self.tab);
            }
        }
        self.open_tab(tab);
    }

    /// Returns from the list of search results when nothing is searched any more.
    pub(super) fn leave_empty_found(&mut self) {
        if self.is_searching() {
            return;
        }
        self.below.retain(|tab| tab != FOUND);
        if self.tab == FOUND {
            let before = std::mem::take(&mut self.before_found);
            let is_there = is_known(&before) && before != FOUND && !self.is_below(&before);
            self.tab = if is_there {
                before
            } else {
                TABS[0].id.to_owned()
            };
        }
    }

    /// Removes tabs that this version does not have.
    pub(super) fn forget_unknown_tabs(&mut self) {
        self.below.retain(|tab| is_known(tab));
    }

    /// Closes the comparison tab, because there is no comparison any more.
    pub fn leave_comparison(&mut self) {
        self.below.retain(|other| other != COMPARE);
        if self.tab == COMPARE {
            TABS[0].id.clone_into(&mut self.tab);
        }
    }
}

fn is_known(tab: &str) -> bool {
    [COMPARE, FOUND, MORE].contains(&tab) || TABS.iter().any(|known| known.id == tab)
}
