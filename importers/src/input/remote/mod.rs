//! Files in buckets and on web servers.
//!
//! [`RemoteTree`] lists what is below an address once. [`fetch`] copies the files of a run to this machine, in ranges
//! that are read in parallel, into the [`cache`] or an unnamed temporary file; importers then read the copy. The network
//! is used here only, and only for addresses that the user names.

mod aws_profile;
pub mod cache;
mod client;
mod errors;
mod limits;
mod location;
mod object;
mod part;
mod runtime;
mod settings;
mod stores;
mod transfer;
mod tree;
mod upload;
mod web;

pub(crate) use transfer::fetch;
pub(crate) use tree::{RemoteTree, files_in};
pub(crate) use upload::upload;
