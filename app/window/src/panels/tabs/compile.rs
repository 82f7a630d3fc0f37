//! What the compiler did during the capture.

use super::prelude::*;

pub const TAB: Tab = Tab {
    id: "compile",
    title: "Compile",
    reports: Some(&["compile"]),
    icon: "line 0.3 0.22 0.04 0.5 0.3 0.78; line 0.7 0.22 0.96 0.5 0.7 0.78; line 0.58 0.14 0.42 0.86",
    ..TABLES
};
