//! Planned memory of programs written by hand.
