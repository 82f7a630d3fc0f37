//! Files in buckets and on web servers.
//!
//! [`tree_below`] lists what is below an address once. [`fetch`] copies the files of a run to this machine, in ranges
//! that are read in parallel, into the [`cache`] or an unnamed temporary file; importers then read the copy. The network
//! is used here only, and only for addresses that the user names.

mod aws_profile;
pub mod cache;
mod client;
mod errors;
mod limits;
mod location;
mod neighbours;
mod object;
mod part;
mod post;
mod runtime;
mod settings;
mod stores;
mod transfer;
mod tree;
mod upload;
mod web;

pub use neighbours::with_neighbours;
pub use post::post_json;
pub use transfer::fetch;
pub use tree::tree_below;
pub use upload::upload;
