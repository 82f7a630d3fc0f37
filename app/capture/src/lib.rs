//! Profiles of running programs: a client of the gRPC service `tensorflow.ProfilerService`, which
//! `jax.profiler.start_server`, TensorFlow and PyTorch/XLA offer.
//!
//! ```text
//! addresses ─▶ client (one per server, messages) ─▶ save (LOGDIR/plugins/profile/SESSION/HOST.xplane.pb)
//!                 gather: all servers at once           contents: what is in it
//! ```
//!
//! [`capture`] records for a fixed time, [`capture_steps`] for a number of steps, [`continuous`] takes snapshots of a session without end, [`monitor`](fn@monitor) asks for
//! the state of the devices. All of them block; a caller hears of progress and may stop.

#![allow(
    clippy::missing_errors_doc,
    rustdoc::private_intra_doc_links,
    reason = "part of the program, not a library for others"
)]

mod address;
mod client;
mod contents;
pub mod continuous;
mod environment;
mod gather;
mod messages;
mod monitor;
mod run;
mod save;
mod steps;

pub use address::ServerAddress;
pub use client::ServerError;
pub use contents::ProfileContents;
pub use messages::OptionValue;
pub use monitor::{DeviceState, MonitorOptions, Spread, monitor};
pub use run::{Capture, CaptureOptions, CaptureStage, HostCapture, LONGEST_MS, capture};
pub use save::SavedProfile;
pub use steps::{
    CaptureOfSteps, CompleteSteps, MOST_STEPS, StepsError, WantedSteps, capture_steps,
};
