//! Reports as text, JSON, CSV and Markdown.
