//! Systole: from a profile on disk to answers, on the command line or in a window.
//!
//! [`session`] holds an open trace and its reports; both front ends, [`cli`] and
//! `gui`, work on it. [`render`] turns reports into text, JSON, CSV, Markdown and
//! pages. Without the feature `gui` nothing here
//! depends on egui.

#![allow(clippy::missing_errors_doc, reason = "public for the tests of the whole; the other crates are libraries")]

pub mod anonymize;
#[cfg(feature = "capture")]
pub mod capture;
#[cfg(not(target_arch = "wasm32"))]
pub mod cli;
pub mod convert;
#[cfg(not(target_arch = "wasm32"))]
mod date;
pub mod events;
pub mod export;
pub mod files;
mod fingerprint;
#[cfg(feature = "gui")]
pub mod gui;
pub mod number;
#[cfg(feature = "query")]
pub mod query;
pub mod render;
pub mod session;
mod stdin;
pub mod tables;
pub mod view;
mod xml;
