//! What most tabs name: `use crate::panels::tabs::prelude::*`.

pub(super) use super::tab::{TABLES, Tab, TabContent, TabPanel, TabSubject};
pub(super) use crate::panels::prelude::*;
