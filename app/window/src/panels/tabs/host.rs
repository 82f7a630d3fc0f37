//! What the devices wait for on the host.

use super::prelude::*;

pub const TAB: Tab = Tab {
    id: "host",
    title: "Host",
    reports: Some(&["gaps", "dispatch", "input"]),
    icon: "frame 0.05 0.1 0.95 0.7; line 0.5 0.7 0.5 0.92; line 0.28 0.92 0.72 0.92",
    ..TABLES
};
