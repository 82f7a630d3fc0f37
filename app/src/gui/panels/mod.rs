//! Everything around the timeline. A panel is a function from what is known to
//! widgets; what the user does in it comes back as commands.

pub mod details;
pub mod help;
pub mod legend;
pub mod overview;
pub mod search;
pub mod table;
pub mod toolbar;
pub mod welcome;
