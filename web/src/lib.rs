//! The window of Systole as WebAssembly.
