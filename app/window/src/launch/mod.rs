//! Starts the window.

#[cfg(target_arch = "wasm32")]
mod browser;
#[cfg(not(target_arch = "wasm32"))]
mod native;

#[cfg(target_arch = "wasm32")]
pub use self::browser::{import_in_worker, start_in_page};
#[cfg(not(target_arch = "wasm32"))]
pub use self::native::{NoWindow, WindowOptions, keep_freed_memory, launch};
