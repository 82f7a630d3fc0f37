//! Terminal colours. They never carry information that the text does not.

/// Which escape codes to write.
#[derive(Clone, Copy, Debug)]
pub struct AnsiStyle {
    color: bool,
}

impl AnsiStyle {
    /// For files and pipes.
    pub const PLAIN: Self = Self { color: false };
    /// For terminals.
    pub const COLOR: Self = Self { color: true };

    /// Headings and the verdict.
    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }
    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }
    /// A loss or failure.
    pub fn bad(self, text: &str) -> String {
        self.wrap("31", text)
    }
    pub fn warn(self, text: &str) -> String {
        self.wrap("33", text)
    }
    /// Parts of a bar: compute, communication, copies and waits, idle, …
    pub fn part(self, index: usize, text: &str) -> String {
        const COLORS: [&str; 6] = ["32", "35", "33", "90", "36", "34"];
        self.wrap(COLORS[index % COLORS.len()], text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}
