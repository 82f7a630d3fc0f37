//! The reports that no other tab names.

use super::prelude::*;

pub const TAB: Tab = Tab {
    id: "more",
    title: "More",
    icon: |pen| {
        for x in [0.15, 0.5, 0.85] {
            pen.dot((x, 0.5), 0.1);
        }
    },
    reports: None,
    ..TABLES
};
