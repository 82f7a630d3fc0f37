//! The window, driven by its labels; no renderer is needed.
