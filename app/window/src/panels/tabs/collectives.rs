//! Collectives: their times, what hides them, transfers between slices.

use super::prelude::*;

pub const TAB: Tab = Tab {
    id: "collectives",
    title: "Collectives",
    reports: Some(&["collectives", "overlap", "dcn"]),
    icon: "line 0.5 0.18 0.16 0.8 0.84 0.8 0.5 0.18; dot 0.5 0.18 0.14; dot 0.16 0.8 0.14; dot 0.84 0.8 0.14",
    ..TABLES
};
