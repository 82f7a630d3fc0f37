//! sample-traces
