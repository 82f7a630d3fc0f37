//! The reports that no other tab names.

use super::prelude::*;

pub const TAB: Tab = Tab {
    id: "more",
    title: "More",
    icon: "dot 0.15 0.5 0.1; dot 0.5 0.5 0.1; dot 0.85 0.5 0.1",
    reports: None,
    ..TABLES
};
