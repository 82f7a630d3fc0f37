//! Walks over every field of protobuf files on one thread: the yardstick of imports.
//!
//! ```text
//! cargo run --release -p sample-traces --bin walk_fields -- FILE...
//! ```

use std::{env, fs, io};

use sample_traces::wire_walk::walk_fields;

#[expect(clippy::print_stdout, reason = "a command-line tool talks to its user")]
fn main() -> io::Result<()> {
    for path in env::args_os().skip(1) {
        let bytes = fs::read(&path)?;
        println!(
            "{:>12} fields  {}",
            walk_fields(&bytes, 0..bytes.len()),
            path.display()
        );
    }
    Ok(())
}
